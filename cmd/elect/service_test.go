package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/recount-io/recount/elector/redisstore/scripts"
	"github.com/recount-io/recount/internal/loopback"
)

// A service whose scripts may not ask for the time can never hold an election: run ends at
// once, with one line that names the command, and so says preflight.
func TestServiceThatCannotServe(t *testing.T) {
	address := timeless(t)
	r := call(t, t.Context(), nil, "run", "--name", "x", "--log", "error", "--store", "redis://"+address, "--", "true")
	last := r.errors[strings.LastIndexByte(strings.TrimSpace(r.errors), '\n')+1:]
	if r.status != statusUsage || !strings.Contains(last, "(the script asked for TIME); use a server whose scripts may use") {
		t.Errorf("run: status %d, want %d and a line that names TIME:\n%s", r.status, statusUsage, r.errors)
	}
	r = call(t, t.Context(), nil, "preflight", "--store", "redis://"+address)
	if r.status != statusNo || !strings.Contains(r.out, "nobody can be elected without TIME in scripts") {
		t.Errorf("preflight: status %d, want %d and an error that names TIME:\n%s%s", r.status, statusNo, r.out, r.errors)
	}
}

// timeless starts a server that refuses TIME to scripts, in the words of ElastiCache
// Serverless, and returns its address.
func timeless(t *testing.T) string {
	const words = "-ERR This Redis command is not allowed from script script: %040d, on @user_script:%d.\r\n"
	asks := 1 + strings.Count(strings.SplitN(scripts.Acquire(), "call('TIME')", 2)[0], "\n")
	answer := func(args []string) string {
		text := strings.Join(args, " ")
		switch strings.ToLower(args[0]) {
		case "hello":
			return "-ERR unknown command 'hello'\r\n"
		case "evalsha":
			return "-NOSCRIPT No matching script.\r\n"
		case "eval":
			if strings.Contains(text, "call('TIME')") {
				return fmt.Sprintf(words, 0, min(asks, 1+strings.Count(text, "\n")))
			}
			return "*0\r\n"
		case "subscribe", "unsubscribe":
			return "*3\r\n$" + strconv.Itoa(len(args[0])) + "\r\n" + args[0] + "\r\n$1\r\nx\r\n:1\r\n"
		case "scan":
			return "*2\r\n$1\r\n0\r\n*0\r\n"
		case "time":
			return "*2\r\n$10\r\n1700000000\r\n$1\r\n0\r\n"
		case "config":
			return "*0\r\n"
		case "info":
			return "$11\r\nrole:master\r\n"
		default:
			return "+OK\r\n"
		}
	}
	address, err := loopback.Serve(t.Context(), func(conn net.Conn) {
		defer func() { _ = conn.Close() }() // nothing is left to say
		for in := bufio.NewReader(conn); ; {
			args, err := loopback.ReadCommand(in)
			if err != nil {
				return
			}
			if _, err := io.WriteString(conn, answer(args)); err != nil {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return address
}

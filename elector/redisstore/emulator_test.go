package redisstore

import (
	"bufio"
	"crypto/sha1" //nolint:gosec // Redis names scripts by their SHA-1
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/internal/loopback"
)

// service is how a managed service or a proxy differs from the Redis behind it, in its own
// words. In those, NAME is the command, SHA the script and LINE the line of it that asks
// for the command.
type service struct {
	name    string
	outside map[string]string // its answers, by the command in lower case; "client list" before "client"
	inside  map[string]string // what scripts are refused, by the command
	apart   string            // answers a script with keys of several slots
	judge   func(text string) string
	cluster bool
}

// emulator stands before a Redis, and answers in the words of a service.
type emulator struct {
	service
	addr, behind string

	mu    sync.Mutex
	texts map[string]string // of scripts, by SHA
}

// emulate starts an emulator before the server.
func emulate(t *testing.T, r *server, s service) *emulator {
	t.Helper()
	e := &emulator{service: s, behind: r.addr, texts: map[string]string{}}
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait) // after the store is closed, which ends the connections
	addr, err := loopback.Serve(t.Context(), func(conn net.Conn) { wg.Go(func() { e.serve(conn) }) })
	if err != nil {
		t.Fatal(err)
	}
	e.addr = addr
	return e
}

func (e *emulator) open(t *testing.T, o Options) *Store {
	t.Helper()
	return openAt(t, &redis.UniversalOptions{Addrs: []string{e.addr}, IsClusterMode: e.cluster}, o)
}

// serve answers one connection, a command at a time. One that subscribes is left to the
// server.
func (e *emulator) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }() // nothing is left to say
	back, err := net.Dial("tcp", e.behind)
	if err != nil {
		return
	}
	defer func() { _ = back.Close() }()
	in, out := bufio.NewReader(conn), bufio.NewReader(back)
	for {
		args, err := loopback.ReadCommand(in)
		if err != nil {
			return
		}
		reply, own := e.answer(args)
		if !own {
			sent := e.rewritten(args)
			for i, word := range sent {
				sent[i] = bulk(word)
			}
			if _, err := io.WriteString(back, array(sent...)); err != nil {
				return
			}
			if strings.EqualFold(args[0], "subscribe") {
				go func() { _, _ = io.Copy(back, in); _ = back.Close() }()
				_, _ = io.Copy(conn, out)
				return
			}
			if reply, err = readReply(out); err != nil {
				return
			}
			reply = e.reworded(args, reply)
		}
		if _, err := io.WriteString(conn, reply); err != nil {
			return
		}
	}
}

// answer is what the service answers by itself.
func (e *emulator) answer(args []string) (reply string, own bool) {
	name := strings.ToLower(args[0])
	if name == "cluster" && e.cluster {
		return map[string]string{"slots": slots(e.addr), "info": bulk("cluster_state:ok\r\n"), "nodes": bulk("")}[strings.ToLower(args[1])], true
	}
	words, refused := e.outside[name]
	if len(args) > 1 && !refused {
		words, refused = e.outside[name+" "+strings.ToLower(args[1])]
	}
	if refused {
		return "-" + strings.ReplaceAll(words, "NAME", args[0]) + "\r\n", true
	}
	if name != "eval" && name != "evalsha" {
		return "", false
	}
	text := e.text(args)
	if text == "" {
		return "-NOSCRIPT No matching script.\r\n", true
	}
	if e.judge != nil {
		if words := e.judge(text); words != "" {
			return "-" + words + "\r\n", true
		}
	}
	if n, err := strconv.Atoi(args[2]); e.apart != "" && err == nil {
		for _, key := range args[3 : 3+n] {
			if tagOf(key) != tagOf(args[3]) {
				return "-" + placed(e.apart, args[0], text) + "\r\n", true
			}
		}
	}
	return "", false
}

// text is the script that is asked for, which the service learns from EVAL.
func (e *emulator) text(args []string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if strings.EqualFold(args[0], "evalsha") {
		return e.texts[args[1]]
	}
	e.texts[shaOf(args[1])] = args[1]
	return args[1]
}

// rewritten is the request as the server behind gets it: in place of redis.call and
// redis.pcall scripts have what refuses the same commands.
func (e *emulator) rewritten(args []string) []string {
	name := strings.ToLower(args[0])
	if name != "eval" && name != "evalsha" {
		return args
	}
	var no strings.Builder
	for command := range e.inside {
		fmt.Fprintf(&no, "%s=1,", command)
	}
	text := "local redis=(function(r) local no={" + no.String() + "}" +
		" local function ask(f, raise) return function(name, ...)" +
		" if not no[name] then return f(name, ...) end" +
		" local e={err='EMULATED ' .. name} if raise then error(e) end return e end end" +
		" return {call=ask(r.call, true), pcall=ask(r.pcall), error_reply=r.error_reply} end)(redis) " + e.text(args)
	return append([]string{"EVAL", text}, args[2:]...)
}

// reworded has the service's words for what a script was refused.
func (e *emulator) reworded(args []string, reply string) string {
	rest, refused := strings.CutPrefix(reply, "-EMULATED ")
	if !refused {
		return reply
	}
	command, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	return "-" + placed(e.inside[command], command, e.text(args)) + "\r\n"
}

// placed has the words with the script's name and the line in which it asks for that.
func placed(words, command, text string) string {
	before, _, _ := strings.Cut(text, "('"+command+"'")
	line := strconv.Itoa(1 + strings.Count(before, "\n"))
	return strings.NewReplacer("SHA", shaOf(text), "LINE", line, "NAME", command).Replace(words)
}

func shaOf(text string) string {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}

// tagOf is the part of a key that says in which slot it lies.
func tagOf(key string) string {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			return tag
		}
	}
	return key
}

// readReply reads one reply, and returns it as it came.
func readReply(in *bufio.Reader) (string, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return "", err
	}
	n, _ := strconv.Atoi(strings.TrimSpace(line[1:])) // of those kinds that have a number
	switch {
	case line[0] == '$' && n >= 0:
		text := make([]byte, n+2)
		_, err = io.ReadFull(in, text)
		return line + string(text), err
	case line[0] == '*':
		for range n {
			part, err := readReply(in)
			if err != nil {
				return "", err
			}
			line += part
		}
	}
	return line, nil
}

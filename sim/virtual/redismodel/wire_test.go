package redismodel

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
)

// tester is what a test and a check of rapid have in common.
type tester interface {
	Helper()
	Log(...any)
	Fatal(...any)
	Fatalf(string, ...any)
}

// wire is a connection that speaks RESP2 and gives replies as the model does,
// with nothing converted on the way.
type wire struct {
	conn net.Conn
	in   *bufio.Reader
}

func dial(t testing.TB, network, address string) *wire {
	t.Helper()
	conn, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &wire{conn: conn, in: bufio.NewReader(conn)}
}

func (w *wire) do(t tester, args ...string) Reply {
	t.Helper()
	replies, err := w.pipeline([][]string{args})
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return replies[0]
}

// pipeline sends all commands at once, so that the server has the next one
// when it is done with one.
func (w *wire) pipeline(commands [][]string) ([]Reply, error) {
	var b strings.Builder
	for _, args := range commands {
		fmt.Fprintf(&b, "*%d\r\n", len(args))
		for _, arg := range args {
			fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(arg), arg)
		}
	}
	sent := make(chan error, 1)
	go func() { // the server may want to be read from before it reads on
		_, err := io.WriteString(w.conn, b.String())
		sent <- err
	}()
	replies := make([]Reply, len(commands))
	for i := range replies {
		var err error
		if replies[i], err = w.read(); err != nil {
			return nil, err
		}
	}
	return replies, <-sent
}

func (w *wire) read() (Reply, error) {
	line, err := w.in.ReadString('\n')
	if err != nil {
		return Reply{}, err
	}
	sign, line := line[0], strings.TrimSuffix(line[1:], "\r\n")
	switch sign {
	case '+':
		return Reply{Kind: Status, Text: line}, nil
	case '-':
		return Fail(line), nil
	}
	n, err := strconv.ParseInt(line, 10, 64)
	switch {
	case err != nil:
		return Reply{}, err
	case sign == ':':
		return Integer(n), nil
	case n < 0:
		return absent, nil
	case sign == '$':
		text := make([]byte, n+2)
		_, err = io.ReadFull(w.in, text)
		return Text(string(text[:n])), err
	}
	items := make([]Reply, n)
	for i := range items {
		if items[i], err = w.read(); err != nil {
			return Reply{}, err
		}
	}
	return Reply{Kind: Array, Items: items}, nil
}

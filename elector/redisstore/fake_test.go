package redisstore

import (
	"bufio"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/internal/loopback"
)

// fake is a server that speaks RESP and answers what the test wants.
type fake struct {
	addr   string
	answer func(args []string) string // hang and closing are answers too

	mu    sync.Mutex
	asked []string
}

const (
	silence = ""     // no answer, for ever
	closing = "\x00" // the connection is closed after what stands before it
	okReply = "+OK\r\n"
)

// line is an answer that the test changes as it goes on.
type line struct{ text atomic.Pointer[string] }

func (l *line) set(text string) { l.text.Store(&text) }

func (l *line) answer([]string) string { return *l.text.Load() }

// startFake starts a server that asks answer for every command other than
// those with which go-redis opens a connection.
func startFake(t testing.TB, answer func(args []string) string) *fake {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{addr: l.Addr().String(), answer: answer}
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		conns []net.Conn
	)
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			wg.Go(func() { f.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close() // the end of the test
		mu.Lock()
		for _, conn := range conns {
			_ = conn.Close() // may be closed already
		}
		mu.Unlock()
		wg.Wait()
	})
	return f
}

func (f *fake) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }() // nothing is left to say
	in := bufio.NewReader(conn)
	for {
		args, err := loopback.ReadCommand(in)
		if err != nil {
			return
		}
		reply := f.reply(args)
		if reply == silence {
			_, _ = io.Copy(io.Discard, in) // until the client leaves
			return
		}
		reply, last := strings.CutSuffix(reply, closing)
		if _, err := io.WriteString(conn, reply); err != nil || last {
			return
		}
	}
}

func (f *fake) reply(args []string) string {
	name := strings.ToLower(args[0])
	f.mu.Lock()
	f.asked = append(f.asked, name)
	f.mu.Unlock()
	if name == "hello" {
		return "-ERR unknown command 'HELLO'\r\n"
	}
	return f.answer(args)
}

// count tells how often a command was asked.
func (f *fake) count(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, asked := range f.asked {
		if asked == name {
			n++
		}
	}
	return n
}

func (f *fake) open(t testing.TB, change func(*redis.UniversalOptions)) *Store {
	t.Helper()
	o := &redis.UniversalOptions{Addrs: []string{f.addr}}
	if change != nil {
		change(o)
	}
	return openAt(t, o, Options{})
}

// array is a RESP array of parts.
func array(parts ...string) string {
	return "*" + strconv.Itoa(len(parts)) + "\r\n" + strings.Join(parts, "")
}

func bulk(text string) string { return "$" + strconv.Itoa(len(text)) + "\r\n" + text + "\r\n" }

func number(n int) string { return ":" + strconv.Itoa(n) + "\r\n" }

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/internal/loopback"
	"github.com/recount-io/recount/sim/live/supervisor"
)

// startRedis starts a redis-server with these lines of settings, which ends with the
// test, and returns its address once somebody listens there.
func startRedis(t *testing.T, lines ...string) string {
	t.Helper()
	return startServer(t, "redis-server", "port ", append([]string{`save ""`}, lines...)...)
}

// startServer starts a program of Redis, with the setting that gives it its port.
func startServer(t *testing.T, program, setting string, lines ...string) string {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("there is no %s on PATH", program)
	}
	address, dir := freeAddress(t), t.TempDir()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(dir, "redis.conf")
	lines = append([]string{setting + port, "dir " + dir}, lines...)
	if err := os.WriteFile(settings, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	guard, err := supervisor.Start() // a test that panics leaves no server
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := guard.Close(); err != nil {
			t.Error(err)
		}
	})
	server, err := guard.Start(exec.Command(program, settings))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Kill() // it may have ended
		_ = server.Wait() // killed: that it failed is no news
	})
	for {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close() // it listens: that is all
			return address
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("%s never listened: %v", program, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// client is one of a server, which repeats nothing.
func client(t *testing.T, address string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1, DisableIdentity: true})
	t.Cleanup(func() { _ = c.Close() }) // nothing is under way
	return c
}

// do sends a command, which must succeed.
func do(t *testing.T, c *redis.Client, command string, args ...any) any {
	t.Helper()
	words := []any{}
	for _, word := range strings.Fields(command) {
		words = append(words, word)
	}
	reply, err := c.Do(t.Context(), append(words, args...)...).Result()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return reply
}

// player is a server that gives its answers to whatever it is sent: one for each word
// after the star of a command, and the last one for all others.
func player(t *testing.T, answers map[string]string) string {
	t.Helper()
	addr, err := loopback.Serve(t.Context(), func(conn net.Conn) { play(conn, answers) })
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

// play answers one connection until it ends.
func play(conn net.Conn, answers map[string]string) {
	defer func() { _ = conn.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := conn.Read(buffer)
		if err != nil {
			return
		}
		for _, command := range strings.Split(string(buffer[:n]), "*")[1:] {
			words := strings.Split(command, "\r\n")
			answer, known := answers[strings.ToUpper(words[min(2, len(words)-1)])]
			if !known {
				answer = answers[""]
			}
			if _, err := fmt.Fprintf(conn, "%s\r\n", answer); err != nil {
				return
			}
		}
	}
}

package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/internal/topology"
)

// server is a redis-server of our own.
type server struct {
	addr    string
	version string
	admin   *redis.Client
	stop    func()

	mu    sync.Mutex
	known map[string]bool
}

// isNew reports whether the election is mentioned for the first time.
func (s *server) isNew(election string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.known[election]
	s.known[election] = true
	return !known
}

// startServer starts a redis-server that keeps nothing, on a free port of
// loopback. The caller calls its stop.
func startServer() (*server, error) {
	dir, err := os.MkdirTemp("", "recount-bench-")
	if err != nil {
		return nil, err
	}
	launcher := topology.NewLauncher(dir, nil)
	stop := func() {
		_ = launcher.Close() // what it has started dies with this process, too
		_ = os.RemoveAll(dir)
	}
	started, err := launcher.Server(context.Background(), topology.Config{})
	if err != nil {
		stop()
		return nil, err
	}
	s := connect(started.Addr)
	s.stop = func() {
		_ = s.admin.Close()
		stop()
	}
	info, err := s.admin.InfoMap(context.Background(), "server").Result()
	if err != nil {
		s.stop()
		return nil, err
	}
	s.version = info["Server"]["redis_version"]
	return s, nil
}

// connect is a server that somebody else has started.
func connect(addr string) *server {
	return &server{addr: addr, known: map[string]bool{}, admin: redis.NewClient(&redis.Options{Addr: addr})}
}

// expiry is when the lease ends, on the wall clock, which server and bench
// share: they are on one machine.
func (s *server) expiry(ctx context.Context, key string) (time.Time, error) {
	ms, err := s.admin.Do(ctx, "PEXPIRETIME", key).Int64()
	if err != nil {
		return time.Time{}, err
	}
	if ms < 0 {
		return time.Time{}, fmt.Errorf("%s: there is no lease under this key (%d)", key, ms)
	}
	return time.UnixMilli(ms), nil
}

// scriptTime is for how long the server has executed scripts until now.
func (s *server) scriptTime(ctx context.Context) (time.Duration, error) {
	info, err := s.admin.InfoMap(ctx, "commandstats").Result()
	if err != nil {
		return 0, err
	}
	said := info["Commandstats"]["cmdstat_evalsha"]
	if said == "" {
		return 0, nil // none yet
	}
	var calls, us int64
	if _, err := fmt.Sscanf(said, "calls=%d,usec=%d,", &calls, &us); err != nil {
		return 0, fmt.Errorf("evalsha's statistics, %q: %w", said, err)
	}
	return time.Duration(us) * time.Microsecond, nil
}

// command is one that the server got from a client, as MONITOR tells. Those
// that scripts call are none.
type command struct {
	from string
	name string
	args []string
}

// watchCommands gives every command that the server gets to see, from when it
// returns until stop is called. When stop returns, all of them were seen.
func (s *server) watchCommands(see func(command)) (stop func(), err error) {
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewReaderSize(conn, 1<<20)
	if _, err = fmt.Fprint(conn, "MONITOR\r\n"); err == nil {
		_, err = lines.ReadString('\n')
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	done := make(chan struct{})
	last := "the end of " + conn.LocalAddr().String()
	go func() {
		defer close(done)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			switch c, ok := parseCommand(line); {
			case ok && c.name == "echo" && c.args[1] == last:
				return
			case ok:
				see(c)
			}
		}
	}()
	return func() {
		if s.admin.Echo(context.Background(), last).Err() == nil {
			<-done
		}
		_ = conn.Close()
		<-done
	}, nil
}

// parseCommand reads a line such as
//
//	+1700000000.123456 [0 127.0.0.1:50000] "get" "a"
func parseCommand(line string) (c command, ok bool) {
	_, rest, found := strings.Cut(line, "[")
	origin, rest, closed := strings.Cut(rest, "]")
	_, c.from, ok = strings.Cut(origin, " ")
	if !found || !closed || !ok || c.from == "lua" {
		return c, false
	}
	for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return c, false
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return c, false
		}
		c.args = append(c.args, word)
		rest = rest[len(quoted):]
	}
	if len(c.args) == 0 {
		return c, false
	}
	c.name = strings.ToLower(c.args[0])
	return c, true
}

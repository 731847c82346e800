//go:build linux

package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// foreignKeys are there before the run, and must be there as they were after it.
const foreignKeys = 10_000

// staging is a private redis-server that plays the one of a whole team: TLS, a user with
// few rights, somebody else's keys, and somebody else's program at work all the time.
type staging struct {
	authority string
	address   string
	admin     *redis.Client
	other     *neighbour
	own       sync.Map // local addresses of the admin's and the other's connections: true

	keys     int64
	checksum string
}

func startStaging(t *testing.T) *staging {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("there is no redis-server on PATH")
	}
	s := &staging{}
	s.authority, s.address = startLockedRedis(t)
	s.admin = s.connect(t)
	pipe := s.admin.Pipeline()
	for i := range foreignKeys {
		switch name := fmt.Sprintf("app:%d", i); i % 4 {
		case 0:
			pipe.Set(t.Context(), name, rand.Text(), 0)
		case 1:
			pipe.HSet(t.Context(), name, "a", rand.Text(), "b", i)
		case 2:
			pipe.RPush(t.Context(), name, rand.Text(), i)
		case 3:
			pipe.Set(t.Context(), name, rand.Text(), 24*time.Hour)
		}
	}
	pipe.Set(t.Context(), "other:count", 0, 0)
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.keys, s.checksum = s.foreign(t)
	s.other = s.work(t)
	return s
}

// connect connects as the administrator.
func (s *staging) connect(t *testing.T) *redis.Client {
	t.Helper()
	roots := x509.NewCertPool()
	pemText, err := os.ReadFile(s.authority)
	if err != nil || !roots.AppendCertsFromPEM(pemText) {
		t.Fatal("no certificate", err)
	}
	client := connectLocked(t, roots, s.address)
	options := *client.Options()
	dial := options.Dialer
	options.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err == nil {
			s.own.Store(conn.LocalAddr().String(), true)
		}
		return conn, err
	}
	noted := redis.NewClient(&options)
	t.Cleanup(func() { _ = noted.Close() })
	return noted
}

// foreign is how many keys there are, and a checksum of those that are neither the
// run's nor change by themselves.
func (s *staging) foreign(t *testing.T) (keys int64, checksum string) {
	t.Helper()
	keys, err := s.admin.DBSize(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	dumps := make([]*redis.StringCmd, foreignKeys)
	_, err = s.admin.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for i := range dumps {
			dumps[i] = p.Dump(t.Context(), fmt.Sprintf("app:%d", i))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	for _, dump := range dumps {
		sum.Write([]byte(dump.Val()))
	}
	return keys, hex.EncodeToString(sum.Sum(nil))
}

// unharmed checks that nothing of the others is different from what it was, and that
// nothing of the run is left.
func (s *staging) unharmed(t *testing.T) {
	t.Helper()
	keys, checksum := s.foreign(t)
	if keys != s.keys || checksum != s.checksum {
		t.Errorf("%d keys with the checksum %s, and before %d with %s", keys, checksum, s.keys, s.checksum)
	}
	refused, err := s.admin.ACLLog(t.Context(), 100).Result()
	if err != nil || len(refused) > 0 {
		t.Errorf("the run did what its user may not: %+v, %v", refused, err)
	}
}

// left are the keys of runs, with what they have to live.
func (s *staging) left(t *testing.T) map[string]time.Duration {
	t.Helper()
	left := map[string]time.Duration{}
	for found := s.admin.Scan(t.Context(), 0, "mine:*", 1000).Iterator(); found.Next(t.Context()); {
		lives, err := s.admin.PTTL(t.Context(), found.Val()).Result()
		if err != nil {
			t.Fatal(err)
		}
		if lives != -2 { // it has ended since
			left[found.Val()] = lives
		}
	}
	return left
}

// command is chaos as a process of its own, with more flags or environment.
func (s *staging) command(t *testing.T, mark string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{"run", "--prefix", "mine:"}, args...)...)
	cmd.Env = append(os.Environ(), asChaos+"=1", "SSL_CERT_FILE="+s.authority, stagingMark+"="+mark,
		"RECOUNT_REDIS=rediss://tester:"+secret+"@"+s.address+"/2")
	return cmd
}

// stagingMark is a variable that every process of a run inherits.
const stagingMark = "STAGING_RUN"

// marked are the processes of a run, started by any process.
func marked(mark string) (all []string) {
	entries, _ := filepath.Glob("/proc/[0-9]*") // fails only for a bad pattern
	for _, entry := range entries {
		environ, err := os.ReadFile(filepath.Join(entry, "environ"))
		if err != nil || !slices.Contains(strings.Split(string(environ), "\x00"), stagingMark+"="+mark) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(entry)) // it is a number
		if m, there := process(pid); there && m.state != "Z" {
			all = append(all, fmt.Sprintf("%s (%d, %s)", m.name, m.pid, m.state))
		}
	}
	return all
}

// neighbour is somebody else's program: it reads and writes all the time, and notes how long
// that takes.
type neighbour struct {
	failures atomic.Int64

	mu   sync.Mutex
	took []time.Duration
}

func (s *staging) work(t *testing.T) *neighbour {
	client, b := s.connect(t), &neighbour{}
	ctx, cancel := context.WithCancel(context.Background())
	var working sync.WaitGroup
	working.Go(func() {
		pace := time.NewTicker(4 * time.Millisecond)
		defer pace.Stop()
		for ctx.Err() == nil {
			<-pace.C
			began := time.Now()
			err := client.Get(ctx, fmt.Sprintf("app:%d", 4*mathrand.IntN(foreignKeys/4))).Err()
			if err == nil {
				err = client.Incr(ctx, "other:count").Err()
			}
			if err != nil && ctx.Err() == nil {
				b.failures.Add(1)
			}
			b.mu.Lock()
			b.took = append(b.took, time.Since(began))
			b.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		cancel()
		working.Wait()
		if n := b.failures.Load(); n > 0 {
			t.Errorf("%d requests of the other client failed", n)
		}
	})
	return b
}

// since returns the median and the 99th percentile of what was noted since the last call.
func (b *neighbour) since() (p50, p99 time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	took := b.took
	b.took = nil
	if len(took) == 0 {
		return 0, 0
	}
	slices.Sort(took)
	return took[len(took)/2], took[len(took)*99/100]
}

// record keeps what the server executes for the run, until stop is called: commands, and
// those that scripts call. What the administrator and the other client ask is left out.
func (s *staging) record(t *testing.T) (stop func() [][]string) {
	t.Helper()
	// The Redis client's own MONITOR never lets go of its connection.
	conn, err := tls.Dial("tcp", s.address, s.admin.Options().TLSConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	s.own.Store(conn.LocalAddr().String(), true)
	lines := bufio.NewScanner(conn)
	if _, err := fmt.Fprintf(conn, "AUTH default %s-admin\r\nMONITOR\r\n", secret); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if !lines.Scan() || lines.Text() != "+OK" {
			t.Fatalf("no MONITOR: %s, %v", lines.Text(), lines.Err())
		}
	}
	end := rand.Text()
	var all [][]string
	var reading sync.WaitGroup
	reading.Go(func() {
		for lines.Scan() {
			source, words := parseMonitor(strings.TrimPrefix(lines.Text(), "+"))
			if _, own := s.own.Load(source); !own && len(words) > 0 {
				all = append(all, words)
			} else if slices.Contains(words, end) {
				return
			}
		}
		t.Error("MONITOR ended:", lines.Err())
	})
	return func() [][]string {
		// What was executed before this is told before this.
		if err := s.admin.Echo(t.Context(), end).Err(); err != nil {
			t.Error(err)
		}
		reading.Wait()
		return all
	}
}

var (
	monitorLine = regexp.MustCompile(`^[0-9.]+ \[\d+ (\S+)\] (.*)$`)
	monitorWord = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
)

// parseMonitor reads a line of MONITOR. The source is "lua" for a script's call.
func parseMonitor(line string) (source string, words []string) {
	parts := monitorLine.FindStringSubmatch(line)
	if parts == nil {
		return "", nil
	}
	for _, word := range monitorWord.FindAllString(parts[2], -1) {
		if text, err := strconv.Unquote(word); err == nil {
			word = text
		}
		words = append(words, word)
	}
	return parts[1], words
}

// touched are the keys and channels that a command names; known is false for one that a
// run has no business to send.
func touched(words []string) (names []string, known bool) {
	args := words[1:]
	switch name := strings.ToLower(words[0]); name {
	case "auth", "hello", "select", "ping", "info", "time", "dbsize":
		return nil, true
	case "pubsub": // NUMSUB
		return args[1:], len(args) > 0 && strings.EqualFold(args[0], "numsub")
	case "script": // EXISTS, LOAD
		return nil, len(args) > 0 && !strings.EqualFold(args[0], "flush")
	case "eval", "evalsha":
		n, err := strconv.Atoi(args[1])
		if err != nil || len(args) < 2+n {
			return nil, false
		}
		return args[2 : 2+n], true
	case "del", "unlink", "exists", "mget", "subscribe", "unsubscribe":
		return args, true
	case "get", "set", "setex", "psetex", "setnx", "getdel", "pttl", "ttl", "expire", "pexpire", "pexpireat", "persist", "type",
		"hget", "hset", "hdel", "hlen", "hmget", "hgetall", "hexists",
		"rpush", "lpush", "lrange", "ltrim", "llen", "lindex", "publish":
		return args[:1], true
	}
	return nil, false
}

// within checks that all these commands keep to the prefix, and returns how many there
// are of each.
func within(t *testing.T, prefix string, commands [][]string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, words := range commands {
		counts[strings.ToLower(words[0])]++
		names, known := touched(words)
		if !known {
			t.Errorf("the run sent %q", words)
		}
		for _, name := range names {
			if !strings.HasPrefix(name, prefix) {
				t.Errorf("the run touched %q: %q", name, words)
			}
		}
	}
	if len(counts) == 0 {
		t.Error("nothing was recorded")
	}
	return counts
}

// inWords puts counts into words, the most frequent ones first.
func inWords(counts map[string]int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return counts[b] - counts[a] })
	var words []string
	for _, name := range names {
		words = append(words, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(words, ", ")
}

package redisstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// server is a Redis under test, with a client of the test's own.
type server struct {
	name  string
	addr  string
	admin *redis.Client
	mini  *miniredis.Miniredis // nil for a real one
	ctx   context.Context
}

// eachServer runs the test on miniredis and on a real redis-server, each of
// them empty. Where there is no redis-server the real half is skipped.
func eachServer(t *testing.T, test func(t *testing.T, r *server)) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) { test(t, startMini(t)) })
	t.Run("redis-server", func(t *testing.T) { test(t, startReal(t)) })
}

func startMini(t testing.TB) *server {
	t.Helper()
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	r := newServer(t, "miniredis", &redis.Options{Addr: m.Addr()})
	r.mini = m
	return r
}

// shared is one plain redis-server for the whole test binary: most tests need
// nothing but an empty one.
var shared struct {
	once sync.Once
	addr string
	err  error
	stop func()
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.stop != nil {
		shared.stop()
	}
	os.Exit(code)
}

func startReal(t testing.TB) *server {
	t.Helper()
	needRedis(t)
	shared.once.Do(startShared)
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	r := newServer(t, "redis-server", &redis.Options{Addr: shared.addr})
	if err := r.admin.FlushAll(r.ctx).Err(); err != nil {
		t.Fatal(err)
	}
	return r
}

// startShared starts the server that tests share.
func startShared() {
	dir, err := os.MkdirTemp("", "redisstore")
	if err != nil {
		shared.err = err
		return
	}
	stop, addr, err := launch(dir)
	shared.addr, shared.err = addr, err
	shared.stop = func() {
		if stop != nil {
			stop()
		}
		_ = os.RemoveAll(dir) // a temporary directory
	}
}

// startOwn starts a redis-server for one test, with more settings.
func startOwn(t testing.TB, o *redis.Options, settings ...string) *server {
	t.Helper()
	needRedis(t)
	stop, addr, err := launch(t.TempDir(), settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	o.Addr = addr
	return newServer(t, "redis-server", o)
}

func needRedis(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("no redis-server on PATH: the real half is not tested here")
	}
}

// launch starts a redis-server that keeps nothing, on a port that it binds on
// loopback, and waits until it says that it is ready.
func launch(dir string, settings ...string) (stop func(), addr string, err error) {
	for range 5 { // another process may take the port between the look and the start
		port, err := freePort()
		if err != nil {
			return nil, "", err
		}
		stop, err = launchOn(dir, port, settings)
		if err == nil {
			return stop, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), nil
		}
		if !strings.Contains(err.Error(), "in use") {
			return nil, "", err
		}
	}
	return nil, "", errors.New("no port was free five times")
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }() // only its number is wanted
	return l.Addr().(*net.TCPAddr).Port, nil
}

func launchOn(dir string, port int, settings []string) (func(), error) {
	args := append([]string{"--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no", "--port", strconv.Itoa(port)}, settings...)
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, "PORT", strconv.Itoa(port))
	}
	cmd := exec.Command("redis-server", args...)
	dieWithUs(cmd)
	said := &lines{ready: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed: its status says nothing
		close(ended)
	}()
	stop := func() {
		_ = cmd.Process.Kill() // it may have ended by itself
		<-ended
	}
	select {
	case <-said.ready:
		return stop, nil
	case <-ended:
		return nil, fmt.Errorf("redis-server ended: %s", said)
	case <-time.After(20 * time.Second):
		stop()
		return nil, fmt.Errorf("redis-server is not ready after 20s: %s", said)
	}
}

// lines collects output and closes ready when the server accepts connections.
type lines struct {
	mu    sync.Mutex
	text  bytes.Buffer
	ready chan struct{}
	done  bool
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	if !l.done && bytes.Contains(l.text.Bytes(), []byte("Ready to accept connections")) {
		l.done = true
		close(l.ready)
	}
	return len(p), nil
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newServer(t testing.TB, name string, o *redis.Options) *server {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	r := &server{name: name, addr: o.Addr, admin: redis.NewClient(o), ctx: ctx}
	t.Cleanup(func() { _ = r.admin.Close() })
	return r
}

// open makes a store on the server.
func (r *server) open(t testing.TB, o Options) *Store {
	t.Helper()
	s := openAt(t, &redis.UniversalOptions{Addrs: []string{r.addr}}, o)
	if !o.Unprotected {
		for _, election := range []string{"billing", "storetest", "storetest-2"} {
			_, _ = s.Create(r.ctx, election) // a server that cannot is what some tests are about
		}
	}
	return s
}

func openAt(t testing.TB, opts *redis.UniversalOptions, o Options) *Store {
	t.Helper()
	s, err := New(opts, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// lapse waits until the key has ended, as its time to live says.
func (r *server) lapse(t *testing.T, key string) {
	t.Helper()
	if r.mini != nil {
		r.mini.FastForward(time.Hour)
	}
	for {
		n, err := r.admin.Exists(r.ctx, key).Result()
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return
		}
	}
}

// do runs a command of the test's own, and fails the test if it fails.
func (r *server) do(t *testing.T, args ...any) any {
	t.Helper()
	reply, err := r.admin.Do(r.ctx, args...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatalf("%v: %v", args, err)
	}
	return reply
}

func tempFile(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

package redisstore

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/internal/topology"
)

// server is a Redis under test, with a client of the test's own.
type server struct {
	name  string
	addr  string
	admin *redis.Client
	mini  *miniredis.Miniredis // nil for a real one
	ctx   context.Context
	kept  map[string]string // see keep
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
	flag.Parse()
	// Tests on servers that have to agree mostly wait: more of them than cores
	// may run at once.
	if f := flag.Lookup("test.parallel"); f.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = f.Value.Set("4") // a number is always accepted
	}
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
	stop, server, err := launch(dir)
	if err == nil {
		shared.addr = server.Addr
	}
	shared.err = err
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
	stop, server, err := launch(t.TempDir(), settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	o.Addr = server.Addr
	return newServer(t, "redis-server", o)
}

func needRedis(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("no redis-server on PATH: the real half is not tested here")
	}
}

// launch starts a redis-server that keeps nothing, and waits until it accepts
// connections.
func launch(dir string, settings ...string) (stop func(), s *topology.Server, err error) {
	l := topology.NewLauncher(dir, nil)
	stop = func() { _ = l.Close() } // it is killed: how that went says nothing
	if s, err = l.Server(context.Background(), topology.Config{Settings: settings}); err != nil {
		stop()
		return nil, nil, err
	}
	return stop, s, nil
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
	s := openAt(t, &redis.UniversalOptions{Addrs: []string{r.addr}, ReadTimeout: max(3*time.Second, 2*o.Confirm)}, o)
	if !o.Unprotected {
		for _, election := range []string{"billing", "storetest", "storetest-2"} {
			_ = s.Vouch(r.ctx, election) // a server that cannot is what some tests are about
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

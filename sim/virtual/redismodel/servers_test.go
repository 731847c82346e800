package redismodel

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/internal/topology"
)

// shared is one redis-server for the whole test binary.
var shared struct {
	once sync.Once
	addr string
	err  error
	stop func()
}

func TestMain(m *testing.M) {
	flag.Parse()
	// Nothing here happens on two goroutines: the race detector sees a few cases.
	if checks := flag.Lookup("rapid.checks"); race.Enabled && checks.Value.String() == checks.DefValue {
		_ = checks.Value.Set("30") // a number is always accepted
	}
	code := m.Run()
	if shared.stop != nil {
		shared.stop()
	}
	os.Exit(code)
}

// startReal connects to a redis-server that is empty. Where there is none, the
// test is skipped.
func startReal(t testing.TB) *wire {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("no redis-server on PATH: the model is not compared with it here")
	}
	shared.once.Do(startShared)
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	w := dial(t, "tcp", shared.addr)
	w.do(t, "FLUSHALL")
	w.do(t, "SCRIPT", "FLUSH")
	return w
}

func startShared() {
	dir, err := os.MkdirTemp("", "redismodel")
	if err != nil {
		shared.err = err
		return
	}
	l := topology.NewLauncher(dir, nil)
	shared.stop = func() {
		_ = l.Close()         // it is killed: how that went says nothing
		_ = os.RemoveAll(dir) // a temporary directory
	}
	s, err := l.Server(context.Background(), topology.Config{})
	if err != nil {
		shared.err = err
		return
	}
	shared.addr = s.Addr
}

// mini is a miniredis whose clock the test sets.
type mini struct {
	*wire
	server *miniredis.Miniredis
}

func startMini(t testing.TB) *mini {
	t.Helper()
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return &mini{wire: dial(t, "tcp", m.Addr()), server: m}
}

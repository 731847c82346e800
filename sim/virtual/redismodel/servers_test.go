package redismodel

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"
)

// shared is one redis-server for the whole test binary.
var shared struct {
	once   sync.Once
	socket string
	err    error
	stop   func()
}

func TestMain(m *testing.M) {
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
	w := dial(t, "unix", shared.socket)
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
	socket := filepath.Join(dir, "redis")
	stop, err := launch("--dir", dir, "--unixsocket", socket, "--port", "0", "--save", "", "--appendonly", "no")
	shared.socket, shared.err = socket, err
	shared.stop = func() {
		if stop != nil {
			stop()
		}
		_ = os.RemoveAll(dir) // a temporary directory
	}
}

// launch starts a redis-server and waits until it says that it is ready.
func launch(settings ...string) (stop func(), err error) {
	cmd := exec.Command("redis-server", settings...)
	dieWithUs(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill() // it may have ended by itself
		_ = cmd.Wait()         // it is killed: its status says nothing
	}
	said := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said += lines.Text() + "\n"
		if strings.Contains(said, "ready to accept connections") {
			go func() { _, _ = io.Copy(io.Discard, out) }() // until it ends
			return stop, nil
		}
	}
	stop()
	return nil, fmt.Errorf("redis-server ended: %s", said)
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

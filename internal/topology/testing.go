package topology

import (
	"context"
	"os/exec"
	"time"
)

// T is the part of a testing.TB that servers of a test need. Fatalf and Skipf
// must not return.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
	Cleanup(func())
	TempDir() string
}

// testTime bounds the whole life of a test's servers.
const testTime = time.Minute

// For returns a Launcher whose servers end with the test, and a context for
// what the test does with them. The test is skipped if one of the programs is
// not on PATH.
func For(t T, programs ...string) (context.Context, *Launcher) {
	t.Helper()
	need(t, programs...)
	l := NewLauncher(t.TempDir(), nil)
	ctx, cancel := context.WithTimeout(context.Background(), testTime)
	t.Cleanup(func() {
		cancel()
		if err := l.Close(); err != nil {
			t.Fatalf("%v", err)
		}
	})
	return ctx, l
}

// need skips the test if one of the programs is not on PATH.
func need(t T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no %s on PATH: this is not tested here", program)
		}
	}
}

// Single starts one server for a test, with these settings.
func Single(t T, settings ...string) *Server {
	t.Helper()
	ctx, l := For(t, ServerProgram)
	return Must[*Server](t)(l.Server(ctx, Config{Settings: settings}))
}

// Must returns a function that hands a value on, or fails the test with the
// error that came in its place:
//
//	r := topology.Must[*topology.Cluster](t)(l.Cluster(ctx, topology.ClusterConfig{}))
func Must[V any](t T) func(V, error) V {
	return func(value V, err error) V {
		t.Helper()
		if err != nil {
			t.Fatalf("%v", err)
		}
		return value
	}
}

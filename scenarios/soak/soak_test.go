package soak_test

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/scenarios/soak"
	"github.com/recount-io/recount/sim/live/supervisor"
)

func TestMain(m *testing.M) {
	supervisor.Main()
	soak.Main()
	redis.SetLogger(soak.Silent{})
	os.Exit(m.Run())
}

// A fleet of electors on real servers keeps every promise under drawn faults, and
// what its processes consume does not grow. "chaos soak" takes longer.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute of real time")
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not on PATH")
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := soak.Options{Duration: 20 * time.Second, Elections: 50, Groups: 2, Seed: uint64(time.Now().UnixNano() % 1_000_000), Folder: t.TempDir()}
	began := time.Now()
	o.Say = func(format string, args ...any) {
		t.Logf("%6.1f s: "+format, append([]any{time.Since(began).Seconds()}, args...)...)
	}
	report, err := soak.Run(ctx, o)
	if report != nil {
		if err := report.Write(t.Output()); err != nil {
			t.Error(err)
		}
		for _, text := range report.Broken {
			t.Errorf("seed %d: %s", o.Seed, text)
		}
		for _, name := range report.Growing() {
			t.Errorf("not flat: %s", name)
		}
		if report.Summary == nil || report.Summary.Links == 0 {
			t.Error("nothing was judged")
		}
	}
	if context.Cause(ctx) != nil {
		t.Error("it was stopped before its time")
	} else if err != nil {
		t.Error(err)
	}
}

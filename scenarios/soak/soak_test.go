package soak_test

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/scenarios/soak"
	"github.com/recount-io/recount/sim/live/warden"
)

func TestMain(m *testing.M) {
	warden.Main()
	soak.Main()
	redis.SetLogger(soak.Silent{})
	os.Exit(m.Run())
}

// options are those that the environment asks for: RECOUNT_SOAK is how long,
// RECOUNT_SOAK_ELECTIONS how many, RECOUNT_SOAK_SEED from what, RECOUNT_SOAK_LEAK
// what leak is planted, and RECOUNT_SOAK_FOLDER where what is kept goes.
func options(t *testing.T) soak.Options {
	t.Helper()
	o := soak.Options{Duration: 20 * time.Second, Elections: 50, Groups: 2, Seed: uint64(time.Now().UnixNano() % 1_000_000)}
	if text := os.Getenv("RECOUNT_SOAK"); text != "" {
		o = soak.Options{Seed: o.Seed}
		var err error
		if o.Duration, err = time.ParseDuration(text); err != nil {
			t.Fatalf("RECOUNT_SOAK is how long: 1h, say: %v", err)
		}
	}
	number := func(name string, set func(uint64)) {
		if text := os.Getenv(name); text != "" {
			n, err := strconv.ParseUint(text, 10, 32)
			if err != nil {
				t.Fatalf("%s is a number: %v", name, err)
			}
			set(n)
		}
	}
	number("RECOUNT_SOAK_ELECTIONS", func(n uint64) { o.Elections = int(n) })
	number("RECOUNT_SOAK_GROUPS", func(n uint64) { o.Groups = int(n) })
	number("RECOUNT_SOAK_SEED", func(n uint64) { o.Seed = n })
	o.Leak = os.Getenv("RECOUNT_SOAK_LEAK")
	if o.Folder = os.Getenv("RECOUNT_SOAK_FOLDER"); o.Folder == "" {
		o.Folder = t.TempDir()
	}
	began := time.Now()
	o.Say = func(format string, args ...any) {
		t.Logf("%6.1f s: "+format, append([]any{time.Since(began).Seconds()}, args...)...)
	}
	return o
}

// A fleet of electors on real servers keeps every promise under drawn faults, and
// what its processes consume does not grow. It is short unless RECOUNT_SOAK asks for
// more: make soak does, for an hour.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute of real time")
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not on PATH")
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := options(t)
	t.Logf("seed %d, what is kept is in %s", o.Seed, o.Folder)
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

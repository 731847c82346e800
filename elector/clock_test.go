package elector_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/memstore"
)

// Jumps of the wall clock have no effect, because nothing in the elector ever
// asks it: no source file of the elector, the machine or the store in memory
// calls the parts of package time that do, or waits on them. Five files are exceptions.
// One says when a request's context ends, as package context does, and one has no other
// clock: both use the monotonic part. One is for bubbles of tests, where no clock is real.
// One tells the end of a term as a time of the wall clock, to a caller, and decides nothing
// by it. The fifth one, Linux's, looks at the wall clock for one purpose: that it has gone on as the
// monotonic clock has shows that the machine was not suspended, and that it has
// not is a reason to ask the kernel. No time of the wall clock's reaches anybody:
// what it does there when it jumps, TestBootClockInterrupted shows.
func TestWallClockIsNeverAsked(t *testing.T) {
	wall := []string{"Now", "Since", "Until", "Sleep", "After", "Tick", "NewTimer", "NewTicker"}
	allowed := map[string][]string{
		"clock_other.go":  {"Now", "Since"},
		"clock_bubble.go": {"Since"},
		"clock_linux.go":  {"Now"},
		"lean.go":         {"Now"},
		"term.go":         {"Now"},
	}
	for _, dir := range []string{".", "memstore", "storetest", "../internal/machine"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, error %v", dir, len(files), err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, name := range timeCalls(t, file) {
				if slices.Contains(wall, name) && !(dir == "." && slices.Contains(allowed[file], name)) {
					t.Errorf("%s calls time.%s", file, name)
				}
			}
		}
	}
}

// timeCalls returns the names of package time that a file uses.
func timeCalls(t *testing.T, file string) (names []string) {
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, src, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "time" {
				names = append(names, sel.Sel.Name)
			}
		}
		return true
	})
	return names
}

// The system's clock goes forward at the pace of the monotonic clock, and its
// timers fire once.
func TestSystemClock(t *testing.T) {
	clock := elector.SystemClock()
	began, monotonic := clock.Now(), time.Now()
	fired := make(chan struct{}, 2)
	clock.AfterFunc(20*time.Millisecond, func() { fired <- struct{}{} })
	never := clock.AfterFunc(time.Hour, func() { t.Error("a stopped timer fired") })
	<-fired
	if !never.Stop() {
		t.Error("Stop of a pending timer says no")
	}
	passed, want := clock.Now()-began, time.Since(monotonic)
	if passed < 20*time.Millisecond || (passed-want).Abs() > 20*time.Millisecond {
		t.Errorf("%v passed, %v on Go's own clock", passed, want)
	}
}

// In a bubble an elector lives by the bubble's time unless it is told otherwise, and so do
// its store and its observers: it leads, loses a lease that it cannot renew, and is not
// elected before that lease has ended.
func TestBubbleTimeByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		fails := func(context.Context) error {
			if down.Load() {
				return errLost
			}
			return nil
		}
		s := &rigStore{Store: memstore.New(memstore.Options{}), renew: fails, release: fails}
		cfg := elector.Config{Election: "billing", Logger: slog.New(slog.DiscardHandler)}
		e, err := elector.New(s, cfg)
		if err != nil {
			t.Fatal(err)
		}
		term, err := e.Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if now := elector.SystemClock().Now(); now > time.Second || now+usable-term.Until() > time.Millisecond {
			t.Errorf("it is %v and the deadline is %v", now, term.Until())
		}
		down.Store(true)
		<-term.Context().Done()
		if now := elector.SystemClock().Now(); now != term.Until() {
			t.Errorf("the term ended at %v, want its deadline at %v", now, term.Until())
		}
		for l, err := range elector.Observe(t.Context(), s, "billing", elector.ObserveOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			if l.ID == "" {
				break
			}
		}
		if now := elector.SystemClock().Now(); now < 15*time.Second || now > 16*time.Second {
			t.Errorf("nobody was seen to lead at %v, want the lease's end after 15s", now)
		}
	})
}

// An elector that is made outside of the bubble in which it competes would never lead. It
// says so, whichever way it is asked to compete.
func TestMadeOutsideOfTheBubble(t *testing.T) {
	e, err := elector.New(memstore.New(memstore.Options{}), elector.Config{Election: "billing"})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		for name, compete := range map[string]func() error{
			"Run":        func() error { return e.Run(t.Context()) },
			"Campaign":   func() error { _, err := e.Campaign(t.Context()); return err },
			"TryAcquire": func() error { _, err := e.TryAcquire(t.Context()); return err },
			"Terms": func() (last error) {
				for _, err := range e.Terms(t.Context()) {
					last = err
				}
				return last
			},
		} {
			var wrong *elector.ConfigError
			if err := compete(); !errors.As(err, &wrong) || wrong.Field != "Clock" {
				t.Errorf("%s: %v, want an error that names Clock", name, err)
			}
		}
	})
}

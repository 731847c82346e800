package fuzz

import (
	"flag"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// This file is the one place that knows how rapid is driven outside a test.
// rapid.Check takes its settings from flags of the program and asks
// testing.Short, which exists only once testing has its flags: that is what
// package testing is imported for, and nothing else.

// driving keeps the flags to one search at a time.
var driving sync.Mutex

// shrinkDraws lets rapid find the failure that generator.Example(seed) draws
// and shrink it, until late says that it is enough. fails reports whether a case is
// a failure; the last one for which it did is the smallest.
//
// rapid.Check draws its first case from rapid.seed exactly as Example does
// from its argument, so one check is enough to find the failure again. It knows
// no end but a time, so it is left by ending its goroutine.
func shrinkDraws(cases *rapid.Generator[Case], seed uint64, fails func(*Case) bool, late func() bool) {
	driving.Lock()
	defer driving.Unlock()
	prepare()
	defer set("rapid.seed", strconv.FormatUint(seed, 10))()
	defer set("rapid.checks", "5")() // testing.Short takes a fifth of them
	defer set("rapid.nofailfile", "true")()
	defer set("rapid.shrinktime", time.Hour.String())()
	inGoroutine(func() {
		rapid.Check(&silent{}, func(t *rapid.T) {
			if late() {
				runtime.Goexit()
			}
			c := cases.Draw(t, "case")
			if fails(&c) {
				t.Fatalf("it fails")
			}
		})
	})
}

// prepare makes testing.Short answer in a program that is no test.
func prepare() {
	if flag.Parsed() {
		return
	}
	testing.Init()
	if err := flag.CommandLine.Parse(nil); err != nil {
		panic(fmt.Sprintf("fuzz: no argument at all is wrong: %v", err))
	}
}

// inGoroutine runs what may end its goroutine, as FailNow does.
func inGoroutine(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// set gives a flag a value and returns what puts the old one back.
func set(name, value string) (restore func()) {
	f := flag.Lookup(name)
	old := f.Value.String()
	if err := f.Value.Set(value); err != nil {
		panic(fmt.Sprintf("fuzz: flag %s=%s: %v", name, value, err))
	}
	return func() {
		if err := f.Value.Set(old); err != nil {
			panic(fmt.Sprintf("fuzz: flag %s=%s: %v", name, old, err))
		}
	}
}

// silent is a test that nobody watches.
type silent struct{ failed bool }

var _ rapid.TB = (*silent)(nil)

func (*silent) Helper()                 {}
func (*silent) Name() string            { return "chaos fuzz" }
func (*silent) Logf(string, ...any)     {}
func (*silent) Log(...any)              {}
func (s *silent) Skipf(string, ...any)  { s.SkipNow() }
func (s *silent) Skip(...any)           { s.SkipNow() }
func (*silent) SkipNow()                { runtime.Goexit() }
func (s *silent) Errorf(string, ...any) { s.Fail() }
func (s *silent) Error(...any)          { s.Fail() }
func (s *silent) Fatalf(string, ...any) { s.FailNow() }
func (s *silent) Fatal(...any)          { s.FailNow() }
func (s *silent) Fail()                 { s.failed = true }
func (s *silent) Failed() bool          { return s.failed }

func (s *silent) FailNow() {
	s.Fail()
	runtime.Goexit()
}

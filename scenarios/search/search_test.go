package search

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/sim/space"
)

// toy is a case of a space that is made for tests: it does one thing for each of its
// numbers.
type toy struct {
	Number uint64
	Do     []string
}

// doings are what a toy can do, in the order of its numbers.
var doings = []string{"nothing", "breaks", "panics", "panics elsewhere", "spins", "stands still", "takes memory", "never stops"}

func drawToy(number uint64) toy {
	return toy{Number: number, Do: []string{"nothing", doings[number%uint64(len(doings))], "nothing"}}
}

func (c toy) Features() []string { return slices.Compact(slices.Sorted(slices.Values(c.Do))) }

func (c toy) Simpler() (all []toy) {
	for i := range c.Do {
		all = append(all, toy{c.Number, slices.Delete(slices.Clone(c.Do), i, i+1)})
	}
	return all
}

func (c toy) Run(ctx context.Context) (o space.Outcome) {
	for _, do := range c.Do {
		switch do {
		case "breaks":
			o.Findings = append(o.Findings, space.Finding{Obligation: "sound", Details: "it is broken"})
		case "panics":
			panic("the case itself panics")
		case "panics elsewhere":
			go elsewhere()
			select {}
		case "spins":
			for ctx.Err() == nil {
			}
		case "stands still":
			var mu sync.Mutex
			mu.Lock()
			mu.Lock()
		case "takes memory":
			var all [][]byte
			for ctx.Err() == nil {
				all = append(all, make([]byte, 64<<20)) // a page of it that nobody touches costs no time
			}
			o.Log = append(o.Log, fmt.Sprint(len(all)))
		case "never stops":
			go func() { select {} }()
		}
	}
	o.Log = c.Do
	return o
}

// elsewhere panics.
func elsewhere() { panic("a goroutine panics") }

var toys = NewSpace("toys", "what a toy does", drawToy, func(toy, *checker.Result) []space.Finding { return nil }, space.Obligations{"sound": "a toy is sound"})

// coins are toys of which few break.
var coins = NewSpace("coins", "toys of which few break", func(number uint64) toy {
	return toy{Number: number, Do: []string{doings[min(number%29, 28)/28]}}
}, func(toy, *checker.Result) []space.Finding { return nil }, nil)

// number is the number of a case that does something.
func number(do string) uint64 { return uint64(slices.Index(doings, do)) }

// A case that breaks an obligation, panics, spins, stands still or leaves a goroutine behind is a finding that
// says so, and is shrunk to what it takes.
func TestCasesThatDoNotEndAreFindings(t *testing.T) {
	for do, want := range map[string]struct{ obligation, details string }{
		"breaks":           {"sound", "it is broken"},
		"panics":           {noPanic, "the case itself panics"},
		"panics elsewhere": {noPanic, "a goroutine panics in scenarios/search.elsewhere"},
		"spins":            {ends, "something spins"},
		"stands still":     {ends, "stands still"},
		"takes memory":     {ends, "takes all memory"},
		"never stops":      {rests, "deadlock"},
	} {
		t.Run(do, func(t *testing.T) {
			t.Parallel()
			limit := time.Second
			if do == "takes memory" {
				limit = time.Minute
			}
			r, err := Run(t.Context(), Options{Space: toys, Seed: number(do), Cases: 1, Workers: 1, Shrink: 10 * time.Minute, Limit: limit}) // as long as a slow machine needs
			if err != nil || len(r.Failures) != 1 {
				t.Fatalf("%+v, %v", r, err)
			}
			f := r.Failures[0]
			if f.Finding.Obligation != want.obligation || !strings.Contains(f.Finding.Details, want.details) || f.Again != f.Repeats() {
				t.Errorf("found %+v, %d of %d times again, want %+v", f.Finding, f.Again, f.Repeats(), want)
			}
			if c := f.Case.(wrapped[toy]).plain; !slices.Equal(c.Do, []string{do}) {
				t.Errorf("it was shrunk to %q", c.Do)
			}
		})
	}
}

// A search tries the same cases, and finds the same, with one worker and with three.
func TestSearchDoesNotDependOnWorkers(t *testing.T) {
	var said []string
	for _, workers := range []int{1, 3} {
		r, err := Run(t.Context(), Options{Space: coins, Seed: 1, Cases: 200, Workers: workers, Shrink: -1})
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(r.Cases)
		for _, f := range r.Failures {
			text += fmt.Sprintf(" %d: %v", f.Number, f.Finding)
		}
		said = append(said, text)
	}
	if said[0] != said[1] || !strings.Contains(said[0], "it is broken") {
		t.Errorf("one worker: %s\nthree: %s", said[0], said[1])
	}
}

// A feature that no case has ends the search with an error.
func TestNoCaseHasTheFeature(t *testing.T) {
	_, err := Run(t.Context(), Options{Space: toys, Seed: 1, Cases: 1, Only: "flies"})
	if err == nil || !strings.Contains(err.Error(), `the feature "flies"`) {
		t.Error(err)
	}
}

// A failure is kept in a file that repeats it.
func TestFileRepeatsItsCase(t *testing.T) {
	f := Failure{Space: toys, Number: 1, Finding: space.Finding{Obligation: "sound", Details: "it is broken"}, Case: toys.Draw(1)}
	text, err := f.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if !IsFile(text) {
		t.Errorf("it is not taken for a file:\n%s", text)
	}
	again, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	r, err := again.Replay(t.Context())
	if err != nil || r.Runs != 1 || r.Failed != 1 || !slices.Equal(r.Log, []string{"nothing", "breaks", "nothing"}) {
		t.Errorf("%+v, %v", r, err)
	}
	for _, change := range [][2]string{{`"toys"`, `"games"`}, {`"Do"`, `"Dont"`}, {`"space"`, `"place"`}} {
		if _, err := Parse([]byte(strings.Replace(string(text), change[0], change[1], 1))); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("with %s for %s: %v", change[1], change[0], err)
		}
	}
}

// A failure of an earlier version that has the old name of a promise, or of an obligation, is
// one of the same promise or obligation.
func TestOldNamesAreRead(t *testing.T) {
	for old, now := range map[string]string{"LossHeeded": "StepsDownOnLoss", "wrong heir": "wrong successor"} {
		f := Failure{Space: toys, Number: 1, Finding: space.Finding{Obligation: old, Details: "it is broken"}, Case: toys.Draw(1)}
		text, err := f.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Parse(text); err != nil || again.Finding.Obligation != now {
			t.Errorf("%s is read as %q, %v", old, again.Finding.Obligation, err)
		}
	}
}

// Every case of every space is the same after it was kept in a file.
func TestCasesAreKeptWhole(t *testing.T) {
	for _, s := range Spaces {
		for number := range uint64(100) {
			c := s.Draw(number << 30)
			text, err := (&Failure{Space: s, Number: c.Number(), Case: c}).Marshal()
			if err != nil {
				t.Fatal(err)
			}
			f, err := Parse(text)
			if err != nil {
				t.Fatalf("case %d of %s: %v", c.Number(), s.Name, err)
			}
			if f.Case.String() != c.String() || f.Case.Number() != c.Number() {
				t.Fatalf("case %d of %s is\n%v, and was\n%v", c.Number(), s.Name, f.Case, c)
			}
		}
	}
}

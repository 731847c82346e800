package fuzz_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/internal/raced"
	"github.com/recount-io/recount/scenarios/fuzz"
	"github.com/recount-io/recount/sim/virtual"
)

// bug is the production elector but for one thing, or another elector with one
// bug. A fuzzer that does not find it finds nothing of the kind.
type bug struct {
	name    string
	where   string
	what    string            // in one sentence
	breaks  []checker.Promise // those on which it may be caught
	subject virtual.Subject

	unseen string // why the fuzzer does not find it; "" if it does
}

// Where a bug is.
const (
	inMachine = "machine"
	inScript  = "script"
	inAnswers = "answers"
	inLoop    = "blocking"
)

// planted are all of them.
func planted() []bug {
	return slices.Concat(machineBugs(), scriptBugs(), answerBugs(), blockingBugs())
}

// What the fuzzer is given for each bug: so many schedules from each seed, until
// one of them shows it.
const huntSchedules = 8000

var huntSeeds = []uint64{1, 100_001, 200_001}

// fewFaults is how many a shrunk schedule may have.
const fewFaults = 3

// sighting is a bug that was found.
type sighting struct {
	fuzz.Failure
	schedules int // from all seeds
	seconds   float64
}

// hunt lets the fuzzer look for the bug. What is found on a promise that the
// bug is not about, or takes too many faults to be read, does not count.
func (b *bug) hunt(t *testing.T) *sighting {
	t.Helper()
	var s sighting
	for _, seed := range huntSeeds {
		for failures := 1; failures <= 2; failures++ {
			r := fuzz.Run(t.Context(), fuzz.Options{
				Seed: seed, Schedules: huntSchedules, Failures: failures, Pins: fuzz.Pins{Subject: b.name},
				Subjects: map[string]virtual.Subject{b.name: b.subject},
			})
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			s.schedules += r.Schedules
			s.seconds += r.Seconds
			if len(r.Failures) < failures {
				break // there is no more from this seed
			}
			s.Failure = r.Failures[failures-1]
			if b.fits(&s.Case) {
				return &s
			}
			t.Logf("does not count: drawn from %d: %v: %s", s.Seed, s.Case.Failed, oneLine(&s.Case))
		}
	}
	t.Fatalf("not found in %d schedules, %.1f s", s.schedules, s.seconds)
	return nil
}

// fits tells whether the case shows the bug.
func (b *bug) fits(c *fuzz.Case) bool {
	harness := strings.Contains(c.Failed.Reason, "harness") // its checkers disagree
	return slices.Contains(b.breaks, c.Failed.Promise) && !harness && len(c.Schedule) <= fewFaults
}

var update = flag.Bool("update", false, "write what was found to docs/planted-bugs.md")

// Every planted bug is found, on a promise that fits, and shrunk to three
// faults at the most.
func TestPlantedBugs(t *testing.T) {
	patient(t)
	var rows []string
	for _, b := range planted() {
		if b.unseen != "" {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			s := b.hunt(t)
			t.Logf("%d schedules, %.2f s with shrinking: %v: %s", s.schedules, s.seconds, s.Case.Failed, oneLine(&s.Case))
			rows = append(rows, b.row(s))
		})
	}
	if *update && !t.Failed() {
		rewriteTable(t, rows)
	}
}

// The production elector, given the same seeds, raises no alarm.
func TestPlantedNothing(t *testing.T) {
	patient(t)
	for _, seed := range huntSeeds {
		r := fuzz.Run(t.Context(), fuzz.Options{Seed: seed, Schedules: 2000, Failures: 8, Pins: fuzz.Pins{Subject: "recount"}})
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		for _, f := range r.Failures {
			t.Errorf("drawn from %d: %v: %s", f.Seed, f.Case.Failed, oneLine(&f.Case))
		}
	}
}

// oneLine is a case in a few words.
func oneLine(c *fuzz.Case) string {
	words := []string{fmt.Sprintf("%d candidates, lease %v, drift %v", c.Nodes, c.Timings.Lease, c.Drift)}
	if c.Nodes == 1 {
		words[0] = strings.Replace(words[0], "candidates", "candidate", 1)
	}
	if len(c.Schedule) == 0 {
		words = append(words, "no fault at all")
	}
	for _, step := range c.Schedule {
		words = append(words, stepLine(step))
	}
	return strings.Join(words, "; ")
}

func stepLine(s faults.Step) string {
	text := fmt.Sprintf("at %v %s", s.At, s.Fault.Name())
	params := s.Fault.Params()
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if name != "cut" && name != "keep_data" { // the fault's name says it
			text += fmt.Sprintf(" %s=%v", name, params[name])
		}
	}
	if s.Target != faults.Store {
		text += fmt.Sprintf(" on %v", s.Target)
	}
	if !s.Fault.Effect().Instant {
		text += fmt.Sprintf(" for %v", s.For)
	}
	return text
}

// The loop that the bugs of electors in blocking style are put into has none
// itself.
func TestPlainLoop(t *testing.T) {
	patient(t)
	r := fuzz.Run(t.Context(), fuzz.Options{
		Seed: huntSeeds[0], Schedules: 1000, Failures: 8, Pins: fuzz.Pins{Subject: "loop"},
		Subjects: map[string]virtual.Subject{"loop": {Blocking: loop{}.run}},
	})
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	for _, f := range r.Failures {
		t.Errorf("seed %d: %s: %s: %s", f.Seed, f.Case.Failed.Promise, f.Case.Failed.Reason, oneLine(&f.Case))
	}
	t.Logf("%d schedules, %.1f s", r.Schedules, r.Seconds)
}

// patient skips a test of many thousand schedules where that would take long:
// the fuzzer's goroutines are raced by its other tests.
func patient(t *testing.T) {
	t.Helper()
	if testing.Short() || raced.Enabled {
		t.Skip("it takes half a minute, and many times that with the race detector")
	}
}

package soak

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recount-io/recount/checker"
)

// Report is what came of a soak.
type Report struct {
	Options Options
	Took    time.Duration
	Summary *checker.Summary
	Broken  []string       // the promises that were, each in a sentence with the file that shows it
	Unknown map[string]int // what is undecided, and how often
	Faults  map[string]int // how often each was put on

	Terms, HandOvers int
	Gaps             int // without a leader, outside faults
	P50, P99, Max    time.Duration

	Stalls  []string // by name
	Growths []Growth

	Stranded int // goroutines that toxiproxy left waiting for ever in the harness; Growths has the others

	_ struct{}
}

// counts counts stalls by whom they held up.
type counts struct {
	mu  sync.Mutex
	all map[string]*stalled
}

type stalled struct {
	n            int
	sum, longest time.Duration
}

func (c *counts) count(target string, lasted time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all[target] == nil {
		c.all[target] = &stalled{}
	}
	s := c.all[target]
	s.n++
	s.sum += lasted
	s.longest = max(s.longest, lasted)
}

// finish completes the report.
func (s *soak) finish() *Report {
	r := &s.report
	r.Took = s.now()
	r.Growths, r.Stranded = s.usage.growths()
	slices.Sort(s.gaps)
	if r.Gaps = len(s.gaps); r.Gaps > 0 {
		r.P50, r.P99, r.Max = s.gaps[r.Gaps/2], s.gaps[r.Gaps*99/100], s.gaps[r.Gaps-1]
	}
	for _, target := range slices.Sorted(maps.Keys(s.stalls.all)) {
		one := s.stalls.all[target]
		r.Stalls = append(r.Stalls, fmt.Sprintf("%s held up %d times, for %v in total, %v at most", target, one.n, one.sum.Round(time.Millisecond), one.longest.Round(time.Millisecond)))
	}
	return r
}

// Growing are the things that are not flat.
func (r *Report) Growing() (all []string) {
	for _, g := range r.Growths {
		if !g.Flat {
			all = append(all, g.Process+" "+g.Thing)
		}
	}
	return all
}

// Write writes the report as text.
func (r *Report) Write(w io.Writer) error {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("soak: seed %d, %d elections in %d groups, lease %v, %v", r.Options.Seed, r.Options.Elections, r.Options.Groups, r.Options.Lease, r.Took.Round(time.Second))
	for _, text := range r.Broken {
		say("BROKEN: %s", text)
	}
	if len(r.Broken) == 0 {
		say("no promise was broken")
	} else {
		say("  the same faults again: %s", r.Options.repro())
	}
	if s := r.Summary; s != nil {
		say("histories judged: %d, events: %d, the longest of %d", s.Links, s.Events, s.Longest)
		say("operations: %d ok, %d fail, %d unknown; writes: %d accepted, %d refused, %d stale accepted",
			s.Ops.Ok, s.Ops.Fail, s.Ops.Info, s.Writes.Accepted, s.Writes.Refused, s.Writes.StaleAccepted)
		say("terms: %d, handed over to another candidate: %d", r.Terms, r.HandOvers)
		say("failovers: %d, excess p50 %v p99 %v max %v", s.Failovers.Count, s.Failovers.Excess.P50.Value, s.Failovers.Excess.P99.Value, s.Failovers.Excess.Max)
		for _, f := range s.Faults {
			say("  fault %-20s put on %5d times; of %6d histories with it, %6d show its effect", f.Name, r.Faults[f.Name], f.Injected, f.Effective)
		}
	}
	say("without a leader outside faults: %d times, p50 %v p99 %v max %v", r.Gaps, r.P50, r.P99, r.Max)
	for _, text := range r.Stalls {
		say("  stall: %s", text)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Unknown)) {
		say("  unknown, %d times: %s", r.Unknown[name], name)
	}
	say("%-10s %-12s %8s %14s %14s %14s  %s", "process", "thing", "samples", "first", "last", "per hour", "flat")
	for _, g := range r.Growths {
		say("%-10s %-12s %8d %14d %14d %14.0f  %v", g.Process, g.Thing, g.Samples, g.First, g.Last, g.Slope, g.Flat)
	}
	say("and in the harness %d goroutines that toxiproxy left waiting for ever", r.Stranded)
	_, err := io.WriteString(w, b.String())
	return err
}

package checker

import (
	"cmp"
	"slices"
	"time"

	"github.com/recount-io/recount/checker/internal/finding"
	"github.com/recount-io/recount/history"
)

// Chain judges a run that is too long to be kept as one history: as a chain of
// whole histories, each of which is judged like any other and then forgotten.
//
// The recorder of the run ends a history where all is calm: no fault is on or was on
// lately, nothing is under way, one node leads. It begins the next history by restating
// what goes on: see history.Event.Restated. A link knows nothing of the
// links before but what it restates, so what contradicts only an earlier one is
// not found.
//
// The zero value is ready to use. It must not be used by several goroutines at a
// time.
type Chain struct {
	Options Options

	asked    []*Finding // the worst of all links so far, as in Result
	measured []*Finding
	lease    [3]*Finding
	shown    *Result // of the history that is kept
	sum      Summary
	whole    time.Duration // from the first term of every link to its end
	excess   histogram
	total    histogram
}

// Summary is what was found out about a chain: a Result without the lists that
// grow with the length of the run.
type Summary struct {
	// Verdict, Asked and Measured are those of a Result. Of several violations
	// of one promise the first one is reported; evidence numbers the events of
	// Guilty, and is left out where another history shows it.
	Verdict  Verdict
	Asked    []Finding
	Measured []Finding
	Lease    LeaseChecks

	Faults    []FaultCount // ordered by name
	Ops       OpCounts
	Writes    WriteCounts
	Terms     int
	Failovers FailoverSummary

	DualBelief   time.Duration // time in which more than one candidate believed, summed
	Leaderless   time.Duration // time in which nobody led, from the first term to the end
	Availability float64       // share of that time in which somebody did
	End          time.Duration // time of the last event

	Events  int // how many there were, without those that restate
	Links   int // of how many histories
	Longest int // events of the longest one: what the memory was needed for

	// Guilty is the first history of the chain that breaks a promise that is
	// asked for; nil if none does.
	Guilty *history.History
}

// FailoverSummary describes failovers that are not listed.
type FailoverSummary struct {
	Count  int
	Excess Quantiles // what no elector has to take; see Failover
	Total  Quantiles
}

// Add judges the next history of the chain, and returns what came of it alone. It
// does not keep h.
func (c *Chain) Add(h *history.History) *Result {
	v := Check(h, c.Options)
	c.asked = worst(c.asked, v.Asked)
	c.measured = worst(c.measured, v.Measured)
	for i, f := range []Finding{v.Lease.Intervals, v.Lease.StoreOrder, v.Lease.Porcupine} {
		c.lease[i] = finding.Worse(c.lease[i], &f)
	}
	if v.Verdict == Fail && c.sum.Guilty == nil {
		c.sum.Guilty, c.shown = &history.History{Header: h.Header, Events: slices.Clone(h.Events)}, v
	}
	c.count(h, v)
	return v
}

// worst is, promise by promise, the finding that outweighs. All links of a chain
// ask for the same promises.
func worst(so []*Finding, of []Finding) []*Finding {
	out := make([]*Finding, len(of))
	for i := range of {
		out[i] = &of[i]
		if i < len(so) {
			out[i] = finding.Worse(so[i], &of[i])
		}
	}
	return out
}

// Summary is what was found out so far. It is unknown as long as nothing was
// added.
func (c *Chain) Summary() *Summary {
	s := c.sum
	s.Faults = slices.Clone(s.Faults)
	s.Asked, s.Measured = c.trimmed(c.asked), c.trimmed(c.measured)
	for i, f := range []*Finding{&s.Lease.Intervals, &s.Lease.StoreOrder, &s.Lease.Porcupine} {
		if c.lease[i] != nil {
			*f = *c.lease[i]
		}
	}
	s.Verdict = Overall(s.Asked)
	s.Failovers = FailoverSummary{Count: c.excess.n, Excess: c.excess.quantiles(), Total: c.total.quantiles()}
	s.Availability = share(s.Leaderless, c.whole)
	return &s
}

// trimmed are the findings, with evidence only where it is about the history that
// is kept.
func (c *Chain) trimmed(findings []*Finding) []Finding {
	var out []Finding
	for i, f := range findings {
		kept := *f
		if c.shown == nil || !(i < len(c.shown.Asked) && f == &c.shown.Asked[i] || i < len(c.shown.Measured) && f == &c.shown.Measured[i]) {
			kept.Evidence = nil
		}
		out = append(out, kept)
	}
	return out
}

func (c *Chain) count(h *history.History, v *Result) {
	s := &c.sum
	restated := 0
	for restated < len(h.Events) && h.Events[restated].Restated {
		restated++
	}
	s.Events += len(h.Events) - restated
	s.Links++
	s.Longest = max(s.Longest, len(h.Events))
	s.Ops.Ok += v.Ops.Ok
	s.Ops.Fail += v.Ops.Fail
	s.Ops.Info += v.Ops.Info
	s.Writes.Accepted += v.Writes.Accepted
	s.Writes.Refused += v.Writes.Refused
	s.Writes.StaleAccepted += v.Writes.StaleAccepted
	s.Terms += len(v.Terms)
	s.DualBelief += v.DualBelief
	s.Leaderless += v.Leaderless
	c.whole += v.whole
	s.End = v.End
	for _, f := range v.Faults {
		i, known := slices.BinarySearchFunc(s.Faults, f, func(a, b FaultCount) int { return cmp.Compare(a.Name, b.Name) })
		if !known {
			s.Faults = slices.Insert(s.Faults, i, FaultCount{Name: f.Name})
		}
		s.Faults[i].Injected += f.Injected
		s.Faults[i].Effective += f.Effective
	}
	for i := range v.Failovers {
		c.excess.add(v.Failovers[i].Excess)
		c.total.add(v.Failovers[i].Total)
	}
}

package trial

import (
	"fmt"
	"slices"
	"time"

	"github.com/recount-io/recount/checker"
)

// Measured is a claim beside what was measured in one world.
type Measured struct {
	Claim
	Subject, World string

	Value   float64 // in the unit of the fact
	Samples int     // failovers, requests or runs that the value is from
	Where   string  // the scenario that the value is from, where it is an extreme
	// Verdict is pass if the claim holds, fail if it does not, unknown if nothing
	// was measured that it could be held against.
	Verdict checker.Verdict
	Note    string // why it is unknown, or what the value does not tell
}

// Unit is the unit of a fact: "leases", "ms", "a minute", or "" for a number.
func (f Fact) Unit() string {
	switch f {
	case Failover, TwoLeaders, Blind:
		return "leases"
	case Acquisition, Renewal:
		return "ms"
	case Operations:
		return "a minute"
	default:
		return ""
	}
}

// Measure holds a subject's claims against the cells of one world, whose lease
// was so long.
func Measure(s Subject, world string, cells []*Cell, lease time.Duration) []Measured {
	var all []Measured
	for _, claim := range s.Claims {
		m := Measured{Claim: claim, Subject: s.Name, World: world}
		for _, c := range cells {
			if c.Subject == s.Name && c.World == world && (len(claim.Scenarios) == 0 || slices.Contains(claim.Scenarios, c.Scenario)) {
				m.take(c, lease)
			}
		}
		m.judge()
		all = append(all, m)
	}
	return all
}

// take takes in the runs of a cell.
func (m *Measured) take(c *Cell, lease time.Duration) {
	inLeases := func(d time.Duration) float64 { return d.Seconds() / lease.Seconds() }
	var waits []time.Duration
	for i := range c.Runs {
		r := &c.Runs[i]
		if r.Events == 0 {
			continue // there is no history
		}
		switch m.Fact {
		case Failover:
			for _, f := range r.Failovers {
				m.most(inLeases(f.Total), c)
			}
			if slices.Contains(r.Broken, checker.LeaderReturns) {
				m.Note = "nobody led again in " + c.Scenario
			}
		case TwoLeaders:
			m.most(inLeases(r.TwoLed), c)
		case Blind:
			if r.Blinded {
				m.most(inLeases(r.Blind), c)
			}
		case StaleWrites:
			m.most(float64(r.Stale), c)
		case Changes:
			m.most(float64(r.Changes), c)
		case Acquisition:
			waits = append(waits, r.Road.Acquisitions...)
		case Renewal:
			waits = append(waits, r.Road.Renewals...)
		case Operations:
			if r.Rate > 0 { // none at all: they were not recorded
				m.mean(r.Rate * m.converted(lease, r.Nodes))
			}
		}
	}
	if len(waits) > 0 {
		m.worstMedian(waits, c)
	}
}

// most keeps the largest value.
func (m *Measured) most(value float64, c *Cell) {
	if m.Samples++; m.Samples == 1 || value > m.Value {
		m.Value, m.Where = value, c.Scenario
	}
}

// mean keeps the mean.
func (m *Measured) mean(value float64) {
	m.Samples++
	m.Value += (value - m.Value) / float64(m.Samples)
}

// worstMedian keeps the largest of the scenarios' medians.
func (m *Measured) worstMedian(waits []time.Duration, c *Cell) {
	slices.Sort(waits)
	median := waits[(len(waits)-1)/2].Seconds() * 1000
	if m.Samples == 0 || median > m.Value {
		m.Value, m.Where = median, c.Scenario
	}
	m.Samples += len(waits)
}

// converted is by what a rate has to be multiplied to be one of the lease and
// of the number of candidates that the claim is about.
func (m *Measured) converted(lease time.Duration, nodes int) float64 {
	factor := 1.0
	if m.Lease > 0 {
		factor = lease.Seconds() / m.Lease.Seconds()
	}
	if m.Nodes > 0 && nodes > 0 {
		factor *= float64(m.Nodes) / float64(nodes)
	}
	return factor
}

// judge compares the value with the limit.
func (m *Measured) judge() {
	switch limit := m.Limit * (1 + m.Slack); {
	case m.Fact == Failover && m.Note != "":
		m.Verdict = checker.Fail
	case m.Samples == 0:
		m.Note = fmt.Sprintf("no %s was measured", m.Fact)
	case m.Value <= limit:
		m.Verdict = checker.Pass
	default:
		m.Verdict = checker.Fail
	}
}

package checker

import (
	"slices"
	"testing"
	"time"

	"github.com/recount-io/recount/history"
)

// handmade is a small history that somebody else might write, with all that is
// broken in it: what is not listed must not be.
type handmade struct {
	name   string
	story  func(s *story)
	broken []Promise
	kept   []Promise // of the others: those that must be found kept, and not left undecided
}

// safety are the promises that no history of these excuses. A leader that changes
// without a fault, or for long, is judged where a story is about that.
var safety = []Promise{
	WellFormed, LeaseLinearizable, AtMostOneLeader, BeliefWithinLease, StepsDownOnLoss, WriteWithinTerm, TokensIncrease, FencedWrites,
}

func testHandmade(t *testing.T, stories []handmade, judged []Promise) {
	t.Helper()
	for _, x := range stories {
		t.Run(x.name, func(t *testing.T) {
			s := newStory()
			x.story(s)
			r := Check(s.build(), Options{})
			for _, p := range judged {
				f := of(r, p)
				if broken := slices.Contains(x.broken, p); broken != (f.Verdict == Fail) {
					t.Errorf("%s is %v (%s), want broken: %v", p, f.Verdict, f.Reason, broken)
				}
			}
			for _, p := range x.kept {
				expect(t, r, p, Pass)
			}
		})
	}
}

const us = time.Microsecond

// stated gives the story a drift and a margin.
func (s *story) stated(ppm int64, margin time.Duration) *story {
	s.header.DriftPPM, s.header.Margin = ppm, margin
	return s
}

// in puts what more adds into the election.
func (s *story) in(election string, more func(s *story)) *story {
	n := len(s.events)
	more(s)
	for i := n; i < len(s.events); i++ {
		s.events[i].Election = election
	}
	return s
}

// last changes the event that was added last.
func (s *story) last(change func(e *history.Event)) *story {
	change(&s.events[len(s.events)-1])
	return s
}

// asked adds an acquire of unknown outcome.
func (s *story) asked(node, n string, from, to time.Duration) *story {
	s.op(node, history.Acquire, from, to, history.Info, nonce(n), history.Event{Error: "timeout"})
	return s
}

// ended adds the exit of a process.
func (s *story) ended(node string, at time.Duration, why history.Why) *story {
	return s.add(history.Event{Kind: history.Exit, Node: node, At: at, Why: why})
}

func (s *story) start(node string, at time.Duration) *story {
	return s.add(history.Event{Kind: history.Start, Node: node, At: at})
}

// endOfRun adds the note with which a run ends.
func (s *story) endOfRun(at time.Duration) *story {
	return s.add(history.Event{Kind: history.Note, At: at, Text: history.EndOfRunNote})
}

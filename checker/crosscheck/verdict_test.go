package crosscheck

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
)

const (
	searchCap = 2 * time.Second // of porcupine, for one history
	patience  = time.Second     // that all the rest may take besides
	budget    = 60_000          // places that the oracle goes to, for one election
)

// truth is what is right to say about the answers of a store.
type truth int

const (
	unsure     truth = iota // within the tolerance, or too many orders: nobody claims anything
	legal                   // some order explains the answers and the store's own record
	illegal                 // no order explains the answers
	badRecord               // an order explains the answers, but not the store's own record
	mostlyGood              // the same as legal, known only from how the history was made
)

func (t truth) String() string {
	return [...]string{"unsure", "legal", "illegal", "illegal by the store's own record", "legal by construction"}[t]
}

func (t truth) isLegal() bool { return t == legal || t == mostlyGood }

func recorded(h *history.History) bool {
	return slices.ContainsFunc(h.Events, func(e history.Event) bool { return e.Kind == history.Audit })
}

// truthOf asks the oracle.
func truthOf(h *history.History, budget int) truth {
	record := recorded(h)
	switch ask(h, reading{record: record}, budget) {
	case possible:
		return legal
	case undecided:
		return unsure
	}
	if ask(h, reading{wide: true}, budget) == impossible {
		return illegal
	}
	if record && ask(h, reading{wide: true, record: true}, budget) == impossible && ask(h, reading{}, budget) == possible {
		return badRecord
	}
	return unsure
}

// wrong is a judgement that should not be.
type wrong struct {
	kind   string // "false alarm", …
	reason string
	parts  string // what the three checkers of the lease said
}

// signature is alike for judgements that are wrong for the same cause, as far
// as words can tell.
func (w wrong) signature() string {
	reason := strings.Fields(words.ReplaceAllString(strings.TrimPrefix(w.reason, "the three checkers disagree: "), "#"))
	return w.kind + " | " + w.parts + " | " + strings.Join(reason[:min(len(reason), 7)], " ")
}

var words = regexp.MustCompile(`\bn\d+\b( \(token \d+\))?|\d+(\.\d+)?( ?(ms|s|µs|ns|m)\b)?|"[^"]*"`)

func found(r *checker.Result, p checker.Promise) checker.Finding {
	for _, list := range [][]checker.Finding{r.Asked, r.Measured} {
		for _, f := range list {
			if f.Promise == p {
				return f
			}
		}
	}
	return checker.Finding{}
}

func partsOf(r *checker.Result) string {
	return fmt.Sprintf("intervals %v, store order %v, porcupine %v", r.Lease.Intervals.Verdict, r.Lease.StoreOrder.Verdict, r.Lease.Porcupine.Verdict)
}

// judgeLease compares what was said of the store's answers with what is right.
func judgeLease(r *checker.Result, t truth) *wrong {
	f := found(r, checker.LeaseLinearizable)
	w := func(kind string) *wrong { return &wrong{kind, f.Reason, partsOf(r)} }
	disagree := strings.Contains(f.Reason, "disagree")
	// The store's own record alone may be wrong: nobody says who is.
	byRecord := strings.HasPrefix(f.Reason, "the store's own record cannot be: ")
	parts := []checker.Finding{r.Lease.Intervals, r.Lease.StoreOrder, r.Lease.Porcupine}
	switch {
	case f.Verdict == checker.Fail && t.isLegal():
		return w("false alarm")
	case f.Verdict == checker.Fail && len(f.Evidence) == 0:
		return w("an alarm without evidence")
	case t.isLegal() && slices.ContainsFunc(parts, func(f checker.Finding) bool { return f.Verdict == checker.Fail }):
		return w("false alarm of one of the three")
	case t == illegal && r.Lease.Porcupine.Verdict == checker.Pass:
		return w("false pass of the search")
	case f.Verdict == checker.Pass && t == illegal:
		return w("false pass")
	case f.Verdict == checker.Pass && t == badRecord:
		return w("false pass of a wrong record")
	case byRecord && (t == badRecord || t == unsure):
		return nil
	case disagree && t == unsure:
		return w("undecided between the checkers")
	case disagree:
		return w("undecided between the checkers, and " + t.String())
	case f.Verdict == checker.Unknown && strings.Contains(f.Reason, "no operation"), f.Verdict != checker.Unknown, t == unsure:
		return nil
	default:
		return w("cut off, and " + t.String())
	}
}

// judgeRest looks at the promises about tokens and beliefs.
func judgeRest(h *history.History, r *checker.Result, sound bool) *wrong {
	if f := found(r, checker.WellFormed); f.Verdict == checker.Fail {
		return &wrong{"false alarm of WellFormed", f.Reason, ""}
	}
	f := found(r, checker.AtMostOneLeader)
	if two := twoLead(h); two && f.Verdict != checker.Fail {
		return &wrong{"false pass of AtMostOneLeader", f.Reason, ""}
	} else if !two && f.Verdict == checker.Fail {
		return &wrong{"false alarm of AtMostOneLeader", f.Reason, ""}
	}
	if tokensFall(h) && found(r, checker.TokensIncrease).Verdict != checker.Fail {
		return &wrong{"false pass of TokensIncrease", found(r, checker.TokensIncrease).Reason, ""}
	}
	if !sound {
		return nil
	}
	for _, list := range [][]checker.Finding{r.Asked, r.Measured} {
		for _, f := range list {
			switch f.Promise {
			case checker.LeaseLinearizable, checker.LeaderReturns, checker.Stable, checker.FailoverBound:
				continue
			}
			if f.Verdict == checker.Fail {
				return &wrong{"false alarm of " + string(f.Promise), f.Reason, ""}
			}
		}
	}
	return nil
}

// twoLead reports whether beliefs of two nodes overlap by more than the clocks
// may differ. What a node says while it believes lets it believe on.
func twoLead(h *history.History) bool {
	type span struct {
		node, election string
		from, to       time.Duration
		token          uint64
	}
	var closed, open []span
	closeAt := func(t time.Duration, which func(s span) bool) {
		open = slices.DeleteFunc(open, func(s span) bool {
			if !which(s) {
				return false
			}
			s.to = min(s.to, t)
			closed = append(closed, s)
			return true
		})
	}
	for i := range h.Events {
		e := &h.Events[i]
		mine := func(s span) bool { return s.node == e.Node && s.election == e.Election }
		until := time.Duration(infinite)
		if e.Until != nil {
			until = *e.Until
		}
		switch e.Kind {
		case history.Elected, history.Extended:
			was := slices.IndexFunc(open, mine)
			if e.Kind == history.Extended && (was < 0 || open[was].token != e.Token) {
				continue
			}
			from := e.At
			if was >= 0 && open[was].to >= e.At {
				from = open[was].from
			}
			closeAt(e.At, mine)
			open = append(open, span{e.Node, e.Election, from, until, e.Token})
		case history.Deposed:
			closeAt(e.At, func(s span) bool { return mine(s) && s.token == e.Token })
		case history.Exit, history.Start:
			closeAt(e.At, func(s span) bool { return s.node == e.Node })
		}
	}
	closed = append(closed, open...)
	for i, a := range closed {
		for _, b := range closed[:i] {
			if a.election == b.election && a.node != b.node && min(a.to, b.to)-max(a.from, b.from) > h.Header.ClockError {
				return true
			}
		}
	}
	return false
}

// tokensFall reports whether a grant has no larger token than another one that was
// answered before it was asked for, although it is not of the same attempt.
func tokensFall(h *history.History) bool {
	all, _ := elections(h, false)
	for _, items := range all {
		for _, a := range items {
			for _, b := range items {
				granted := a.call == history.Acquire && b.call == history.Acquire && a.kind == history.Ok && b.kind == history.Ok && a.got != 0 && b.got != 0
				if !granted || a.hi >= b.lo || a.got < b.got || a.node == b.node && a.nonce == b.nonce {
					continue
				}
				// What b got may have come from an earlier try of its attempt.
				earlier := slices.ContainsFunc(items, func(x item) bool {
					return x.call == history.Acquire && x.node == b.node && x.nonce == b.nonce && x.lo < b.lo
				})
				if !earlier {
					return true
				}
			}
		}
	}
	return false
}

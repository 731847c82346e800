package calibration

import (
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
)

// Run is what a comparison keeps of one run.
type Run struct {
	Seed      uint64
	Verdict   checker.Verdict
	Broken    []checker.Promise // of those asked for
	Undecided []checker.Finding // of those asked for
	Failovers []Failover
	LeftOut   int // failovers during which the machine stalled: they tell of it, and not of a world
	// Leaderless are the spans between two terms in which nobody believed to lead,
	// but for those during which the machine stalled.
	Leaderless []time.Duration
	Road       Road

	_ struct{}
}

// Failover is one failover and the order of events in it.
type Failover struct {
	checker.Failover
	Steps []string // see orderOf
}

// Road is what the requests of a run tell of the world's network and timers.
type Road struct {
	Renewals     []time.Duration // round trips of renewals that took effect
	Acquisitions []time.Duration // round trips of acquisitions that took effect
	Lateness     []time.Duration // of renewals: the time since the one before, less the interval that is configured
	Starts       []time.Duration // from the start of a process to its first request for the lease

	_ struct{}
}

// Observe takes from a history, and from what was found out about it, what a
// comparison needs. It keeps neither.
func Observe(h *history.History, r *checker.Result) Run {
	run := Run{Seed: h.Header.Seed, Verdict: r.Verdict, Road: roadOf(h)}
	for _, f := range r.Asked {
		switch f.Verdict {
		case checker.Fail:
			run.Broken = append(run.Broken, f.Promise)
		case checker.Unknown:
			run.Undecided = append(run.Undecided, f)
		}
	}
	held := stalls(h)
	for _, f := range r.Failovers {
		if held.touch(span{f.At, f.At + f.Total}) {
			run.LeftOut++
			continue
		}
		run.Failovers = append(run.Failovers, Failover{f, orderOf(h, f)})
	}
	for _, s := range leaderless(r.Terms) {
		if !held.touch(s) {
			run.Leaderless = append(run.Leaderless, s.to-s.from)
		}
	}
	return run
}

type span struct{ from, to time.Duration }

type spans []span

// touch reports whether one of the spans has a moment in common with another.
func (list spans) touch(other span) bool {
	return slices.ContainsFunc(list, func(s span) bool { return s.from <= other.to && other.from <= s.to })
}

// leaderless are the spans between terms, which are ordered by election and begin,
// in which nobody led.
func leaderless(terms []checker.Term) spans {
	var found spans
	for i, last := 1, 0; i < len(terms); i++ {
		switch before, t := terms[last], terms[i]; {
		case t.Election != before.Election:
			last = i
		case t.From > before.To:
			found = append(found, span{before.To, t.From})
			last = i
		case t.To > before.To:
			last = i
		}
	}
	return found
}

// Held tells of a history from when to when, at the least in part, the machine held up the run.
func Held(h *history.History) func(from, to time.Duration) bool {
	held := stalls(h)
	return func(from, to time.Duration) bool { return held.touch(span{from, to}) }
}

// stalls are the times in which the machine held up the run.
func stalls(h *history.History) spans {
	var found spans
	open := map[string]int{}
	for i := range h.Events {
		e := &h.Events[i]
		if e.Kind != history.Fault || !history.Uninjected(e.Fault) {
			continue
		}
		if e.Phase == history.On {
			open[e.ID] = len(found)
			found = append(found, span{e.At, 1<<63 - 1})
		} else if at, begun := open[e.ID]; begun {
			found[at].to = e.At
		}
	}
	return found
}

// orderOf is the sequence of what happened in a failover, from its cause to the
// first accepted write of the new leader. A step is who did what; who is the
// old leader, the new one, another candidate, or nobody. What the elector has
// no part in is left out: reads, questions about the leader that the harness
// asks, and the store's own notes, whose place in the history is not when they
// happened. So are a leader's further writes, whose number only tells the time.
func orderOf(h *history.History, f checker.Failover) []string {
	if len(f.Evidence) == 0 {
		return nil
	}
	first, last := slices.Min(f.Evidence), slices.Max(f.Evidence)
	steps := []string{"begin: " + f.Cause}
	wrote := map[string]bool{}
	for i := range h.Events {
		e := &h.Events[i]
		if e.Seq < first || e.Seq > last || e.Election != "" && f.Election != "" && e.Election != f.Election {
			continue
		}
		what := step(e)
		if what == "" {
			continue
		}
		who := roleOf(e, f) + " "
		if e.Call == history.Write {
			if wrote[who+what] {
				continue
			}
			wrote[who+what] = true
		}
		steps = append(steps, who+what)
	}
	return append(steps, "end")
}

// step names what happened in an event, "" if it is left out.
func step(e *history.Event) string {
	switch e.Kind {
	case history.Ok, history.Fail, history.Info:
		outcome := map[history.Kind]string{history.Ok: "ok", history.Fail: "refused", history.Info: "unknown"}[e.Kind]
		switch e.Call {
		case history.Acquire, history.Renew, history.Release, history.Write:
			return string(e.Call) + " " + outcome
		}
	case history.Elected, history.Start:
		return string(e.Kind)
	case history.Deposed, history.Exit:
		return strings.TrimSpace(string(e.Kind) + " " + string(e.Why))
	case history.Fault:
		if !history.Uninjected(e.Fault) {
			return e.Fault + " " + string(e.Phase)
		}
	}
	return ""
}

// roleOf is the part that an event's node, or the target of its fault, has in
// a failover.
func roleOf(e *history.Event, f checker.Failover) string {
	is := func(node string) bool { return e.Node == node || slices.Contains(e.Targets, node) }
	switch {
	case is(f.From):
		return "old"
	case is(f.To):
		return "new"
	case is(history.StoreTarget):
		return "store"
	case e.Node == "" && len(e.Targets) == 0:
		return "nobody"
	default:
		return "other"
	}
}

// roadOf reads round trips and the lateness of timers off the requests.
func roadOf(h *history.History) Road {
	var road Road
	type call struct {
		at    time.Duration
		token uint64
	}
	begun := map[int64]call{}   // by operation
	before := map[string]call{} // a node's last request that gave or renewed its lease
	started := map[string]time.Duration{}
	for i := range h.Events {
		e := &h.Events[i]
		switch {
		case e.Kind == history.Start:
			started[e.Node] = e.At
		case e.Kind == history.Invoke && (e.Call == history.Acquire || e.Call == history.Renew):
			begun[e.Op] = call{at: e.At}
			if at, fresh := started[e.Node]; fresh && e.Call == history.Acquire {
				road.Starts = append(road.Starts, e.At-at)
				delete(started, e.Node)
			}
		case e.Kind == history.Ok && e.Call == history.Acquire:
			road.Acquisitions = append(road.Acquisitions, e.At-begun[e.Op].at)
			before[e.Node] = call{begun[e.Op].at, e.Token}
		case e.Kind == history.Ok && e.Call == history.Renew:
			sent := begun[e.Op].at
			road.Renewals = append(road.Renewals, e.At-sent)
			if last := before[e.Node]; last.token == e.Token && last.token != 0 {
				road.Lateness = append(road.Lateness, sent-last.at-h.Header.Renew)
			}
			before[e.Node] = call{sent, e.Token}
		}
	}
	return road
}

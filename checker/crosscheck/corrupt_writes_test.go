package crosscheck

import (
	"slices"
	"time"

	"github.com/recount-io/recount/history"
)

// writes are accepted writes with a token.
func (x *index) writes() []*call { return x.having(of(history.Write), as(history.Ok), tokened) }

// write adds a write that the resource accepts.
func write(e *edit, node, election string, token uint64, at time.Duration) {
	e.ask(at, at+1000, history.Event{Call: history.Write, Node: node, Election: election, Token: token, Value: "moved"},
		history.Event{Kind: history.Ok, Token: token, Value: "moved"})
}

// handovers are an accepted write and the first one of a later term of another
// node.
func (x *index) handovers() (out [][2]*call) {
	all := x.writes()
	for i := 1; i < len(all); i++ {
		a, b := all[i-1], all[i]
		if a.in.Node != b.in.Node && a.in.Election == b.in.Election && a.token() < b.token() {
			out = append(out, [2]*call{a, b})
		}
	}
	return out
}

// calm reports whether nobody was held up around that time.
func (x *index) calm(from, to time.Duration) bool { return !x.held("", from, to) }

var ofWrites = []change{
	{"move a write behind one of a later term", []string{fenced, stepsDown + "|" + inTerm}, func(x *index) (out []func(e *edit)) {
		for _, p := range x.handovers() {
			at := p[1].to + x.error + x.h.Header.Lease/4
			if at < x.ends && x.calm(p[0].from, at) && !x.believes(p[0].in.Node, p[0].in.Election, at) {
				out = append(out, func(e *edit) {
					e.Events[p[0].i].At, e.Events[p[0].j].At = at, at+1000
				})
			}
		}
		return out
	}},
	{"accept a write of an earlier term", []string{fenced}, func(x *index) (out []func(e *edit)) {
		for _, p := range x.handovers() {
			out = append(out, func(e *edit) { write(e, p[0].in.Node, p[0].in.Election, p[0].token(), p[1].to+x.error+1000) })
		}
		return out
	}},
	{"write long after the term", []string{inTerm}, func(x *index) (out []func(e *edit)) {
		for _, t := range x.terms {
			at := t.to + x.h.Header.Lease/3
			if t.end >= 0 && at < x.ends && x.calm(t.from, at) && !x.believes(t.node, t.election, at) && x.h.Events[t.end].Kind == history.Deposed {
				out = append(out, func(e *edit) { write(e, t.node, t.election, t.token, at) })
			}
		}
		return out
	}},
	{"let a follower write", []string{inTerm}, func(x *index) (out []func(e *edit)) {
		for _, t := range x.terms {
			at, node := (t.from+t.to)/2, x.other(t.node)
			if at < x.ends && x.calm(0, at) && !x.believes(node, t.election, at) {
				out = append(out, func(e *edit) { write(e, node, t.election, t.token, at) })
			}
		}
		return out
	}},
	{"refuse a write that nothing is against", []string{fenced}, func(x *index) (out []func(e *edit)) {
		for _, c := range x.writes() {
			if !slices.ContainsFunc(x.calls, func(d *call) bool { return d.in.Call == history.Write && d.in.Token > c.in.Token && d.from <= c.to }) {
				out = append(out, func(e *edit) { e.Events[c.j].Kind, e.Events[c.j].Fence = history.Fail, c.in.Token+1 })
			}
		}
		return out
	}},
	{"refuse by a fence that is no larger", []string{fenced}, func(x *index) (out []func(e *edit)) {
		for _, c := range x.writes() {
			out = append(out, func(e *edit) { e.Events[c.j].Kind, e.Events[c.j].Fence = history.Fail, c.in.Token })
		}
		return out
	}},
	{"read what was written before the last write", []string{fenced}, func(x *index) (out []func(e *edit)) {
		all := x.writes()
		for _, r := range x.having(of(history.Read), as(history.Ok)) {
			var done []*call
			for _, w := range all {
				if w.to+x.error < r.from && w.in.Election == r.in.Election {
					done = append(done, w)
				}
			}
			if n := len(done); n > 1 && done[n-2].to+x.error < done[n-1].from && done[n-2].in.Value != done[n-1].in.Value {
				out = append(out, func(e *edit) {
					e.Events[r.j].Value, e.Events[r.j].Token = done[n-2].in.Value, done[n-2].in.Token
				})
			}
		}
		return out
	}},
	{"read what nobody wrote", []string{fenced}, func(x *index) (out []func(e *edit)) {
		for _, r := range x.having(of(history.Read), as(history.Ok)) {
			out = append(out, func(e *edit) { e.Events[r.j].Value, e.Events[r.j].Token = "nobody wrote this", 1 })
		}
		return out
	}},
	{"read nothing after a write", []string{fenced}, func(x *index) (out []func(e *edit)) {
		all := x.writes()
		for _, r := range x.having(of(history.Read), as(history.Ok)) {
			if slices.ContainsFunc(all, func(w *call) bool { return w.in.Election == r.in.Election && w.to+x.error < r.from }) {
				out = append(out, func(e *edit) { e.Events[r.j].Value, e.Events[r.j].Token = "", 0 })
			}
		}
		return out
	}},
}

// believes reports whether the node believes to lead at that time.
func (x *index) believes(node, election string, at time.Duration) bool {
	return slices.ContainsFunc(x.terms, func(t *term) bool {
		return t.node == node && t.election == election && t.from <= at+10*ms && at <= t.to+x.h.Header.Lease/4
	})
}

// once is a change of the whole history.
func once(do func(x *index) func(e *edit)) func(x *index) []func(e *edit) {
	return func(x *index) []func(e *edit) {
		if f := do(x); f != nil {
			return []func(e *edit){f}
		}
		return nil
	}
}

// returnBound is by when somebody must lead after everything is healed.
func (x *index) returnBound() time.Duration {
	h := &x.h.Header
	if h.ReturnBound > 0 {
		return h.ReturnBound
	}
	return h.Lease + h.Lease*time.Duration(h.DriftPPM)/1_000_000 + 2*h.Retry + h.Lease/2 + time.Second/2
}

var ofRuns = []change{
	{"let nobody lead after all is healed", []string{"LeaderReturns"}, once(func(x *index) func(e *edit) {
		from := x.healed + x.returnBound() + 10*ms
		if from >= x.ends || x.fault(x.healed, x.ends, func(e *history.Event) bool { return e.Fault == history.StallFault }) {
			return nil
		}
		return func(e *edit) {
			e.each(func(y *history.Event) {
				if (y.Kind == history.Elected || y.Kind == history.Extended) && y.Until != nil && *y.Until > x.healed {
					y.Until = history.At(max(x.healed, y.At))
				}
			})
			e.drop(func(y *history.Event) bool {
				return y.At > x.healed && (y.Kind == history.Elected || y.Kind == history.Extended || y.Kind == history.Deposed)
			})
		}
	})},
	{"let nobody write after all is healed", []string{"LeaderReturns"}, once(func(x *index) func(e *edit) {
		wrote := slices.ContainsFunc(x.writes(), func(c *call) bool { return c.from > x.healed })
		if x.healed+x.returnBound()+10*ms >= x.ends || !wrote || x.fault(x.healed, x.ends, func(e *history.Event) bool { return e.Fault == history.StallFault }) {
			return nil
		}
		return func(e *edit) {
			gone := map[int64]bool{}
			for _, c := range x.calls {
				if (c.in.Call == history.Write || c.in.Call == history.Read) && c.to > x.healed {
					gone[c.in.Op] = true
				}
			}
			e.drop(func(y *history.Event) bool { return gone[y.Op] })
		}
	})},
	{"let the failovers have no time", []string{"FailoverBound"}, once(func(x *index) func(e *edit) {
		if len(x.handovers()) == 0 {
			return nil
		}
		return func(e *edit) { e.Header.FailoverBound = 1 }
	})},
	{"take the faults out of a run in which the leader changed", []string{"Stable"}, once(func(x *index) func(e *edit) {
		if len(x.handovers()) == 0 {
			return nil
		}
		return func(e *edit) { e.drop(func(y *history.Event) bool { return y.Kind == history.Fault }) }
	})},
	{"depose the leader without a fault", []string{"Stable"}, func(x *index) (out []func(e *edit)) {
		if slices.ContainsFunc(x.h.Events, func(e history.Event) bool { return e.Kind == history.Fault }) {
			return nil
		}
		for _, t := range x.terms {
			for _, i := range t.extensions {
				if at := x.h.Events[i].At; at < x.ends-2*x.h.Header.Lease {
					out = append(out, func(e *edit) {
						e.drop(func(y *history.Event) bool {
							return y.At > at && y.Node == t.node && (y.Kind == history.Extended || y.Kind == history.Deposed) && y.Token == t.token
						})
						e.add(history.Event{Kind: history.Deposed, Node: t.node, Election: t.election, Token: t.token, Why: history.Resigned, At: at})
					})
				}
			}
		}
		return out
	}},
	{"let a request through a way that is cut", []string{form + ":doubt"}, func(x *index) (out []func(e *edit)) {
		for i := range x.h.Events {
			off := &x.h.Events[i]
			if off.Kind != history.Fault || off.Phase != history.Off || off.Since == nil || !x.cuts(off.ID) || off.At-*off.Since < 20*ms {
				continue
			}
			for _, node := range off.Targets {
				out = append(out, func(e *edit) {
					e.ask(*off.Since+10*ms, *off.Since+11*ms, history.Event{Call: history.Observe, Node: node}, history.Event{Kind: history.Ok})
				})
			}
		}
		return out
	}},
}

// cuts reports whether the fault lets no request through.
func (x *index) cuts(id string) bool {
	return slices.ContainsFunc(x.h.Events, func(e history.Event) bool {
		return e.Kind == history.Fault && e.ID == id && e.Effect != nil && e.Effect.Cuts
	})
}

var ofForm = []change{
	{"lose an event", []string{form}, anywhere(func(x *index, i int) func(e *edit) {
		return func(e *edit) { e.broken, e.Events = true, slices.Delete(e.Events, i, i+1) }
	})},
	{"turn time back", []string{form}, anywhere(func(x *index, i int) func(e *edit) {
		if i == 0 || x.h.Events[i-1].At == 0 {
			return nil
		}
		return func(e *edit) { e.broken, e.Events[i].At = true, e.Events[i-1].At-1 }
	})},
	{"complete an operation twice", []string{form}, anywhere(func(x *index, i int) func(e *edit) {
		if k := x.h.Events[i].Kind; k != history.Ok && k != history.Fail {
			return nil
		}
		return func(e *edit) { e.add(e.Events[i]) }
	})},
	{"complete what nobody invoked", []string{form}, anywhere(func(x *index, i int) func(e *edit) {
		if k := x.h.Events[i].Kind; k != history.Ok && k != history.Fail {
			return nil
		}
		return func(e *edit) { e.Events[i].Op += 1 << 40 }
	})},
	{"invoke a number twice", []string{form}, anywhere(func(x *index, i int) func(e *edit) {
		if x.h.Events[i].Kind != history.Invoke {
			return nil
		}
		return func(e *edit) { e.add(e.Events[i]) }
	})},
	{"depose somebody who was never elected", []string{form}, anywhere(func(x *index, i int) func(e *edit) {
		return func(e *edit) {
			e.add(history.Event{At: e.Events[i].At, Kind: history.Deposed, Node: x.h.Header.Nodes[0], Token: e.freshToken(), Why: history.Expired})
		}
	})},
	{"take a fault off that is not on", []string{form}, anywhere(func(x *index, i int) func(e *edit) {
		return func(e *edit) {
			e.add(history.Event{At: e.Events[i].At, Kind: history.Fault, Fault: "partition", ID: "never on", Phase: history.Off})
		}
	})},
	{"lose the answer of a node that goes on", []string{form + ":unknown"}, func(x *index) (out []func(e *edit)) {
		after := max(x.h.Header.Lease, time.Second) + 10*ms
		for _, c := range x.calls {
			if c.j < 0 || !c.in.Call.OnLease() || c.from+after >= x.ends || x.gone(&term{node: c.in.Node, from: c.from}, x.ends) {
				continue
			}
			later := slices.ContainsFunc(x.h.Events, func(e history.Event) bool {
				return e.Node == c.in.Node && e.Kind != history.Exit && e.At > c.from+after
			})
			excused := x.fault(c.from-after, time.Duration(infinite), func(e *history.Event) bool {
				return slices.Contains(e.Targets, c.in.Node) || slices.Contains(e.Targets, history.StoreTarget)
			})
			if later && !excused {
				out = append(out, func(e *edit) { // and nothing is known of the end of its process, which would excuse it
					e.drop(func(y *history.Event) bool {
						return y.Op == c.in.Op && y.Kind != history.Invoke || y.Kind == history.Exit
					})
				})
			}
		}
		return out
	}},
	{"tell that a fault took no effect", []string{form + ":unknown"}, anywhere(func(x *index, i int) func(e *edit) {
		if y := &x.h.Events[i]; y.Kind != history.Fault || y.Phase != history.Off {
			return nil
		}
		return func(e *edit) { e.Events[i].Effective = history.Bool(false) }
	})},
}

// anywhere is for every event.
func anywhere(do func(x *index, i int) func(e *edit)) func(x *index) []func(e *edit) {
	return func(x *index) (out []func(e *edit)) {
		for i := range x.h.Events[:len(x.h.Events)-1] {
			if f := do(x, i); f != nil {
				out = append(out, f)
			}
		}
		return out
	}
}

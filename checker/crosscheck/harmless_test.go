package crosscheck

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/history"
)

// harmless changes must not be convicted.
var harmless = slices.Concat(ofNames, ofMore, ofLess)

func whole(do func(e *edit)) func(x *index) []func(e *edit) {
	return func(*index) []func(e *edit) { return []func(e *edit){do} }
}

var ofNames = []change{
	{"shift all times", nil, whole(func(e *edit) {
		e.each(func(y *history.Event) {
			y.At += time.Hour
			for _, t := range []**time.Duration{&y.Until, &y.Since} {
				if *t != nil {
					*t = history.At(**t + time.Hour)
				}
			}
		})
	})},
	{"rename the nodes", nil, whole(func(e *edit) { renameNodes(e, func(n string) string { return "candidate-" + n }) })},
	{"rename the tokens, in their order", nil, whole(func(e *edit) {
		e.each(func(y *history.Event) {
			for _, t := range []*uint64{&y.Token, &y.Fence} {
				if *t != 0 {
					*t = 10**t + 7
				}
			}
		})
	})},
	{"rename the attempts", nil, whole(func(e *edit) {
		e.each(func(y *history.Event) {
			if y.Nonce != "" {
				y.Nonce = "attempt " + y.Nonce
			}
		})
	})},
	{"name the election", nil, func(x *index) (out []func(e *edit)) {
		if slices.ContainsFunc(x.h.Events, func(e history.Event) bool { return e.Election != "" }) {
			return nil
		}
		return []func(e *edit){func(e *edit) {
			e.each(func(y *history.Event) {
				if y.Op != 0 || y.Kind == history.Audit || slices.Contains([]history.Kind{history.Elected, history.Extended, history.Deposed}, y.Kind) {
					y.Election = "the only one"
				}
			})
		}}
	}},
	{"renumber the operations", nil, whole(func(e *edit) {
		e.each(func(y *history.Event) {
			if y.Op != 0 {
				y.Op = y.Op*37 + 1<<33
			}
		})
	})},
	{"run it twice at one time, in two elections", nil, whole(func(e *edit) { e.Events = twice(e) })},
	{"reorder events of one time", nil, func(x *index) (out []func(e *edit)) {
		for i := 1; i < len(x.h.Events); i++ {
			a, b := &x.h.Events[i-1], &x.h.Events[i]
			if a.At == b.At && a.Op != 0 && b.Op != 0 && a.Op != b.Op && a.Node != b.Node {
				out = append(out, func(e *edit) { e.Events[i-1], e.Events[i] = e.Events[i], e.Events[i-1] })
			}
		}
		return out
	}},
}

func renameNodes(e *edit, name func(string) string) {
	nodes := e.Header.Nodes
	e.Header.Nodes = nil
	for _, n := range nodes {
		e.Header.Nodes = append(e.Header.Nodes, name(n))
	}
	e.each(func(y *history.Event) {
		for _, n := range []*string{&y.Node, &y.Holder} {
			if *n != "" {
				*n = name(*n)
			}
		}
		y.Targets = slices.Clone(y.Targets)
		for i, t := range y.Targets {
			if slices.Contains(nodes, t) {
				y.Targets[i] = name(t)
			}
		}
	})
}

// twice is the events of the run, and once more in another election, by other
// nodes, a little later.
func twice(e *edit) []history.Event {
	second := edited(e.History)
	renameNodes(second, func(n string) string { return "second-" + n })
	op := e.freshOp()
	second.each(func(y *history.Event) {
		if y.Op != 0 {
			y.Op += op
		}
		if y.ID != "" {
			y.ID = "second-" + y.ID
		}
	})
	second.drop(func(y *history.Event) bool { return y.Kind == history.Healed || y.Text == history.EndOfRunNote })
	for _, half := range []*edit{e, second} {
		name := map[bool]string{true: "one", false: "two"}[half == e]
		half.each(func(y *history.Event) {
			if y.Op != 0 || y.Kind == history.Audit || slices.Contains([]history.Kind{history.Elected, history.Extended, history.Deposed}, y.Kind) {
				y.Election = name
			}
		})
	}
	e.Header.Nodes = append(slices.Clone(e.Header.Nodes), second.Header.Nodes...)
	return mergeEvents(e.Events, second.Events)
}

// mergeEvents puts two lists into one, by time; of one time the first list's
// come last, so that its healed comes after the faults of both.
func mergeEvents(a, b []history.Event) []history.Event {
	out := make([]history.Event, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		if len(a) == 0 || len(b) > 0 && b[0].At <= a[0].At {
			out, b = append(out, b[0]), b[1:]
		} else {
			out, a = append(out, a[0]), a[1:]
		}
	}
	return out
}

var ofMore = []change{
	{"add an observation of unknown outcome", nil, anywhere(func(x *index, i int) func(e *edit) {
		return func(e *edit) {
			at := e.Events[i].At
			e.ask(at, at+ms, history.Event{Call: history.Observe, Node: x.h.Header.Nodes[0], Election: electionOf(x)}, history.Event{Kind: history.Info, Error: "time-out"})
		}
	})},
	{"add a refused acquire that is true", nil, held(func(x *index, w holding) func(e *edit) {
		if w.to-w.from < 3*ms || x.fault(w.from, w.from+2*ms, func(*history.Event) bool { return true }) {
			return nil
		}
		return func(e *edit) {
			e.ask(w.from, w.from+ms, history.Event{Call: history.Acquire, Node: x.other(w.node), Election: w.election, Nonce: "added/1", Try: 1 << 30, TTL: w.ttl},
				history.Event{Kind: history.Fail, Holder: w.node, Token: w.token})
		}
	})},
	{"add an observation that is true", nil, held(func(x *index, w holding) func(e *edit) {
		if w.to-w.from < 3*ms || x.fault(w.from, w.from+2*ms, func(*history.Event) bool { return true }) {
			return nil
		}
		return func(e *edit) {
			e.ask(w.from, w.from+ms, history.Event{Call: history.Observe, Node: x.other(w.node), Election: w.election}, history.Event{Kind: history.Ok, Holder: w.node, Token: w.token})
		}
	})},
	{"add a refused renewal of a term that was over", nil, func(x *index) (out []func(e *edit)) {
		for _, p := range x.successions() {
			at := p[1].to + x.error + ms
			if at+ms < x.ends && !x.believes(p[0].in.Node, p[0].in.Election, at) {
				out = append(out, func(e *edit) {
					e.ask(at, at+ms, history.Event{Call: history.Renew, Node: p[0].in.Node, Election: p[0].in.Election, Token: p[0].token(), Nonce: p[0].in.Nonce, Try: 1 << 30, TTL: p[0].in.TTL},
						history.Event{Kind: history.Fail})
				})
			}
		}
		return out
	}},
	{"add operations that never complete, at the end of the run", nil, whole(func(e *edit) {
		last := e.Events[len(e.Events)-1].At
		for i, node := range e.Header.Nodes {
			e.add(history.Event{Kind: history.Invoke, At: last, Node: node, Election: electionOf(&index{h: e.History}), Op: e.freshOp(), Call: history.Acquire, Nonce: fmt.Sprintf("late/%d", i), Try: 1 << 31, TTL: e.Header.Lease})
		}
	})},
	{"add a renewal of unknown outcome of a term that was over", nil, func(x *index) (out []func(e *edit)) {
		for _, p := range x.successions() {
			at := p[1].to + x.error + ms
			if at+ms < x.ends { // if there is a record, it knows nothing of it
				out = append(out, func(e *edit) {
					e.ask(at, at+ms, history.Event{Call: history.Renew, Node: p[0].in.Node, Election: p[0].in.Election, Token: p[0].token(), Nonce: p[0].in.Nonce, Try: 1 << 30, TTL: p[0].in.TTL},
						history.Event{Kind: history.Info, Error: "time-out"})
				})
			}
		}
		return out
	}},
	{"add a fault that shows nothing", nil, anywhere(func(x *index, i int) func(e *edit) {
		return func(e *edit) {
			at := e.Events[i].At
			if at > x.healed {
				at = x.healed
			}
			f := history.Event{Kind: history.Fault, Fault: "latency", ID: "added", Targets: []string{x.h.Header.Nodes[0]}, Phase: history.On, At: max(0, at-ms)}
			off := f
			off.Phase = history.Off
			e.Events = append([]history.Event{f, off}, e.Events...)
		}
	})},
	{"add notes", nil, anywhere(func(x *index, i int) func(e *edit) {
		return func(e *edit) { e.add(history.Event{Kind: history.Note, Text: "a note", At: e.Events[i].At}) }
	})},
	{"add a candidate that does nothing", nil, whole(func(e *edit) {
		e.Header.Nodes = append(slices.Clone(e.Header.Nodes), "idle")
		e.add(history.Event{Kind: history.Start, Node: "idle", At: e.Events[0].At})
	})},
	{"allow for worse clocks", nil, whole(func(e *edit) { e.Header.ClockError += ms / 10 })},
	{"let a refused acquire begin earlier", nil, func(x *index) (out []func(e *edit)) {
		for _, c := range x.having(of(history.Acquire), as(history.Fail)) {
			if c.from > ms {
				out = append(out, func(e *edit) { e.Events[c.i].At -= ms })
			}
		}
		return out
	}},
}

// electionOf is the name of the first election.
func electionOf(x *index) string {
	for i := range x.h.Events {
		if x.h.Events[i].Op != 0 {
			return x.h.Events[i].Election
		}
	}
	return ""
}

var ofLess = []change{
	{"drop the notes", nil, whole(func(e *edit) {
		e.drop(func(y *history.Event) bool { return y.Kind == history.Note && y.Text != history.EndOfRunNote })
	})},
	{"drop what comes last of the record", nil, func(x *index) (out []func(e *edit)) {
		for i := range x.h.Events {
			if x.h.Events[i].Kind == history.Audit {
				out = append(out, func(e *edit) {
					e.drop(func(y *history.Event) bool { return y.Kind == history.Audit && y.Seq >= int64(i)+1 })
				})
			}
		}
		return out
	}},
	{"drop the record", nil, func(x *index) []func(e *edit) {
		if !recorded(x.h) {
			return nil
		}
		return []func(e *edit){func(e *edit) { e.drop(func(y *history.Event) bool { return y.Kind == history.Audit }) }}
	}},
	{"drop a refused acquire", nil, func(x *index) (out []func(e *edit)) {
		for _, c := range x.having(of(history.Acquire), as(history.Fail)) {
			out = append(out, func(e *edit) { e.without(c) })
		}
		return out
	}},
	{"drop the observations and the reads", nil, whole(func(e *edit) {
		e.drop(func(y *history.Event) bool { return y.Call == history.Observe || y.Call == history.Read })
	})},
	{"forget the answer to a refused acquire", nil, func(x *index) (out []func(e *edit)) {
		for _, c := range x.having(of(history.Acquire), as(history.Fail)) {
			out = append(out, func(e *edit) {
				y := &e.Events[c.j]
				y.Kind, y.Holder, y.Token, y.Error = history.Info, "", 0, "time-out"
			})
		}
		return out
	}},
	{"forget whom a refusal named", nil, func(x *index) (out []func(e *edit)) {
		for _, c := range x.having(of(history.Acquire), as(history.Fail)) {
			out = append(out, func(e *edit) { e.Events[c.j].Holder = "" })
		}
		return out
	}},
	{"shorten a belief that was extended long before", nil, func(x *index) (out []func(e *edit)) {
		for _, t := range x.terms {
			places := append([]int{t.begin}, t.extensions...)
			for k := range len(places) - 1 {
				now, next := &x.h.Events[places[k]], &x.h.Events[places[k+1]]
				if now.Until != nil && *now.Until-10*ms > next.At && next.Until != nil && *next.Until > *now.Until {
					out = append(out, func(e *edit) { e.Events[places[k]].Until = history.At(*e.Events[places[k]].Until - 5*ms) })
				}
			}
		}
		return out
	}},
	{"forget the circumstances", nil, whole(func(e *edit) { e.Header.Repro, e.Header.Redis, e.Header.Seed = "", "", 0 })},
	{"ask for fewer promises", nil, whole(func(e *edit) { e.Header.Promises = []string{form, linear, oneLed} })},
}

// suspicious tells of a reason that it blames the harness.
func suspicious(reason string) bool {
	return strings.Contains(reason, "disagree") || strings.Contains(reason, "harness")
}

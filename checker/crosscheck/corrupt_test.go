package crosscheck

import (
	"slices"
	"time"

	"github.com/recount-io/recount/history"
)

// change is one way to change a real history. places are the places where it
// certainly matters, or certainly does not; each is a function that does it
// there.
type change struct {
	name string
	// breaks are the promises that are broken then, "A|B" for one of two. The
	// word after a colon is the verdict, if it is not fail: "unknown", or
	// "doubt" for anything but pass.
	breaks []string
	places func(x *index) []func(e *edit)
}

const (
	linear    = "LeaseLinearizable"
	oneLed    = "AtMostOneLeader"
	stepsDown = "StepsDownOnLoss"
	increase  = "TokensIncrease"
	fenced    = "FencedWrites"
	within    = "BeliefWithinLease"
	inTerm    = "WriteWithinTerm"
	form      = "WellFormed"
)

// corruptions must be convicted.
var corruptions = slices.Concat(ofTokens, ofBeliefs, ofAnswers, ofRecords, ofWrites, ofRuns, ofForm)

// successions are two grants, one after the other, of which the later one was
// asked for once only, and to somebody else.
func (x *index) successions() (out [][2]*call) {
	grants := x.grants()
	for i, b := range grants {
		for _, a := range grants[:i] {
			if a.in.Election == b.in.Election && a.to+x.error < b.from && a.in.Node != b.in.Node && x.fresh(b) && a.token() < b.token() {
				out = append(out, [2]*call{a, b})
			}
		}
	}
	return out
}

// renamed gives every event of one token another one, and the other way round.
func renamed(e *edit, election string, a, b uint64) {
	e.each(func(y *history.Event) {
		if y.Election != election {
			return
		}
		for _, t := range []*uint64{&y.Token, &y.Fence} {
			switch *t {
			case a:
				*t = b
			case b:
				*t = a
			}
		}
	})
}

var ofTokens = []change{
	{"swap the tokens of two grants", []string{increase, linear}, func(x *index) (out []func(e *edit)) {
		for _, p := range x.successions() {
			out = append(out, func(e *edit) {
				a, b := &e.Events[p[0].j], &e.Events[p[1].j]
				a.Token, b.Token = b.Token, a.Token
				for i, c := range p {
					if n := x.entryOf(c); n >= 0 {
						e.Events[n].Token = p[1-i].token()
					}
				}
			})
		}
		return out
	}},
	{"swap two tokens everywhere", []string{increase, linear}, func(x *index) (out []func(e *edit)) {
		for _, p := range x.successions() {
			out = append(out, func(e *edit) { renamed(e, p[0].in.Election, p[0].token(), p[1].token()) })
		}
		return out
	}},
	{"grant a token twice", []string{increase, linear}, func(x *index) (out []func(e *edit)) {
		for _, p := range x.successions() {
			out = append(out, func(e *edit) {
				e.Events[p[1].j].Token = p[0].token()
				if n := x.entryOf(p[1]); n >= 0 {
					e.Events[n].Token = p[0].token()
				}
			})
		}
		return out
	}},
	{"believe in a token that was granted to another", []string{increase, within}, func(x *index) (out []func(e *edit)) {
		for _, t := range x.terms {
			for _, g := range x.grants() {
				if g.in.Election == t.election && g.in.Node != t.node && g.to < t.from {
					out = append(out, func(e *edit) { retoken(e, t, g.token()) })
				}
			}
		}
		return out
	}},
	{"believe in a token that nobody was granted", []string{within}, func(x *index) (out []func(e *edit)) {
		for _, t := range x.terms {
			if len(x.grants()) > 0 {
				out = append(out, func(e *edit) { retoken(e, t, e.freshToken()+7) })
			}
		}
		return out
	}},
}

// retoken gives all events of a belief another token.
func retoken(e *edit, t *term, token uint64) {
	places := append([]int{t.begin}, t.extensions...)
	if t.end >= 0 && e.Events[t.end].Kind == history.Deposed {
		places = append(places, t.end)
	}
	for _, i := range places {
		e.Events[i].Token = token
	}
}

// deadline is the event that set the deadline of the belief last.
func (t *term) deadline() int {
	if n := len(t.extensions); n > 0 {
		return t.extensions[n-1]
	}
	return t.begin
}

var ofBeliefs = []change{
	{"lengthen a belief by 2 ms and the clock error", []string{within}, func(x *index) (out []func(e *edit)) {
		for _, t := range x.terms {
			for _, i := range append([]int{t.begin}, t.extensions...) {
				if x.backed(t, i) && x.h.Events[i].At < x.ends && !x.skewed(t.node, t.from, x.h.Events[i].At) {
					out = append(out, func(e *edit) { e.Events[i].Until = history.At(*e.Events[i].Until + 2*ms + x.error) })
				}
			}
		}
		return out
	}},
	{"let a belief last until somebody else leads", []string{oneLed}, func(x *index) (out []func(e *edit)) {
		for _, t := range x.terms {
			u := x.next(t)
			if u == nil || u.from >= x.ends || t.to >= u.from || u.to-u.from < 2*x.error+ms || x.gone(t, u.from+2*x.error+ms) {
				continue
			}
			out = append(out, func(e *edit) {
				e.Events[t.deadline()].Until = history.At(u.from + 2*x.error + ms)
				if t.end >= 0 {
					e.Events[t.end] = history.Event{At: e.Events[t.end].At, Kind: history.Note, Text: "here was a deposed"}
				}
			})
		}
		return out
	}},
	{"drop a deposed before somebody else leads", []string{oneLed}, func(x *index) (out []func(e *edit)) {
		for _, t := range x.terms {
			u := x.next(t)
			if u == nil || t.end < 0 || x.h.Events[t.end].Kind != history.Deposed || x.gone(t, u.from+2*x.error) || min(t.until, u.to)-u.from < 2*x.error {
				continue
			}
			out = append(out, func(e *edit) { e.Events = slices.Delete(e.Events, t.end, t.end+1) })
		}
		return out
	}},
	{"let a second one believe", []string{oneLed, within}, func(x *index) (out []func(e *edit)) {
		for _, t := range x.terms {
			if t.to-t.from < 4*x.error+4*ms || t.from > x.ends {
				continue
			}
			out = append(out, func(e *edit) {
				at := (t.from + t.to) / 2
				e.add(history.Event{Kind: history.Elected, Node: x.other(t.node), Election: t.election, Token: e.freshToken(), At: at, Until: history.At(at + 5*ms + 2*x.error)})
			})
		}
		return out
	}},
	{"let a belief begin before the last one ended", []string{oneLed, within}, func(x *index) (out []func(e *edit)) {
		for _, t := range x.terms {
			u := x.next(t)
			if u == nil || u.from > x.ends || t.to-t.from < 2*x.error+4*ms || t.to > u.from {
				continue
			}
			out = append(out, func(e *edit) { e.Events[u.begin].At = t.to - 2*x.error - 2*ms })
		}
		return out
	}},
	{"let a belief have no deadline", []string{oneLed}, func(x *index) (out []func(e *edit)) {
		for _, t := range x.terms {
			u := x.next(t)
			if u == nil || u.from > x.ends || u.to-u.from < 2*x.error+ms || x.gone(t, u.from+2*x.error+ms) {
				continue
			}
			out = append(out, func(e *edit) {
				e.Events[t.deadline()].Until = nil
				if t.end >= 0 {
					e.Events[t.end] = history.Event{At: e.Events[t.end].At, Kind: history.Note, Text: "here was a deposed"}
				}
			})
		}
		return out
	}},
	{"let two believe without end with the last event", []string{oneLed}, func(x *index) (out []func(e *edit)) {
		if len(x.h.Header.Nodes) < 2 {
			return nil
		}
		return []func(e *edit){func(e *edit) {
			last := e.Events[len(e.Events)-1].At + ms
			for i, node := range x.h.Header.Nodes[:2] {
				e.add(history.Event{Kind: history.Start, Node: node, At: last})
				e.add(history.Event{Kind: history.Elected, Node: node, At: last, Token: e.freshToken() + uint64(i)})
			}
		}}
	}},
	{"extend a belief after its deposed, when somebody else leads", []string{form + "|" + oneLed + "|" + within}, x2(func(x *index, t, u *term) func(e *edit) {
		if t.end < 0 || x.h.Events[t.end].Kind != history.Deposed || x.gone(t, u.from+3*ms) {
			return nil
		}
		return func(e *edit) { e.add(extended(t, u.from+2*ms, u.from+20*ms+2*x.error)) }
	})},
	{"extend a belief after the exit of its node", []string{form + "|" + oneLed + "|" + within}, x2(func(x *index, t, u *term) func(e *edit) {
		if t.end < 0 || x.h.Events[t.end].Kind != history.Exit {
			return nil
		}
		return func(e *edit) { e.add(extended(t, u.from+2*ms, u.from+20*ms+2*x.error)) }
	})},
	{"extend an older term of a node that leads again", []string{form + "|" + within + "|" + increase}, func(x *index) (out []func(e *edit)) {
		for i, t := range x.terms {
			for _, u := range x.terms[i+1:] {
				if u.node == t.node && u.election == t.election && u.token != t.token && u.to-u.from > 10*ms && u.from < x.ends && !x.skewed(u.node, t.from, u.to) {
					out = append(out, func(e *edit) { e.add(extended(t, (u.from+u.to)/2, u.to+x.h.Header.Lease)) })
				}
			}
		}
		return out
	}},
	{"refuse a renewal, and let the belief go on", []string{stepsDown, linear}, func(x *index) (out []func(e *edit)) {
		for _, w := range x.heldWindows() {
			for _, t := range x.terms {
				if t.node == w.node && t.token == w.token && t.election == w.election && t.to > w.from+x.h.Header.Lease/3 && t.from < w.from && !x.held(t.node, w.from, t.to) {
					out = append(out, func(e *edit) {
						e.ask(w.from, w.from+ms, history.Event{Call: history.Renew, Node: w.node, Election: w.election, Token: w.token, Nonce: w.nonce, TTL: w.ttl, Try: 1 << 30}, history.Event{Kind: history.Fail})
					})
				}
			}
		}
		return out
	}},
}

// x2 is for every belief and the one of another node that follows.
func x2(do func(x *index, t, u *term) func(e *edit)) func(x *index) []func(e *edit) {
	return func(x *index) (out []func(e *edit)) {
		for _, t := range x.terms {
			u := x.next(t)
			if u == nil || u.from+3*ms > x.ends || u.to-u.from < 2*x.error+5*ms {
				continue
			}
			if f := do(x, t, u); f != nil {
				out = append(out, f)
			}
		}
		return out
	}
}

func extended(t *term, at, until time.Duration) history.Event {
	return history.Event{Kind: history.Extended, Node: t.node, Election: t.election, Token: t.token, At: at, Until: history.At(until)}
}

// backed reports whether the belief's deadline at the event follows from the
// answer before it: nothing of unknown outcome may stand behind it.
func (x *index) backed(t *term, i int) bool {
	e := &x.h.Events[i]
	if e.Until == nil {
		return false
	}
	var last *call
	for _, c := range x.calls {
		if (c.in.Call == history.Acquire || c.in.Call == history.Renew) && c.in.Node == t.node && c.in.Election == t.election && c.token() == t.token && c.j >= 0 && c.j < i && c.out.Kind == history.Ok {
			last = c
		}
	}
	return last != nil && *e.Until > last.from+last.in.TTL-last.in.TTL*time.Duration(x.h.Header.DriftPPM)/1_000_000-x.h.Header.Margin-2*ms
}

// skewed reports whether a fault was on in the window that may have set the
// node's clock wrong.
func (x *index) skewed(node string, from, to time.Duration) bool {
	return x.fault(from, to, func(e *history.Event) bool {
		return e.Effect != nil && e.Effect.Skews && slices.Contains(e.Targets, node)
	})
}

// held reports whether anybody was held up in the window.
func (x *index) held(_ string, from, to time.Duration) bool {
	return x.fault(from, to, func(e *history.Event) bool {
		return e.Fault == history.StallFault || e.Effect != nil && (e.Effect.Holds || e.Effect.Skews)
	})
}

// fault reports whether a fault of that kind is on at some time in the window.
func (x *index) fault(from, to time.Duration, which func(e *history.Event) bool) bool {
	for i := range x.h.Events {
		on := &x.h.Events[i]
		if on.Kind != history.Fault || on.Phase != history.On || on.At > to || !which(on) {
			continue
		}
		off := time.Duration(infinite)
		for j := range x.h.Events[i:] {
			if e := &x.h.Events[i+j]; e.Kind == history.Fault && e.Phase == history.Off && e.ID == on.ID {
				off = e.At
				break
			}
		}
		if off >= from {
			return true
		}
	}
	return false
}

// gone reports whether the node's process ended, began, or took up another term,
// between the belief's begin and then.
func (x *index) gone(t *term, then time.Duration) bool {
	return slices.ContainsFunc(x.h.Events, func(e history.Event) bool {
		ends := e.Kind == history.Exit || e.Kind == history.Start || e.Kind == history.Elected && e.Election == t.election
		return e.Node == t.node && ends && e.At > t.from && e.At <= then
	})
}

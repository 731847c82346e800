package crosscheck

import (
	"slices"

	"github.com/recount-io/recount/history"
)

// held is for every time in which a lease certainly was held.
func held(do func(x *index, w holding) func(e *edit)) func(x *index) []func(e *edit) {
	return func(x *index) (out []func(e *edit)) {
		for _, w := range x.heldWindows() {
			if f := do(x, w); f != nil {
				out = append(out, f)
			}
		}
		return out
	}
}

// during is the calls that lie in the window.
func (x *index) during(w holding, all ...func(c *call) bool) []*call {
	return x.having(append(all, func(c *call) bool {
		return c.in.Election == w.election && c.from > w.from && c.to < w.to
	})...)
}

var ofAnswers = []change{
	{"refuse a renewal of the holder", []string{linear}, held(func(x *index, w holding) func(e *edit) {
		for _, c := range x.during(w, of(history.Renew), as(history.Ok)) {
			return func(e *edit) {
				e.Events[c.j].Kind = history.Fail
				if n := x.entryOf(c); n >= 0 {
					e.Events[n].Applied = history.Bool(false)
				}
			}
		}
		return nil
	})},
	{"grant what was refused", []string{linear}, held(func(x *index, w holding) func(e *edit) {
		for _, c := range x.during(w, of(history.Acquire), as(history.Fail)) {
			return func(e *edit) {
				token := e.freshToken()
				e.Events[c.j].Kind, e.Events[c.j].Token, e.Events[c.j].Holder = history.Ok, token, ""
				if n := x.entryOf(c); n >= 0 {
					e.Events[n].Applied, e.Events[n].Token = history.Bool(true), token
				}
			}
		}
		return nil
	})},
	{"refuse in favour of another", []string{linear}, held(func(x *index, w holding) func(e *edit) {
		for _, c := range x.during(w, of(history.Acquire), as(history.Fail)) {
			return func(e *edit) { e.Events[c.j].Holder = x.other(w.node) }
		}
		return nil
	})},
	{"tell that nobody leads", []string{linear}, held(func(x *index, w holding) func(e *edit) {
		for _, c := range x.during(w, of(history.Observe), as(history.Ok)) {
			return func(e *edit) { e.Events[c.j].Holder, e.Events[c.j].Token = "", 0 }
		}
		return nil
	})},
	{"tell that another leads", []string{linear}, held(func(x *index, w holding) func(e *edit) {
		for _, c := range x.during(w, of(history.Observe), as(history.Ok)) {
			return func(e *edit) { e.Events[c.j].Holder, e.Events[c.j].Token = x.other(w.node), e.freshToken() }
		}
		return nil
	})},
	{"let another release", []string{linear}, held(func(x *index, w holding) func(e *edit) {
		return func(e *edit) {
			e.ask(w.from, w.from+ms, history.Event{Call: history.Release, Node: x.other(w.node), Election: w.election, Token: w.token, Nonce: "another", Try: 1 << 30}, history.Event{Kind: history.Ok})
		}
	})},
	{"let another renew", []string{linear}, held(func(x *index, w holding) func(e *edit) {
		for _, c := range x.during(w, of(history.Renew), as(history.Ok)) {
			return func(e *edit) {
				for _, i := range []int{c.i, c.j} {
					e.Events[i].Node, e.Events[i].Nonce = x.other(w.node), "another"
				}
				if n := x.entryOf(c); n >= 0 {
					e.Events[n].Nonce = "another"
				}
			}
		}
		return nil
	})},
	{"move a grant to when the lease was held", []string{linear}, func(x *index) (out []func(e *edit)) {
		for _, w := range x.heldWindows() {
			for _, p := range x.successions() {
				if p[0].token() == w.token && p[0].in.Election == w.election && p[1].from > w.to && w.to-w.from > 3*ms {
					out = append(out, func(e *edit) { e.Events[p[1].i].At, e.Events[p[1].j].At = w.from+ms, w.from+2*ms })
				}
			}
		}
		return out
	}},
	{"drop the renewals that kept a lease", []string{linear}, func(x *index) (out []func(e *edit)) {
		writes := x.having(as(history.Ok), tokened, func(c *call) bool { return c.in.Call == history.Renew || c.in.Call == history.Acquire })
		for i, a := range writes {
			for _, b := range writes[i+1:] {
				if b.in.Call != history.Renew || b.token() != a.token() || b.in.Node != a.in.Node || b.in.Election != a.in.Election || b.from < a.to+a.in.TTL+2*x.epsilon {
					continue
				}
				lost := func(c *call) bool { // it may have kept the lease, too
					return c.in.Node == a.in.Node && c.in.Election == a.in.Election && (c.token() == a.token() || c.in.Nonce == a.in.Nonce) &&
						(c.j < 0 || c.out.Kind == history.Info) && (c.in.Call == history.Acquire || c.from <= a.from) && c.from < b.to
				}
				if slices.ContainsFunc(x.calls, lost) {
					break
				}
				out = append(out, func(e *edit) {
					for _, c := range x.calls {
						if c != a && c != b && c.token() == a.token() && c.in.Node == a.in.Node && c.in.Election == a.in.Election && c.in.Call == history.Renew && c.from > a.from && c.from < b.from {
							e.without(c)
						}
					}
				})
				break
			}
		}
		return x.unlessLengthened(out)
	}},
	{"shorten the time to live of a lease that was renewed", []string{linear}, func(x *index) (out []func(e *edit)) {
		for _, a := range x.grants() {
			var next *call
			for _, c := range x.calls {
				if c != a && c.in.Election == a.in.Election && c.in.Node == a.in.Node && (c.in.Call == history.Renew && c.in.Token == a.token() || c.in.Call == history.Acquire && c.in.Nonce == a.in.Nonce) {
					next = c
					break
				}
			}
			if next == nil || next.j < 0 || next.out.Kind != history.Ok || next.from < a.to+a.in.TTL/50+2*x.epsilon {
				continue
			}
			out = append(out, func(e *edit) {
				for _, i := range []int{a.i, a.j} {
					if e.Events[i].TTL != 0 {
						e.Events[i].TTL /= 50
					}
				}
			})
		}
		return x.unlessLengthened(out)
	}},
	{"lengthen the time to live of a lease that was over", []string{linear}, func(x *index) (out []func(e *edit)) {
		for _, p := range x.successions() {
			var last *call
			ended := false
			for _, c := range x.calls {
				if c.in.Election != p[0].in.Election || c.in.Node != p[0].in.Node || c.from > p[1].to {
					continue
				}
				if c.token() == p[0].token() && c.j >= 0 && c.out.Kind == history.Ok && (c.in.Call == history.Acquire || c.in.Call == history.Renew) {
					last = c
				}
				ended = ended || c.in.Call == history.Release || last != nil && c.j >= 0 && c.out.Kind == history.Info && c != last
			}
			if last == nil || ended || p[1].token() != p[0].token()+1 {
				continue
			}
			out = append(out, func(e *edit) {
				for _, i := range []int{last.i, last.j} {
					if e.Events[i].TTL != 0 {
						e.Events[i].TTL = p[1].to - last.from + 2*x.epsilon + e.Events[i].TTL
					}
				}
			})
		}
		if len(x.heldWindows()) == 0 {
			return nil // a fault may have taken the lease
		}
		return out
	}},
}

// unlessLengthened is nothing if a fault may have made leases last longer.
func (x *index) unlessLengthened(places []func(e *edit)) []func(e *edit) {
	if slices.ContainsFunc(x.h.Events, func(e history.Event) bool { return e.Shorten != 0 || e.Void }) {
		return nil
	}
	return places
}

// entries are the places of the entries of the store's own record with which
// the lease changed.
func (x *index) entries() (out []int) {
	if x.unlessLengthened([]func(e *edit){nil}) == nil {
		return nil
	}
	for i := range x.h.Events {
		if e := &x.h.Events[i]; e.Kind == history.Audit && e.Applied != nil && *e.Applied {
			out = append(out, i)
		}
	}
	return out
}

// Where only the store's own record is wrong, its keeper may be: no history is
// convicted of it, and none is acquitted.
var ofRecords = []change{
	{"drop an entry of the record", []string{linear + ":doubt"}, func(x *index) (out []func(e *edit)) {
		all := x.entries()
		for k, i := range all {
			if k+1 < len(all) && x.callOf(i) != nil && x.callOf(all[k+1]) != nil {
				out = append(out, func(e *edit) { e.Events = slices.Delete(e.Events, i, i+1) })
			}
		}
		return out
	}},
	{"swap two entries of the record", []string{linear + ":doubt"}, func(x *index) (out []func(e *edit)) {
		all := x.entries()
		for k := 0; k+1 < len(all); k++ {
			a, b := x.callOf(all[k]), x.callOf(all[k+1])
			if a != nil && b != nil && a.to+x.error < b.from {
				out = append(out, func(e *edit) {
					p, q := &e.Events[all[k]], &e.Events[all[k+1]]
					p.At, q.At = q.At, p.At
					*p, *q = *q, *p
				})
			}
		}
		return out
	}},
	{"record a refusal of what took effect", []string{linear + ":doubt"}, func(x *index) (out []func(e *edit)) {
		for _, i := range x.entries() {
			if x.callOf(i) != nil {
				out = append(out, func(e *edit) { e.Events[i].Applied = history.Bool(false) })
			}
		}
		return out
	}},
	{"record another token", []string{linear + ":doubt"}, func(x *index) (out []func(e *edit)) {
		for _, i := range x.entries() {
			if c := x.callOf(i); c != nil && c.in.Call == history.Acquire {
				out = append(out, func(e *edit) { e.Events[i].Token += 100 })
			}
		}
		return out
	}},
	{"record what nobody asked for", []string{linear + ":doubt"}, func(x *index) (out []func(e *edit)) {
		all := x.entries()
		for k, i := range all { // while the lease was held, and renewed afterwards
			if k+1 < len(all) && x.h.Events[all[k+1]].Call == history.Renew && x.callOf(i) != nil && x.callOf(all[k+1]) != nil {
				out = append(out, func(e *edit) {
					y := e.Events[i]
					y.Nonce, y.Try, y.Call, y.Token, y.Node = "nobody/1", 1, history.Acquire, e.freshToken(), ""
					e.add(y)
				})
			}
		}
		return out
	}},
}

package everyorder

import (
	"slices"
	"time"

	"github.com/recount-io/recount/checker/internal/index"
	"github.com/recount-io/recount/history"
)

// place is where the beginning of an order leads to.
type place struct {
	done  uint64
	lease lease
	times times
}

// lease is what is known of the lease but for its times.
type lease struct {
	live   bool
	any    bool // it is older than the stretch: its attempt may be any
	holder string
	nonce  string
	token  uint64
	last   uint64 // every grant to come has a larger token
}

// times are the bounds of the present n, of the end e of the lease, and of e - n:
// all that the rest of an order can ask about.
type times struct{ n1, n2, e1, e2, g1, g2 time.Duration }

const never = index.Forever

var anytime = times{-never, never, -never, never, -2 * never, 2 * never}

// tight draws the consequences of each bound for the others, and reports whether
// anything is left.
func (t *times) tight() bool {
	for range 2 {
		t.n1, t.n2 = max(t.n1, t.e1-t.g2), min(t.n2, t.e2-t.g1)
		t.e1, t.e2 = max(t.e1, t.n1+t.g1), min(t.e2, t.n2+t.g2)
		t.g1, t.g2 = max(t.g1, t.e1-t.n2), min(t.g2, t.e2-t.n1)
	}
	return t.n1 <= t.n2 && t.e1 <= t.e2 && t.g1 <= t.g2
}

// demand is what the next moment asks of the lease.
type demand int

const (
	nothing demand = iota
	alive
	over
)

// next lets the present move on to a moment of the item at which the demand is
// met.
func (t times) next(i *item, d demand) (times, bool) {
	t.n1, t.n2 = max(t.n1, i.lo), i.hi
	t.g1 = -2 * never // the present may move on as far as it likes
	switch d {
	case alive:
		t.g1 = 1
	case over:
		t.g2 = min(t.g2, 0)
	}
	return t, t.tight()
}

// forget lets the lease be gone, and with it its end.
func (t times) forget() times {
	t.e1, t.e2, t.g1, t.g2 = anytime.e1, anytime.e2, anytime.g1, anytime.g2
	return t
}

// write gives the lease an end after the present.
func (s *stretch) write(t times, ttl time.Duration) times {
	t = t.forget()
	eps := s.tolerance.Of(ttl)
	t.g1, t.g2 = ttl-eps, ttl+eps
	t.tight()
	return t
}

// search reports whether there is an order, and takes from left how many places
// that took. It is as if there were one when nothing is left.
func (s *stretch) search(left *int) bool {
	s.tried = map[place]struct{}{}
	for _, p := range s.starts {
		if s.from(p, left) {
			return true
		}
	}
	return false
}

func (s *stretch) from(p place, left *int) bool {
	if _, ok := s.tried[p]; ok {
		return false
	}
	if *left--; *left <= 0 {
		return true
	}
	s.tried[p] = struct{}{}
	soonest, all := 2*never, true
	for i := range s.items {
		if it := &s.items[i]; it.must && p.done&(1<<i) == 0 {
			soonest, all = min(soonest, it.hi), false
		}
	}
	if all {
		return true
	}
	for i := range s.items {
		it := &s.items[i]
		if p.done&(1<<i) != 0 || it.lo > soonest || s.alike(p.done, i) {
			continue
		}
		for _, q := range s.after(&p, it) {
			q.done = p.done | 1<<i
			if s.from(q, left) {
				return true
			}
		}
	}
	return false
}

// alike reports whether an operation of unknown outcome like the i-th one was sent
// before and is not in the order: which of them is makes no difference.
func (s *stretch) alike(done uint64, i int) bool {
	a := s.items[i].op
	if a == nil || a.Kind != history.Info {
		return false
	}
	for j := range i {
		b := s.items[j].op
		if done&(1<<j) == 0 && b != nil && b.Kind == history.Info && b.From <= a.From &&
			a.Call == b.Call && a.Node == b.Node && a.Nonce == b.Nonce && a.Token == b.Token && a.TTL == b.TTL {
			return true
		}
	}
	return false
}

// after is where the item may lead to.
func (s *stretch) after(p *place, i *item) []place {
	if i.fault != nil {
		return s.disturbed(p, i)
	}
	o := i.op
	l := &p.lease
	refused := o.Kind == history.Fail
	switch {
	case o.Call == history.Observe && o.Holder == "" && o.Got == 0:
		return ended(p, i)
	case o.Call == history.Acquire && refused && o.Nonce != "" && l.live && l.nonce == o.Nonce && l.holder == o.Node:
		return nil
	case o.Call == history.Observe, o.Call == history.Acquire && refused:
		if !l.live || o.Holder != "" && l.holder != "" && l.holder != o.Holder || o.Got != 0 && l.token != 0 && l.token != o.Got {
			return nil
		}
		return kept(p, i)
	case o.Call == history.Acquire:
		return s.acquired(p, i)
	case refused && l.mine(o):
		out := ended(p, i)
		if l.any && o.Nonce != "" { // or it was another attempt's
			out = append(out, moved(p, i)...)
		}
		return out
	case refused:
		return moved(p, i)
	case !l.mine(o):
		return nil
	case o.Call == history.Release:
		out := kept(p, i)
		for k := range out {
			out[k].lease, out[k].times = lease{last: l.last}, out[k].times.forget()
		}
		return out
	default:
		return s.rewritten(p, i)
	}
}

// mine reports whether a renewal or release is about the lease.
func (l *lease) mine(o *index.Op) bool {
	return l.live && (l.holder == o.Node || l.holder == "" || o.Node == "") && (o.Token == 0 || l.token == 0 || o.Token == l.token) &&
		(l.any || o.Nonce == "" || l.nonce == "" || o.Nonce == l.nonce)
}

func moved(p *place, i *item) []place {
	t, ok := p.times.next(i, nothing)
	if !ok {
		return nil
	}
	q := *p
	q.times = t
	return []place{q}
}

func kept(p *place, i *item) []place {
	t, ok := p.times.next(i, alive)
	if !ok {
		return nil
	}
	q := *p
	q.times = t
	return []place{q}
}

func ended(p *place, i *item) []place {
	d := nothing
	if p.lease.live {
		d = over
	}
	t, ok := p.times.next(i, d)
	if !ok {
		return nil
	}
	q := *p
	q.lease, q.times = lease{last: p.lease.last}, t.forget()
	return []place{q}
}

// rewritten is the lease written again, by who holds it.
func (s *stretch) rewritten(p *place, i *item) []place {
	out := kept(p, i)
	for k := range out {
		out[k].times = s.write(out[k].times, i.op.TTL)
	}
	return out
}

func (s *stretch) acquired(p *place, i *item) (out []place) {
	o, l := i.op, &p.lease
	if i.must || s.wanted(p.done, i) {
		for _, q := range ended(p, i) {
			for _, token := range s.grantable(o, q.lease.last) {
				g := q
				g.lease = lease{live: true, holder: o.Node, nonce: o.Nonce, token: token, last: max(q.lease.last, token)}
				g.times = s.write(g.times, o.TTL)
				out = append(out, g)
			}
		}
	}
	if l.live && l.holder == o.Node && (l.any || l.nonce == o.Nonce) && (o.Got == 0 || l.token == 0 || o.Got == l.token) {
		out = append(out, s.rewritten(p, i)...)
	}
	return out
}

// wanted reports whether the lease that the item brings can be of use.
func (s *stretch) wanted(done uint64, i *item) bool {
	for k := range s.items {
		if j := &s.items[k]; j.must && done&(1<<k) == 0 && j.demands(i.op) {
			return true
		}
	}
	return false
}

// grantable are the tokens that a grant may have brought. All that nobody names
// are alike, and the smallest one leaves the most to those that follow.
func (s *stretch) grantable(o *index.Op, last uint64) []uint64 {
	switch {
	case o.Got != 0 && o.Got <= last:
		return nil
	case o.Got != 0:
		return []uint64{o.Got}
	case o.Kind == history.Ok || len(s.tokens) == 0:
		return []uint64{0}
	}
	var out []uint64
	for _, t := range s.tokens {
		if t > last {
			out = append(out, t)
		}
	}
	other := last + 1
	for slices.Contains(s.tokens, other) {
		other++
	}
	return append(out, other)
}

// disturbed is what a fault may do, at one moment.
func (s *stretch) disturbed(p *place, i *item) []place {
	out := moved(p, i)
	if len(out) == 0 {
		return nil
	}
	f, q := i.fault, out[0]
	if f.Void {
		q.lease.last = 0
		gone, later := q, q
		gone.lease, gone.times = lease{}, q.times.forget()
		later.times.e1, later.times.g1 = anytime.e1, anytime.g1
		out, q = []place{gone, later}, later
	}
	if f.Shorten == 0 || !q.lease.live {
		return out
	}
	t := &q.times
	if f.Shorten < 0 { // by up to so much
		t.e2, t.g2 = min(t.e2-f.Shorten, anytime.e2), min(t.g2-f.Shorten, anytime.g2)
		return append(out, q)
	}
	for _, bound := range []*time.Duration{&t.e1, &t.e2, &t.g1, &t.g2} {
		if *bound > -never && *bound < never {
			*bound -= f.Shorten
		}
	}
	if f.Certain && !f.Void {
		return []place{q}
	}
	return append(out, q)
}

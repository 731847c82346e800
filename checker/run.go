package checker

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/recount-io/recount/history"
)

// forever is later than every event.
const forever = time.Duration(math.MaxInt64 / 4)

// run is a history, indexed for the checkers.
type run struct {
	h         *history.History
	end       time.Duration
	lone      string // the name of the run's only election
	elections []*election
	faults    []*fault
	healed    *history.Event
	exact     bool          // no tolerance; see epsilon
	curtain   time.Duration // when the harness began to stop the candidates; see findCurtain
}

// election is everything about one election.
type election struct {
	name    string
	ops     []*op // on the lease, ordered by call
	writes  []*op // on the resource, ordered by call
	reads   []*op // on the resource, ordered by call
	audits  []*history.Event
	auditOf []*op     // by entry: the operation that it is about, nil if there is none
	beliefs []*belief // ordered by begin

	ofTerm   map[termKey][]*op        // operations that changed the lease, by node and token (0: none named)
	writesOf map[termKey][]*op        // accepted writes
	nonceUse map[string]time.Duration // what lastUse found
}

// op is an invocation together with its completion. The times are widened by
// half the clock error on each side, so that "a.ret < b.call" means for certain
// that a ended before b began, whoever stamped them.
type op struct {
	id        int64
	node      string
	call      history.Call
	nonce     string
	try       uint64
	ttl       time.Duration
	token     uint64 // of the invocation: renew, release, write
	value     string // of the invocation (write) or of the completion (read)
	from, to  time.Duration
	kind      history.Kind // Ok, Fail or Info; Info for an operation that never completed
	got       uint64       // token of the completion
	holder    string
	fence     uint64
	err       string
	invoked   int64 // seq
	completed int64 // seq; 0 if it never completed

	// asked is the earliest call that may have brought what an acquire got: an
	// attempt of unknown outcome may be repeated, and its repetition returns
	// the token that the first one took.
	asked time.Duration

	audit         *history.Event // what the store recorded about it, if it did
	after, before time.Duration  // what the store's order tells about the time of the effect
}

// seq is the event that shows the operation's outcome best.
func (o *op) seq() int64 {
	if o.completed != 0 {
		return o.completed
	}
	return o.invoked
}

// fault is one fault, from its on to its off event.
type fault struct {
	id       string
	name     string
	on, off  time.Duration
	from, to time.Duration // on and off, widened like the times of an op
	since    time.Duration // from here to off it certainly was in force
	targets  []string
	shorten  time.Duration
	void     bool
	onSeq    int64
	offSeq   int64 // 0 if it was never taken off
	effect   *bool
	evidence string
}

func (f *fault) hits(node string) bool { return slices.Contains(f.targets, node) }

func newRun(h *history.History) *run {
	r := &run{h: h}
	names := map[string]bool{}
	for i := range h.Events {
		e := &h.Events[i]
		r.end = max(r.end, e.At)
		if e.Election != "" {
			names[e.Election] = true
		}
		if e.Kind == history.Healed {
			r.healed = e
		}
	}
	if len(names) == 1 {
		for name := range names {
			r.lone = name
		}
	}
	r.pairFaults()
	return r
}

// pairFaults joins the on and off events. A fault that is never taken off
// lasts to the end of time.
func (r *run) pairFaults() {
	byID := map[string]*fault{}
	for i := range r.h.Events {
		e := &r.h.Events[i]
		if e.Kind != history.Fault {
			continue
		}
		f := byID[e.ID]
		if e.Phase == history.On || f == nil {
			f = &fault{id: e.ID, name: e.Fault, on: e.At, since: e.At, off: forever, onSeq: e.Seq}
			byID[e.ID] = f
			r.faults = append(r.faults, f)
		}
		f.targets = append(f.targets, e.Targets...)
		if e.Shorten != 0 {
			f.shorten = e.Shorten
		}
		f.void = f.void || e.Void
		if e.Phase == history.Off {
			f.off, f.offSeq, f.effect, f.evidence = e.At, e.Seq, e.Effective, e.Evidence
			if e.Since != nil {
				f.since = *e.Since
			}
		}
	}
	slack := (r.h.Header.ClockError + 1) / 2
	for _, f := range r.faults {
		f.from, f.to = f.on-slack, f.off+slack
	}
}

// index joins invocations with completions, election by election. The history
// must be well-formed.
func (r *run) index() {
	slack := (r.h.Header.ClockError + 1) / 2
	open := map[int64]*op{}
	byName := map[string]*election{}
	ended := map[string]bool{} // nodes whose process ended, and "" if any did
	at := func(name string) *election {
		if name == "" {
			name = r.lone
		}
		if byName[name] == nil {
			byName[name] = &election{name: name}
			r.elections = append(r.elections, byName[name])
		}
		return byName[name]
	}
	for i := range r.h.Events {
		e := &r.h.Events[i]
		switch e.Kind {
		case history.Invoke:
			o := invoked(e, slack, r.h.Header.Lease)
			open[e.Op] = o
			at(e.Election).add(o)
		case history.Ok, history.Fail, history.Info:
			if o := open[e.Op]; o != nil {
				o.complete(e, slack)
			}
		case history.Audit:
			el := at(e.Election)
			el.audits = append(el.audits, e)
		case history.Elected, history.Extended, history.Deposed:
			at(e.Election)
		case history.Exit:
			ended[e.Node], ended[""] = true, true
		}
	}
	slices.SortFunc(r.elections, func(a, b *election) int { return cmp.Compare(a.name, b.name) })
	for _, e := range r.elections {
		byCall := func(a, b *op) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.invoked, b.invoked)) }
		slices.SortStableFunc(e.ops, byCall)
		slices.SortStableFunc(e.writes, byCall)
		slices.SortStableFunc(e.reads, byCall)
		e.findAsked()
		e.joinAudits(ended, r.h.Header.Lease)
		e.boundAudits()
		e.indexTerms()
	}
	r.findBeliefs()
	r.findCurtain()
}

func invoked(e *history.Event, slack, lease time.Duration) *op {
	o := &op{
		id: e.Op, node: e.Node, call: e.Call, nonce: e.Nonce, try: e.Try, ttl: e.TTL,
		token: e.Token, value: e.Value, from: e.At - slack, to: forever,
		kind: history.Info, invoked: e.Seq,
	}
	if o.ttl == 0 {
		o.ttl = lease
	}
	return o
}

func (o *op) complete(e *history.Event, slack time.Duration) {
	o.kind, o.completed, o.got, o.holder, o.fence, o.err = e.Kind, e.Seq, e.Token, e.Holder, e.Fence, e.Error
	if e.Value != "" {
		o.value = e.Value
	}
	if e.Kind != history.Info { // an unknown outcome may still come later
		o.to = e.At + slack
	}
}

func (e *election) add(o *op) {
	switch {
	case o.call.OnLease():
		e.ops = append(e.ops, o)
	case o.call == history.Write:
		e.writes = append(e.writes, o)
	case o.call == history.Read:
		e.reads = append(e.reads, o)
	}
}

// termKey names the term that an operation belongs to.
type termKey struct {
	node  string
	token uint64
}

// took tells whether the operation certainly took effect.
func (o *op) took() bool {
	return o.kind == history.Ok || o.kind == history.Info && o.audit != nil && applied(o.audit)
}

// indexTerms sorts the operations that took effect by the term that they
// belong to.
func (e *election) indexTerms() {
	e.ofTerm, e.writesOf = map[termKey][]*op{}, map[termKey][]*op{}
	for _, o := range e.ops {
		if o.call == history.Observe || !o.took() {
			continue
		}
		token := max(o.token, o.got)
		if o.kind != history.Ok {
			token = max(o.token, o.audit.Token)
		}
		k := termKey{o.node, token}
		e.ofTerm[k] = append(e.ofTerm[k], o)
	}
	for _, o := range e.writes {
		if o.kind == history.Ok {
			k := termKey{o.node, o.token}
			e.writesOf[k] = append(e.writesOf[k], o)
		}
	}
}

// of are the operations that may belong to the term: those that name its
// token, and those that name none. A term without a token may be that of any
// operation of its node.
func of(index map[termKey][]*op, t *Term) []*op {
	own, nameless := index[termKey{t.Node, t.Token}], index[termKey{t.Node, 0}]
	switch {
	case t.Token == 0 || len(nameless) == 0:
		return own
	case len(own) == 0:
		return nameless
	default:
		return slices.Concat(own, nameless)
	}
}

// findAsked finds for every acquire the earliest one of the same attempt whose
// outcome is unknown.
func (e *election) findAsked() {
	type attempt struct{ node, nonce string }
	first := map[attempt]time.Duration{}
	for _, o := range e.ops { // by call
		if o.call != history.Acquire {
			continue
		}
		a := attempt{o.node, o.nonce}
		o.asked = o.from
		if t, ok := first[a]; ok {
			o.asked = t
		} else if o.kind == history.Info {
			first[a] = o.from
		}
	}
}

// joinAudits finds for every operation what the store recorded about it: by
// (call, nonce, try) where the elector numbers its requests, else by the first
// operation of the same call and token (or nonce) that has no entry yet.
func (e *election) joinAudits(ended map[string]bool, lease time.Duration) {
	type key struct {
		call  history.Call
		nonce string
		try   uint64
		token uint64
	}
	exact, rough := map[key][]*op{}, map[key][]*op{}
	for _, o := range e.ops {
		if o.nonce != "" {
			k := key{call: o.call, nonce: o.nonce, try: o.try}
			exact[k] = append(exact[k], o)
		}
		if o.nonce == "" || o.try == 0 {
			k := key{call: o.call, token: cmp.Or(o.token, o.got)}
			rough[k] = append(rough[k], o)
		}
	}
	e.auditOf = make([]*op, len(e.audits))
	for i, a := range e.audits {
		k := key{call: a.Call, nonce: a.Nonce, try: a.Try}
		if o := claim(exact, k, a); o != nil {
			e.auditOf[i] = o
			continue
		}
		for _, token := range []uint64{a.Token, 0} {
			if o := claim(rough, key{call: a.Call, token: token}, a); o != nil {
				e.auditOf[i] = o
				break
			}
		}
		if e.auditOf[i] == nil && applied(a) && ended[a.Node] {
			e.auditOf[i] = lost(a, lease)
			e.ops = append(e.ops, e.auditOf[i])
		}
	}
}

// lost is an operation whose invocation was lost together with its process:
// only the store's own record tells of it.
func lost(a *history.Event, lease time.Duration) *op {
	return &op{
		node: a.Node, call: a.Call, nonce: a.Nonce, try: a.Try, token: a.Token, ttl: lease,
		from: -forever, to: forever, kind: history.Info, invoked: a.Seq, audit: a,
	}
}

// boundAudits finds for every entry the time in which it was made: not before
// a call whose entry comes earlier, not after a return whose entry comes later.
func (e *election) boundAudits() {
	after, before := -forever, forever
	for _, o := range e.auditOf {
		if o != nil {
			after = max(after, o.from)
			o.after = after
		}
	}
	for _, o := range slices.Backward(e.auditOf) {
		if o != nil {
			before = min(before, o.to)
			o.before = before
		}
	}
}

// lastUse is when the last operation that names the nonce certainly was over;
// one of unknown outcome names it only when it is sent.
func (e *election) lastUse(nonce string) time.Duration {
	if e.nonceUse == nil {
		e.nonceUse = map[string]time.Duration{}
		for _, o := range e.ops {
			until := o.to
			switch {
			case o.kind == history.Info && o.audit != nil && applied(o.audit):
				until = o.before
			case o.kind == history.Info:
				until = o.from
			}
			if last, ok := e.nonceUse[o.nonce]; !ok || until > last {
				e.nonceUse[o.nonce] = until
			}
		}
	}
	return e.nonceUse[nonce]
}

// claim gives the entry to the first operation under the key that it fits.
func claim[K comparable](ops map[K][]*op, k K, a *history.Event) *op {
	for len(ops[k]) > 0 && ops[k][0].audit != nil {
		ops[k] = ops[k][1:] // keeps repeated claims linear
	}
	for _, o := range ops[k] {
		if o.audit == nil && o.fits(a) {
			o.audit = a
			return o
		}
	}
	return nil
}

// fits tells whether the store's entry can be about the operation.
func (o *op) fits(a *history.Event) bool {
	if o.kind == history.Info {
		return o.call == history.Acquire || o.token == 0 || a.Token == 0 || o.token == a.Token
	}
	if applied(a) != (o.kind == history.Ok) {
		return false
	}
	if o.call == history.Acquire {
		return o.kind != history.Ok || o.got == a.Token
	}
	return o.token == 0 || a.Token == 0 || o.token == a.Token
}

func applied(a *history.Event) bool { return a.Applied != nil && *a.Applied }

// lossy tells whether a fault may have removed leases, and with them the
// store's own records.
func (r *run) lossy() bool {
	return slices.ContainsFunc(r.faults, func(f *fault) bool { return f.void })
}

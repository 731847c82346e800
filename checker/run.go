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

// run is a history, or a piece of one, indexed for the checkers. Its events are
// taken in one by one (see event) and are not needed any more afterwards;
// finish then joins what belongs together.
//
// A piece begins where an earlier one ended, at since. What came before is
// known by its consequences only: past of every election, and the parts that
// stay in place from piece to piece.
type run struct {
	header    history.Header
	end       time.Duration // of the last event
	events    int           // how many there are
	seq       int64         // of the last event
	elections []*election   // after finish: by name
	spare     []*election   // of runs that are over
	faults    []*fault
	harmful   []*fault          // after finish: those that touch leases
	byID      map[string]*fault // the latest fault of this id
	healed    *healing
	exact     bool          // no tolerance; see epsilon
	curtain   time.Duration // when the harness began to stop the candidates; see findCurtain
	counted   OpCounts
	broken    *Finding // what is wrong with the form of the history

	since time.Duration // the end of the piece before; -forever if there is none
	form  form

	ops        opTable
	slab       slab[op]
	calls      []*op // all operations, by invocation
	unfinished int   // how many of them have not completed
	pending    int   // and how many of these belong to a process that still runs

	nodes     map[string]*process
	recent    [64]*process // the nodes asked for last
	anyExit   bool
	told      time.Duration // when an exit said that the run is over; -1 if none did
	named     []string      // the names of elections, but for ""
	apart     bool          // an event without a name is not about the only named election
	mixed     bool          // apart should have been set
	finished  bool
	on        int           // faults that are on
	calmed    time.Duration // when the last one was taken off
	shy       int           // events after which a store that showed no record of its own keeps none
	intervals []*leases     // of the elections, when they were judged
	work      scratch
}

// scratch is memory that one piece leaves to the next one.
type scratch struct {
	waiting []*op
	steps   []step
	inputs  []leaseInput
}

// healing is the event that says that every fault is off.
type healing struct {
	at  time.Duration
	seq int64
}

// process is what is known about one node, whichever election it is about.
type process struct {
	name    string
	number  int
	latest  time.Duration // when it was last heard of
	life    int           // counts its processes
	pending int           // operations of this one that are under way
	exited  bool          // its process ended at some time
	exit    time.Duration // the last time
	out     bool          // it went, not by a fault, and did not come back
	outAt   time.Duration
	terms   []termID      // to which it was elected
	held    time.Duration // until when a fault of an earlier piece held it up
	older   bool          // there were more
}

// termID names a term of a node, in an election by the name that the event
// gives it.
type termID struct {
	election string
	token    uint64
}

// election is everything about one election.
type election struct {
	name    string
	called  []*op // operations on the lease, ordered by call
	ops     []*op // after finish: these, and those that only the store knows of
	written []*op // writes of this piece, ordered by call
	writes  []*op // after finish: on the resource, ordered by call
	reads   []*op // on the resource, ordered by call
	audits  []audit
	auditOf []*op     // by entry: the operation that it is about, nil if there is none
	begun   []*belief // ordered by begin, those that last as far as they are known
	open    []*open   // by number of the node: the belief that has not ended
	beliefs []*belief // after finish: ordered by begin, all of them with an end

	byTerm   *termIndex               // operations that changed the lease
	writesOf *termIndex               // accepted writes
	nonceUse map[string]time.Duration // what lastUse found

	replayed *step        // the state of the lease after the store's own record, if that was replayed
	ends     []leaseState // the states in which the search ended, if it did

	past past
}

// op is an invocation together with its completion. The times are widened by
// half the clock error on each side, so that "a.ret < b.call" means for certain
// that a ended before b began, whoever stamped them.
type op struct {
	id        int64
	by        *process
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
	at        *election
	life      int  // of the process that called it
	old       bool // of an earlier piece, where it was judged

	// asked is the earliest call that may have brought what an acquire got: an
	// attempt of unknown outcome may be repeated, and its repetition returns
	// the token that the first one took.
	asked time.Duration

	audit         *audit        // what the store recorded about it, if it did
	after, before time.Duration // what the store's order tells about the time of the effect
	next          *op           // of the same token; see termIndex
}

// audit is what the store recorded about one operation.
type audit struct {
	call    history.Call
	node    string
	nonce   string
	try     uint64
	token   uint64
	applied bool
	seq     int64
	at      time.Duration
}

// seq is the event that shows the operation's outcome best.
func (o *op) seq() int64 {
	if o.completed != 0 {
		return o.completed
	}
	return o.invoked
}

// took tells whether the operation certainly took effect.
func (o *op) took() bool {
	return o.kind == history.Ok || o.kind == history.Info && o.audit != nil && o.audit.applied
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

// indexed is the whole history, ready to be judged.
func indexed(h *history.History) *run {
	r := newRun(&h.Header)
	for i := range h.Events {
		r.event(&h.Events[i])
	}
	if r.mixed { // rare: the names of all elections must be known first
		r = newRun(&h.Header)
		r.apart = true
		for i := range h.Events {
			r.event(&h.Events[i])
		}
	}
	r.finish()
	return r
}

// slack is by how much the times of an operation are widened on each side.
func (r *run) slack() time.Duration { return (r.header.ClockError + 1) / 2 }

// finish joins operations with what the store recorded about them, and closes
// the beliefs that last. More events may follow, and then another finish.
func (r *run) finish() {
	r.harmful = r.harmful[:0]
	for _, f := range r.faults {
		if f.shorten != 0 || f.void {
			r.harmful = append(r.harmful, f)
		}
	}
	slices.SortFunc(r.elections, func(a, b *election) int { return cmp.Compare(a.name, b.name) })
	for _, e := range r.elections {
		if r.finished {
			e.forgetJoins()
		}
		e.ops = e.ops[:0]
		if r.lossy() { // then the store's record does not tell what became of them
			e.ops = append(e.ops, e.past.unknowns...)
		}
		e.ops = append(e.ops, e.called...)
		e.writes = append(slices.Clip(e.past.writes), e.written...)
		e.findAsked()
		e.joinAudits(r)
		e.boundAudits()
		e.byTerm, e.writesOf, e.nonceUse = nil, nil, nil
	}
	r.closeBeliefs()
	r.findCurtain()
	r.finished = true
}

// leaseFaults are the faults that may have changed leases.
func (r *run) leaseFaults() []*fault { return r.harmful }

// audited tells whether the store keeps a record of its own.
func (e *election) audited() bool { return len(e.audits) > 0 || e.past.audited }

// forgetJoins undoes the joins of an earlier finish.
func (e *election) forgetJoins() {
	for _, ops := range [][]*op{e.called, e.past.unknowns} {
		for _, o := range ops {
			o.audit, o.after, o.before = nil, 0, 0
		}
	}
}

// slab hands out values of one type from a few large pieces of memory.
type slab[T any] struct {
	chunks [][]T
	chunk  int // the one in use
	used   int // of it
}

// next is a zero value.
func (s *slab[T]) next() *T {
	if s.chunk == len(s.chunks) {
		s.chunks = append(s.chunks, make([]T, 64<<min(len(s.chunks), 4)))
	}
	c := s.chunks[s.chunk]
	x := &c[s.used]
	if s.used++; s.used == len(c) {
		s.chunk, s.used = s.chunk+1, 0
	}
	return x
}

// reset takes every value back.
func (s *slab[T]) reset() {
	for i := 0; i <= s.chunk && i < len(s.chunks); i++ {
		clear(s.chunks[i])
	}
	s.chunk, s.used = 0, 0
}

// opTable finds operations by their numbers, which mostly are dense.
type opTable struct {
	base   int64
	dense  []*op
	sparse map[int64]*op
}

func (t *opTable) get(id int64) *op {
	if i := id - t.base; i >= 0 && i < int64(len(t.dense)) {
		return t.dense[i]
	}
	return t.sparse[id]
}

func (t *opTable) put(id int64, o *op) {
	if len(t.dense) == 0 {
		t.base = id
	}
	i := id - t.base
	switch n := int64(len(t.dense)); {
	case i == n:
		t.dense = append(t.dense, o)
	case i >= 0 && i < n:
		t.dense[i] = o
	case i > n && i < 2*n+64 && t.sparse == nil:
		t.dense = append(slices.Grow(t.dense, int(i-n)+1), make([]*op, i-n)...)
		t.dense = append(t.dense, o)
	default:
		if t.sparse == nil {
			t.sparse = map[int64]*op{}
		}
		t.sparse[id] = o
	}
}

func (t *opTable) reset() {
	clear(t.dense)
	t.dense, t.sparse = t.dense[:0], nil
}

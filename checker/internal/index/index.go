package index

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/recount-io/recount/checker/internal/expiry"
	"github.com/recount-io/recount/checker/internal/finding"
	"github.com/recount-io/recount/history"
)

// Forever is later than every event.
const Forever = expiry.Forever

// Index is a history, ready to be judged.
type Index struct {
	Header    history.Header
	Events    int
	Restated  int           // of these: those that only restate
	Since     time.Duration // of the last event that only restates, 0 if there is none
	End       time.Duration // of the last event
	RunEnd    time.Duration // when the run ended, and with it whatever was owed
	StatedEnd time.Duration // the same where the history says so, else Forever
	Elections []*Election   // by name
	Faults    []*Fault      // in the order in which they were put on
	Calls     []*Op         // all operations, by invocation
	Nodes     []*Node       // in the order in which they turn up
	Healed    *Healing      // nil if the history was never declared healed
	Wire      []*history.Wire
	Counted   Completions
	Panics    []history.Event // ends of processes by a panic

	// Broken is what is wrong with the form of the history, nil if nothing is:
	// then nothing else may be asked of it.
	Broken *finding.Finding

	memory      *memory
	endedByExit bool // an exit showed the end of the run, and not a note

	LeaseFaults []expiry.Fault // those that may have changed leases
	Tolerance   expiry.Tolerance
}

// Completions counts the completions of operations.
type Completions struct{ Ok, Fail, Info int }

// Healing is the event that says that every fault is off.
type Healing struct {
	At  time.Duration
	Seq int64
}

// Node is what is known about one candidate, whichever election it is about.
type Node struct {
	Name string

	number  int
	latest  time.Duration // when it was last heard of
	exited  bool          // its process ended at some time
	gone    bool          // its process ended, and no other one began
	downs   []Window      // in which it had no process, from its first end on
	started bool          // the begin of a process of its was recorded
	out     bool          // it went, not by a fault, and did not come back
	outAt   time.Duration
	outWhy  history.Why
	terms   []termID // to which it was elected
}

// termID names a term of a node.
type termID struct {
	election string
	token    uint64
}

// Election is everything about one election.
type Election struct {
	Name    string
	Ops     []*Op // on the lease, by call, those of which only the store knows last
	Writes  []*Op // on the resource, by call
	Reads   []*Op // on the resource, by call
	Entries []Entry
	Beliefs []*Belief // by begin
	Terms   []*Belief // the same, but for what a node tells again and again: see findTerms

	open   []*open  // beliefs that have not ended
	byTerm *byToken // operations that changed the lease
	wrote  *byToken // accepted writes
}

// Op is an invocation together with its completion. The times are widened by
// half the clock error on each side, so that "a.To < b.From" means for certain
// that a ended before b began, even if two processes stamped them.
type Op struct {
	ID        int64
	By        *Node
	Node      string
	Call      history.Call
	Nonce     string
	Try       uint64
	TTL       time.Duration
	Token     uint64 // of the invocation: renew, release, write
	Value     string // of the invocation (write) or of the completion (read)
	From, To  time.Duration
	Stated    time.Duration // the recorded beginning of the call: of a line that was read late From is earlier by Patience
	Returned  time.Duration // when the call came back, whatever the outcome; 0 if it never did
	Kind      history.Kind  // Ok, Fail or Info; Info for an operation that never completed
	Got       uint64        // token of the completion
	Holder    string
	Fence     uint64
	Err       string
	Invoked   int64 // seq
	Completed int64 // seq; 0 if it never completed
	At        *Election
	Wire      bool // read on its way to the store, and not reported by its caller
	ByWriter  bool // a write or read that its caller recorded, and not the resource
	Stands    bool // an acquire that was refused, and may be granted yet
	Stood     bool // one that was, and is granted: its invocation is noted when that is heard
	Restated  bool // it belongs to an earlier history of the chain

	// Asked is the earliest call that may have brought what an acquire got: an
	// attempt of unknown outcome may be repeated, and its repetition returns
	// the token that the first one took.
	Asked time.Duration

	Entry         *Entry        // what the store recorded about it, if it did
	After, Before time.Duration // what the store's order tells about the time of the effect

	next *Op // of the same token; see byToken
}

// Down is until when the node has no process, if it had one before t and has none
// then; else t.
func (x *Index) Down(node string, t time.Duration) time.Duration {
	for _, n := range x.Nodes {
		if n.Name != node {
			continue
		}
		for _, w := range n.downs {
			if w.From <= t && t < w.To {
				return w.To
			}
		}
	}
	return t
}

// Entry is what the store recorded about one operation.
type Entry struct {
	Call    history.Call
	Node    string
	Nonce   string
	Try     uint64
	Token   uint64
	Applied bool
	Seq     int64
	At      time.Duration
	Op      *Op // that it is about; nil if there is none
}

// Decided is when the resource decided on a write or a read at the earliest. At the
// latest it did so at To.
func (o *Op) Decided() time.Duration {
	if o.ByWriter {
		return o.From
	}
	return o.To
}

// Seq is the event that shows the operation's outcome best.
func (o *Op) Seq() int64 {
	if o.Completed != 0 {
		return o.Completed
	}
	return o.Invoked
}

// Took reports whether the operation certainly took effect.
func (o *Op) Took() bool {
	return o.Kind == history.Ok || o.Kind == history.Info && o.Entry != nil && o.Entry.Applied
}

// Contradiction is the finding that two operations contradict each other. Either
// may be nil.
func Contradiction(a, b *Op, format string, args ...any) *finding.Finding {
	var seqs []int64
	for _, o := range []*Op{a, b} {
		if o != nil {
			seqs = append(seqs, o.Seq())
		}
	}
	f := finding.Failed(fmt.Sprintf(format, args...), seqs...)
	return &f
}

// Inconclusive reports whether a refused operation failed for a reason other than
// the lease, such as missing rights. Such a failure says nothing about the lease.
func (o *Op) Inconclusive() bool {
	if o.Call == history.Acquire {
		return o.Err != "" && o.Holder == "" && o.Got == 0
	}
	return o.Err != "" && !aboutHolding(o.Err)
}

// Saw reports whether the operation found a lease of a known holder or token
// that is not its own.
func (o *Op) Saw() bool {
	if o.Holder == "" && o.Got == 0 {
		return false
	}
	return o.Call == history.Observe && o.Kind == history.Ok || o.Call == history.Acquire && o.Kind == history.Fail
}

// Answer describes the answer of an operation that changed nothing.
func (o *Op) Answer() string {
	switch {
	case o.Call == history.Renew || o.Call == history.Release:
		return "it does not hold the lease"
	case o.Holder == "" && o.Got == 0 && o.Call == history.Observe:
		return "nobody leads"
	default:
		return "the lease is that of " + finding.Who(o.Holder, o.Got)
	}
}

// Audited reports whether the store keeps a record of its own.
func (e *Election) Audited() bool { return len(e.Entries) > 0 }

// Build indexes the history, which is not changed.
func Build(h *history.History) *Index {
	w := newWalk(h)
	for i := range h.Events {
		w.event(&h.Events[i])
	}
	x := w.Index
	x.memory.dense = w.ops.dense
	for _, f := range x.Faults {
		if f.Shorten != 0 || f.Void {
			x.LeaseFaults = append(x.LeaseFaults, expiry.Fault{
				From: f.From, To: f.To, Void: f.Void, Shorten: f.Shorten, Certain: f.Effective != nil && *f.Effective,
			})
		}
	}
	if len(x.Header.Nodes) == 0 {
		for _, n := range x.Nodes {
			x.Header.Nodes = append(x.Header.Nodes, n.Name)
		}
	}
	slices.SortFunc(x.Elections, func(a, b *Election) int { return cmp.Compare(a.Name, b.Name) })
	x.closeBeliefs()
	x.findRunEnd()
	for _, e := range x.Elections {
		e.findTerms()
		e.findGranted()
		e.findAsked()
		e.joinEntries(x)
		e.boundEntries(x.End + x.Slack())
		e.byTerm = e.changesByToken()
		e.wrote = newByToken(e.Writes, func(o *Op) (uint64, bool) { return o.Token, o.Kind == history.Ok })
	}
	return x
}

// Slack is by how much the times of an operation are widened on each side.
func (x *Index) Slack() time.Duration { return (x.Header.ClockError + 1) / 2 }

// In writes the election where a run has several: ` in "billing"`.
func (x *Index) In(e *Election) string {
	if len(x.Elections) < 2 {
		return ""
	}
	return " in " + quoted(e.Name)
}

// Understood tells how many requests on locks were read off the wire, and how many of
// them were understood.
func (x *Index) Understood() (known, all int64) {
	for _, w := range x.Wire {
		known += w.Understood
		all += w.Operations
	}
	return known, all
}

// Obscure reports whether requests were read off the wire, and mostly not understood.
func (x *Index) Obscure() bool {
	known, all := x.Understood()
	return len(x.Wire) > 0 && 2*known <= all
}

// Lossy reports whether a fault may have removed leases, and with them the
// store's own records, at some time of the run.
func (x *Index) Lossy() bool { return expiry.Lost(x.LeaseFaults, Forever) }

// LossySince reports whether one may have at t or later.
func (x *Index) LossySince(t time.Duration) bool {
	return slices.ContainsFunc(x.LeaseFaults, func(f expiry.Fault) bool { return f.Void && f.To >= t })
}

// LossyBy reports whether one may have by t.
func (x *Index) LossyBy(t time.Duration) bool { return expiry.Lost(x.LeaseFaults, t) }

// findRunEnd finds the moment from which the end of the run, and no elector,
// decides who leads: the harness stops the candidates one by one, and the next
// one may still be elected for a blink. The run says so by a note, or else by an
// exit that names the end of the run, or a graceful stop within one lease before it:
// who is asked to stop does so before it exits. In a history that says neither it is
// the first of the last exits (or graceful stops) that follow each other, up to the
// end of the history, within one lease.
func (x *Index) findRunEnd() {
	if x.RunEnd >= 0 {
		stated := x.RunEnd
		for _, n := range x.Nodes {
			stopped := x.endedByExit && n.out && n.outWhy == history.Stopped && n.outAt+x.Header.Lease >= stated
			if stopped && !x.faulty(n.outAt) {
				x.RunEnd = min(x.RunEnd, n.outAt)
			}
		}
		x.StatedEnd = x.RunEnd
		return
	}
	x.RunEnd, x.StatedEnd = x.End, Forever
	var exits []time.Duration
	for _, n := range x.Nodes {
		if n.out {
			exits = append(exits, n.outAt)
		}
	}
	slices.Sort(exits)
	for _, t := range slices.Backward(exits) {
		if t+x.Header.Lease < x.RunEnd {
			break
		}
		if !x.faulty(t) {
			x.RunEnd = t
		}
	}
}

// faulty reports whether a fault was on at t that was taken off.
func (x *Index) faulty(t time.Duration) bool {
	return slices.ContainsFunc(x.Faults, func(f *Fault) bool { return f.On <= t && t <= f.Off && f.OffSeq != 0 })
}

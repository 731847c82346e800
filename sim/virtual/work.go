package virtual

import "time"

// Fence is what the protected resource makes of writes and reads, one at a time.
type Fence interface {
	// Write tells whether a node's write is taken, and the largest token that
	// the resource knows of. A token of 0 is none.
	Write(node string, token uint64, value string) (taken bool, highest uint64)
	// Read is the value that was written last, and the token that it came with.
	Read() (value string, token uint64)
}

// Fencing is the right Fence: it remembers the largest token that it has taken
// and refuses smaller ones. Its zero value has taken nothing.
type Fencing struct {
	Highest uint64
	Value   string // of the last write that was taken
	Token   uint64 // of that write

	_ struct{}
}

// Write implements Fence.
func (f *Fencing) Write(_ string, token uint64, value string) (taken bool, highest uint64) {
	if token != 0 && token < f.Highest {
		return false, f.Highest
	}
	f.Take(token, value)
	return true, f.Highest
}

// Take takes a write, whatever its token.
func (f *Fencing) Take(token uint64, value string) {
	f.Highest, f.Value, f.Token = max(f.Highest, token), value, token
}

// Read implements Fence.
func (f *Fencing) Read() (value string, token uint64) { return f.Value, f.Token }

// Work is how a leader works, where the production elector's shell does what its
// user has written. The zero value begins with the term, writes every so often
// with the term's token after a look at its deadline, and ends with the write
// that is under way when its context is done.
type Work struct {
	// Token is what a write names in a term of the token told, where last was
	// the token of the same process's term before; 0: there was none. Nil: told.
	Token func(told, last uint64) uint64
	// Rests tells whether no write is made so long after a term began, where
	// lease is the lease. Nil: never.
	Rests func(since, lease time.Duration) bool
	// Eager makes a process write whenever it asks for the lease, with the token
	// of its last term, if it had one.
	Eager bool
	// Drain is how many leases it takes until the work ends whose context is
	// done. It writes meanwhile, as long as it is in the term.
	Drain float64
	// Blind makes it look at nothing but its context: neither at the deadline
	// nor, while it drains, at whether the term is over.
	Blind bool

	_ struct{}
}

// drain is for how long the work goes on whose context is done.
func (e *shell) drain() time.Duration {
	r := e.node.run
	return time.Duration(r.subject.Work.Drain * float64(r.spec.Timings.Lease))
}

// goesOn tells whether the work may make another write.
func (e *shell) goesOn() bool {
	t, n := &e.term, e.node
	switch {
	case t.draining && n.run.now >= t.drained:
		return false
	case n.run.subject.Work.Blind:
		return true
	default:
		return t.believes && n.shows() < t.deadline
	}
}

// rests tells whether the write that is due is left out.
func (e *shell) rests() bool {
	r := e.node.run
	rests := r.subject.Work.Rests
	return rests != nil && rests(r.now-e.term.began, r.spec.Timings.Lease)
}

// names is the token that a write names.
func (e *shell) names() uint64 {
	if token := e.node.run.subject.Work.Token; token != nil {
		return token(e.term.token, e.term.last)
	}
	return e.term.token
}

// hurries makes the write of a work that does not wait for its term.
func (e *shell) hurries(try uint64) {
	n := e.node
	if !n.run.subject.Work.Eager || e.term.token == 0 {
		return
	}
	n.run.resource.send(new(write), n, unheeded{}, e.term.token, n.name+"/eager/"+decimal(try))
}

// unheeded is the writer of what nobody waits for.
type unheeded struct{}

func (unheeded) wrote(bool, uint64) {}

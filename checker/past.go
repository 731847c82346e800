package checker

import "time"

// past is what the pieces of a history that were judged before leave behind
// about an election. It is empty where there are none.
type past struct {
	audited  bool // the store keeps a record of its own
	acquired bool // there was an acquire
	leads    int  // how many beliefs are of earlier pieces; the last one of them leads

	ended    []*belief     // terms that are over, but for the last one of every node
	unknowns []*op         // operations whose outcome the store's own record may still tell
	forgot   bool          // there were more
	writes   []*op         // those that later ones, and reads, are compared with
	tokens   []tokenTerm   // the largest one
	recorded *audit        // the last grant in the store's own record
	after    time.Duration // entries of the record to come are not older

	states []leaseState // where the search goes on
	step   *step        // where the replay goes on
	lease  *lease       // what the intervals know of the lease that is held
}

// leader is the index, in the beliefs of a piece, of the one that leads when it
// begins: the failovers of this piece begin with it.
func (p *past) leader([]*belief) int { return max(0, p.leads-1) }

// carried is the lease as a piece begins with it.
func (l *lease) carried() *lease {
	c := *l
	return &c
}

package explore

import (
	"slices"
	"time"

	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/internal/quorum"
)

// majority is one state of a world of several stores. Its candidates are the
// machines of internal/quorum; what calls them is as small as can be: it tries, it
// renews, it gives back what it believes in no more, at any time that it may.
type majority struct {
	common
	stores  []keeper
	members []member
	ghosts  []parcel
	top     uint64 // the highest token that was elected
	begun   int    // attempts, whose nonces must differ
	origin  layout // what it was read from
	codec   *majorityCodec
	trail   []Action // that led here from the beginning
}

// keeper is one of the stores: the model of one lease, as store is.
type keeper struct {
	nonce    string        // whose lease it is
	until    time.Duration // the lease's end; no later than now if it is free
	token    uint64        // the last one handed out
	withheld time.Duration // until when nobody gets the lease
	lost     bool          // its count: the next token is larger than all that there are
}

// member is a candidate.
type member struct {
	id      string
	up      bool
	m       *quorum.Machine
	nonce   string        // of its attempt or its term; "" if it has none
	token   uint64        // of its term
	until   time.Duration // of the belief
	busy    bool          // it has called in this tick
	errands []errand      // calls under way, in the order of their beginnings
	parcels []parcel      // requests that have no answer, in the order of their numbers
	calls   uint64        // number of the last call
}

// errand is a call under way.
type errand struct {
	number uint64
	kind   quorum.InputKind
	token  uint64
	began  time.Duration
}

// parcel is a request to one store, and then its answer.
type parcel struct {
	stage   stage
	silent  bool // its machine waits for it no more
	denied  bool // it was an attempt, and somebody else holds the store
	ask     quorum.Ask
	verdict quorum.Verdict
	age     uint8 // ticks
	store   uint8
	number  uint64
	nonce   string
	token   uint64
	floor   uint64
}

// patience is how long a machine waits for one store, and the longest pause
// between two tries.
const patience = machine.Tick

func newMajority(set *Settings, plant *plant) *majority {
	w := &majority{common: newCommon(set, plant), stores: make([]keeper, set.Stores), codec: newMajorityCodec()}
	for _, id := range names[:set.Candidates] {
		w.members = append(w.members, member{id: id, m: w.newMachine()})
	}
	return w
}

// place is a member's place among the members.
func (w *majority) place(n *member) int {
	return slices.IndexFunc(w.members, func(o member) bool { return o.id == n.id })
}

// fork walks the way to the present state once more.
func (w *majority) fork([]uint8) model {
	c := newMajority(w.set, w.plant)
	for _, a := range w.trail {
		c.apply(a)
	}
	c.tells = w.tells
	return c
}

// tidyMessages has nothing left to do: see tidyParcels.
func (w *majority) tidyMessages() {}

func (w *majority) leads() bool {
	there := slices.ContainsFunc(w.members, func(n member) bool { return n.up })
	return !there || slices.ContainsFunc(w.members, func(n member) bool { return w.believes(&n) })
}

func (w *majority) newMachine() *quorum.Machine {
	m := quorum.New(quorum.Config{Nodes: w.set.Stores, Timeout: patience})
	// The time until the next try is not looked at: a try may come at any time.
	m.Choose(func(time.Duration) time.Duration { return 0 })
	return m
}

func (w *majority) lease() time.Duration { return ticks(w.set.Lease) }

// usable is how long after it was asked for a lease may be believed in.
func (w *majority) usable() time.Duration {
	cfg := w.set.config("")
	return cfg.Usable()
}

func (w *majority) believes(n *member) bool { return n.up && n.token != 0 && n.until > w.now }

// calm reports whether nothing has gone wrong so far, in a world in which all that
// can go wrong is limited.
func (w *majority) calm() bool {
	for l, n := range w.set.Limits {
		if n == Endless || int(w.left[l]) != n && Limit(l) != Resignations {
			return false
		}
	}
	return true
}

// check demands what must hold at every moment.
func (w *majority) check() {
	leader := ""
	for i := range w.members {
		n := &w.members[i]
		if !w.believes(n) {
			continue
		}
		if leader != "" {
			w.fail("both %s and %s believe", leader, n.id)
		}
		leader = n.id
		if w.backed(n, true) < quorum.Size(len(w.stores)) {
			w.fail("%s believes, but no majority of the stores holds its lease", n.id)
		}
	}
	if w.calm() && !w.set.Late {
		w.checkLeftovers()
	}
}

// backed is how many stores hold a member's lease, with its token or a larger one,
// or, if that counts as well, grant it to nobody else.
func (w *majority) backed(n *member, withheld bool) (stores int) {
	for i := range w.stores {
		s := &w.stores[i]
		if s.until > w.now && s.nonce == n.nonce && s.token >= n.token || withheld && s.withheld > w.now {
			stores++
		}
	}
	return stores
}

// checkLeftovers: where nothing has gone wrong and nothing is under way, a store
// holds no lease that nobody wants any more.
func (w *majority) checkLeftovers() {
	for i := range w.members {
		if n := &w.members[i]; len(n.parcels)+len(n.errands) > 0 {
			return
		}
	}
	for i := range w.stores {
		s := &w.stores[i]
		if s.until > w.now && !w.wanted(s.nonce) {
			w.fail("a store holds a lease that nobody wants any more")
		}
	}
}

func (w *majority) wanted(nonce string) bool {
	for i := range w.members {
		if n := &w.members[i]; n.up && n.nonce == nonce {
			return true
		}
	}
	return false
}

package guardtest

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Transaction is one of a leader's, on a connection of its own.
type Transaction interface {
	// Check asks the guard. What it refuses, and what is busy, is rolled back with End.
	Check(token uint64, resource string) error
	// Write adds a row to the ledger.
	Write(row Row) error
	// End commits, or rolls back.
	End(commit bool) error
	// Kill ends the transaction as the end of its process does. It returns when
	// nothing of it is held any more.
	Kill() error
	// Cancel makes a Check that waits return.
	Cancel()
	// Waits reports whether its Check waits for another transaction.
	Waits() (bool, error)
}

// Row is a row of the ledger: what a write leaves behind.
type Row struct {
	Resource string
	Token    uint64
	Value    string
}

// Walk draws transactions that overlap on few resources: each is checked, and writes,
// commits, rolls back, or dies, in an order that is drawn step by step.
type Walk struct {
	Suite   Suite
	Begin   func(n int) Transaction      // of the nth kind, whichever kinds there are
	Busy    func(err error) bool         // the refusal of a database that does not wait; nil if it waits
	Ledger  func() ([]Row, error)        // in the order in which they were written
	Highest func(string) (uint64, error) // nil if the guard does not tell
}

// walker is a walk under way. The oracle is what was committed: the largest token of
// each resource, and the rows.
type walker struct {
	Walk
	t       T
	rand    *rand.Rand
	clients []*client
	floor   map[string]uint64
	holder  map[string]*client // who is checked and has not ended
	rows    map[Row]bool
	n       int
}

// client is who makes one transaction after the other.
type client struct {
	tx       Transaction // nil: none
	resource string
	token    uint64
	rows     []Row
	checks   chan error // its Check is under way, or has returned
	waits    bool       // it waits
	gave     bool       // and was told to give up
	checked  bool
}

// steps are those of a walk.
const steps = 80

// Run carries out the walk of a number. It fails t unless each token is admitted or
// refused as what was committed says, and the ledger has what was committed, in the
// order of tokens.
func (w Walk) Run(t T, number uint64) {
	t.Helper()
	k := &walker{Walk: w, t: t, rand: rand.New(rand.NewPCG(number, 0)), floor: map[string]uint64{}, holder: map[string]*client{}, rows: map[Row]bool{}}
	for range 2 + k.rand.IntN(3) {
		k.clients = append(k.clients, &client{})
	}
	for range steps {
		k.step(k.clients[k.rand.IntN(len(k.clients))])
		k.settle()
	}
	for _, c := range k.clients {
		for c.tx != nil {
			k.step(c)
			k.settle()
		}
	}
	k.conclude()
}

// step does the next thing in a client's transaction.
func (k *walker) step(c *client) {
	switch {
	case c.tx == nil:
		k.n++
		c.tx, c.resource, c.rows, c.gave = k.Begin(k.n), fmt.Sprint("walk", k.rand.IntN(2)), nil, false
		c.token = k.token(k.floor[c.resource])
	case c.waits && k.rand.IntN(8) == 0:
		c.gave = true
		c.tx.Cancel()
		k.answered(c, <-c.checks)
	case c.waits: // for somebody else
	case !c.checked:
		c.checks = make(chan error, 1)
		go func() { c.checks <- c.tx.Check(c.token, c.resource) }()
		k.await(c)
	default:
		k.goOn(c)
	}
}

// token draws one around the largest that was committed, or anywhere.
func (k *walker) token(floor uint64) uint64 {
	if k.rand.IntN(6) == 0 {
		return Edges[k.rand.IntN(len(Edges))]
	}
	switch near := floor - min(floor, 2) + uint64(k.rand.IntN(5)); {
	case near < floor-min(floor, 2): // there is none that large
		return math.MaxUint64
	default:
		return max(near, 1)
	}
}

// await waits until a Check has returned, or waits itself.
func (k *walker) await(c *client) {
	for {
		select {
		case err := <-c.checks:
			k.answered(c, err)
			return
		default:
		}
		waits, err := c.tx.Waits()
		if err != nil {
			k.t.Errorf("whether a transaction waits: %v", err)
		}
		if c.waits = waits; waits || err != nil {
			return
		}
	}
}

// settle looks who need not wait any more.
func (k *walker) settle() {
	for _, c := range k.clients {
		if c.waits {
			k.await(c)
		}
	}
}

// answered looks at what a Check has returned.
func (k *walker) answered(c *client, err error) {
	k.t.Helper()
	c.waits = false
	holder, floor := k.holder[c.resource], k.floor[c.resource]
	refused, highest, stale := k.Suite.Stale(err)
	switch {
	case c.gave && !stale:
	case k.Busy != nil && err != nil && k.Busy(err):
		if len(k.held()) == 0 {
			k.t.Errorf("token %d of %s: %v, and nobody writes", c.token, c.resource, err)
		}
	case stale && (refused != c.token || highest != floor || c.token >= floor):
		k.t.Errorf("token %d of %s was refused as %d for %d, and %d was committed", c.token, c.resource, refused, highest, floor)
	case stale:
	case err != nil:
		k.t.Errorf("token %d of %s: %v", c.token, c.resource, err)
	case holder != nil:
		k.t.Errorf("token %d of %s passed while a transaction with token %d went on", c.token, c.resource, holder.token)
	case c.token < floor:
		k.t.Errorf("token %d of %s passed, and %d was committed", c.token, c.resource, floor)
	}
	if err != nil || c.gave { // it may have passed in the moment in which it was given up
		k.end(c, c.tx.End(false))
		return
	}
	c.checked, k.holder[c.resource] = true, c
}

// held are the transactions that hold a resource.
func (k *walker) held() (all []*client) {
	for _, c := range k.holder {
		if c != nil {
			all = append(all, c)
		}
	}
	return all
}

// goOn is what a transaction does that was checked.
func (k *walker) goOn(c *client) {
	switch n := k.rand.IntN(6); {
	case n < 3:
		k.n++
		row := Row{c.resource, c.token, fmt.Sprint("write ", k.n)}
		if err := c.tx.Write(row); err != nil {
			k.t.Errorf("%v: %v", row, err)
		}
		c.rows = append(c.rows, row)
	case n == 3:
		k.end(c, c.tx.End(false))
	case n == 4:
		k.end(c, c.tx.Kill())
	default:
		err := c.tx.End(true)
		if err == nil {
			k.floor[c.resource] = max(k.floor[c.resource], c.token)
			for _, row := range c.rows {
				k.rows[row] = true
			}
		}
		k.end(c, err)
	}
}

// end ends a client's transaction, which must have ended well.
func (k *walker) end(c *client, err error) {
	if err != nil {
		k.t.Errorf("the end of a transaction with token %d of %s: %v", c.token, c.resource, err)
	}
	if k.holder[c.resource] == c {
		k.holder[c.resource] = nil
	}
	c.tx, c.checked = nil, false
}

// conclude compares what is there with what was committed.
func (k *walker) conclude() {
	rows, err := k.Ledger()
	if err != nil {
		k.t.Errorf("the ledger: %v", err)
	}
	last, seen := map[string]uint64{}, map[Row]bool{}
	for _, row := range rows {
		switch {
		case seen[row], !k.rows[row]:
			k.t.Errorf("%v is in the ledger, and was not committed, or once", row)
		case row.Token < last[row.Resource]:
			k.t.Errorf("%v comes after token %d", row, last[row.Resource])
		}
		last[row.Resource], seen[row] = row.Token, true
	}
	if len(seen) != len(k.rows) {
		k.t.Errorf("%d rows are there, and %d were committed", len(seen), len(k.rows))
	}
	for resource, floor := range k.floor {
		if k.Highest == nil {
			continue
		}
		if highest, err := k.Highest(resource); err != nil || highest != floor {
			k.t.Errorf("the highest token of %s is %d, %v, and %d was committed", resource, highest, err, floor)
		}
	}
}

package quorumstore

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/quorum"
)

// DefaultNodeTimeout is how long one node may take to answer, if Options do not
// say.
const DefaultNodeTimeout = quorum.DefaultTimeout

// Options change what New makes. The zero value is fine.
type Options struct {
	// NodeTimeout is how long a call waits for the answer of one node,
	// DefaultNodeTimeout if it is 0. It is never more than a quarter of what
	// the call's context leaves. No answer waits for a slow node if the others
	// have decided. The request goes on until the call's deadline, and for
	// NodeTimeout at the least: a connection that takes longer to open is there
	// for the next call.
	NodeTimeout time.Duration

	// MaxPending is how many requests may be under way at one node, those that
	// hang included; 64 if it is 0. Further ones fail at once.
	MaxPending int

	// Names are what messages call the nodes, such as their addresses; "node 1"
	// and so on by default.
	Names []string

	// OnError is called for every request to a node that failed or found no
	// answer in time, also while the others suffice. It must not block.
	OnError func(node, call string, err error)

	// Now is a clock that counts suspensions: the time since a fixed point.
	// The machine's own by default.
	Now func() time.Duration

	_ struct{}
}

// Store keeps the leases of elections on a majority of nodes. It is safe for
// concurrent use.
type Store struct {
	nodes   []*node
	quorum  int
	timeout time.Duration
	now     func() time.Duration

	mu        sync.Mutex // guards the rest, and what is reached through it
	elections map[string]*election
	forgetAt  int // forget looks at them when there are so many
}

var (
	_ store.Store           = (*Store)(nil)
	_ store.CandidateLister = (*Store)(nil)
	_ store.TermLister      = (*Store)(nil)
	_ store.Preflighter     = (*Store)(nil)
	_ store.Bounded         = (*Store)(nil)
)

// New returns a Store on the nodes. An odd number of them is best: three work
// while one is down, five while two are; a fourth or a sixth node adds nothing
// but cost. The nodes remain the caller's to close.
func New(nodes []store.Store, o Options) (*Store, error) {
	switch {
	case len(nodes) == 0:
		return nil, errors.New("quorumstore: no nodes: give an odd number of independent stores, normally five")
	case o.NodeTimeout < 0:
		return nil, fmt.Errorf("quorumstore: Options.NodeTimeout is %v; it must be positive, or zero for %v", o.NodeTimeout, DefaultNodeTimeout)
	case o.MaxPending < 0:
		return nil, fmt.Errorf("quorumstore: Options.MaxPending is %d; it must be positive, or zero for 64", o.MaxPending)
	case len(o.Names) != 0 && len(o.Names) != len(nodes):
		return nil, fmt.Errorf("quorumstore: Options.Names has %d names for %d nodes; give each node one, or none", len(o.Names), len(nodes))
	}
	s := &Store{
		quorum: quorum.Size(len(nodes)), timeout: o.NodeTimeout, now: o.Now,
		elections: make(map[string]*election),
	}
	if s.timeout == 0 {
		s.timeout = DefaultNodeTimeout
	}
	if s.now == nil {
		s.now = elector.SystemClock().Now
	}
	if o.MaxPending == 0 {
		o.MaxPending = 64
	}
	for i, n := range nodes {
		name := "node " + strconv.Itoa(i+1)
		if len(o.Names) != 0 {
			name = o.Names[i]
		}
		if n == nil {
			return nil, fmt.Errorf("quorumstore: %s is nil; leave it out, or open it", name)
		}
		for _, other := range s.nodes {
			if same(other.store, n) {
				return nil, fmt.Errorf("quorumstore: %s and %s are one store; a majority must be of different ones", other.name, name)
			}
		}
		s.nodes = append(s.nodes, &node{store: n, name: name, slots: make(chan struct{}, o.MaxPending), onError: o.OnError})
	}
	return s, nil
}

func same(a, b store.Store) bool {
	return reflect.TypeOf(a).Comparable() && a == b
}

// minority is how many nodes can be lost and a majority is left.
func (s *Store) minority() int { return len(s.nodes) - s.quorum }

// patience is how long one request of the call may take.
func (s *Store) patience(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return quorum.Patience(s.timeout, time.Until(deadline))
	}
	return s.timeout
}

// life is how long one request of the call goes on, though nobody may wait for it.
func (s *Store) life(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return max(s.timeout, time.Until(deadline))
	}
	return s.timeout
}

// election is what this Store knows of one election.
type election struct {
	s       *Store
	machine *quorum.Machine
	calls   map[uint64]*call // under way
	last    uint64           // number of the last call
	timer   *time.Timer      // wakes the machine; nil until it had to be woken once
	rings   time.Duration    // when the timer does
	touched time.Duration
}

// election returns what is known of the election. The caller holds mu.
func (s *Store) election(name string) *election {
	e := s.elections[name]
	if e == nil {
		e = &election{
			s: s, calls: make(map[uint64]*call), rings: quorum.Never,
			machine: quorum.New(quorum.Config{Nodes: len(s.nodes), Timeout: s.timeout}),
		}
		s.elections[name] = e
	}
	e.touched = s.now()
	return e
}

// Suits implements [store.Bounded]: the times must suit every node, which is asked for no
// longer than Options.NodeTimeout.
func (s *Store) Suits(t store.Times) error {
	if len(s.nodes) == 0 {
		return errors.New("quorumstore: this Store is empty: make it with New")
	}
	for _, n := range s.nodes {
		if err := store.Suits(n.store, t); err != nil {
			return fmt.Errorf("quorumstore: %s: %w", n.name, err)
		}
		short := t
		short.RequestTimeout = min(s.timeout, t.RequestTimeout)
		var wrong *elector.ConfigError
		switch err := store.Suits(n.store, short); {
		case errors.As(err, &wrong):
			return fmt.Errorf("quorumstore: %s: Options.NodeTimeout %s", n.name, strings.ReplaceAll(wrong.Rule, "RequestTimeout", "NodeTimeout"))
		case err != nil:
			return fmt.Errorf("quorumstore: %s: %w", n.name, err)
		}
	}
	return nil
}

// EndsWithSession reports whether a lease ends as soon as the session of its process does,
// on some of the nodes.
func (s *Store) EndsWithSession() bool {
	return slices.ContainsFunc(s.nodes, func(n *node) bool {
		e, ok := n.store.(interface{ EndsWithSession() bool })
		return ok && e.EndsWithSession()
	})
}

// forget removes what is of no more use: attempts whose leases have ended by
// themselves on all nodes, and elections that nobody asked for in an hour. It
// looks only when there are twice as many elections as it left the last time, so
// that many cost no more each than a few. The caller holds mu.
func (s *Store) forget() {
	if len(s.elections) < s.forgetAt {
		return
	}
	now := s.now()
	for name, e := range s.elections {
		if idle := e.machine.Forget(now); idle && now-e.touched > time.Hour {
			delete(s.elections, name)
		}
	}
	s.forgetAt = 2*len(s.elections) + 64
}

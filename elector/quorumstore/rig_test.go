package quorumstore_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/quorumstore"
	"github.com/recount-io/recount/elector/store"
)

// Whatever the nodes do, nothing is left behind once they end. A pool of go-redis
// whose server is away notices that it was closed a second later.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

var errDown = errors.New("connection refused")

// mode is what a node does with requests.
type mode int

const (
	up      mode = iota
	down         // refuses connections
	hanging      // answers nothing, and obeys the context
	deaf         // answers nothing, and does not obey it
	mute         // does what is asked, and the answer is lost
	fatal        // refuses for good
)

// node is a store in memory that fails on demand. It protects itself after a
// loss as redisstore does: no grants for one lease, then tokens from its clock.
type node struct {
	now        func() time.Duration
	lease      time.Duration // of the quarantine
	end        chan struct{} // closed at the end of the test: frees what is deaf
	mu         sync.Mutex
	mem        *memstore.Store
	mode       mode
	quietUntil time.Duration
	seed       uint64
	broken     chan struct{} // closed when watches break off
	calls      map[string]int
}

var _ store.Store = (*node)(nil)

func newNode(now func() time.Duration, lease time.Duration, end chan struct{}) *node {
	return &node{
		now: now, lease: lease, end: end, mem: memstore.New(memstore.Options{Now: now}),
		broken: make(chan struct{}), calls: make(map[string]int),
	}
}

// epoch is what the node's clock shows when the test's shows 0.
const epoch = 1_700_000_000 * time.Second

// forget loses everything, as a restart without data does.
func (n *node) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mem = memstore.New(memstore.Options{Now: n.now})
	n.quietUntil = n.now() + n.lease
	n.seed = uint64((epoch + n.now()) / time.Microsecond)
	close(n.broken)
	n.broken = make(chan struct{})
}

// set changes what the node does with requests from now on.
func (n *node) set(m mode) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mode = m
	if m != up {
		close(n.broken)
		n.broken = make(chan struct{})
	}
}

func (n *node) count(call string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.calls[call]
}

// serve says what becomes of a request.
func (n *node) serve(ctx context.Context, call string) (mem *memstore.Store, reply func(error) error, err error) {
	n.mu.Lock()
	m, mem := n.mode, n.mem
	n.calls[call]++
	n.mu.Unlock()
	reply = func(err error) error { return err }
	switch m {
	case down:
		return nil, nil, errDown
	case hanging:
		<-ctx.Done()
		return nil, nil, ctx.Err()
	case deaf:
		<-n.end
		return nil, nil, errDown
	case mute:
		reply = func(error) error { <-ctx.Done(); return ctx.Err() }
	case fatal:
		return nil, nil, &store.FatalError{Err: errors.New("NOAUTH"), Fix: "give the password"}
	}
	return mem, reply, nil
}

func (n *node) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	mem, reply, err := n.serve(ctx, "acquire")
	if err != nil {
		return store.Grant{}, err
	}
	n.mu.Lock()
	quiet := n.quietUntil - n.now()
	a.Floor = max(a.Floor, n.seed)
	n.mu.Unlock()
	if quiet > 0 {
		return store.Grant{}, reply(&store.HeldError{Remaining: quiet, Withheld: "the data was lost"})
	}
	g, err := mem.Acquire(ctx, a)
	return g, reply(err)
}

func (n *node) Renew(ctx context.Context, l store.Lease) error {
	mem, reply, err := n.serve(ctx, "renew")
	if err != nil {
		return err
	}
	return reply(mem.Renew(ctx, l))
}

func (n *node) Release(ctx context.Context, l store.Lease) error {
	mem, reply, err := n.serve(ctx, "release")
	if err != nil {
		return err
	}
	return reply(mem.Release(ctx, l))
}

func (n *node) Leader(ctx context.Context, election string) (store.Leader, error) {
	mem, reply, err := n.serve(ctx, "leader")
	if err != nil {
		return store.Leader{}, err
	}
	l, err := mem.Leader(ctx, election)
	return l, reply(err)
}

func (n *node) Watch(ctx context.Context, election string, hint func(store.Hint), ended func(error)) {
	mem, _, err := n.serve(ctx, "watch")
	if err != nil {
		ended(err)
		return
	}
	n.mu.Lock()
	broken := n.broken
	n.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		select {
		case <-broken:
		case <-ctx.Done():
		}
	}()
	mem.Watch(ctx, election, hint, ended)
}

// bench is a number of nodes in a bubble of virtual time.
type bench struct {
	*testing.T
	now   func() time.Duration
	nodes []*node
	store *quorumstore.Store
}

const (
	election = "billing"
	ttl      = 15 * time.Second
)

// inBubble runs the test on n nodes, and lets what hangs end after it.
func inBubble(t *testing.T, n int, test func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		start, end := time.Now(), make(chan struct{})
		b := &bench{T: t, now: func() time.Duration { return time.Since(start) }}
		for range n {
			b.nodes = append(b.nodes, newNode(b.now, ttl, end))
		}
		defer func() {
			close(end)
			time.Sleep(time.Minute)
		}()
		b.store = b.open(quorumstore.Options{})
		test(b)
	})
}

// calm lets whatever a call left behind end before the call returns.
type calm struct{ store.Store }

func (c calm) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	defer synctest.Wait()
	return c.Store.Acquire(ctx, a)
}

func (c calm) Renew(ctx context.Context, l store.Lease) error {
	defer synctest.Wait()
	return c.Store.Renew(ctx, l)
}

func (c calm) Release(ctx context.Context, l store.Lease) error {
	defer synctest.Wait()
	return c.Store.Release(ctx, l)
}

// open makes one more Store on the nodes, as another process has it.
func (b *bench) open(o quorumstore.Options) *quorumstore.Store {
	b.Helper()
	o.Now = b.now
	var list []store.Store
	for _, n := range b.nodes {
		list = append(list, n)
	}
	s, err := quorumstore.New(list, o)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func (b *bench) set(m mode, nodes ...int) {
	for _, n := range nodes {
		b.nodes[n].set(m)
	}
}

func attempt(id, nonce string) store.Attempt {
	return store.Attempt{Election: election, ID: id, Nonce: nonce, TTL: ttl}
}

func (b *bench) try(s store.Store, id, nonce string) (store.Lease, error) {
	g, err := s.Acquire(b.Context(), attempt(id, nonce))
	return store.Lease{Election: election, ID: id, Nonce: nonce, Token: g.Token, TTL: ttl}, err
}

func (b *bench) acquire(s store.Store, id, nonce string) store.Lease {
	b.Helper()
	l, err := b.try(s, id, nonce)
	if err != nil {
		b.Fatalf("acquire by %s: %v", id, err)
	}
	return l
}

func (b *bench) renew(l store.Lease) {
	b.Helper()
	if err := b.store.Renew(b.Context(), l); err != nil {
		b.Fatalf("renew: %v", err)
	}
}

// on is what node n says about the lease.
func (b *bench) on(n int) store.Leader {
	l, err := b.nodes[n].mem.Leader(b.Context(), election)
	if err != nil {
		b.Fatal(err)
	}
	return l
}

// holders is how many nodes the candidate holds.
func (b *bench) holders(id string) (count int) {
	for n := range b.nodes {
		if b.on(n).ID == id {
			count++
		}
	}
	return count
}

package redisstore

import (
	linked "container/list"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// maxBatch is how many requests go in one pipeline at the most. A server works one off
// in some milliseconds, so no answer waits for long for those of others; and
// docs/operations.md computes with it.
const maxBatch = 100

// openingPause is how long those that come wait together for one connection to open. The
// next one that comes opens another.
const openingPause = 50 * time.Millisecond

// distant is how long it takes to open a connection from which on requests are taken when
// one is known to be open. Before, it may be a dead one, and another one is opened soon.
const distant = 50 * time.Millisecond

// batcher sends the requests of a store in pipelines. As long as a connection is
// free, a request is sent at once, where possible by the goroutine that makes it: see straight.
// Those that come while all connections are busy wait for one, and what waits then goes
// together. So how many elections a store can bear is a matter of its server, not of the
// way there.
//
// A request is sent once, or never if its caller has given up before. Each caller
// waits for its own answer, or its own context: that one of them leaves is nothing to
// the others.
type batcher struct {
	store   *Store
	lanes   int           // how many batches are under way at once
	opening time.Duration // how long it may take to open a connection
	pause   time.Duration // after which the next request opens another connection

	mu      sync.Mutex // never held while anything waits
	queues  [2]queue
	closed  bool
	senders sync.WaitGroup
}

// The queues. Who waits for confirmations holds up everybody behind him on his
// connection, so such requests go by themselves.
const (
	queuePlain = iota
	queueConfirmed
)

// queue has requests that wait for a connection, the oldest first.
type queue struct {
	linked.List
	starting int       // senders that have not taken anything yet
	started  time.Time // the last of them
}

// call is a request that somebody waits for.
type call struct {
	ctx   context.Context
	order order
	place *linked.Element // nil: it does not wait for a connection

	// Set before answered is closed.
	outcome
	answered chan struct{}
}

// batch is calls that are sent together.
type batch struct {
	calls  []*call
	ctx    *joint
	cancel context.CancelFunc
}

// outcome is what became of an order.
type outcome struct {
	reply any
	got   confirmation
	err   error
}

var (
	errNotSent  = errors.New("redisstore: all connections were busy, and the request was not sent")
	errNoAnswer = errors.New("redisstore: no answer in time")
)

// do has an order carried out, and waits until it is or ctx is done.
func (b *batcher) do(ctx context.Context, o order) outcome {
	if client := b.enter(ctx, &o); client != nil {
		return b.straight(ctx, client, &o)
	}
	c := &call{ctx: ctx, order: o, answered: make(chan struct{})}
	if err := b.add(c); err != nil {
		return outcome{err: err}
	}
	select {
	case <-c.answered:
		return c.outcome
	case <-ctx.Done():
	}
	waited := b.leave(c)
	select {
	case <-c.answered:
		return c.outcome
	default:
	}
	if waited {
		return outcome{err: fmt.Errorf("%w: %w", errNotSent, ctx.Err())}
	}
	return outcome{err: fmt.Errorf("%w: %w", errNoAnswer, ctx.Err())}
}

func (b *batcher) add(c *call) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return errClosed()
	}
	q := &b.queues[c.order.queue()]
	c.place = q.PushBack(c)
	b.start(false)
	return nil
}

// leave takes a call back that was not sent yet, and reports whether it was not.
func (b *batcher) leave(c *call) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.place == nil {
		return false
	}
	b.queues[c.order.queue()].Remove(c.place)
	c.place = nil
	return true
}

// start has what waits sent, as far as connections are free. One that was freed serves also
// what waits for others that are being opened. The caller holds mu.
func (b *batcher) start(freed bool) {
	client, err := b.store.use()
	if err != nil {
		return
	}
	defer b.store.done(client)
	for kind := range b.queues {
		q := &b.queues[kind]
		another := q.Len() > 0 && (freed || time.Since(q.started) >= b.pause)
		for (another || q.Len() > q.starting*maxBatch) && b.open(client, kind, false) {
			another = false
		}
	}
}

// resume has what waits sent after a connection of the client did not open. Where others are
// being opened, no further one is: it may fail as fast, and so on without end. The caller
// holds mu.
func (b *batcher) resume(failed *client) {
	client, err := b.store.use()
	if err != nil {
		return
	}
	defer b.store.done(client)
	for kind := range b.queues {
		if q := &b.queues[kind]; q.Len() > 0 && (q.starting == 0 || client != failed) {
			b.open(client, kind, false)
		}
	}
}

// open starts a sender, and reports whether a connection is free for it. One that is beside
// the requests opens a connection although none waits. The caller holds mu.
func (b *batcher) open(client *client, kind int, beside bool) bool {
	if client.busy[queuePlain]+client.busy[queueConfirmed] >= b.lanes || client.busy[kind] >= b.most(kind) {
		return false
	}
	client.busy[kind]++
	b.queues[kind].starting++
	b.queues[kind].started = time.Now()
	b.store.again(client)
	b.senders.Go(func() {
		defer b.store.done(client)
		b.send(client, kind, beside)
	})
	return true
}

// lost is called when a connection of the client has died, or when the client is fresh, in
// the place of one whose connections died. Others are opened beside the requests, and kept:
// as many as there were, and two at least, as each is busy for a round trip.
func (b *batcher) lost(client *client, fresh bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed || client == nil || b.store.live.Load() != client:
	case b.reaches() && b.queues[queuePlain].starting == 0:
		conns := int(client.PoolStats().TotalConns)
		if conns > 0 || fresh {
			conns = max(2, conns)
		}
		for range conns {
			b.open(client, queuePlain, true)
		}
	case !b.reaches() && client.reviving.CompareAndSwap(false, true):
		b.senders.Go(func() {
			defer client.reviving.Store(false)
			client.revive(b.opening, b.lanes)
		})
	}
	b.start(false)
}

// kick has what waits sent by the client that is there now.
func (b *batcher) kick() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.start(false)
}

// reaches reports whether senders open connections before they take what waits. A
// cluster's client knows by the request to which node, and somebody else's client
// passes each command to hooks: there all connections are asked when one has died.
func (b *batcher) reaches() bool { return !b.store.foreign && !b.store.clustered() }

// most is how many batches of a kind may be under way. Confirmations may take seconds:
// a connection is kept free of them.
func (b *batcher) most(kind int) int {
	if kind == queueConfirmed && b.lanes > 2 {
		return b.lanes - 1
	}
	return b.lanes
}

// send sends batches as long as anything waits. What waits is taken when a connection is
// open, so what is asked for meanwhile goes along.
func (b *batcher) send(client *client, kind int, beside bool) {
	runtime.Gosched()                                                                                                          // what is asked for at this moment goes along
	if b.reaches() && (beside || (client.far.Load() > int64(distant) || client.PoolStats().IdleConns == 0) && b.waits(kind)) { // in this order: see waits
		if began, err := time.Now(), client.reach(b.opening); err != nil {
			b.unreached(client, kind, began, err)
			return
		}
	}
	for next := b.take(client, kind, true); next != nil; next = b.take(client, kind, false) {
		b.carryOut(client, next, byName)
	}
}

// waits reports whether a request waits. Another sender may have taken it: that was before
// it took the connection.
func (b *batcher) waits(kind int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queues[kind].Len() > 0
}

// unreached ends a sender that has no connection. What waits has no answer, unless another
// connection is being opened for it.
func (b *batcher) unreached(client *client, kind int, began time.Time, err error) {
	b.mu.Lock()
	q, live := &b.queues[kind], b.store.live.Load() == client
	q.starting--
	client.busy[kind]--
	var calls []*call
	for live && q.starting == 0 && q.Len() > 0 {
		c := q.Remove(q.Front()).(*call)
		c.place = nil
		calls = append(calls, c)
	}
	b.resume(client)
	b.mu.Unlock()
	if len(calls) > 0 {
		b.store.account(context.Background(), client, began, err)
	}
	for _, c := range calls {
		c.answer(outcome{err: plain(err)})
	}
}

// take is the next batch of a client. If there is none, its connection is free.
func (b *batcher) take(client *client, kind int, first bool) *batch {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := &b.queues[kind]
	if first {
		q.starting--
	}
	var calls []*call
	var next *linked.Element
	for e := q.Front(); e != nil && len(calls) < maxBatch && b.store.live.Load() == client; e = next {
		next = e.Next()
		c := e.Value.(*call)
		if c.ctx.Err() != nil {
			continue // it leaves by itself
		}
		q.Remove(e)
		c.place = nil
		calls = append(calls, c)
	}
	if len(calls) == 0 {
		client.busy[kind]--
		b.start(true)
		return nil
	}
	return b.join(client, calls)
}

// close ends what waits. Nothing is sent any more.
func (b *batcher) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for kind := range b.queues {
		for q := &b.queues[kind]; q.Len() > 0; {
			c := q.Remove(q.Front()).(*call)
			c.place = nil
			c.answer(outcome{err: errClosed()})
		}
	}
}

// carryOut sends a batch, and tells each caller what became of his request. Scripts
// that the server does not know have done nothing, so they are sent again as text, if
// they are waited for still.
func (b *batcher) carryOut(client *client, one *batch, as naming) {
	defer one.cancel()
	orders := make([]*order, len(one.calls))
	for i, c := range one.calls {
		orders[i] = &c.order
		orders[i].sent = func() bool { return one.ctx.admit(c.ctx) }
	}
	outcomes := b.store.pipelined(one.ctx, client.UniversalClient, orders, as)
	b.account(client, one, outcomes)
	var unknown []*call
	for i, c := range one.calls {
		if as == byName && redis.HasErrorPrefix(outcomes[i].err, "NOSCRIPT") && c.ctx.Err() == nil {
			unknown = append(unknown, c)
			continue
		}
		c.answer(outcomes[i])
	}
	if len(unknown) > 0 {
		b.carryOut(client, b.join(client, unknown), byText)
	}
}

func (c *call) answer(o outcome) {
	c.outcome = o
	close(c.answered)
}

// account notes how a batch fared: as one call.
func (b *batcher) account(client *client, one *batch, outcomes []outcome) {
	ctx, err := one.calls[0].ctx, outcomes[0].err
	for i, o := range outcomes {
		if o.err == nil || isReply(o.err) {
			err = o.err
			break
		}
		if c := one.calls[i]; !errors.Is(c.ctx.Err(), context.Canceled) {
			ctx = c.ctx // somebody has waited in vain
		}
	}
	b.store.account(ctx, client, one.ctx.begun, err)
}

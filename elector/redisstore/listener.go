package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/store"
)

var (
	// errBrokenOff is why a listener does not connect a second time.
	errBrokenOff = errors.New("redisstore: the connection for announcements has broken off")
	// errNoListeners ends a listener that nobody needs any more.
	errNoListeners = errors.New("redisstore: nobody listens any more")
)

// listener is a connection that subscribes to the channels of watches as they
// come and go. It connects once: whatever goes wrong with the connection ends
// it and all its watches, and each elector decides when another try is worth it.
//
// One goroutine reads. Requests are written by another one that lives only as
// long as there are any, since a write may have to wait for a server that takes
// nothing, and neither the reader nor a caller who wants to leave may.
type listener struct {
	client    *client
	foreign   bool // the client is somebody else's
	sub       *redis.PubSub
	current   func() bool   // is client still the store's?
	pingEvery time.Duration // a silent connection is asked so often
	patience  time.Duration // for the confirmation of a subscription; none if negative

	mu       sync.Mutex
	last     time.Time           // that something came
	watches  map[string][]*watch // by channel
	unsent   []*request          // in the order in which they were made
	sent     []*request          // and not answered: a server answers in that order
	writing  bool                // somebody sends what is unsent
	open     bool                // connected: no further connection
	over     bool
	leavable bool   // the user may unsubscribe, as far as is known
	beacon   string // a channel of its own, on which nobody publishes anything
	bids     bool   // it was asked to listen there
	lit      bool   // the server has said that it listens there
	settled  bool   // or that it does not
	lingers  time.Duration
	idle     map[string]time.Time // the channels that it hears in vain, and since when
	left     time.Time            // when a watch ended last
	tidy     *time.Timer          // ends what nobody has come back to; nil: there is nothing of that kind
	conns    []net.Conn           // opened for it
	ctx      context.Context
	cancel   context.CancelFunc
}

// request is something that the server answers.
type request struct {
	kind  string // as its answer says: "subscribe", "unsubscribe" or "pong"
	watch *watch // that subscribes
	name  string // of the channel
	due   time.Time
}

// listenerKey finds the listener in the context of a dial.
type listenerKey struct{}

func newListener(s *Store, c *client) *listener {
	l := &listener{
		client: c, foreign: s.foreign, current: func() bool { return s.live.Load() == c },
		pingEvery: s.pingEvery, patience: s.opts.ReadTimeout,
		watches: make(map[string][]*watch), idle: map[string]time.Time{}, lingers: lingers, writing: true, leavable: true,
	}
	l.beacon = s.prefix + "here:" + rand.Text()
	// It ends with its last watch, not with the one that came first.
	l.ctx, l.cancel = context.WithCancel(context.WithValue(context.Background(), listenerKey{}, l))
	l.sub = c.Subscribe(l.ctx) // no channel yet: no I/O
	return l
}

// add subscribes for the watch. It does not if the listener is over.
//
// Every watch asks, also for a channel that the connection has already: the
// confirmation shows that the connection lives, which an elector that begins
// its watch again doubts.
func (l *listener) add(w *watch) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return false
	}
	if _, heard := l.idle[w.channel]; heard {
		w.there = true
		delete(l.idle, w.channel)
	}
	l.watches[w.channel] = append(l.watches[w.channel], w)
	l.ask(&request{kind: "subscribe", watch: w, name: w.channel})
	if !l.bids { // second: a cluster's client connects to the node of the first one's election
		l.bids = true
		l.ask(&request{kind: "subscribe", name: l.beacon})
	}
	return true
}

// shines is the beacon, if the server knows that the connection listens there and to
// the channel.
func (l *listener) shines(channel string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || !l.lit || !slices.ContainsFunc(l.watches[channel], func(w *watch) bool { return w.there }) {
		return ""
	}
	return l.beacon
}

// remove reports whether the watch was there.
func (l *listener) remove(w *watch) bool {
	all := l.watches[w.channel]
	i := slices.Index(all, w)
	if i < 0 {
		return false
	}
	l.watches[w.channel] = slices.Delete(all, i, i+1)
	if len(all) == 1 {
		delete(l.watches, w.channel)
	}
	return true
}

// ask has a request sent. The caller holds mu.
func (l *listener) ask(r *request) {
	l.unsent = append(l.unsent, r)
	if !l.writing && !l.over {
		l.writing = true
		go func() {
			if err := l.write(); err != nil {
				l.end(err)
			}
		}()
	}
}

// write sends what is unsent, in order. The caller has set writing.
func (l *listener) write() error {
	for {
		r := l.take()
		if r == nil {
			return nil
		}
		if err := l.send(r); err != nil {
			return err
		}
	}
}

// take is the next request to send. Nil: there is none, and nobody writes now.
func (l *listener) take() *request {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.unsent) == 0 || l.over {
		l.writing = false
		return nil
	}
	r := l.unsent[0]
	l.unsent = l.unsent[1:]
	patience := l.patience
	if r.kind == "pong" {
		patience = l.pause()
	}
	if patience > 0 {
		r.due = time.Now().Add(patience)
	}
	l.sent = append(l.sent, r) // before its answer can arrive
	return r
}

func (l *listener) send(r *request) error {
	ctx := l.connected()
	switch r.kind {
	case "subscribe":
		return l.sub.Subscribe(ctx, r.name)
	case "unsubscribe":
		return l.sub.Unsubscribe(ctx, r.name)
	default:
		return l.sub.Ping(ctx)
	}
}

// done is a context that is done.
var done = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// connected is the context of what is read and written. On a connection that is open
// nobody looks at it. If that breaks, go-redis would connect again before it says so:
// watched prevents that, and on somebody else's client a context that is done.
func (l *listener) connected() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.foreign && l.open {
		return done
	}
	return l.ctx
}

// run connects and passes hints on until something breaks or nobody is left.
func (l *listener) run() {
	l.end(l.listen())
	_ = l.sub.Close() // it has no more to say
}

func (l *listener) listen() (err error) {
	defer func() {
		if r := recover(); r != nil { // go-redis takes the shape of replies for granted
			err = fmt.Errorf("redisstore: the reply to a subscription has an unexpected shape: %v", r)
		}
	}()
	if err := l.connect(); err != nil {
		return err
	}
	for {
		message, err := l.sub.ReceiveTimeout(l.connected(), l.wait())
		switch {
		case err == nil:
			l.mu.Lock()
			l.last = time.Now()
			l.mu.Unlock()
			err = l.heard(message)
		case isTimeout(err):
			err = l.silent(err)
		case isReply(err):
			err = l.refused(err)
		}
		if err != nil {
			return err
		}
	}
}

// connect sends the first request, which connects, and those that have come
// meanwhile.
func (l *listener) connect() error {
	first := l.take()
	if first == nil {
		return errNoListeners
	}
	if err := l.send(first); err != nil {
		return err
	}
	if !l.current() {
		return errBrokenOff // a client that was closed meanwhile does not know of the connection
	}
	l.mu.Lock()
	l.open = true
	if patience := l.patience; patience > 0 {
		first.due = time.Now().Add(patience) // connecting has taken its own time
	}
	l.mu.Unlock()
	return l.write()
}

// pause is after what time of silence the listener looks up: a request that was
// made meanwhile may wait in vain.
func (l *listener) pause() time.Duration {
	if l.patience > 0 {
		return min(l.pingEvery, l.patience)
	}
	return l.pingEvery
}

// wait is for how long the connection may be silent now.
func (l *listener) wait() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	wait := l.pause()
	for _, r := range l.sent {
		if !r.due.IsZero() { // those behind it are due later
			wait = min(wait, time.Until(r.due))
			break
		}
	}
	return max(wait, time.Millisecond)
}

// silent judges a connection from which nothing has come for a while.
func (l *listener) silent(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return errNoListeners // on somebody else's client, whose connection is not known
	}
	asked := false
	for _, r := range l.sent {
		asked = asked || r.kind == "pong"
		if r.due.IsZero() || time.Now().Before(r.due) {
			continue
		}
		if r.kind == "pong" {
			return fmt.Errorf("the connection is silent, and a ping has had no answer for %v: %w", l.pause(), err)
		}
		return fmt.Errorf("the connection is silent, and the request to %s has had no answer: %w", r.kind, err)
	}
	if !asked && time.Since(l.last) >= l.pingEvery && !slices.ContainsFunc(l.unsent, func(r *request) bool { return r.kind == "pong" }) {
		l.ask(&request{kind: "pong"})
	}
	return nil
}

// heard takes a hint, or the answer to a request.
func (l *listener) heard(message any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch m := message.(type) {
	case *redis.Message:
		if h, ok := parseHint(m.Payload); ok {
			for _, w := range l.watches[m.Channel] {
				w.hint(h)
			}
		}
		return nil
	case *redis.Subscription:
		return l.answered(m.Kind, m.Channel)
	case *redis.Pong:
		return l.answered("pong", "")
	default:
		return fmt.Errorf("redisstore: %T came in place of an answer", message)
	}
}

// answered wants the answer to be that to the oldest request. Without this a
// forbidden or lost subscription would look like an election in which nothing
// happens.
func (l *listener) answered(kind, name string) error {
	if len(l.sent) == 0 || l.sent[0].kind != kind || l.sent[0].name != name {
		return fmt.Errorf("redisstore: the answer to %s %q came unasked", kind, name)
	}
	if r := l.sent[0]; kind == "subscribe" {
		if r.watch != nil {
			r.watch.there = true
			l.listening(r.watch)
		} else {
			l.lit = true
			l.settle()
		}
	}
	l.sent = l.sent[1:]
	return nil
}

// settle notes that the server has answered whether it listens to the beacon. Watches
// hear of their begin after that, so the attempts that follow can stand as bids.
func (l *listener) settle() {
	l.settled = true
	for _, all := range l.watches {
		for _, w := range all {
			l.listening(w)
		}
	}
}

// listening tells a watch, once, that it hears of changes from now on.
func (l *listener) listening(w *watch) {
	if l.settled && w.there && !w.notified {
		w.notified = true
		w.hint(store.Hint{Kind: store.HintListening})
	}
}

// refused is an error in place of the answer to the oldest request.
func (l *listener) refused(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.sent) == 0 {
		return err
	}
	r := l.sent[0]
	l.sent = l.sent[1:]
	switch r.kind {
	case "subscribe": // it is refused to this one
		if r.watch == nil { // nobody bids, then
			l.settle()
			return nil
		}
		if l.remove(r.watch) {
			r.watch.end(err)
		}
		if len(l.watches) == 0 {
			l.finish(err) // at once: the next watch must not share its end
			return err
		}
		return nil
	case "unsubscribe": // messages that nobody wants cost little
		l.leavable = false
		if len(l.watches) == 0 {
			l.finish(err)
			return err
		}
		return nil
	default:
		return err
	}
}

// end ends the listener and its watches.
func (l *listener) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.finish(err)
}

// finish is end for those who hold mu.
func (l *listener) finish(err error) {
	if l.over {
		return
	}
	l.over = true
	l.rest()
	l.cancel()
	for _, all := range l.watches {
		for _, w := range all {
			w.end(err)
		}
	}
	l.watches, l.unsent = nil, nil
	// go-redis would notice at its next time-out only, and holds a lock while
	// it connects: closing the connection below it ends both. The goroutine
	// ends by itself, in the worst case after the time-outs of a look-up of the
	// master.
	for _, conn := range l.conns {
		_ = conn.Close() // nobody reads from it any more
	}
	l.conns = nil
}

// watched makes the connections that are opened for a listener known to it.
func watched(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		l, ok := ctx.Value(listenerKey{}).(*listener)
		if !ok {
			return dial(ctx, network, addr)
		}
		if !l.mayDial() {
			// go-redis would connect again before it reports that a
			// connection broke.
			return nil, errBrokenOff
		}
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		l.adopt(conn)
		return conn, nil
	}
}

func (l *listener) mayDial() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.open && !l.over
}

func (l *listener) adopt(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns = append(l.conns, conn)
	if l.over {
		_ = conn.Close() // everybody has left: nobody reads from it
	}
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

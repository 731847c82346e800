package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector"
)

// errBrokenOff is why a watch does not connect a second time.
var errBrokenOff = errors.New("redisstore: the watch has broken off")

// Watch is [elector.Store.Watch]. Every call has a connection of its own, so
// the server's count of listeners is the count of waiting candidates. A
// connection that is silent is pinged; one that does not answer within ten
// seconds is given up. hint is never called after Watch has returned.
func (s *Store) Watch(ctx context.Context, election string, hint func(elector.Hint)) error {
	if err := checkNames(election, "-", "-"); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := s.current()
	if err != nil {
		return err
	}
	w := &watch{channel: s.keys(election).channel(), pingEvery: s.pingEvery, confirm: s.opts.ReadTimeout, hint: hint}
	sub := c.Subscribe(context.WithValue(ctx, watchKey{}, w)) // no channel yet: no I/O
	done := make(chan error, 1)
	go func() {
		err := w.listen(context.WithValue(ctx, watchKey{}, w), sub)
		w.end()
		_ = sub.Close() // it has no more to say
		done <- err
	}()
	select {
	case err = <-done:
	case <-ctx.Done():
		// go-redis would notice at its next time-out only, and holds a lock
		// while it connects: closing the connection below it ends both. The
		// goroutine ends by itself, in the worst case after the time-outs of
		// a look-up of the master.
		w.end()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return judge("watch", election, plain(err))
}

// watchKey finds the watch in the context of a dial.
type watchKey struct{}

// watch is one call of Watch.
type watch struct {
	channel   string
	pingEvery time.Duration
	confirm   time.Duration
	hint      func(elector.Hint)

	mu    sync.Mutex // held while hint is called
	conns []net.Conn // opened for it
	armed bool       // subscribed: no further connection
	over  bool       // no further hint
}

// watched makes the connections that are opened for a watch known to it.
func watched(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		w, ok := ctx.Value(watchKey{}).(*watch)
		if !ok {
			return dial(ctx, network, addr)
		}
		if !w.mayDial() {
			// go-redis would connect again before it reports that a
			// connection broke; the elector does that, when it is worth it.
			return nil, errBrokenOff
		}
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		w.adopt(conn)
		return conn, nil
	}
}

func (w *watch) mayDial() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.armed && !w.over
}

func (w *watch) adopt(conn net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns = append(w.conns, conn)
	if w.over {
		_ = conn.Close() // the caller has left: nobody reads from it
	}
}

// end makes sure that hint is not called any more, and frees whoever reads.
func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	for _, conn := range w.conns {
		_ = conn.Close() // nobody reads from it any more
	}
	w.conns = nil
}

func (w *watch) tell(h elector.Hint) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.hint(h)
	}
}

// listen subscribes and passes hints on until something breaks.
func (w *watch) listen(ctx context.Context, sub *redis.PubSub) (err error) {
	defer func() {
		if r := recover(); r != nil { // go-redis takes the shape of replies for granted
			err = fmt.Errorf("redisstore: the reply to a subscription has an unexpected shape: %v", r)
		}
	}()
	if err := sub.Subscribe(ctx, w.channel); err != nil {
		return err
	}
	if err := w.confirmed(ctx, sub); err != nil {
		return err
	}
	silent := 0
	for {
		message, err := sub.ReceiveTimeout(ctx, w.pingEvery)
		switch {
		case err == nil:
			silent = 0
			if m, ok := message.(*redis.Message); ok {
				if h, ok := parseHint(m.Payload); ok {
					w.tell(h)
				}
			}
		case !isTimeout(err):
			return err
		case silent > 0:
			return fmt.Errorf("the connection is silent, and a ping has had no answer for %v: %w", w.pingEvery, err)
		default:
			silent++
			if err := sub.Ping(ctx); err != nil {
				return err
			}
		}
	}
}

// confirmed waits for the server's word that the subscription stands. Without
// it a forbidden or lost one would look like an election in which nothing
// happens.
func (w *watch) confirmed(ctx context.Context, sub *redis.PubSub) error {
	message, err := sub.ReceiveTimeout(ctx, w.confirm)
	if err != nil {
		return err
	}
	if _, ok := message.(*redis.Subscription); !ok {
		return fmt.Errorf("redisstore: %T came in place of a subscription's confirmation", message)
	}
	w.mu.Lock()
	w.armed = true
	w.mu.Unlock()
	return nil
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// parseHint reads what the scripts publish: "released TOKEN WAITERS", perhaps
// with "MILLISECONDS ID", or "granted TOKEN MILLISECONDS WAITERS". Anything else
// is somebody else's.
func parseHint(text string) (elector.Hint, bool) {
	to := ""
	if fields := strings.SplitN(text, " ", 5); len(fields) == 5 {
		to, text = fields[4], strings.Join(fields[:4], " ")
	}
	fields := strings.Fields(text)
	numbers := make([]uint64, 0, 3)
	for _, field := range fields[min(1, len(fields)):] {
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return elector.Hint{}, false
		}
		numbers = append(numbers, n)
	}
	switch {
	case len(fields) == 3 && fields[0] == "released":
		return elector.Hint{Kind: elector.HintReleased, Token: numbers[0], Waiters: int(numbers[1])}, true
	case len(fields) == 4 && fields[0] == "released" && to != "":
		reserved := time.Duration(numbers[2]) * time.Millisecond
		return elector.Hint{Kind: elector.HintReleased, Token: numbers[0], Waiters: int(numbers[1]), To: to, Remaining: reserved}, true
	case len(fields) == 4 && fields[0] == "granted" && to == "":
		remaining := time.Duration(numbers[1]) * time.Millisecond
		return elector.Hint{Kind: elector.HintGranted, Token: numbers[0], Remaining: remaining, Waiters: int(numbers[2])}, true
	default:
		return elector.Hint{}, false
	}
}

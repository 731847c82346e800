package redisstore

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/recount-io/recount/elector"
)

// hintsKept is how many hints wait for a callback that is slow. Then the oldest
// ones are dropped: the latest says best whether a try is worth it.
const hintsKept = 16

// Watch is [elector.Store.Watch]. All calls of a store share one connection,
// which is opened by the first of them and closed by the last. One that is
// silent is pinged; if it does not answer it is given up, and
// ends every Watch. hint is called on the caller's goroutine, so never after
// Watch has returned, and a slow one holds up nobody else's.
//
// The server counts connections, so the candidates of one process and election
// count as one of those who wait (Grant.Waiters and its like), and in a cluster
// those count as none whose connection is to another node than their
// election's. Both spread the tries after a release less than they could be: by
// a millisecond at least, in which a server refuses some fifty tries. The first
// success puts the others off, and the number of processes, which a server with
// many candidates has, is counted.
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
	w := &watch{
		channel: s.keys(election).channel(),
		hints:   make(chan elector.Hint, hintsKept),
		ended:   make(chan error, 1),
	}
	l := s.hub.join(s, c, w)
	defer l.leave(w)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case h := <-w.hints:
			hint(h)
		case err := <-w.ended:
			w.rest(hint)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return judge("watch", election, plain(err))
		}
	}
}

// watch is one call of Watch.
type watch struct {
	channel string
	hints   chan elector.Hint // one goroutine sends: the listener's
	ended   chan error        // takes one error, the first
}

// tell passes a hint on, and waits for nobody.
func (w *watch) tell(h elector.Hint) {
	for {
		select {
		case w.hints <- h:
			return
		default:
		}
		select {
		case <-w.hints:
		default:
		}
	}
}

// end makes the call return.
func (w *watch) end(err error) {
	select {
	case w.ended <- err:
	default: // there was an earlier reason
	}
}

// rest tells what came before the end.
func (w *watch) rest(hint func(elector.Hint)) {
	for {
		select {
		case h := <-w.hints:
			hint(h)
		default:
			return
		}
	}
}

// hub has the connection that the watches of a store share.
type hub struct {
	mu       sync.Mutex
	listener *listener // the newest; it may be over
}

// join adds a watch to the listener, or to a new one: if there is none yet, if
// it is over, or if its client was replaced.
func (h *hub) join(s *Store, c *client, w *watch) *listener {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listener == nil || h.listener.client != c || !h.listener.add(w) {
		h.listener = newListener(s, c)
		h.listener.add(w)
		go h.listener.run()
	}
	return h.listener
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

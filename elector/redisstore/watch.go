package redisstore

import (
	"context"
	"sync"

	texts "github.com/recount-io/recount/elector/redisstore/scripts"
	"github.com/recount-io/recount/elector/store"
)

// Watch is [store.Store.Watch]. All watches of a store share one connection,
// which is opened for the first of them and closed some seconds after the last, or by
// Close, and one goroutine. A connection that is silent is pinged; if it does not
// answer it is given up, and ends every watch.
//
// The server counts connections, so the candidates of one process and election
// count as one of those who wait (Grant.Waiters and its like), and in a cluster
// those count as none whose connection is to another node than their
// election's. Both spread the tries after a release less than they could be: by
// a millisecond at least, in which a server refuses some fifty tries. The first
// success puts the others off, and the number of processes, which a server with
// many candidates has, is counted.
func (s *Store) Watch(ctx context.Context, election string, hint func(store.Hint), ended func(error)) {
	err := checkNames(election, "-", "-")
	if err == nil {
		err = ctx.Err()
	}
	var c *client
	if err == nil {
		c, err = s.current()
	}
	if err != nil {
		ended(err)
		return
	}
	w := &watch{ctx: ctx, election: election, channel: s.names(election).channel, hint: hint, ended: ended}
	l := s.hub.join(s, c, w)
	afterFunc(ctx, func() { l.leave(w) })
}

// afterFunc is context.AfterFunc for what is never stopped. A context that has the same
// itself, as an elector's, takes a tenth of the memory.
func afterFunc(ctx context.Context, f func()) {
	if c, ok := ctx.(interface{ AfterFunc(f func()) func() bool }); ok {
		c.AfterFunc(f)
		return
	}
	context.AfterFunc(ctx, f)
}

// beacon is the channel by whose listeners a server knows that a watch of the channel
// lives. It is empty if there is none, or if it is not known whether the server knows
// of both.
func (h *hub) beacon(channel string) string {
	h.mu.Lock()
	l := h.listener
	h.mu.Unlock()
	if l == nil {
		return ""
	}
	return l.shines(channel)
}

// watch is one call of Watch.
type watch struct {
	ctx      context.Context
	election string
	channel  string
	hint     func(store.Hint) // called by the listener, with its lock
	ended    func(error)
	there    bool // the server has said so; guarded by the listener, as the next one
	notified bool // that changes are announced to it from now on
}

// end tells why the watch has ended. The listener does not know it any more.
// The goroutine is there because ended may begin the next watch.
func (w *watch) end(err error) {
	if w.ctx.Err() != nil {
		err = w.ctx.Err()
	} else {
		err = judge("watch", w.election, plain(err), false)
	}
	go w.ended(err)
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

// end ends the listener, whose client is not closed, for that reason.
func (h *hub) end(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listener != nil {
		h.listener.end(err)
	}
}

// parseHint reads what the scripts publish. Anything else is somebody else's.
func parseHint(text string) (store.Hint, bool) {
	a, ours := texts.ParseAnnouncement(text)
	h := store.Hint{Kind: kinds[a.Kind], Token: a.Token, Remaining: a.Remaining, To: a.To, Request: a.Request}
	var err error
	if h.Nonce, err = unescape(a.Nonce); err != nil || !ours {
		return store.Hint{}, false
	}
	return h, true
}

var kinds = map[texts.Kind]store.HintKind{
	texts.Released: store.HintReleased, texts.Granted: store.HintGranted, texts.Published: store.HintPublished,
}

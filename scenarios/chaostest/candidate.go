package chaostest

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/candidate"
)

// Candidate is what one candidate of the elector gets, and what it reports to. What it
// asks of its lock in Redis is read off its connection: the first key of the election
// that a candidate takes if nobody has it. So it needs to report nothing; but only with
// Elected and Deposed can it be decided that no two candidates led at one time.
//
// Its methods may be called from several goroutines.
type Candidate struct {
	// Election is the election's name. Every key in Redis must begin with it.
	Election string
	// ID is the candidate's name, such as n1. It keeps it after a crash.
	ID string
	// Addr, as in 127.0.0.1:6379, and URL are the candidate's own way to Redis,
	// faults included. RedisOptions has the same for go-redis.
	Addr, URL string
	// Dial opens a connection to Addr. In fake time there is no other way to Redis:
	// have the client use it.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Lease is how long a lease lasts unless it is renewed. Renew is how often to renew
	// it, and Retry how soon to try again, for an elector that wants to be told.
	Lease, Renew, Retry time.Duration
	// Drift is the difference of clock rates to tolerate, as a share: what to take off
	// a deadline. It is 0.01 but where the scenario is about clocks.
	Drift float64
	// Clock is for an elector that takes its time from its caller: see Clocked.
	Clock *Clock
	// Logger writes to the candidate's log, beside the report.
	Logger *slog.Logger

	host    *candidate.Host
	options *redis.Options
	ctx     context.Context // that of the elector

	mu     sync.Mutex // never held while anything waits
	term   *term      // nil while it does not lead
	last   *term      // the same, or the one before
	writes bool       // it makes its writes itself
}

// term is a time in which the candidate leads by its own account.
type term struct {
	token uint64
	until time.Time // zero: until further notice
	over  chan struct{}
	n     int // writes
}

// newCandidate makes what New gets of the host around it.
func newCandidate(ctx context.Context, h *candidate.Host) (*Candidate, error) {
	options, err := redis.ParseURL(h.RedisURL)
	if err != nil {
		return nil, fmt.Errorf("chaostest: the URL of the Redis: %w", err)
	}
	if options.TLSConfig != nil && h.ServerName != "" {
		options.TLSConfig.ServerName = h.ServerName
	}
	return &Candidate{
		Election: h.Election, ID: h.Node, Addr: options.Addr, URL: h.RedisURL, Dial: h.Dial,
		Lease: h.Lease, Renew: h.Renew, Retry: h.Retry, Drift: h.Drift,
		Clock: newClock(h), Logger: h.Logger, host: h, options: options, ctx: ctx,
	}, nil
}

// RedisOptions are those of a go-redis client for this candidate, ready to use, and the
// caller's own: it may change what it likes but Addr, Dialer and DB.
func (c *Candidate) RedisOptions() *redis.Options {
	o := *c.options
	if o.TLSConfig == nil { // with TLS the client makes its connections itself
		o.Dialer = c.Dial
	}
	return &o
}

// Elected reports that the candidate leads from now on. token is the term's fencing
// token; 0 if the elector has none. until is when it will stop to believe so by itself
// if nothing more happens; the zero time if it believes until it is told otherwise, also
// while its process stands still.
//
// From then on, until Deposed or until, writes are made in its name to a protected
// resource, as a leader does its work; see Write.
func (c *Candidate) Elected(token uint64, until time.Time) {
	c.host.Wait()
	now := c.Clock.Now()
	c.mu.Lock()
	if c.term != nil && c.term.token == token && !c.term.lapsed(now) {
		c.mu.Unlock()
		c.Extended(until)
		return
	}
	c.end()
	t := &term{token: token, until: until, over: make(chan struct{})}
	c.term, c.last = t, t
	own := c.writes
	c.mu.Unlock()
	c.host.Elected(c.host.Clock.Now(), token, c.deadline(until))
	if !own {
		go c.work(t)
	}
}

// Extended reports that the candidate leads until a later time, as after a renewal. An
// elector whose belief has no end need not report that it goes on.
func (c *Candidate) Extended(until time.Time) {
	c.host.Wait()
	now := c.Clock.Now()
	c.mu.Lock()
	t := c.term
	lapsed := t != nil && t.lapsed(now) // its writes have ended, or do so now
	if t != nil {
		t.until = until
	}
	if lapsed {
		t = &term{token: t.token, until: until, over: make(chan struct{}), n: t.n}
		c.end()
		c.term, c.last = t, t
	}
	own := c.writes
	c.mu.Unlock()
	if t != nil {
		c.host.Extended(c.host.Clock.Now(), t.token, c.deadline(until))
	}
	if lapsed && !own {
		go c.work(t)
	}
}

// lapsed reports whether the deadline of a term has passed. The candidate's mutex is held.
func (t *term) lapsed(now time.Time) bool { return !t.until.IsZero() && !now.Before(t.until) }

// Deposed reports that the candidate does not lead any more, for whatever reason. It may
// be called by one that did not lead.
func (c *Candidate) Deposed() {
	c.host.Wait()
	c.mu.Lock()
	t := c.term
	c.end()
	c.mu.Unlock()
	if t == nil {
		return
	}
	why := history.Superseded
	switch {
	case c.ctx.Err() != nil:
		why = history.Resigned
	case t.lapsed(c.Clock.Now()):
		why = history.Expired
	}
	c.host.Deposed(c.host.Clock.Now(), t.token, why)
}

// end ends the present term, if there is one. The mutex is held.
func (c *Candidate) end() {
	if c.term != nil {
		close(c.term.over)
		c.term = nil
	}
}

// deadline puts a time onto the candidate's clock.
func (c *Candidate) deadline(until time.Time) time.Duration {
	if until.IsZero() {
		return sim.Forever
	}
	return c.Clock.own(until)
}

// Write makes one write to the protected resource, with the token of the last term, and
// reports whether it was accepted: it is not if somebody with a larger token has written.
// An elector, or a test's own work, that calls it makes all its writes itself: with the
// first call no more are made in its name.
func (c *Candidate) Write() (accepted bool) {
	began := time.Now()
	c.host.Wait()
	c.mu.Lock()
	c.writes = true
	t := c.last
	if t == nil {
		t = &term{}
		c.last = t
	}
	t.n++
	token, n, until := t.token, t.n, t.until
	c.mu.Unlock()
	// In fake time nobody can stop an elector that looks at its own clock; had it stood
	// still, it would look again before it wrote.
	if time.Since(began) > 0 && !until.IsZero() && !c.Clock.Now().Before(until) {
		return false
	}
	return c.host.Write(token, n)
}

// work makes the leader's writes for as long as the term lasts.
func (c *Candidate) work(t *term) {
	pace := time.NewTicker(c.host.Writes)
	defer pace.Stop()
	for {
		n := c.next(t)
		if n == 0 || !c.host.Write(t.token, n) {
			return
		}
		select {
		case <-t.over:
		case <-pace.C:
		}
	}
}

// next numbers a term's next write; 0 if it is over, or the candidate makes its writes
// itself.
func (c *Candidate) next(t *term) int {
	now := c.Clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.term != t || c.writes || t.lapsed(now) {
		return 0
	}
	t.n++
	return t.n
}

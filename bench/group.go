package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// patience is how long anything here may take before the run is given up.
const patience = 60 * time.Second

// seat is one candidate's place in a group, with connections of its own.
type seat struct {
	link   *link
	client client
	ctx    context.Context
	leave  context.CancelFunc
	again  chan struct{} // compete again
}

// led says that a seat's candidate leads.
type led struct {
	seat *seat
	term term
	at   time.Time
}

// group is the candidates of one election, all of one library.
type group struct {
	library  *library
	server   *server
	election string
	lease    time.Duration
	way      time.Duration // of a message to the server
	seats    []*seat
	news     chan led
	leader   led
	running  sync.WaitGroup
	control  sample // how late the machine itself was at each crash
}

var elections atomic.Int64

// assemble makes so many candidates compete, and returns when one leads and
// the others have had time to begin to wait.
func assemble(ctx context.Context, l *library, s *server, candidates int, lease, way time.Duration) (*group, error) {
	g := &group{library: l, server: s, election: "bench-" + strconv.FormatInt(elections.Add(1), 10), lease: lease, way: way, news: make(chan led, candidates)}
	for range candidates {
		if err := g.seat(ctx); err != nil {
			g.dissolve()
			return nil, err
		}
	}
	if err := g.await(ctx); err != nil {
		g.dissolve()
		return nil, err
	}
	return g, rest(ctx, time.Second)
}

// seat adds a candidate with a client of its own.
func (g *group) seat(ctx context.Context) error {
	link := newLink(g.way)
	c, err := g.library.open(g.server, link, g.lease)
	if err != nil {
		return err
	}
	candidate, err := c.candidate(g.election)
	if err != nil {
		c.close()
		return err
	}
	s := &seat{link: link, client: c, again: make(chan struct{}, 1)}
	s.ctx, s.leave = context.WithCancel(ctx)
	g.seats = append(g.seats, s)
	g.running.Go(func() {
		for {
			t, err := candidate.lead(s.ctx)
			if err != nil {
				return
			}
			g.news <- led{s, t, time.Now()}
			select {
			case <-s.again:
			case <-s.ctx.Done():
				return
			}
		}
	})
	return nil
}

// await takes note of the next leader.
func (g *group) await(ctx context.Context) error {
	give := time.NewTimer(patience)
	defer give.Stop()
	select {
	case g.leader = <-g.news:
		return nil
	case <-give.C:
		return fmt.Errorf("%s: nobody leads %v after the last leader", g.library.name, patience)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// handover is how long it takes from the call that releases the lease until
// the next one leads.
func (g *group) handover(ctx context.Context) (time.Duration, error) {
	last, began := g.leader, time.Now()
	last.term.release()
	if err := g.await(ctx); err != nil {
		return 0, err
	}
	last.seat.again <- struct{}{}
	return g.leader.at.Sub(began), nil
}

// crash is how long after the end of a dead leader's lease the next one leads.
// The leader dies at any moment between two renewals.
func (g *group) crash(ctx context.Context) (time.Duration, error) {
	if err := rest(ctx, rand.N(g.library.renew(g.lease))); err != nil {
		return 0, err
	}
	last := g.leader
	last.seat.link.sever()
	// A renewal that was on its way may still be executed.
	if err := rest(ctx, 20*time.Millisecond); err != nil {
		return 0, err
	}
	end, err := g.server.expiry(ctx, g.library.key(g.election))
	if err != nil {
		return 0, err
	}
	late := g.lateness(ctx, end)
	if err := g.await(ctx); err != nil {
		return 0, err
	}
	g.control = append(g.control, <-late)
	last.seat.leave()
	g.running.Go(last.seat.client.close)
	return g.leader.at.Sub(end), g.replace(ctx, last.seat)
}

// lateness is what nobody can do without: a timer set for the end of the lease,
// and one command. On a busy machine it is most of what is measured.
func (g *group) lateness(ctx context.Context, end time.Time) <-chan time.Duration {
	late := make(chan time.Duration, 1)
	g.running.Go(func() {
		_ = rest(ctx, time.Until(end))
		_ = g.server.admin.Ping(ctx) // only its time counts
		late <- time.Since(end)
	})
	return late
}

// replace puts a new candidate where one has died.
func (g *group) replace(ctx context.Context, dead *seat) error {
	for i, s := range g.seats {
		if s == dead {
			g.seats = append(g.seats[:i], g.seats[i+1:]...)
			break
		}
	}
	return g.seat(ctx)
}

// dissolve ends all candidates.
func (g *group) dissolve() {
	for _, s := range g.seats {
		s.leave()
	}
	for _, s := range g.seats {
		if g.leader.seat == s && g.leader.term != nil {
			g.leader.term.release()
		}
		g.running.Go(func() { s.client.close() })
	}
	done := make(chan struct{})
	go func() { g.running.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(patience): // a library that does not end is left alone
	}
}

// rest waits.
func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

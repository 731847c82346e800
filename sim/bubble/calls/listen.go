package calls

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/store"
)

// Who listens for the store's announcements.

// hearing is what a candidate has heard. The candidate's lock guards it.
type hearing struct {
	watches int           // that are under way
	begun   int           // that ever were
	since   time.Duration // when the last one began
	hinted  uint64        // highest token that was announced
	refused uint64        // highest token of a refusal since the last one began
	doubt   uint64        // token of a refusal that should have been announced before; 0: none
	doubted time.Duration // when that refusal came
}

// Watch implements elector.Store.
func (s recorded) Watch(ctx context.Context, election string, hint func(store.Hint), ended func(error)) {
	c := s.life.in(election)
	if s.observer || c == nil {
		s.Store.Watch(ctx, election, hint, ended)
		return
	}
	c.mu.Lock()
	c.hearing.watches++
	c.hearing.begun++
	c.hearing.since, c.hearing.refused, c.hearing.doubt = c.run.recorder.Now(), 0, 0
	c.mu.Unlock()
	if c.behavior.Deaf {
		context.AfterFunc(ctx, func() {
			c.mu.Lock()
			c.hearing.watches--
			c.mu.Unlock()
			ended(ctx.Err())
		})
		return
	}
	s.Store.Watch(ctx, election, s.life.bids.Reporting(func(h store.Hint) {
		c.mu.Lock()
		c.hearing.hinted = max(c.hearing.hinted, h.Token)
		c.mu.Unlock()
		hint(h)
	}, s.passed(election)), func(err error) {
		c.mu.Lock()
		c.hearing.watches--
		before := c.hearing
		c.mu.Unlock()
		if ctx.Err() == nil {
			go c.expectWatch(before, c.run.recorder.Now())
		}
		ended(err)
	})
}

// expectWatch expects a candidate whose announcements have broken off, after more than a
// lease, to listen anew after Retry.
func (c *candidate) expectWatch(h hearing, broke time.Duration) {
	if broke-h.since < 2*c.config.Lease || c.behavior.Drift > 0 {
		return
	}
	stood := c.life.gate.Stood()
	time.Sleep(c.config.Retry + c.config.Retry/2)
	c.mu.Lock()
	anew := c.hearing.begun > h.begun
	c.mu.Unlock()
	if anew || c.life.gate.Stood() != stood || !c.competes() {
		return
	}
	c.find(listensAnew, "its announcements, which it had heard since %v, broke off at %v, and a Retry (%v) and a half later it does not listen",
		h.since, broke, c.config.Retry)
}

// in is the life's candidate in an election.
func (l *life) in(name string) *candidate {
	e, err := strconv.Atoi(strings.TrimPrefix(name, l.process.run.electionPrefix()))
	if err != nil || e >= len(l.candidates) {
		return nil
	}
	return l.candidates[e]
}

// refusedBy looks at a refusal: it may be for a term that must have been announced to
// who listens. Who was told nothing of it listens anew when it is refused for the second
// time: from the first refusal it cannot know how long ago the term began.
func (c *candidate) refusedBy(err error) {
	var held *elector.HeldError
	if !errors.As(err, &held) || held.Token == 0 {
		return
	}
	now := c.run.recorder.Now()
	c.mu.Lock()
	before := c.hearing
	c.mu.Unlock()
	granted, missed := c.missed(before, held.Token, now)
	c.mu.Lock()
	defer c.mu.Unlock()
	h := &c.hearing
	switch {
	case !missed:
		h.refused = max(h.refused, held.Token)
	case h.doubt <= h.hinted:
		h.doubt, h.doubted = held.Token, now
	case now-h.doubted > c.late():
		h.refused = max(h.refused, held.Token)
		go c.expectListening(*h, held.Token, granted)
	}
}

// late is how long after a grant, at the most, it is announced.
func (c *candidate) late() time.Duration { return c.config.RequestTimeout + 4*c.run.RoundTrip }

// missed reports whether a term must have been announced to who listened, and was not;
// and when that was granted.
func (c *candidate) missed(h hearing, token uint64, now time.Duration) (granted time.Duration, so bool) {
	if h.watches == 0 || h.refused == 0 || token <= max(h.refused, h.hinted) {
		return 0, false
	}
	granted, ok := c.run.grantOf(c.name, token)
	return granted, ok && granted > h.since+c.late() && now-granted > c.late() && !c.run.hampered(c, granted, now)
}

func (c *candidate) expectListening(h hearing, token uint64, granted time.Duration) {
	stood := c.life.gate.Stood()
	time.Sleep(c.config.Lease / 10)
	c.mu.Lock()
	anew := c.hearing.begun > h.begun || c.hearing.watches == 0
	c.mu.Unlock()
	if anew || c.life.gate.Stood() != stood || c.elector.State() == event.StateStopped {
		return
	}
	c.find(listensAnew, "term %d began at %v, nobody told of it, it refused this one at %v and %v, and this one listens on as it did",
		token, granted, h.doubted, c.run.recorder.Now())
}

// hampered reports whether announcements of that time may be on their way still.
func (r *run) hampered(c *candidate, from, to time.Duration) bool {
	if r.far() || !c.behavior.plain() || c.behavior.Deaf || r.losesCount() {
		return true
	}
	for _, a := range r.Acts {
		t := table[a.Kind]
		if (t.way && a.Kind != Strand || t.server || a.Kind == Pause) && a.At < to && a.end()+2*r.longest() > from {
			return true
		}
	}
	return false
}

// grantOf is when the term of a token began.
func (r *run) grantOf(election string, token uint64) (at time.Duration, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.grants[election] {
		if g.token == token {
			return g.at, true
		}
	}
	return 0, false
}

// listen expects, in the calm at the end, that every candidate listens, and that no
// process has more connections than it may.
func (r *run) listen() {
	if r.far() {
		return
	}
	for i, p := range r.processes {
		l, m := p.current(), r.Processes[i]
		if n, most := p.link.Connections(), cmp.Or(m.Pool, 4)+1; l != nil && !m.Foreign && n > most {
			r.Find(connections, "%s has %d connections in the calm, and may have %d", p.name, n, most)
		}
		if l == nil || l.age() < 2*r.longest() || m.Call != Run && m.Call != Terms || m.hangs() {
			continue
		}
		for _, c := range l.candidates[:min(3, len(l.candidates))] {
			c.mu.Lock()
			h := c.hearing
			c.mu.Unlock()
			if h.watches != 1 && c.competes() {
				c.find(listensAnew, "%d watches are under way of %d that were begun", h.watches, h.begun)
			}
		}
	}
}

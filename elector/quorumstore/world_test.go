package quorumstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/recount-io/recount/elector/quorumstore"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/race"
)

// worldLease is the lease of the candidates in a world, and usable the part of it
// for which they lead.
const (
	worldLease  = 3 * time.Second
	worldUsable = worldLease*99/100 - time.Millisecond
)

// plan is all that happens in a world. It is drawn before the world begins.
type plan struct {
	Seed       uint64 // of delays, losses and the candidates' moods
	Nodes      int
	Candidates int
	Delay      time.Duration // of a message, at most; some take far longer
	Lost       int           // messages in a hundred, requests and replies alike
	Late       int           // messages in a thousand that take up to two leases
	Crashes    int           // terms in a hundred that end without a release
	Faults     []fault
	Rest       []mode // of a minority, for good, after the faults
}

// fault is what happens to some nodes.
type fault struct {
	At     time.Duration
	Nodes  uint // a bit for each
	Mode   mode
	Forget bool
}

const faultsEnd = 60 * time.Second

func drawPlan(t *rapid.T) plan {
	p := plan{
		Seed:       rapid.Uint64().Draw(t, "seed"),
		Nodes:      rapid.SampledFrom([]int{3, 4, 5}).Draw(t, "nodes"),
		Candidates: rapid.IntRange(2, 5).Draw(t, "candidates"),
		Delay:      rapid.SampledFrom([]time.Duration{0, time.Millisecond, 30 * time.Millisecond, 300 * time.Millisecond}).Draw(t, "delay"),
		Lost:       rapid.SampledFrom([]int{0, 0, 2, 20}).Draw(t, "lost"),
		Late:       rapid.SampledFrom([]int{0, 0, 10, 100}).Draw(t, "late"),
		Crashes:    rapid.SampledFrom([]int{0, 20, 60}).Draw(t, "crashes"),
	}
	for range rapid.IntRange(0, 25).Draw(t, "faults") {
		p.Faults = append(p.Faults, fault{
			At:     time.Duration(rapid.Int64Range(0, int64(faultsEnd)).Draw(t, "at")),
			Nodes:  rapid.UintRange(1, 1<<p.Nodes-1).Draw(t, "which"),
			Mode:   rapid.SampledFrom([]mode{up, up, down, hanging, mute}).Draw(t, "mode"),
			Forget: rapid.Bool().Draw(t, "forget"),
		})
	}
	for range rapid.IntRange(0, (p.Nodes-1)/2).Draw(t, "lasting faults") {
		p.Rest = append(p.Rest, rapid.SampledFrom([]mode{down, hanging, mute, fatal}).Draw(t, "lasting"))
	}
	return p
}

// world runs a plan and judges it as it goes.
type world struct {
	plan
	now      func() time.Duration
	nodes    []*node
	healing  chan struct{} // closed when messages are no longer lost or late
	finished chan struct{}

	mu     sync.Mutex
	until  map[string]time.Duration // of the terms
	last   uint64                   // highest token of a term
	heard  time.Duration            // when a term last began or was renewed
	faulty []string                 // what was wrong
}

// Whatever the nodes and the network do, tokens strictly increase and no two
// candidates lead at one time; and there are terms again when a majority of
// the nodes works, although others stay down, hang or refuse.
func TestWorld(t *testing.T) {
	times := 3 // what a plan leaves to chance is often what matters
	if race.Enabled {
		times = 1
	}
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt)
		for range times {
			for _, complaint := range p.run(t) {
				rt.Error(complaint)
			}
			p.Seed++
		}
	})
}

// run carries out the plan.
func (p plan) run(t *testing.T) (complaints []string) {
	synctest.Test(t, func(t *testing.T) {
		start, end := time.Now(), make(chan struct{})
		w := &world{
			plan: p, now: func() time.Duration { return time.Since(start) },
			healing: make(chan struct{}), finished: make(chan struct{}), until: make(map[string]time.Duration),
		}
		for range p.Nodes {
			w.nodes = append(w.nodes, newNode(w.now, worldLease, end))
		}
		var candidates sync.WaitGroup
		for i := range p.Candidates {
			c := w.candidate(t, i)
			candidates.Go(c.run)
		}
		w.faults()
		healed := w.now()
		time.Sleep(8 * worldLease)
		close(w.finished)
		candidates.Wait()
		w.progress(healed)
		close(end)
		time.Sleep(time.Minute)
		complaints = w.faulty
	})
	return complaints
}

// faults puts the faults on, and takes them off again but for a minority's.
func (w *world) faults() {
	for at := time.Duration(0); at <= faultsEnd; at += 10 * time.Millisecond {
		for _, f := range w.Faults {
			if f.At < at || f.At >= at+10*time.Millisecond {
				continue
			}
			for i, n := range w.nodes {
				if f.Nodes&(1<<i) == 0 {
					continue
				}
				n.set(f.Mode)
				if f.Forget {
					n.forget()
				}
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	for i, n := range w.nodes {
		n.set(up)
		if i < len(w.Rest) {
			n.set(w.Rest[i])
		}
	}
	close(w.healing)
}

// progress demands a term after the faults: within two leases for what is left
// of them (one that was granted by a message two leases late included), one of a
// quarantine, and the rest for split votes.
func (w *world) progress(healed time.Duration) {
	if w.heard <= healed {
		w.faulty = append(w.faulty, "no term within eight leases after the faults")
	}
}

// lead notes that the candidate leads from now on, and until when.
func (w *world) lead(id string, token uint64, until time.Duration, begins bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	for other, theirs := range w.until {
		if other != id && theirs > now {
			w.faulty = append(w.faulty, fmt.Sprintf("at %v: %s leads with token %d while %s leads until %v", now, id, token, other, theirs))
		}
	}
	if begins && token <= w.last {
		w.faulty = append(w.faulty, fmt.Sprintf("at %v: %s was granted token %d after %d", now, id, token, w.last))
	}
	if !begins && token < w.last {
		w.faulty = append(w.faulty, fmt.Sprintf("at %v: the term %d of %s goes on after %d", now, token, id, w.last))
	}
	w.until[id], w.last = until, max(w.last, token)
	w.heard = now
}

// depose ends the candidate's term.
func (w *world) depose(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.until, id)
}

// candidate competes without the elector's own precautions: it leads after every
// grant that is in time, and every renewal, even after its term has ended. It
// is impatient, and starts anew at times, without a memory.
type candidate struct {
	w      *world
	t      *testing.T
	index  int
	id     string
	store  *quorumstore.Store
	random *rand.Rand
	floor  uint64
	count  int
}

func (w *world) candidate(t *testing.T, i int) *candidate {
	c := &candidate{w: w, t: t, index: i, id: fmt.Sprintf("c%d", i), random: rand.New(rand.NewPCG(w.Seed, uint64(i)))}
	c.restart()
	return c
}

// restart gives the candidate a Store that knows nothing.
func (c *candidate) restart() {
	var links []store.Store
	for j, n := range c.w.nodes {
		seed := rand.NewPCG(c.random.Uint64(), uint64(c.index*100+j))
		links = append(links, &link{node: n, w: c.w, random: rand.New(seed)})
	}
	store, err := quorumstore.New(links, quorumstore.Options{Now: c.w.now})
	if err != nil {
		c.t.Fatal(err)
	}
	c.store, c.floor = store, 0
}

// pause waits, and reports whether the world goes on.
func (c *candidate) pause(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-c.w.finished:
		return false
	}
}

func (c *candidate) jitter(most time.Duration) time.Duration {
	return time.Duration(c.random.Int64N(int64(most)))
}

func (c *candidate) run() {
	for c.pause(c.jitter(time.Millisecond)) {
		if c.random.IntN(6) == 0 {
			c.restart()
		}
		c.count++
		nonce := fmt.Sprintf("%s/%d", c.id, c.count)
		for c.attempt(nonce) && c.pause(worldLease/20+c.jitter(worldLease/50)) {
		}
	}
}

// attempt makes one request, and what follows if it is granted. It reports whether
// the outcome is open.
func (c *candidate) attempt(nonce string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), worldLease/3)
	defer cancel()
	sent := c.w.now()
	a := store.Attempt{Election: election, ID: c.id, Nonce: nonce, TTL: worldLease, Floor: c.floor}
	g, err := c.store.Acquire(ctx, a)
	var held *store.HeldError
	switch {
	case errors.As(err, &held):
		if c.random.IntN(2) == 0 {
			c.floor = max(c.floor, held.Token) // others never learn
		}
		wait := min(held.Remaining, worldLease) + time.Millisecond
		if c.random.IntN(2) == 0 {
			wait = c.jitter(wait)
		}
		c.pause(wait + c.jitter(time.Millisecond))
		return false
	case err != nil:
		return true
	case c.w.now() >= sent+worldUsable:
		return false
	}
	c.lead(store.Lease{Election: election, ID: c.id, Nonce: nonce, Token: g.Token, TTL: worldLease}, sent+worldUsable)
	return false
}

// lead renews until the lease is lost or the candidate has had enough.
func (c *candidate) lead(l store.Lease, deadline time.Duration) {
	c.w.lead(c.id, l.Token, deadline, true)
	defer c.w.depose(c.id)
	next, ended := worldLease/3, false
	for c.random.IntN(8) != 0 {
		if !c.pause(next) {
			return
		}
		sent := c.w.now()
		ctx, cancel := context.WithTimeout(context.Background(), worldLease/3)
		err := c.store.Renew(ctx, l)
		cancel()
		ended = ended || c.w.now() >= deadline
		switch {
		case err == nil && c.w.now() < sent+worldUsable:
			// A candidate that has renewed has held the lease all the while.
			deadline, next, ended = sent+worldUsable, worldLease/3, false
			c.w.lead(c.id, l.Token, deadline, false)
		case errors.Is(err, store.ErrNotHeld), ended && c.random.IntN(4) == 0:
			return
		default:
			next = worldLease / 15
		}
	}
	c.w.depose(c.id)
	if c.random.IntN(100) < c.w.Crashes {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), worldLease/3)
	defer cancel()
	_ = c.store.Release(ctx, l) // what is not released ends by itself
}

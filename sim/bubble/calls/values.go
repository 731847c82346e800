package calls

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/sim/space"
)

// values draws what leaders publish, from a generator of its own: processes whose terms
// begin with a value or whose work publishes, and somebody who looks.
func (c *Case) values(r *rand.Rand) {
	if r.IntN(3) > 0 || c.Elections > few {
		return
	}
	for i := range c.Processes {
		m := &c.Processes[i]
		m.Begins = r.IntN(2) == 0
		if r.IntN(3) == 0 {
			m.Publishes = 1 + r.IntN(2*c.Writes)
		}
	}
	for range 1 + r.IntN(6) {
		c.Acts = append(c.Acts, Act{
			At: c.Lease + time.Duration(r.Int64N(int64(c.Span))), Kind: []Kind{Publish, Publish, Publish, Watch, Ask}[r.IntN(5)],
			Process: r.IntN(len(c.Processes)), Election: r.IntN(c.Elections), For: space.Between(r, c.Lease/10, 2*c.Lease), By: c.Lease, Choice: 4 * r.IntN(4),
		})
	}
}

// term names a term.
type term struct {
	election, id string
	token        uint64
}

// value is one that was published: when, in its term. 0 is what a term begins with.
type value struct {
	of     term // without a token: each of this elector's
	number int
}

// board is what is known of values.
type board struct {
	mu     sync.Mutex
	begins map[string]string    // by the elector's ID
	values map[string]value     // by what they are: no two are the same
	shown  map[term][]knownTerm // the later, the larger
}

// knownTerm is up to which value a term was known to have been shown, and since when.
type knownTerm struct {
	at     time.Duration
	number int
}

func newBoard() board {
	return board{begins: map[string]string{}, values: map[string]value{}, shown: map[term][]knownTerm{}}
}

// began notes what an elector's terms begin with.
func (b *board) began(election, id, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begins[id] = text
	if text != "" {
		b.values[text] = value{of: term{election: election, id: id}}
	}
}

// another makes a value for a term that nobody has published yet.
func (b *board) another(of term) (text string, number int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, v := range b.values {
		if v.of == of {
			number = max(number, v.number)
		}
	}
	number++
	text = fmt.Sprintf("%s in %s term %d no %d\x00\n%s", of.id, of.election, of.token, number, strings.Repeat("{}", number%50))
	b.values[text] = value{of, number}
	return text, number
}

// shows notes that a value of the term was shown at that time.
func (b *board) shows(of term, number int, at time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if last := b.shown[of]; len(last) == 0 || last[len(last)-1].number < number {
		b.shown[of] = append(last, knownTerm{at, number})
	}
}

// before is up to which value the term had been shown before that time; below 0: it was
// not known at all.
func (b *board) before(of term, at time.Duration) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range slices.Backward(b.shown[of]) {
		if k.at < at {
			return k.number
		}
	}
	return -1
}

// number is that of a value that is told in a term, below 0 if it was lost; and what
// is wrong with it, if something is.
func (b *board) number(of term, text string) (number int, wrong string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if text == "" {
		if b.begins[of.id] != "" {
			return -1, ""
		}
		return 0, ""
	}
	v, known := b.values[text]
	switch {
	case !known:
		return 0, "nobody has published that"
	case v.of.election != of.election || v.of.id != of.id || v.of.token != 0 && v.of.token != of.token:
		return 0, fmt.Sprintf("that was published by %s in term %d of %s", v.of.id, v.of.token, v.of.election)
	}
	return v.number, ""
}

// checkLeader looks at an answer to a question that was asked at that time.
func (l *life) checkLeader(election string, leader elector.Leader, asked time.Duration) {
	r := l.process.run
	of := term{l.process.named(election), leader.ID, leader.Token}
	number, wrong := r.board.number(of, leader.Value)
	if wrong != "" {
		r.Find(valueOfTerm, "%s is told that %s leads %s with token %d and shows %q: %s", l.process.name, leader.ID, of.election, leader.Token, leader.Value, wrong)
		return
	}
	if leader.ID == "" {
		return
	}
	if last := r.board.before(of, asked); number < last && !r.hasOf(func(t trait) bool { return t.data }) {
		r.Find(valueIsLatest, "%s, which asked at %v, is told value %d of term %d of %s, and %d was shown before", l.process.name, asked, number, of.token, of.election, last)
	}
	r.board.shows(of, number, r.recorder.Now())
}

// publishes publishes another value in a term. It returns its number.
func (c *candidate) publishes(ctx context.Context, t *elector.Term) (number int, err error) {
	of := term{c.name, c.elector.ID(), t.Token()}
	c.life.gate.Wait() // before it has a number: those that wait here go on in any order
	text, number := c.run.board.another(of)
	if err = t.Publish(ctx, text); err == nil {
		c.run.board.shows(of, number, c.run.recorder.Now())
	}
	return number, err
}

// publishing publishes from the work of a term, every so many writes.
func (c *candidate) publishing(t *elector.Term, n int) {
	if every := c.behavior.Publishes; every > 0 && n%every == 0 && !c.run.healed() {
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), c.config.Lease)
			defer cancel()
			if _, err := c.publishes(ctx, t); err == nil {
				c.run.bite("publishes")
			}
		}()
	}
}

// lastWords publishes from the work of a term that ends, and has the lease until the work has
// ended: that is answered with the next renewal.
func (c *candidate) lastWords(t *elector.Term) {
	within := c.config.Renew + 2*c.config.RequestTimeout
	if !c.run.undisturbed() || t.Remaining() <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	if _, err := c.publishes(ctx, t); err != nil && t.Check(0) == nil {
		c.find(publishReturns, "Publish in term %d, whose work has been told to end, returned %v within %v, and the term goes on", t.Token(), err, within)
	} else if err == nil {
		c.run.bite("last words")
	}
}

// publish makes the leader publish, while a process of its world looks: it is told in
// the time that an announcement and a question take, and not when it would ask anyway.
func (r *run) publish(ctx context.Context, i int, a Act, p *process) bool {
	c, l := r.leader(p.world(), a.Election), p.current()
	if c == nil || l == nil {
		return false
	}
	t, bound := c.current(), r.Lease/10+6*r.RoundTrip
	a.At = r.recorder.Now()
	quiet := bound < r.Lease/2 && r.quietAround(i, a, p.world(), r.Lease/2, 2*r.Lease)
	ctx, cancel := context.WithTimeout(ctx, 2*r.Lease)
	defer cancel()
	seen := make(chan elector.Leader, 1000)
	go func() {
		defer close(seen)
		o := elector.ObserveOptions{Poll: time.Hour, Retry: c.config.Retry, RequestTimeout: c.config.RequestTimeout, Clock: l.clock}
		for leader, err := range elector.Observe(ctx, recorded{l.store, l, true}, c.config.Election, o) {
			if err == nil {
				seen <- leader
			}
		}
	}()
	if _, ok := <-seen; !ok {
		return false
	}
	time.Sleep(r.RoundTrip) // it listens
	began, of := r.recorder.Now(), term{c.name, c.elector.ID(), t.Token()}
	limited, stop := context.WithTimeout(ctx, bound)
	defer stop()
	if a.Choice%8 == 0 { // one is under way when the next one comes
		go func() { _, _ = c.publishes(limited, t) }()
		time.Sleep(r.RoundTrip / 4)
	}
	number, err := c.publishes(limited, t)
	if err != nil {
		if quiet && t.Check(0) == nil && !r.ending() {
			c.find(publishReturns, "what was published at %v in term %d is not shown after %v: %v", began, t.Token(), bound, err)
		}
		return false
	}
	for {
		select {
		case leader, ok := <-seen:
			if !ok {
				return true
			}
			if n, _ := r.board.number(of, leader.Value); leader.Token == of.token && n >= number {
				r.bite("publish:observed")
				return true
			}
		case <-time.After(began + bound - r.recorder.Now()):
			if quiet && t.Check(0) == nil && !r.ending() && p.current() == l {
				c.find(observes, "%s was not told within %v what was published at %v in term %d", p.name, bound, began, t.Token())
			}
			return true
		}
	}
}

// shown expects, in the calm at the end, that what a leader has published is shown,
// whatever became of the data.
func (r *run) shown(ctx context.Context) {
	if r.far() || r.anyone(func(m Behavior) bool { return m.has(func(r Release) bool { return r.Expire > 0 }) }) {
		return // a leader without Expire lets the keys expire that others have set
	}
	for e := range min(r.Elections, 3) {
		for w := range r.worlds() {
			c := r.leader(w, e)
			if c == nil {
				continue
			}
			t, asked := c.current(), r.recorder.Now()
			if r.recorder.Now()-c.began() < 2*r.longest() {
				continue
			}
			of := term{c.name, c.elector.ID(), t.Token()}
			limited, cancel := context.WithTimeout(ctx, r.Lease)
			leader, err := c.elector.Leader(limited)
			cancel()
			if err != nil || t.Check(0) != nil {
				continue
			}
			if leader.ID != of.id || leader.Token != of.token {
				c.find(answersWho, "it leads with token %d since %v, and Leader says that %q does with token %d", of.token, c.began(), leader.ID, leader.Token)
				continue
			}
			number, wrong := r.board.number(of, leader.Value)
			if last := max(0, r.board.before(of, asked)); wrong == "" && number < last {
				c.find(valueComesBack, "value %d of term %d is told in the calm, and %d was shown before", number, of.token, last)
			}
		}
	}
}

// began is when the last term did.
func (c *candidate) began() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.since
}

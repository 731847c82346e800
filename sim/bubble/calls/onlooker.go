package calls

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble/clock"
	"github.com/recount-io/recount/sim/bubble/gate"
	"github.com/recount-io/recount/sim/bubble/network"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// Who looks on from the begin of a case to its end, and what it is told.

// looks draws, from a generator of its own, whether somebody looks on.
func (c *Case) looks(r *rand.Rand) {
	if r.IntN(3) == 0 && c.Elections <= few {
		c.Onlooker = 1 + r.IntN(c.Elections)
		if r.IntN(2) == 0 {
			c.Looks = timing(r, 0)
		}
	}
}

// onlooker observes an election of the first world. It does not compete, and no fault
// of the way hinders it.
type onlooker struct {
	run     *run
	name    string // of the election
	of      string // the same in the history
	options elector.ObserveOptions
	link    *network.Link
	stop    context.CancelFunc
	ended   chan struct{}

	mu   sync.Mutex
	seen []sighting
}

// sighting is what an onlooker was told, and when.
type sighting struct {
	at     time.Duration
	leader elector.Leader
	failed bool // it was told of an error since it was told of the leader: nobody knows
}

func (s sighting) String() string {
	if s.failed {
		return "nobody knows who does"
	}
	return fmt.Sprintf("%q does with token %d", s.leader.ID, s.leader.Token)
}

// lookOn lets somebody look on, if the case has somebody.
func (r *run) lookOn() {
	if r.Onlooker == 0 {
		return
	}
	first, way := r.processes[0], sim.Network{Latency: r.RoundTrip / 2, Jitter: r.RoundTrip / 20}
	ctx, stop := context.WithCancel(context.Background())
	o := &onlooker{
		run: r, name: r.election(r.Onlooker - 1), of: first.named(r.election(r.Onlooker - 1)),
		link: network.NewLink(r.Number<<8+uint64(len(r.processes)), way, r.server), stop: stop, ended: make(chan struct{}),
	}
	cfg := elector.Config{Lease: r.Lease}
	r.Looks.configure(&cfg)
	o.options = elector.ObserveOptions{
		Poll: cfg.DrainTimeout / 2, Retry: cfg.Retry, RequestTimeout: max(cfg.RequestTimeout, 3*r.RoundTrip),
		Clock: clock.New(r.recorder.Now, 1, &gate.Gate{}, r.Number+1<<63),
	}
	endpoint := o.link.Endpoint()
	opened, err := redisstore.New(r.Greeting.client(redis.UniversalOptions{
		DB:     first.database(),
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) { return endpoint.Dial(ctx) },
	}), redisstore.Options{Prefix: first.prefix()})
	if err != nil {
		panic("calls: " + err.Error()) // the options are constants
	}
	r.onlooker = o
	looksAt := elector.Store(opened)
	if r.LooksDeaf {
		looksAt = unannounced{opened}
	}
	go func() {
		defer close(o.ended)
		defer func() { _ = opened.Close() }() // nobody uses it any more
		o.look(ctx, looksAt)
	}()
}

// unannounced is a store whose announcements do not arrive.
type unannounced struct{ elector.Store }

// Watch implements elector.Store.
func (unannounced) Watch(ctx context.Context, _ string, _ func(store.Hint), ended func(error)) {
	context.AfterFunc(ctx, func() { ended(ctx.Err()) })
}

// look looks until ctx is done. Only an error that no repetition changes ends a
// sequence before; it is begun anew, as the server's state changes in a case.
func (o *onlooker) look(ctx context.Context, store elector.Store) {
	for ctx.Err() == nil {
		var ended error
		first := true
		for leader, err := range elector.Observe(ctx, store, o.name, o.options) {
			if ended = err; err != nil {
				o.fails()
			} else {
				o.sees(leader, first)
			}
			first = err != nil
		}
		var fatal *elector.FatalError
		if ctx.Err() == nil && !errors.As(ended, &fatal) {
			o.run.Find(observes, "Observe of %s ended with %v, and its context is not done", o.of, ended)
		}
		sleep(ctx, o.run.Lease/15)
	}
}

// fails notes that an error was yielded.
func (o *onlooker) fails() {
	last := o.last().leader
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen = append(o.seen, sighting{o.run.recorder.Now(), last, true})
}

// sees notes what was yielded: never the same twice but after an error, and never an
// older term.
func (o *onlooker) sees(leader elector.Leader, first bool) {
	r, last := o.run, o.last().leader
	o.mu.Lock()
	o.seen = append(o.seen, sighting{r.recorder.Now(), leader, false})
	o.mu.Unlock()
	switch same := leader.ID == last.ID && leader.Token == last.Token && leader.Value == last.Value; {
	case same && !first:
		r.Find(observes, "%q with token %d was yielded twice of %s", leader.ID, leader.Token, o.of)
	case leader.Token > 0 && leader.Token < last.Token && !r.hasOf(func(t trait) bool { return t.data }):
		r.Find(observes, "%s with token %d was yielded of %s after token %d", leader.ID, leader.Token, o.of, last.Token)
	}
}

// last is what it was told last.
func (o *onlooker) last() sighting {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.seen) == 0 {
		return sighting{}
	}
	return o.seen[len(o.seen)-1]
}

// slow is after what time it has asked again and was answered, whatever it has heard.
func (o *onlooker) slow() time.Duration {
	return o.options.Poll + 2*o.options.RequestTimeout + o.options.Retry + 6*o.run.RoundTrip + readTimeout
}

// knows expects, in the calm at the end, that it was told who leads, also where it had
// no answer before.
func (o *onlooker) knows() {
	r := o.run
	c := r.leader(0, r.Onlooker-1)
	if r.far() || c == nil || r.recorder.Now()-c.began() < o.slow() {
		return
	}
	r.bite("onlooker:knows")
	last, t := o.last(), c.current()
	if o.asks(last) {
		return
	}
	if last.failed || last.leader.ID != c.elector.ID() || last.leader.Token != t.Token() {
		c.find(observes, "it leads with token %d since %v, and an onlooker was told last, at %v, that %v", t.Token(), c.began(), last.at, last)
	}
}

// asks reports whether the onlooker was given no answer a moment ago, and asks again.
func (o *onlooker) asks(last sighting) bool {
	return last.failed && o.run.recorder.Now()-last.at < o.slow()
}

// sawAll expects that it was told of each term that lasted, and in time, and of each
// time without one: announcements tell it when to ask.
func (o *onlooker) sawAll() {
	r := o.run
	bound := r.Lease/10 + 6*r.RoundTrip
	if r.LooksDeaf {
		bound = o.slow()
	}
	r.mu.Lock()
	grants := slices.Clone(r.grants[o.of])
	r.mu.Unlock()
	if !r.undisturbed() {
		return
	}
	for i, g := range grants {
		over, next := r.recorder.Now(), r.recorder.Now()
		if i+1 < len(grants) {
			over, next = grants[i+1].at, grants[i+1].at
		}
		if g.over > 0 {
			over = min(over, g.over)
		}
		if g.at > o.slow() && over-g.at > bound {
			r.bite("onlooker:term")
			o.expect(g.at, g.at+bound, g.token)
		}
		// Who was killed, or has lost its lease, keeps everybody out for its rest.
		if rest := 2 * r.longest(); g.over > 0 && next-g.over > rest+bound {
			r.bite("onlooker:nobody")
			o.expect(g.over-r.RoundTrip, g.over+rest+bound, 0)
		}
	}
}

// expect expects a sighting of that token in that time, 0: of nobody.
func (o *onlooker) expect(from, to time.Duration, token uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var latest uint64
	for _, s := range o.seen {
		switch latest = s.leader.Token; {
		case s.at > to:
		case token > 0 && latest == token, token == 0 && latest == 0 && s.at >= from:
			return
		}
	}
	o.run.Find(observes, "an onlooker was not told between %v and %v that %s is led with token %d (0: by nobody)", from, to, o.of, token)
}

// leave expects, when all have left, that it is told so once their leases are over; and
// ends it.
func (o *onlooker) leave() {
	r := o.run
	sleep(context.Background(), r.longest()+o.slow())
	if lasts := r.Has(Persist, Expire, Overwrite, StepClock); !lasts && !r.far() && r.free(o.name) {
		r.bite("onlooker:left")
		if last := o.last(); !o.asks(last) && (last.failed || last.leader.ID != "") {
			r.Find(observes, "nobody leads %s any more, and an onlooker was told last, at %v, that %v", o.of, last.at, last)
		}
	}
	o.stop()
	<-o.ended
	o.link.Close()
}

// free reports whether nobody has the lease of an election of the first world.
func (r *run) free(name string) (free bool) {
	p := r.processes[0]
	r.data(p, func(do func(...string) redismodel.Reply) { free = do("EXISTS", p.keyOf(name, "lease")).Int == 0 })
	return free
}

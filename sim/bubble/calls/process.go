package calls

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble/clock"
	"github.com/recount-io/recount/sim/bubble/gate"
	"github.com/recount-io/recount/sim/bubble/network"
)

// process is a process of a name, with a candidate in each election. It may be
// killed and started again.
type process struct {
	run   *run
	index int
	name  string
	link  *network.Link

	mu    sync.Mutex
	life  *life         // nil while none runs
	lives int           // that there have been
	died  time.Duration // when the life before ended; below 0: there was none
}

// life is one incarnation of a process.
type life struct {
	process    *process
	began      time.Time
	release    Release
	lease      time.Duration
	gate       gate.Gate
	clock      clock.Clock
	endpoint   *network.Endpoint
	store      *redisstore.Store
	bids       sim.Bids
	stop       context.CancelFunc
	candidates []*candidate
	ended      chan struct{} // closed when all candidates have ended

	mu      sync.Mutex
	dead    bool
	died    time.Duration           // when it did
	asked   time.Time               // when it was asked to end; zero if it was not
	pending map[int64]history.Event // operations that were invoked and not completed
}

// database is the process's, prefix what its keys begin with.
func (p *process) database() int { return p.world() % p.run.Databases }
func (p *process) prefix() string {
	return []string{redisstore.DefaultPrefix, "staging:"}[p.world()/p.run.Databases]
}

func (p *process) world() int { return p.run.world(p.index) }

// named is an election's name in the history: databases and prefixes are worlds
// apart.
func (p *process) named(election string) string {
	return fmt.Sprintf("db%d/%s%s", p.database(), p.prefix(), election)
}

func (p *process) behavior() Behavior { return p.run.Processes[p.index] }

func (p *process) current() *life {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.life
}

// candidate is the one in an election, nil if the process does not run.
func (p *process) candidate(e int) *candidate {
	if l := p.current(); l != nil {
		return l.candidates[e]
	}
	return nil
}

// leads are the candidates of the process that lead.
func (p *process) leads() []*candidate {
	l := p.current()
	if l == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(l.candidates), func(c *candidate) bool { return !c.leads() })
}

// age is how long the process has lived.
func (l *life) age() time.Duration { return time.Since(l.began) }

// kill ends the process without warning.
func (p *process) kill() {
	l := p.bury()
	if l == nil {
		return
	}
	l.die(history.Killed)
	l.endpoint.Vanish()
	l.stop()
	l.gate.Open()
}

// bury takes the process's life, if it has one.
func (p *process) bury() *life {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.life
	p.life = nil
	if l != nil {
		p.died = p.run.recorder.Now()
	}
	return l
}

// die records the end of the life. Nothing of it is recorded any more.
func (l *life) die(why history.Why) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return
	}
	recorder := l.process.run.recorder
	l.dead, l.died = true, recorder.Now()
	for _, number := range slices.Sorted(maps.Keys(l.pending)) {
		e := l.pending[number]
		e.Kind, e.Error = history.Info, "the process ended"
		recorder.Stamp(e)
	}
	recorder.Stamp(history.Event{Kind: history.Exit, Node: l.process.name, Why: why})
}

// quit ends the process as one is that is asked to: its candidates stop. It waits
// for its end, but not for ever.
func (p *process) quit(patience time.Duration) {
	l := p.current()
	if l == nil {
		return
	}
	l.mu.Lock()
	if l.asked.IsZero() {
		l.asked = time.Now()
	}
	l.mu.Unlock()
	l.stop()
	select {
	case <-l.ended:
		if p.run.healed() {
			p.expectClosed()
		}
		if p.current() == l {
			p.bury()
			l.die(history.ByItself)
			l.endpoint.Vanish()
		}
	case <-time.After(patience):
		if p.current() == l {
			p.kill()
		}
	}
}

// expectClosed expects that nothing is left of the connections of a process whose
// electors and store have ended.
func (p *process) expectClosed() {
	time.Sleep(2 * dialTimeout) // one may be opened still
	if n := p.link.Connections(); n > 0 {
		p.run.Find(connections, "%s has ended, and %d of its connections are open", p.name, n)
	}
}

// stand makes the process stand still for a while.
func (l *life) stand(ctx context.Context, d time.Duration) {
	l.gate.Close()
	l.endpoint.Stand()
	sleep(ctx, d)
	l.endpoint.GoOn()
	l.gate.Open()
	for _, c := range l.candidates {
		c.awake()
	}
}

// start starts the process, unless it runs.
func (p *process) start(after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life != nil || p.run.ending() {
		return
	}
	r := p.run
	r.recorder.Stamp(history.Event{Kind: history.Start, Node: p.name})
	l := &life{process: p, began: time.Now(), endpoint: p.link.Endpoint(), pending: map[int64]history.Event{}, ended: make(chan struct{})}
	l.release, l.lease = p.behavior().Releases[p.lives%2], r.lease(p.index, p.lives)
	p.lives++
	l.clock = clock.New(r.recorder.Now, r.rate(p.index), &l.gate, r.Number+uint64(p.index)<<56)
	p.life = l
	closing := l.open()
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	var candidates sync.WaitGroup
	for e := range r.Elections {
		l.candidates = append(l.candidates, newCandidate(l, e))
	}
	r.mu.Lock()
	r.lived = append(r.lived, l)
	r.mu.Unlock()
	for e, one := range l.candidates {
		candidates.Go(func() {
			time.Sleep(after + time.Duration(e)*37*time.Microsecond)
			one.compete(ctx)
		})
	}
	r.lives.Go(func() {
		candidates.Wait()
		_ = l.store.Close() // nobody uses it any more
		closing()
		close(l.ended)
	})
}

// dialTimeout is that of the store's own dialer.
const dialTimeout = 2 * time.Second

// gone reports whether nothing of the life counts any more.
func (l *life) gone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

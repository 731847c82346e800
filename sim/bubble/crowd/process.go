package crowd

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/bubble/network"
)

// process is a process of a name, with a candidate in each election. It may be
// killed and started again.
type process struct {
	run   *run
	index int
	name  string
	link  *network.Link

	mu   sync.Mutex
	life *life // nil while none runs
}

// life is one incarnation of a process.
type life struct {
	process  *process
	began    time.Time
	endpoint *network.Endpoint
	store    *redisstore.Store
	stop     context.CancelFunc
	electors []*elector.Elector

	mu    sync.Mutex
	dead  bool
	terms map[int]*elector.Term // by election
}

// database is the process's.
func (p *process) database() int { return p.index % p.run.Databases }

// named is an election's name in the history: databases are worlds apart.
func (p *process) named(e int) string { return "db" + strconv.Itoa(p.database()) + "/" + election(e) }

func (p *process) current() *life {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.life
}

// elector is the candidate in an election, nil if the process does not run.
func (p *process) elector(e int) *elector.Elector {
	if l := p.current(); l != nil {
		return l.electors[e]
	}
	return nil
}

// term is the last one of the process in an election.
func (p *process) term(e int) *elector.Term {
	l := p.current()
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.terms[e]
}

// leads are the elections that the process leads in.
func (p *process) leads() []string {
	var all []string
	for e := range p.run.Elections {
		if t := p.term(e); t != nil && t.Check(0) == nil {
			all = append(all, p.named(e))
		}
	}
	return all
}

// age is how long the process has lived.
func (l *life) age() time.Duration { return time.Since(l.began) }

// kill ends the process without warning.
func (p *process) kill() {
	p.mu.Lock()
	l := p.life
	p.life = nil
	p.mu.Unlock()
	if l == nil {
		return
	}
	l.mu.Lock()
	l.dead = true
	l.mu.Unlock()
	p.run.recorder.Stamp(history.Event{Kind: history.Exit, Node: p.name, Why: history.Killed})
	l.endpoint.Vanish()
	l.stop()
}

// start starts the process, unless it runs.
func (p *process) start(after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life != nil {
		return
	}
	r := p.run
	r.recorder.Stamp(history.Event{Kind: history.Start, Node: p.name})
	l := &life{process: p, began: time.Now(), endpoint: p.link.Endpoint(), terms: map[int]*elector.Term{}}
	p.life = l
	var err error
	l.store, err = redisstore.New(&redis.UniversalOptions{
		Addrs: []string{"store:6379"}, DB: p.database(), PoolSize: r.Pool, Dialer: l.dial,
	}, redisstore.Options{})
	if err != nil {
		panic("crowd: " + err.Error()) // the options are constants
	}
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	var candidates sync.WaitGroup
	for e := range r.Elections {
		one := l.candidate(e)
		l.electors = append(l.electors, one)
		candidates.Go(func() {
			time.Sleep(after + time.Duration(e)*37*time.Microsecond)
			_ = one.Run(ctx) // how it ended, its events tell
		})
	}
	r.lives.Go(func() {
		candidates.Wait()
		_ = l.store.Close() // nobody uses it any more
	})
}

// dialTimeout is that of the store's own dialer.
const dialTimeout = 2 * time.Second

func (l *life) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	return l.endpoint.Dial(ctx)
}

// candidate makes the process's elector of an election.
func (l *life) candidate(e int) *elector.Elector {
	r := l.process.run
	one, err := elector.New(l.store, elector.Config{
		Election: election(e), ID: l.process.name, Lease: r.Lease, Clock: l, Logger: quiet,
		OnStarted: func(ctx context.Context, t *elector.Term) { l.work(ctx, e, t) },
		OnStopped: func(*elector.Term, elector.Reason) { l.take(l.manners().Stops) },
		OnEvent:   func(ev elector.Event) { l.tell(e, ev) },
	})
	if err != nil {
		panic("crowd: " + err.Error()) // the settings are derived from a valid lease
	}
	return one
}

func (l *life) manners() Manners { return l.process.run.Case.Processes[l.process.index] }

// Now implements elector.Clock.
func (l *life) Now() time.Duration { return time.Since(l.began) }

// AfterFunc implements elector.Clock.
func (l *life) AfterFunc(d time.Duration, f func()) elector.Timer { return time.AfterFunc(d, f) }

// tell records what the process believes.
func (l *life) tell(e int, ev elector.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return
	}
	r := l.process.run
	base := r.recorder.Now() - l.Now()
	event := history.Event{At: base + ev.At, Node: l.process.name, Election: l.process.named(e), Token: ev.Token}
	switch ev.Kind {
	case elector.EventElected:
		event.Kind, event.Until = history.Elected, history.At(base+ev.Until)
		r.see(event.Election, event.At)
	case elector.EventExtended:
		event.Kind, event.Until = history.Extended, history.At(base+ev.Until)
	case elector.EventDeposed:
		event.Kind, event.Why = history.Deposed, history.Why(ev.Reason)
	default:
		return
	}
	r.recorder.Record(event)
}

// work writes as long as the term lasts.
func (l *life) work(ctx context.Context, e int, t *elector.Term) {
	l.mu.Lock()
	l.terms[e] = t
	l.mu.Unlock()
	r := l.process.run
	pace := time.NewTicker(r.pace())
	defer pace.Stop()
	for n := 1; ctx.Err() == nil; n++ {
		if t.Check(0) != nil || !l.write(e, t.Token(), n) {
			break
		}
		if l.manners().Resigns && n == 3*r.Writes { // three leases
			return
		}
		select {
		case <-ctx.Done():
		case <-pace.C:
		}
	}
	l.take(l.manners().Works)
}

// take takes as long as the manner wants; a manner that hangs does until the end
// of the run, or while the process lives.
func (l *life) take(m Manner) {
	switch m {
	case Slowly:
		select {
		case <-time.After(l.process.run.Lease / 2):
		case <-l.process.run.over:
		}
	case Never:
		<-l.process.run.over
	}
}

// write makes a write to the protected resource, which takes no time.
func (l *life) write(e int, token uint64, n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return false
	}
	r := l.process.run
	name := l.process.named(e)
	op := history.Event{
		Kind: history.Invoke, Call: history.Write, Node: l.process.name, Election: name, Op: r.recorder.NextOp(), Token: token,
		Value: fmt.Sprintf("%s/%d/%d", l.process.name, token, n),
	}
	r.recorder.Stamp(op)
	r.mu.Lock()
	defer r.mu.Unlock()
	op.Kind = history.Ok
	if token < r.fences[name] {
		op.Kind, op.Fence = history.Fail, r.fences[name]
	}
	r.fences[name] = max(r.fences[name], token)
	r.recorder.Stamp(op)
	return op.Kind == history.Ok
}

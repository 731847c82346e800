package soak

import (
	"context"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/protocol"
	"github.com/recount-io/recount/sim/stage"
)

// environment has a candidate's config, as JSON.
const environment = "RECOUNT_SOAK_CANDIDATE"

const (
	beatEvery  = 100 * time.Millisecond
	writeEvery = time.Second
)

// config is what a candidate's process is told.
type config struct {
	Node      string
	URL       string
	Elections []string
	Others    []string // the other candidates
	Lease     time.Duration
	Epoch     time.Duration
	FirstOp   int64
	Seed      uint64
	Usage     time.Duration // how often to say what the process consumes
	Leak      string
}

// Main is called first in main and in TestMain. In a candidate's process it
// competes until it is asked to stop, and ends the process; in every other one it
// returns at once.
func Main() {
	text := os.Getenv(environment)
	if text == "" {
		return
	}
	var c config
	err := json.Unmarshal([]byte(text), &c)
	if err == nil {
		err = compete(c)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(70)
	}
	os.Exit(0)
}

// process is a candidate's process: a candidate in each of its elections.
type process struct {
	config
	store *recorded
	out   *teller
	leads atomic.Int64

	mu     sync.Mutex
	writes map[int64]chan reply
	leaked []*os.File
}

func compete(c config) error {
	redis.SetLogger(Silent{})
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	options, err := redisstore.ParseURL(c.URL)
	if err != nil {
		return err
	}
	store, err := redisstore.New(options, redisstore.Options{})
	if err != nil {
		return err
	}
	out := newTeller(os.Stdout, c)
	p := &process{config: c, store: &recorded{Store: store, node: c.Node, out: out, terms: map[term]chan struct{}{}}, out: out, writes: map[int64]chan reply{}}
	go p.obey(os.Stdin)
	go p.beat()
	go protocol.Stalls(context.Background(), c.Lease/protocol.StallShare, func(lasted time.Duration) { out.tell(message{Stalled: lasted}, true) })
	var all sync.WaitGroup
	errs := make(chan error, len(c.Elections))
	for i, name := range c.Elections {
		all.Go(func() { errs <- p.candidate(ctx, name, i) })
	}
	all.Wait()
	for range c.Elections {
		if err := <-errs; err != nil {
			return err
		}
	}
	out.tell(message{}, true)
	return store.Close()
}

// Silent is a logger for package redis: that servers are away is what a soak is for.
type Silent struct{}

// Printf says nothing.
func (Silent) Printf(context.Context, string, ...any) {}

// obey takes in what the resource decided. When that ends the harness is gone, and
// so is this process.
func (p *process) obey(from io.Reader) {
	for replies := gob.NewDecoder(from); ; {
		var r reply
		if replies.Decode(&r) != nil {
			os.Exit(3)
		}
		p.mu.Lock()
		waiting := p.writes[r.Op]
		delete(p.writes, r.Op)
		p.mu.Unlock()
		if waiting != nil {
			waiting <- r
		}
	}
}

// beat says every so often that everything before was told, and what the process
// consumes.
func (p *process) beat() {
	next := time.Now()
	for range time.Tick(beatEvery) {
		m := message{}
		if now := time.Now(); now.After(next) {
			next = now.Add(p.Usage)
			goroutines, heap := protocol.OwnUsage()
			m.Usage, m.Leads = &history.Usage{Goroutines: goroutines, Heap: heap}, int(p.leads.Load())
		}
		p.out.tell(m, true)
	}
}

// monotonic is the clock of the candidates: that of the events.
type monotonic struct{}

// Now implements elector.Clock.
func (monotonic) Now() time.Duration { return protocol.Monotonic() }

// AfterFunc implements elector.Clock.
func (monotonic) AfterFunc(d time.Duration, f func()) elector.Timer { return time.AfterFunc(d, f) }

// candidate competes in one election until ctx is done, in one of the ways there
// are to use an elector.
func (p *process) candidate(ctx context.Context, name string, i int) error {
	random := rand.New(rand.NewPCG(p.Seed, uint64(i)))
	var e *elector.Elector
	e, err := elector.New(p.store, elector.Config{
		Election: name, ID: p.Node, Lease: p.Lease, Clock: monotonic{}, Logger: slog.New(slog.DiscardHandler),
		OnStarted: func(ctx context.Context, t *elector.Term) { p.work(ctx, name, t, drawn(random)) },
		OnEvent:   func(e elector.Event) { p.transition(name, e) },
	})
	if err != nil {
		return err
	}
	switch i % 4 {
	case 0:
		return p.campaign(ctx, e, name, random)
	case 1:
		for t, err := range e.Terms(ctx) {
			if err != nil {
				return err
			}
			p.work(t.Context(), name, t, drawn(random))
			if random.IntN(2) == 0 {
				_ = e.Transfer(ctx, p.Others[random.IntN(len(p.Others))]) // nobody may be there
			}
		}
		return nil
	default:
		return e.Run(ctx)
	}
}

// campaign competes for one term after the other.
func (p *process) campaign(ctx context.Context, e *elector.Elector, name string, random *rand.Rand) error {
	for {
		t, err := e.Campaign(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		working, stop := context.WithCancel(t.Context())
		unhook := context.AfterFunc(ctx, stop)
		p.work(working, name, t, drawn(random))
		unhook()
		stop()
		resigning, cancel := context.WithTimeout(context.Background(), 2*p.Lease)
		_ = t.Resign(resigning) // a lease that is not released ends by itself
		cancel()
	}
}

// drawn is how long a leader works until it gives up by itself: a minute on average.
func drawn(random *rand.Rand) time.Duration {
	return time.Second + time.Duration(random.ExpFloat64()*float64(time.Minute))
}

// transition reports a change of what the candidate believes.
func (p *process) transition(name string, e elector.Event) {
	entry := history.Event{Node: p.Node, Election: name, At: e.At - p.Epoch, Token: e.Token}
	switch e.Kind {
	case event.Elected:
		p.leads.Add(1)
		entry.Kind, entry.Until = history.Elected, history.At(e.Until-p.Epoch)
	case event.Extended:
		entry.Kind, entry.Until = history.Extended, history.At(e.Until-p.Epoch)
	case event.Deposed:
		p.leads.Add(-1)
		entry.Kind, entry.Why = history.Deposed, history.Why(e.Reason)
		p.leak()
	default:
		return
	}
	p.out.tell(message{Event: &entry}, entry.Kind == history.Deposed)
	switch entry.Kind {
	case history.Elected:
		p.store.began(term{name, e.Token})
	case history.Deposed:
		p.store.over(term{name, e.Token})
	}
}

// leak does what Options.Leak asks for.
func (p *process) leak() {
	switch p.Leak {
	case "goroutine":
		go func() { select {} }()
	case "descriptor":
		if f, err := os.Open(os.DevNull); err == nil {
			p.mu.Lock()
			p.leaked = append(p.leaked, f)
			p.mu.Unlock()
		}
	}
}

// work is a leader's work: a write each second, until ctx is done or it has led for
// so long.
func (p *process) work(ctx context.Context, name string, t *elector.Term, long time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	for ctx.Err() == nil && t.Check(0) == nil && p.write(ctx, name, t) && stage.Sleep(ctx, writeEvery) {
	}
}

// write makes a write and reports whether to go on.
func (p *process) write(ctx context.Context, name string, t *elector.Term) bool {
	answer := make(chan reply, 1)
	p.mu.Lock() // the reply may come at once
	op := p.out.invoke(history.Event{Node: p.Node, Election: name, Call: history.Write, Token: t.Token()})
	p.writes[op.Op] = answer
	p.mu.Unlock()
	select {
	case r := <-answer:
		if !r.Accepted {
			t.Refused(r.Fence)
		}
		return r.Accepted
	case <-ctx.Done():
		return false
	}
}

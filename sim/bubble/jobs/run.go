package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble/network"
	"github.com/recount-io/recount/sim/bubble/redisserver"
	"github.com/recount-io/recount/sim/space"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// run is one run of a case.
type run struct {
	Case
	began   time.Time
	hosts   []*host
	links   []*network.Link // of the hosts, and of the operator
	ops     *redisstore.Store
	over    chan struct{} // closed at the end: whatever heeds nothing ends
	control redisserver.Control
	served  atomic.Int64 // connections that the servers have
	notes   notes

	mu     sync.Mutex // never held while anything waits, or another lock is taken
	server *redisserver.Server
	start  time.Duration // when the first tick is
	locks  []*lock
	calls  []*call
	struck map[int]*host // whom an act has hit, by its number
	lapsed bool          // keys of a lock have expired between two uses
}

// Run carries out the case.
func (c Case) Run(ctx context.Context) space.Outcome {
	logging.Disable() // connections break on purpose
	r := &run{Case: c, began: time.Now(), over: make(chan struct{}), struck: map[int]*host{}, notes: notes{seen: map[string]bool{}}}
	r.server = redisserver.New(redisserver.Options{Clock: r.control.Clock, Refuse: r.control.Refuse, Executed: r.executed})
	for i, h := range c.Hosts {
		r.hosts = append(r.hosts, &host{Host: h, run: r, index: i, name: "h" + strconv.Itoa(i), link: r.link(i)})
	}
	for i := range c.Jobs {
		r.locks = append(r.locks, &lock{name: "job" + strconv.Itoa(i), asked: notYet})
	}
	operator := r.link(len(c.Hosts)).Endpoint()
	r.ops = r.storeOn(operator, 0)
	r.live(ctx)
	return r.outcome()
}

// live is all that happens in the run.
func (r *run) live(ctx context.Context) {
	if r.Created {
		for _, l := range r.locks {
			if err := r.ops.Vouch(ctx, l.name); err != nil {
				panic("jobs: " + err.Error()) // nothing is in its way yet
			}
		}
	}
	start := time.Now()
	r.mu.Lock()
	r.start = r.now()
	r.mu.Unlock()
	var calling, acting sync.WaitGroup
	for _, h := range r.hosts {
		for tick := range r.Ticks {
			calling.Go(func() {
				time.Sleep(time.Until(start.Add(time.Duration(tick)*r.Period + h.Late)))
				h.starts(tick)
			})
		}
	}
	for i, a := range r.Acts {
		acting.Go(func() {
			time.Sleep(time.Until(start.Add(a.At + time.Duration(i+1)))) // never at the moment of a call, or of another act
			r.happen(ctx, i, a)
		})
	}
	calling.Wait()
	acting.Wait()
	time.Sleep(r.lasts() + 2*r.Lease + readTimeout) // what is under way comes to its end, if it has one
	r.end()
}

// link is the way of somebody to the server.
func (r *run) link(i int) *network.Link {
	net := sim.Network{Latency: r.RoundTrip / 2, Jitter: r.RoundTrip / 20}
	l := network.NewLink(r.Number<<8+uint64(i), net, counted{r, r.server}) //nolint:gosec // a few hosts
	r.links = append(r.links, l)
	return l
}

// counted is a server whose connections are counted.
type counted struct {
	run *run
	*redisserver.Server
}

// Serve implements network.Target.
func (c counted) Serve(conn net.Conn) {
	c.run.served.Add(1)
	defer c.run.served.Add(-1)
	c.Server.Serve(conn)
}

// dialTimeout is that of the store's own dialer.
const dialTimeout = 2 * time.Second

// storeOn is a store that reaches the server by an endpoint.
func (r *run) storeOn(e *network.Endpoint, pool int) *redisstore.Store {
	store, err := redisstore.New(&redis.UniversalOptions{
		Addrs: []string{"store:6379"}, PoolSize: pool,
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, dialTimeout)
			defer cancel()
			return e.Dial(ctx)
		},
	}, redisstore.Options{Expire: r.Expire})
	if err != nil {
		panic("jobs: " + err.Error()) // the options are as it wants them
	}
	return store
}

// now is the time since the beginning.
func (r *run) now() time.Duration { return time.Since(r.began) }

func (r *run) primary() *redisserver.Server {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.server
}

// executed is called after each command of a client.
func (r *run) executed(s *redisserver.Server, db *redismodel.Server, args []string, reply redismodel.Reply) {
	if args[0] != "EVAL" && args[0] != "EVALSHA" || len(args) < 4 || reply.Kind == redismodel.Error {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s != r.server {
		return // nobody is led to it any more
	}
	for _, l := range r.locks {
		if l.of(args[3]) {
			r.look(db, l, false)
			r.asks(l, args)
		}
	}
}

// drift is what is tolerated.
func (r *run) drift() float64 {
	if r.Drift == 0 {
		return elector.DefaultDrift
	}
	return r.Drift
}

// end lets everything come to rest: calls are cancelled, jobs that heed nothing end, and
// then nothing may be left.
func (r *run) end() {
	for _, h := range r.hosts {
		h.cancels()
	}
	time.Sleep(3*r.Lease + readTimeout)
	close(r.over)
	for _, h := range r.hosts {
		h.closes()
	}
	time.Sleep(r.lasts() + r.lasts()/2 + 2*r.Lease + readTimeout)
	_ = r.ops.Close()            // nobody uses it any more
	time.Sleep(10 * time.Second) // Redis clients notice within seconds that they were closed
	r.expectNothingLeft()
	for _, l := range r.links {
		l.Close()
	}
	time.Sleep(10 * time.Second)
}

// notes are what a run has shown so far.
type notes struct {
	space.Findings

	mu    sync.Mutex
	lines []string
	seen  map[string]bool
}

// find notes that an obligation was broken.
func (r *run) find(obligation, format string, args ...any) {
	r.tell("BROKEN "+obligation+": "+format, args...)
	r.notes.Find(obligation, format, args...)
}

// tell notes what happens.
func (r *run) tell(format string, args ...any) {
	line := fmt.Sprintf("%v ", r.now()) + fmt.Sprintf(format, args...)
	r.notes.mu.Lock()
	defer r.notes.mu.Unlock()
	r.notes.lines = append(r.notes.lines, line)
}

// see notes that something has come about.
func (r *run) see(what string) {
	r.notes.mu.Lock()
	defer r.notes.mu.Unlock()
	r.notes.seen[what] = true
}

// outcome is what came of the run. An act had an effect if it came about; what else is
// drawn has one in every case.
func (r *run) outcome() space.Outcome {
	n := &r.notes
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, feature := range r.Features() {
		act, is := strings.CutPrefix(feature, "act:")
		n.seen[feature] = !is || n.seen[act]
	}
	return space.Outcome{Findings: n.All(), Log: n.lines, Effects: n.seen}
}

var quiet = slog.New(slog.DiscardHandler)

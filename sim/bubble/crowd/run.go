package crowd

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble/network"
	"github.com/recount-io/recount/sim/bubble/redisserver"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// run is one run of a case.
type run struct {
	Case
	recorder  *history.Recorder
	server    *redisserver.Server // the primary
	processes []*process
	lives     sync.WaitGroup
	over      chan struct{} // closed at the end: whatever hangs ends

	mu      sync.Mutex
	fences  map[string]uint64
	elected map[string]time.Duration // when somebody was last
	found   []string
	faults  int
}

// Run carries out the case. It returns its history, and what was found beside what
// the history shows: hand-overs and failovers that took too long.
func (c Case) Run(ctx context.Context) (*history.History, []string) {
	logging.Disable() // connections break on purpose
	begin := time.Now()
	r := &run{Case: c, over: make(chan struct{}), fences: map[string]uint64{}, elected: map[string]time.Duration{}}
	r.recorder = history.NewRecorder(func() time.Duration { return time.Since(begin) })
	r.server = redisserver.New(redisserver.Options{Clock: wall, Databases: c.Databases})
	r.create()
	for i := range c.Processes {
		p := &process{run: r, index: i, name: "p" + strconv.Itoa(i)}
		net := sim.Network{Latency: c.RoundTrip / 2, Jitter: c.RoundTrip / 20}
		p.link = network.NewLink(c.Seed<<8+uint64(i), net, r.server)
		r.processes = append(r.processes, p)
		p.start(time.Duration(i) * time.Millisecond)
	}
	r.act(ctx, begin)
	r.recorder.Stamp(history.Event{Kind: history.Healed})
	sleep(ctx, watched*c.Lease)
	r.recorder.Stamp(history.Event{Kind: history.Note, Text: history.EndOfRunNote})
	r.end()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.recorder.History(r.header()), r.found
}

// see notes that somebody was elected.
func (r *run) see(election string, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.elected[election] = at
}

// electedSince tells whether somebody was elected since then.
func (r *run) electedSince(election string, t time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ever := r.elected[election]
	return ever && at >= t
}

func (r *run) find(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found = append(r.found, fmt.Sprintf(format, args...))
}

// calm tells whether no other act concerns the act's election in a database, or all
// of that, from so long before the act to so long after it, and all of its processes
// are well-mannered.
func (r *run) calm(a Act, db int, before, after time.Duration) bool {
	for i, m := range r.Case.Processes {
		if i%r.Databases == db && m != (Manners{}) {
			return false
		}
	}
	for _, other := range r.Acts {
		near := other.At+other.For > a.At-before && other.At < a.At+after
		here := other.Kind == Kill || a.Kind == Kill || other.Election == a.Election
		if other != a && near && (other.Kind == Failback || here && other.Process%r.Databases == db) {
			return false
		}
	}
	return true
}

// wall is what the server's clock shows.
func wall() time.Duration { return time.Duration(time.Now().UnixNano()) }

// watched is how many leases a case is watched after its last act.
const watched = 6

// header names the promises that such a run can be held to.
func (r *run) header() history.Header {
	h := history.Header{
		Scenario: "crowd", Subject: "recount", World: "bubble", Seed: r.Seed, Lease: r.Lease, Renew: r.Lease / 3, Retry: r.Lease / 15,
		DriftPPM: 10000, Write: r.pace(), ReturnBound: r.bound(), Redis: "model of redis " + redismodel.Version,
		Promises: []string{"AtMostOneLeader", "TokensIncrease", "LeaderReturns"},
	}
	for _, p := range r.processes {
		h.Nodes = append(h.Nodes, p.name)
	}
	return h
}

// bound is how long an election may be without a leader that works once nothing
// happens any more: a lease, its half, and some round trips; a lease more where the
// store was changed, and what the work of the last term takes.
func (r *run) bound() time.Duration {
	bound := r.Lease + r.Lease/2 + 10*r.RoundTrip
	if r.operators() {
		bound += r.Lease + r.Lease/2
	}
	for _, p := range r.Case.Processes {
		if p.Works != AtOnce || p.Stops != AtOnce {
			return bound + 2*r.Lease // work may hold on to its lease for so long (DrainTimeout)
		}
	}
	return bound
}

// pace is how often a leader writes.
func (r *run) pace() time.Duration { return r.Lease / time.Duration(r.Writes) }

// create says of all elections that they are new.
func (r *run) create() {
	r.server.With(func(dbs []*redismodel.Server, now time.Duration) {
		for _, db := range dbs {
			for e := range r.Elections {
				db.Do(now, "SET", key(e, "token"), "0") // as redisstore.Store.Create does
				db.Do(now, "HSET", key(e, "guard"), "run", db.RunID(), "until", "0")
			}
		}
	})
}

// key is a key of an election.
func key(e int, what string) string { return fmt.Sprintf("recount:{%s}:%s", election(e), what) }

func election(e int) string { return "e" + strconv.Itoa(e) }

// act lets everything happen that is to happen.
func (r *run) act(ctx context.Context, begin time.Time) {
	sleep(ctx, 2*r.Lease)
	var acts sync.WaitGroup
	for _, a := range r.Acts {
		sleep(ctx, time.Until(begin.Add(a.At)))
		acts.Go(func() { r.do(ctx, a) })
	}
	acts.Wait()
}

func (r *run) do(ctx context.Context, a Act) {
	r.recorder.Stamp(history.Event{Kind: history.Note, Text: a.String()})
	p := r.processes[a.Process]
	switch a.Kind {
	case Kill:
		led := p.leads()
		died := r.recorder.Now()
		p.kill()
		if r.calm(a, p.database(), 3*r.Lease, 2*r.Lease) {
			go r.expectFailover(ctx, died, led)
		}
		if a.For > 0 {
			sleep(ctx, a.For)
			p.start(0)
		}
	case Transfer:
		r.handOver(ctx, a)
	case Resign:
		if _, t := r.leader(p.database(), a.Election); t != nil {
			_ = t.Resign(ctx) // who cannot release says so in its events
		}
	case Failback:
		r.failBack(ctx, a.For)
	default:
		r.operate(p.database(), a)
	}
}

// operate changes the lease's key.
func (r *run) operate(db int, a Act) {
	command := []string{"DEL", key(a.Election, "lease")}
	switch a.Kind {
	case Persist:
		command[0] = "PERSIST"
	case Expire:
		command = append([]string{"PEXPIRE"}, command[1], strconv.FormatInt(a.For.Milliseconds(), 10))
	}
	r.server.With(func(dbs []*redismodel.Server, now time.Duration) { dbs[db].Do(now, command...) })
}

// leader is who leads an election now.
func (r *run) leader(db, e int) (*process, *elector.Term) {
	for _, p := range r.processes {
		if p.database() != db {
			continue
		}
		if t := p.term(e); t != nil && t.Check(0) == nil && t.Context().Err() == nil {
			return p, t
		}
	}
	return nil, nil
}

// handOver makes the leader of an election hand over to the process of a name.
func (r *run) handOver(ctx context.Context, a Act) {
	to := r.processes[a.Process]
	from, _ := r.leader(to.database(), a.Election)
	if from == nil || from == to {
		return
	}
	if e := from.elector(a.Election); e != nil {
		ctx, cancel := context.WithTimeout(ctx, 2*r.Lease)
		defer cancel()
		began := r.recorder.Now()
		heir := to.current()
		err := e.Transfer(ctx, to.name)
		given := r.recorder.Now()
		bound := r.Lease/5 + 6*r.RoundTrip
		sleep(ctx, bound)
		if err == nil && heir == to.current() && heir != nil && heir.age() > r.Lease && !r.electedSince(to.named(a.Election), began) && r.calm(a, to.database(), 0, given-began+bound) {
			r.find("slow hand-over: %s was handed over to %s, which lives, and nobody was elected for %v", to.named(a.Election), to.name, bound)
		}
	}
}

// expectFailover expects somebody else to be elected where a process led that was
// killed.
func (r *run) expectFailover(ctx context.Context, died time.Duration, led []string) {
	bound := r.Lease + 3*r.Lease/10 + 10*r.RoundTrip
	sleep(ctx, bound)
	for _, election := range led {
		if !r.electedSince(election, died) {
			r.find("slow failover: nobody was elected in %s for %v after its leader was killed at %v", election, bound, died)
			return
		}
	}
}

// failBack puts the replica in the primary's place, and after a while the old one
// in its own again, as it was: nobody has restarted it, and it has learnt nothing.
func (r *run) failBack(ctx context.Context, away time.Duration) {
	old := r.server
	r.mu.Lock()
	r.faults++
	name := fmt.Sprintf("replica%d", r.faults)
	r.mu.Unlock()
	replica := old.Fork(name)
	replica.Promote()
	r.lead(replica)
	sleep(ctx, away)
	r.lead(old)
}

func (r *run) lead(server *redisserver.Server) {
	r.server = server
	for _, p := range r.processes {
		p.link.Retarget(server)
		p.link.Break()
	}
}

// end ends all processes, and what hangs.
func (r *run) end() {
	for _, p := range r.processes {
		p.kill()
	}
	close(r.over)
	for _, p := range r.processes {
		p.link.Close()
	}
	r.lives.Wait()
	time.Sleep(10 * time.Second) // Redis clients notice within seconds that they were closed
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(max(d, 0)):
	case <-ctx.Done():
	}
}

var quiet = slog.New(slog.DiscardHandler)

package bubble

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble/network"
	"github.com/recount-io/recount/sim/candidate"
	"github.com/recount-io/recount/sim/resource"
	"github.com/recount-io/recount/sim/stage"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// Store is what the history's header says of the store.
const Store = "model of redis " + redismodel.Version

// World carries out plans in a bubble of fake time. Its Run must be called inside
// a bubble, one run at a time: bubbletest.Run makes one.
type World struct {
	// Subjects are the electors that a plan can name, beside "recount" and
	// "recount-unprotected".
	Subjects map[string]candidate.Subject

	// Launch, if not nil, gives the first server of each store in place of a model.
	// With real servers, Run is called outside of a bubble, and takes real time.
	Launch func(store int) Server

	// Untrue, if not nil, is told when a candidate is told something of its lease
	// that is not so on the servers (see told), and when somebody who asks is, at the end
	// (see onlooker). It is only for fake time.
	Untrue func(about Truth, what string)

	_ struct{}
}

// electors are the subjects that every world has.
var electors = map[string]candidate.Subject{
	"recount":             candidate.Recount,
	"recount-unprotected": candidate.Unprotected,
}

// Names are those of the subjects, the world's own first.
func (w *World) Names() []string {
	return append(slices.Sorted(maps.Keys(electors)), slices.Sorted(maps.Keys(w.Subjects))...)
}

// run is one run of a plan.
type run struct {
	plan      sim.Plan
	subject   candidate.Subject
	recorder  *history.Recorder
	leaders   *stage.Leadership
	resource  *resource.Resource
	store     *store   // or the first one, where there are several that know nothing of each other
	stores    []*store // all
	nodes     []*node
	byName    map[string]*node
	chance    *dice // of how exactly the schedule is carried out
	processes sync.WaitGroup
	holds     holds
	logs      []io.Closer
	fake      bool // time is
	untrue    func(about Truth, what string)
	onlooker  *onlooker    // nil if there is none
	taps      *taps        // nil: nothing is read from the wire
	touched   atomic.Int64 // when operators changed a server last
}

// prefix and election are what the run's keys are called.
const (
	prefix   = "bubble:"
	election = "e1"
)

// Which part of the world draws from a stream of random numbers.
const (
	drawStage uint64 = iota + 1
	drawLink
	drawProcess
)

// streamOf is a stream of a part's own.
func streamOf(part uint64, index int, life uint64) uint64 {
	return part<<48 | uint64(index)<<32 | life
}

// Run carries out a plan and returns its history. The electors' logs go to the
// folder logs, which must exist; nowhere if it is empty. A run that is stopped by
// ctx returns the history so far and ctx's error.
func (w *World) Run(ctx context.Context, plan sim.Plan, logs string) (*history.History, error) {
	if why := Refuses(plan); why != "" {
		return nil, fmt.Errorf("bubble: scenario %s: %s", plan.Scenario, why)
	}
	subject, known := w.Subjects[plan.Subject]
	if !known {
		subject, known = electors[plan.Subject]
	}
	if !known {
		return nil, fmt.Errorf("bubble: no subject is called %q here: there are %s", plan.Subject, strings.Join(w.Names(), ", "))
	}
	logging.Disable() // connections fail on purpose
	r, err := w.newRun(plan, subject, logs)
	if err != nil {
		return nil, err
	}
	err = r.live(ctx)
	r.taps.record()
	return r.recorder.History(plan.Header("bubble", Store, 0)), err
}

func (w *World) newRun(plan sim.Plan, subject candidate.Subject, logs string) (*run, error) {
	if plan.Network == (sim.Network{}) {
		plan.Network = sim.DefaultNetwork()
	}
	begin := time.Now()
	r := &run{plan: plan, subject: subject, byName: map[string]*node{}, fake: w.Launch == nil, chance: newDice(plan.Seed, drawStage<<48)}
	if r.fake {
		r.untrue = w.Untrue
	}
	r.recorder = history.NewRecorder(func() time.Duration { return time.Since(begin) })
	r.leaders = stage.NewLeadership(plan.NodeNames())
	r.recorder.Observe(func(e history.Event) {
		r.leaders.See(e)
		r.onlooker.see(e)
	})
	r.resource = resource.New(r.recorder)
	r.holds.byNode = map[string]*resource.Hold{}
	r.taps = r.newTaps()
	w.build(r)
	for i, name := range plan.NodeNames() {
		logger, err := r.logger(logs, name)
		if err != nil {
			return nil, errors.Join(err, r.closeLogs())
		}
		n := &node{run: r, index: i, name: name, logger: logger, clocks: clocks{rate: 1}}
		for j, s := range r.stores {
			n.links = append(n.links, network.NewLink(mix(plan.Seed, streamOf(drawLink, i, uint64(j))), plan.Network, s.server))
		}
		r.nodes = append(r.nodes, n)
		r.byName[name] = n
	}
	return r, nil
}

// mix makes one seed of two numbers.
func mix(a, b uint64) uint64 {
	x := a ^ b*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// logger is where a candidate's elector logs.
func (r *run) logger(logs, name string) (*slog.Logger, error) {
	if logs == "" {
		return slog.New(slog.DiscardHandler), nil
	}
	file, err := os.Create(filepath.Join(logs, name+".log"))
	if err != nil {
		return nil, fmt.Errorf("bubble: log of %s: %w", name, err)
	}
	r.logs = append(r.logs, file)
	return slog.New(slog.NewTextHandler(file, &slog.HandlerOptions{Level: slog.LevelDebug})), nil
}

func (r *run) closeLogs() error {
	var errs []error
	for _, file := range r.logs {
		errs = append(errs, file.Close())
	}
	return errors.Join(errs...)
}

// BlindUser may not use INFO, on models and on real servers that are to be like them.
const BlindUser = "blind"

// release is what a candidate runs in its present life.
func (r *run) release(n *node) sim.Release {
	if r.plan.Releases == nil {
		return sim.Release{Replicas: r.plan.Replicas}
	}
	return r.plan.Releases[n.index][(n.lives-1)%2]
}

// login is the addresses of servers, for the user of a release.
func login(release sim.Release, urls ...string) (all []string) {
	for _, url := range urls {
		if release.Blind {
			url = strings.Replace(url, "://", "://"+BlindUser+":any@", 1)
		}
		all = append(all, url)
	}
	return all
}

// settings are what a candidate is told.
func (r *run) settings(n *node) candidate.Settings {
	t, release := r.plan.Timings, r.release(n)
	return candidate.Settings{
		Election: prefix + election, Node: n.name, RedisURL: login(release, r.store.url())[0], RedisURLs: login(release, r.urls()...), Replicas: release.Replicas,
		Lease: t.Lease, Renew: t.Renew, Retry: t.Retry, RequestTimeout: t.RequestTimeout, Writes: r.plan.Writes, Observes: r.plan.Asks(), Drift: r.plan.Drift,
		ClockRate: n.clocks.rate, ClockOffset: n.clocks.offset,
	}
}

// keep makes of a candidate's clock what its elector reads.
func (p *process) keep(c *candidate.Clock) elector.Clock { return &clock{Clock: c, process: p} }

// live lets the candidates live through the plan: they start, faults come and go,
// all is healed, and then they must get on.
func (r *run) live(ctx context.Context) error {
	defer r.end()
	held := r.watch()
	defer held.record()
	r.look()
	for _, n := range r.nodes {
		n.launch(2 * lateness)
	}
	patience := 5*r.plan.Timings.Lease + r.actTime()
	r.leaders.Await(ctx, patience)
	d := &stage.Driver{
		World: &world{r}, Recorder: r.recorder, Leaders: r.leaders, Seed: r.plan.Seed, Patience: patience,
		Late: func() time.Duration { return r.chance.upTo(r.plan.Lateness) },
	}
	err := d.Drive(ctx, r.plan.Schedule)
	r.recorder.Stamp(history.Event{Kind: history.Healed})
	if err == nil {
		r.rest(ctx)
	}
	return errors.Join(err, ctx.Err())
}

// actTime bounds what should take milliseconds, unless something is in its way for
// as long as a lease: a process that resigns, a write that is to come.
func (r *run) actTime() time.Duration { return max(5*time.Second, r.plan.Timings.Lease) }

// end ends all candidates at once, and lets everything come to rest.
func (r *run) end() {
	r.recorder.Stamp(history.Event{Kind: history.Note, Text: history.EndOfRunNote})
	for _, n := range r.nodes {
		if p := n.running(); p != nil {
			p.kill(history.EndOfRun)
		}
	}
	_ = r.resource.Close() // it is not served
	r.onlooker.end()
	for _, s := range r.stores {
		s.close()
	}
	for _, n := range r.nodes {
		for _, link := range n.links {
			link.Close()
		}
	}
	r.processes.Wait()
	if r.fake {
		time.Sleep(settling)
	}
	_ = r.closeLogs() // what is lost of a log is lost
}

// settling is how long Redis clients take, at the most, until they notice that
// they were closed: a pool that could not connect looks once a second.
const settling = 10 * time.Second

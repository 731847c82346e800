package live

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/topology"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/live/inspection"
	"github.com/recount-io/recount/sim/live/redisserver"
	"github.com/recount-io/recount/sim/protocol"
	"github.com/recount-io/recount/sim/resource"
	"github.com/recount-io/recount/sim/stage"
)

const (
	// startTime bounds how long a candidate may take to start: on a busy
	// machine a binary with the race detector takes its time.
	startTime = time.Minute
	// drainShare is the part of a lease after which what the store noted is fetched.
	drainShare = 4
)

// Progress is what a run tells while it goes on.
type Progress struct {
	Scenario string
	Fault    string   // put on or taken off, if any
	Targets  []string // of the fault
	On       bool
	Phase    string // "started", "faults", "healed", "done"
	Advice   string // what the user should know and do, if anything; without a Phase
}

// run is one run of a plan.
type run struct {
	plan     sim.Plan
	session  *Session
	logs     string
	election string // with the prefix of the run's keys
	recorder *history.Recorder
	leaders  *stage.Leadership
	stalls   *stalls
	loads    *overloads

	starvation *starvation
	world      *world
	taps       *taps                // nil: nothing is read from the wire
	servers    []redisserver.Server // of the store: those that know nothing of each other
	beside     []string             // in the environment of every candidate
	rows       *topology.Postgres   // for electors that keep their leases there, else nil
	close      []func() error       // undone in reverse order
}

// Run carries out a plan and returns its history, or a *CandidateError and none
// if the candidates end before anybody leads. Logs of the candidates go to
// the folder logs, which must exist; nowhere if it is empty.
//
// If ctx ends first, everything is healed and the history so far is returned
// together with ctx's error. Whatever happens, nothing that the run started is
// left when it returns: no process, no proxy, no key.
func (s *Session) Run(ctx context.Context, plan sim.Plan, logs string) (h *history.History, err error) {
	servers, err := s.borrow(ctx, plan.Topology)
	if err != nil {
		return nil, err
	}
	epoch := protocol.Monotonic()
	r := &run{
		plan: plan, session: s, logs: logs, servers: servers,
		recorder: history.NewRecorder(func() time.Duration { return protocol.Monotonic() - epoch }),
		leaders:  stage.NewLeadership(plan.NodeNames()),
	}
	r.stalls = &stalls{least: plan.Timings.Lease / protocol.StallShare, recorder: r.recorder}
	r.loads = &overloads{least: r.stalls.least, recorder: r.recorder}
	r.starvation = &starvation{proc: "/proc", nodes: plan.NodeNames(), forks: map[int]bool{}}
	r.recorder.Observe(r.leaders.See)
	defer func() {
		err = errors.Join(err, r.undo())
		err = errors.Join(err, s.giveBack(servers, err == nil))
		r.taps.record()
		var unusable *CandidateError
		if !errors.As(err, &unusable) { // of which there is nothing to tell
			h = r.recorder.History(plan.Header(s.hosts.World(), describe(servers), sim.ClockError))
		}
	}()
	if err := r.wantPostgres(ctx); err != nil {
		return nil, err
	}
	if err := r.build(ctx, epoch); err != nil {
		return nil, err
	}
	return nil, r.live(ctx)
}

// build makes the world of the run: the protected resource, the candidates
// with their ways to the store, and the harness's own way to it.
func (r *run) build(ctx context.Context, epoch time.Duration) error {
	prefix := r.session.options.Prefix + inspection.RunMark + randomName() + ":"
	r.election = prefix + "e1"
	listener, err := r.session.hosts.Listen()
	if err != nil {
		return fmt.Errorf("live: listen for writes: %w", err)
	}
	res := resource.Serve(listener, r.recorder)
	r.close = append(r.close, res.Close)
	if err := r.admit(ctx); err != nil {
		return err
	}
	parts, undo, err := openParts(r.servers, prefix)
	r.close = append(r.close, undo...)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if !p.server.Private() {
			p.leftovers.register = newRegister(p.direct, r.session.options.Prefix, prefix, r.keep())
		}
	}
	r.close = append(r.close, func() error { return r.deleteKeys() })
	r.world = &world{
		part: parts[0], parts: parts,
		candidates: map[string]*candidate{}, links: map[string]way{}, ways: map[string]string{}, holds: map[string]*resource.Hold{},
		resource: res, election: "e1", recorder: r.recorder,
		marker: inspection.Marker(r.session.options.Prefix),
		audit:  &auditor{store: parts[0].store, election: "e1", recorder: r.recorder},
	}
	r.taps = r.newTaps()
	r.world.taps = r.taps
	for _, node := range r.plan.NodeNames() {
		if err := r.addCandidate(ctx, node, prefix, epoch); err != nil {
			return err
		}
	}
	return nil
}

// logOf is where a candidate's log goes.
func (r *run) logOf(node string) string {
	if r.logs == "" {
		return os.DevNull
	}
	return filepath.Join(r.logs, node+".log")
}

func (r *run) addCandidate(ctx context.Context, node, prefix string, epoch time.Duration) error {
	host, err := r.session.hosts.Host(ctx, strings.TrimSuffix(prefix, ":")+"-"+node)
	if err != nil {
		return err
	}
	r.close = append(r.close, host.Close)
	for _, server := range nodesOf(r.servers) {
		link, err := host.Link(ctx, server)
		if err != nil {
			return err
		}
		r.world.links[node] = append(r.world.links[node], link)
	}
	addr, err := r.reach(node, r.world.links[node])
	if err != nil {
		return err
	}
	env := r.environment(node, r.world.links[node], addr, epoch)
	beside, err := r.addPostgres(ctx, host, node)
	if err != nil {
		return err
	}
	env = append(append(env, beside...), r.beside...)
	steered := len(r.session.options.Command) == 0
	if steered {
		env = append(env, protocol.EnvSubject+"="+r.plan.Subject)
	}
	c := &candidate{
		node: node, host: host, steered: steered, clocked: steered || r.session.options.Clocks, env: env, clocks: clocks{rate: 1},
		logs: r.logOf(node), recorder: r.recorder, stalls: r.stalls, loads: r.loads,
	}
	c.called, r.world.ways[node] = r.session.hosts.Describe(node)
	r.world.candidates[node] = c
	return nil
}

// environment are the candidate protocol's variables for a candidate that reaches
// the store at addr.
func (r *run) environment(node string, to way, addr string, epoch time.Duration) []string {
	var env []string
	ms := func(d time.Duration) string { return fmt.Sprint(float64(d) / float64(time.Millisecond)) }
	if arranged, is := r.servers[0].(redisserver.Arranged); is {
		env = append(env, protocol.EnvVia+"="+to.via(arranged.Nodes()))
	}
	if len(r.servers) > 1 {
		env = append(env, protocol.EnvRedisURLs+"="+strings.Join(to.urls(r.servers), ","))
	}
	if after := expiry(r.servers[0]); after > 0 {
		env = append(env, protocol.EnvExpire+"="+ms(after))
	}
	if r.plan.Replicas > 0 {
		env = append(env, fmt.Sprintf("%s=%d", protocol.EnvReplicas, r.plan.Replicas))
	}
	if after := r.plan.Timings.RequestTimeout; after > 0 {
		env = append(env, protocol.EnvRequestTimeout+"="+ms(after))
	}
	return append(env,
		protocol.EnvElection+"="+r.election,
		protocol.EnvNode+"="+node,
		protocol.EnvRedisURL+"="+r.servers[0].CandidateURL(addr),
		protocol.EnvServerName+"="+r.servers[0].TLSServerName(),
		protocol.EnvLease+"="+ms(r.plan.Timings.Lease),
		protocol.EnvRenew+"="+ms(r.plan.Timings.Renew),
		protocol.EnvRetry+"="+ms(r.plan.Timings.Retry),
		protocol.EnvWrites+"="+ms(r.plan.Writes),
		protocol.EnvObserves+"="+ms(r.plan.Asks()),
		protocol.EnvDrift+"="+fmt.Sprint(r.plan.Drift),
		protocol.EnvEpoch+"="+fmt.Sprint(epoch.Nanoseconds()),
		protocol.EnvResource+"="+r.world.resource.URL(),
	)
}

// live lets the candidates live through the plan: they start, faults come and
// go, all is healed, and then they must get on.
func (r *run) live(ctx context.Context) error {
	defer r.end()
	defer r.expireKeys(ctx)()
	defer r.session.watching().follow(r.recorder)()
	if err := r.start(ctx); err != nil {
		return err
	}
	defer r.watch(ctx)()
	r.tell("started")

	patience := 5*r.plan.Timings.Lease + actTime
	led, err := r.firstLeader(ctx, patience)
	if err != nil {
		return err
	}
	if !led && r.plan.NeedsLeader {
		r.recorder.Stamp(history.Event{Kind: history.Note, Text: fmt.Sprintf("the run ends early: nobody led within %v", patience)})
		return ctx.Err()
	}
	if r.taps.unread() {
		r.recorder.Stamp(history.Event{Kind: history.Note, Text: "the run ends early: nobody is known to lead, nothing is understood of what the candidates ask of the store, and they tell nothing themselves"})
		return ctx.Err()
	}
	d := &stage.Driver{
		World: r.world, Recorder: r.recorder, Leaders: r.leaders, Seed: r.plan.Seed, Patience: patience,
		Report: func(step faults.Step, targets []string, on bool) {
			r.session.options.Progress(Progress{Scenario: r.plan.Scenario, Phase: "faults", Fault: step.Fault.Name(), Targets: targets, On: on})
		},
	}
	err = d.Drive(ctx, r.plan.Schedule)
	if harm := Harmed(ctx); harm != nil {
		r.recorder.Stamp(history.Event{Kind: history.Note, Text: harm.Error(), Probe: &history.Probe{Stopped: true}})
	}
	r.recorder.Stamp(history.Event{Kind: history.Healed})
	r.tell("healed")
	if err == nil {
		stage.Sleep(ctx, r.plan.Quiet)
	}
	return errors.Join(err, ctx.Err())
}

// watch notices what the machine and the store do to the run, until stop is called.
func (r *run) watch(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	watchers.Go(func() { r.world.audit.watch(ctx, r.plan.Timings.Lease/drainShare) })
	watchers.Go(func() { r.stalls.watchSelf(ctx, r.plan.NodeNames()) })
	watchers.Go(func() { r.starvation.watch(ctx, r.stalls.least, r.recorder, r.processes) })
	watchers.Go(func() { measureSelf(ctx, r.recorder) })
	var clients []*redis.Client
	client := func(o *redis.Options) *redis.Client {
		clients = append(clients, redis.NewClient(o))
		return clients[len(clients)-1]
	}
	steady := client(steadyOf(r.servers))
	watchers.Go(func() {
		r.stalls.watchStore(ctx, func(ctx context.Context) error { return steady.Ping(ctx).Err() })
	})
	for _, o := range eachOf(r.servers) {
		server := client(o)
		watchers.Go(func() {
			r.loads.watch(ctx, func(ctx context.Context) (load, error) { return loadOf(ctx, server) })
		})
	}
	return func() {
		cancel()
		watchers.Wait()
		for _, c := range clients {
			_ = c.Close() // nothing is under way
		}
	}
}

// processes are the candidates' processes that run, by their numbers on this machine.
func (r *run) processes() map[string]int {
	all := map[string]int{}
	for node, c := range r.world.candidates {
		if p, err := c.running(); err == nil {
			all[node] = p.system.PID()
		}
	}
	return all
}

// firstLeader waits until somebody leads, and reports whether somebody does. That nobody does
// is for the checkers to say; but candidates that end before anybody leads are of no use.
func (r *run) firstLeader(ctx context.Context, patience time.Duration) (led bool, err error) {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	for _, c := range r.world.candidates {
		p, err := c.running()
		if err != nil {
			return false, c.died(nil)
		}
		go func() {
			select {
			case <-p.done:
				giveUp(c.died(p))
			case <-ctx.Done():
			}
		}()
	}
	_, led = r.leaders.Await(ctx, patience)
	var died *CandidateError
	if errors.As(context.Cause(ctx), &died) {
		return false, died
	}
	return led, nil
}

// start starts all candidates and lets them go at one moment.
func (r *run) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("not within %v", startTime))
	defer cancel()
	for _, p := range r.world.parts {
		if err := p.store.Vouch(ctx, r.world.election); err != nil {
			return err
		}
	}
	nodes := r.plan.NodeNames()
	started, errs := make([]*incarnation, len(nodes)), make([]error, len(nodes))
	stage.Each(len(nodes), func(i int) { started[i], errs[i] = r.world.candidates[nodes[i]].start() })
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, node := range nodes {
		if err := r.world.candidates[node].awaitReady(ctx, started[i]); err != nil {
			return err
		}
	}
	for i, node := range nodes {
		if !r.world.candidates[node].steered {
			continue
		}
		if err := started[i].command(protocol.Command{Command: protocol.CommandGo}); err != nil {
			return err
		}
	}
	return nil
}

// end ends all candidates at once and takes in what the store recorded.
func (r *run) end() {
	r.recorder.Stamp(history.Event{Kind: history.Note, Text: history.EndOfRunNote})
	var ended []<-chan struct{}
	for _, c := range r.world.candidates {
		p, err := c.running()
		if err != nil {
			continue
		}
		p.why.CompareAndSwap(nil, history.EndOfRun)
		_ = p.system.Kill() // it may have ended by itself this moment
		ended = append(ended, p.done)
	}
	for _, done := range ended {
		<-done
	}
	r.world.audit.drain(context.Background())
	injected := r.recorder.Faults()
	r.stalls.overruns(injected, r.plan.Length)
	r.stalls.record(injected)
	r.loads.record(injected)
	r.starvation.record(r.recorder)
	r.tell("done")
}

// undo undoes build. Every part is undone, whatever happens to the others.
func (r *run) undo() error {
	var errs []error
	for i := len(r.close) - 1; i >= 0; i-- {
		errs = append(errs, r.close[i]())
	}
	return errors.Join(errs...)
}

// expireKeys sees to it, until stop is called, that whatever becomes of the run its keys
// go from servers that others use.
func (r *run) expireKeys(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	for _, p := range r.world.parts {
		if !p.server.Private() {
			watchers.Go(func() { p.leftovers.watch(ctx) })
		}
	}
	return func() {
		cancel()
		watchers.Wait()
	}
}

// deleteKeys deletes every key of the run. The keys of our own elector are known, and
// those of others are read off the wire. Where nothing could be read, as with TLS, they
// are searched for if that costs little.
func (r *run) deleteKeys() error {
	if _, made := r.servers[0].(redisserver.Arranged); made {
		return nil // made for the run, and gone with it
	}
	var errs []error
	for _, p := range r.world.parts {
		patience := actTime
		if !p.server.Private() {
			patience = removalTime
		}
		errs = append(errs, p.leftovers.remove(context.Background(), r.session.options.strange() && r.taps == nil, patience))
	}
	return errors.Join(errs...)
}

func (r *run) tell(phase string) {
	r.session.options.Progress(Progress{Scenario: r.plan.Scenario, Phase: phase})
}

// keep is for how long keys of the run may stay where it is killed: electors of others
// write some without a time to live, and the last of them got none.
func (r *run) keep() time.Duration {
	s := r.session.options
	if s.strange() || s.Tapped != nil && s.Tapped(r.plan.Subject) {
		return registerTime
	}
	return leftoverTime
}

func randomName() string {
	var name [4]byte
	_, _ = rand.Read(name[:]) // never fails, by its documentation
	return hex.EncodeToString(name[:])
}

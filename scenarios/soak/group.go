package soak

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/live/network"
	"github.com/recount-io/recount/sim/live/redisserver"
	"github.com/recount-io/recount/sim/protocol"
	"github.com/recount-io/recount/sim/stage"
)

// candidates is how many processes compete in a group.
const candidates = 3

// group is a redis-server, its elections, and the processes that compete in them.
type group struct {
	soak    *soak
	name    string
	place   int
	names   []string // of the elections
	members []*member
	server  redisserver.Server
	direct  *redis.Client
	store   *redisstore.Store // to ask for keys
	leaders *stage.Leadership
	turns   map[string]*sync.Mutex // by place: see alone

	mu        sync.Mutex
	common    *history.Recorder // what concerns all elections, of this round
	elections map[string]*election
	windows   map[string][]span // when faults of this round were on, by target
	held      map[string][]span // when the machine held up a target, in order and apart; not in a history yet
	stalls    int               // that are in one
	late      int               // events that came after their history was judged
}

// span is a time; of one that goes on, to is 0.
type span struct{ from, to time.Duration }

func (s span) meets(from, to time.Duration) bool {
	return from < s.to && s.from < to || s.to == 0 && to > s.from
}

// join puts another span among spans that are in order and apart: with those that it
// meets, or is as near to as that, it becomes one.
func join(spans []span, another span, near time.Duration) []span {
	apart := slices.DeleteFunc(spans, func(s span) bool {
		meets := s.from-near <= another.to && another.from-near <= s.to
		if meets {
			another = span{min(s.from, another.from), max(s.to, another.to)}
		}
		return meets
	})
	at, _ := slices.BinarySearchFunc(apart, another, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	return slices.Insert(apart, at, another)
}

// openGroup starts everything of a group but its processes.
func (s *soak) openGroup(ctx context.Context, place, elections int) (g *group, err error) {
	g = &group{
		soak: s, name: fmt.Sprintf("g%d", place), place: place, elections: map[string]*election{}, windows: map[string][]span{}, held: map[string][]span{}, turns: map[string]*sync.Mutex{},
	}
	s.groups = append(s.groups, g)
	if g.server, err = redisserver.Open(ctx, "process", redisserver.Options{Supervisor: s.supervisor, Timeout: time.Minute}); err != nil {
		return g, err
	}
	options := g.server.Options()
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = actTime, actTime, actTime
	g.direct = redis.NewClient(options)
	if g.store, err = redisstore.New(&redis.UniversalOptions{Addrs: []string{g.server.Addr()}}, redisstore.Options{}); err != nil {
		return g, err
	}
	for i := range elections {
		name := fmt.Sprintf("%s-e%d", g.name, i)
		g.names = append(g.names, name)
		g.elections[name] = newElection(name)
	}
	var nodes []string
	for i := range candidates {
		m := &member{group: g, name: fmt.Sprintf("n%d", i+1), place: int64(i + 1)}
		nodes = append(nodes, m.name)
		g.members = append(g.members, m)
		if err := m.lead(ctx); err != nil {
			return g, err
		}
	}
	g.leaders = stage.NewLeadership(nodes)
	g.renew()
	return g, nil
}

// renew begins a new record of what is common.
func (g *group) renew() {
	g.common = history.NewRecorder(g.soak.now)
	g.common.Observe(g.leaders.See)
}

func (g *group) member(name string) *member {
	return g.members[slices.IndexFunc(g.members, func(m *member) bool { return m.name == name })]
}

// config is what the next incarnation of a member is told. In half of the elections
// all compete, in the others all but one. m.mu is held.
func (g *group) config(m *member) config {
	c := config{
		Node: m.name, URL: g.server.CandidateURL(m.link.Addr()), Lease: g.soak.Lease, Epoch: g.soak.epoch,
		FirstOp: m.place<<56 | m.starts<<36, Seed: g.soak.Seed ^ uint64(m.starts)<<40 ^ uint64(g.place)<<8 ^ uint64(m.place), Leak: g.soak.Leak, Usage: g.soak.usage.every,
	}
	for i, name := range g.names {
		if i%2 == 0 || int64(i/2%candidates) != m.place-1 {
			c.Elections = append(c.Elections, name)
		}
	}
	for _, other := range g.members {
		if other != m {
			c.Others = append(c.Others, other.name)
		}
	}
	return c
}

// stamp records what concerns all elections.
func (g *group) stamp(e history.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.common.Stamp(e)
}

// hear takes in a message of a process. The resource's decision about a write is made
// here: in the order in which they are recorded.
func (g *group) hear(m *member, r *running, got message, answer func(reply)) {
	g.mu.Lock()
	r.beat = max(r.beat, got.At)
	if got.Stalled > 0 {
		g.stalled([]string{m.name}, got.At-got.Stalled, got.At, false)
	}
	var decided *reply
	if e := got.Event; e != nil {
		decided = g.take(e)
	}
	g.mu.Unlock()
	if decided != nil {
		answer(*decided)
	}
	if got.Usage != nil {
		g.soak.usage.add(m, r.system.PID(), *got.Usage, got.Leads)
	}
}

// take puts an event into its election's record.
func (g *group) take(e *history.Event) *reply {
	of := g.elections[e.Election]
	if e.At <= of.judged {
		g.late++
		return nil
	}
	of.add(*e)
	if e.Kind != history.Invoke || e.Call != history.Write {
		return nil
	}
	r, done := of.decide(*e, g.soak.now())
	of.add(done)
	return &r
}

// ended completes what a process had begun.
func (g *group) ended(m *member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.soak.now()
	for _, of := range g.elections {
		of.abandon(m.name, now)
	}
}

// stalled notes that the machine held up the targets. What a fault explains is no
// stall. g.mu is held.
func (g *group) stalled(targets []string, from, to time.Duration, machine bool) {
	for _, target := range targets {
		if !machine && slices.ContainsFunc(g.windows[target], func(s span) bool { return s.meets(from, to) }) {
			continue
		}
		if !machine {
			g.soak.stalls.count(target, to-from)
		}
		g.held[target] = join(g.held[target], span{max(from, 0), to}, g.soak.Lease/protocol.StallShare)
	}
}

// heldUntil are the events that tell of stalls until then. What lasts longer goes on in the
// next history. g.mu is held.
func (g *group) heldUntil(end time.Duration) (events []history.Event) {
	for target, spans := range g.held {
		var rest []span
		for _, s := range spans {
			if s.to > end {
				rest = append(rest, span{max(s.from, end), s.to})
			}
			if s.from >= end {
				continue
			}
			g.stalls++
			pair := stage.Uninjected(fmt.Sprintf("s%d", g.stalls), history.StallFault, []string{target}, s.from, min(s.to, end),
				history.Effect{Holds: true}, "the machine did not let "+target+" go on")
			events = append(events, pair[:]...)
		}
		g.held[target] = rest
	}
	return events
}

// live is a group's life: rounds until the time is over.
func (g *group) live(ctx context.Context) error {
	for _, m := range g.members {
		if err := m.start(); err != nil {
			return err
		}
	}
	// Groups take turns in being calm, and in being judged.
	begin := returnBound*g.soak.Lease + slack + time.Duration(g.place)*5*time.Second
	if !stage.Sleep(ctx, begin) {
		return nil
	}
	for round := 0; ctx.Err() == nil; round++ {
		if err := g.round(ctx, round); err != nil {
			return err
		}
		if g.soak.now() >= g.soak.Duration {
			return nil
		}
	}
	return nil
}

// round carries out the faults of one round and has its histories judged.
func (g *group) round(ctx context.Context, n int) error {
	g.mu.Lock()
	record := g.common
	g.mu.Unlock()
	d := &stage.Driver{
		World: &ground{group: g}, Recorder: record, Leaders: g.leaders, Seed: g.soak.Seed, Patience: time.Second,
		Report: func(step faults.Step, targets []string, on bool) { g.marked(step, targets, on) },
	}
	failed := d.Drive(ctx, g.draw(n))
	if ctx.Err() != nil {
		return nil
	}
	if failed != nil {
		g.soak.doubt("a fault could not be carried out: " + failed.Error())
	}
	if err := g.restore(ctx); err != nil {
		return err
	}
	g.stamp(history.Event{Kind: history.Healed})
	if !stage.Sleep(ctx, returnBound*g.soak.Lease+slack+quiet) {
		return nil
	}
	return g.cut(ctx, n)
}

// restore makes everything whole that is not, as where a busy machine took too long
// to take a fault off: that, or that a process ended by itself, is noted.
func (g *group) restore(ctx context.Context) error {
	var errs []error
	g.awaitServer(ctx)
	if err := g.direct.Ping(ctx).Err(); err != nil {
		g.soak.doubt("redis-server did not answer after healing: " + err.Error())
		_ = g.server.Resume(ctx)        // if it was paused
		_ = g.server.Restart(ctx, true) // if it was crashed
		g.awaitServer(ctx)
		errs = append(errs, g.direct.Ping(ctx).Err())
	}
	for _, m := range g.members {
		err := m.way().Heal()
		if errors.Is(err, network.ErrHung) {
			g.soak.doubt("a toxiproxy hung, and was replaced together with the candidate behind it: " + err.Error())
			err = m.replace(ctx)
		}
		errs = append(errs, err)
		if r, err := m.present(); err == nil {
			_ = r.system.Signal(syscall.SIGCONT) // it may have ended this moment
		} else {
			g.soak.doubt("a process had ended: " + m.name)
			errs = append(errs, m.start())
		}
	}
	return errors.Join(errs...)
}

// awaitServer waits until the harness's client reaches the server: one that could not
// answers with its last error for up to a second.
func (g *group) awaitServer(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	for g.direct.Ping(ctx).Err() != nil && stage.Sleep(ctx, beatEvery) {
	}
}

// marked follows what faults are on.
func (g *group) marked(step faults.Step, targets []string, on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.soak.now()
	effect := step.Fault.Effect()
	for _, target := range targets {
		if !effect.Store && !effect.Holds {
			continue // it holds up nobody: a stall meanwhile is the machine's
		}
		list := g.windows[target]
		if on {
			g.windows[target] = append(list, span{from: now})
			continue
		}
		if i := slices.IndexFunc(list, func(s span) bool { return s.to == 0 }); i >= 0 {
			list[i].to = now + g.soak.Lease/protocol.StallShare
		}
	}
	if on {
		g.soak.injected(step.Fault.Name())
		g.soak.say("%s %v: %s on %v", g.name, now.Round(time.Millisecond), step.Fault.Name(), targets)
	}
}

// cut waits until the processes have reported everything until now, ends the histories of
// the elections where they were calm, and sends them to the judge.
func (g *group) cut(ctx context.Context, round int) error {
	end := g.soak.now()
	for !g.caughtUp(end) {
		if !stage.Sleep(ctx, beatEvery) {
			return nil
		}
		if g.soak.now() > end+time.Minute {
			return fmt.Errorf("soak: %s: a process has reported nothing for a minute", g.name)
		}
	}
	end -= settled
	g.mu.Lock()
	common := g.common.History(history.Header{}).Events
	g.renew()
	for _, e := range common {
		if e.At > end {
			g.common.Record(e) // it belongs to the next round
		}
	}
	common = slices.DeleteFunc(common, func(e history.Event) bool { return e.At > end })
	for i := range common {
		if common[i].Kind == history.Fault { // numbered anew in each round
			common[i].ID = fmt.Sprintf("%d-%s", round, common[i].ID)
		}
	}
	common = append(common, g.heldUntil(end)...)
	g.windows = map[string][]span{}
	var links []*history.History
	for _, name := range g.names {
		of := g.elections[name]
		of.events = append(of.events, common...)
		h, cut := of.cut(g.header(name), end)
		if h != nil {
			links = append(links, h)
		}
		if cut {
			continue
		}
		if of.without++; of.without > carried {
			g.soak.doubt("no calm moment to cut the history of an election at: " + name)
			of.forget(end)
		}
	}
	late := g.late
	g.late = 0
	g.mu.Unlock()
	if late > 0 {
		g.soak.doubts("an event was told too late to be judged", late)
	}
	for _, h := range links {
		g.soak.judge(h)
	}
	return nil
}

// caughtUp reports whether every process has reported everything until then.
func (g *group) caughtUp(until time.Duration) bool {
	for _, m := range g.members {
		r, err := m.present()
		if err != nil {
			continue // sound complains
		}
		g.mu.Lock()
		beat := r.beat
		g.mu.Unlock()
		if beat < until {
			return false
		}
	}
	return true
}

func (g *group) header(election string) history.Header {
	h := history.Header{
		Version: history.Version, Scenario: "soak-" + election, Subject: "recount", World: "live", Seed: g.soak.Seed,
		Lease: g.soak.Lease, Renew: g.soak.Lease / 3, Retry: g.soak.Lease / 15, ClockError: sim.ClockError, DriftPPM: 10_000,
		Margin: time.Millisecond, ReturnBound: returnBound*g.soak.Lease + slack, Redis: g.server.Describe(),
		Repro: g.soak.repro(),
	}
	for _, m := range g.members {
		h.Nodes = append(h.Nodes, m.name)
	}
	for _, p := range promises {
		h.Promises = append(h.Promises, string(p))
	}
	return h
}

// watch looks whether the server answers the harness in time.
func (g *group) watch(ctx context.Context) {
	least := g.soak.Lease / protocol.StallShare
	for stage.Sleep(ctx, least) {
		began := g.soak.now()
		asking, cancel := context.WithTimeout(ctx, actTime)
		_ = g.direct.Ping(asking).Err() // late or not at all: the time tells
		cancel()
		if now := g.soak.now(); now-began >= least && ctx.Err() == nil {
			g.mu.Lock()
			g.stalled([]string{history.StoreTarget}, began, now, false)
			g.mu.Unlock()
		}
	}
}

// close ends everything of the group.
func (g *group) close() error {
	var errs []error
	for _, m := range g.members {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		if err := m.end(ctx, 9, history.EndOfRun); !errors.Is(err, errNotRunning) {
			errs = append(errs, err)
		}
		cancel()
		if err := m.close(); !errors.Is(err, network.ErrHung) { // which is about a toxiproxy that nobody uses any more
			errs = append(errs, err)
		}
	}
	if g.store != nil {
		errs = append(errs, g.store.Close())
	}
	if g.direct != nil {
		errs = append(errs, g.direct.Close())
	}
	if g.server != nil {
		errs = append(errs, g.server.Close())
	}
	return errors.Join(errs...)
}

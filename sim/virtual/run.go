package virtual

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual/redismodel"
	"github.com/recount-io/recount/sim/wire"
)

// run is one run of a plan: a world that begins empty and ends with its
// history.
type run struct {
	agenda
	*record
	spec     sim.Plan
	subject  Subject
	store    *serverStore   // the first of them
	stores   []*serverStore // which know nothing of each other; mostly there is one
	resource *resource
	nodes    []*node
	byName   map[string]*node
	routines []*routine
	rows     *serverStore // PostgreSQL, for those who want it
	lock     *wire.Lock   // nil if candidates tell themselves what they do
	foreignCandidates
	chance *random // of how exactly the schedule is carried out
	how
	lua *redismodel.Interpreter

	healed  signal        // every fault of the schedule is off again
	until   time.Duration // the end of the run, once it is known
	failure error
}

func (w *World) newRun(plan sim.Plan, subject Subject, as how) *run {
	r := &run{spec: plan, subject: subject, byName: map[string]*node{}, until: forever, how: as, lua: w.interpreter()}
	if r.spec.Network == (sim.Network{}) {
		r.spec.Network = sim.DefaultNetwork()
	}
	r.chance = newRandom(plan.Seed, drawStage)
	names := plan.NodeNames()
	r.record = &record{agenda: &r.agenda, leaders: sim.NewLeadership(names)}
	r.stores = newStores(r, subject)
	r.store = r.stores[0]
	r.rows = newRows(r)
	r.lock = r.newLock()
	r.resource = newResource(r)
	for i, name := range names {
		n := &node{run: r, index: i, name: name, clock: newClock(), random: newRandom(plan.Seed, drawNode+uint64(i)), asleep: -1}
		n.link = &link{network: r.spec.Network, random: newRandom(plan.Seed, drawNetwork+uint64(i))}
		if as.messages != nil {
			n.link.react = func(spiked, lost bool) sim.Network { return as.messages(r.now, spiked, lost) }
		}
		r.nodes = append(r.nodes, n)
		r.byName[name] = n
	}
	return r
}

const forever = time.Duration(1<<63 - 1)

// live lets the candidates live through the plan: they start, faults come and
// go, all is healed, and then they must get on.
func (r *run) live(ctx context.Context) error {
	defer r.end()
	for _, n := range r.nodes {
		n.launch(0)
	}
	r.begin(r.direct)
	for steps := 0; ; steps++ {
		if r.accompany(); !r.next(r.until) {
			return r.failure
		}
		if steps%1024 == 0 && ctx.Err() != nil {
			return errors.Join(r.failure, ctx.Err())
		}
	}
}

// begin starts a routine of the world's own.
func (r *run) begin(f func(*stage)) {
	s := &stage{run: r}
	s.routine = prepare(&r.agenda, func(*routine) { f(s) })
	r.routines = slices.DeleteFunc(r.routines, func(other *routine) bool { return other.done })
	r.routines = append(r.routines, s.routine)
	s.routine.next()
}

// direct carries out the schedule, from the first leader on, and then ends the
// run when it has been quiet for long enough.
func (r *run) direct(s *stage) {
	ctx := context.Background()
	patience := 5*r.spec.Timings.Lease + r.actTime()
	s.AwaitLeader(ctx, patience)
	driver := &sim.Driver{Seed: r.spec.Seed, Patience: patience}
	steps := r.spec.Schedule.Sorted()
	left := len(steps)
	begin := r.now
	for i, step := range steps {
		s.Sleep(ctx, begin+step.At+r.chance.upTo(r.spec.Lateness)-r.now)
		r.begin(func(s *stage) {
			r.busy++
			if err := driver.Step(ctx, s, i, step); err != nil {
				r.failure = errors.Join(r.failure, err)
			}
			r.busy--
			left--
			if left == 0 {
				r.healed.fire()
			}
		})
	}
	for left > 0 {
		s.routine.await(&r.healed, time.Hour)
	}
	r.add(history.Event{Kind: history.Healed})
	r.until = r.now + r.spec.Quiet
}

// end ends all candidates at once.
func (r *run) end() {
	r.conclude()
	r.add(history.Event{Kind: history.Note, Text: history.EndOfRunNote})
	for _, n := range r.nodes {
		n.exit(history.EndOfRun, "")
	}
	for _, routine := range r.routines {
		routine.end()
	}
}

package virtual

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// actTime bounds what should take milliseconds, unless something is in its way
// for as long as a lease: a process that resigns, a write that is to come.
func (r *run) actTime() time.Duration { return max(5*time.Second, r.spec.Timings.Lease) }

// stage is the world as one routine sees it: the schedule, or one step of it.
type stage struct {
	faults.Unattended
	*run
	routine *routine
}

var _ sim.Stage = (*stage)(nil)

// Now implements sim.Stage.
func (s *stage) Now() time.Duration { return s.now }

// Stamp implements sim.Stage.
func (s *stage) Stamp(e history.Event) {
	s.add(e)
	if e.Kind == history.Fault && e.Phase == history.On {
		s.notice(&e)
	}
}

// Record implements sim.Stage.
func (s *stage) Record(e history.Event) { s.insert(e) }

// Sleep implements sim.Stage.
func (s *stage) Sleep(_ context.Context, d time.Duration) bool {
	s.routine.sleep(max(d, 0))
	return true
}

// View implements sim.Stage.
func (s *stage) View() faults.View { return s.leaders.View() }

// AwaitLeader implements sim.Stage.
func (s *stage) AwaitLeader(_ context.Context, patience time.Duration) faults.View {
	end := s.now + patience
	for {
		view := s.leaders.View()
		if view.Leader != "" || s.now >= end {
			return view
		}
		s.routine.await(&s.changed, end-s.now)
	}
}

// Disturb implements sim.Stage.
func (s *stage) Disturb(nodes []string, disturbed bool) {
	s.leaders.Disturb(nodes, disturbed)
	s.changed.fire()
}

// Each implements faults.World. No act takes any time here, but for those that
// wait for a candidate.
func (s *stage) Each(n int, act func(i int)) {
	for i := range n {
		act(i)
	}
}

// Cut implements faults.World.
func (s *stage) Cut(_ context.Context, node string, how faults.Cut) (string, error) {
	n := s.byName[node]
	n.link.cut = how
	if !n.link.open() {
		n.closeConnections()
		return "no connection of " + node + " to the store is open", nil
	}
	switch {
	case !n.link.passes(up) && !n.link.passes(down):
		return "nothing passes between " + node + " and the store", nil
	case !n.link.passes(up):
		return "requests of " + node + " are lost", nil
	case !n.link.passes(down):
		return "replies to " + node + " are lost", nil
	default:
		return "", faults.NoEffect("everything passes between %s and the store", node)
	}
}

// Delay implements faults.World.
func (s *stage) Delay(_ context.Context, node string, latency, jitter time.Duration) (string, error) {
	l := s.byName[node].link
	l.delay, l.jitter = latency, jitter
	return s.slower(node)
}

// Throttle implements faults.World.
func (s *stage) Throttle(_ context.Context, node string, kilobytes int) (string, error) {
	s.byName[node].link.kilobytes = kilobytes
	return s.slower(node)
}

// slower proves that a message takes longer than the network lets it.
func (s *stage) slower(node string) (string, error) {
	l := s.byName[node].link
	probe := *l
	probe.random = newRandom(s.spec.Seed, 0) // a probe moves nothing
	took := probe.travel(up)
	probe.delay, probe.kilobytes, probe.random = 0, 0, newRandom(s.spec.Seed, 0)
	if free := probe.travel(up); took <= free {
		return "", faults.NoEffect("a message of %s takes %v, as ever", node, took)
	}
	return fmt.Sprintf("a message of %s takes %v", node, took.Round(100*time.Microsecond)), nil
}

// Mend implements faults.World.
func (s *stage) Mend(_ context.Context, node string) error {
	n := s.byName[node]
	silent := n.link.cut != "" && n.link.open()
	n.link.cut, n.link.delay, n.link.jitter, n.link.kilobytes = "", 0, 0, 0
	if silent {
		n.closeConnections() // bytes of theirs are lost
	}
	return nil
}

// Stop implements faults.World.
func (s *stage) Stop(_ context.Context, node string) (string, error) {
	n := s.byName[node]
	if n.process == nil {
		return "", faults.NoEffect("%s is not running", node)
	}
	n.paused = true
	return "the process of " + node + " stands still", nil
}

// Continue implements faults.World.
func (s *stage) Continue(_ context.Context, node string) error {
	if n := s.byName[node]; n.paused {
		n.resume()
	}
	return nil
}

// Suspend implements faults.World.
func (s *stage) Suspend(ctx context.Context, node string) (string, error) {
	n := s.byName[node]
	if n.asleep < 0 {
		n.asleep = n.clock.show(s.now)
	}
	return s.Stop(ctx, node)
}

// Awaken implements faults.World.
func (s *stage) Awaken(ctx context.Context, node string) (string, error) {
	n := s.byName[node]
	if n.asleep >= 0 {
		n.slept += n.clock.show(s.now) - n.asleep
		n.asleep = -1
	}
	if n.process != nil {
		n.process.reclocked()
	}
	return fmt.Sprintf("the monotonic clock of %s is %v behind boot time", node, n.slept.Round(time.Millisecond)), s.Continue(ctx, node)
}

// Kill implements faults.World.
func (s *stage) Kill(_ context.Context, node string) (string, error) {
	n := s.byName[node]
	if n.process == nil {
		return "", faults.NoEffect("%s is not running", node)
	}
	n.exit(history.Killed, "")
	return "the process of " + node + " was killed", nil
}

// Launch implements faults.World.
func (s *stage) Launch(_ context.Context, node string) error {
	n := s.byName[node]
	for end := s.now + s.actTime(); n.leaving && s.now < end; { // resigning may take longer than Dismiss waits
		s.routine.await(&n.exited, end-s.now)
	}
	if n.process == nil {
		n.launch(sim.Starting/2 + s.chance.upTo(sim.Starting/2))
	}
	return nil
}

// Dismiss implements faults.World.
func (s *stage) Dismiss(_ context.Context, node string) (string, error) {
	n := s.byName[node]
	if n.process == nil {
		return "", faults.NoEffect("%s is not running", node)
	}
	n.leaving = true
	life := n.life
	(*order)(n).act(life)
	for end := s.now + s.actTime(); n.life == life; {
		if !s.routine.await(&n.exited, end-s.now) {
			return "", faults.NoEffect("the process of %s did not end within %v", node, s.actTime())
		}
	}
	return "the process of " + node + " ended by itself", nil
}

// HandOver implements faults.World.
func (s *stage) HandOver(_ context.Context, node string) (string, error) {
	n := s.byName[node]
	e, can := n.process.(*shell)
	switch {
	case n.process == nil:
		return "", faults.NoEffect("%s is not running", node)
	case !can:
		return "", faults.NoEffect("the elector of %s cannot hand its lease over", node)
	case n.majority != nil:
		return "", faults.NoEffect("several stores know of no other candidate than %s", node)
	case !e.term.believes:
		return "", faults.NoEffect("%s does not lead", node)
	}
	b := &bequest{shell: e, stays: true}
	life := n.life
	b.act(life)
	for end := s.now + s.actTime(); ; {
		leader := s.leaders.Leader()
		switch {
		case n.life != life:
			return "", faults.NoEffect("%s ended meanwhile", node)
		case b.vain:
			return "", faults.NoEffect("%s knows of nobody to hand its lease over to", node)
		case b.successor != "" && leader == sim.NodeOf(b.successor):
			return node + " handed its lease over to " + leader, nil
		case b.successor != "" && leader != "" && leader != node:
			return "", faults.NoEffect("%s handed its lease over to %s, and %s leads", node, sim.NodeOf(b.successor), leader)
		case !s.routine.await(&s.changed, end-s.now):
			return "", faults.NoEffect("nobody whom %s handed its lease over to led within %v", node, s.actTime())
		}
	}
}

// StopBeforeWrite implements faults.World.
func (s *stage) StopBeforeWrite(ctx context.Context, node string) (string, error) {
	n := s.byName[node]
	h := &hold{}
	n.hold = h
	if h.write == nil && !s.routine.await(&h.arrived, s.actTime()) {
		return "", faults.NoEffect("%s wrote nothing within %v", node, s.actTime())
	}
	return s.Stop(ctx, node)
}

// ContinueWrite implements faults.World.
func (s *stage) ContinueWrite(ctx context.Context, node string) (string, error) {
	n := s.byName[node]
	h := n.hold
	n.hold = nil
	if h == nil || h.write == nil {
		return "", s.Continue(ctx, node)
	}
	w, before := h.write, s.resource.last
	s.resource.decide(w)
	if err := s.Continue(ctx, node); err != nil {
		return "", err
	}
	switch {
	case w.accepted && before != node && w.op.Token == 0:
		return fmt.Sprintf("the late write of %s was accepted after one of %s: it carries no token", node, before), nil
	case w.accepted && before != node:
		return fmt.Sprintf("the late write of %s was accepted after one of %s, although it carries a token", node, before), nil
	case w.accepted:
		return "", faults.NoEffect("the write of %s was accepted: nobody else had written meanwhile", node)
	}
	return fmt.Sprintf("the late write of %s was refused: the fence stood at %d", node, w.fence), nil
}

// SetClockRate implements faults.World.
func (s *stage) SetClockRate(_ context.Context, node string, rate float64) (string, error) {
	n := s.byName[node]
	n.clock.setRate(s.now, rate)
	return s.reclocked(n)
}

// JumpClock implements faults.World.
func (s *stage) JumpClock(_ context.Context, node string, offset time.Duration) (string, error) {
	n := s.byName[node]
	n.wall += offset
	return s.reclocked(n)
}

func (s *stage) reclocked(n *node) (string, error) {
	if n.process == nil {
		return faults.ClocksOfStopped(n.name, n.clock.rate == million && n.wall == 0)
	}
	n.process.reclocked()
	rate := strconv.FormatFloat(float64(n.clock.rate)/million, 'g', -1, 64)
	return fmt.Sprintf("the clocks of %s run at rate %s, its wall clock is off by %v", n.name, rate, n.wall), nil
}

// notice tells of the moment that a fault meets.
func (s *stage) notice(e *history.Event) {
	if s.moments == nil {
		return
	}
	for _, name := range e.Targets {
		if i := slices.IndexFunc(s.nodes, func(n *node) bool { return n.name == name }); i >= 0 {
			s.moments(s.moment(e.Fault, s.nodes[i]))
		} else {
			s.moments(s.moment(e.Fault, nil))
		}
	}
}

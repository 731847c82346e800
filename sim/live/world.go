package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/live/network"
	"github.com/recount-io/recount/sim/protocol"
	"github.com/recount-io/recount/sim/resource"
	"github.com/recount-io/recount/sim/stage"
)

const (
	// actTime bounds what should take milliseconds: a process that ends as it is
	// asked to, a command that is answered.
	actTime = 5 * time.Second
	// killTime bounds the end of a process that was killed: it does not depend on
	// the process, only on how busy the machine is.
	killTime = time.Minute
)

// world is the live world as faults see it: real processes, proxies and a real
// store.
type world struct {
	*part              // the store, or the first of several
	parts      []*part // of the store: mostly one
	candidates map[string]*candidate
	links      map[string]way
	ways       map[string]string // what evidence calls them
	resource   *resource.Resource
	election   string
	audit      *auditor
	recorder   *history.Recorder
	taps       *taps  // nil: nothing is read from the wire
	marker     string // of a server that others use, see inspection.Marker
	alone      int64  // bytes that the store's replica lacked when the store was split

	mu    sync.Mutex
	holds map[string]*resource.Hold
}

var _ faults.World = (*world)(nil)

// Each implements faults.World: a process that is started and a proof that
// nothing passes take their time.
func (w *world) Each(n int, act func(i int)) { stage.Each(n, act) }

// Cut implements faults.World.
func (w *world) Cut(ctx context.Context, node string, how faults.Cut) (string, error) {
	link, called := w.links[node], w.ways[node]
	if err := link.Cut(network.Cut(how)); err != nil {
		return "", err
	}
	probing, cancel := context.WithTimeout(ctx, sim.ProbeTime)
	defer cancel()
	if took, err := link.Probe(probing); err == nil {
		return "", faults.NoEffect("a PING through %s was answered in %v", called, took)
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	return "no PING passes " + called, nil
}

// Delay implements faults.World.
func (w *world) Delay(ctx context.Context, node string, latency, jitter time.Duration) (string, error) {
	link := w.links[node]
	if err := link.Delay(latency, jitter); err != nil {
		return "", err
	}
	return w.slower(ctx, node, link, latency-jitter)
}

// Throttle implements faults.World.
func (w *world) Throttle(ctx context.Context, node string, kilobytes int) (string, error) {
	link := w.links[node]
	if err := link.Bandwidth(kilobytes); err != nil {
		return "", err
	}
	// A PING and its answer are 13 bytes.
	return w.slower(ctx, node, link, 13*time.Second/time.Duration(2*1000*kilobytes))
}

// slower proves that a PING through the link takes at least so long, or longer
// than a probe waits: the fault is not to last longer because of a proof.
func (w *world) slower(ctx context.Context, node string, link way, least time.Duration) (string, error) {
	probing, cancel := context.WithTimeout(ctx, sim.ProbeTime)
	defer cancel()
	took, err := link.Probe(probing)
	if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil {
		return fmt.Sprintf("a PING through %s is not answered in %v", w.ways[node], sim.ProbeTime), nil
	}
	if err != nil {
		return "", fmt.Errorf("live: probe of %s: %w", node, err)
	}
	if took < least {
		return "", faults.NoEffect("a PING through %s took only %v", w.ways[node], took)
	}
	return fmt.Sprintf("a PING through %s takes %v", w.ways[node], took.Round(100*time.Microsecond)), nil
}

// Mend implements faults.World.
func (w *world) Mend(ctx context.Context, node string) error {
	link := w.links[node]
	if err := link.Heal(); err != nil {
		return err
	}
	probing, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	if _, err := link.Probe(probing); err != nil && w.reachable(ctx) {
		return fmt.Errorf("live: the way of %s to the store is still not free: %w", node, err)
	}
	return nil
}

// Stop implements faults.World.
func (w *world) Stop(ctx context.Context, node string) (string, error) {
	p, err := w.candidates[node].running()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	return w.candidates[node].called + " stands still", p.system.Pause(ctx)
}

// Continue implements faults.World.
func (w *world) Continue(ctx context.Context, node string) error {
	p, err := w.candidates[node].running()
	if err != nil {
		return nil // another fault killed it meanwhile
	}
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	if err := p.system.Resume(ctx); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// Kill implements faults.World.
func (w *world) Kill(ctx context.Context, node string) (string, error) {
	p, err := w.candidates[node].running()
	if err != nil {
		return "", err
	}
	p.why.Store(history.Killed)
	if err := p.system.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) { // it has just ended by itself
		return "", fmt.Errorf("live: kill %s: %w", node, err)
	}
	return p.ended(ctx, w.candidates[node].called, killTime)
}

// Dismiss implements faults.World.
func (w *world) Dismiss(ctx context.Context, node string) (string, error) {
	p, err := w.candidates[node].running()
	if err != nil {
		return "", err
	}
	p.why.Store(history.Dismissed)
	if err := p.system.Dismiss(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return "", fmt.Errorf("live: dismiss %s: %w", node, err)
	}
	return p.ended(ctx, w.candidates[node].called, actTime)
}

// ended waits for the end of a process, so long at the most.
func (p *incarnation) ended(ctx context.Context, called string, patience time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-p.done:
		return fmt.Sprintf("%s ended (%s)", called, p.status), nil
	case <-ctx.Done():
		return "", faults.NoEffect("%s did not end within %v", called, patience)
	}
}

// Launch implements faults.World. Two faults may have ended one process: then
// the first that is over starts it again. Resigning may take longer than
// Dismiss waits.
func (w *world) Launch(ctx context.Context, node string) error {
	c := w.candidates[node]
	if p, err := c.running(); err == nil && p.why.Load() != nil {
		_, _ = p.ended(ctx, c.called, actTime) // one that stays goes on
	}
	p, err := c.start()
	if errors.Is(err, errRunning) {
		return nil
	}
	if err != nil {
		return err
	}
	if !c.steered {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if err := c.awaitReady(ctx, p); err != nil {
		return err
	}
	return p.command(protocol.Command{Command: protocol.CommandGo})
}

// StopBeforeWrite implements faults.World: the write is on its way, the
// process behind it is stopped.
func (w *world) StopBeforeWrite(ctx context.Context, node string) (string, error) {
	hold := w.resource.Hold(node)
	w.mu.Lock()
	w.holds[node] = hold
	w.mu.Unlock()
	arriving, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	select {
	case <-hold.Arrived():
	case <-arriving.Done():
		return "", faults.NoEffect("%s wrote nothing within %v", node, actTime)
	}
	return w.Stop(ctx, node)
}

// ContinueWrite implements faults.World.
func (w *world) ContinueWrite(ctx context.Context, node string) (string, error) {
	w.mu.Lock()
	hold := w.holds[node]
	delete(w.holds, node)
	w.mu.Unlock()
	late, err := hold.Late(ctx, node)
	if err := w.Continue(ctx, node); err != nil {
		return "", err
	}
	return late, err
}

// SetClockRate implements faults.World.
func (w *world) SetClockRate(ctx context.Context, node string, rate float64) (string, error) {
	return w.candidates[node].setClocks(ctx, func(c *clocks) { c.rate = rate })
}

// JumpClock implements faults.World.
func (w *world) JumpClock(ctx context.Context, node string, offset time.Duration) (string, error) {
	return w.candidates[node].setClocks(ctx, func(c *clocks) { c.offset += offset })
}

// Suspend implements faults.World. The clock is stopped first and started last:
// whatever the process does in between, its clock does not tell that time
// passed.
func (w *world) Suspend(ctx context.Context, node string) (string, error) {
	seen, err := w.candidates[node].setClocks(ctx, func(c *clocks) { c.asleep = true })
	if err != nil {
		return "", err
	}
	stopped, err := w.Stop(ctx, node)
	return seen + "; " + stopped, err
}

// Awaken implements faults.World.
func (w *world) Awaken(ctx context.Context, node string) (string, error) {
	if err := w.Continue(ctx, node); err != nil {
		return "", err
	}
	return w.candidates[node].setClocks(ctx, func(c *clocks) { c.asleep = false })
}

// setClocks tells a candidate its clocks and waits until it reports them.
func (c *candidate) setClocks(ctx context.Context, change func(*clocks)) (string, error) {
	p, err := c.running()
	if err == nil && !c.clocked {
		return "", faults.NoEffect("%s cannot be told its clocks", c.node)
	}
	c.mu.Lock()
	change(&c.clocks)
	set := c.clocks
	c.mu.Unlock()
	if err != nil {
		return faults.ClocksOfStopped(c.node, set == clocks{rate: 1})
	}
	for len(p.clocks) > 0 {
		<-p.clocks // what it reported unasked
	}
	if err := p.command(protocol.Command{Command: protocol.CommandClock, Rate: set.rate, OffsetMS: set.offset.Milliseconds(), Asleep: set.asleep}); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	for {
		select {
		case report := <-p.clocks:
			if report.Rate == set.rate && report.OffsetMS == set.offset.Milliseconds() {
				return reported(c.node, report), nil
			}
		case <-p.done:
			return faults.ClocksOfStopped(c.node, set == clocks{rate: 1}) // it ended meanwhile
		case <-ctx.Done():
			return "", faults.NoEffect("%s did not report within %v that it keeps the clocks that it was told", c.node, actTime)
		}
	}
}

// reported is a candidate's report about its clocks, in words.
func reported(node string, report protocol.Line) string {
	text := fmt.Sprintf("%s reports clocks at rate %g, its wall clock off by %v", node, report.Rate, time.Duration(report.OffsetMS)*time.Millisecond)
	if report.BehindMS > 0 {
		text += fmt.Sprintf(", its monotonic clock %.0f ms behind boot time", report.BehindMS)
	}
	return text
}

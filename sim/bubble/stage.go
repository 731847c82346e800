package bubble

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble/network"
	"github.com/recount-io/recount/sim/resource"
	"github.com/recount-io/recount/sim/stage"
)

// world is the run as faults see it.
type world struct{ *run }

var _ faults.World = (*world)(nil)

// holds are the writes that are kept on their way.
type holds struct {
	mu     sync.Mutex
	byNode map[string]*resource.Hold
}

// Each implements faults.World.
func (w *world) Each(n int, act func(i int)) { stage.Each(n, act) }

// Cut implements faults.World.
func (w *world) Cut(_ context.Context, node string, how faults.Cut) (string, error) {
	links := w.byName[node].links
	for _, link := range links {
		link.Cut(how)
	}
	switch up, down, open := links[0].Passing(); {
	case !open:
		return "no connection of " + node + " to the store is open", nil
	case !up && !down:
		return "nothing passes between " + node + " and the store", nil
	case !up:
		return "requests of " + node + " are lost", nil
	case !down:
		return "replies to " + node + " are lost", nil
	default:
		return "", faults.NoEffect("everything passes between %s and the store", node)
	}
}

// Delay implements faults.World.
func (w *world) Delay(_ context.Context, node string, latency, jitter time.Duration) (string, error) {
	return w.slower(node, func(link *network.Link) { link.Delay(latency, jitter) })
}

// Throttle implements faults.World.
func (w *world) Throttle(_ context.Context, node string, kilobytes int) (string, error) {
	return w.slower(node, func(link *network.Link) { link.Throttle(kilobytes) })
}

// slower proves that a message takes longer than before.
func (w *world) slower(node string, act func(*network.Link)) (string, error) {
	links := w.byName[node].links
	before := links[0].Probe(network.Up, sim.RequestBytes)
	for _, link := range links {
		act(link)
	}
	took := links[0].Probe(network.Up, sim.RequestBytes)
	if took <= before {
		return "", faults.NoEffect("a message of %s takes %v, as ever", node, took)
	}
	return fmt.Sprintf("a message of %s takes %v", node, took.Round(100*time.Microsecond)), nil
}

// Mend implements faults.World.
func (w *world) Mend(_ context.Context, node string) error {
	for _, link := range w.byName[node].links {
		link.Mend()
	}
	return nil
}

// runs is the node's process, or why there is no effect on one.
func (w *world) runs(node string) (*process, error) {
	p := w.byName[node].running()
	if p == nil {
		return nil, faults.NoEffect("%s is not running", node)
	}
	return p, nil
}

// Stop implements faults.World.
func (w *world) Stop(_ context.Context, node string) (string, error) {
	p, err := w.runs(node)
	if err != nil {
		return "", err
	}
	p.stand()
	return "the process of " + node + " stands still", nil
}

// Continue implements faults.World.
func (w *world) Continue(_ context.Context, node string) error {
	if p := w.byName[node].running(); p != nil {
		p.goOn()
	}
	return nil
}

// Suspend implements faults.World.
func (w *world) Suspend(ctx context.Context, node string) (string, error) {
	seen, err := w.setClocks(node, func(c *clocks) { c.asleep = true })
	if err != nil {
		return "", err
	}
	stopped, err := w.Stop(ctx, node)
	return seen + "; " + stopped, err
}

// Awaken implements faults.World.
func (w *world) Awaken(ctx context.Context, node string) (string, error) {
	seen, err := w.setClocks(node, func(c *clocks) { c.asleep = false })
	if err != nil {
		return "", err
	}
	return seen, w.Continue(ctx, node)
}

// Kill implements faults.World.
func (w *world) Kill(_ context.Context, node string) (string, error) {
	p, err := w.runs(node)
	if err != nil {
		return "", err
	}
	p.kill(history.Killed)
	return "the process of " + node + " was killed", nil
}

// Launch implements faults.World.
func (w *world) Launch(ctx context.Context, node string) error {
	n := w.byName[node]
	if p := n.running(); p != nil && p.asked() { // resigning may take longer than Dismiss waits
		w.ended(ctx, p)
	}
	n.launch(sim.Starting)
	return nil
}

// ended waits for the end of a process, and reports whether it came.
func (w *world) ended(ctx context.Context, p *process) bool {
	ctx, cancel := context.WithTimeout(ctx, w.actTime())
	defer cancel()
	select {
	case <-p.ended:
		return true
	case <-ctx.Done():
		return false
	}
}

// Dismiss implements faults.World.
func (w *world) Dismiss(ctx context.Context, node string) (string, error) {
	p, err := w.runs(node)
	if err != nil {
		return "", err
	}
	p.ask(history.Dismissed)
	go func() {
		p.gate.Wait() // one that stands still hears of it when it goes on
		p.stop()
	}()
	if !w.ended(ctx, p) {
		return "", faults.NoEffect("the process of %s did not end within %v", node, w.actTime())
	}
	return "the process of " + node + " ended by itself", nil
}

// HandOver implements faults.World.
func (w *world) HandOver(ctx context.Context, node string) (string, error) {
	p, err := w.runs(node)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, w.actTime())
	defer cancel()
	answer := make(chan error, 1)
	var to string
	go func() {
		p.gate.Wait() // one that stands still hears of it when it goes on
		var err error
		to, err = p.host.HandOver(ctx)
		answer <- err
	}()
	select {
	case err := <-answer:
		if err != nil {
			return "", faults.NoEffect("%s did not hand its lease over: %v", node, err)
		}
		return node + " handed its lease over to " + to, nil
	case <-p.ended:
		return "", faults.NoEffect("%s ended meanwhile", node)
	}
}

// StopBeforeWrite implements faults.World: the write is on its way, the process
// behind it stands still.
func (w *world) StopBeforeWrite(ctx context.Context, node string) (string, error) {
	hold := w.resource.Hold(node)
	w.holds.mu.Lock()
	w.holds.byNode[node] = hold
	w.holds.mu.Unlock()
	arriving, cancel := context.WithTimeout(ctx, w.actTime())
	defer cancel()
	select {
	case <-hold.Arrived():
	case <-arriving.Done():
		return "", faults.NoEffect("%s wrote nothing within %v", node, w.actTime())
	}
	return w.Stop(ctx, node)
}

// ContinueWrite implements faults.World.
func (w *world) ContinueWrite(ctx context.Context, node string) (string, error) {
	w.holds.mu.Lock()
	hold := w.holds.byNode[node]
	delete(w.holds.byNode, node)
	w.holds.mu.Unlock()
	late, err := hold.Late(ctx, node)
	if err := w.Continue(ctx, node); err != nil {
		return "", err
	}
	return late, err
}

// SetClockRate implements faults.World.
func (w *world) SetClockRate(_ context.Context, node string, rate float64) (string, error) {
	return w.setClocks(node, func(c *clocks) { c.rate = rate })
}

// JumpClock implements faults.World.
func (w *world) JumpClock(_ context.Context, node string, offset time.Duration) (string, error) {
	return w.setClocks(node, func(c *clocks) { c.offset += offset })
}

// setClocks changes a candidate's clocks. One that does not run gets them with its
// next start.
func (w *world) setClocks(node string, change func(*clocks)) (string, error) {
	n := w.byName[node]
	n.mu.Lock()
	change(&n.clocks)
	set, p := n.clocks, n.process
	n.mu.Unlock()
	if p == nil {
		return faults.ClocksOfStopped(node, set == clocks{rate: 1})
	}
	p.sleep(set.asleep)
	p.host.SetClocks(set.rate, set.offset, set.asleep)
	text := fmt.Sprintf("the clocks of %s run at rate %g, its wall clock is off by %v", node, set.rate, set.offset)
	if slept := p.slept(); slept > 0 {
		text += fmt.Sprintf(", its monotonic clock is %v behind boot time", slept.Round(time.Millisecond))
	}
	return text, nil
}

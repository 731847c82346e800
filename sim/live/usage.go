package live

import (
	"context"
	"fmt"
	"sync"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/protocol"
	"github.com/recount-io/recount/sim/stage"
)

// measure records every protocol.UsagePeriod what a candidate's process
// consumes, whatever program it is, as far as the system tells. It goes on
// until stop is called, and stop returns when it is over.
func (c *candidate) measure(pid int) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var measuring sync.WaitGroup
	measuring.Go(func() {
		for stage.Sleep(ctx, protocol.UsagePeriod) {
			if u, seen := protocol.UsageOf(fmt.Sprintf("/proc/%d", pid)); seen {
				c.recorder.Stamp(history.Event{Kind: history.Note, Node: c.node, Usage: &u})
			}
		}
	})
	return func() { cancel(); measuring.Wait() }
}

// measureSelf records every protocol.UsagePeriod what the harness's own
// process consumes, until ctx is done.
func measureSelf(ctx context.Context, recorder *history.Recorder) {
	protocol.Usages(ctx, func(goroutines, heap int64) {
		u, _ := protocol.UsageOf("/proc/self")
		u.Goroutines, u.Heap = goroutines, heap
		recorder.Stamp(history.Event{Kind: history.Note, Usage: &u})
	})
}

// usageEvent is what a candidate says that it consumes.
func usageEvent(node string, line protocol.Line) history.Event {
	return history.Event{Kind: history.Note, Node: node, Usage: &history.Usage{
		Goroutines: max(line.Goroutines, 0), Heap: max(line.HeapBytes, 0),
	}}
}

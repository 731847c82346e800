package bubble

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/protocol"
	"github.com/recount-io/recount/sim/stage"
)

// stalls are the times in which the machine held up a run in real time: what is late
// because of that is no fault of the elector's.
type stalls struct {
	run  *run
	stop context.CancelFunc
	done sync.WaitGroup
	all  []history.Event
}

// watch begins to look for stalls. In fake time there are none.
func (r *run) watch() *stalls {
	ctx, stop := context.WithCancel(context.Background())
	s := &stalls{run: r, stop: stop}
	if !r.fake {
		s.done.Go(func() { protocol.Stalls(ctx, r.plan.Timings.Lease/protocol.StallShare, s.add) })
	}
	return s
}

// add notes that everything was held up for so long until now.
func (s *stalls) add(lasted time.Duration) {
	now := s.run.recorder.Now()
	for _, target := range append(s.run.plan.NodeNames(), history.StoreTarget) {
		pair := stage.Uninjected(fmt.Sprintf("s%d", len(s.all)/2+1), history.StallFault, []string{target}, max(now-lasted, 0), now,
			history.Effect{Holds: true}, "the machine did not let "+target+" go on")
		s.all = append(s.all, pair[:]...)
	}
}

// record ends the looking, and puts the stalls into the history.
func (s *stalls) record() {
	s.stop()
	s.done.Wait()
	for _, e := range s.all {
		s.run.recorder.Record(e)
	}
}

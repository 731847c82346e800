package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/health"
)

// watched is a call's elector, and what else reports whether it leads.
type watched struct {
	call    *call
	elector *elector.Elector
	monitor *health.Monitor
}

// watch looks several times between two renewals, as long as the job runs.
func (w watched) watch() {
	for {
		w.look()
		select {
		case <-time.After(w.call.run.Lease / 10):
		case <-w.call.done:
			return
		}
	}
}

// look expects everybody to say the same of who leads, as long as that stays the same:
// no time passes meanwhile unless the process stands still.
func (w watched) look() {
	c, r := w.call, w.call.run
	c.life.gate.Wait()
	began := r.now()
	leads := w.elector.IsLeader()
	monitor, report, live := w.monitor.IsLeader(c.lock.name), w.monitor.Report(), w.monitor.Live()
	only := w.elector.OnlyLeader(func(ctx context.Context, t *elector.Term) error { return errors.Join(ctx.Err(), t.Check(0)) })(c.ctx)
	later := w.elector.IsLeader()
	r.mu.Lock()
	defer r.mu.Unlock()
	if later != leads || r.now() != began || c.life.dead {
		return
	}
	if of := report.Elections[0]; monitor != leads || of.IsLeader != leads || leads && of.Token != c.token && c.bodies > 0 {
		r.find(healthAgrees, "%v: IsLeader is %v, and the monitor says %v and %+v", c, leads, monitor, of)
	}
	if live != nil && !c.panicked && !r.has(Refuse) {
		r.find(healthAgrees, "%v: nothing is stuck, and Live says %v", c, live)
	}
	if refused := errors.Is(only, elector.ErrNotLeading); refused == leads || only != nil && !refused && c.ctx.Err() == nil {
		r.find(leaderOnly, "%v: IsLeader is %v, and a function for the leader returns %v", c, leads, only)
	}
}

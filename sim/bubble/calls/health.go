package calls

import (
	"errors"
	"math/rand/v2"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/health"
	"github.com/recount-io/recount/elector/health/instrument"
)

// watched draws processes whose electors a health.Monitor watches.
func (c *Case) watched(r *rand.Rand) {
	for i := range c.Processes {
		c.Processes[i].Watched = r.IntN(3) == 0 && c.Elections <= few
	}
}

// newElector makes the candidate's elector, watched or not.
func (c *candidate) newElector(store elector.Store) (*elector.Elector, error) {
	if !c.behavior.Watched {
		return elector.New(store, c.config)
	}
	monitor, err := health.New(health.Options{})
	if err != nil {
		return nil, err
	}
	c.monitor = monitor
	return instrument.New(store, c.config, monitor)
}

// expectHealth expects the monitor to say who leads as the elector does, and that the
// elector is dead only when it has stopped.
func (c *candidate) expectHealth() {
	if c.monitor == nil {
		return
	}
	began, leads := c.run.recorder.Now(), c.elector.IsLeader()
	says, report, live := c.monitor.IsLeader(c.config.Election), c.monitor.Report().Elections[0], c.monitor.Live()
	if c.elector.IsLeader() != leads || c.run.recorder.Now() != began {
		return // it changed meanwhile
	}
	if says != leads || report.IsLeader != leads {
		c.find(healthAgrees, "IsLeader is %v, and the monitor says %v and %+v", leads, says, report)
	}
	if live != nil && c.elector.State() != event.StateStopped {
		c.find(healthAgrees, "the elector is a %s, and Live says %v", c.elector.State(), live)
	}
}

// expectAlive expects Live to fail if an error for good has ended the call that has
// returned, and only then. After a panic it may do either.
func (c *candidate) expectAlive(err error) {
	if c.monitor == nil {
		return
	}
	var fatal *elector.FatalError
	var panicked *elector.PanicError
	if live := c.monitor.Live(); (live != nil) != errors.As(err, &fatal) && !errors.As(err, &panicked) {
		c.find(healthAgrees, "the call returned %v, and Live says %v", err, live)
	}
}

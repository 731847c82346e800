package fuzz

import (
	"context"
	"fmt"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/endless"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual"
)

// Ends is what a case breaks that does not come to an end. No checker promises it: there is
// no history of such a run.
const Ends checker.Promise = "Ends"

// EndlessError says that a run in virtual time did not come to an end, and what went on in
// it. The run's goroutine is left behind.
type EndlessError struct{ Why string }

func (e *EndlessError) Error() string { return "fuzz: the run does not end: " + e.Why }

// limits are many times what any run in virtual time takes, with all that runs beside it.
var limits = endless.Limits{Processor: 45 * time.Second, Idle: time.Minute, Heap: 3 << 30}

// carryOut carries out a plan. In virtual time, which stands still in a run that spins, the
// error is an *EndlessError if the run does not come to an end.
func carryOut(ctx context.Context, w World, plan sim.Plan) (*history.History, error) {
	if _, is := w.(*virtual.World); !is {
		return w.Run(ctx, plan, "")
	}
	type outcome struct {
		h   *history.History
		err error
	}
	done, stuck := make(chan outcome, 1), make(chan string, 1)
	watch := endless.Start(limits, func(why string) { stuck <- why })
	defer watch.End()
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- outcome{err: fmt.Errorf("fuzz: the world panics: %v", r)}
			}
		}()
		h, err := w.Run(ctx, plan, "")
		done <- outcome{h, err}
	}()
	select {
	case o := <-done:
		return o.h, o.err
	case why := <-stuck:
		return nil, &EndlessError{why}
	}
}

package candidate

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/protocol"
)

// teller is where a Host's events go, and what it waits for.
type teller interface {
	// wait waits while the process stands still. It is called with no lock held,
	// wherever something comes from outside.
	wait()
	// stamp tells an event that happens now, at one that happened at t on the
	// run's clock.
	stamp(e history.Event)
	at(t time.Duration, e history.Event)
	// line tells what is no event of a history.
	line(l protocol.Line)
	// nextOp is a number for an operation.
	nextOp() int64
	// time is the run's.
	time() time.Duration
}

// Surroundings are what a Host has around it that is no process of its own, but
// lives in a world that is one program.
type Surroundings struct {
	// Real is the time since the start of the run, from which the candidate's
	// clock runs, at Settings.ClockRate. Settings.Epoch is 0 then.
	Real func() time.Duration
	// Keep makes of that clock the one that the elector reads.
	Keep func(*Clock) elector.Clock
	// Wait waits while the process is to stand still.
	Wait func()
	// Record gets the candidate's events, on the run's clock, with numbers of
	// operations from NextOp.
	Record func(history.Event)
	NextOp func() int64
	// Dial opens the connections to the store.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Resource is the protected resource.
	Resource Resource
	// Alarm, if not nil, gets the event that no request has succeeded for a lease.
	Alarm  func(elector.Event)
	Logger *slog.Logger

	_ struct{}
}

// NewHost returns what a Subject gets that lives in such surroundings.
func NewHost(s Settings, around Surroundings) *Host {
	h := &Host{
		Settings: s,
		Clock:    NewClock(around.Real, s.ClockRate),
		Logger:   around.Logger,
		out:      inside{around},
		work:     newWorker(s, around.Resource),
		keep:     around.Keep,
		dial:     within(around.Dial),
		alarm:    around.Alarm,
	}
	h.began = began(h.Clock.Now, func() time.Duration { return time.Duration(time.Now().UnixNano()) })
	h.wall.Store(s.ClockOffset.Milliseconds())
	return h
}

// within bounds how long it takes to dial.
func within(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		return dial(ctx, network, addr)
	}
}

// SetClocks changes the candidate's clocks: the rate of all of them, by how far
// the wall clock is off, and whether the machine is suspended.
func (h *Host) SetClocks(rate float64, offset time.Duration, asleep bool) {
	h.setClock(protocol.Command{Rate: rate, OffsetMS: offset.Milliseconds(), Asleep: asleep})
}

// inside tells the events to the world around.
type inside struct{ Surroundings }

var _ teller = inside{}

func (i inside) wait() { i.Wait() }

func (i inside) stamp(e history.Event) { i.at(i.Real(), e) }

func (i inside) at(t time.Duration, e history.Event) {
	e.At = t
	i.Record(e)
}

func (i inside) line(protocol.Line) {}

func (i inside) nextOp() int64 { return i.NextOp() }

func (i inside) time() time.Duration { return i.Real() }

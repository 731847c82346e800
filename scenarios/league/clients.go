package league

import (
	"strings"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/sim/virtual"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// retries is how often the usual client of Redis for Go repeats a request by
// itself, unless it is told not to.
const retries = 3

// slowPromotion is for how long a replica refuses writes that takes the
// primary's place.
const slowPromotion = 1500 * time.Millisecond

// clients are about the Redis client: what it repeats, and what it makes of the
// server's errors.
func clients() []Mutant {
	setNX := acquiring(func(c *redismodel.Call) redismodel.Reply {
		if f := fields(c); f != nil {
			return refused(c, f)
		}
		return redismodel.Acquire.Run(c)
	})
	setNX.Client.Repeats = retries
	return []Mutant{
		{
			Name: "client-repeats", Where: Client, What: "the client's own retries are left on: a SET NX whose answer is lost is repeated, and refused by the lease that it got itself",
			Breaks:  []checker.Promise{checker.LeaseLinearizable, checker.FailoverBound},
			Subject: setNX,
		}, {
			Name: "noscript-is-loss", Where: Client, What: "the scripts are loaded once, and a renewal that the store does not know any more (NOSCRIPT) counts as refused",
			Breaks: []checker.Promise{checker.Stable, checker.LeaseLinearizable},
			Subject: virtual.Subject{Variant: virtual.Variant{Client: virtual.Client{Loads: true, Read: func(call history.Call, in *machine.Input) {
				if call == history.Renew && says(in, "NOSCRIPT") {
					*in = machine.Input{Result: machine.NotHeld}
				}
			}}}},
		}, {
			Name: "readonly-is-fatal", Where: Client, What: "a replica that has just become the primary, and refuses a write as replicas do (READONLY), ends the process for good",
			Scenario: "store-failover",
			Breaks:   []checker.Promise{checker.LeaderReturns},
			Subject: virtual.Subject{Variant: virtual.Variant{ReadOnly: slowPromotion, Client: virtual.Client{Read: func(_ history.Call, in *machine.Input) {
				if says(in, "READONLY") {
					in.Result = machine.Fatal
				}
			}}}},
		},
	}
}

// says tells whether the answer is an error of that kind.
func says(in *machine.Input, kind string) bool {
	return in.Err != nil && strings.Contains(in.Err.Error(), kind)
}

// clocks are about the clock that deadlines are read from.
func clocks() []Mutant {
	reading := func(clock virtual.Clock) virtual.Subject {
		return virtual.Subject{Variant: virtual.Variant{Clock: clock}}
	}
	return []Mutant{
		{
			Name: "wall-clock", Where: Clock, What: "deadlines are read from the wall clock, which jumps when somebody sets it",
			Breaks:  []checker.Promise{checker.AtMostOneLeader, checker.Stable},
			Subject: reading(virtual.Wall),
		}, {
			Name: "monotonic-clock", Where: Clock, What: "deadlines are read from the monotonic clock, which stands still while the machine is suspended",
			Breaks:  []checker.Promise{checker.AtMostOneLeader},
			Subject: reading(virtual.Monotonic),
		},
	}
}

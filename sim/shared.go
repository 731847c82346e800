package sim

import "time"

// What several worlds have in common, so that what is seen in one is comparable to what is
// seen in another.
const (
	// ReadEvery is how many writes a leader makes between two reads of the protected resource.
	ReadEvery = 10

	// MaxBids is how many requests of a candidate are remembered as bids: more than can be
	// under way.
	MaxBids = 16

	// RequestBytes is about the size of a script's call with its arguments. It matters on
	// links of limited bandwidth.
	RequestBytes = 300

	// Starting is how long it takes, at the most, until the elector of a new process begins,
	// where processes are simulated.
	Starting = 25 * time.Millisecond

	// ClockError bounds how far the stamps of two processes of one machine can be apart. They
	// read one clock, and a stamp is taken within microseconds of its moment.
	ClockError = 200 * time.Microsecond

	// ProbeTime is how long a probe of real servers waits for an answer before it takes the
	// way, or the store, for dead.
	ProbeTime = 120 * time.Millisecond
)

package protocol

import (
	"encoding/json"
	"time"

	"github.com/recount-io/recount/history"
)

// The environment of a candidate.
const (
	EnvElection    = "RECOUNT_ELECTION"
	EnvNode        = "RECOUNT_NODE"
	EnvRedisURL    = "RECOUNT_REDIS_URL"
	EnvLease       = "RECOUNT_LEASE_MS"
	EnvRenew       = "RECOUNT_RENEW_MS"
	EnvRetry       = "RECOUNT_RETRY_MS"
	EnvClockRate   = "RECOUNT_CLOCK_RATE"
	EnvClockOffset = "RECOUNT_CLOCK_OFFSET_MS"
	EnvEpoch       = "RECOUNT_EPOCH_NS"
	EnvResource    = "RECOUNT_RESOURCE_URL"

	// EnvServerName is the name that the store's TLS certificate must carry:
	// the address in EnvRedisURL is that of a proxy.
	EnvServerName = "RECOUNT_REDIS_SERVER_NAME"
	// EnvPasswordFile is a file with the password of the user whom EnvRedisURL names. It
	// has to be read for each new connection: the password changes. It is absent where
	// the URL says all.
	EnvPasswordFile = "RECOUNT_REDIS_PASSWORD_FILE"
	// EnvVia tells where to connect in place of the addresses that servers
	// behind EnvRedisURL name: "host:port=proxy:port", separated by commas. It
	// is absent where the URL names the proxy itself.
	EnvVia = "RECOUNT_REDIS_VIA"
	// EnvRedisURLs are the URLs of all Redis, in one order for all candidates,
	// separated by commas, where the store is several that know nothing of each
	// other. EnvRedisURL is the first of them then; else this is absent.
	EnvRedisURLs = "RECOUNT_REDIS_URLS"
	// EnvPostgresURL is the URL of a PostgreSQL beside the Redis, by a way of the
	// candidate's own with the same faults on it. Only those electors get it that
	// are known to keep their leases there.
	EnvPostgresURL = "RECOUNT_POSTGRES_URL"
	// EnvReplicas is how many replicas must confirm what an elector has the
	// store do, if it can ask for that.
	EnvReplicas = "RECOUNT_REDIS_REPLICAS"
	// EnvExpire is for how many milliseconds, at least, what an elector leaves in the
	// store should outlive its last use, and not for good: the store belongs to
	// somebody else. It is absent where everything is removed anyway.
	EnvExpire = "RECOUNT_REDIS_EXPIRE_MS"
	// EnvDrift is the clock-rate difference to tolerate, as a fraction.
	EnvDrift = "RECOUNT_DRIFT"
	// EnvRequestTimeout is after how many milliseconds the production elector gives a
	// request up. It is absent where that is the elector's default.
	EnvRequestTimeout = "RECOUNT_REQUEST_TIMEOUT_MS"
	// EnvWrites is how often a leader should write to the resource, in ms.
	EnvWrites = "RECOUNT_WRITE_MS"
	// EnvObserves is how often a candidate should ask who leads, in ms.
	EnvObserves = "RECOUNT_OBSERVE_MS"
	// EnvSubject names a subject that the harness's own binary contains. Only
	// such candidates get it; they are steered by commands on standard input
	// and wait for CommandGo before they compete.
	EnvSubject = "RECOUNT_SUBJECT"
)

// EventReady is the line by which a steered candidate says that it waits for
// CommandGo; EventClock reports its clocks after a CommandClock.
const (
	EventReady = "ready"
	EventClock = "clock"
	// EventTransfer answers a CommandTransfer: Holder leads now, or Error says why
	// the lease was not handed over.
	EventTransfer = "transfer"
	// EventStall tells that the machine did not let the candidate go on for
	// LastedMS until just now.
	EventStall = "stall"
	// EventUsage tells what the candidate's process consumes, as far as that is
	// not seen from outside.
	EventUsage = "usage"
)

// Line is one line of a candidate's standard output. Name is the kind of a
// history event, or one of the names above; the history's own name for that
// field, kind, is understood too.
type Line struct {
	Name    string         `json:"event"`
	At      *time.Duration `json:"at,omitempty"`       // on the run's clock; absent: on arrival
	UntilMS *float64       `json:"until_ms,omitempty"` // belief ends so long after At

	LastedMS float64 `json:"lasted_ms,omitempty"` // EventStall
	Rate     float64 `json:"rate,omitempty"`      // EventClock
	OffsetMS int64   `json:"offset_ms,omitempty"` // EventClock: of the wall clock
	BehindMS float64 `json:"behind_ms,omitempty"` // EventClock: of the monotonic clock behind boot time

	Goroutines int64 `json:"goroutines,omitempty"` // EventUsage
	HeapBytes  int64 `json:"heap_bytes,omitempty"` // EventUsage: what the last garbage collection left alive

	history.Event
}

// Parse reads a line. It reports false for one that is no event of the
// protocol; such lines are kept as notes.
func Parse(text []byte) (Line, bool) {
	var line Line
	if json.Unmarshal(text, &line) != nil {
		return Line{}, false
	}
	if line.Name == "" {
		line.Name = string(line.Kind)
	}
	switch line.Name {
	case EventReady, EventClock, EventTransfer, EventStall, EventUsage:
		return line, true
	}
	line.Kind = history.Kind(line.Name)
	switch line.Kind {
	case history.Invoke, history.Ok, history.Fail, history.Info,
		history.Elected, history.Extended, history.Deposed, history.Note:
		return line, true
	default:
		return Line{}, false
	}
}

// Command is one line of a steered candidate's standard input. Its end means
// that the harness is gone: the candidate must exit.
type Command struct {
	Command  string  `json:"command"`
	Rate     float64 `json:"rate,omitempty"`      // CommandClock: new rate of all clocks
	OffsetMS int64   `json:"offset_ms,omitempty"` // CommandClock: offset of the wall clock
	Asleep   bool    `json:"asleep,omitempty"`    // CommandClock: the monotonic clock stands still
}

// The commands.
const (
	CommandGo       = "go"       // compete from now on
	CommandClock    = "clock"    // set the clocks
	CommandTransfer = "transfer" // hand the lease over to another candidate
)

// WriteRequest is the body of POST /write at the protected resource.
type WriteRequest struct {
	Node     string `json:"node"`
	Election string `json:"election"`
	Token    uint64 `json:"token,omitempty"` // 0: an unfenced write
	Value    string `json:"value"`
}

// WriteReply is the resource's answer: 200 if accepted, 409 if refused.
type WriteReply struct {
	Accepted bool   `json:"accepted"`
	Fence    uint64 `json:"fence,omitempty"` // the highest token seen, when refused
}

// ReadReply is the answer to GET /read: the last write accepted.
type ReadReply struct {
	Value string `json:"value"`
	Token uint64 `json:"token"`
}

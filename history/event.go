package history

import "time"

// Version is the version of the file format that this package reads and writes.
const Version = 1

// Kind says what an event is.
type Kind string

// The kinds of events.
const (
	Invoke   Kind = "invoke"   // a call to the store or the resource begins; At is before its first byte is sent
	Ok       Kind = "ok"       // the call took effect; At is after the last byte of its reply was read
	Fail     Kind = "fail"     // the call certainly took no effect
	Info     Kind = "info"     // the outcome is unknown: it may take effect at any time after its invocation, or never
	Elected  Kind = "elected"  // a belief begins
	Extended Kind = "extended" // a belief gets a later deadline
	Deposed  Kind = "deposed"  // a belief ends
	Fault    Kind = "fault"    // a fault is put on or taken off
	Healed   Kind = "healed"   // every fault is off; progress is owed from here on
	Audit    Kind = "audit"    // what the store itself recorded, in the store's own order
	Exit     Kind = "exit"     // a candidate's process ended
	Start    Kind = "start"    // a candidate's process began
	Note     Kind = "note"     // free text
)

// Call names an operation on the store or on the protected resource.
type Call string

// The calls.
const (
	Acquire Call = "acquire"
	Renew   Call = "renew"
	Release Call = "release"
	Observe Call = "observe"
	Write   Call = "write"
	Read    Call = "read"
)

// OnLease reports whether the call is one on the lease (and not on the
// protected resource).
func (c Call) OnLease() bool {
	switch c {
	case Acquire, Renew, Release, Observe:
		return true
	default:
		return false
	}
}

// Phase reports whether a fault event begins or ends the fault.
type Phase string

// The phases. A fault that happens in one moment (a deleted key) has both: On
// just before the act, Off just after it.
const (
	On  Phase = "on"
	Off Phase = "off"
)

// Why says why a belief ended.
type Why string

// The reasons for the end of a belief.
const (
	Expired    Why = "expired"
	Superseded Why = "superseded"
	Resigned   Why = "resigned"
	Stopped    Why = "stopped"
	Failed     Why = "error"
)

// The reasons for the end of a candidate's process. One that ended ByItself
// was neither hit by a fault nor asked to; one that Panicked says with what.
const (
	Killed    Why = "killed"
	Dismissed Why = "dismissed"
	EndOfRun  Why = "end of run"
	ByItself  Why = "by itself"
	Panicked  Why = "panic"
)

// StallFault is the name of a fault that nobody injected: the machine under the
// run did not let a process, or the store, go on for a while. Recorded so that
// nobody takes its consequences for the elector's.
const StallFault = "stall"

// OverloadFault is the name of a fault that nobody injected: the store refused
// connections, or was so busy that it answered nobody in time. How long a
// failover took says nothing about the elector then.
const OverloadFault = "overload"

// StarvedFault is the name of a fault that nobody injected: by the kernel's counters a
// candidate, or the harness, waited for a processor for half of the time or longer. How
// long the candidate takes to act says nothing about the elector then. It does not
// excuse a candidate that says for too long that it leads.
const StarvedFault = "starved"

// Uninjected reports whether a fault of that name was injected by nobody: the machine or
// the store was not up to the run.
func Uninjected(fault string) bool {
	return fault == StallFault || fault == OverloadFault || fault == StarvedFault
}

// FromWire is the Evidence of what nobody reported. A belief with it was inferred
// from what the program asked of its store: it says when the program may have
// believed to lead, and not that it did not believe longer. An operation with it
// was read on its way to the store, and its times are those of the reader.
const FromWire = "wire"

// FromWriter is the Evidence of a write or a read that its caller recorded, and not
// the resource: the resource decided at some time between invocation and completion.
const FromWriter = "writer"

// EndOfRunNote is the text of the note with which a run ends: from there on the
// harness stops the candidates, and nobody owes anything.
const EndOfRunNote = "end of run"

// StoreTarget is the target of a fault that hits the store itself.
const StoreTarget = "store"

// Event is one line of a history. Which fields are set depends on Kind and
// Call; docs/history-format.md has the table. Times are nanoseconds since the
// start of the run, on one clock that no fault touches.
type Event struct {
	Seq      int64         `json:"seq"`
	At       time.Duration `json:"at"`
	Node     string        `json:"node,omitempty"`
	Kind     Kind          `json:"kind"`
	Election string        `json:"election,omitempty"`

	// Operations. Op joins an invocation to its one completion and is unique
	// in the history. Try is the number that the elector gave to the request;
	// (Nonce, Try) joins an operation to its audit event.
	Op     int64         `json:"op,omitempty"`
	Call   Call          `json:"call,omitempty"`
	TTL    time.Duration `json:"ttl_ns,omitempty"`
	Nonce  string        `json:"nonce,omitempty"`
	Try    uint64        `json:"try,omitempty"`
	Token  uint64        `json:"token,omitempty"`
	Holder string        `json:"holder,omitempty"`
	Value  string        `json:"value,omitempty"`
	Fence  uint64        `json:"fence,omitempty"`
	Stands bool          `json:"stands,omitempty"` // it was refused, and may be granted yet
	Error  string        `json:"error,omitempty"`

	// Applied is set on audit events: did the call change the lease?
	Applied *bool `json:"applied,omitempty"`

	// Beliefs. Until is the deadline at which the belief ends by itself; a nil
	// Until means that it lasts until deposed or exit.
	Until *time.Duration `json:"until,omitempty"`
	Why   Why            `json:"why,omitempty"`

	// Faults. Effective is set with phase off: did the fault demonstrably take
	// effect, and by what Evidence? Between Since and At of that event it was
	// certainly in force; that of an invocation is when it was sent, if it was refused
	// then and is granted now. Shorten is set where the fault shortened the time to
	// live of every lease in the store by so much; Void where it may have
	// removed leases from the store. Params is for people.
	ID        string         `json:"id,omitempty"`
	Fault     string         `json:"fault,omitempty"`
	Phase     Phase          `json:"phase,omitempty"`
	Targets   []string       `json:"targets,omitempty"`
	Params    map[string]any `json:"params,omitempty"`
	Effective *bool          `json:"effective,omitempty"`
	Evidence  string         `json:"evidence,omitempty"`
	Since     *time.Duration `json:"since,omitempty"`
	Shorten   time.Duration  `json:"shorten_ns,omitempty"`
	Void      bool           `json:"void,omitempty"`
	Effect    *Effect        `json:"effect,omitempty"` // with phase on

	Text string `json:"text,omitempty"`

	// Arrived is set where At, and an Until counted from it, is when the harness
	// read the line, and not when its writer stamped it: the event may be older.
	Arrived bool `json:"arrived,omitempty"`

	// Restated is set where the event says again what an earlier history of a
	// chain ended with: how a history that goes on begins. It is counted there.
	Restated bool `json:"restated,omitempty"`

	// Wire is set on a note that tells how much of what was read off the wire
	// was understood.
	Wire *Wire `json:"wire,omitempty"`

	// Usage is set on a note that tells what a process consumes: the node's, or
	// without a node the harness's.
	Usage *Usage `json:"usage,omitempty"`

	// Probe is set on a note that tells how a store that others use fares.
	Probe *Probe `json:"probe,omitempty"`

	_ struct{}
}

// Sent is when the request of an invocation was sent: at Since if it was refused first
// and what was asked for passed on to it later, else at At.
func (e *Event) Sent() time.Duration {
	if e.Since != nil {
		return *e.Since
	}
	return e.At
}

// Ambiguous is the error of an operation that was read off the wire with its answer, and
// of which that does not report whether it took effect.
const Ambiguous = "the reply has several explanations"

// Effect says what a fault does to its targets while it is in force, as far as a
// checker must know it.
type Effect struct {
	Cuts  bool `json:"cuts,omitempty"`  // no request of theirs on a lease can take effect and be answered
	Holds bool `json:"holds,omitempty"` // they stand still, or one of their writes does
	Skews bool `json:"skews,omitempty"` // their clocks run wrong, or stand still

	_ struct{}
}

// Wire is how much of what candidates asked of the lock was understood.
type Wire struct {
	Lock       string `json:"lock,omitempty"` // the key; "" if no lock was found
	Operations int64  `json:"operations"`     // requests that touched the lock, or may have
	Understood int64  `json:"understood"`     // of these: those of which is known what they did

	_ struct{}
}

// Usage is what one process consumes in one moment. A field that is 0 is not
// known: a note has what can be seen from outside, or what the process reported.
type Usage struct {
	Resident    int64 `json:"rss_bytes,omitempty"`   // memory, as the system counts it
	Descriptors int64 `json:"descriptors,omitempty"` // open ones
	Threads     int64 `json:"threads,omitempty"`
	Processor   int64 `json:"cpu_ms,omitempty"` // time of processors since the process began
	Goroutines  int64 `json:"goroutines,omitempty"`
	Heap        int64 `json:"heap_bytes,omitempty"` // what the last garbage collection left alive

	_ struct{}
}

// Probe is what a connection that goes around all faults saw of a store that
// others use: before the run, where Limit is set, or in one moment of it.
type Probe struct {
	Latency time.Duration `json:"latency_ns,omitempty"` // of an answer, or of waiting for one in vain
	Error   string        `json:"error,omitempty"`      // why there was none

	// Of the answers before the run; nobody may be slower than Limit for long.
	P50   time.Duration `json:"p50_ns,omitempty"`
	P99   time.Duration `json:"p99_ns,omitempty"`
	Limit time.Duration `json:"limit_ns,omitempty"`

	// Stopped says that the run ended for what was seen: the note's Text tells it.
	Stopped bool `json:"stopped,omitempty"`

	_ struct{}
}

// Header is the first line of a history: the circumstances of the run, as far
// as the checkers need them.
type Header struct {
	Version    int           `json:"recount_history"`
	Scenario   string        `json:"scenario"`
	Subject    string        `json:"subject"`
	World      string        `json:"world"`
	Seed       uint64        `json:"seed"`
	Nodes      []string      `json:"nodes"`
	Lease      time.Duration `json:"lease_ns"`
	ClockError time.Duration `json:"clock_error_ns"` // bound of the error of At between any two nodes
	DriftPPM   int64         `json:"drift_ppm"`      // clock-rate difference that the electors tolerate
	Promises   []string      `json:"promises,omitempty"`

	// Waived holds, by promise, why it does not apply in this scenario.
	Waived map[string]string `json:"waived,omitempty"`

	// Bounds that the scenario sets; zero means that the checker derives one
	// from the timings.
	Renew         time.Duration `json:"renew_ns,omitempty"`
	Retry         time.Duration `json:"retry_ns,omitempty"`
	FailoverBound time.Duration `json:"failover_bound_ns,omitempty"` // of a failover's excess
	ReturnBound   time.Duration `json:"return_bound_ns,omitempty"`   // from healed to a leader

	// Margin is what the elector is documented to take off a deadline besides the
	// drift, as for a store that counts whole milliseconds.
	Margin time.Duration `json:"margin_ns,omitempty"`

	// Foreign says that the candidates are a program of which nothing is known
	// but what it does. It stamps its lines itself, each after what the line tells.
	// Files call the field stranger, as they did in earlier versions.
	Foreign bool `json:"stranger,omitempty"`

	// Write is how often a leader has to write to the protected resource; zero
	// where nobody asks it to.
	Write time.Duration `json:"write_ns,omitempty"`

	// Steadfast says that none of the scenario's faults may make the leader
	// change either.
	Steadfast bool `json:"steadfast,omitempty"`

	Redis string `json:"redis,omitempty"` // what the store was: "process 7.0.15"
	Repro string `json:"repro,omitempty"` // the command that repeats the run

	_ struct{}
}

// History is a whole run.
type History struct {
	Header Header
	Events []Event
}

// Bool returns a pointer to b, for Event.Applied and Event.Effective.
func Bool(b bool) *bool { return &b }

// At returns a pointer to t, for Event.Until.
func At(t time.Duration) *time.Duration { return &t }

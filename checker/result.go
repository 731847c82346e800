// Package checker decides from a recorded history alone which promises an
// election kept. Every checker is a pure function, named by the promise that it
// decides, and returns the numbers of the guilty events.
package checker

import (
	"fmt"
	"time"
)

// Verdict is the outcome of a check. The zero value is Unknown: nothing
// defaults to pass.
type Verdict int

// The verdicts.
const (
	Unknown Verdict = iota
	Pass
	Fail
)

func (v Verdict) String() string {
	switch v {
	case Pass:
		return "pass"
	case Fail:
		return "fail"
	default:
		return "unknown"
	}
}

// MarshalText writes the verdict as in report.json.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (v *Verdict) UnmarshalText(text []byte) error {
	switch string(text) {
	case "pass":
		*v = Pass
	case "fail":
		*v = Fail
	case "unknown":
		*v = Unknown
	default:
		return fmt.Errorf("checker: %q is no verdict: pass, fail or unknown", text)
	}
	return nil
}

// Promise names a property that a checker decides.
type Promise string

// The promises, in the order in which they are reported.
const (
	WellFormed        Promise = "WellFormed"
	LeaseLinearizable Promise = "LeaseLinearizable"
	AtMostOneLeader   Promise = "AtMostOneLeader"
	LossHeeded        Promise = "LossHeeded"
	TokensIncrease    Promise = "TokensIncrease"
	FencedWrites      Promise = "FencedWrites"
	LeaderReturns     Promise = "LeaderReturns"
	FailoverBound     Promise = "FailoverBound"
	Stable            Promise = "Stable"
)

// Promises are all of them, in the order in which they are reported.
var Promises = []Promise{
	WellFormed, LeaseLinearizable, AtMostOneLeader, LossHeeded, TokensIncrease,
	FencedWrites, LeaderReturns, FailoverBound, Stable,
}

// Finding is what a checker found about one promise.
type Finding struct {
	Promise  Promise `json:"name"`
	Verdict  Verdict `json:"verdict"`
	Reason   string  `json:"reason"`             // one sentence
	Evidence []int64 `json:"evidence,omitempty"` // seq of the guilty events: two, where two contradict each other
}

// Result is everything that was found out about one history.
type Result struct {
	// Verdict is fail if a promise that was asked for is broken, else unknown
	// if one of them is undecided, else pass.
	Verdict  Verdict
	Asked    []Finding // the promises that the history's header asks for
	Measured []Finding // the others, judged but without a say in the verdict

	Lease     LeaseChecks
	Terms     []Term // ordered by election, then begin
	Holdings  []Holding
	Failovers []Failover
	Faults    []FaultCount // ordered by name
	Ops       OpCounts
	Writes    WriteCounts

	DualBelief   time.Duration // time in which more than one candidate believed, summed
	Leaderless   time.Duration // time in which nobody believed, from the first term to the end
	Availability float64       // share of that time in which exactly one or more believed
	End          time.Duration // time of the last event
}

// LeaseChecks are the three checkers of LeaseLinearizable, one by one.
type LeaseChecks struct {
	Intervals  Finding
	StoreOrder Finding
	Porcupine  Finding
}

// Term is one node's belief in one token.
type Term struct {
	Election string
	Node     string
	Token    uint64
	From     time.Duration
	To       time.Duration // when the belief ended
	Why      string        // history.Why, "exit", or "" if it lasts to the end of the history
	Begin    int64         // seq of the elected event
	End      int64         // seq of the event that ended it; of the last event that set its deadline where it expired by itself
}

// Holding is a time in which the store certainly kept the lease for a holder.
type Holding struct {
	Election string
	Node     string
	Token    uint64
	From, To time.Duration
}

// Failover is the way from one leader to the next one. Its parts add up:
// Total = Wait + Detect + Acquire + Announce, and Excess is Total - Wait.
type Failover struct {
	Election string
	Cause    string        // name of the fault, or "resign"
	From, To string        // nodes
	At       time.Duration // when the old leader could no longer act
	Wait     time.Duration // from At until the store could grant the lease again: no elector may skip it
	Detect   time.Duration // from then until the successor sends the request that is granted
	Acquire  time.Duration // from there until the grant's reply
	Announce time.Duration // from there until the resource's first accepted write of the new term
	Total    time.Duration
	Excess   time.Duration
	Evidence []int64 // the cause, the grant, the first accepted write
}

// FaultCount says how often a fault was injected and how often it is shown to
// have taken effect.
type FaultCount struct {
	Name      string `json:"name"`
	Injected  int    `json:"injected"`
	Effective int    `json:"effective"`
}

// OpCounts counts the completions of operations.
type OpCounts struct {
	Ok   int `json:"ok"`
	Fail int `json:"fail"`
	Info int `json:"info"`
}

// WriteCounts counts the writes to the protected resource. StaleAccepted are
// those accepted although somebody else held the lease by then.
type WriteCounts struct {
	Accepted      int `json:"accepted"`
	Refused       int `json:"refused"`
	StaleAccepted int `json:"stale_accepted"`
}

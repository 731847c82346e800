package checker

import "time"

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
	Leaderless   time.Duration // time in which nobody led, from the first term to the end of the run
	Availability float64       // share of that time in which somebody did
	End          time.Duration // time of the last event

	whole time.Duration // that Availability is a share of
}

// LeaseChecks are the judges of LeaseLinearizable, one by one.
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
// those accepted although somebody else held the lease by then, or whose writer
// had never been elected, or no longer believed to lead.
type WriteCounts struct {
	Accepted      int `json:"accepted"`
	Refused       int `json:"refused"`
	StaleAccepted int `json:"stale_accepted"`
}

package checker

import (
	"iter"

	"github.com/recount-io/recount/checker/internal/finding"
)

// Verdict is the outcome of a check. The zero value is Unknown: nothing
// defaults to pass.
type Verdict = finding.Verdict

// The verdicts.
const (
	Unknown = finding.Unknown
	Pass    = finding.Pass
	Fail    = finding.Fail
)

// Fold makes one verdict of several: fail if one of them is, else unknown if one
// of them is or there is none, else pass.
func Fold(all iter.Seq[Verdict]) Verdict { return finding.Fold(all) }

// Finding is what a check found about one promise.
type Finding = finding.Finding

// Promise names a property that a check decides.
type Promise = finding.Promise

// Named is the promise that is meant by a name in a file: a name of an earlier
// version is replaced by the one of this version, any other is taken as it is.
func Named(name string) Promise { return finding.Named(name) }

// The promises, in the order in which they are reported.
const (
	WellFormed        Promise = "WellFormed"
	NoPanic           Promise = "NoPanic"
	LeaseLinearizable Promise = "LeaseLinearizable"
	AtMostOneLeader   Promise = "AtMostOneLeader"
	BeliefWithinLease Promise = "BeliefWithinLease"
	StepsDownOnLoss   Promise = "StepsDownOnLoss"
	WriteWithinTerm   Promise = "WriteWithinTerm"
	TokensIncrease    Promise = "TokensIncrease"
	FencedWrites      Promise = "FencedWrites"
	LeaderReturns     Promise = "LeaderReturns"
	FailoverBound     Promise = "FailoverBound"
	Stable            Promise = "Stable"
)

// Row is one promise in words.
type Row struct {
	Name   Promise
	Word   string // for it where there is little room
	Kept   string // when it is kept, in one sentence without a full stop
	Broken string // what has happened where it is broken, in a few words

	check func(*facts) Finding
	timed bool // it cannot be judged where nobody knows how long a lease lasts
}

// table is the list of promises, in the order in which they are reported.
var table = []Row{
	{
		WellFormed, "form", "the history can be judged: pairs match, times run forward, every scheduled fault took effect",
		"the history cannot be judged", wellFormed, false,
	},
	{
		NoPanic, "panic", "no candidate's process ends with a panic", "an elector panicked", noPanic, false,
	},
	{
		LeaseLinearizable, "lease", "acquire, renew, release and observe answered as one lease with expiry would have, in some order that fits the times",
		"the lease was not one", leaseLinearizable, false,
	},
	{
		AtMostOneLeader, "two", "no two candidates believe at one time that they lead the same election",
		"two led at one time", atMostOneLeader, false,
	},
	{
		BeliefWithinLease, "belief", "a candidate that believes to lead was granted the lease, and believes no longer than the lease that backs it can last",
		"a belief outlasted its lease, or had none", beliefWithinLease, true,
	},
	{
		StepsDownOnLoss, "loss", "a candidate that learns that its lease is over, or has given it back, believes no longer",
		"somebody went on after the lease was lost", stepsDownOnLoss, true,
	},
	{
		WriteWithinTerm, "write", "a candidate that does not believe to lead begins no write to the protected resource",
		"somebody wrote who did not lead", writeWithinTerm, true,
	},
	{
		TokensIncrease, "token", "a later term has a larger token, no token serves two terms, and a leader that names one was granted it",
		"tokens went down, served twice or were made up", tokensIncrease, false,
	},
	{
		FencedWrites, "fence", "the resource never accepts a token smaller than one it accepted before, and reads see the last accepted write",
		"a smaller token was accepted", fencedWrites, false,
	},
	{
		LeaderReturns, "none", "after all is healed somebody leads to some effect within the bound that the timings imply, and goes on leading",
		"nobody led again in time", leaderReturns, true,
	},
	{
		FailoverBound, "slow", "every failover's excess is within the scenario's bound",
		"a failover took too long", failoverBound, true,
	},
	{
		Stable, "moves", "without a fault the leader does not change",
		"the leader changed without need", stable, false,
	},
}

// Table lists the promises in words, in the order in which they are reported.
func Table() []Row {
	out := make([]Row, len(table))
	for i, r := range table {
		r.check = nil
		out[i] = r
	}
	return out
}

// Promises are the names of all promises, in the order in which they are
// reported.
var Promises = []Promise{
	WellFormed, NoPanic, LeaseLinearizable, AtMostOneLeader, BeliefWithinLease, StepsDownOnLoss, WriteWithinTerm, TokensIncrease,
	FencedWrites, LeaderReturns, FailoverBound, Stable,
}

// InWords is the row of the promise; one without words if there is no such
// promise.
func InWords(p Promise) Row {
	for _, r := range Table() {
		if r.Name == p {
			return r
		}
	}
	return Row{Name: p}
}

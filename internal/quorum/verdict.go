package quorum

// Size is how many of so many nodes are a majority.
func Size(nodes int) int { return nodes/2 + 1 }

// Minority is how many of so many nodes can be lost and a majority is left.
func Minority(nodes int) int { return nodes - Size(nodes) }

// Verdict is what one node's answer means.
type Verdict int

// The verdicts.
const (
	Waiting  Verdict = iota // not answered yet
	Yes                     // granted, renewed, released
	No                      // held by somebody else, not held
	Silent                  // no answer: the outcome is unknown
	Hopeless                // a fatal error
)

// Tally is how many nodes have each verdict.
type Tally [Hopeless + 1]int

// Count counts verdicts.
func Count(verdicts []Verdict) (t Tally) {
	for _, v := range verdicts {
		t[v]++
	}
	return t
}

// Outcome is what becomes of a call.
type Outcome int

// The outcomes.
const (
	Open      Outcome = iota // not certain yet
	Done                     // a majority agreed
	Denied                   // no majority can have held the lease, or be got
	Lost                     // so many nodes refuse for good that no majority is left
	Undecided                // all have answered, and it is not known
	Repeated                 // another call for the same attempt has taken its place
	GivenUp                  // nobody waited for it any more
)

// Renewed is the outcome of a renewal or a release. A release that is Denied may have been
// what ended the lease: some nodes may have released it before it ran out on others.
func Renewed(verdicts []Verdict) Outcome {
	switch t := Count(verdicts); {
	case t[Yes] >= Size(len(verdicts)):
		return Done
	case t[No] > Minority(len(verdicts)):
		return Denied
	case t[Hopeless] > Minority(len(verdicts)):
		return Lost
	case t[Waiting] == 0:
		return Undecided
	default:
		return Open
	}
}

package quorum

import (
	"slices"
	"time"
)

// Denial is what a node said that refused an attempt.
type Denial struct {
	Holder    string        // who holds the node; "" if it says nobody
	Token     uint64        // of that lease
	Withheld  bool          // the node grants nothing to anybody for a while
	Remaining time.Duration // until the node can be free, counted from At
	Waiters   int           // as far as it knows
	Longest   time.Duration // how long any lease may last, as it knows
	At        time.Duration // when it said so: the machine notes it
}

// Refused is what came of an attempt for which no majority could be had.
type Refused struct {
	Denials []*Denial // of each node; nil if it did not refuse
	Freed   []bool    // the node had granted, and that is given back
}

// Rival is another candidate that holds nodes.
type Rival struct {
	Holder string
	Token  uint64
	Nodes  int
}

// Strongest is the rival that holds the most nodes; the zero Rival if there is
// none, or if most nodes withhold the lease from everybody.
func (r *Refused) Strongest() (most Rival) {
	withheld := 0
	for _, d := range r.Denials {
		if d == nil {
			continue
		}
		if d.Withheld {
			withheld++
		}
		if d.Holder == "" {
			continue
		}
		rival := Rival{Holder: d.Holder}
		var tokens []uint64
		for _, other := range r.Denials {
			if other != nil && other.Holder == d.Holder {
				rival.Nodes++
				tokens = append(tokens, other.Token)
			}
		}
		rival.Token = Usual(tokens)
		if rival.Nodes > most.Nodes || rival.Nodes == most.Nodes && rival.Holder < most.Holder {
			most = rival
		}
	}
	if withheld > Minority(len(r.Denials)) {
		return Rival{}
	}
	return most
}

// Rivalry is what a candidate keeps in mind from one refused attempt to the
// next. Its zero value is that of a candidate that was not refused yet, or has
// won since.
type Rivalry struct {
	suspect Rival // may have held a majority at the last attempt, as far as it could see
	splits  int   // attempts in a row that nobody won
}

// Next is how long it takes until a majority can be free. Candidates that hold a
// few nodes each give them back at once, as this one did; then all need is a
// pause of random length besides, longer each time: splits is how often in a row
// that has happened, and 0 if somebody leads. A candidate that holds a majority
// goes on. So perhaps does one that may hold a majority as far as this attempt could
// see: if that is still so the next time, the rivalry takes it for the leader.
func (v *Rivalry) Next(r *Refused, now time.Duration) (wait time.Duration, splits int) {
	rival, size, unheard := r.Strongest(), Size(len(r.Denials)), 0
	for n, d := range r.Denials {
		if d == nil && !r.Freed[n] {
			unheard++
		}
	}
	leads := rival.Nodes >= size
	if !leads && rival.Nodes > 0 && rival.Nodes+unheard >= size {
		leads = v.suspect.Holder == rival.Holder && v.suspect.Token == rival.Token
		v.suspect = rival
	}
	var free []time.Duration // when each node that was heard of can be free
	for n, d := range r.Denials {
		switch {
		case r.Freed[n]:
			free = append(free, 0)
		case d == nil:
		case d.Withheld || leads && d.Holder == rival.Holder:
			free = append(free, max(0, d.Remaining-(now-d.At)))
		default:
			free = append(free, 0)
		}
	}
	slices.Sort(free)
	if wait = free[min(size, len(free))-1]; leads {
		v.splits = 0
	} else {
		v.splits++
	}
	return wait, v.splits
}

// Window is out of how long a time the pause after so many splits is drawn: a
// few round trips, of one of which an attempt takes took; it doubles.
func Window(splits int, took, lease time.Duration) time.Duration {
	return max(1, min(max(4*took, 2*time.Millisecond)<<min(splits-1, 10), lease/4))
}

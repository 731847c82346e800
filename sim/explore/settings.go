package explore

import (
	"errors"
	"fmt"
	"time"

	"github.com/recount-io/recount/internal/machine"
)

// Limit is something that a world does so many times at the most.
type Limit uint8

// The limits.
const (
	Losses       Limit = iota // a request or its answer is lost, and its sender learns it; a hint is lost
	Crashes                   // a process ends, and may return as another one
	Ghosts                    // a request arrives although it failed for its sender, or its sender is dead
	Repeats                   // a request takes effect, and once more later
	Resignations              // a leader is asked to resign
	Handovers                 // a leader is asked to resign in favour of another one
	Endings                   // the work ends while its leader leads
	Stops                     // a candidate is asked to stop
	Fencings                  // the protected resource tells a leader of a token that the store does not know
	Refusals                  // the store answers that no repetition will help
	Restarts                  // the store loses its data, and knows that it may have
	Forgettings               // the store loses its data, once everybody knows the last token
	Rewinds                   // the store goes back to what it was, and knows that it may have
	Echoes                    // a hint arrives, and once more later
	Jumps                     // the store's clock is set forth or back by a tick, while nobody can believe in its lease
	Vanishings                // a key of an election is lost
	limits
)

var limitNames = [limits]string{
	"losses", "crashes", "ghosts", "repeats", "resignations", "hand-overs", "endings", "stops", "fencings", "refusals", "restarts", "forgettings", "rewinds", "echoes", "jumps", "vanishings",
}

func (l Limit) String() string { return limitNames[l] }

// Endless is no limit.
const Endless = 255

// Settings describe a world. All times are in ticks.
type Settings struct {
	Name string
	What string // in one line

	Candidates int // 1 to 3
	Elections  int // on one server, whose keys vanish, 2 or 3; 0: there is one, whose keys do not
	Stores     int // of which a majority holds the lease, 3 to 5; 0: there is one

	Lease, Renew, Retry, Timeout, Drain int
	Drift                               int // how many ticks of a lease a clock may stand still, and the candidates know of
	InFlight                            int // requests without an answer that a candidate may have

	Delay int  // how long a request and its answer take together, or an announcement; 0: time stands meanwhile; Endless
	Work  int  // likewise, how long work takes to end that was asked to
	Once  bool // a candidate stops after one term
	Late  bool // wake-ups may be late by any time; of several stores: terms may be renewed when their belief has ended
	Hints int  // announcements under way to a candidate; one more is lost; 0: nobody listens
	Bids  bool // refused attempts stand as bids, and leases are passed on to them

	Limits [limits]int // how often; 0: never; Endless
	Calm   bool        // no term may expire, and none be lost
	Leads  bool        // a leader must stay reachable

	Observations []Observation // must be seen
	Large        bool          // takes minutes
}

// Validate says what is wrong with the settings.
func (s *Settings) Validate() error {
	switch {
	case s.Candidates < 1 || s.Candidates > len(names):
		return fmt.Errorf("explore: %d candidates: there can be 1 to %d", s.Candidates, len(names))
	case s.Lease < 2 || s.Renew < 1 || s.Retry < 1 || s.Timeout < 1:
		return errors.New("explore: lease, renew, retry and time-out must be whole ticks, and a lease two at least")
	case s.Lease > longest || s.Renew > s.Lease || s.Retry > s.Lease || s.Timeout > s.Lease || s.Drain > longest:
		return fmt.Errorf("explore: no time may be longer than the lease, and lease and drain not than %d ticks", longest)
	case s.Drift < 0 || s.Drift > s.Lease-2:
		return errors.New("explore: the drift must leave something of the lease")
	case s.Stores != 0 && (s.Stores < 3 || s.Stores > 5 || s.Hints > 0 || s.Calm || s.Leads || s.Once || s.Bids || s.Drift > 0):
		return errors.New("explore: of several stores there can be 3 to 5, and only time, losses, crashes, ghosts, repeats, resignations and restarts with them")
	case s.Elections != 0 && (s.Elections < 2 || s.Elections > 3 || s.Stores > 0 || s.Hints > 0 || s.Calm || s.Leads || s.Once || s.Bids || s.Drift > 0):
		return errors.New("explore: of elections on one server there can be 2 or 3, and only time, releases, creations and vanishings with them")
	case s.Bids && s.Hints < 1:
		return errors.New("explore: a lease is passed on to those only who listen")
	case s.InFlight < 1 || s.InFlight > 4:
		return errors.New("explore: a candidate may have 1 to 4 requests under way")
	}
	for l, n := range s.Limits {
		if n < 0 || n > Endless {
			return fmt.Errorf("explore: %d %v", n, Limit(l))
		}
	}
	return nil
}

// Text tells the settings in one line.
func (s *Settings) Text() string {
	if s.Stores > 0 {
		return s.limitText(fmt.Sprintf("%d candidates, %d stores, lease/time-out %d/%d ticks, patience 1, messages take %s",
			s.Candidates, s.Stores, s.Lease, s.Timeout, span(s.Delay)))
	}
	if s.Elections > 0 {
		return s.limitText(fmt.Sprintf("%d elections, lease %d ticks, messages take no time", s.Elections, s.Lease))
	}
	text := fmt.Sprintf("%d candidates, lease/renew/retry/time-out %d/%d/%d/%d ticks, drift %d, %d under way, messages take %s, work %s",
		s.Candidates, s.Lease, s.Renew, s.Retry, s.Timeout, s.Drift, s.InFlight, span(s.Delay), span(s.Work))
	if s.Late {
		text += ", wake-ups any time late"
	}
	if s.Once {
		text += ", one term each"
	}
	if s.Hints > 0 {
		text += fmt.Sprintf(", hints %d", s.Hints)
	}
	if s.Bids {
		text += ", bids"
	}
	return s.limitText(text)
}

func (s *Settings) limitText(text string) string {
	for l, n := range s.Limits {
		switch {
		case n == Endless:
			text += fmt.Sprintf(", %v", Limit(l))
		case n > 0:
			text += fmt.Sprintf(", %v %d", Limit(l), n)
		}
	}
	return text
}

func span(n int) string {
	switch n {
	case 0:
		return "no time"
	case Endless:
		return "any time"
	default:
		return fmt.Sprintf("up to %d", n)
	}
}

// longest is the longest lease, in ticks: a state's bytes hold some times of three
// leases.
const longest = 30

// names of the candidates, in the order of their places.
var names = []string{"a", "b", "c"}

func ticks(n int) time.Duration { return time.Duration(n) * machine.Tick }

// config is that of the machine of one candidate.
func (s *Settings) config(id string) machine.Config {
	return machine.Config{
		ID: id, Lease: ticks(s.Lease), Renew: ticks(s.Renew), Retry: ticks(s.Retry), RequestTimeout: ticks(s.Timeout),
		DrainTimeout: ticks(s.Drain), Drift: float64(s.Drift) / float64(s.Lease), MaxInFlight: s.InFlight,
		Once: s.Once, Bids: s.Bids,
	}
}

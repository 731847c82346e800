package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/raced"
)

// roll gives the history to a Rolling that ends its pieces as often as it can,
// in portions.
func roll(h *history.History, least int, seed uint64) *Summary {
	random := rand.New(rand.NewPCG(seed, 17))
	r := NewRolling(h.Header, Options{})
	r.look(least)
	for rest := h.Events; len(rest) > 0; {
		n := min(1+random.IntN(50), len(rest))
		portion := slices.Clone(rest[:n])
		r.Add(portion)
		clear(portion)
		rest = rest[n:]
	}
	return r.Result()
}

// findingsOf are the findings of a summary as those of a result.
func findingsOf(s *Summary) *Result { return &Result{Asked: s.Asked, Measured: s.Measured} }

// differences says where the summary is not what the result says.
func differences(whole *Result, s *Summary) (out []string) {
	for _, p := range Promises {
		a, b := finding(whole, p), finding(findingsOf(s), p)
		exactly := p != LeaseLinearizable // it counts steps, of which Check needs more where leases may have vanished
		if p == LeaseLinearizable && whole.Lease.StoreOrder.Verdict == Unknown && b.Verdict != Pass {
			continue // Check excuses a lie by leases that vanished in another piece
		}
		if p == FailoverBound && finding(whole, TokensIncrease).Verdict == Fail {
			continue // failovers between terms that share a token
		}
		if a.Verdict != b.Verdict || exactly && a.Verdict == Pass && a.Reason != b.Reason {
			out = append(out, fmt.Sprintf("%s: %v (%s %v), in pieces %v (%s %v)", p, a.Verdict, a.Reason, a.Evidence, b.Verdict, b.Reason, b.Evidence))
		}
	}
	if whole.Lease.Porcupine.Reason != "" && finding(whole, WellFormed).Verdict != Fail {
		if s.Writes != whole.Writes || s.DualBelief != whole.DualBelief || s.Leaderless != whole.Leaderless || s.Ops != whole.Ops || s.Availability != whole.Availability ||
			s.Terms != len(whole.Terms) || s.End != whole.End || s.Failovers.Count != len(whole.Failovers) && finding(whole, TokensIncrease).Verdict != Fail || !slices.Equal(s.Faults, whole.Faults) {
			out = append(out, fmt.Sprintf("%+v %v %v %+v %d %v %d %v, in pieces %+v %v %v %+v %d %v %d %v",
				whole.Writes, whole.DualBelief, whole.Leaderless, whole.Ops, len(whole.Terms), whole.End, len(whole.Failovers), whole.Faults,
				s.Writes, s.DualBelief, s.Leaderless, s.Ops, s.Terms, s.End, s.Failovers.Count, s.Faults))
		}
	}
	return out
}

func watchedFor(seed uint64) *history.History {
	return watched(seed, 1500+int64(seed%7)*300, func(w *watch) {
		w.lossy = seed%3 == 0
		if seed%4 == 0 {
			w.faults /= 2
		}
		w.lost = float64(seed%5) / 200
	})
}

// In pieces a good history is judged as in one, to the last number.
func TestRollingGoodHistories(t *testing.T) {
	n, pieces := uint64(300), 0
	if testing.Short() || raced.Enabled {
		n = 30
	}
	for seed := range n {
		h := watchedFor(seed)
		whole, s := Check(h, Options{}), roll(h, 30, seed)
		pieces += s.Pieces
		for _, d := range differences(whole, s) {
			t.Errorf("seed %d: %s", seed, d)
		}
		if t.Failed() {
			return
		}
	}
	if pieces < int(n)*3 {
		t.Errorf("%d histories were cut into %d pieces only", n, pieces)
	}
	t.Logf("%d histories, %d pieces", n, pieces)
}

// In pieces a history with a lie in it is judged as in one: the lie may
// contradict what is long forgotten.
func TestRollingLies(t *testing.T) {
	n := uint64(150)
	if testing.Short() || raced.Enabled {
		n = 15
	}
	broken := map[Promise]int{}
	for seed := range n {
		good := watchedFor(seed)
		for i := range uint64(10) {
			h := tamper(seed*100+i, good)
			whole := Check(h, Options{})
			s := roll(h, 30, seed)
			for _, d := range differences(whole, s) {
				t.Errorf("seed %d, %d: %s", seed, i, d)
			}
			for _, p := range Promises {
				if finding(whole, p).Verdict == Fail {
					broken[p]++
				}
			}
		}
	}
	t.Log(broken)
}

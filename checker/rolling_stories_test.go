package checker

import (
	"cmp"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/raced"
)

// calmStory is a story in which n1 has led for long: a Rolling that looks has
// cut it many times. It returns the time at which it goes on. The store's own
// record is read every lag.
func calmStory(lag time.Duration) (*story, time.Duration) {
	s := newStory()
	tries := uint64(0)
	entry := func(call history.Call, node, nonce string, token uint64, at time.Duration, took bool) {
		s.add(history.Event{Kind: history.Audit, Call: call, Node: node, Nonce: nonce, Try: tries, Token: token, At: (at + lag - 1) / lag * lag, Applied: history.Bool(took)})
	}
	tries++
	s.op("n1", history.Acquire, 0, 2*ms, history.Ok, history.Event{Nonce: "a", Try: tries}, token(5))
	entry(history.Acquire, "n1", "a", 5, ms, true)
	s.elected("n1", 2*ms, 5, 1900*ms).write("n1", 20*ms, 21*ms, history.Ok, 5, "x", 0)
	at := 500 * ms
	for ; at < 120*time.Second; at += 500 * ms {
		tries++
		s.op("n1", history.Renew, at, at+2*ms, history.Ok, history.Event{Nonce: "a", Token: 5, Try: tries}, history.Event{})
		entry(history.Renew, "n1", "a", 5, at+ms, true)
		s.extended("n1", at+2*ms, 5, at+1900*ms)
		tries++
		s.op("n2", history.Acquire, at+10*ms, at+12*ms, history.Fail, history.Event{Nonce: "b", Try: tries}, held("n1", 5))
		entry(history.Acquire, "n2", "b", 5, at+11*ms, false)
	}
	return s, at
}

// late is a story with a request to acquire of unknown outcome.
func late(s *story) *story {
	s.op("n3", history.Acquire, 50*time.Second, 51*time.Second, history.Info, history.Event{Nonce: "q"}, history.Event{})
	return s
}

// looks lets n3 observe the lease for a while, often enough for a cut.
func looks(s *story, at time.Duration, holder string, token uint64) {
	for range 30 {
		s.observe("n3", at, at+ms, holder, token)
		at += 5 * ms
	}
}

// far is longer than any lease.
const far = 20 * time.Second

// acrossCuts are what follows a calm time, and the promises that it breaks.
var acrossCuts = []struct {
	name  string
	story func(s *story, at time.Duration)
	fails []Promise
}{
	{"nothing", func(*story, time.Duration) {}, nil},
	{"granted while held", func(s *story, at time.Duration) {
		s.acquire("n2", "c", at+ms, at+3*ms, 6).audit(history.Acquire, "n2", "c", 6, at+2*ms, true)
	}, []Promise{LeaseLinearizable}},
	{"granted after its end", func(s *story, at time.Duration) {
		s.acquire("n2", "c", at+1600*ms, at+1603*ms, 6).audit(history.Acquire, "n2", "c", 6, at+1602*ms, true)
	}, []Promise{Stable}},
	{"renewed after its end", func(s *story, at time.Duration) {
		s.op("n1", history.Renew, at+far, at+far+ms, history.Ok, history.Event{Nonce: "a", Token: 5}, history.Event{})
		s.audit(history.Renew, "n1", "a", 5, at+far+ms, true)
	}, []Promise{LeaseLinearizable, Stable}},
	{"nobody leads", func(s *story, at time.Duration) { s.observe("n3", at+ms, at+2*ms, "", 0) }, []Promise{LeaseLinearizable}},
	{"somebody else leads", func(s *story, at time.Duration) { s.observe("n3", at+ms, at+2*ms, "n2", 4) }, []Promise{LeaseLinearizable}},
	{"it still leads", func(s *story, at time.Duration) { s.observe("n3", at+ms, at+2*ms, "n1", 5) }, nil},
	{"a smaller token", func(s *story, at time.Duration) {
		s.acquire("n2", "c", at+1600*ms, at+1603*ms, 3).audit(history.Acquire, "n2", "c", 3, at+1602*ms, true)
	}, []Promise{LeaseLinearizable, TokensIncrease, Stable}},
	{"the same token", func(s *story, at time.Duration) {
		s.acquire("n2", "c", at+1600*ms, at+1603*ms, 5).audit(history.Acquire, "n2", "c", 5, at+1602*ms, true)
	}, []Promise{LeaseLinearizable, TokensIncrease, Stable}},
	{"elected to the same token", func(s *story, at time.Duration) { s.elected("n2", at+far, 5, at+far+ms) }, []Promise{TokensIncrease, Stable}},
	{"elected again to a token", func(s *story, at time.Duration) { s.elected("n1", at+far, 5, at+far+ms) }, []Promise{TokensIncrease, Stable}},
	{"two leaders", func(s *story, at time.Duration) { s.elected("n2", at+100*ms, 6, at+far) }, []Promise{AtMostOneLeader, Stable}},
	{"a smaller write", func(s *story, at time.Duration) {
		s.write("n1", at+ms, at+2*ms, history.Ok, 4, "y", 0)
	}, []Promise{FencedWrites}},
	{"a refusal that the past explains", func(s *story, at time.Duration) {
		s.write("n2", at+ms, at+2*ms, history.Fail, 4, "y", 5)
	}, nil},
	{"a refusal that it does not", func(s *story, at time.Duration) {
		s.write("n2", at+ms, at+2*ms, history.Fail, 4, "y", 6)
	}, []Promise{FencedWrites}},
	{"a read of what was written", func(s *story, at time.Duration) { s.read("n3", at+ms, at+2*ms, "x", 5) }, nil},
	{"a read of nothing", func(s *story, at time.Duration) { s.read("n3", at+ms, at+2*ms, "", 0) }, []Promise{FencedWrites}},
	{"a write after the end of the term", func(s *story, at time.Duration) {
		s.write("n1", at+far, at+far+ms, history.Ok, 5, "y", 0)
	}, []Promise{LossHeeded, Stable}},
	{"a number twice", func(s *story, at time.Duration) {
		s.add(history.Event{Kind: history.Invoke, Call: history.Observe, Node: "n3", Op: 3, At: at})
	}, []Promise{WellFormed}},
	{"a completion twice", func(s *story, at time.Duration) {
		s.add(history.Event{Kind: history.Ok, Call: history.Renew, Node: "n1", Op: 3, At: at})
	}, []Promise{WellFormed}},
	{"deposed from nothing", func(s *story, at time.Duration) { s.deposed("n1", at, 6, history.Expired) }, []Promise{WellFormed}},
	{"deposed late", func(s *story, at time.Duration) { s.deposed("n1", at+far, 5, history.Expired) }, []Promise{Stable}},
	{"a smaller write, after an unfenced one", func(s *story, at time.Duration) {
		s.write("n3", 50*time.Second, 50*time.Second+ms, history.Ok, 0, "u", 0).write("n1", at+ms, at+2*ms, history.Ok, 4, "y", 0)
	}, []Promise{FencedWrites}},
	{"a refusal that a write of unknown outcome explains", func(s *story, at time.Duration) {
		s.write("n3", 50*time.Second, 50*time.Second+ms, history.Info, 9, "u", 0).write("n1", at+ms, at+2*ms, history.Fail, 8, "y", 9)
	}, nil},
	{"a request that arrives very late", func(s *story, at time.Duration) {
		late(s).audit(history.Acquire, "n3", "q", 6, at+1600*ms, true)
	}, []Promise{Stable}},
	{"a request that arrives very late and gets a smaller token", func(s *story, at time.Duration) {
		late(s).audit(history.Acquire, "n3", "q", 3, at+1600*ms, true)
	}, []Promise{LeaseLinearizable, TokensIncrease, Stable}},
	{"an entry whose operation was lost with its process, which ended later", func(s *story, at time.Duration) {
		s.audit(history.Renew, "n1", "a", 5, 60250*ms, true).exit("n1", at+ms)
	}, nil},
	{"released, but believes on", func(s *story, at time.Duration) {
		s.release("n1", at+ms, at+2*ms, history.Ok, 5).audit(history.Release, "n1", "", 5, at+2*ms, true)
		looks(s, at+10*ms, "", 0)
		s.acquire("n2", "c", at+600*ms, at+601*ms, 6).audit(history.Acquire, "n2", "c", 6, at+601*ms, true)
	}, nil},
	{"told that it is over, and extended a moment later", func(s *story, at time.Duration) {
		s.op("n1", history.Renew, at+1170*ms, at+1171*ms, history.Fail, history.Event{Nonce: "a", Token: 5}, history.Event{})
		looks(s, at+1180*ms, "n1", 5)
		s.extended("n1", at+1399*ms, 5, at+9000*ms).note(at + 8000*ms)
	}, []Promise{LeaseLinearizable, LossHeeded}},
	{"a request long ago, whose entry went with the leases", func(s *story, at time.Duration) {
		late(s).fault("store-loss", at+10*ms, at+12*ms, func(e *history.Event) { e.Void = true }, history.StoreTarget)
		s.refused("n2", "z", at+20*ms, at+21*ms, "n3", 6)
	}, nil},
	{"a process that ends with a request on its way", func(s *story, _ time.Duration) {
		s.op("n2", history.Acquire, 30250*ms, 0, "", nonce("lost"), history.Event{})
		s.exit("n2", 30252*ms)
	}, nil},
	{"a fault without an end of its own", func(s *story, at time.Duration) {
		s.add(history.Event{Kind: history.Fault, ID: "f", Phase: history.Off, At: at})
	}, []Promise{WellFormed}},
}

// What contradicts only the past is found although the past is forgotten, and
// what the past explains is no violation.
func TestRollingAcrossACut(t *testing.T) {
	for _, x := range acrossCuts {
		t.Run(x.name, func(t *testing.T) {
			s, at := calmStory(1)
			x.story(s, at)
			h := s.note(at + 1300*ms).build()
			whole, parts := Check(h, Options{}), roll(h, 20, 1)
			if parts.Pieces < 35 {
				t.Errorf("%d pieces only", parts.Pieces)
			}
			for name, v := range map[string][2]Verdict{
				"intervals":   {whole.Lease.Intervals.Verdict, parts.Lease.Intervals.Verdict},
				"store order": {whole.Lease.StoreOrder.Verdict, parts.Lease.StoreOrder.Verdict},
				"porcupine":   {whole.Lease.Porcupine.Verdict, parts.Lease.Porcupine.Verdict},
			} {
				if v[0] != v[1] {
					t.Errorf("%s: %v, in pieces %v", name, v[0], v[1])
				}
			}
			for _, p := range Promises {
				a, b := finding(whole, p), finding(findingsOf(parts), p)
				if p == FailoverBound && finding(whole, TokensIncrease).Verdict == Fail {
					continue // failovers between terms that share a token
				}
				if a.Verdict != b.Verdict {
					t.Errorf("%s: %v (%s), in pieces %v (%s)", p, a.Verdict, a.Reason, b.Verdict, b.Reason)
				}
				if slices.Contains(x.fails, p) != (b.Verdict == Fail) {
					t.Errorf("%s: %v (%s)", p, b.Verdict, b.Reason)
				}
			}
		})
	}
}

// The store's own record may be read late: no piece ends before it tells of
// every change.
func TestRollingLateRecord(t *testing.T) {
	for _, lag := range []time.Duration{300 * ms, 1200 * ms, 7 * time.Second} {
		s, at := calmStory(lag)
		h := s.note(at + 1300*ms).build()
		for least := 5; least < 40; least++ {
			parts := roll(h, least, 1)
			if f := finding(findingsOf(parts), LeaseLinearizable); f.Verdict != Pass || lag == 300*ms && parts.Pieces < 5 {
				t.Errorf("read every %v, in %d pieces: %v: %s", lag, parts.Pieces, f.Verdict, f.Reason)
			}
		}
	}
}

// An entry that nothing explains is one, too, where the record is read late.
func TestRollingLateRecordLies(t *testing.T) {
	s, at := calmStory(1200 * ms)
	s.audit(history.Release, "n1", "a", 5, at, true)
	parts := roll(s.note(at+1300*ms).build(), 7, 1)
	if f := parts.Lease.StoreOrder; f.Verdict != Fail {
		t.Errorf("%v: %s", f.Verdict, f.Reason)
	}
}

// Only what is owed since the last healing counts.
func TestRollingHealedTwice(t *testing.T) {
	s := newStory()
	s.healed(0)
	at, token := time.Duration(0), uint64(0)
	for _, node := range []string{"n1", "n2"} {
		token++
		s.elected(node, at, token, at+1900*ms)
		for end := at + 40*time.Second; at < end; at += 500 * ms {
			s.extended(node, at+ms, token, at+1900*ms)
		}
		at += 60 * time.Second
	}
	at -= 60 * time.Second
	for _, again := range []bool{false, true} {
		if again {
			s.healed(at)
		}
		h := s.build()
		whole, parts := Check(h, Options{}), roll(h, 20, 1)
		if want := finding(whole, LeaderReturns); finding(findingsOf(parts), LeaderReturns).Verdict != want.Verdict || (want.Verdict == Fail) == again {
			t.Errorf("%v, in pieces %v", want, finding(findingsOf(parts), LeaderReturns))
		}
		if parts.Pieces < 3 {
			t.Errorf("%d pieces only", parts.Pieces)
		}
	}
}

// With faults of all kinds pieces stay short, and so does what they leave
// behind.
func TestRollingIsBounded(t *testing.T) {
	var r *Rolling
	w := newWatch(5, func(e *history.Event) { r.Add([]history.Event{*e}) }, func(w *watch) { w.lost = 0.01 })
	r = NewRolling(w.header(), Options{})
	w.run(200_000)
	s := r.Result()
	if s.Longest > 3*leastPiece || s.Pieces < 100 {
		t.Errorf("%d pieces, the longest has %d events", s.Pieces, s.Longest)
	}
	e := r.run.elections[0]
	if n := len(e.past.unknowns); n > knownUnknowns {
		t.Errorf("%d operations of unknown outcome are remembered", n)
	}
	if n := len(r.run.form.numbers.spans); n > knownStrays {
		t.Errorf("the numbers have %d spans", n)
	}
	if n := len(e.begun) + len(e.past.ended); n > knownEnded+5 {
		t.Errorf("%d terms are remembered", n)
	}
}

// A node may report about a term that it had long ago, by belief alone.
func TestRollingOldTerm(t *testing.T) {
	s := newStory()
	at := time.Duration(0)
	for token := uint64(1); token <= 12; token++ {
		s.elected("n2", at, token, at+50*ms).deposed("n2", at+20*ms, token, history.Resigned)
		at += 100 * ms
	}
	s.elected("n1", at, 13, at+1900*ms)
	for ; at < 60*time.Second; at += 500 * ms {
		s.extended("n1", at+ms, 13, at+1900*ms)
	}
	s.deposed("n2", at, 1, history.Expired)
	h := s.build()
	parts := roll(h, 20, 1)
	for _, d := range differences(Check(h, Options{}), parts) {
		t.Error(d)
	}
	if parts.Pieces < 3 {
		t.Errorf("%d pieces only", parts.Pieces)
	}
}

// A result may be asked for at any time, and does not disturb what follows.
func TestRollingResultOnTheWay(t *testing.T) {
	h := watchedFor(3)
	r, asked := NewRolling(h.Header, Options{}), NewRolling(h.Header, Options{})
	r.look(100)
	asked.look(100)
	for i := range h.Events {
		r.Add(h.Events[i : i+1])
		asked.Add(h.Events[i : i+1])
		if i%97 == 0 {
			asked.Result()
		}
	}
	if a, b := r.Result(), asked.Result(); !reflect.DeepEqual(a, b) || !reflect.DeepEqual(a, r.Result()) {
		t.Errorf("%+v, and asked on the way %+v", a, b)
	}
}

// Several elections, clocks that differ, and a history without any event.
func TestRollingHeaders(t *testing.T) {
	n := uint64(40)
	if raced.Enabled {
		n = 5
	}
	for seed := range n {
		east, west := watchedFor(seed), watchedFor(seed+1000)
		h := &history.History{Header: east.Header}
		h.Header.ClockError = time.Duration(seed%3) * ms / 2
		for i := range west.Events {
			e := &west.Events[i]
			e.Op += 1 << 20
			if e.Node != "" {
				e.Node = "w" + e.Node
			}
			for j := range e.Targets {
				if e.Targets[j] != history.StoreTarget {
					e.Targets = []string{"w" + e.Targets[j]}
				}
			}
			e.ID, e.Election = "w"+e.ID, "west"
		}
		for i := range east.Events {
			east.Events[i].Election = "east"
		}
		h.Events = slices.Concat(east.Events, west.Events)
		slices.SortStableFunc(h.Events, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
		for i := range h.Events {
			h.Events[i].Seq = int64(i) + 1
		}
		whole, parts := Check(h, Options{}), roll(h, 30, seed)
		for _, d := range differences(whole, parts) {
			t.Errorf("seed %d: %s", seed, d)
		}
	}
	if s := NewRolling(history.Header{}, Options{}).Result(); s.Verdict != Unknown || s.Pieces != 1 {
		t.Errorf("%+v", s)
	}
}

// Quantiles from buckets are those of the sorted durations, up to 0.8 %.
func TestQuantiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h histogram
		all := rapid.SliceOfN(rapid.Int64Range(0, 1<<rapid.IntRange(1, 62).Draw(t, "bits")), 1, 50).Draw(t, "durations")
		for _, d := range all {
			h.add(time.Duration(d))
		}
		slices.Sort(all)
		for _, percent := range []int{50, 90, 99} {
			want := all[(len(all)*percent+99)/100-1]
			if got := int64(h.quantile(percent)); got < want || float64(got-want) > 0.008*float64(want) {
				t.Fatalf("p%d is %d, want %d", percent, got, want)
			}
		}
		if q := h.quantiles(); int64(q.Max) != all[len(all)-1] {
			t.Fatalf("%+v", q)
		}
	})
	if q := new(histogram).quantiles(); q != (Quantiles{}) {
		t.Errorf("%+v", q)
	}
}

// The set of numbers is one, however they come.
func TestNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s numbers
		want := map[int64]bool{}
		for _, n := range rapid.SliceOf(rapid.Int64Range(1, 40)).Draw(t, "numbers") {
			s.add(n)
			want[n] = true
		}
		for n := range int64(42) {
			if s.has(n) != want[n] {
				t.Fatalf("%d: %v in %v", n, s.has(n), s.spans)
			}
		}
		for i := 1; i < len(s.spans); i++ {
			if s.spans[i-1].last+1 >= s.spans[i].first {
				t.Fatalf("not united: %v", s.spans)
			}
		}
	})
}

package checker

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/checker/internal/finding"
	"github.com/recount-io/recount/checker/internal/index"
	"github.com/recount-io/recount/history"
)

func judgeLease(h *history.History) LeaseChecks {
	x := &facts{Index: index.Build(h)}
	x.judgeLease(20 * time.Second)
	return x.judges
}

// leaseStories are small histories, each with what the three checkers must
// say, and with the evidence.
var leaseStories = []struct {
	name     string
	story    func(s *story)
	want     Verdict
	evidence []int64
}{
	{"granted while held", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).acquire("n2", "b", 1000*ms, 1002*ms, 2)
	}, Fail, []int64{2, 4}},
	{"granted after expiry", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).acquire("n2", "b", 2000*ms, 2003*ms, 2)
	}, Pass, nil},
	{"granted after release", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).release("n1", 100*ms, 101*ms, history.Ok, 1).acquire("n2", "b", 102*ms, 103*ms, 2)
	}, Pass, nil},
	{"granted before the release was asked for", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).acquire("n2", "b", 98*ms, 99*ms, 2).release("n1", 100*ms, 101*ms, history.Ok, 1)
	}, Fail, []int64{4, 6}},
	{"a token twice", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).acquire("n2", "b", 3000*ms, 3003*ms, 1)
	}, Fail, []int64{2, 4}},
	{"a smaller token", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 7).acquire("n2", "b", 3000*ms, 3003*ms, 6)
	}, Fail, []int64{2, 4}},
	{"renewed after expiry", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).renew("n1", 2010*ms, 2012*ms, history.Ok, 1)
	}, Fail, []int64{2, 4}},
	{"renewed just before expiry, with a slow reply", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).renew("n1", 1990*ms, 2500*ms, history.Ok, 1).
			refused("n2", "b", 3900*ms, 3902*ms, "n1", 1).acquire("n2", "c", 4006*ms, 4008*ms, 2)
	}, Pass, nil},
	{"seen before the slow reply to its grant, and again too late", func(s *story) {
		s.acquire("n1", "a", 0, 1500*ms, 1).refused("n2", "b", 98*ms, 100*ms, "n1", 1).refused("n2", "c", 2300*ms, 2302*ms, "n1", 1)
	}, Fail, nil},
	{"renewal refused although held", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).renew("n1", 500*ms, 502*ms, history.Fail, 1)
	}, Fail, []int64{2, 4}},
	{"refused although nobody holds it", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).refused("n2", "b", 2500*ms, 2502*ms, "n1", 1)
	}, Fail, []int64{2, 4}},
	{"refused by a lease that nobody asked for", func(s *story) {
		s.refused("n2", "b", 10*ms, 12*ms, "n1", 1)
	}, Fail, []int64{2}},
	{"saw no leader although there is one", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).observe("n3", 100*ms, 101*ms, "", 0)
	}, Fail, []int64{2, 4}},
	{"saw another leader", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).release("n1", 50*ms, 51*ms, history.Ok, 1).acquire("n2", "b", 60*ms, 61*ms, 2).
			observe("n3", 100*ms, 101*ms, "n1", 1)
	}, Fail, []int64{6, 8}},
	{"released twice", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).release("n1", 50*ms, 51*ms, history.Ok, 1).release("n1", 60*ms, 61*ms, history.Ok, 1)
	}, Fail, []int64{4, 6}},
	{"released by another", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).acquire("n2", "b", 2100*ms, 2102*ms, 2).release("n1", 2110*ms, 2111*ms, history.Ok, 1)
	}, Fail, nil},
	{"the same attempt again gets the same token", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).acquire("n1", "a", 1000*ms, 1002*ms, 1).refused("n2", "b", 2900*ms, 2902*ms, "n1", 1)
	}, Pass, nil},
	{"the same attempt again gets another token", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).acquire("n1", "a", 1000*ms, 1002*ms, 2)
	}, Fail, []int64{2, 4}},
	{"a lost reply explains the holder", func(s *story) {
		s.op("n1", history.Acquire, 0, 500*ms, history.Info, nonce("a"), history.Event{})
		s.refused("n2", "b", 510*ms, 512*ms, "n1", 1)
	}, Pass, nil},
	{"a request that comes very late explains the holder", func(s *story) {
		s.op("n1", history.Acquire, 0, 500*ms, history.Info, nonce("a"), history.Event{})
		s.observe("n3", 8000*ms, 8001*ms, "", 0).refused("n2", "b", 9000*ms, 9002*ms, "n1", 1)
	}, Pass, nil},
	{"a lost renewal keeps the lease", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).renew("n1", 1500*ms, 1700*ms, history.Info, 1).refused("n2", "b", 3400*ms, 3402*ms, "n1", 1)
	}, Pass, nil},
	{"a lost renewal cannot keep the lease for ever", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).renew("n1", 1500*ms, 1700*ms, history.Info, 1).refused("n2", "b", 4100*ms, 4102*ms, "n1", 1)
	}, Fail, []int64{2, 6}},
	{"a lost repetition keeps the lease, though nobody names its attempt any more", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1)
		s.op("n1", history.Acquire, 3*ms, 500*ms, history.Info, nonce("a"), history.Event{})
		s.observe("n3", 1000*ms, 1001*ms, "n1", 1).refused("n2", "b", 3500*ms, 3502*ms, "n1", 1)
	}, Pass, nil},
	{"an attempt sent twice, without a reply, brings a lease and keeps it", func(s *story) {
		s.op("n1", history.Acquire, 0, 500*ms, history.Info, nonce("a"), history.Event{})
		s.op("n1", history.Acquire, 600*ms, 900*ms, history.Info, nonce("a"), history.Event{})
		s.observe("n3", 8000*ms, 8001*ms, "", 0).observe("n3", 8500*ms, 8501*ms, "n1", 1).refused("n2", "b", 11000*ms, 11002*ms, "n1", 1)
	}, Pass, nil},
	{"a lost release frees a lease that was seen only later", func(s *story) {
		s.op("n1", history.Acquire, 0, 500*ms, history.Info, nonce("a"), history.Event{})
		s.release("n1", 510*ms, 600*ms, history.Info, 1).renew("n1", 700*ms, 701*ms, history.Ok, 1).acquire("n2", "b", 800*ms, 802*ms, 2)
	}, Pass, nil},
	{"a token that nobody knows yet is not the one whose renewal was refused", func(s *story) {
		s.op("n1", history.Acquire, 0, 500*ms, history.Info, nonce("a"), history.Event{})
		s.refused("n2", "b", 510*ms, 512*ms, "n1", 0).renew("n1", 600*ms, 601*ms, history.Fail, 3).observe("n3", 700*ms, 701*ms, "n1", 2)
	}, Pass, nil},
	{"a lost release frees the lease", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1).release("n1", 500*ms, 700*ms, history.Info, 1).acquire("n2", "b", 800*ms, 802*ms, 2)
	}, Pass, nil},
	{"a shortened lease ends early", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1)
		s.fault("store-clock-jump", 500*ms, 502*ms, func(e *history.Event) { e.Shorten = 1000 * ms }, "store")
		s.acquire("n2", "b", 1010*ms, 1012*ms, 2)
	}, Pass, nil},
	{"a shortened lease does not end earlier than that", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1)
		s.fault("store-clock-jump", 500*ms, 502*ms, func(e *history.Event) { e.Shorten = 1000 * ms }, "store")
		s.acquire("n2", "b", 900*ms, 902*ms, 2)
	}, Fail, []int64{2, 6}},
	{"a lengthened lease may last longer, and is renewed in that time", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1)
		s.fault("store-clock-jump", 500*ms, 502*ms, func(e *history.Event) { e.Shorten = -1000 * ms }, "store")
		s.refused("n2", "b", 510*ms, 512*ms, "n1", 1).refused("n2", "b", 2900*ms, 2902*ms, "n1", 1).renew("n1", 2910*ms, 2912*ms, history.Ok, 1)
		s.refused("n2", "b", 4900*ms, 4902*ms, "n1", 1).acquire("n2", "c", 4914*ms, 4916*ms, 2)
	}, Pass, nil},
	{"a lengthened lease does not end before its time", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 1)
		s.fault("store-clock-jump", 500*ms, 502*ms, func(e *history.Event) { e.Shorten = -1000 * ms }, "store")
		s.acquire("n2", "b", 1900*ms, 1902*ms, 2)
	}, Fail, []int64{2, 6}},
	{"a deleted lease is free, and the tokens may start again", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 7)
		s.fault("store-loss", 500*ms, 502*ms, func(e *history.Event) { e.Void = true }, "store")
		s.acquire("n2", "b", 600*ms, 602*ms, 1)
	}, Pass, nil},
	{"a deleted lease does not excuse what came before", func(s *story) {
		s.acquire("n1", "a", 0, 2*ms, 7).acquire("n2", "b", 300*ms, 302*ms, 8)
		s.fault("key-deleted", 500*ms, 502*ms, func(e *history.Event) { e.Void = true }, "store")
	}, Fail, []int64{2, 4}},
	{"an elector without tokens and nonces", func(s *story) {
		s.acquire("n1", "", 0, 2*ms, 0).refused("n2", "", 100*ms, 101*ms, "", 0).renew("n1", 1000*ms, 1001*ms, history.Ok, 0).
			acquire("n2", "", 3010*ms, 3012*ms, 0).observe("n3", 3020*ms, 3021*ms, "n2", 0)
	}, Pass, nil},
	{"an elector without tokens grants a held lease", func(s *story) {
		s.acquire("n1", "", 0, 2*ms, 0).renew("n1", 1000*ms, 1001*ms, history.Ok, 0).acquire("n2", "", 2500*ms, 2502*ms, 0)
	}, Fail, []int64{4, 6}},
	{"nothing to judge", func(s *story) { s.elected("n1", 0, 1, 10*ms) }, Unknown, nil},
	{"a failure for another reason shows nothing", func(s *story) {
		s.op("n1", history.Acquire, 0, 1*ms, history.Fail, nonce("a"), history.Event{Error: "NOPERM"})
		s.observe("n2", 0, 1*ms, "", 0)
	}, Pass, nil},

	// What one grant says about the next.
	{"three grants in calls that would do for two", func(s *story) {
		s.acquire("n1", "a", 0, 5000*ms, 1).acquire("n2", "b", 0, 5000*ms, 2).acquire("n3", "c", 0, 3900*ms, 3)
	}, Fail, []int64{4, 6}},
	{"three grants in calls that do", func(s *story) {
		s.acquire("n1", "a", 0, 5000*ms, 1).acquire("n2", "b", 0, 5000*ms, 2).acquire("n3", "c", 0, 4100*ms, 3)
	}, Pass, nil},
	{"two grants at one time whose tokens contradict their order", func(s *story) {
		s.acquire("n1", "a", 1000*ms, 5000*ms, 1).acquire("n2", "b", 0, 2900*ms, 2)
	}, Fail, []int64{3, 4}},
	{"three grants, and the second lease was released at once", func(s *story) {
		s.acquire("n1", "a", 0, 5000*ms, 1).acquire("n2", "b", 0, 3900*ms, 2).release("n2", 3900*ms, 3901*ms, history.Ok, 2).acquire("n3", "c", 0, 3902*ms, 3)
	}, Pass, nil},
	{"an unknown acquire that must have happened", func(s *story) {
		s.op("n1", history.Acquire, 1000*ms, 1001*ms, history.Info, nonce("a"), history.Event{})
		s.refused("n2", "b", 1100*ms, 1101*ms, "n1", 1).acquire("n2", "c", 1200*ms, 2900*ms, 2)
	}, Fail, []int64{4, 6}},
	{"a lease that nobody knows of is over when all that may have made it is", func(s *story) {
		s.op("n1", history.Acquire, 0, 100*ms, history.Info, nonce("a"), history.Event{})
		s.op("n1", history.Acquire, 200*ms, 300*ms, history.Info, nonce("a"), history.Event{})
		s.op("n1", history.Acquire, 4000*ms, 4100*ms, history.Info, nonce("b"), history.Event{})
		s.refused("n2", "c", 400*ms, 410*ms, "n1", 1).refused("n2", "c", 4500*ms, 4510*ms, "n1", 1)
	}, Fail, []int64{6, 10}},
	{"a lease that nobody knows of may have been asked for late", func(s *story) {
		s.op("n1", history.Acquire, 0, 100*ms, history.Info, nonce("a"), history.Event{})
		s.op("n1", history.Acquire, 200*ms, 300*ms, history.Info, nonce("a"), history.Event{})
		s.refused("n2", "c", 400*ms, 410*ms, "n1", 1).refused("n2", "c", 4300*ms, 4310*ms, "n1", 1)
	}, Pass, nil},
	{"an unknown acquire that may have asked for less", func(s *story) {
		s.op("n1", history.Acquire, 1000*ms, 1001*ms, history.Info, nonce("a"), history.Event{})
		s.events[0].TTL = 1500 * ms
		s.refused("n2", "b", 1100*ms, 1101*ms, "n1", 1).acquire("n2", "c", 1200*ms, 2900*ms, 2)
	}, Pass, nil},
}

// Without a TTL nothing can be said about expiry.
func TestLeaseWithoutTTLIsUnknown(t *testing.T) {
	s := newStory()
	s.header.Lease = 0
	s.acquire("n1", "a", 0, 2*ms, 1)
	s.events[0].TTL = 0
	expect(t, Check(s.build(), Options{}), LeaseLinearizable, Unknown)
}

// The intervals and porcupine say the same of small histories, each on its
// own, and the evidence names the two events that contradict each other.
func TestLeaseStories(t *testing.T) {
	for _, x := range leaseStories {
		t.Run(x.name, func(t *testing.T) {
			s := newStory()
			x.story(s)
			r := Check(s.build(), Options{})
			for name, f := range map[string]Finding{"intervals": r.Lease.Intervals, "porcupine": r.Lease.Porcupine, "all": of(r, LeaseLinearizable)} {
				if f.Verdict != x.want || f.Reason == "" {
					t.Errorf("%s: %v (%s), want %v", name, f.Verdict, f.Reason, x.want)
				}
			}
			if x.evidence != nil && !slices.Equal(r.Lease.Intervals.Evidence, x.evidence) {
				t.Errorf("evidence %v (%s), want %v", r.Lease.Intervals.Evidence, r.Lease.Intervals.Reason, x.evidence)
			}
		})
	}
}

// The store's own record is replayed: entries must explain answers, and
// answers entries.
func TestLeaseStoreOrder(t *testing.T) {
	for _, x := range []struct {
		name  string
		story func(s *story)
		want  Verdict
	}{
		{"all recorded", func(s *story) {
			s.acquire("n1", "a", 0, 2*ms, 1).audit(history.Acquire, "n1", "a", 1, 1*ms, true)
		}, Pass},
		{"an ok without an entry, and the record goes on", func(s *story) {
			s.acquire("n1", "a", 0, 2*ms, 1).audit(history.Acquire, "n1", "a", 1, 1*ms, true)
			s.renew("n1", 500*ms, 502*ms, history.Ok, 1)
			s.release("n1", 510*ms, 512*ms, history.Ok, 1).audit(history.Release, "n1", "", 1, 511*ms, true)
		}, Fail},
		{"an ok without an entry, which may have come after the last one", func(s *story) {
			s.acquire("n1", "a", 0, 2*ms, 1).audit(history.Acquire, "n1", "a", 1, 1*ms, true)
			s.renew("n1", 500*ms, 502*ms, history.Ok, 1)
		}, Unknown},
		{"an ok without an entry, which a fault may have removed", func(s *story) {
			s.acquire("n1", "a", 0, 2*ms, 1).audit(history.Acquire, "n1", "a", 1, 1*ms, true)
			s.renew("n1", 500*ms, 502*ms, history.Ok, 1)
			s.fault("store-loss", 600*ms, 602*ms, func(e *history.Event) { e.Void = true }, "store")
		}, Unknown},
		{"a token again, after a fault that may have made the store forget it", func(s *story) {
			s.acquire("n1", "a", 0, 2*ms, 7).audit(history.Acquire, "n1", "a", 7, 1*ms, true)
			s.fault("store-loss", 10*ms, 12*ms, func(e *history.Event) { e.Void = true }, "store")
			s.acquire("n2", "b", 20*ms, 22*ms, 7).audit(history.Acquire, "n2", "b", 7, 21*ms, true)
		}, Pass},
		{"a token again, and again, after such a fault", func(s *story) {
			s.acquire("n1", "a", 0, 2*ms, 7).audit(history.Acquire, "n1", "a", 7, 1*ms, true)
			s.fault("store-loss", 10*ms, 12*ms, func(e *history.Event) { e.Void = true }, "store")
			s.acquire("n2", "b", 20*ms, 22*ms, 7).audit(history.Acquire, "n2", "b", 7, 21*ms, true)
			s.acquire("n3", "c", 3020*ms, 3022*ms, 7).audit(history.Acquire, "n3", "c", 7, 3021*ms, true)
		}, Fail},
		{"an entry without an operation", func(s *story) {
			s.acquire("n1", "a", 0, 2*ms, 1).audit(history.Acquire, "n1", "a", 1, 1*ms, true).audit(history.Release, "", "a", 1, 5*ms, true)
		}, Fail},
		{"an entry of a process that was killed", func(s *story) {
			s.acquire("n1", "a", 0, 2*ms, 1).audit(history.Acquire, "n1", "a", 1, 1*ms, true).audit(history.Release, "n1", "a", 1, 5*ms, true)
			s.exit("n1", 4*ms).acquire("n2", "b", 10*ms, 12*ms, 2).audit(history.Acquire, "n2", "b", 2, 11*ms, true)
		}, Pass},
		{"an entry for what failed", func(s *story) {
			s.acquire("n1", "a", 0, 2*ms, 1).audit(history.Acquire, "n1", "a", 1, 1*ms, true)
			s.renew("n1", 500*ms, 502*ms, history.Fail, 1).audit(history.Renew, "n1", "", 1, 501*ms, true)
		}, Fail},
		{"an order that the times forbid", func(s *story) {
			s.acquire("n1", "a", 0, 2*ms, 1).release("n1", 10*ms, 12*ms, history.Ok, 1).acquire("n2", "b", 20*ms, 22*ms, 2)
			s.audit(history.Acquire, "n2", "b", 2, 21*ms, true).audit(history.Acquire, "n1", "a", 1, 21*ms, true).
				audit(history.Release, "n1", "a", 1, 21*ms, true)
		}, Fail},
		{"renewals in an order that the times forbid", func(s *story) {
			s.acquire("n1", "a", 0, 2*ms, 1).audit(history.Acquire, "n1", "a", 1, 1*ms, true)
			for try := uint64(1); try <= 2; try++ {
				at := time.Duration(try) * 10 * ms
				s.op("n1", history.Renew, at, at+2*ms, history.Ok, history.Event{Nonce: "a", Token: 1, Try: try}, history.Event{})
				s.add(history.Event{Kind: history.Audit, Call: history.Renew, Nonce: "a", Token: 1, Try: 3 - try, At: 50 * ms, Applied: history.Bool(true)})
			}
		}, Fail},
		{"an unknown outcome that took effect too early", func(s *story) {
			s.acquire("n1", "a", 0, 2*ms, 1).audit(history.Acquire, "n1", "a", 1, 1*ms, true)
			s.op("n2", history.Acquire, 500*ms, 900*ms, history.Info, nonce("b"), history.Event{})
			s.audit(history.Acquire, "n2", "b", 2, 950*ms, true).acquire("n3", "c", 950*ms, 951*ms, 3).audit(history.Acquire, "n3", "c", 3, 952*ms, true)
		}, Fail},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := newStory()
			x.story(s)
			if f := Check(s.build(), Options{}).Lease.StoreOrder; f.Verdict != x.want {
				t.Errorf("%v: %s", f.Verdict, f.Reason)
			}
		})
	}
}

// What the three checkers make together: a pass beside a fail is no verdict
// but a loud unknown, with the one documented exception, and a search that was
// cut off is made up for by the store's own order alone.
func TestLeaseAgreement(t *testing.T) {
	for _, x := range []struct {
		intervals, store, porcupine, want Verdict
		loud                              bool
	}{
		{Pass, Pass, Pass, Pass, false},
		{Pass, Unknown, Pass, Pass, false},
		{Pass, Pass, Unknown, Pass, false},
		{Pass, Unknown, Unknown, Unknown, false},
		{Unknown, Unknown, Unknown, Unknown, false},
		{Fail, Fail, Fail, Fail, false},
		{Fail, Unknown, Fail, Fail, false},
		{Fail, Fail, Unknown, Fail, false},
		{Fail, Unknown, Unknown, Fail, false},
		{Pass, Fail, Fail, Fail, false}, // the intervals are not complete
		{Fail, Pass, Pass, Unknown, true},
		{Fail, Pass, Fail, Unknown, true},
		{Fail, Fail, Pass, Unknown, true},
		{Pass, Fail, Pass, Unknown, false}, // the store's own record cannot be
		{Pass, Pass, Fail, Unknown, true},
		{Pass, Unknown, Fail, Unknown, true},
		{Fail, Unknown, Pass, Unknown, true},
		{Pass, Fail, Unknown, Unknown, false},
		{Fail, Pass, Unknown, Unknown, true},
	} {
		say := func(v Verdict) Finding { return Finding{Verdict: v, Reason: v.String(), Evidence: []int64{1}} }
		f := agree(LeaseChecks{say(x.intervals), say(x.store), say(x.porcupine)}, dispute{settle: func(Finding) Finding { return finding.Undecided("too many") }})
		if f.Verdict != x.want || strings.Contains(f.Reason, "disagree") != x.loud {
			t.Errorf("%v/%v/%v: %v (%s), want %v", x.intervals, x.store, x.porcupine, f.Verdict, f.Reason, x.want)
		}
	}
}

// A store whose own record contradicts answers that are right is not convicted:
// nobody says who is wrong.
func TestLeaseRecordThatCannotBe(t *testing.T) {
	s := newStory()
	s.acquire("n1", "a", 0, 2*ms, 1).audit(history.Acquire, "n1", "a", 1, 1*ms, true)
	s.renew("n1", 500*ms, 502*ms, history.Ok, 1) // in no record
	s.release("n1", 510*ms, 512*ms, history.Ok, 1).audit(history.Release, "n1", "", 1, 511*ms, true)
	r := Check(s.build(), Options{})
	if f := expect(t, r, LeaseLinearizable, Unknown); !strings.HasPrefix(f.Reason, "the store's own record cannot be: ") {
		t.Error(f.Reason)
	}
}

// A refusal that contradicts a renewal which succeeded after a store had lost its
// data is a violation, although the intervals leave out what lies behind the loss:
// for all they know it is another lease.
func TestLeaseRefusedAfterLoss(t *testing.T) {
	s := newStory()
	s.acquire("n1", "a", 0, 2*ms, 1)
	s.fault("store-loss", 500*ms, 502*ms, func(e *history.Event) { e.Void = true }, "store")
	s.renew("n1", 600*ms, 602*ms, history.Ok, 1).renew("n1", 700*ms, 702*ms, history.Fail, 1)
	r := Check(s.build(), Options{})
	f := expect(t, r, LeaseLinearizable, Fail)
	if !strings.Contains(f.Reason, "n1") || len(f.Evidence) == 0 {
		t.Error(f)
	}
}

// A search that gets no time is unknown and says so.
func TestLeasePorcupineCap(t *testing.T) {
	h := churn(2000)
	r := Check(h, Options{PorcupineCap: 1})
	if f := r.Lease.Porcupine; f.Verdict != Unknown || !strings.Contains(f.Reason, "time") {
		t.Errorf("%v: %s", f.Verdict, f.Reason)
	}
}

// A bug at the far end of a long history is found across the windows of the
// search, and elections do not disturb each other.
func TestLeaseWindows(t *testing.T) {
	h := long(3000, func(s *simulation) { s.audit = false })
	for i := range h.Events {
		h.Events[i].Election = "one"
	}
	clean := judgeLease(h)
	if clean.Porcupine.Verdict != Pass || clean.Intervals.Verdict != Pass {
		t.Fatalf("%+v", clean)
	}
	last := h.Events[len(h.Events)-1].At + 3*time.Second
	for i, e := range []history.Event{
		{Kind: history.Invoke, Call: history.Acquire, Node: "n1", Nonce: "x"}, {Kind: history.Ok, Token: 9000},
		{Kind: history.Invoke, Call: history.Acquire, Node: "n2", Nonce: "y"}, {Kind: history.Ok, Token: 9001},
	} {
		e.At, e.Op, e.TTL, e.Election = last+time.Duration(i)*ms, int64(100_000+i/2), time.Second, "one"
		h.Events = append(h.Events, e)
	}
	if c := judgeLease(h); c.Porcupine.Verdict != Fail || c.Intervals.Verdict != Fail {
		t.Errorf("the bug is missed: %+v", c)
	}
	for i := len(h.Events) - 2; i < len(h.Events); i++ {
		h.Events[i].Election = "two"
	}
	if c := judgeLease(h); c.Porcupine.Verdict != Pass || c.Intervals.Verdict != Pass {
		t.Errorf("another election disturbs: %+v", c)
	}
}

// Porcupine's page is written for good and bad histories, with the faults, and
// for several elections; without operations there is an error.
func TestVisualizeLease(t *testing.T) {
	bad := newStory()
	bad.acquire("n1", "a", 0, 2*ms, 1).acquire("n2", "b", 1000*ms, 1002*ms, 2)
	bad.fault("pause", 500*ms, 600*ms, nil, "n1")
	two := goodStory().build()
	for i := range two.Events {
		if two.Events[i].Node == "n1" {
			two.Events[i].Election = "east"
		} else {
			two.Events[i].Election = "west"
		}
	}
	for name, h := range map[string]*history.History{
		"good": goodStory().build(), "bad": bad.build(), "two": two, "long": long(5000, func(*simulation) {}), "long and bad": wrong(long(4000, func(*simulation) {})),
	} {
		var page bytes.Buffer
		if err := VisualizeLease(h, &page); err != nil || !strings.Contains(page.String(), "<html") {
			t.Errorf("%s: %v, %d bytes", name, err, page.Len())
		}
		if name == "bad" && !strings.Contains(page.String(), `"pause"`) {
			t.Errorf("the fault is missing")
		}
	}
	if err := VisualizeLease(newStory().note(0).build(), io.Discard); err == nil {
		t.Error("a page about nothing")
	}
}

package checker

import (
	"testing"
	"time"

	"github.com/recount-io/recount/history"
)

// lasting is an acquire or a renewal without a token, for another time than
// the stories' usual one.
func (s *story) lasting(node string, call history.Call, n string, from, to, ttl time.Duration, kind history.Kind) *story {
	s.op(node, call, from, to, kind, nonce(n), history.Event{})
	for i := range s.events {
		if e := &s.events[i]; e.Kind == history.Invoke && e.Op == s.ops {
			e.TTL = ttl
		}
	}
	return s
}

// Leases without tokens are judged by what is certain only: after an acquire of
// unknown outcome nobody knows which lease a renewal or release was about, and
// a renewal may leave a lease less time than it had.
func TestLeaseWithoutTokens(t *testing.T) {
	const day = 24 * time.Hour
	lost := func(s *story, node, n string, at time.Duration) *story {
		s.op(node, history.Acquire, at, at+5*ms, history.Info, nonce(n), history.Event{Error: "timeout"})
		return s
	}
	for _, x := range []struct {
		name  string
		build func(*story)
		want  Verdict
	}{
		{"a release after a lost acquire ends the lease", func(s *story) {
			lost(s, "n1", "a", 0).acquire("n1", "b", 10*ms, 12*ms, 0).release("n1", 100*ms, 102*ms, history.Ok, 0).acquire("n2", "c", 110*ms, 112*ms, 0)
		}, Pass},
		{"a release of unknown outcome may end a later lease", func(s *story) {
			s.acquire("n1", "a", 0, 2*ms, 0).release("n1", 100*ms, 200*ms, history.Info, 0).acquire("n1", "b", 2500*ms, 2502*ms, 0)
			s.acquire("n2", "c", 2600*ms, 2602*ms, 0)
		}, Pass},
		{"a renewal after a lost acquire prolongs the lease", func(s *story) {
			lost(s, "n1", "a", 0).acquire("n1", "b", 10*ms, 12*ms, 0).renew("n1", 1500*ms, 1502*ms, history.Ok, 0).refused("n2", "c", 3000*ms, 3002*ms, "", 0)
		}, Pass},
		{"one attempt that is granted twice is released once", func(s *story) {
			s.acquire("n1", "a", 0, 2*ms, 0).acquire("n1", "a", 500*ms, 502*ms, 0).release("n1", 600*ms, 602*ms, history.Ok, 0).acquire("n2", "c", 700*ms, 702*ms, 0)
		}, Pass},
		{"a lease without end that gets one is over", func(s *story) {
			s.lasting("n1", history.Acquire, "a", 0, 2*ms, 10*day, history.Ok).renew("n1", 10*ms, 12*ms, history.Ok, 0).acquire("n2", "c", 3000*ms, 3002*ms, 0)
		}, Pass},
		{"a lease without end is held", func(s *story) {
			s.lasting("n1", history.Acquire, "a", 0, 2*ms, 10*day, history.Ok).acquire("n2", "c", 3000*ms, 3002*ms, 0)
		}, Fail},
		{"a refused renewal of a lease that somebody else released", func(s *story) {
			s.acquire("n1", "a", 0, 2*ms, 0).release("n2", 10*ms, 50*ms, history.Info, 0).renew("n1", 100*ms, 102*ms, history.Fail, 0)
		}, Fail},
		{"the same after a lost acquire: only the search can tell", func(s *story) {
			lost(s, "n1", "a", 0).acquire("n1", "b", 10*ms, 12*ms, 0).renew("n1", 50*ms, 52*ms, history.Ok, 0).acquire("n2", "c", 2030*ms, 2031*ms, 0)
		}, Fail},
	} {
		s := newStory()
		x.build(s)
		if f := agreed(t, s); f.Verdict != x.want {
			t.Errorf("%s: %v, want %v: %s", x.name, f.Verdict, x.want, f.Reason)
		}
	}
}

func agreed(t *testing.T, s *story) Finding {
	t.Helper()
	r := Check(s.note(5000*ms).build(), Options{})
	for _, f := range append(r.Asked, r.Measured...) {
		if f.Promise == LeaseLinearizable {
			return f
		}
	}
	t.Fatal("LeaseLinearizable was not judged")
	return Finding{}
}

// Beliefs that were inferred from the wire can accuse, but acquit nobody: the
// program may have believed for longer than its lease.
func TestInferredBeliefsAcquitNobody(t *testing.T) {
	reported := func(s *story, node string, from, until time.Duration, evidence string) *story {
		return s.add(history.Event{Kind: history.Elected, Node: node, At: from, Until: history.At(until), Evidence: evidence})
	}
	for _, x := range []struct {
		name  string
		build func(*story)
		want  Verdict
	}{
		{"reported, apart", func(s *story) { reported(reported(s, "n1", 0, 1000*ms, ""), "n2", 1100*ms, 2000*ms, "") }, Pass},
		{"inferred, apart", func(s *story) {
			reported(reported(s, "n1", 0, 1000*ms, history.FromWire), "n2", 1100*ms, 2000*ms, history.FromWire)
		}, Unknown},
		{"inferred, together", func(s *story) {
			reported(reported(s, "n1", 0, 1000*ms, history.FromWire), "n2", 900*ms, 2000*ms, history.FromWire)
		}, Fail},
	} {
		s := newStory()
		x.build(s)
		r := Check(s.note(5000*ms).build(), Options{})
		if f := expect(t, r, AtMostOneLeader, x.want); f.Verdict != x.want {
			t.Errorf("%s: %v, want %v: %s", x.name, f.Verdict, x.want, f.Reason)
		}
	}
}

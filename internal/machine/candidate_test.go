package machine

import (
	"math"
	"slices"
	"testing"
	"time"
)

// Reply lost after the command took effect: the attempt is repeated with the
// same nonce until its outcome is definite, and the next attempt has a new one.
func TestAttemptKeepsNonceUntilDefinite(t *testing.T) {
	r := newRig(t)
	first := r.next(Acquire)
	r.wait(2500 * ms) // no answer
	second := r.next(Acquire)
	r.answer(second, Unknown, 0)
	third := r.next(Acquire)
	if first.Nonce != second.Nonce || second.Nonce != third.Nonce {
		t.Errorf("nonces %q, %q, %q of one attempt", first.Nonce, second.Nonce, third.Nonce)
	}
	if first.Number == second.Number {
		t.Error("two requests with one number")
	}
	r.answer(third, Held, 4)
	r.is(Follower)
	fourth := r.next(Acquire)
	if fourth.Nonce == first.Nonce {
		t.Error("a refused attempt's nonce was used again")
	}
	if fourth.Floor != 4 {
		t.Errorf("floor %d, want the highest token seen, 4", fourth.Floor)
	}
}

// A refused candidate tries exactly when the lease ends, one command for each
// lease time, however often other things wake the machine.
func TestRefusedTriesWhenLeaseEnds(t *testing.T) {
	r := newRig(t)
	r.answer(r.next(Acquire), Held, 3) // for another 10 s
	refused := r.now
	for range 90 {
		r.wait(100 * ms)
		if len(r.sent) > 0 {
			t.Fatalf("sent %+v before the lease ended", r.sent)
		}
	}
	r.next(Acquire)
	if d := r.now - refused - 10*sec; d < ms || d > 2*ms {
		t.Errorf("tried %v after the end of the lease, want 1ms to 2ms", d)
	}
}

// Whatever a store says is left of a lease, nobody waits for longer than a lease: the
// key may be deleted meanwhile, and nobody announces that.
func TestRefusedForHoursTriesAfterALease(t *testing.T) {
	r := newRig(t)
	q := r.next(Acquire)
	r.step(Input{Kind: Answer, Request: q.Number, Result: Held, Token: 3, Holder: "n2", Remaining: time.Hour})
	refused := r.now
	r.next(Acquire)
	if d := r.now - refused - 15*sec; d < ms || d > 2*ms {
		t.Errorf("tried %v after a lease, want 1ms to 2ms", d)
	}
}

// Whom a release names asks at once. The others give that one a head start, of a
// round trip where that is known, and ask then: it may be dead. What was under way
// meanwhile may have been refused before.
func TestNamedAsksFirst(t *testing.T) {
	release := func(named string, roundTrip time.Duration) time.Duration {
		r := newRig(t)
		r.answer(r.next(Acquire), Held, 3)
		r.wait(sec)
		began := r.now
		r.step(Input{Kind: HintReleased, Token: 3, Holder: named, RoundTrip: roundTrip})
		r.next(Acquire)
		return r.now - began
	}
	if d := release("n1", 40*ms); d != 0 {
		t.Errorf("the one that is named asks %v later", d)
	}
	if d := release("n2", 0); d < ms || d > 2*ms {
		t.Errorf("another one asks %v later, want 1ms to 2ms", d)
	}
	if d := release("n2", 40*ms); d < 41*ms || d > 42*ms {
		t.Errorf("another one, 40ms away, asks %v later, want 41ms to 42ms", d)
	}
	if d := release("n2", 10*time.Hour); d > sec+2*ms {
		t.Errorf("another one asks %v later, want no more than Retry besides", d)
	}

	r := newRig(t)
	q := r.next(Acquire)
	r.step(Input{Kind: HintReleased, Token: 3, Holder: "n2"})
	r.answer(q, Held, 3)
	refused := r.now
	r.next(Acquire)
	if d := r.now - refused; d > 2*ms {
		t.Errorf("who was refused before the release asks again %v later", d)
	}
}

// A candidate learns from refusals how long leases may last, and asks and renews with
// that. It unlearns it when the store says so, down to what it is configured with.
func TestLearnsLongestLease(t *testing.T) {
	r := newRig(t, func(cfg *Config) { cfg.LongestLease = 20 * sec })
	counts := func(call Call, longest time.Duration) Request {
		t.Helper()
		q := r.next(call)
		if q.Longest != longest || r.m.LongestLease() != longest || q.Configured != 20*sec {
			t.Errorf("request %d asks for leases of up to %v, and rather of %v; the machine counts on %v, want %v", call, q.Longest, q.Configured, r.m.LongestLease(), longest)
		}
		return q
	}
	counted := 20 * sec
	for _, step := range []struct{ longest, want time.Duration }{{0, 20 * sec}, {30 * sec, 30 * sec}, {0, 30 * sec}, {25 * sec, 25 * sec}, {5 * sec, 20 * sec}, {30 * sec, 30 * sec}} {
		q := counts(Acquire, counted)
		r.step(Input{Kind: Answer, Request: q.Number, Result: Held, Token: 3, Holder: "n2", Remaining: sec, Longest: step.longest})
		counted = step.want
	}
	r.answer(counts(Acquire, 30*sec), Done, 4)
	r.is(Leader)
	counts(Renew, 30*sec)
}

// An answer to a request that was sent before another one makes no candidate count on
// shorter leases: the store may have said otherwise to the later request.
func TestOvertakenAnswerIsNotUnlearned(t *testing.T) {
	r := newRig(t, func(cfg *Config) { cfg.LongestLease = 20 * sec })
	answer := func(q Request, longest time.Duration) {
		r.step(Input{Kind: Answer, Request: q.Number, Result: Held, Token: 3, Holder: "n2", Remaining: sec, Longest: longest})
	}
	answer(r.next(Acquire), 30*sec)
	overtaken := r.next(Acquire)
	r.sent = nil
	r.next(Acquire)
	r.wait(2500 * ms) // it is given up, and may have been executed
	answer(overtaken, 25*sec)
	if r.m.LongestLease() != 30*sec {
		t.Errorf("the machine counts on %v, want 30s", r.m.LongestLease())
	}
}

// An acquisition that took longer than it is worth is released, not used: the
// grant comes when less than a request time-out is left.
func TestLateGrantIsReleased(t *testing.T) {
	for _, left := range []time.Duration{2500 * ms, 2500*ms - 1, 0, -20 * sec} {
		r := newRig(t, func(c *Config) { c.MaxInFlight = 1 }) // nothing else is sent meanwhile
		q := r.next(Acquire)
		r.now += usable - left
		r.answer(q, Done, 5)
		if left == 2500*ms {
			r.is(Leader)
			continue
		}
		r.is(Follower)
		if len(r.saw(Elected)) != 0 {
			t.Errorf("elected with %v left", left)
		}
		if r.sees(Release) != 1 || r.sent[0].Nonce != q.Nonce || r.sent[0].Token != 5 || r.troubles(ErrTooLate) != 1 {
			t.Errorf("%v left: sent %+v", left, r.sent)
		}
	}
}

// A grant to an attempt that was given up for good is released as soon as it is
// heard of, by its own nonce, whatever the machine is by then.
func TestForgottenGrantIsReleased(t *testing.T) {
	r := newRig(t)
	forgotten := r.next(Acquire)
	r.wait(2500 * ms)
	r.answer(r.next(Acquire), Held, 3) // the same attempt, refused
	r.elect(4)
	r.answer(forgotten, Done, 2)
	r.is(Leader)
	if r.sees(Release) != 1 || r.sent[0].Nonce != forgotten.Nonce || r.sent[0].Token != 2 {
		t.Errorf("sent %+v, want the release of the forgotten lease", r.sent)
	}
	r.answer(r.sent[0], NotHeld, 0)
	r.is(Leader)
}

// A lease that was passed on to a request of the open attempt that was given up ends the
// attempt: what a later request of it is answered is no other token.
func TestPassedOnToEarlierRequest(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Bids = true })
	first := r.next(Acquire)
	r.wait(2500 * ms)
	second := r.next(Acquire)
	r.answer(first, Unknown, 0)
	r.step(Input{Kind: HintPassed, Nonce: first.Nonce, Request: first.Number, Token: 5, Remaining: 10 * sec})
	r.is(Follower)
	if r.sees(Release) != 1 {
		t.Fatalf("sent %+v, want the release of what nobody waits for", r.sent)
	}
	r.answer(r.sent[0], Done, 0) // it may be answered before what was sent earlier
	r.answer(second, Done, 5)
	r.is(Follower)
	if r.troubles(ErrTokenSeen) != 0 || r.troubles(ErrStray) == 0 {
		t.Errorf("told %v", r.transitions)
	}
}

// A token that is not larger than one seen before is refused loudly, wherever
// it was seen, and its lease given back.
func TestTokenThatDoesNotGrowIsRefused(t *testing.T) {
	for _, token := range []uint64{1, 41, 42} {
		r := newRig(t, func(c *Config) { c.Floor = 40 })
		r.answer(r.next(Acquire), Held, 42)
		r.answer(r.next(Acquire), Done, token)
		r.is(Follower)
		if r.troubles(ErrTokenSeen) != 1 || r.sees(Release) != 1 {
			t.Errorf("token %d: told %d times, sent %+v", token, r.troubles(ErrTokenSeen), r.sent)
		}
	}
	r := newRig(t, func(c *Config) { c.Floor = 1 << 53 })
	r.elect(1<<53 + 1)
}

// Request time-outs are well below the deadline, and calls that hang in the
// library are bounded: when as many hang as may, nothing more is sent until one
// returns, and then it goes on.
func TestHungCallsAreBounded(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 3 })
	var hung []Request
	for range 30 {
		r.wait(sec)
		hung = append(hung, r.sent...)
	}
	if len(hung) != 3 || r.troubles(ErrTooMany) == 0 {
		t.Fatalf("%d requests hang, %d complaints", len(hung), r.troubles(ErrTooMany))
	}
	for _, q := range hung {
		if q.Timeout != 2500*ms {
			t.Errorf("time-out %v, want 2.5s", q.Timeout)
		}
	}
	r.answer(hung[0], Unknown, 0)
	r.next(Acquire)
}

// The time-out of a renewal never reaches beyond the deadline.
func TestRenewalTimeoutEndsAtDeadline(t *testing.T) {
	r := newRig(t)
	deadline := r.elect(1) + usable
	for r.m.Role() == Leader {
		for _, q := range r.sent {
			if q.Call == Renew && r.now+q.Timeout > deadline {
				t.Fatalf("a request sent %v before the deadline has %v", deadline-r.now, q.Timeout)
			}
			r.answer(q, Unknown, 0)
		}
		r.now = r.out.Wake
		r.step(Input{})
	}
}

// A release wakes a waiter at once; the hint being repeated, late, or lost
// changes nothing: the timed try stays.
func TestHintsOnlyHasten(t *testing.T) {
	held := func() (*rig, time.Duration) {
		r := newRig(t)
		r.answer(r.next(Acquire), Held, 3)
		return r, r.now
	}
	r, _ := held()
	r.wait(sec)
	hinted := r.now
	r.step(Input{Kind: HintReleased, Token: 3, Waiters: 10})
	r.next(Acquire)
	if d := r.now - hinted; d > 2*ms {
		t.Errorf("tried %v after the release, want at most 10 × 200µs", d)
	}

	r, _ = held() // of an earlier term
	for range 80 {
		r.step(Input{Kind: HintReleased, Token: 2})
		r.wait(100 * ms)
		if len(r.sent) != 0 {
			t.Fatal("tried because of a hint that is out of date")
		}
	}

	r, refused := held() // repeated all the time, and false
	tries := 0
	for range 999 {
		r.step(Input{Kind: HintReleased, Token: 3})
		r.wait(10 * ms)
		for _, q := range r.sent {
			tries++
			r.step(Input{Kind: Answer, Request: q.Number, Result: Held, Token: 3, Remaining: refused + 10*sec - r.now})
		}
	}
	if tries > 11 { // in 10 s
		t.Errorf("%d tries for one release that was announced again and again, with a retry's pause of %v", tries, r.m.cfg.Retry)
	}

	r, refused = held() // the announcement of a grant, again and again
	for r.sees(Acquire) == 0 {
		r.step(Input{Kind: HintGranted, Token: 4, Remaining: 15 * sec})
		r.wait(100 * ms)
		if r.now > refused+60*sec {
			t.Fatal("repeated hints put the timed try off for ever")
		}
	}
}

// A grant for longer than a clock can count to, which only a forger announces, hastens
// nothing.
func TestGrantForEver(t *testing.T) {
	r := newRig(t)
	q := r.next(Acquire)
	r.step(Input{Kind: Answer, Request: q.Number, Result: Held, Token: 3, Remaining: 14 * sec})
	r.wait(sec)
	r.step(Input{Kind: HintGranted, Token: 4, Remaining: math.MaxInt64})
	heard := r.now
	r.next(Acquire)
	if r.now < heard+13*sec {
		t.Errorf("asked %v after it heard of the grant", r.now-heard)
	}
}

// A candidate that waits is heard of once a lease, also when others are granted the lease
// just before it would have asked.
func TestHeardOfOnceALease(t *testing.T) {
	r := newRig(t)
	token, asked := uint64(3), time.Duration(0)
	for range 20 {
		q := r.next(Acquire)
		if late := r.now - asked - 15*sec; asked > 0 && late > sec {
			t.Fatalf("it asks %v after a lease", late)
		}
		asked = r.now
		r.step(Input{Kind: Answer, Request: q.Number, Result: Held, Token: token, Remaining: 14 * sec})
		r.wait(13 * sec)
		token++
		r.step(Input{Kind: HintGranted, Token: token, Remaining: 15 * sec})
	}
}

// A store that is silent alarms after a lease, once, and reports when it is
// back; it never justifies a take-over, though the lease has certainly run out.
func TestFrozenStoreAlarmsAndNothingElse(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 1000 })
	q := r.next(Acquire)
	asked := r.now
	r.wait(10 * 60 * sec)
	if all := r.saw(Unreachable); len(all) != 1 || all[0].At != asked+15*sec {
		t.Fatalf("alarms: %+v, want one, 15s after the first request", all)
	}
	if len(r.saw(Elected)) != 0 {
		t.Fatal("leads without a grant")
	}
	r.answer(q, Held, 3)
	if len(r.saw(Reachable)) != 1 {
		t.Error("not told that the store is back")
	}
}

// A store that keeps answering "held, and no time left" is not flooded.
func TestLeaseThatEndsAndDoesNotGo(t *testing.T) {
	r := newRig(t)
	began, tries := r.now, 0
	for r.now < began+30*sec {
		q := r.next(Acquire)
		tries++
		r.step(Input{Kind: Answer, Request: q.Number, Result: Held, Token: 3, Holder: "n2"})
	}
	if tries > 65 {
		t.Errorf("%d tries in 30s", tries)
	}
}

// A few who wait for a release all try at once. Of many about three do, and the
// others give them a head start.
func TestTurns(t *testing.T) {
	for waiters := range fewWaiters + 1 {
		for seed := range uint64(100) {
			m := New(Config{ID: "n1", Seed: seed, Retry: time.Second})
			m.count(waiters)
			if d := m.turn(Input{}); d != 0 {
				t.Fatalf("one of %d waits for %v", waiters, d)
			}
		}
	}
	for _, waiters := range []int{fewWaiters + 1, 50, 500} {
		const releases = 200
		eager := 0
		for seed := range uint64(releases * waiters) {
			m := New(Config{ID: "n1", Seed: seed, Retry: time.Second})
			m.count(waiters)
			switch d := m.turn(Input{}); {
			case d == 0:
				eager++
			case d < time.Millisecond:
				t.Fatalf("one of %d waits for %v only", waiters, d)
			}
		}
		if each := float64(eager) / releases; each < 2.5 || each > 3.5 {
			t.Errorf("%v of %d try at once, on average; want about three", each, waiters)
		}
	}
}

// However many leases somebody announces that nobody asked for, only some are given back.
func TestForgedNewsIsBounded(t *testing.T) {
	m := New(Config{ID: "n1", Bids: true}.WithDefaults())
	m.Step(0, Input{Kind: Start})
	for i := range uint64(1000) {
		m.Step(time.Millisecond, Input{Kind: HintPassed, Nonce: "n1/1/x", Request: i, Token: i + 1})
	}
	if n := len(m.releases); n != maxReleases {
		t.Errorf("%d are given back, want %d", n, maxReleases)
	}
}

// Somebody announces a lease with the token of the term: it is not given back in the
// term's place, and a caller that waits for the term's release hears of no other one.
func TestAnnouncedWithTokenOfTerm(t *testing.T) {
	forged := Input{Kind: HintPassed, Nonce: "nonce", Request: 1, Token: 4, Remaining: 10 * sec}
	r := newRig(t, func(c *Config) { c.Bids = true })
	r.elect(4)
	r.step(forged)
	if r.sees(Release) != 0 {
		t.Errorf("sent %+v", r.sent)
	}
	r.is(Leader)
	r.step(Input{Kind: Resign, Token: 4})
	r.step(Input{Kind: WorkEnded, Token: 4})
	if r.sees(Release) != 1 {
		t.Fatalf("sent %+v, want the release of the term", r.sent)
	}
	r.step(forged)
	if n := len(r.m.releases); n != 1 {
		t.Errorf("%d leases are given back, want that of the term alone", n)
	}
}

// A machine that stops without an answer to its open attempt takes that back: the store
// may have refused it, and would pass the lease on to nobody.
func TestOpenAttemptIsWithdrawn(t *testing.T) {
	for name, stop := range map[string]func(r *rig, q Request){
		"no answer came":         func(r *rig, _ Request) { r.step(Input{Kind: Stop}); r.wait(r.m.cfg.RequestTimeout) },
		"its request has failed": func(r *rig, q Request) { r.answer(q, Unknown, 0); r.step(Input{Kind: Stop}) },
		"another call is refused for good": func(r *rig, q Request) {
			r.wait(r.m.cfg.RequestTimeout)
			r.answer(r.next(Acquire), Fatal, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.Bids = true })
			q := r.next(Acquire)
			stop(r, q)
			r.is(Stopped)
			if w := r.next(Withdraw); w.Nonce != q.Nonce {
				t.Errorf("the attempt %s is withdrawn, and %s is open", w.Nonce, q.Nonce)
			}
		})
	}
	r := newRig(t)
	r.next(Acquire)
	r.step(Input{Kind: Stop})
	r.wait(r.m.cfg.RequestTimeout)
	if slices.ContainsFunc(r.sent, func(q Request) bool { return q.Call == Withdraw }) {
		t.Error("an attempt that cannot stand is withdrawn")
	}
}

// A hint with a token that no lease has mutes no later one.
func TestHintBeyondTokens(t *testing.T) {
	r := newRig(t)
	r.answer(r.next(Acquire), Held, 5)
	for _, kind := range []InputKind{HintReleased, HintGranted} {
		r.step(Input{Kind: kind, Token: 1<<64 - 1, Waiters: 2})
	}
	began := r.now
	r.step(Input{Kind: HintReleased, Token: 5, Waiters: 2})
	if r.next(Acquire); r.now-began > r.m.cfg.Retry {
		t.Errorf("the release of the lease that it waits for makes it try after %v", r.now-began)
	}
}

// Whatever was announced, the true release of the lease that the store named last makes a
// candidate try, and the largest token that it asks for stays near that one.
func TestLiesAreForgotten(t *testing.T) {
	for _, lie := range []uint64{0, 1, 4, 5, 6, 5 + maxRumour, 6 + maxRumour, 1<<53 - 1, 1 << 53, maxHearsay - 1, maxHearsay, maxHearsay + 1, 1<<63 - 1, 1 << 63, 1<<64 - 1} {
		for _, kind := range []InputKind{HintReleased, HintGranted, HintPassed} {
			r := newRig(t, func(c *Config) { c.Bids = true })
			r.answer(r.next(Acquire), Held, 5)
			r.step(Input{Kind: kind, Token: lie, Waiters: 1<<63 - 1, Remaining: 1<<63 - 1, Nonce: "forged", Holder: "n1"})
			for until := r.now + 20*sec; r.now < until; { // an ordinary lease
				for _, q := range r.sent {
					r.answer(q, map[Call]Result{Acquire: Held, Release: NotHeld}[q.Call], 5)
				}
				r.wait(100 * ms)
			}
			began := r.now
			r.step(Input{Kind: HintReleased, Token: 5, Waiters: 2})
			q := r.next(Acquire)
			if r.now-began > r.m.cfg.Retry {
				t.Errorf("%d was announced by %d: it tries %v after the release of the lease that it waits for", lie, kind, r.now-began)
			}
			if q.Floor > 5+maxRumour {
				t.Errorf("%d was announced by %d: it asks for a token above %d", lie, kind, q.Floor)
			}
		}
	}
}

// Tokens of Redis count microseconds, so those of two terms are far apart. A candidate that
// has handed the lease over, or was refused it, acts on what is announced of later terms.
func TestAnnouncedTokensFarApart(t *testing.T) {
	for name, before := range map[string]func(r *rig){
		"it has handed over": func(r *rig) {
			r.elect(5)
			r.step(Input{Kind: Resign, Holder: "n2"})
			r.step(Input{Kind: WorkEnded, Token: 5})
			r.answer(r.next(Release), Done, 5)
		},
		"it has lost": func(r *rig) { r.answer(r.next(Acquire), Held, 5) },
	} {
		r := newRig(t)
		before(r)
		r.step(Input{Kind: HintGranted, Token: 5 + 10*maxRumour, Remaining: r.m.cfg.Lease})
		r.wait(r.m.cfg.Lease / 2)
		if tries := r.sees(Acquire); tries > 0 {
			t.Errorf("%s: it asks %d times in half of a lease that was announced", name, tries)
		}
		began := r.now
		r.step(Input{Kind: HintReleased, Token: 5 + 10*maxRumour})
		if r.next(Acquire); r.now-began > r.m.cfg.Retry {
			t.Errorf("%s: it tries %v after the release of a later term", name, r.now-began)
		}
	}
}

// A candidate that has handed over, and has heard nothing of the successor's term, asks soon
// after it is announced that the successor hands back to it.
func TestHandedBackAfterUnheardTerm(t *testing.T) {
	r := newRig(t)
	r.elect(5)
	r.step(Input{Kind: Resign, Holder: "n2"})
	r.step(Input{Kind: WorkEnded, Token: 5})
	r.answer(r.next(Release), Done, 5)
	r.wait(2 * r.m.cfg.Retry)
	began := r.now
	r.step(Input{Kind: HintReleased, Token: 5 + 10*maxRumour, Holder: r.m.cfg.ID, Remaining: r.m.cfg.Lease})
	if r.next(Acquire); r.now-began > r.m.cfg.Retry {
		t.Errorf("it tries %v after the lease was handed back", r.now-began)
	}
}

// A token at the bound of what is credible counts once, and so do the later ones:
// the bound itself is no dead end.
func TestCredibleBoundIsNoDeadEnd(t *testing.T) {
	r := newRig(t)
	r.step(Input{Kind: Fenced, Token: maxHearsay})
	q := r.next(Acquire)
	r.answer(q, Done, maxHearsay+1)
	r.is(Leader)
	r.step(Input{Kind: Fenced, Token: maxHearsay + 2})
	r.step(Input{Kind: WorkEnded, Token: maxHearsay + 1})
	if q := r.next(Acquire); q.Floor != maxHearsay+2 {
		t.Errorf("the resource has refused %d, and the next request asks for more than %d", uint64(maxHearsay+1), q.Floor)
	}
}

// Announcements that may have been missed are made up for by one try: at once, or when the
// request under way is refused.
func TestListensAnew(t *testing.T) {
	r := newRig(t)
	r.answer(r.next(Acquire), Held, 5)
	for _, inFlight := range []bool{false, true} {
		r.wait(sec)
		if inFlight {
			r.step(Input{Kind: HintReleased, Token: 5})
			q := r.next(Acquire)
			r.step(Input{Kind: HintListens})
			r.answer(q, Held, 6)
		} else {
			r.step(Input{Kind: HintListens})
		}
		began := r.now
		if r.answer(r.next(Acquire), Held, 6); r.now-began > r.m.cfg.Retry {
			t.Errorf("in flight %t: it tries after %v", inFlight, r.now-began)
		}
	}
}

// A lease may have been passed on to the bid while announcements were missed: the bid is
// taken back, and the lease given back at once.
func TestLostNewsOfTheBid(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Bids = true })
	bid := r.next(Acquire)
	r.step(Input{Kind: Answer, Request: bid.Number, Result: Held, Token: 5, Holder: "n2", Remaining: 10 * sec, Stands: true})
	r.wait(sec)
	r.step(Input{Kind: HintListens})
	w := r.next(Withdraw)
	if w.Nonce != bid.Nonce {
		t.Fatalf("%s is taken back, and the bid was %s", w.Nonce, bid.Nonce)
	}
	r.step(Input{Kind: Answer, Request: w.Number, Result: Held, Token: 6})
	if q := r.next(Release); q.Nonce != bid.Nonce || q.Token != 6 {
		t.Errorf("%+v is given back, and the lease was passed on to %s with token 6", q, bid.Nonce)
	}
}

// A lease that is passed on too late for one renewal is given back and asked for anew as
// soon as that is heard: with a long time-out that is the ordinary way.
func TestPassedOnTooLate(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Bids, c.RequestTimeout = true, 7*sec })
	q := r.next(Acquire)
	r.step(Input{Kind: Answer, Request: q.Number, Result: Held, Token: 1, Holder: "n2", Remaining: 15 * sec, Stands: true})
	r.wait(9 * sec)
	r.step(Input{Kind: HintPassed, Nonce: q.Nonce, Request: q.Number, Token: 2})
	r.is(Follower)
	r.answer(r.next(Release), Done, 2)
	r.step(Input{Kind: HintReleased, Token: 2, Waiters: 1})
	began := r.now
	if r.next(Acquire); r.now-began > 100*ms {
		t.Errorf("it asks again after %v", r.now-began)
	}
}

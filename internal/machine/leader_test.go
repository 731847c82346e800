package machine

import (
	"testing"
	"time"
)

// usable is 15 s less 1 % less 1 ms.
const usable = 14849 * ms

// Anchor at send: the deadline counts from the moment in which the request was
// sent, however long the reply took, less the drift margin and a millisecond.
func TestDeadlineCountsFromSending(t *testing.T) {
	r := newRig(t)
	q := r.next(Acquire)
	sent := r.now
	r.wait(2 * sec)
	r.answer(q, Done, 1)
	if got := r.saw(Elected)[0].Until; got != sent+usable {
		t.Errorf("elected until %v after sending, want %v", got-sent, usable)
	}
	q = r.next(Renew)
	sent = r.now
	r.wait(1 * sec)
	r.answer(q, Done, 0)
	if got := r.saw(Extended)[0].Until; got != sent+usable {
		t.Errorf("extended until %v after sending, want %v", got-sent, usable)
	}
}

// A renewal is bounded by the old deadline, and a renew that arrives after
// expiry must not revive anything: one nanosecond decides.
func TestReplyAfterOldDeadlineRevivesNothing(t *testing.T) {
	for _, late := range []time.Duration{-1, 0, 1, 3 * sec} {
		r := newRig(t)
		deadline := r.elect(1) + usable
		q := r.next(Renew)
		for r.now < deadline-sec { // until the last one before the deadline
			r.answer(q, Unknown, 0)
			q = r.next(Renew)
		}
		r.now = deadline + late
		r.answer(q, Done, 0)
		if late < 0 {
			r.is(Leader)
			if len(r.saw(Extended)) != 1 {
				t.Errorf("a reply in time did not extend the term")
			}
			continue
		}
		r.is(Follower)
		r.deposed(Expired)
		if len(r.saw(Extended)) != 0 {
			t.Errorf("a reply %v after the deadline extended the term", late)
		}
	}
}

// One transient error is no loss, nor is a time-out: the request is repeated
// until the deadline, and the term goes on when one of them succeeds.
func TestTransientErrorIsNoLoss(t *testing.T) {
	r := newRig(t)
	r.elect(1)
	q := r.next(Renew)
	r.answer(q, Unknown, 0)
	r.is(Leader)
	failed := r.now
	r.next(Renew) // unanswered
	if got := r.now - failed; got != sec {
		t.Errorf("repeated after %v, want the retry pause of 1s", got)
	}
	r.wait(3600 * ms) // given up after 2.5 s, repeated 1 s later
	if n := r.troubles(ErrTimeout); n != 1 {
		t.Errorf("%d time-outs reported, want 1", n)
	}
	q = r.next(Renew)
	r.answer(q, Done, 0)
	r.is(Leader)
	if len(r.saw(Deposed)) != 0 {
		t.Error("deposed by a transient error")
	}
}

// "Not owner" is a loss at once, long before the deadline; so is a key that an
// operator deleted. The elector then competes again, with a new nonce.
func TestNotOwnerIsLossAtOnce(t *testing.T) {
	r := newRig(t)
	first := r.next(Acquire)
	r.answer(first, Done, 1)
	r.answer(r.next(Renew), NotHeld, 0)
	r.is(Follower)
	r.deposed(Superseded)
	r.step(Input{Kind: WorkEnded, Token: 1})
	if again := r.next(Acquire); again.Nonce == first.Nonce {
		t.Error("a new term was asked for with the nonce of the old one")
	}
}

// A late answer to a renew of an earlier term of the same candidate changes
// nothing in the present one, whatever it says.
func TestLateRenewOfEarlierTerm(t *testing.T) {
	for _, result := range []Result{Done, NotHeld, Unknown} {
		r := newRig(t)
		r.elect(1)
		old := r.next(Renew)
		r.wait(15 * sec) // the term expires
		r.step(Input{Kind: WorkEnded, Token: 1})
		r.answer(r.next(Release), NotHeld, 0)
		q := r.next(Acquire)
		sent := r.now
		r.answer(q, Done, 2)
		r.answer(old, result, 0)
		r.is(Leader)
		if r.m.term.deadline != sent+usable {
			t.Errorf("result %d: the deadline moved by %v", result, r.m.term.deadline-sent-usable)
		}
		if len(r.saw(Extended)) != 0 {
			t.Errorf("result %d: the new term was extended by the old renewal", result)
		}
	}
}

// Release never delays the cancellation: the transition comes out in the step
// of the loss, and the release only after the work has ended.
func TestLossIsReportedBeforeAnythingIsReleased(t *testing.T) {
	r := newRig(t)
	sent := r.elect(1)
	for r.m.Role() == Leader {
		r.now = r.out.Wake
		r.step(Input{})
		if r.m.Role() == Leader && r.sees(Renew) > 0 {
			r.answer(r.sent[0], Unknown, 0)
		}
	}
	if r.now != sent+usable {
		t.Errorf("deposed %v after sending, want at the deadline, %v", r.now-sent, usable)
	}
	r.deposed(Expired)
	r.wait(100 * ms)
	if r.sees(Release)+r.sees(Acquire) != 0 {
		t.Errorf("sent %+v while the work still runs", r.sent)
	}
	r.step(Input{Kind: WorkEnded, Token: 1})
	if r.sees(Release) != 1 {
		t.Error("the lease, which may still stand, is not released after the work has ended")
	}
}

// A graceful drain keeps renewing until the work has ended, for a minute here,
// then tells, then releases; and it is capped by the drain time-out.
func TestDrainRenewsUntilWorkEnds(t *testing.T) {
	r := newRig(t, func(c *Config) { c.DrainTimeout = 90 * sec })
	r.elect(1)
	r.step(Input{Kind: Stop})
	r.is(Draining)
	begun := r.now
	for r.now < begun+60*sec {
		q := r.next(Renew)
		r.answer(q, Done, 0)
		r.is(Draining)
	}
	if n := len(r.saw(Deposed)); n != 0 {
		t.Fatal("deposed while the work still runs")
	}
	r.step(Input{Kind: WorkEnded, Token: 1})
	r.deposed(Ended)
	r.is(Stopped)
	if r.sees(Release) != 1 {
		t.Fatal("not released after the work has ended")
	}
	r.answer(r.sent[0], Done, 0)
	if !r.out.Done {
		t.Error("not done after the release")
	}
}

// The drain is capped: then the lease is given back although the work runs on,
// and the machine says so.
func TestDrainIsCapped(t *testing.T) {
	r := newRig(t, func(c *Config) { c.DrainTimeout = 7 * sec })
	r.elect(1)
	r.step(Input{Kind: Resign, Token: 1})
	begun := r.now
	for r.m.Role() == Draining {
		r.now = r.out.Wake
		r.step(Input{})
		if r.sees(Renew) > 0 && r.m.Role() == Draining {
			r.answer(r.sent[0], Done, 0)
		}
	}
	if r.now != begun+7*sec {
		t.Errorf("drained for %v, want 7s", r.now-begun)
	}
	if r.deposed(Resigned); r.sees(Release) != 1 || r.troubles(ErrDrainCapped) != 1 {
		t.Errorf("released %d times, told %d times", r.sees(Release), r.troubles(ErrDrainCapped))
	}
	r.answer(r.sent[0], Done, 0)
	r.wait(60 * sec)
	if r.sees(Acquire) != 0 {
		t.Error("competes while the work of its last term still runs")
	}
	r.step(Input{Kind: WorkEnded, Token: 1})
	if r.next(Acquire); r.sees(Release) != 0 {
		t.Error("released twice")
	}
}

// The renewal schedule is absolute: timers that are late by 400 ms each time
// do not add up, and the lateness is reported.
func TestScheduleIsAbsoluteUnderLateTimers(t *testing.T) {
	const late = 400 * ms
	r := newRig(t)
	sent := r.elect(1)
	for k := 1; k <= 20; k++ {
		r.now = r.out.Wake + late
		r.step(Input{})
		if r.sees(Renew) != 1 {
			t.Fatalf("renewal %d was not sent", k)
		}
		if want := sent + time.Duration(k)*5*sec + late; r.now != want {
			t.Fatalf("renewal %d was sent %v after the schedule", k, r.now-want+late)
		}
		r.answer(r.sent[0], Done, 0)
	}
	for _, e := range r.saw(Extended) {
		if e.Late != late {
			t.Errorf("lateness %v reported, want %v", e.Late, late)
		}
	}
}

// A release that fails is repeated while the lease may stand, and no longer.
func TestReleaseIsRepeatedWhileLeaseStands(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Retry = 2 * sec })
	sent := r.elect(1)
	r.step(Input{Kind: WorkEnded, Token: 1})
	for len(r.saw(Released)) == 0 {
		for _, q := range r.sent {
			switch q.Call {
			case Release:
				r.answer(q, Unknown, 0)
			case Acquire:
				r.answer(q, Held, 2)
			}
		}
		r.now = r.out.Wake
		r.step(Input{})
	}
	if d := r.now - sent; d < 15*sec || d > 15*sec+200*ms {
		t.Errorf("given up %v after the last request that made the lease longer, want about the lease", d)
	}
	if err := r.saw(Released)[0].Err; err != ErrNotReleased {
		t.Errorf("the release ended with %v", err)
	}
	if n := r.troubles(errLost); n < 5 {
		t.Errorf("tried %d times, want every 2s", n)
	}
}

// The machine ends after one term with Once, and competes for ever without.
func TestOnceAndForEver(t *testing.T) {
	for _, once := range []bool{true, false} {
		r := newRig(t, func(c *Config) { c.Once = once })
		r.elect(1)
		r.answer(r.next(Renew), NotHeld, 0)
		r.step(Input{Kind: WorkEnded, Token: 1})
		r.answer(r.next(Release), NotHeld, 0)
		if r.out.Done != once {
			t.Errorf("once %t: done %t after the first term", once, r.out.Done)
		}
		if !once {
			r.elect(2)
		}
	}
}

// A renewal may be done up to a fiftieth of its interval early, and never earlier. It
// stands for the one that was due, the next one keeps to the schedule, and an early
// wake-up for anything else does nothing.
func TestRenewalMayBeEarly(t *testing.T) {
	const early = 100 * ms // of 5 s
	r := newRig(t)
	begun := r.elect(1)
	if r.out.Wake != begun+5*sec || r.out.Early != r.out.Wake-early {
		t.Fatalf("the leader wants to be woken from %v to %v after its begin, want from 4.9s to 5s", r.out.Early-begun, r.out.Wake-begun)
	}
	for n := range time.Duration(6) {
		due := begun + (n+1)*5*sec
		r.now = due - early - 1
		r.step(Input{})
		if r.sees(Renew) != 0 || r.out.Wake != due || r.out.Early != due-early {
			t.Fatalf("a nanosecond before its time: %d renewals, and it wants to be woken from %v to %v", r.sees(Renew), r.out.Early-begun, r.out.Wake-begun)
		}
		r.now++
		r.step(Input{})
		q := r.next(Renew)
		if r.out.Early != r.out.Wake {
			t.Errorf("under way it wants to be woken from %v to %v", r.out.Early-begun, r.out.Wake-begun)
		}
		r.wait(ms)
		r.answer(q, Done, 0)
		if got, want := r.m.term.deadline, due-early+usable; got != want {
			t.Errorf("extended until %v, want %v: from when it was sent", got-begun, want-begun)
		}
	}
	for _, extended := range r.saw(Extended) {
		if extended.Late != 0 {
			t.Errorf("late by %v", extended.Late)
		}
	}
	follower := newRig(t)
	follower.answer(follower.next(Acquire), Held, 7)
	if follower.out.Early != follower.out.Wake {
		t.Errorf("a follower wants to be woken from %v to %v", follower.out.Early, follower.out.Wake)
	}
}

// A renewal that failed early is repeated in its time, and the repetition stands for
// the one of the schedule if that is due by then.
func TestRepetitionIsOfTheSchedule(t *testing.T) {
	r := newRig(t, func(cfg *Config) { cfg.Early = time.Second })
	begun := r.elect(1)
	r.now = begun + 4*sec
	r.step(Input{})
	r.answer(r.next(Renew), Unknown, 0)
	r.now = begun + 5*sec
	r.step(Input{})
	q := r.next(Renew)
	r.wait(10 * ms)
	r.answer(q, Done, 0)
	if r.out.Wake != begun+10*sec {
		t.Errorf("woken at %v, want 10s", r.out.Wake-begun)
	}
}

// A renewal that failed is repeated after a pause, however short that is beside Renew. A
// store that refuses connections would else be asked without end.
func TestRepetitionWaitsForRetry(t *testing.T) {
	r := newRig(t, func(cfg *Config) { cfg.Retry = 20 * ms })
	r.elect(1)
	r.now = r.out.Wake
	r.step(Input{})
	failed := r.now
	r.answer(r.next(Renew), Unknown, 0)
	if n := r.sees(Renew); n != 0 || r.out.Early < failed+10*ms {
		t.Errorf("%d renewals at once, and the next one from %v on: Retry is 20ms", n, r.out.Early-failed)
	}
}

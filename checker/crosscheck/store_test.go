package crosscheck

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/recount-io/recount/history"
)

const ms = time.Millisecond

// mistake is what a wrong store does wrong. The zero value is no mistake.
type mistake string

// The mistakes, each at the calls that give occasion for it, as often as the
// store's rate says.
const (
	none         mistake = ""
	grantsHeld   mistake = "grants a lease that is held"
	grantsTwice  mistake = "grants a lease to two that ask at one time"
	grantsEarly  mistake = "grants a lease a little before it is over"
	endsEarly    mistake = "ends leases some percent early"
	endsEarlyMS  mistake = "ends leases a few milliseconds earlier than is tolerated"
	endsLate     mistake = "ends leases some percent late"
	endsLateMS   mistake = "ends leases a few milliseconds later than is tolerated"
	endsNever    mistake = "never ends a lease"
	renewsOver   mistake = "renews a lease that is over"
	renewsAny    mistake = "renews anybody's lease"
	renewsNot    mistake = "accepts a renewal, and renews nothing"
	renewRefused mistake = "refuses a renewal of the holder"
	releasesAny  mistake = "lets anybody release"
	releasesNot  mistake = "accepts a release, and releases nothing"
	refusesFree  mistake = "refuses although the lease is free"
	tellsWrong   mistake = "names a wrong holder"
	tellsOld     mistake = "tells the holder before the present one"
	tellsNobody  mistake = "says that nobody leads"
	tokenSame    mistake = "grants the same token again"
	tokenFalls   mistake = "grants a smaller token"
	tokenReused  mistake = "grants the token of a lease that was released"
	repeatNew    mistake = "gives a repeated attempt a new token"
	saysRefused  mistake = "says refused of what it applied"
	saysApplied  mistake = "says applied of what it refused"
	losesLease   mistake = "loses the lease, and nobody says so"

	recordTurns   mistake = "swaps two entries of its record"
	recordLoses   mistake = "loses an entry of its record"
	recordInvents mistake = "invents an entry of its record"
	recordLies    mistake = "records a refusal of what it applied"
)

var mistakes = []mistake{
	grantsHeld, grantsTwice, grantsEarly, endsEarly, endsEarlyMS, endsLate, endsLateMS, endsNever, renewsOver, renewsAny, renewsNot, renewRefused,
	releasesAny, releasesNot, refusesFree, tellsWrong, tellsOld, tellsNobody, tokenSame, tokenFalls, tokenReused, repeatNew, saysRefused, saysApplied,
	losesLease, recordTurns, recordLoses, recordInvents, recordLies,
}

// ofRecord reports whether only the store's own record is wrong.
func (m mistake) ofRecord() bool {
	return m == recordTurns || m == recordLoses || m == recordInvents || m == recordLies
}

// store is a lease with expiry, right or wrong. It executes one call at a time.
type store struct {
	rand    *rand.Rand
	mistake mistake
	rate    float64
	share   float64       // of the time to live, for mistakes of some percent
	beyond  time.Duration // more than is tolerated, for mistakes of some milliseconds
	jitter  time.Duration // by which a right store may be off
	tokens  bool
	stride  uint64 // tokens grow by up to so much

	held          bool
	holder, nonce string
	token, last   uint64
	written, over time.Duration
	before        grant // the lease before
	released      bool  // it was
	entries       []history.Event
	made          int // mistakes
}

type grant struct {
	holder string
	token  uint64
}

// errs reports whether the store makes its mistake now.
func (s *store) errs(m mistake) bool {
	return s.mistake == m && s.rand.Float64() < s.rate
}

// made notes a mistake.
func (s *store) make(m mistake) bool {
	if s.errs(m) {
		s.made++
		return true
	}
	return false
}

// write writes the lease at t.
func (s *store) write(t, ttl time.Duration) {
	s.written = t
	life := ttl
	if s.jitter > 0 {
		life += time.Duration(s.rand.Int64N(int64(2*s.jitter))) - s.jitter
	}
	switch {
	case s.make(endsEarly):
		life = ttl - time.Duration(float64(ttl)*s.share)
	case s.make(endsEarlyMS):
		life = ttl - s.beyond
	case s.make(endsLate):
		life = ttl + time.Duration(float64(ttl)*s.share)
	case s.make(endsLateMS):
		life = ttl + s.beyond
	case s.make(endsNever):
		life = 1000 * time.Hour
	}
	s.over = t + life
}

// execute is what the store does and answers to the call at t.
func (s *store) execute(in *history.Event, t time.Duration) history.Event {
	out := history.Event{Node: in.Node, Election: in.Election, Op: in.Op, Call: in.Call, Kind: history.Fail}
	if s.held && s.make(losesLease) {
		s.held = false
	}
	if s.held && t >= s.over {
		s.before = grant{s.holder, s.token}
	}
	alive := s.held && t < s.over
	mine := alive && s.holder == in.Node && s.token == in.Token && s.nonce == in.Nonce
	if alive && in.Token == 0 && in.Nonce != "" { // named by its nonce alone
		mine = s.nonce == in.Nonce && s.holder == in.Node
	}
	recorded := in.Token
	switch in.Call {
	case history.Observe:
		out.Kind = history.Ok
		if alive {
			out.Holder, out.Token = s.holder, s.token
		}
		s.tell(&out, alive)
		return out
	case history.Acquire:
		s.acquire(in, &out, t, alive)
		recorded = out.Token
	case history.Renew:
		late := !alive && s.held && s.holder == in.Node && s.token == in.Token
		switch {
		case mine && !s.make(renewRefused):
			out.Kind = history.Ok
			if !s.make(renewsNot) {
				s.write(t, in.TTL)
			}
		case !mine && alive && s.make(renewsAny), late && s.make(renewsOver):
			out.Kind = history.Ok
			s.write(t, in.TTL)
		}
	case history.Release:
		if mine || alive && s.make(releasesAny) {
			out.Kind = history.Ok
			if !s.make(releasesNot) {
				s.held, s.released, s.before = false, true, grant{s.holder, s.token}
			}
		}
	}
	s.record(in, out.Kind == history.Ok, recorded, t)
	s.lie(&out)
	return out
}

func (s *store) acquire(in, out *history.Event, t time.Duration, alive bool) {
	again := alive && in.Nonce != "" && s.nonce == in.Nonce && s.holder == in.Node
	wrongly := alive && !again && (s.make(grantsHeld) || t-s.written < in.TTL/4 && s.make(grantsTwice) || s.over-t < in.TTL/3 && s.over-t > s.beyond && s.make(grantsEarly))
	switch {
	case again && !s.make(repeatNew):
		out.Kind, out.Token = history.Ok, s.token
		s.write(t, in.TTL)
	case alive && !again && !wrongly:
		out.Holder, out.Token = s.holder, s.token
		s.tell(out, true)
	case !alive && s.before.holder != "" && s.make(refusesFree):
		out.Holder, out.Token = s.before.holder, s.before.token
	default:
		if s.held {
			s.before = grant{s.holder, s.token}
		}
		token := s.next()
		s.held, s.holder, s.nonce, s.token = true, in.Node, in.Nonce, token
		s.last, s.released = max(s.last, token), false
		s.write(t, in.TTL)
		out.Kind, out.Token = history.Ok, token
	}
}

// next is the token of a new lease.
func (s *store) next() uint64 {
	switch {
	case !s.tokens:
		return 0
	case s.before.token != 0 && s.make(tokenSame), s.released && s.before.token != 0 && s.make(tokenReused):
		return s.before.token
	case s.last > 1 && s.make(tokenFalls):
		return s.last - 1
	}
	return s.last + 1 + s.rand.Uint64N(s.stride)
}

// tell spoils what an answer says about the holder.
func (s *store) tell(out *history.Event, alive bool) {
	switch {
	case alive && s.make(tellsWrong):
		out.Holder = "n9"
		if out.Holder == s.holder {
			out.Holder = "n8"
		}
	case s.before.holder != "" && (s.before.holder != s.holder || s.before.token != s.token) && s.make(tellsOld):
		out.Holder, out.Token = s.before.holder, s.before.token
	case alive && out.Kind == history.Ok && s.make(tellsNobody):
		out.Holder, out.Token = "", 0
	}
}

// lie spoils whether an answer says that the call took effect.
func (s *store) lie(out *history.Event) {
	switch {
	case out.Kind == history.Ok && s.make(saysRefused):
		out.Kind = history.Fail
		if out.Call == history.Acquire {
			out.Holder, out.Token = s.before.holder, s.before.token
		}
	case out.Kind == history.Fail && s.make(saysApplied):
		out.Kind = history.Ok
		if out.Call == history.Acquire {
			out.Holder = ""
			if s.tokens {
				out.Token = s.last + 1
			}
		}
	}
}

func (s *store) record(in *history.Event, applied bool, token uint64, t time.Duration) {
	e := history.Event{
		Kind: history.Audit, At: t, Node: in.Node, Election: in.Election, Call: in.Call, Nonce: in.Nonce, Try: in.Try, Token: token,
		Applied: history.Bool(applied),
	}
	if applied && s.make(recordLies) {
		e.Applied = history.Bool(false)
	}
	if s.make(recordLoses) {
		return
	}
	s.entries = append(s.entries, e)
	if n := len(s.entries); n > 1 && s.make(recordTurns) {
		s.entries[n-1], s.entries[n-2] = s.entries[n-2], s.entries[n-1]
		s.entries[n-1].At, s.entries[n-2].At = s.entries[n-2].At, s.entries[n-1].At
	}
	if s.make(recordInvents) {
		e.Nonce = fmt.Sprintf("%s/invented-%d", in.Node, len(s.entries))
		e.Try += 1 << 20
		e.Applied = history.Bool(true)
		s.entries = append(s.entries, e)
	}
}

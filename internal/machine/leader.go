package machine

import "time"

// term is the last holding of the lease, live or not.
type term struct {
	nonce    string
	token    uint64
	live     bool          // we lead
	working  bool          // the work has not ended
	calling  bool          // the work has, and callbacks of the term go on
	begun    time.Duration // when its grant came in
	deadline time.Duration // of the term
	lastSent time.Duration // of the last request that may have made the lease longer
	given    bool          // a release was queued

	value   string // that is published
	version uint64 // of value
	shown   uint64 // the latest version that the store has acknowledged

	tick    time.Duration // the next renewal by schedule
	renewAt time.Duration // the next renewal, retries included

	ending    Why           // Draining: why
	successor string        // to whom the lease is given back; anybody if empty
	drainBy   time.Duration // Draining: until when the work is waited for
}

func (t *term) is(nonce string, token uint64) bool { return t.nonce == nonce && t.token == token }

// goesOn reports whether the work of the term, or a callback of it, has not returned.
func (t *term) goesOn() bool { return t.working || t.calling }

// elect begins a term. The lease counts from the moment in which it was asked
// for: how long the answer took, nobody knows.
func (m *Machine) elect(f flight, token uint64) {
	m.term = term{
		nonce: f.nonce, token: token, live: true, working: true, begun: m.now,
		deadline: f.sent + m.usable,
		lastSent: m.attempt.lastSent, // a repetition may have taken effect later
		value:    m.cfg.Value, version: f.version, shown: f.version,
	}
	m.term.tick = f.sent
	m.schedule()
	m.bid = bid{}
	m.hears(token)
	m.become(Leader)
	m.emit(Transition{Kind: Elected, Token: token, Until: m.term.deadline})
	m.see(Input{Holder: m.cfg.ID, Token: token, Remaining: m.term.deadline - m.now})
}

// schedule sets the next renewal. The schedule counts from the beginning of
// the term, not from the last renewal, so that late timers do not add up. What the
// store does not show yet is not kept waiting for it.
func (m *Machine) schedule() {
	for m.term.tick <= m.now {
		m.term.tick += m.cfg.Renew
	}
	m.term.renewAt = m.term.tick
	if m.term.shown < m.term.version {
		m.term.renewAt = m.now
	}
}

// publish takes a value that is to be shown beside the term. The next renewal carries
// it, and is due now.
func (m *Machine) publish(in Input) {
	t := &m.term
	if t.live && in.Token == t.token && in.Version > t.version {
		t.value, t.version = in.Value, in.Version
		t.renewAt = m.now
	}
}

// acknowledged notes which version of the value the store has.
func (m *Machine) acknowledged(version uint64) {
	if version > m.term.shown {
		m.term.shown = version
		m.emit(Transition{Kind: Shown, Token: m.term.token, Version: version})
	}
}

// renews reports whether the term's lease is to be renewed.
func (m *Machine) renews() bool {
	return leads(m.role) && m.term.ending != Failed && !m.inFlight(Renew, m.term.nonce)
}

func (m *Machine) renew() {
	if !m.room(Renew) {
		m.term.renewAt = m.now + m.cfg.Retry
		return
	}
	m.term.lastSent = m.now
	for m.term.tick <= m.now+m.early { // this one stands for them
		m.term.tick += m.cfg.Renew
	}
	m.send(Request{
		Call: Renew, Nonce: m.term.nonce, Token: m.term.token, TTL: m.cfg.Lease, Longest: m.longest, Configured: m.cfg.LongestLease,
		Value: m.term.value, Version: m.term.version, Shown: m.term.shown == m.term.version,
		Timeout: min(m.cfg.RequestTimeout, m.term.deadline-m.now),
	}, max(0, m.now-m.term.renewAt))
}

func (m *Machine) renewAnswered(f flight, in Input) {
	ours := m.term.live && m.term.is(f.nonce, f.token)
	switch in.Result {
	case Done:
		if ours {
			m.acknowledged(f.version)
			m.extend(f)
		}
	case NotHeld:
		if ours {
			m.depose(Superseded, nil)
		}
	default:
		m.unanswered(f, in.Err)
	}
}

// extend moves the deadline. It is called before the old deadline only: see
// Step.
func (m *Machine) extend(f flight) {
	m.schedule()
	if until := f.sent + m.usable; until > m.term.deadline {
		m.term.deadline = until
		m.emit(Transition{Kind: Extended, Token: m.term.token, Until: until, Late: f.late})
	}
}

func (m *Machine) expire() {
	switch {
	case !m.term.live || m.now < m.term.deadline:
	case m.term.ending == Failed:
		m.depose(Failed, m.err)
	default:
		m.depose(Expired, nil)
	}
}

// depose ends the term. The lease is given back when the work has ended, not
// before: until then nobody else should lead.
func (m *Machine) depose(why Why, err error) {
	m.term.live = false
	if m.stopping || m.cfg.Once {
		m.become(Stopped)
	} else {
		m.become(Follower)
	}
	m.emit(Transition{Kind: Deposed, Token: m.term.token, Until: m.term.deadline, Why: why, Err: err})
	m.attempt.lastSent = m.term.lastSent
	m.attempt.notBefore = 0
	m.attempt.next = m.now + m.jitter(m.cfg.Retry)
	m.attempt.rejoins = m.cfg.Bids
	if why == Resigned {
		m.stepBack()
		if m.term.successor != "" {
			m.attempt.next = m.now + m.cfg.Lease // the lease may be handed back, unheard
		}
	}
	if !m.term.working {
		m.releaseTerm()
	}
	if m.term.goesOn() {
		m.hangsAt = m.now + m.cfg.Lease
	}
}

// alarmOfHanging tells when something of a term that is over has not returned for a
// lease. It is no reason to do anything else: the machine waits on.
func (m *Machine) alarmOfHanging() {
	if m.now >= m.hangsAt {
		m.hangsAt = Never
		m.trouble(None, ErrCallbackHangs)
	}
}

// releaseTerm gives the term's lease back if it may still stand.
func (m *Machine) releaseTerm() {
	until := m.term.lastSent + m.cfg.Lease + (m.cfg.Lease - m.usable)
	if m.term.given {
		return
	}
	m.term.given = true
	if m.now >= until {
		m.emit(Transition{Kind: Released, Token: m.term.token})
		return
	}
	m.giveBack(m.term.nonce, m.term.token, until)
	m.releases[m.findRelease(m.term.nonce, m.term.token)].to = m.term.successor
}

func (m *Machine) resign(in Input) {
	if m.role == Leader && (in.Token == 0 || in.Token == m.term.token) {
		m.term.successor = in.Holder
		m.drain(Resigned)
	}
}

// fenced ends a term whose token was refused. A store that is split, or that has
// lost its count, does not know of the later term: the next token must be larger
// all the same.
func (m *Machine) fenced(in Input) {
	m.learn(in.Token)
	if m.term.live && in.Token > m.term.token {
		m.depose(Superseded, nil)
		m.stepBack()
		m.restIfShort()
	}
}

// stepBack leaves the next term to somebody else.
func (m *Machine) stepBack() {
	m.attempt.notBefore = m.now + m.cfg.Retry + m.jitter(m.cfg.Retry)
	m.attempt.next = m.attempt.notBefore
}

// restIfShort is for a term that nobody wished to end: if it was over as soon as
// it began, the next one may be as short. Then no news makes this candidate try
// earlier, or candidates whose work ends at once would take turns as fast as the
// store can answer.
func (m *Machine) restIfShort() {
	if !m.term.live && m.now-m.term.begun < m.cfg.Retry {
		m.attempt.rest = m.attempt.notBefore
	}
}

// drain goes on renewing until the work has ended.
func (m *Machine) drain(why Why) {
	m.term.ending = why
	m.term.drainBy = m.now + m.cfg.DrainTimeout
	m.become(Draining)
	if !m.term.working {
		m.depose(why, nil)
	}
}

// capDrain ends a drain that takes too long.
func (m *Machine) capDrain() {
	if m.role != Draining || m.term.ending == Failed || m.now < m.term.drainBy {
		return
	}
	m.trouble(None, ErrDrainCapped)
	m.depose(m.term.ending, ErrDrainCapped)
	m.releaseTerm()
}

func (m *Machine) workEnded(in Input) {
	if !m.term.working || in.Token != m.term.token {
		return
	}
	m.term.working, m.term.calling = false, in.Calling
	if !in.Calling {
		m.hangsAt = Never
	}
	if m.role == Stopped {
		m.doneBy = m.now + m.cfg.RequestTimeout
	}
	switch {
	case in.Err != nil:
		m.fail(in.Err)
	case m.role == Leader:
		m.drain(Resigned)
		m.restIfShort()
	case m.role == Draining && m.term.ending == Failed:
		m.depose(Failed, m.err)
	case m.role == Draining:
		m.depose(m.term.ending, nil)
	}
	if !m.term.live {
		m.releaseTerm()
	}
}

// returned lets the machine compete again.
func (m *Machine) returned() {
	if m.term.calling {
		m.term.calling = false
		m.hangsAt = Never
		if m.role == Stopped {
			m.doneBy = m.now + m.cfg.RequestTimeout
		}
	}
}

func (m *Machine) stop() {
	m.stopping = true
	switch m.role {
	case Follower:
		m.become(Stopped)
	case Candidate:
		// A request under way may be granted yet. Its answer is worth waiting
		// for: a lease that nobody knows of would keep the others out.
		if !m.inFlight(Acquire, m.attempt.nonce) {
			m.abandon()
		}
	case Leader:
		m.drain(Ended)
	}
}

// refusedForGood stops because of an answer that no repetition will change. A term goes on
// without renewals: its work has until the deadline to end.
func (m *Machine) refusedForGood(err error) {
	if m.err == nil {
		m.err = err
	}
	if !leads(m.role) || !m.term.working {
		m.fail(err)
		return
	}
	m.stopping = true
	m.term.ending = Failed
	if m.role == Leader {
		m.become(Draining)
	}
}

// fail steps down and stops because of an error that will not go away.
func (m *Machine) fail(err error) {
	if m.err == nil {
		m.err = err
	}
	m.stopping = true
	switch m.role {
	case Follower, Candidate:
		m.abandon()
	case Leader, Draining:
		m.depose(Failed, err)
	}
}

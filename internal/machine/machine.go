package machine

import (
	"math"
	"time"
)

// Never is the wake-up time of a machine that waits for nothing.
const Never = time.Duration(math.MaxInt64)

// Config holds the machine's settings. The machine does not judge them: the
// relations between the durations are the business of elector.Config.
type Config struct {
	ID   string // the candidate; must differ from every other candidate's
	Seed uint64 // of jitter and nonces; see Unforeseen

	Lease          time.Duration // whole milliseconds
	LongestLease   time.Duration // of all candidates' leases, as this one counts on; at least Lease
	Learned        time.Duration // a longer one that it has heard of before
	Renew          time.Duration // from one renewal to the next
	Retry          time.Duration // pause after a request that failed
	RequestTimeout time.Duration // after which a request is given up
	DrainTimeout   time.Duration // for the work to end after a resignation or a stop
	Drift          float64       // tolerated difference of clock rates, as a share
	Early          time.Duration // by how much a renewal, or its repetition, may be early; if it is 0: a fiftieth of Renew or half of Retry, whichever is less, in whole milliseconds; below 0: by nothing

	MaxInFlight int  // requests without an answer, those given up included; 0 means 8
	Once        bool // stop after one term
	Bids        bool // a refused attempt stands as a bid; see bid

	Value string // that each term begins with; may be empty

	Floor        uint64 // highest token known from before
	FirstRequest uint64 // requests are numbered from FirstRequest + 1
}

// WithDefaults returns the settings with every zero replaced: a lease of 15 s,
// and the other durations in proportion to it.
func (c Config) WithDefaults() Config {
	setDefault(&c.Lease, 15*time.Second)
	setDefault(&c.LongestLease, c.Lease)
	setDefault(&c.Renew, c.Lease/3)
	setDefault(&c.Retry, c.Renew/5)
	setDefault(&c.RequestTimeout, c.Renew/2)
	setDefault(&c.DrainTimeout, 2*c.Lease)
	setDefault(&c.Early, min(c.Renew/50, c.Retry/2).Truncate(time.Millisecond))
	if c.MaxInFlight == 0 {
		c.MaxInFlight = 8
	}
	return c
}

func setDefault(d *time.Duration, to time.Duration) {
	if *d == 0 {
		*d = to
	}
}

// Usable is how long a candidate may lead after it sent a request that was granted:
// the lease less what the clocks may differ by, and less the millisecond that
// a store may lose by rounding.
func (c Config) Usable() time.Duration {
	return c.Lease - time.Duration(math.Ceil(float64(c.Lease)*c.Drift)) - time.Millisecond
}

// version is that of the value that a term begins with.
func (c Config) version() uint64 {
	if c.Value == "" {
		return 0
	}
	return 1
}

// Machine decides for one candidate in one election. It is not safe for
// concurrent use.
type Machine struct {
	cfg    Config
	usable time.Duration
	early  time.Duration // by how much a renewal may be
	random splitmix
	choose func(most time.Duration) time.Duration // in place of random times; see Choose
	secret func() uint64                          // in place of random numbers in nonces; see Unforeseen

	now      time.Duration
	role     Role
	started  bool
	stopping bool
	err      error // the fatal error that ended it
	doneBy   time.Duration

	attempt attempt
	bid     bid
	term    term
	leader  seen
	waiters int           // as the store said last; 0: it has not
	longest time.Duration // that any lease may last, as far as is known

	lastAsked uint64 // number of the last request that acquires

	floor      uint64 // highest token that an answer named
	lastNumber uint64
	flights    []flight  // requests without an answer
	releases   []release // leases to be given back

	silent      bool          // no request has succeeded since silentSince, when one was sent
	silentSince time.Duration //
	refusal     error         // with which the store has answered last since then; nil: it has not answered
	unreachable bool
	hangsAt     time.Duration // when what goes on of the last term hangs; Never: nothing does, or that was told

	requests    []Request
	transitions []Transition
}

// seen is the leader last announced.
type seen struct {
	holder string
	token  uint64
}

// New returns a machine that waits for Start.
func New(cfg Config) *Machine {
	cfg = cfg.WithDefaults()
	return &Machine{
		cfg:        cfg,
		usable:     cfg.Usable(),
		early:      max(0, cfg.Early),
		random:     splitmix(cfg.Seed),
		floor:      cfg.Floor,
		longest:    max(cfg.LongestLease, cfg.Learned),
		lastNumber: cfg.FirstRequest,
		hangsAt:    Never,
	}
}

// Role is the machine's present role.
func (m *Machine) Role() Role { return m.role }

// Floor is the highest token that the machine knows of.
func (m *Machine) Floor() uint64 { return m.floor }

// LastToken is the token that the store's last answer named: what is announced of an older one
// changes nothing.
func (m *Machine) LastToken() uint64 { return m.attempt.lastToken }

// LongestLease is how long any lease of the election may last, as far as the machine
// knows.
func (m *Machine) LongestLease() time.Duration { return m.longest }

// LastRequest is the number of the last request.
func (m *Machine) LastRequest() uint64 { return m.lastNumber }

// Err is the fatal error that stopped the machine, or nil.
func (m *Machine) Err() error { return m.err }

// Step takes one input at the time now and returns what is to be done. The
// slices of the Output are valid until the next Step. A now before that of the
// last Step counts as that of the last Step.
func (m *Machine) Step(now time.Duration, in Input) Output {
	m.now = max(m.now, now)
	m.requests, m.transitions = reused(m.requests), reused(m.transitions)

	// What time has ended is ended before the input is looked at. So a reply
	// that arrives after the deadline finds no term that it could extend.
	m.lapse()
	m.take(in)
	m.act()
	wake, early := m.wake()
	out := Output{Requests: m.requests, Transitions: m.transitions, Wake: wake, Early: early, Done: m.done()}
	if m.role == Follower { // there may be thousands, most of which wait
		m.requests, m.transitions = nil, nil
	}
	return out
}

// reused is the room of the last step, unless that was an unusual one.
func reused[T any](last []T) []T {
	if cap(last) > 1 {
		return nil
	}
	return last[:0]
}

func (m *Machine) lapse() {
	m.expire()
	m.capDrain()
	m.giveUpFlights()
	m.giveUpReleases()
	m.alarm()
	m.alarmOfHanging()
}

func (m *Machine) take(in Input) {
	switch in.Kind {
	case Start:
		m.start()
	case Answer:
		m.answer(in)
	case HintReleased:
		m.hintReleased(in)
	case HintGranted:
		m.hintGranted(in)
	case HintPassed:
		m.passed(in)
	case HintListens:
		m.listens()
	case Resign:
		m.resign(in)
	case WorkEnded:
		m.workEnded(in)
	case Returned:
		m.returned()
	case Stop:
		m.stop()
	case Fenced:
		m.fenced(in)
	case Publish:
		m.publish(in)
	}
}

// act sends what is due.
func (m *Machine) act() {
	m.sendReleases()
	switch m.role {
	case Follower:
		if m.competes() && m.now >= m.attempt.next {
			m.tryNew()
		}
	case Candidate:
		if !m.inFlight(Acquire, m.attempt.nonce) && m.now >= m.attempt.next {
			m.tryAgain()
		}
	case Leader, Draining:
		if m.renews() && m.now >= m.term.renewAt-m.early {
			m.renew()
		}
	}
}

// competes reports whether a follower may try: never while something of its last
// term still runs.
func (m *Machine) competes() bool { return m.started && !m.term.goesOn() }

// wake is when the machine wants to be woken at the latest, and from when on that
// does what is due then: nothing but a renewal may be early.
func (m *Machine) wake() (at, early time.Duration) {
	at = m.fixed()
	if !m.renews() {
		return at, at
	}
	return min(at, m.term.renewAt), min(at, m.term.renewAt-m.early)
}

// fixed is the next moment at which something is due but a renewal.
func (m *Machine) fixed() time.Duration {
	if m.done() {
		return Never
	}
	at := Never
	switch m.role {
	case Follower:
		if m.competes() {
			at = m.attempt.next
		}
	case Candidate:
		if !m.inFlight(Acquire, m.attempt.nonce) {
			at = m.attempt.next
		}
	case Leader, Draining:
		at = m.term.deadline
		if m.role == Draining && m.term.ending != Failed {
			at = min(at, m.term.drainBy)
		}
	case Stopped:
		if !m.term.goesOn() {
			at = m.doneBy
		}
	}
	for i := range m.flights {
		if !m.flights[i].abandoned {
			at = min(at, m.flights[i].giveUp)
		}
	}
	for i := range m.releases {
		at = min(at, m.releases[i].until)
		if !m.releases[i].sent {
			at = min(at, m.releases[i].at)
		}
	}
	if m.silent && !m.unreachable {
		at = min(at, m.silentSince+m.cfg.Lease)
	}
	return min(at, m.hangsAt)
}

// done reports whether nothing is left to do or to wait for. Answers that are
// still missing one request time-out after the end are not waited for.
func (m *Machine) done() bool {
	if m.role != Stopped || m.term.goesOn() {
		return false
	}
	return m.now >= m.doneBy || len(m.flights) == 0 && len(m.releases) == 0
}

func (m *Machine) emit(t Transition) {
	t.At = m.now
	t.Role = m.role
	m.transitions = append(m.transitions, t)
}

func (m *Machine) trouble(call Call, err error) {
	m.emit(Transition{Kind: Trouble, Call: call, Err: err})
}

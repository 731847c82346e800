package quorum

import (
	"errors"
	"math"
	"slices"
	"time"
)

// Never is the wake-up time of a machine that waits for nothing.
const Never = time.Duration(math.MaxInt64)

// DefaultTimeout is how long one node may take to answer, if nobody says.
const DefaultTimeout = time.Second

// stages is how many requests to one node may follow each other in one call: an
// attempt, the release of a token that fell behind, and another attempt. Each
// may take no more than its share of the call's time.
const stages = 4

// Patience is how long one request of a call may take, which has so much time
// left.
func Patience(timeout, left time.Duration) time.Duration { return min(timeout, left/stages) }

// minGrace is how long stragglers are waited for at least, once most nodes have
// answered.
const minGrace = time.Millisecond

// Config holds a machine's settings.
type Config struct {
	Nodes   int
	Timeout time.Duration // of a request that no call waits for
}

// InputKind says what an Input is.
type InputKind uint8

// The kinds of inputs.
const (
	Wake         InputKind = iota // time has passed
	BeginAcquire                  // a call: get the lease
	BeginRenew                    // a call: prolong it
	BeginRelease                  // a call: give it back
	GiveUp                        // nobody waits for Call any more
	Answer                        // a request was answered, however late
	Silence                       // its patience is over; an answer may come yet
)

// Input is one thing that happened. Which fields are set depends on Kind.
type Input struct {
	Kind InputKind
	Call uint64 // Begin…, GiveUp: its number; no two calls have the same

	ID, Nonce string        // Begin…
	Token     uint64        // BeginRenew, BeginRelease: of the lease. Answer: that was granted
	Floor     uint64        // BeginAcquire: only larger tokens are of use
	TTL       time.Duration // Begin…
	Patience  time.Duration // Begin…: with each request of the call

	Request uint64  // Answer, Silence
	Verdict Verdict // Answer
	Denial  *Denial // Answer: what a node said that refused an attempt
	Waiters int     // Answer: with a grant
	Err     error   // Answer, Silence: what is told of the node, if it did not agree
}

// Ask is what a request asks of a node.
type Ask uint8

// What requests ask.
const (
	AskGrant   Ask = iota // acquire, for a call that acquires
	AskMend               // acquire, for a call that renews
	AskRenew              // renew
	AskRelease            // release, for a call that releases
	AskBack               // release what is of no use to any call
)

// Request is a request to one node.
type Request struct {
	Number   uint64
	Call     uint64 // that it is made for
	Node     int
	Ask      Ask
	ID       string
	Nonce    string
	Token    uint64 // AskRenew, AskRelease, AskBack
	Floor    uint64 // AskGrant, AskMend
	TTL      time.Duration
	Patience time.Duration
}

// Ending is the outcome of a call.
type Ending struct {
	Call    uint64
	Outcome Outcome
	Token   uint64        // Done, of a call that acquires
	Waiters int           // of a call that acquires: the sum of what the nodes said
	Longest time.Duration // Denied: the longest that any node says the caller must count on
	Agreed  bool          // Denied: so many nodes said so that it may be less than before

	// Denied, of a call that acquires: who holds the most nodes, if anybody does,
	// and how long to wait before the next try.
	Rival     Rival
	Remaining time.Duration

	// By node: what its answer meant, and what is told of it. An Err is nil where
	// the node was not asked because it cannot agree.
	Verdicts []Verdict
	Errs     []error
}

// Output is what a Step asks for. Its slices are valid until the next Step.
type Output struct {
	Requests []Request
	Endings  []Ending
	Wake     time.Duration // call Step at this time at the latest
}

// Errors that the machine itself finds.
var (
	ErrRepeated  = errors.New("another call for the same attempt has taken this one's place; its outcome counts")
	errOldTokens = errors.New("grants one old token after the other")
	errUncounted = errors.New("released a grant that does not show that the lease was still held")
)

// Machine is one process's way to the leases of one election. It is not safe for
// concurrent use.
type Machine struct {
	cfg    Config
	choose func(most time.Duration) time.Duration // in place of the pauses between splits; see Choose

	now      time.Duration
	claims   map[name]*claim
	forgetAt int // forget looks at claims when there are so many
	calls    []*call
	flights  []flight
	last     uint64 // number of the last request

	high     uint64 // highest token that a node named
	reported uint64 // highest token that a caller has heard
	rivalry  Rivalry

	sorted   []*claim // of a settled state: see Settle
	spare    spare    // see LoadState
	requests []Request
	endings  []Ending
}

// name is that of a claim.
type name struct{ id, nonce string }

// claim is what the process knows of one nonce.
type claim struct {
	Claim
	name
	touched time.Duration
	latest  *call // that acquires for it and is not over
	open    bool  // and may get it yet

	concerned bool // see Settle
}

// New returns a machine that knows nothing.
func New(cfg Config) *Machine {
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	return &Machine{cfg: cfg, claims: make(map[name]*claim)}
}

// Step takes one input at the time now and returns what is to be done. A now
// before that of the last Step counts as that of the last Step.
func (m *Machine) Step(now time.Duration, in Input) Output {
	m.now = max(m.now, now)
	m.requests, m.endings = m.requests[:0], m.endings[:0]
	switch in.Kind {
	case BeginAcquire:
		m.acquire(&in)
	case BeginRenew:
		m.renew(&in)
	case BeginRelease:
		m.release(&in)
	case GiveUp:
		m.giveUp(in.Call)
	case Answer:
		m.answer(&in)
	case Silence:
		m.silence(&in)
	}
	m.lapse()
	return Output{m.requests, m.endings, m.wake()}
}

// lapse ends the time of stragglers. It comes after the input: an answer that is
// there is not late.
func (m *Machine) lapse() {
	for i := 0; i < len(m.calls); {
		k := m.calls[i]
		if k.hurried && !k.Late && m.now >= k.grace {
			k.Late = true
			m.decide(k)
		}
		if !k.over {
			i++
		}
	}
}

func (m *Machine) wake() time.Duration {
	at := Never
	for _, k := range m.calls {
		if k.hurried && !k.Late {
			at = min(at, k.grace)
		}
	}
	return at
}

// hearsay bounds the tokens that count if one node alone names them: a node whose
// count was tampered with could else use up the tokens of all.
const hearsay = 1 << 62

// saw notes a token that a node named.
func (m *Machine) saw(token uint64) {
	if token <= hearsay {
		m.high = max(m.high, token)
	}
}

// Tell notes that a caller hears of a token.
func (m *Machine) Tell(token uint64) { m.reported = max(m.reported, token) }

// Granted takes in that node n announced a grant with that token, as Announced
// does. News of the whole is told to the callers.
func (m *Machine) Granted(a *Announced, n int, token uint64) (news bool) {
	if news = a.Granted(n, token); news {
		m.Tell(token)
	}
	return news
}

// Released takes in that node n announced the release of that token, as Announced
// does. The token of the whole is no smaller than what a caller knows: a caller
// that knows a larger one would take it for old news.
func (m *Machine) Released(a *Announced, n int, token uint64) (usual uint64, news bool) {
	usual, news = a.Released(n, token)
	return max(usual, m.reported), news
}

// claim is what is known of the call's nonce, and makes it known if it was not.
func (m *Machine) claim(in *Input) *claim {
	m.forget()
	at := name{in.ID, in.Nonce}
	c := m.claims[at]
	if c == nil {
		c = &claim{Claim: NewClaim(m.cfg.Nodes), name: at}
		m.claims[at] = c
	}
	c.touched, c.TTL = m.now, max(c.TTL, in.TTL)
	return c
}

// term is the claim that became the term of the call's lease. A lease that this
// machine was not granted is taken at its word.
func (m *Machine) term(in *Input) *claim {
	at := name{in.ID, in.Nonce}
	c := m.claims[at]
	if c == nil || c.Token != in.Token {
		c = &claim{Claim: Foreign(m.cfg.Nodes, in.Token, in.TTL), name: at}
	}
	c.touched, c.TTL = m.now, max(c.TTL, in.TTL)
	return c
}

// forget removes the claims whose leases have ended by themselves on all nodes.
// It looks only when there are twice as many as it left the last time, so that
// many cost no more each than a few.
func (m *Machine) forget() {
	if len(m.claims) >= m.forgetAt {
		m.Forget(m.now)
	}
}

// Forget does the same now, and reports whether nothing is left: no call, and no
// claim.
func (m *Machine) Forget(now time.Duration) (idle bool) {
	for at, c := range m.claims {
		if c.latest == nil && now-c.touched > 2*c.TTL+2*m.cfg.Timeout {
			delete(m.claims, at)
		}
	}
	m.forgetAt = 2*len(m.claims) + 64
	return len(m.calls)+len(m.claims) == 0
}

// Claims is how many claims the machine remembers.
func (m *Machine) Claims() int { return len(m.claims) }

// find is the call with a number that is not over, nil if there is none.
func (m *Machine) find(number uint64) *call {
	i := slices.IndexFunc(m.calls, func(k *call) bool { return k.number == number })
	if i < 0 {
		return nil
	}
	return m.calls[i]
}

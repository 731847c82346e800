package machine

import (
	"errors"
	"time"
)

// InputKind says what an Input is.
type InputKind uint8

// The kinds of inputs.
const (
	Wake         InputKind = iota // time has passed
	Start                         // begin to compete
	Answer                        // a request ended: Request, Result and what belongs to it
	HintReleased                  // the store announced the end of Token's term: Waiters, RoundTrip; Holder, if not empty, is who alone gets the lease for Remaining, and who may ask first if that is 0
	HintGranted                   // the store announced Token's term: Remaining, Waiters
	HintPassed                    // the store passed the lease on to the bid of Nonce and Request, as Token: Waiters
	HintListens                   // announcements are heard from now on; those before may have been missed
	Resign                        // end the term of Token; 0 means whichever there is. Holder is the successor, if there is one
	WorkEnded                     // the work of Token's term has ended; Calling; a non-nil Err is fatal
	Returned                      // the last callback of the last term has returned
	Stop                          // end for good, gracefully
	Fenced                        // a protected resource has seen Token, and refuses smaller ones
	Publish                       // show Value in Token's term, unless a later Version was given
)

// Result is the outcome of a request.
type Result uint8

// The results. Done, Held, NotHeld and Fatal are definite.
const (
	Unknown Result = iota // may have taken effect, may do so yet, or never: Err
	Done                  // took effect; Acquire: Token, Waiters
	Held                  // Acquire: somebody else holds the lease (or it is withheld, without a Holder): Holder, Token, Remaining, Waiters; Withdraw: the lease was passed on to the bid, as Token
	NotHeld               // Renew, Release: the lease is over, nothing was changed; Withdraw: nothing stands, and nothing was granted to it
	Fatal                 // no repetition will help: Err
)

// Input is one thing that happened. Which fields are set depends on Kind and
// Result.
type Input struct {
	Kind      InputKind
	Result    Result
	Request   uint64
	Nonce     string // HintPassed
	Token     uint64
	Holder    string
	Remaining time.Duration
	Waiters   int
	Longest   time.Duration // Acquire: the Request.Longest to use from now on; 0: as before
	Stands    bool          // Held: the attempt is a bid
	Refused   bool          // Unknown: the store has answered, with Err
	RoundTrip time.Duration // of a request lately; 0: unknown
	Calling   bool          // callbacks of the term go on: Returned follows
	Value     string
	Version   uint64 // of Value: counts those of the term
	Err       error
}

// Call is an operation of the store.
type Call uint8

// The calls. None is that of a Trouble that no call caused.
const (
	None Call = iota
	Acquire
	Renew
	Release
	Withdraw // a bid
)

// Request is a call to make.
type Request struct {
	Number     uint64
	Call       Call
	Nonce      string
	Token      uint64        // Renew, Release
	TTL        time.Duration // Acquire, Renew; Release: what it asks for next, 0 if it stops
	Longest    time.Duration // Acquire, Renew: how long any lease of the election may last
	Configured time.Duration // what the machine counts on unless others have longer leases
	Floor      uint64        // Acquire
	Stands     bool          // Acquire: if it is refused it may be a bid
	To         string        // Release: the successor; may be empty
	Reserve    time.Duration // Release: for how long nobody but To gets the lease
	Value      string        // Acquire, Renew: what the leader publishes
	Version    uint64        // of Value; 0: there is none
	Shown      bool          // Renew: the store has acknowledged this Version
	Timeout    time.Duration
}

// TransitionKind says what a Transition is.
type TransitionKind uint8

// The kinds of transitions.
const (
	RoleChanged TransitionKind = iota + 1 // Why if Draining, Err if stopped by one
	Elected                               // a term begins: Token, Until
	Extended                              // it lasts longer: Token, Until, Late
	Deposed                               // it ends: Token, Until, Why, Err
	LeaderSeen                            // a leader not announced before: Holder, Token, Remaining
	Trouble                               // a request failed, or its answer cannot be used: Call, Err
	Released                              // the lease of Token was given back (or Err says why not)
	Unreachable                           // no request has succeeded for longer than a lease; Err if the store answers, and refuses
	Reachable                             // the first answer after that
	Shown                                 // the store shows what is published in Token's term: Version
)

// Transition is one change that others may want to know of.
type Transition struct {
	Kind      TransitionKind
	At        time.Duration
	Role      Role // after the change
	Call      Call
	Token     uint64
	Version   uint64
	Until     time.Duration
	Late      time.Duration // how long after its time the renewal was sent
	Why       Why
	Holder    string
	Remaining time.Duration
	Err       error
}

// Why says why a term ended.
type Why uint8

// The reasons.
const (
	Expired    Why = iota + 1 // the deadline passed without a renewal
	Superseded                // the store said that the lease is not held any more
	Resigned                  // by order, or because the work ended
	Ended                     // the machine was stopped
	Failed                    // by a fatal error
)

func (w Why) String() string {
	switch w {
	case Expired:
		return "expired"
	case Superseded:
		return "superseded"
	case Resigned:
		return "resigned"
	case Ended:
		return "stopped"
	case Failed:
		return "error"
	default:
		return "none"
	}
}

// Output is what a Step asks for. Requests and Transitions are valid until the
// next Step.
type Output struct {
	Requests    []Request
	Transitions []Transition
	Wake        time.Duration // call Step at this time at the latest
	Early       time.Duration // from this time on, a Step does what is due at Wake
	Done        bool          // nothing will ever come out again
}

// Errors that the machine itself finds.
var (
	ErrTimeout       = errors.New("elector: no answer within the request time-out")
	ErrTooMany       = errors.New("elector: too many requests hang without an answer; nothing is sent until one returns")
	ErrTokenSeen     = errors.New("elector: the store granted a token that is not larger than one seen before; the lease is given back. The store has lost its count: check it for lost data")
	ErrTooLate       = errors.New("elector: the grant came too late to be of use; the lease is given back")
	ErrStray         = errors.New("elector: an attempt long given up was granted; the lease is given back")
	ErrNotReleased   = errors.New("elector: the store never answered the release; the lease ends by itself")
	ErrDrainCapped   = errors.New("elector: the work did not end within the drain time-out; the lease is given back while it still runs")
	ErrCallbackHangs = errors.New("elector: a lease after its end the work of the last term, or a callback of it, has not returned; this candidate does not compete until it does")
)

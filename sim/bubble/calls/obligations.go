package calls

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/sim/space"
)

// Obligations are what the documents of the elector's calls say. Every case is held to
// them.
var Obligations = space.Obligations{
	workOnce:         "OnStarted is called once for each term, and every later term has a larger token",
	workAlone:        "the next term's work does not begin before OnStopped of the last one has returned",
	stopOnce:         "OnStopped is called once for each term, after its work has ended and the term is over",
	callbackAlone:    "OnEvent and OnLeader are called one at a time",
	transitions:      "OnEvent gets every transition, in order: a term is elected, extended, deposed",
	contextInTime:    "a term's context is done at its deadline, and its Err looks at the clock itself; a deadline only moves on",
	checkHolds:       "Check returns nil only if the lease is held for so long",
	leadsAsReported:  "IsLeader says whether this candidate leads at this moment",
	resignAtOnce:     "Resign ends the term: IsLeader is false and the context is done at once; it returns at once where the elector knows of the work",
	released:         "after a term of Campaign, Resign returns nil only if the lease is given back",
	runReturns:       "Run and Terms end when their context is done, after one term with Once, or with the error that they name, soon, and when all callbacks have returned",
	accessReturns:    "a candidate that was let in before does not end for a refusal of its rights or password: it goes on trying",
	campaignReturns:  "Campaign and TryAcquire return a term or an error that they name, soon after their context is done",
	stoppedAfter:     "an elector that does not run is stopped, and does not lead",
	twiceRefused:     "a second call that competes returns ErrActive",
	transferErrors:   "Transfer returns nil if the successor was elected, and else an error that it names; a name that nobody has is ErrNoCandidate, and the term's own work is refused, and both end nothing",
	workHasTime:      "a term that ends because the store refuses its request for good lasts until its work has returned, or until its deadline",
	workEnds:         "the term ends when OnStarted, or the body of the loop over Terms, returns or panics",
	comesToRest:      "whatever competes ends when it is asked to, and leaves no goroutine behind",
	connections:      "a store has no more connections than its pool and one to listen on, and none when it is closed",
	falseAlarm:       "a trouble names what is the case: the store has lost its count, another one has the same ID, announcements have stopped coming, work or a callback hangs, a cluster's slot stays open; a store that is said to be silent was for a lease",
	alarmOwed:        "work that has not returned a lease after its term is told of, and a store that has carried out no request for a lease, and one that does so again",
	oneFails:         "one request that fails, or hangs on its connection, ends no term",
	outlivesReset:    "one reset of all connections ends no term, if Renew, four to six round trips and what the greeting takes fit into the lease",
	slowService:      "a request that failed is repeated after Retry, on a new client after three calls without a reply",
	askedOnce:        "a store does not repeat requests on its own",
	listensAnew:      "who competes listens for the store's announcements; if they break off, or have stopped coming, it listens anew",
	failsBack:        "with Failback a leader hands over to the candidate of the highest priority, if that is higher than its own and competes",
	answersWho:       "Leader may be called from anywhere, at any time: it is answered if the store can be reached, with who leads; OnLeader tells whenever somebody else does",
	questionsEnd:     "Leader is answered, or given up after twice the request time-out; other questions when their context is done",
	expelled:         "Evict takes the lease away, and nobody else is granted one for as long as that one would have lasted",
	retired:          "Retire does nothing while somebody holds the lease, or may believe in one",
	pastTerms:        "History tells the last terms, the latest first, when each began and when its lease was given back; a call on a term that is over changes nothing",
	observes:         "Observe yields who leads whenever it changes, and ends when its context is done",
	healthAgrees:     "a health.Monitor says of who leads what IsLeader says; Live fails when an error for good has stopped the elector, or a panic, and only then",
	candidatesListed: "Candidates lists the live candidates; a candidate is heard of at least once a lease",
	slowHandOver:     "about two round trips lie between the two terms of a hand-over",
	deadSuccessor:    "Transfer hands over to a live candidate",
	wrongSuccessor:   "Transfer hands over to the candidate that it names",
	slowFailover:     "who crashed is replaced within about one lease",
	foreignHint:      "stores never see each other's elections",
	leaseUnlearned:   "who has heard of a longer lease than its own counts on its own again when nobody has it any more who may live",
	leasesAgreed:     "who has a longer lease than others count on is refused until those are gone, or were not heard of for two of their leases",
	jobAlone:         "TryAcquire locks a name for one at a time, each with a larger token than the last",
	jobAtOnce:        "TryAcquire on a name that was never seen is granted at once by a server that is known for a lease",
	valueOfTerm:      "Leader and Observe tell a value beside the term in which it was published, and beside no other one",
	valueIsLatest:    "what Publish has returned for is told from then on, or a later value; no answer is older than one before",
	valueComesBack:   "what the leader publishes is told again, when the store has lost it",
	publishReturns:   "Publish returns nil when the store has the value",
	onlyLeads:        "OnlyLeader executes its function on the leader only, and returns its error; else it returns ErrNotLeading and does nothing",
	onlyEnds:         "the context of OnlyLeader's function is done when that of the call is, or the term's, and not before",
	fencedWrites:     "a service behind fence.Handler lets pass no smaller token than before; fence.Transport sends nothing when its term is over, and does not say so of what it has sent",
	renewsInTime:     "as many elections as a round trip allows are renewed within RequestTimeout",
	logsRarely:       "what goes wrong again and again is logged at once, after ten seconds, and then at a rising interval; when it is over is counted how often it did",
	keptForWork:      "a leader that resigns or stops keeps its lease until its work has returned, or until DrainTimeout",
	askedInTime:      "a lease is renewed every Renew; a request that failed, or was not answered within RequestTimeout, is repeated after Retry",
	fewRenewals:      "a lease is renewed once every Renew, and after a renewal that failed not before Retry",
	fenceHeeded:      "no later term of a candidate has a token up to the fence that Refused was told",
	lateReported:     "Event.Late says how long after its time a renewal was sent",
	givesOwn:         "a candidate gives back only leases that it was granted",
	slowResignation:  "who resigned or stopped is replaced within milliseconds",
}

// The names of the obligations.
const (
	workOnce         = "work once"
	workAlone        = "work alone"
	stopOnce         = "stop once"
	callbackAlone    = "callback alone"
	transitions      = "transitions"
	contextInTime    = "context in time"
	checkHolds       = "check holds"
	leadsAsReported  = "leads as told"
	resignAtOnce     = "resign at once"
	released         = "released"
	runReturns       = "run returns"
	accessReturns    = "access returns"
	campaignReturns  = "campaign returns"
	stoppedAfter     = "stopped after"
	twiceRefused     = "twice refused"
	transferErrors   = "transfer errors"
	workHasTime      = "work has time"
	workEnds         = "work ends"
	comesToRest      = "comes to rest"
	connections      = "connections"
	falseAlarm       = "false alarm"
	alarmOwed        = "alarm owed"
	oneFails         = "one fails"
	outlivesReset    = "outlives a reset"
	slowService      = "slow service"
	askedOnce        = "asked once"
	listensAnew      = "listens anew"
	failsBack        = "fails back"
	answersWho       = "told who leads"
	questionsEnd     = "questions end"
	retired          = "retired"
	expelled         = "expelled"
	pastTerms        = "past terms"
	observes         = "observes"
	healthAgrees     = "health agrees"
	candidatesListed = "candidates listed"
	slowHandOver     = "slow hand-over"
	deadSuccessor    = "dead successor"
	wrongSuccessor   = "wrong successor"
	slowFailover     = "slow failover"
	foreignHint      = "foreign hint"
	leaseUnlearned   = "lease unlearned"
	leasesAgreed     = "leases agreed"
	jobAlone         = "job alone"
	jobAtOnce        = "job at once"
	valueOfTerm      = "value of the term"
	valueIsLatest    = "value is latest"
	valueComesBack   = "value comes back"
	publishReturns   = "publish returns"
	keptForWork      = "kept for its work"
	askedInTime      = "asked in time"
	fewRenewals      = "few renewals"
	fenceHeeded      = "fence heeded"
	lateReported     = "late as told"
	givesOwn         = "gives back its own"
	slowResignation  = "slow resignation"
	renewsInTime     = "renews in time"
	logsRarely       = "logs rarely"
	onlyLeads        = "only the leader"
	onlyEnds         = "only as long"
	fencedWrites     = "fenced writes"
)

// ledger is what a candidate's callbacks have shown so far. The candidate's lock
// guards it.
type ledger struct {
	worked   uint64        // the token of the last work
	working  *elector.Term // whose work has begun, and whose OnStopped has not returned
	returned bool          // that work has ended
	stops    bool          // its OnStopped was called
	notices  int           // calls of OnEvent and OnLeader under way
	believed uint64        // the token of the term that the events are in; 0: none
	elected  uint64        // the token of the last one

	deadline time.Duration  // of that term, as far as it has been seen
	until    time.Duration  // the latest end of any term, as the events have told it
	silent   time.Duration  // since when the store is said to be silent; 0: it is not
	fence    uint64         // the largest that it has named to a term
	fenced   int            // how often it had been told to compete then
	hangs    uint64         // the token of the last term of which it was told that something hangs
	declined int            // leases that were granted too late to be of use, or to a request of before
	leader   elector.Leader // whom OnLeader has told last

	answered   time.Duration            // when the store has answered last
	successors []string                 // to whom it was asked to hand over
	warned     map[string]warned        // by what they say
	calmed     map[string]time.Duration // when it was said last that it is over
	sent       time.Duration            // when a request for the lease was sent last
	failed     time.Duration            // when a request for the lease failed last
	refused    time.Duration            // when one was refused that was sent later
	handed     map[uint64]bool          // terms that it has handed over without being told to

	panicked atomic.Bool // OnStarted has, in this Run
}

// panics notes whether OnStarted has panicked.
func (c *candidate) panics(so bool) { c.ledger.panicked.Store(so) }

// find notes that the elector broke an obligation, if the candidate's process lives.
func (c *candidate) find(obligation, format string, args ...any) {
	if !c.life.gone() {
		c.run.Find(obligation, "%s of %s: "+format, append([]any{c.name, c.life.process.name}, args...)...)
	}
}

// working notes that the work of a term begins, and returns what to call at its end.
func (c *candidate) working(t *elector.Term) (done func()) {
	c.mu.Lock()
	before, after, worked := c.ledger.working, c.ledger.returned, c.ledger.worked
	c.ledger.working, c.ledger.returned, c.ledger.stops, c.ledger.worked = t, false, false, t.Token()
	c.mu.Unlock()
	if t.Token() <= worked {
		c.find(workOnce, "the work of term %d begins after that of %d", t.Token(), worked)
	}
	if before != nil && (!after || c.callsBack()) {
		c.find(workAlone, "the work of term %d begins before that of %d has ended and OnStopped returned", t.Token(), before.Token())
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ledger.returned = true
	}
}

// callsBack reports whether the candidate has callbacks for its terms.
func (c *candidate) callsBack() bool { return c.config.OnStopped != nil }

// stopping notes that OnStopped is called, and returns what to call at its end.
func (c *candidate) stopping(t *elector.Term) (done func()) {
	c.mu.Lock()
	last, returned, twice := c.ledger.working, c.ledger.returned, c.ledger.stops
	c.ledger.stops = true
	c.mu.Unlock()
	switch {
	case last != t:
		c.find(stopOnce, "OnStopped of term %d is called, which has no work", t.Token())
	case twice:
		c.find(stopOnce, "OnStopped of term %d is called twice", t.Token())
	case !returned:
		c.find(stopOnce, "OnStopped of term %d is called while its work goes on", t.Token())
	case t.Check(0) == nil:
		c.find(stopOnce, "OnStopped of term %d is called while the term goes on", t.Token())
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ledger.working = nil
	}
}

// notified notes that OnEvent or OnLeader is called, and returns what to call at
// its end.
func (c *candidate) notified() (done func()) {
	c.life.gate.Wait()
	c.mu.Lock()
	c.ledger.notices++
	n := c.ledger.notices
	c.mu.Unlock()
	if n > 1 {
		c.find(callbackAlone, "%d calls at one time", n)
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ledger.notices--
	}
}

// heard follows the transitions.
func (c *candidate) heard(ev elector.Event) {
	switch ev.Kind {
	case event.Trouble:
		c.alarmed(ev.Err)
		c.declines(ev.Err)
	case event.Deposed:
		c.expectAlarm(ev.Token)
	case event.Unreachable, event.Reachable:
		c.silence(ev)
	case event.Extended:
		c.lateAsReported(ev)
	}
	c.mu.Lock()
	in, last, fence := c.ledger.believed, c.ledger.elected, c.ledger.fence
	if c.ledger.fenced != c.called {
		fence = 0 // of another Run
	}
	works := c.callsBack() && c.ledger.working != nil && c.ledger.working.Token() == ev.Token && !c.ledger.returned
	switch ev.Kind {
	case event.Elected:
		c.ledger.believed, c.ledger.elected = ev.Token, ev.Token
		c.ledger.until = max(c.ledger.until, ev.Until)
	case event.Extended:
		c.ledger.until = max(c.ledger.until, ev.Until)
	case event.Deposed:
		c.ledger.believed = 0
	}
	c.mu.Unlock()
	switch {
	case ev.Kind == event.Elected && (in != 0 || ev.Token <= last):
		c.find(transitions, "elected with token %d in the term of %d, after %d", ev.Token, in, last)
	case ev.Kind == event.Deposed && ev.Reason == event.ReasonError && works && ev.At < ev.Until-time.Millisecond:
		c.find(workHasTime, "the term of token %d ended %v before its deadline while its work went on: %v", ev.Token, ev.Until-ev.At, ev.Err)
	case ev.Kind == event.Elected && ev.Token <= fence && c.tellsAtOnce():
		c.find(fenceHeeded, "elected with token %d, and a term was refused for the fence %d", ev.Token, fence)
	case (ev.Kind == event.Extended || ev.Kind == event.Deposed) && ev.Token != in:
		c.find(transitions, "%s with token %d in the term of %d", ev.Kind, ev.Token, in)
	}
}

// declines counts the leases that the candidate gave back since their grant came too late,
// or was that of a request which a later one had overtaken.
func (c *candidate) declines(err error) {
	if errors.Is(err, event.ErrTooLate) || errors.Is(err, event.ErrStray) {
		c.mu.Lock()
		c.ledger.declined++
		c.mu.Unlock()
		c.run.bite("declined")
	}
}

func (c *candidate) declined() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ledger.declined
}

// expectOver expects a term to be over whose work has ended.
func (c *candidate) expectOver(t *elector.Term) {
	go func() {
		c.life.gate.Wait() // it may end while the process stands still
		stood := c.life.gate.Stood()
		time.Sleep(time.Millisecond)
		if err := t.Check(0); err == nil && c.life.gate.Stood() == stood {
			c.find(workEnds, "the work of term %d has ended, and the term goes on", t.Token())
		}
	}()
}

// consistent looks at what a term says of itself.
func (c *candidate) consistent(t *elector.Term) {
	stood := c.life.gate.Stood()
	now := c.life.clock.Now()
	err, deadline := t.Context().Err(), t.Until() // a deadline only moves on
	if err == nil && now >= deadline {
		c.find(contextInTime, "the context of term %d is not done at %v, its deadline is %v", t.Token(), now, deadline)
	}
	if last := c.moved(t, deadline); deadline < last {
		c.find(contextInTime, "the deadline of term %d went back from %v to %v", t.Token(), last, deadline)
	}
	if !c.leadsIn(t) {
		c.find(leadsAsReported, "term %d goes on, and the elector says that it does not lead", t.Token())
	}
	for _, atLeast := range []time.Duration{0, c.config.Lease / 2, c.config.Lease} {
		now := c.life.clock.Now()
		verdict, left := t.Check(atLeast), t.Remaining()
		if c.life.gate.Stood() != stood {
			return
		}
		if verdict == nil && (left < atLeast || left <= 0) {
			c.find(checkHolds, "term %d is checked for %v, and %v are left", t.Token(), atLeast, left)
		}
		if most := t.Until() - now; left > max(0, most) {
			c.find(checkHolds, "%v are left of term %d, and its deadline is in %v", left, t.Token(), most)
		}
	}
}

// moved notes the deadline of a term, and returns the last one that was noted.
func (c *candidate) moved(t *elector.Term, deadline time.Duration) (last time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.term == t {
		last, c.ledger.deadline = c.ledger.deadline, deadline
	}
	return last
}

// leadsIn reports whether the elector says that it leads, as it must in a term that
// goes on. What it says in the moment in which that ends, nobody asks.
func (c *candidate) leadsIn(t *elector.Term) bool {
	for range 2 {
		if c.elector.IsLeader() || t.Context().Err() != nil || t.Check(0) != nil {
			return true
		}
		time.Sleep(time.Microsecond)
	}
	return false
}

// awaitEnd waits for the end of a term's context, which must not be later than the
// deadline.
func (c *candidate) awaitEnd(t *elector.Term) {
	stood := c.life.gate.Stood()
	<-t.Context().Done()
	late := c.life.clock.Now() - t.Until()
	if late > time.Millisecond && c.life.gate.Stood() == stood {
		c.find(contextInTime, "the context of term %d was done %v after its deadline", t.Token(), late)
	}
}

// leading notes that a term has begun.
func (c *candidate) leading() {
	m := c.behavior
	for what, differs := range map[string]bool{
		"skew": m.Skew != 0, "drift": m.Drift != 0, "lease": m.Lease != 0, "timing": m.Timing != Timing{}, "priority": m.Priority > 0, "failback": m.Failback, "begins": m.Begins, "foreign": m.Foreign, "releases": m.rolls(), "blind": c.life.release.Blind, "uncounted": c.life.release.Uncounted, "unprotected": c.life.release.Unprotected, "expire": c.life.release.Expire > 0, "deaf": m.Deaf, "pool": m.Pool != 0,
	} {
		if differs {
			c.run.bite(what)
		}
	}
}

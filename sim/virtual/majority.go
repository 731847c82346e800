package virtual

import (
	"errors"
	"slices"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/internal/quorum"
)

// As in the production elector's store for a majority, which explains them.
const (
	nodeTimeout = time.Second
	stages      = 4
	minGrace    = time.Millisecond
)

var (
	errRepeated   = errors.New("another call for the same attempt has taken this one's place")
	errNoMajority = errors.New("too few of the stores agreed")
)

// majority is a process's way to a lease that a majority of several stores
// keeps: what elector/quorumstore is in production, on the world's one thread.
// What counts for the lease, and when the outcome of a call is certain, is
// decided by the same package quorum; who is asked and waited for is decided
// here, as it is there.
type majority struct {
	node      *node
	claims    []*claim
	announced quorum.Announced

	high uint64 // highest token that a store named
	told uint64 // highest token that the process was told

	rivalry quorum.Rivalry
}

// claim is what the process knows of one nonce.
type claim struct {
	quorum.Claim
	id, nonce string
	touched   time.Duration
	latest    *acquisition // that decides on it; nil if none does
}

func newMajority(n *node) *majority {
	return &majority{node: n, announced: quorum.NewAnnounced(len(n.clients))}
}

// now is what the process's clock shows.
func (m *majority) now() time.Duration { return m.node.clock.show(m.node.run.now) }

// ask makes a call. Its owner is told the outcome after timeout at the latest.
func (m *majority) ask(owner caller, cmd command, timeout time.Duration) {
	if cmd.call == "" { // a bare command is for one store
		m.node.client().ask(owner, cmd, timeout)
		return
	}
	now := m.node.run.now
	k := &call{client: m.node.client(), owner: owner, command: cmd, deadline: now + timeout, several: true}
	if !cmd.quiet {
		k.invoke()
	}
	j := joint{majority: m, k: k, life: m.node.life, began: m.now(), patience: min(nodeTimeout, timeout/stages)}
	switch cmd.call {
	case history.Acquire:
		m.acquire(j)
	case history.Renew:
		m.renew(j)
	case history.Release:
		m.release(j)
	default:
		m.observe(j)
	}
}

// claim is what is known of the command's nonce.
func (m *majority) claim(cmd *command) *claim {
	now := m.now()
	m.claims = slices.DeleteFunc(m.claims, func(c *claim) bool {
		return c.latest == nil && c.nonce != cmd.nonce && now-c.touched > 2*c.TTL+2*nodeTimeout
	})
	i := slices.IndexFunc(m.claims, func(c *claim) bool { return c.nonce == cmd.nonce })
	if i < 0 {
		i = len(m.claims)
		m.claims = append(m.claims, &claim{Claim: quorum.NewClaim(len(m.node.clients)), id: cmd.id, nonce: cmd.nonce})
	}
	c := m.claims[i]
	c.touched, c.TTL = now, max(c.TTL, cmd.ttl)
	return c
}

// answer is a caller that does what has to be done about an answer.
type answer func(machine.Input)

func (a answer) called(k *call) { a(k.outcome.input) }

// send asks one store.
func (m *majority) send(store int, cmd command, patience time.Duration, then answer) {
	cmd.quiet = true
	m.node.clients[store].ask(then, cmd, patience)
}

// grant asks a store to grant the claim a token above floor.
func (m *majority) grant(c *claim, store int, try uint64, floor uint64, patience time.Duration, then answer) {
	cmd := command{call: history.Acquire, id: c.id, nonce: c.nonce, try: try, ttl: c.TTL, floor: floor}
	m.send(store, cmd, patience, func(in machine.Input) {
		m.noteGrant(c, store, in)
		then(in)
	})
}

// noteGrant takes in what a store answered to an attempt, however late. What
// nobody waits for any more is given back.
func (m *majority) noteGrant(c *claim, store int, in machine.Input) {
	switch in.Result {
	case machine.Held:
		m.high = max(m.high, in.Token)
	case machine.Done:
		m.high = max(m.high, in.Token)
		c.Granted(store, in.Token, m.now())
		if c.latest == nil && c.Token == 0 {
			m.drop(c, store, nodeTimeout, func(machine.Input) {})
		}
	}
}

// drop gives back what a store granted.
func (m *majority) drop(c *claim, store int, patience time.Duration, then answer) {
	m.sendRelease(c, store, c.Drop(store), 0, patience, then)
}

func (m *majority) sendRelease(c *claim, store int, token, try uint64, patience time.Duration, then answer) {
	m.send(store, command{
		call: history.Release, id: c.id, nonce: c.nonce, token: token, try: try, value: leaseValue(token, c.nonce, c.id),
	}, patience, then)
}

// verdictOf is what one store's answer means.
func verdictOf(in machine.Input) quorum.Verdict {
	switch in.Result {
	case machine.Done:
		return quorum.Yes
	case machine.Held, machine.NotHeld:
		return quorum.No
	case machine.Fatal:
		return quorum.Hopeless
	default:
		return quorum.Silent
	}
}

// heard takes in what one store announced, and tells whether that is news of the
// whole, which in then is.
func (m *majority) heard(store int, in *machine.Input) bool {
	if in.Kind == machine.HintGranted {
		news := m.announced.Granted(store, in.Token)
		if news {
			m.told = max(m.told, in.Token)
		}
		return news
	}
	usual, news := m.announced.Released(store, in.Token)
	in.Token = max(usual, m.told) // who was told a larger token would take this for old news
	return news
}

// joint is one call on all the stores, as far as all calls are alike.
type joint struct {
	*majority
	k        *call // as its owner knows it
	life     uint64
	began    time.Duration // on the process's own clock
	patience time.Duration // with one store
	over     bool
}

// finish tells the owner the outcome.
func (j *joint) finish(in machine.Input) {
	j.over = true
	in.Kind, in.Request = machine.Answer, j.k.command.try
	j.k.outcome.input = in
	if j.k.op.Op != 0 {
		j.k.complete()
	}
	j.k.owner.called(j.k)
}

// alarm acts at a later time, unless the call is over by then.
type alarm struct {
	joint *joint
	ring  func()
}

func (j *joint) at(t time.Duration, ring func()) {
	j.node.run.plan(t, &alarm{j, ring}, 0)
}

// soon lets those who have not answered have as long again as the others took.
func (j *joint) soon(ring func()) {
	j.at(j.node.run.now+max(j.now()-j.began, minGrace), ring)
}

// act implements actor.
func (a *alarm) act(arg uint64) {
	n := a.joint.node
	if !a.joint.over && n.life == a.joint.life && !n.defers(a, arg) {
		a.ring()
	}
}

package virtual

import (
	"time"

	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/internal/quorum"
)

// maxAligned is how often one call tries to bring a store to the others' token.
const maxAligned = 3

// acquisition is a call that tries to get the lease.
type acquisition struct {
	joint
	quorum.Attempt
	claim  *claim
	floor  uint64
	grace  int  // counts the times that were given to stragglers: older ones are stale
	hurry  bool // such a time runs
	failed bool // no majority can be had: what was granted is being given back

	held    []*machine.Input // of those held by others
	heardAt []time.Duration
	aligned []int
	freed   []bool // granted, and given back or about to be
	waiters int
}

func (m *majority) acquire(j joint) {
	cmd, n := &j.k.command, len(m.node.clients)
	q := &acquisition{
		joint: j, claim: m.claim(cmd), floor: cmd.floor,
		Attempt: quorum.Attempt{Verdicts: make([]quorum.Verdict, n), Tokens: make([]uint64, n)},
		held:    make([]*machine.Input, n), heardAt: make([]time.Duration, n), aligned: make([]int, n), freed: make([]bool, n),
	}
	if before := q.claim.latest; before != nil {
		before.finish(machine.Input{Err: errRepeated})
	}
	q.claim.latest = q
	if top := q.claim.Highest(); top > q.floor {
		q.floor = max(q.floor, top-1)
	} else {
		q.floor = max(q.floor, m.high)
	}
	q.at(q.k.deadline, q.giveUp)
	for store := range m.node.clients {
		q.try(store, q.floor)
	}
}

// try sends the attempt to one store.
func (q *acquisition) try(store int, floor uint64) {
	q.grant(q.claim, store, q.k.command.try, floor, q.patience, func(in machine.Input) { q.take(store, in) })
}

// take takes in what a store answered.
func (q *acquisition) take(store int, in machine.Input) {
	if q.over {
		return
	}
	q.Verdicts[store], q.Tokens[store], q.heardAt[store], q.held[store] = verdictOf(in), in.Token, q.now(), nil
	switch {
	case in.Result == machine.Held:
		q.held[store] = &in
	case in.Result != machine.Done:
	case q.failed:
		q.freed[store] = true // too late: see noteGrant
	case q.claim.Nodes[store].Token != in.Token:
		q.align(store, q.floor)
	default:
		q.waiters = max(q.waiters, in.Waiters)
	}
	q.step()
}

// step gets on with the call.
func (q *acquisition) step() {
	if q.failed {
		q.settle()
		return
	}
	switch step, token := q.decide(&q.claim.Claim, &q.Attempt); step {
	case quorum.Win:
		q.claim.latest = nil
		q.claim.Won(token, q.began, q.now())
		q.told, q.rivalry = max(q.told, token), quorum.Rivalry{}
		q.finish(machine.Input{Result: machine.Done, Token: token, Waiters: q.waiters})
	case quorum.Hurry:
		q.expect()
	case quorum.Align:
		q.calm()
		for store := range q.Verdicts {
			if q.Behind(store, token) {
				q.align(store, max(q.floor, token-1))
			}
		}
	case quorum.Fail:
		q.fail()
		q.settle()
	case quorum.Refuse:
		q.refuse()
	}
}

// expect gives stragglers their time.
func (q *acquisition) expect() {
	if q.hurry {
		return
	}
	q.hurry = true
	grace := q.grace
	q.soon(func() {
		if q.grace == grace {
			q.Late = true
			q.step()
		}
	})
}

// calm takes that time back.
func (q *acquisition) calm() {
	q.grace++
	q.hurry, q.Late = false, false
}

// align makes a store grant a token above floor, in place of what it granted.
func (q *acquisition) align(store int, floor uint64) {
	if q.aligned[store]++; q.aligned[store] > maxAligned {
		q.Verdicts[store] = quorum.Silent
		return
	}
	q.Verdicts[store] = quorum.Waiting
	q.drop(q.claim, store, q.patience, func(in machine.Input) {
		if v := verdictOf(in); (v == quorum.Yes || v == quorum.No) && !q.over && !q.failed {
			q.try(store, floor)
			return
		}
		q.take(store, machine.Input{Err: errRepeated})
	})
}

// fail gives back what was granted.
func (q *acquisition) fail() {
	q.failed = true
	q.calm()
	q.expect()
	q.claim.latest = nil
	for store, h := range q.claim.Nodes {
		if h.Token == 0 {
			continue
		}
		q.Verdicts[store], q.freed[store] = quorum.Waiting, true
		q.drop(q.claim, store, q.patience, func(in machine.Input) { q.take(store, in) })
	}
}

// settle ends a call that failed when all have answered, or had their time.
// Those that decide whether the lease is held or the outcome unknown have as
// much as they need.
func (q *acquisition) settle() {
	waits, pending, definite := 0, 0, 0
	for store, v := range q.Verdicts {
		switch {
		case v == quorum.Waiting && q.freed[store]:
			waits++
		case v == quorum.Waiting:
			waits++
			pending++
		case q.held[store] != nil || v == quorum.Hopeless:
			definite++
		}
	}
	spare := quorum.Minority(len(q.Verdicts))
	if open := definite <= spare && definite+pending > spare; waits > 0 && (!q.Late || open) {
		return
	}
	q.refuse()
}

// giveUp ends a call that nobody waits for any more.
func (q *acquisition) giveUp() {
	if q.failed {
		q.refuse()
		return
	}
	q.claim.latest = nil
	if q.claim.Token == 0 {
		for store, h := range q.claim.Nodes {
			if h.Token != 0 {
				q.drop(q.claim, store, nodeTimeout, func(machine.Input) {})
			}
		}
	}
	q.finish(machine.Input{Err: errTimeout})
}

// refuse ends an attempt for which no majority can be had.
func (q *acquisition) refuse() {
	if q.claim.latest == q {
		q.claim.latest = nil
	}
	heldBy := 0
	for _, h := range q.held {
		if h != nil {
			heldBy++
		}
	}
	if heldBy <= quorum.Minority(len(q.held)) {
		q.finish(machine.Input{Err: errNoMajority})
		return
	}
	in := machine.Input{Result: machine.Held}
	refused := &quorum.Refused{Denials: make([]*quorum.Denial, len(q.held)), Freed: q.freed}
	for store, h := range q.held {
		if h != nil {
			refused.Denials[store] = &quorum.Denial{Holder: h.Holder, Token: h.Token, Withheld: h.Holder == "", Remaining: h.Remaining, At: q.heardAt[store]}
			in.Waiters = max(in.Waiters, h.Waiters)
		}
	}
	if r := refused.Strongest(); r.Nodes > 0 {
		in.Holder, in.Token = r.Holder, r.Token
	}
	q.told = max(q.told, in.Token)
	wait, splits := q.rivalry.Next(refused, q.now())
	if splits > 0 {
		wait = max(wait, q.node.random.upTo(quorum.Window(splits, q.now()-q.began, q.claim.TTL)))
	}
	in.Remaining = wait
	q.finish(in)
}

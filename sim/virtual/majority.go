package virtual

import (
	"errors"
	"slices"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/internal/quorum"
)

var errNoMajority = errors.New("too few of the stores agreed")

// majority is a process's way to a lease that a majority of several stores
// keeps: what elector/quorumstore is in production, on the world's one thread.
// The same machine decides whom to ask, and when the outcome of a call is
// certain.
type majority struct {
	node      *node
	life      uint64 // of the process
	machine   *quorum.Machine
	announced quorum.Announced
	calls     map[uint64]*call // under way
	last      uint64           // number of the last call
	rings     time.Duration    // when the machine is woken next, by the process's clock
}

func newMajority(n *node) *majority {
	return &majority{
		node: n, life: n.life, calls: make(map[uint64]*call), rings: quorum.Never,
		machine:   quorum.New(quorum.Config{Nodes: len(n.clients)}),
		announced: quorum.NewAnnounced(len(n.clients)),
	}
}

// now is what the process's clock shows.
func (m *majority) now() time.Duration { return m.node.clock.show(m.node.run.now) }

// begins is the input with which a call begins.
var begins = map[history.Call]quorum.InputKind{
	history.Acquire: quorum.BeginAcquire, history.Renew: quorum.BeginRenew, history.Release: quorum.BeginRelease,
}

// ask makes a call. Its owner gets the outcome after timeout at the latest.
func (m *majority) ask(owner caller, cmd command, timeout time.Duration) {
	if cmd.call == "" { // a bare command is for one store
		m.node.client().ask(owner, cmd, timeout)
		return
	}
	r := m.node.run
	k := &call{client: m.node.client(), owner: owner, command: cmd, deadline: r.now + timeout, several: true}
	if !cmd.quiet {
		k.invoke()
	}
	patience := quorum.Patience(quorum.DefaultTimeout, timeout)
	kind, known := begins[cmd.call]
	if !known {
		m.observe(k, patience)
		return
	}
	m.last++
	m.calls[m.last] = k
	r.plan(k.deadline, m, m.last)
	m.step(k, quorum.Input{
		Kind: kind, Call: m.last, ID: cmd.id, Nonce: cmd.nonce, Token: cmd.token, Floor: cmd.floor, TTL: cmd.ttl, Patience: patience,
	})
}

// act implements actor: it wakes the machine, or gives up the call with a number
// that is not 0.
func (m *majority) act(number uint64) {
	switch n := m.node; {
	case n.life != m.life || n.defers(m, number):
	case number != 0:
		m.step(m.calls[number], quorum.Input{Kind: quorum.GiveUp, Call: number})
	default:
		m.rings = quorum.Never
		m.step(nil, quorum.Input{Kind: quorum.Wake})
	}
}

// step gives an input to the machine and does what it asks for.
func (m *majority) step(cause *call, in quorum.Input) {
	out := m.machine.Step(m.now(), in)
	for i := range out.Requests {
		r := &out.Requests[i]
		k := m.calls[r.Call]
		if k == nil {
			k = cause // the call is over, and what it left behind is seen to
		}
		m.send(k, r)
	}
	if out.Wake < m.rings {
		m.rings = out.Wake
		m.node.run.plan(max(m.node.run.now, m.node.clock.when(out.Wake)), m, 0)
	}
	for _, end := range slices.Clone(out.Endings) { // a caller that gets its ending may ask at once
		k := m.calls[end.Call]
		delete(m.calls, end.Call)
		m.finish(k, &end)
	}
}

// send makes one of the machine's requests, for a call.
func (m *majority) send(k *call, r *quorum.Request) {
	cmd, number := k.command, r.Number
	cmd.quiet, cmd.ttl, cmd.floor, cmd.token, cmd.value, cmd.to, cmd.reserve = true, r.TTL, r.Floor, r.Token, "", "", 0
	switch r.Ask {
	case quorum.AskGrant, quorum.AskMend:
		cmd.call = history.Acquire
	case quorum.AskBack: // nobody is to get it
		cmd = command{call: history.Release, id: r.ID, nonce: r.Nonce, token: r.Token, quiet: true}
		fallthrough
	default:
		cmd.value = leaseValue(r.Token, r.Nonce, r.ID)
	}
	m.node.clients[r.Node].ask(answer(func(in machine.Input) { m.step(k, answerOf(number, &in)) }), cmd, r.Patience)
}

// answer is a caller that does what has to be done about an answer.
type answer func(machine.Input)

func (a answer) called(k *call) { a(k.outcome.input) }

// answerOf is what a store's answer to a request tells the machine.
func answerOf(number uint64, in *machine.Input) quorum.Input {
	answer := quorum.Input{
		Kind: quorum.Answer, Request: number, Verdict: verdictOf(in), Token: in.Token, Waiters: in.Waiters, Err: in.Err,
	}
	if in.Result == machine.Held {
		answer.Token, answer.Waiters = 0, 0
		answer.Denial = &quorum.Denial{
			Holder: in.Holder, Token: in.Token, Withheld: in.Holder == "", Remaining: in.Remaining, Waiters: in.Waiters, Longest: in.Longest,
		}
	}
	return answer
}

// verdictOf is what one store's answer means.
func verdictOf(in *machine.Input) quorum.Verdict {
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

// finish tells the owner of a call the outcome.
func (m *majority) finish(k *call, end *quorum.Ending) {
	in := machine.Input{Kind: machine.Answer, Request: k.command.try}
	switch end.Outcome {
	case quorum.Done:
		in.Result, in.Token, in.Waiters = machine.Done, end.Token, end.Waiters
	case quorum.Denied:
		in.Result = machine.NotHeld
		if k.command.call == history.Acquire {
			in.Result, in.Holder, in.Token = machine.Held, end.Rival.Holder, end.Rival.Token
			in.Remaining, in.Waiters, in.Longest = end.Remaining, end.Waiters, end.Longest
		}
	case quorum.Lost:
		in.Result, in.Err = machine.Fatal, errNoMajority
	case quorum.Repeated:
		in.Err = quorum.ErrRepeated
	case quorum.GivenUp:
		in.Err = errTimeout
	default:
		in.Err = errNoMajority
	}
	k.outcome.input = in
	if k.op.Op != 0 {
		k.complete()
	}
	k.owner.called(k)
}

// heard takes in what one store announced, and reports whether that is news of the
// whole, which in then is.
func (m *majority) heard(store int, in *machine.Input) (news bool) {
	in.Waiters = m.announced.Waiters(in.Waiters)
	switch in.Kind {
	case machine.HintListens:
		return m.announced.Listening(store)
	case machine.HintGranted:
		return m.machine.Granted(&m.announced, store, in.Token)
	}
	in.Token, news = m.machine.Released(&m.announced, store, in.Token)
	return news
}

// question is a call that asks all stores who leads. What they say is of several
// moments, so nothing is made of it here.
type question struct {
	m        *majority
	k        *call
	verdicts []quorum.Verdict
	over     bool
}

func (m *majority) observe(k *call, patience time.Duration) {
	q := &question{m: m, k: k, verdicts: make([]quorum.Verdict, len(m.node.clients))}
	m.node.run.plan(k.deadline, q, 0)
	for store, c := range m.node.clients {
		c.ask(answer(func(in machine.Input) {
			q.verdicts[store] = verdictOf(&in)
			q.end(quorum.Renewed(q.verdicts))
		}), command{call: history.Observe, quiet: true}, patience)
	}
}

// act implements actor: nobody waits any longer.
func (q *question) act(arg uint64) {
	if n := q.m.node; n.life == q.m.life && !n.defers(q, arg) {
		q.end(quorum.GivenUp)
	}
}

// end ends the question if its outcome is certain.
func (q *question) end(outcome quorum.Outcome) {
	if outcome != quorum.Open && !q.over {
		q.over = true
		q.m.finish(q.k, &quorum.Ending{Outcome: outcome})
	}
}

package wire_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/sim/virtual/redismodel"
	"github.com/recount-io/recount/sim/wire"
)

const ms = time.Millisecond

// habit is how a simulated program uses the lock: what it sends to take it, to
// keep it and to give it up, with the lock's key, its value and the lease.
type habit struct {
	name               string
	take, keep, give   []string
	fresh              bool // a new value for each attempt to take it
	swaps              bool // and one for each renewal, which takes the place of OLD
	counts             bool // its value ends with the number that it is answered
	looks              bool // it asks who holds the lock, now and then
	taken, kept        func(redismodel.Reply) bool
	keepsEvenIfTooLate bool // it goes on to renew although its lease must be over
}

func isOne(r redismodel.Reply) bool { return r.Kind == redismodel.Int && r.Int == 1 }
func isOK(r redismodel.Reply) bool  { return r.Kind == redismodel.Status }

var (
	setNX       = []string{"SET", "lock", "VALUE", "NX", "PX", "LEASE"}
	renewIfOwn  = []string{"EVAL", renewOwn, "1", "lock", "VALUE", "LEASE"}
	deleteIfOwn = []string{"EVAL", releaseOwn, "1", "lock", "VALUE"}
	renewByKey  = `if redis.call('GET', KEYS[1]) == KEYS[2] then return redis.call('PEXPIRE', KEYS[1], ARGV[1]) end return 0`
	reenter     = []string{"EVAL", takeOrRenew, "1", "lock", "VALUE", "LEASE"}
)

// rightHabits are ways to use the lock that never harm another holder.
var rightHabits = []habit{
	{name: "scripts", take: setNX, keep: renewIfOwn, give: deleteIfOwn, taken: isOK, kept: isOne, keepsEvenIfTooLate: true},
	{name: "scripts, fresh values", take: setNX, keep: renewIfOwn, give: deleteIfOwn, fresh: true, looks: true, taken: isOK, kept: isOne},
	{name: "one script", take: reenter, keep: reenter, give: deleteIfOwn, looks: true, taken: isOne, kept: isOne, keepsEvenIfTooLate: true},
	{name: "one script, fresh values", take: reenter, keep: reenter, give: deleteIfOwn, fresh: true, taken: isOne, kept: isOne},
	{
		name: "scripts, a fresh value for each request", take: setNX, keep: []string{"EVAL", swapOwn, "1", "lock", "OLD", "VALUE", "LEASE"},
		give: []string{"EVAL", releaseOwn, "1", "lock", "OLD"}, fresh: true, swaps: true, looks: true, taken: isOK, kept: isOne,
	},
	{
		name: "setnx in a script", keep: []string{"EVAL", rewriteOwn, "1", "lock", "VALUE", "LEASE"}, give: deleteIfOwn, looks: true, kept: isOne,
		take:  []string{"EVAL", takeOrHolder, "1", "lock", "VALUE", "LEASE"},
		taken: func(r redismodel.Reply) bool { return r.Kind == redismodel.Array && r.Items[0].Int == 1 },
	},
	{name: "a script that says yes to its holder", take: []string{"EVAL", takeOnce, "1", "lock", "VALUE", "LEASE"}, keep: renewIfOwn, give: deleteIfOwn, taken: isOne, kept: isOne},
	{
		name: "a counter in the value", take: []string{"EVAL", takeCounted, "2", "lock", "count", "VALUE", "LEASE"}, counts: true, looks: true, kept: isOne,
		keep: []string{"EVAL", renewOwn, "1", "lock", "OLD", "LEASE"}, give: []string{"EVAL", releaseOwn, "1", "lock", "OLD"},
		taken: func(r redismodel.Reply) bool { return r.Kind == redismodel.Int && r.Int > 0 },
	},
	{
		name: "its value is a key", take: setNX, keep: []string{"EVAL", renewByKey, "2", "lock", "VALUE", "LEASE"}, give: deleteIfOwn, fresh: true, looks: true, taken: isOK, kept: isOne,
	},
	{name: "takes and waits for the end", take: setNX, keep: []string{"GET", "lock"}, give: []string{"GET", "lock"}, taken: isOK, kept: func(redismodel.Reply) bool { return true }},
}

// wrongHabits are ways to use the lock that harm another holder sooner or
// later.
var wrongHabits = []habit{
	{name: "deletes without a look", take: setNX, keep: renewIfOwn, give: []string{"DEL", "lock"}, taken: isOK, kept: isOne, keepsEvenIfTooLate: true},
	{name: "prolongs without a look", take: setNX, keep: []string{"PEXPIRE", "lock", "LEASE"}, give: deleteIfOwn, taken: isOK, kept: isOne, keepsEvenIfTooLate: true},
	{name: "rewrites without a look", take: setNX, keep: []string{"SET", "lock", "VALUE", "XX", "PX", "LEASE"}, give: deleteIfOwn, taken: isOK, kept: isOK, keepsEvenIfTooLate: true},
	{name: "overwrites", take: setNX, keep: []string{"SET", "lock", "VALUE", "PX", "LEASE"}, give: deleteIfOwn, taken: isOK, kept: isOK, keepsEvenIfTooLate: true},
	{name: "takes by force", take: []string{"SET", "lock", "VALUE", "PX", "LEASE"}, keep: renewIfOwn, give: deleteIfOwn, taken: isOK, kept: isOne},
}

// trial is a simulated store with its clients: what they send and get may be
// late or lost, and reaches a Lock.
type trial struct {
	rand   *rand.Rand
	habit  habit
	turn   func(*program) // in place of the habit
	store  *redismodel.Server
	lock   *wire.Lock
	lease  time.Duration
	now    time.Duration
	todo   []event
	events []history.Event
	ops    int64
	left   int // commands to be sent
	harms  int // commands that changed the lock that somebody else held
}

type event struct {
	at time.Duration
	do func()
}

type program struct {
	node  string
	conn  *wire.Conn
	value string
	held  string // the one that it knows to be in the lock
	tries int
	leads bool
	until time.Duration
}

func newTrial(seed uint64, h habit) *trial {
	t := &trial{rand: rand.New(rand.NewPCG(seed, 1)), habit: h, store: redismodel.New(redismodel.Options{}), lease: 200 * ms, left: 60}
	t.lock = wire.NewLock(wire.Options{Key: "lock"})
	for i := range 3 {
		p := &program{node: "n" + strconv.Itoa(i+1), value: "v" + strconv.Itoa(i+1)}
		p.conn = t.lock.Conn(p.node, t.tell, func() int64 { t.ops++; return t.ops })
		t.after(t.upTo(t.lease), func() { t.next(p) })
	}
	return t
}

func (t *trial) tell(e history.Event) {
	e.At = t.now
	t.events = append(t.events, e)
}

func (t *trial) upTo(d time.Duration) time.Duration { return time.Duration(t.rand.Int64N(int64(d))) }

func (t *trial) after(d time.Duration, do func()) { t.todo = append(t.todo, event{t.now + d, do}) }

// run lets everything happen, in the order of its time.
func (t *trial) run() *history.History {
	for len(t.todo) > 0 {
		i := 0
		for j := range t.todo {
			if t.todo[j].at < t.todo[i].at {
				i = j
			}
		}
		e := t.todo[i]
		t.todo = slices.Delete(t.todo, i, i+1)
		t.now = e.at
		e.do()
	}
	r := history.NewRecorder(nil)
	for _, e := range t.events {
		r.Record(e)
	}
	return r.History(history.Header{Nodes: []string{"n1", "n2", "n3"}, Lease: t.lease, World: "live"})
}

// next is the program's next command.
func (t *trial) next(p *program) {
	if t.left--; t.left < 0 {
		return
	}
	if t.turn != nil {
		t.turn(p)
		return
	}
	if p.leads && t.now >= p.until && !t.habit.keepsEvenIfTooLate {
		p.leads = false
	}
	switch {
	case t.habit.looks && t.rand.IntN(5) == 0:
		t.send(p, []string{"GET", "lock"}, func(redismodel.Reply, bool) {})
	case !p.leads:
		if t.habit.fresh {
			p.freshen()
		}
		t.send(p, t.habit.take, func(r redismodel.Reply, came bool) {
			if p.leads = came && t.habit.taken(r); p.leads {
				if p.held = p.value; t.habit.counts {
					p.held = fmt.Sprintf("%s|%d", p.value, r.Int)
				}
			}
		})
	case t.rand.IntN(6) == 0:
		p.leads = false
		t.send(p, t.habit.give, func(redismodel.Reply, bool) {})
	default:
		if t.habit.swaps {
			p.freshen()
		}
		t.send(p, t.habit.keep, func(r redismodel.Reply, came bool) {
			p.leads = !came || t.habit.kept(r)
			if came && p.leads && !t.habit.counts {
				p.held = p.value
			}
		})
	}
}

// freshen gives the program a value that it never had.
func (p *program) freshen() {
	p.tries++
	p.value = fmt.Sprintf("v-%s-%d", p.node, p.tries)
}

// send carries one command to the store and its reply back.
func (t *trial) send(p *program, words []string, then func(redismodel.Reply, bool)) {
	args := make([]string, len(words))
	for i, word := range words {
		switch word {
		case "VALUE":
			word = p.value
		case "OLD":
			word = p.held
		case "LEASE":
			word = strconv.FormatInt(t.lease.Milliseconds(), 10)
		}
		args[i] = word
	}
	x := p.conn.Send(args)
	sent, over := t.now, false
	finish := func(r redismodel.Reply, came bool) {
		if over {
			return
		}
		over = true
		if came {
			p.until = sent + t.lease
		}
		then(r, came)
		t.after(t.pause(), func() { t.next(p) })
	}
	if t.rand.IntN(20) > 0 { // else the request is lost
		t.after(t.delay(), func() {
			held := t.store.Do(t.now, "GET", "lock").Text
			reply := t.store.Do(t.now, args...)
			if came := t.store.Do(t.now, "GET", "lock").Text; held != "" && !strings.Contains(held, p.node[1:]) && (came != held || isOne(reply)) {
				t.harms++
			}
			if t.rand.IntN(20) == 0 {
				return // the reply is lost
			}
			kept := wired(reply)
			t.after(t.delay(), func() {
				if !over {
					x.Answer(kept)
				}
				finish(reply, true)
			})
		})
	}
	t.after(t.lease/2, func() {
		if !over {
			x.Lose("timeout")
		}
		finish(redismodel.Reply{}, false)
	})
}

func (t *trial) delay() time.Duration {
	if t.rand.IntN(25) == 0 {
		return t.upTo(2 * t.lease)
	}
	return t.upTo(3 * ms)
}

func (t *trial) pause() time.Duration {
	if t.rand.IntN(12) == 0 {
		return t.upTo(3 * t.lease)
	}
	return t.upTo(t.lease / 3)
}

// wired is a reply as it goes over the wire. It outlives the next command.
func wired(r redismodel.Reply) wire.Value {
	kinds := map[redismodel.Kind]wire.Kind{
		redismodel.Nil: wire.Nil, redismodel.Status: wire.Status, redismodel.Error: wire.Error, redismodel.Int: wire.Int,
		redismodel.Bulk: wire.Bulk, redismodel.Array: wire.Array,
	}
	v := wire.Value{Kind: kinds[r.Kind], Int: r.Int, Text: r.Text}
	for _, item := range r.Items {
		v.Items = append(v.Items, wired(item))
	}
	return v
}

func judge(h *history.History) (lease, form checker.Finding, result *checker.Result) {
	result = checker.Check(h, checker.Options{})
	for _, f := range slices.Concat(result.Asked, result.Measured) {
		switch f.Promise {
		case checker.LeaseLinearizable:
			lease = f
		case checker.WellFormed:
			form = f
		}
	}
	return lease, form, result
}

// A node that uses the lock rightly is never accused, whatever is late or lost.
func TestNoInnocentIsAccused(t *testing.T) {
	seeds := 120
	if testing.Short() || race.Enabled {
		seeds = 50
	}
	for _, h := range rightHabits {
		passed, known := 0, 0
		for seed := range uint64(seeds) {
			run := newTrial(seed, h).run()
			lease, form, result := judge(run)
			if lease.Verdict == checker.Fail || form.Verdict != checker.Pass || strings.Contains(lease.Reason, "disagree") {
				t.Fatalf("%s, seed %d: %v %s; form %v %s\n%s", h.name, seed, lease.Verdict, lease.Reason, form.Verdict, form.Reason, listing(run))
			}
			if lease.Verdict == checker.Pass {
				passed++
			}
			known += result.Ops.Ok + result.Ops.Fail
		}
		if passed < seeds*9/10 || known < 10*seeds {
			t.Errorf("%s: of %d histories only %d were judged, with %d operations of known outcome", h.name, seeds, passed, known)
		}
	}
}

// A node that harms another holder is caught, and the two operations are named.
func TestTheGuiltyAreCaught(t *testing.T) {
	for _, h := range wrongHabits {
		caught, harmed := 0, 0
		for seed := range uint64(100) {
			tried := newTrial(seed, h)
			run := tried.run()
			lease, _, _ := judge(run)
			if strings.Contains(lease.Reason, "disagree") {
				t.Errorf("%s, seed %d: %s\n%s", h.name, seed, lease.Reason, listing(run))
			}
			switch {
			case tried.harms == 0 && lease.Verdict == checker.Fail:
				t.Errorf("%s, seed %d: nobody was harmed: %s\n%s", h.name, seed, lease.Reason, listing(run))
			case tried.harms > 0:
				harmed++
			}
			if lease.Verdict == checker.Fail {
				if caught++; len(lease.Evidence) == 0 {
					t.Errorf("%s, seed %d: no evidence: %s", h.name, seed, lease.Reason)
				}
			}
		}
		t.Logf("%s: caught in %d of %d histories in which it did harm", h.name, caught, harmed)
		if harmed < 10 || caught < harmed/2 {
			t.Errorf("%s: caught in %d of %d histories in which it did harm", h.name, caught, harmed)
		}
	}
}

func listing(h *history.History) string {
	var lines []string
	for _, e := range h.Events {
		lines = append(lines, fmt.Sprintf("%d %v %s %s %s op %d nonce %s holder %s %s", e.Seq, e.At, e.Node, e.Kind, e.Call, e.Op, e.Nonce, e.Holder, e.Error))
	}
	return strings.Join(lines, "\n")
}

package calls

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// do lets an act happen. It reports whether it had an effect.
func (r *run) do(ctx context.Context, i int, a Act) bool {
	p := r.processes[a.Process]
	if a.Leader {
		if c := r.leader(p.world(), a.Election); c != nil {
			p = c.life.process
		}
	}
	began := r.recorder.Now()
	bit := r.happen(ctx, i, a, p)
	if t := table[a.Kind]; bit && (t.data || t.server || t.way || a.Kind == Pause || a.Kind == SlowWrites) {
		r.recordAct(a, p, began)
	}
	return bit
}

// recordAct records an act as a fault, so that who judges can excuse what it explains.
func (r *run) recordAct(a Act, p *process, began time.Duration) {
	t := table[a.Kind]
	targets := []string{p.name}
	if t.data || t.server {
		targets = []string{history.StoreTarget}
	}
	effect := history.Effect{
		Cuts:  t.way || a.Kind == Refuse || a.Kind == Freeze || a.Kind == Restart || a.Kind == Pause,
		Holds: a.Kind == Pause || a.Kind == Freeze || a.Kind == SlowWrites,
		Skews: a.Kind == StepClock,
	}
	id := a.String()
	on := history.Event{Kind: history.Fault, At: began, ID: id, Fault: a.Kind.String(), Phase: history.On, Targets: targets, Effect: &effect}
	r.recorder.Record(on)
	on.Phase, on.Effect, on.Effective, on.Evidence, on.Void = history.Off, nil, history.Bool(true), "it was done", t.data
	r.recorder.Stamp(on)
}

func (r *run) happen(ctx context.Context, i int, a Act, p *process) bool {
	switch t := table[a.Kind]; {
	case a.Kind <= CloseStore:
		return r.strike(ctx, i, a, p)
	case a.Kind == Job:
		return r.lock(ctx, a, p)
	case a.Kind == Publish:
		return r.publish(ctx, i, a, p)
	case a.Kind == CallPast:
		return r.callPast(ctx, i, a, p)
	case a.Kind == Retire:
		return r.retire(ctx, a, p)
	case a.Kind == Expel:
		return r.expel(ctx, a, p)
	case a.Kind == Create:
		return r.create(ctx, a, p)
	case a.Kind == Vanish:
		return r.vanish(a, p)
	case a.Kind == Rewind:
		return r.rewind(ctx, a, p)
	case a.Kind == Only:
		return only(ctx, a, p.candidate(a.Election))
	case a.Kind <= Watch:
		return r.call(ctx, i, a, p)
	case t.server:
		return r.serve(ctx, i, a)
	case t.way || a.Kind == Hangup || a.Kind == StrandOne || a.Kind == HangupOne:
		return r.hinder(ctx, i, a, p)
	case a.Kind == NoWrites:
		return r.hold(ctx, a, true, 0)
	case a.Kind == SlowWrites:
		return r.hold(ctx, a, false, a.By)
	default:
		return r.operate(a, p)
	}
}

// strike lets something happen to a process.
func (r *run) strike(ctx context.Context, i int, a Act, p *process) bool {
	led, at := p.leads(), r.recorder.Now()
	switch l := p.current(); {
	case l == nil:
		return false
	case a.Kind == Kill:
		p.kill()
		r.leaderOr("kill", len(led) > 0)
		r.expectSuccessor(ctx, i, a, p, led, at)
		if a.For == 0 {
			return true
		}
		sleep(ctx, a.For)
	case a.Kind == Stop:
		r.leaderOr("stop", len(led) > 0)
		r.expectSuccessor(ctx, i, a, p, led, at)
		p.quit(6 * r.longest())
		sleep(ctx, a.For)
	case a.Kind == CloseStore:
		_ = l.store.Close() // under those who use it
		sleep(ctx, a.For)
		p.quit(6 * r.longest())
	case a.Kind == Pause:
		r.leaderOr("pause", len(led) > 0)
		l.stand(ctx, r.pause(a, l, led))
		return true
	}
	p.start(0)
	return true
}

// leaderOr notes whom an act hit.
func (r *run) leaderOr(what string, leader bool) {
	if leader {
		r.bite(what + ":leader")
	} else {
		r.bite(what + ":follower")
	}
}

// pause is how long a process stands still: for a while, or until just before or
// after the deadline of a term.
func (r *run) pause(a Act, l *life, led []*candidate) time.Duration {
	if a.By == 0 || len(led) == 0 {
		return a.For
	}
	r.bite("pause:deadline")
	t := led[a.Choice%len(led)].current()
	return max(0, l.clock.Real(t.Until())-r.recorder.Now()+a.By)
}

// hold makes the protected resource slow, or closes it.
func (r *run) hold(ctx context.Context, a Act, closed bool, takes time.Duration) bool {
	r.resource.set(closed, takes)
	sleep(ctx, a.For)
	r.resource.set(false, 0)
	return true
}

// leader is who leads an election in a process's world.
func (r *run) leader(world, e int) *candidate {
	for i, p := range r.processes {
		if r.world(i) != world {
			continue
		}
		if c := p.candidate(e); c != nil && c.leads() {
			return c
		}
	}
	return nil
}

// values are what an operator may write by mistake: junk, numbers, leases of nobody.
var values = []string{
	"", "junk", "0", "1", "-5", "12", "1e400", "99999999999999999999999", "r1 7 nonce p0/somebody", "r1 999999999 nonce somebody", "r1 x y z", "locked by ops\r\n",
}

// keys are an election's.
var keys = []string{"lease", "lease", "token", "guard", "candidates", "terms"}

// lives are times to live in milliseconds; 0: none.
var timesToLive = []string{"0", "0", "1", "1000", "60000", "7200000"}

// operate lets an operator or a neighbour do something to the data.
func (r *run) operate(a Act, p *process) (bit bool) {
	key := p.key(a.Election, keys[a.Choice%len(keys)])
	lease := p.key(a.Election, "lease")
	if a.Kind == Evict {
		return r.evict(a, p)
	}
	text := r.message(a, p) // not below: a process that stands still is waited for
	r.data(p, func(do func(...string) redismodel.Reply) {
		switch a.Kind {
		case Delete:
			bit = do("DEL", lease).Int > 0
		case Persist:
			bit = do("PERSIST", lease).Int > 0
		case Expire:
			bit = do("PEXPIRE", lease, milliseconds(a.For)).Int > 0
		case Overwrite:
			bit = true
			overwrite(do, key, a.Choice/len(keys))
		case Forget:
			bit = do("DEL", key).Int > 0
			if a.Choice == 0 {
				do("FLUSHALL")
			}
		case Wipe:
			bit = do(append([]string{"DEL"}, p.keysOf(r.named(a))...)...).Int > 0
		case Message:
			bit = do("PUBLISH", p.channel(a.Election), text).Int > 0
		case FlushScripts:
			bit = true
			do("SCRIPT", "FLUSH")
		}
	})
	return bit
}

// overwrite makes a key hold something else, also of another type.
func overwrite(do func(...string) redismodel.Reply, key string, choice int) {
	do("DEL", key)
	value := values[choice%len(values)]
	switch choice % 5 {
	case 0:
		do("HSET", key, "field", value)
	case 1:
		do("RPUSH", key, value)
	default:
		do("SET", key, value)
	}
	if ms := timesToLive[choice%len(timesToLive)]; ms != "0" {
		do("PEXPIRE", key, ms)
	}
}

// numbers are at the bounds of what a message may hold.
var numbers = []string{
	"0", "1", "2", "5", "1000", "7200000", "99999999999", "9007199254740993", "9223372036854", "9223372036855", "9223372036854775807", "9223372036854775808",
	"18446744073709551615", "18446744073709551616", "-1", "1e3", "x", "",
}

// bounds are the tokens beside which something may turn over: what a float keeps exactly,
// what is believed by hearsay, and what stores can count.
var bounds = []uint64{0, 1 << 32, 1 << 53, 1 << 62, 1 << 63}

// limit is a token at one of the bounds, or one beside it.
func limit(some *rand.Rand) string {
	return strconv.FormatUint(bounds[some.IntN(len(bounds))]+some.Uint64N(3)-1, 10)
}

// message is what somebody else may send: junk, or what looks as if it came from an
// elector, for the next term, for one of the bounds, or for anything between.
func (r *run) message(a Act, p *process) string {
	some := rand.New(rand.NewPCG(r.Number, 1<<32+uint64(a.Choice))) //nolint:gosec // choices are not negative
	number := func() string { return numbers[some.IntN(len(numbers))] }
	token := number()
	span := uint64(3)
	if a.Choice >= bounded {
		token, span = limit(some), 1<<some.IntN(24)
	}
	if c := r.leader(p.world(), a.Election); c != nil && some.IntN(2) == 0 {
		token = strconv.FormatUint(c.current().Token()+some.Uint64N(span), 10)
	}
	to, nonce := "p0/nobody", "nonce"
	if c := p.candidate(a.Election); c != nil && some.IntN(2) == 0 {
		to = c.elector.ID()
	}
	switch some.IntN(8) {
	case 0:
		return []string{"", "hello", "granted", "released x y", "granted 5", strings.Repeat("granted ", 5000)}[some.IntN(6)]
	case 1:
		return "released " + token
	case 2, 3:
		return "released " + token + " " + number() + " " + to
	case 4:
		return "published " + token
	case 5:
		return "granted " + token + " " + number() + " " + number() + " " + nonce + " " + to
	default:
		return "granted " + token + " " + number()
	}
}

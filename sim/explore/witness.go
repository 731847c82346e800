package explore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recount-io/recount/elector/redisstore/scripts"
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// witnessed is one state of a world of several elections on one server, which share a
// witness. Candidates call the scripts of elector/redisstore; keys vanish one by one.
//
// A candidate asks once, and has never asked before. It believes in a lease for as many
// ticks as that lasts from the last call on: a little longer than the elector believes.
type witnessed struct {
	common
	calls   calls
	lua     *redismodel.Interpreter
	server  *redismodel.Server
	offices []office
	asked   int      // attempts, which name candidates and nonces
	state   []byte   // that it was read from
	trail   []Action // that led here from the beginning
}

// office is an election, and the lease of it that was granted last.
type office struct {
	keys  [keys]string
	id    string
	nonce string
	token uint64        // 0: none was granted
	until time.Duration // of the belief in it
}

// The keys of an election, in the order in which acquire wants them.
const (
	keyLease = iota
	keyCounter
	keyGuard
	keyCandidates
	keyTerms
	keyWitness // of all elections
	keys
)

var keyNames = [keys]string{"lease", "counter", "guard", "candidates", "terms", "witness"}

// calls are the scripts that candidates and administrators call.
type calls struct{ acquire, renew, release, create *redismodel.Script }

func newCalls(p *plant) calls {
	return calls{
		acquire: p.script(redismodel.Acquire, scripts.Acquire()),
		renew:   p.script(redismodel.Renew, scripts.Renew()),
		release: p.script(redismodel.Release, scripts.Release()),
		create:  p.script(&redismodel.Script{Name: "create"}, scripts.Create()),
	}
}

// script is the port of a text, if there is one, or else the text itself; with the bug,
// if that is in the text.
func (p *plant) script(port *redismodel.Script, text string) *redismodel.Script {
	planted := p.old != "" && strings.Contains(text, p.old)
	if port.Run != nil && !planted {
		return port
	}
	if planted {
		text = strings.ReplaceAll(text, p.old, p.new)
	}
	script, err := redismodel.Compile(port.Name, text)
	if err != nil {
		panic(err) // a test plants a text that does not compile
	}
	return script
}

func newWitnessed(set *Settings, plant *plant) *witnessed {
	return beginWitnessed(set, plant, newCalls(plant), &redismodel.Interpreter{})
}

func beginWitnessed(set *Settings, plant *plant, c calls, lua *redismodel.Interpreter) *witnessed {
	w := &witnessed{common: newCommon(set, plant), calls: c, lua: lua}
	w.server = redismodel.New(redismodel.Options{Name: "one", Interpreter: lua})
	for e := range set.Elections {
		var o office
		for k, name := range keyNames {
			o.keys[k] = name
			if k != keyWitness {
				o.keys[k] += strconv.Itoa(e + 1)
			}
		}
		w.offices = append(w.offices, o)
	}
	return w
}

func (w *witnessed) do(args ...string) redismodel.Reply { return w.server.Do(w.now, args...) }

// call runs a script. No two run at one moment.
func (w *witnessed) call(script *redismodel.Script, keys []string, args ...string) redismodel.Reply {
	w.now += time.Microsecond
	return w.server.Eval(w.now, script, keys, args)
}

// tick is the present, in whole ticks.
func (w *witnessed) tick() time.Duration { return w.now.Truncate(machine.Tick) }

func (w *witnessed) believes(o *office) bool { return o.until > w.tick() }

func (w *witnessed) there(key string) bool { return w.do("EXISTS", key).Int > 0 }

// actions appends all that may happen next.
func (w *witnessed) actions(list []Action) []Action {
	list = append(list, Action{Kind: Tick})
	for e := range w.offices {
		o, add := &w.offices[e], func(kind Kind) { list = append(list, Action{Kind: kind, Node: uint8(e)}) }
		add(Try)
		if w.believes(o) {
			add(Prolong)
			list = append(list, Action{Prolong, uint8(e), 1})
			add(Resign)
		}
		add(Create)
		for k, key := range o.keys {
			// What the candidates' key and the terms' say is for those who look.
			if w.left[Vanishings] > 0 && k != keyCandidates && k != keyTerms && (k != keyWitness || e == 0) && w.there(key) {
				list = append(list, Action{Vanish, uint8(e), uint8(k)})
			}
		}
	}
	return list
}

// apply lets one action happen.
func (w *witnessed) apply(a Action) {
	w.reset()
	if !w.folded {
		w.trail = append(w.trail, a)
	}
	o := &w.offices[a.Node]
	switch k := &o.keys; a.Kind {
	case Tick:
		w.now = w.tick() + machine.Tick
		for e := range w.offices {
			if w.offices[e].until == w.now {
				w.observations |= SawExpired
			}
		}
	case Try:
		w.ask(o, int(a.Node)+1)
	case Prolong:
		w.renew(o, a.Index == 1)
	case Resign:
		r := w.call(w.calls.release, []string{k[keyLease], k[keyGuard], k[keyCandidates], k[keyTerms], k[keyCounter], k[keyWitness]},
			o.value(), "channel", o.nonce, "1", tokenText(o.token), "", "0", o.id, "0", "0", w.lease(), "1")
		o.until = w.tick()
		if r.Int == 1 {
			w.observations |= SawReleased
		}
	case Create:
		w.call(w.calls.create, []string{k[keyLease], k[keyCounter], k[keyGuard], k[keyWitness]})
	case Vanish:
		w.left[Vanishings]--
		w.do("DEL", k[a.Index])
	}
}

// lease is how long one is asked for, in milliseconds, which are ticks.
func (w *witnessed) lease() string { return strconv.Itoa(w.set.Lease) }

// value is that of the lease's key.
func (o *office) value() string {
	return "r1 " + tokenText(o.token) + " " + o.nonce + " " + o.id
}

// ask is an attempt of a new candidate.
func (w *witnessed) ask(o *office, election int) {
	w.asked++
	id, nonce := strconv.Itoa(w.asked), "x"+strconv.Itoa(w.asked)
	r := w.call(w.calls.acquire, o.keys[:], id, nonce, w.lease(), "0", "channel", "1", "1", "0", w.lease(), "", "")
	switch {
	case len(r.Items) < 2:
		w.fail("the server answers: %v", r)
		return
	case r.Items[0].Int == 0:
		if holder := r.Items[2].Text; holder != "" {
			w.say("candidate %s holds it", holder)
		} else {
			w.observations |= SawWithheld
			w.say("nobody is granted it yet")
		}
		return
	}
	w.observations |= SawElected
	token, err := strconv.ParseUint(r.Items[1].Text, 10, 64)
	if err != nil || token <= o.token {
		w.fail("candidate %s is granted election %d with token %s after token %d", id, election, r.Items[1].Text, o.token)
	}
	if w.believes(o) {
		w.fail("candidate %s is granted election %d while candidate %s believes", id, election, o.id)
	}
	o.id, o.nonce, o.token, o.until = id, nonce, token, w.tick()+ticks(w.set.Lease)
	w.say("candidate %s believes until t=%d, with token %d", id, tickOf(o.until), token)
}

// renew renews a lease. On a new connection the script looks which server it is on.
func (w *witnessed) renew(o *office, connects bool) {
	args := []string{o.value(), w.lease(), o.nonce, "1"}
	if connects {
		args = append(args, tokenText(o.token), "1")
	}
	r := w.call(w.calls.renew, []string{o.keys[keyLease], o.keys[keyGuard], o.keys[keyWitness]}, args...)
	if r.Int != 1 {
		o.until = w.tick()
		w.say("the lease is gone: candidate %s believes no more", o.id)
		return
	}
	w.observations |= SawRenewed
	o.until = w.tick() + ticks(w.set.Lease)
	w.say("candidate %s believes until t=%d", o.id, tickOf(o.until))
}

// describe says in words what an action was.
func (w *witnessed) describe(a Action) string {
	o, election := &w.offices[a.Node], fmt.Sprintf("election %d", a.Node+1)
	switch {
	case a.Kind == Tick:
		return "time goes on"
	case a.Kind == Try:
		return fmt.Sprintf("candidate %d asks for the lease of %s", w.asked, election)
	case a.Kind == Prolong && a.Index == 1:
		return fmt.Sprintf("candidate %s renews in %s, on a new connection", o.id, election)
	case a.Kind == Prolong:
		return fmt.Sprintf("candidate %s renews in %s", o.id, election)
	case a.Kind == Resign:
		return fmt.Sprintf("candidate %s believes no more, and gives back the lease of %s", o.id, election)
	case a.Kind == Create:
		return "an administrator creates " + election
	case a.Index == keyWitness:
		return "the key of the witness vanishes"
	default:
		return fmt.Sprintf("the key of the %s of %s vanishes", keyNames[a.Index], election)
	}
}

// fork walks the way to the present state once more.
func (w *witnessed) fork([]uint8) model {
	c := beginWitnessed(w.set, w.plant, w.calls, w.lua)
	for _, a := range w.trail {
		c.apply(a)
	}
	c.tells = w.tells
	return c
}

// tidyMessages has nothing to do: there are none.
func (w *witnessed) tidyMessages() {}

func (w *witnessed) leads() bool {
	return slices.ContainsFunc(w.offices, func(o office) bool { return w.believes(&o) })
}

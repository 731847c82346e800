package machine

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/recount-io/recount/internal/race"
)

// unwritten are the fields of a machine that AppendState and AppendNames leave
// out, and why nothing that it decides depends on them. All others are written.
var unwritten = map[string]string{
	"cfg":            "settings are the same in all states of a world",
	"usable":         "it follows from the settings",
	"early":          "it follows from the settings",
	"random":         "Choose takes its place",
	"secret":         "nonces are named anew",
	"choose":         "it belongs to a search",
	"now":            "times are written as seen from the present, which is no earlier",
	"err":            "it is told, and decides nothing once it has stopped the machine",
	"leader.holder":  "it is told",
	"leader.token":   "it is told",
	"lastNumber":     "requests are named by their places",
	"silent":         "the alarm is told, and a wake-up for it changes nothing else",
	"silentSince":    "as silent",
	"unreachable":    "as silent",
	"refusal":        "no store of a world that is searched answers without doing anything",
	"hangsAt":        "as silent",
	"longest":        "all leases of a world are alike",
	"lastAsked":      "as longest",
	"waiters":        "it spreads tries, and Choose takes the place of that",
	"requests":       "they are the last step's output",
	"transitions":    "they are the last step's output",
	"attempt.deaf":   "candidates of such a world listen from the beginning",
	"attempt.count":  "it makes nonces differ, and those are named anew",
	"flights.number": "requests are named by their places",
	"bid.number":     "it is another one than those of the requests that have no answer",
	"flights.late":   "it is told",

	"term.value":      "nobody publishes anything in a world that is searched",
	"term.version":    "as term.value",
	"term.shown":      "as term.value",
	"flights.version": "as term.value",
}

// walks is how many random walks there are: the race detector would see one
// goroutine.
func walks() uint64 {
	if race.Enabled {
		return 40
	}
	return 400
}

// sample is a machine after random steps in whole ticks, and the time.
type sample struct {
	m   *Machine
	now time.Duration
}

// walk takes random steps with one machine and shows each state, and a copy of it
// from before the step.
func walk(seed uint64, steps int, show func(before, after sample, in Input)) {
	dice := splitmix(seed)
	early := time.Duration(dice.next()%2) * ms // of some, renewals may be early
	m := New(Config{ID: "n1", Lease: 9 * ms, Renew: 2 * ms, Retry: 2 * ms, RequestTimeout: 2 * ms, DrainTimeout: 5 * ms, MaxInFlight: 3, Early: early, Bids: dice.next()%2 == 0})
	now := 100 * ms
	m.Choose(func(most time.Duration) time.Duration { return most / ms * ms })
	m.Step(now, Input{Kind: Start})
	token := uint64(0)
	for range steps {
		now += time.Duration(dice.next()%5/2) * ms
		in := randomInput(&dice, m, &token)
		before := sample{m.Clone(), now}
		if m.Step(now, in).Done {
			return
		}
		show(before, sample{m, now}, in)
	}
}

func randomInput(dice *splitmix, m *Machine, token *uint64) Input {
	in := Input{Kind: Wake}
	switch roll := dice.next() % 40; {
	case roll < 10 && len(m.flights) > 0:
		f := m.flights[dice.next()%uint64(len(m.flights))]
		in = Input{Kind: Answer, Request: f.number, Result: []Result{Unknown, Done, Done, Done, Held, NotHeld}[dice.next()%6], Token: *token, Stands: true, Remaining: time.Duration(dice.next()%7) * ms}
		if in.Result == Done && f.call == Acquire && dice.next()%4 > 0 {
			*token++
			in.Token = *token
		}
	case roll == 20:
		in = Input{Kind: HintGranted, Token: *token + dice.next()%2, Remaining: 6 * ms}
	case roll < 23:
		in = Input{Kind: HintReleased, Token: *token, Remaining: 5 * ms, Holder: []string{"", "n1", "n2"}[dice.next()%3]}
	case roll < 25:
		in = Input{Kind: Resign, Holder: []string{"", "n2"}[dice.next()%2]}
	case roll < 28:
		in = Input{Kind: WorkEnded, Token: m.term.token, Calling: dice.next()%4 == 0}
	case roll == 28:
		in = Input{Kind: Returned}
	case roll == 29 && dice.next()%4 == 0:
		in = Input{Kind: Stop}
	case roll == 30:
		in = Input{Kind: Fenced, Token: *token + 1}
	case roll < 33 && m.bid.nonce != "":
		in = Input{Kind: HintPassed, Nonce: m.bid.nonce, Request: m.bid.number, Token: *token + 1}
		if dice.next()%4 > 0 {
			*token++
		}
	case roll < 35 && m.cfg.Bids && len(m.flights) > 0:
		f := m.flights[dice.next()%uint64(len(m.flights))]
		in = Input{Kind: HintPassed, Nonce: f.nonce, Request: f.number, Token: *token + dice.next()%2}
	case roll == 35 && m.cfg.Bids && m.term.nonce != "":
		in = Input{Kind: HintPassed, Nonce: m.term.nonce, Request: 1000, Token: m.term.token}
	}
	return in
}

// written is the state as bytes. It settles the machine.
func (s sample) written() []byte {
	var n Notation
	s.m.Settle(s.now)
	s.m.MentionTokens(&n)
	n.Rename([]string{"n1", "n2"})
	return s.m.AppendNames(append(s.m.AppendState(nil, s.now, &n), 0xff), &n)
}

// readAgain brings a machine that was used for something else into the state that
// these bytes tell of.
func readAgain(t *testing.T, b []byte, used *Machine, now time.Duration) *Machine {
	rest := used.LoadState(b, now)
	if rest = used.LoadNames(rest[1:], []string{"n1", "n2"}); len(rest) > 0 {
		t.Fatalf("%d bytes are left", len(rest))
	}
	return used
}

// said is what a step asked for and told, but for reports, and for names, which a
// state that was read has other ones for.
func said(out Output) string {
	var b strings.Builder
	for _, r := range out.Requests {
		fmt.Fprintln(&b, r.Call, r.TTL, r.Timeout, r.To, r.Reserve)
	}
	for _, t := range out.Transitions {
		switch t.Kind {
		case RoleChanged, Elected, Extended:
			fmt.Fprintln(&b, t.Kind, t.At, t.Role, t.Until, t.Why)
		case Deposed: // of a deadline that has passed, the state keeps only that it has
			fmt.Fprintln(&b, t.Kind, t.At, t.Role, max(t.Until, t.At), t.Why)
		}
	}
	fmt.Fprintln(&b, out.Done)
	return b.String()
}

// A state that was written and read again decides as the machine does that went
// on: whatever comes next and whenever, it asks for the same, and comes to the
// same state.
func TestStateDecidesAlike(t *testing.T) {
	compared := 0
	for seed := range walks() {
		used := New(Config{})
		walk(seed, 200, func(before, after sample, in Input) {
			if used.cfg != before.m.cfg {
				used = after.m.Clone()
			}
			one := before.m.Clone()
			text := sample{before.m.Clone(), before.now}.written()
			other := readAgain(t, text, used, before.now).Clone()
			used = after.m.Clone()
			if again := (sample{other.Clone(), before.now}).written(); !bytes.Equal(again, text) {
				t.Fatalf("seed %d: written again it is\n%v, not\n%v", seed, again, text)
			}
			both, known := translate(one, other, in)
			if !known {
				return
			}
			for _, later := range []time.Duration{0, ms, 4 * ms} {
				a, b := one.Clone(), other.Clone()
				now := before.now + later
				first, second := a.Step(now, both[0]), b.Step(now, both[1])
				if x, y := said(first), said(second); x != y {
					t.Fatalf("seed %d: at %v, %+v: one says\n%sand the other\n%s", seed, now, both[0], x, y)
				}
				if x, y := (sample{a, now}).written(), (sample{b, now}).written(); !bytes.Equal(x, y) {
					t.Fatalf("seed %d: at %v, after %+v: one is\n%v and the other\n%v", seed, now, both[0], x, y)
				}
				a.silent, b.silent, a.hangsAt, b.hangsAt = false, false, Never, Never // nobody decides anything by the alarms
				if x, y := max(a.Wake(), now), max(b.Wake(), now); x != y {
					t.Fatalf("seed %d: at %v, after %+v: one is woken at %v and the other at %v", seed, now, both[0], x, y)
				}
				compared++
			}
		})
	}
	if compared < 25*int(walks()) {
		t.Errorf("only %d steps were compared", compared)
	}
}

// translate is an input in the names of a machine and of its copy that was read.
// A token that the machine does not hold is larger than all, or has no name.
func translate(one, other *Machine, in Input) (both [2]Input, known bool) {
	both = [2]Input{in, in}
	if in.Kind == HintPassed {
		settled := one.Clone()
		settled.Settle(one.now)
		both[1].Request = other.NumberOf(settled.Reference(in.Request))
		var names Notation
		settled.AppendNames(nil, &names)
		if both[1].Nonce = NonceOf(names.Nonce(in.Nonce)); in.Nonce == "" {
			return both, false
		}
	}
	if in.Kind == Answer {
		i := slices.IndexFunc(one.flights, func(f flight) bool { return f.number == in.Request })
		if i < 0 {
			return both, false
		}
		both[1].Request = other.flights[i].number
	}
	if in.Token == 0 {
		return both, true
	}
	settled := one.Clone()
	settled.Settle(one.now)
	var n Notation
	settled.MentionTokens(&n)
	below, above, found := 0, 0, false
	for token := uint64(1); token < tokens; token++ {
		switch is := n.mentioned[token/64]>>(token%64)&1 != 0; {
		case is && token < in.Token:
			below++
		case is && token > in.Token:
			above++
		case is:
			found = true
		}
	}
	both[1].Token = uint64(below) + 1
	return both, found || above == 0
}

// Every field of a machine is written, or there is a reason why it need not be: a
// field that is new fails here.
func TestEveryFieldIsWritten(t *testing.T) {
	var fields []string
	collect(reflect.TypeFor[Machine](), "", &fields)
	for name := range unwritten {
		if !slices.Contains(fields, name) {
			t.Errorf("there is no field %s", name)
		}
	}
	for _, name := range fields {
		changed := 0
		for seed := range walks() {
			walk(seed, 120, func(_, s sample, _ Input) {
				if changed == 0 && shows(s, name) {
					changed++
				}
			})
			if changed > 0 {
				break
			}
		}
		switch reason, left := unwritten[name]; {
		case left && changed > 0 && !strings.Contains(reason, "settings"):
			t.Errorf("%s need not be written (%s), and yet its value shows in what is written", name, reason)
		case !left && changed == 0:
			t.Errorf("%s is never written, and no reason is given", name)
		}
	}
}

// collect lists the fields of a struct; those of structs and of slices of structs
// in it by themselves.
func collect(typ reflect.Type, prefix string, list *[]string) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		inner := f.Type
		if inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		_, left := unwritten[prefix+f.Name]
		if inner.Kind() == reflect.Struct && !left {
			collect(inner, prefix+f.Name+".", list)
			continue
		}
		*list = append(*list, prefix+f.Name)
	}
}

// shows reports whether the state is written otherwise if a field has another value.
func shows(s sample, name string) (does bool) {
	before := sample{s.m.Clone(), s.now}.written()
	c := s.m.Clone()
	if !change(reflect.ValueOf(c).Elem(), name) {
		return false
	}
	defer func() {
		if recover() != nil {
			does = true // it is such that it cannot be written
		}
	}()
	return !bytes.Equal(before, sample{c, s.now}.written())
}

// change gives a field another value; of a slice, that of the first element.
func change(v reflect.Value, name string) bool {
	for part := range strings.SplitSeq(name, ".") {
		if v.Kind() == reflect.Slice {
			if v.Len() == 0 {
				return false
			}
			v = v.Index(0)
		}
		v = v.FieldByName(part)
		v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + int64(ms))
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(v.Uint() + 1)
	case reflect.Float64:
		v.SetFloat(v.Float() + 0.1)
	case reflect.String:
		v.SetString(v.String() + "n1")
	case reflect.Interface:
		v.Set(reflect.ValueOf(errors.New("another")))
	default:
		return false
	}
	return true
}

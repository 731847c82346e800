package checker

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/recount-io/recount/history"
)

// tamper returns the history with one lie in it, at a place that the seed
// chooses. Not every lie breaks a promise.
func tamper(seed uint64, h *history.History) *history.History {
	random := rand.New(rand.NewPCG(seed, 13))
	out := &history.History{Header: h.Header, Events: slices.Clone(h.Events)}
	lie := lies[random.IntN(len(lies))]
	first := random.IntN(len(out.Events))
	for i := range out.Events {
		i = (first + i) % len(out.Events)
		if lie.fits(&out.Events[i]) {
			out.Events = lie.tell(random, out.Events, i)
			break
		}
	}
	for i := range out.Events {
		out.Events[i].Seq = int64(i) + 1
	}
	return out
}

// lie changes the events at one that it fits.
type lie struct {
	name string
	fits func(e *history.Event) bool
	tell func(random *rand.Rand, events []history.Event, i int) []history.Event
}

func is(kind history.Kind, call history.Call) func(e *history.Event) bool {
	return func(e *history.Event) bool { return e.Kind == kind && (call == "" || e.Call == call) }
}

func changed(change func(random *rand.Rand, e *history.Event)) func(*rand.Rand, []history.Event, int) []history.Event {
	return func(random *rand.Rand, events []history.Event, i int) []history.Event {
		change(random, &events[i])
		return events
	}
}

// added puts events behind the one, at its time.
func added(more func(random *rand.Rand, e history.Event) []history.Event) func(*rand.Rand, []history.Event, int) []history.Event {
	return func(random *rand.Rand, events []history.Event, i int) []history.Event {
		extra := more(random, events[i])
		for j := range extra {
			extra[j].At = events[i].At
		}
		return slices.Insert(events, i+1, extra...)
	}
}

func someNode(random *rand.Rand) string { return "n" + string(rune('1'+random.IntN(5))) }

// pair is an operation that begins and ends in one moment.
func pair(op int64, in, out history.Event) []history.Event {
	in.Kind, in.Op, out.Node, out.Op, out.Call = history.Invoke, op, in.Node, op, in.Call
	return []history.Event{in, out}
}

var lies = []lie{
	{"a smaller token is granted", is(history.Ok, history.Acquire), changed(func(random *rand.Rand, e *history.Event) {
		e.Token = max(1, e.Token-min(e.Token, 1+random.Uint64N(5)))
	})},
	{"a grant that nobody recorded", is(history.Fail, history.Acquire), changed(func(_ *rand.Rand, e *history.Event) {
		e.Kind, e.Holder = history.Ok, ""
	})},
	{"a grant of a new token", is(history.Fail, history.Acquire), changed(func(_ *rand.Rand, e *history.Event) {
		e.Kind, e.Holder, e.Token = history.Ok, "", e.Token+1
	})},
	{"a renewal is refused", is(history.Ok, history.Renew), changed(func(_ *rand.Rand, e *history.Event) { e.Kind = history.Fail })},
	{"a renewal is refused, says the store as well", is(history.Audit, history.Renew), changed(func(_ *rand.Rand, e *history.Event) {
		e.Applied = history.Bool(!*e.Applied)
	})},
	{"the store recorded nothing", is(history.Audit, ""), func(_ *rand.Rand, events []history.Event, i int) []history.Event {
		return slices.Delete(events, i, i+1)
	}},
	{"the store recorded another token", is(history.Audit, history.Acquire), changed(func(random *rand.Rand, e *history.Event) {
		e.Token = random.Uint64N(e.Token+2) + 1
	})},
	{"somebody else holds it", is(history.Fail, history.Acquire), changed(func(random *rand.Rand, e *history.Event) {
		e.Holder, e.Token = someNode(random), random.Uint64N(e.Token+1)+1
	})},
	{"nobody holds it", is(history.Ok, history.Observe), changed(func(_ *rand.Rand, e *history.Event) { e.Holder, e.Token = "", 0 })},
	{"an earlier one holds it", is(history.Ok, history.Observe), changed(func(random *rand.Rand, e *history.Event) {
		e.Holder, e.Token = someNode(random), random.Uint64N(e.Token+1)
	})},
	{"a second leader", is(history.Fail, history.Acquire), added(func(_ *rand.Rand, e history.Event) []history.Event {
		return []history.Event{{Kind: history.Elected, Node: e.Node, Token: e.Token + 1, Until: history.At(e.At + 9*time.Second)}}
	})},
	{"a second leader of an earlier token", is(history.Fail, history.Acquire), added(func(random *rand.Rand, e history.Event) []history.Event {
		return []history.Event{{Kind: history.Elected, Node: e.Node, Token: random.Uint64N(e.Token) + 1, Until: history.At(e.At + 9*time.Second)}}
	})},
	{"a belief for too long", is(history.Extended, ""), changed(func(random *rand.Rand, e *history.Event) {
		e.Until = history.At(*e.Until + time.Duration(random.Int64N(int64(90*time.Second))))
	})},
	{"deposed without a reason", is(history.Extended, ""), added(func(_ *rand.Rand, e history.Event) []history.Event {
		return []history.Event{{Kind: history.Deposed, Node: e.Node, Token: e.Token, Why: history.Failed}}
	})},
	{"deposed from what it never had", is(history.Extended, ""), added(func(random *rand.Rand, e history.Event) []history.Event {
		return []history.Event{{Kind: history.Deposed, Node: someNode(random), Token: e.Token + 7, Why: history.Expired}}
	})},
	{"a write of an earlier token", is(history.Ok, history.Write), added(func(random *rand.Rand, e history.Event) []history.Event {
		in := history.Event{Call: history.Write, Node: someNode(random), Token: random.Uint64N(e.Token) + 1, Value: "lie"}
		return pair(1<<40, in, history.Event{Kind: history.Ok})
	})},
	{"a write is refused", is(history.Ok, history.Write), changed(func(random *rand.Rand, e *history.Event) {
		e.Kind, e.Fence = history.Fail, e.Token+random.Uint64N(2)
	})},
	{"a write of another token", is(history.Invoke, history.Write), changed(func(random *rand.Rand, e *history.Event) {
		e.Token = random.Uint64N(e.Token+3) + 1
	})},
	{"a read of what was never written", is(history.Ok, history.Read), changed(func(_ *rand.Rand, e *history.Event) { e.Value += "?" })},
	{"a read of nothing", is(history.Ok, history.Read), changed(func(_ *rand.Rand, e *history.Event) { e.Value, e.Token = "", 0 })},
	{"an operation that vanished", is(history.Ok, history.Observe), func(_ *rand.Rand, events []history.Event, i int) []history.Event {
		return slices.Delete(events, i, i+1)
	}},
	{"a number twice", is(history.Invoke, ""), changed(func(random *rand.Rand, e *history.Event) { e.Op = random.Int64N(e.Op) + 1 })},
	{"a fault without effect", is(history.Fault, ""), changed(func(_ *rand.Rand, e *history.Event) {
		if e.Effective != nil {
			e.Effective = history.Bool(false)
		}
	})},
	{"no fault", is(history.Fault, ""), func(_ *rand.Rand, events []history.Event, i int) []history.Event {
		id := events[i].ID
		return slices.DeleteFunc(events, func(e history.Event) bool { return e.Kind == history.Fault && e.ID == id })
	}},
	{"healed", is(history.Extended, ""), added(func(*rand.Rand, history.Event) []history.Event {
		return []history.Event{{Kind: history.Healed}}
	})},
}

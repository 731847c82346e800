package checker

import (
	"time"

	"github.com/recount-io/recount/history"
)

const ms = time.Millisecond

// story builds a history by hand: every method adds events, and build orders
// and numbers them.
type story struct {
	header history.Header
	events []history.Event
	ops    int64
	faults int
}

func newStory() *story {
	return &story{header: history.Header{
		Scenario: "by-hand", Subject: "story", World: "virtual",
		Nodes: []string{"n1", "n2", "n3"}, Lease: 2000 * ms, Retry: 200 * ms,
	}}
}

func (s *story) add(e history.Event) *story {
	s.events = append(s.events, e)
	return s
}

func (s *story) build() *history.History {
	r := history.NewRecorder(func() time.Duration { return 0 })
	for _, e := range s.events {
		r.Record(e)
	}
	return r.History(s.header)
}

// op adds an invocation and its completion, and returns the operation.
func (s *story) op(node string, call history.Call, from, to time.Duration, kind history.Kind, in, out history.Event) int64 {
	s.ops++
	in.Kind, in.Node, in.Call, in.At, in.Op = history.Invoke, node, call, from, s.ops
	if call == history.Acquire || call == history.Renew {
		in.TTL = 2000 * ms
	}
	s.add(in)
	if kind != "" {
		out.Kind, out.Node, out.Call, out.At, out.Op = kind, node, call, to, s.ops
		s.add(out)
	}
	return s.ops
}

func nonce(n string) history.Event          { return history.Event{Nonce: n} }
func token(t uint64) history.Event          { return history.Event{Token: t} }
func held(h string, t uint64) history.Event { return history.Event{Holder: h, Token: t} }

func (s *story) acquire(node, n string, from, to time.Duration, t uint64) *story {
	s.op(node, history.Acquire, from, to, history.Ok, nonce(n), token(t))
	return s
}

// standing is a request that was refused when it was asked for, and granted later.
func (s *story) standing(node, n string, asked, granted time.Duration, t uint64) *story {
	e := nonce(n)
	e.Since = history.At(asked)
	s.op(node, history.Acquire, granted, granted, history.Ok, e, token(t))
	return s
}

func (s *story) refused(node, n string, from, to time.Duration, holder string, t uint64) *story {
	s.op(node, history.Acquire, from, to, history.Fail, nonce(n), held(holder, t))
	return s
}

func (s *story) renew(node string, from, to time.Duration, kind history.Kind, t uint64) *story {
	s.op(node, history.Renew, from, to, kind, token(t), history.Event{})
	return s
}

func (s *story) release(node string, from, to time.Duration, kind history.Kind, t uint64) *story {
	s.op(node, history.Release, from, to, kind, token(t), history.Event{})
	return s
}

func (s *story) observe(node string, from, to time.Duration, holder string, t uint64) *story {
	s.op(node, history.Observe, from, to, history.Ok, history.Event{}, held(holder, t))
	return s
}

func (s *story) write(node string, from, to time.Duration, kind history.Kind, t uint64, value string, fence uint64) *story {
	s.op(node, history.Write, from, to, kind, history.Event{Token: t, Value: value}, history.Event{Fence: fence})
	return s
}

func (s *story) read(node string, from, to time.Duration, value string, t uint64) *story {
	s.op(node, history.Read, from, to, history.Ok, history.Event{}, history.Event{Token: t, Value: value})
	return s
}

func (s *story) elected(node string, at time.Duration, t uint64, until time.Duration) *story {
	return s.add(history.Event{Kind: history.Elected, Node: node, At: at, Token: t, Until: history.At(until)})
}

func (s *story) extended(node string, at time.Duration, t uint64, until time.Duration) *story {
	return s.add(history.Event{Kind: history.Extended, Node: node, At: at, Token: t, Until: history.At(until)})
}

func (s *story) deposed(node string, at time.Duration, t uint64, why history.Why) *story {
	return s.add(history.Event{Kind: history.Deposed, Node: node, At: at, Token: t, Why: why})
}

// fault adds a fault that took effect; change may add to its off event.
func (s *story) fault(name string, on, off time.Duration, change func(*history.Event), targets ...string) *story {
	s.faults++
	id := name + string(rune('0'+s.faults))
	e := history.Event{Kind: history.Fault, ID: id, Fault: name, Targets: targets, Phase: history.On, At: on}
	s.add(e)
	e.Phase, e.At, e.Effective = history.Off, off, history.Bool(true)
	if change != nil {
		change(&e)
	}
	return s.add(e)
}

func (s *story) healed(at time.Duration) *story {
	return s.add(history.Event{Kind: history.Healed, At: at})
}

func (s *story) audit(call history.Call, node, n string, t uint64, at time.Duration, took bool) *story {
	return s.add(history.Event{Kind: history.Audit, Call: call, Node: node, Nonce: n, Token: t, At: at, Applied: history.Bool(took)})
}

func (s *story) note(at time.Duration) *story {
	return s.add(history.Event{Kind: history.Note, At: at, Text: "end"})
}

func (s *story) exit(node string, at time.Duration) *story {
	return s.add(history.Event{Kind: history.Exit, Node: node, At: at})
}

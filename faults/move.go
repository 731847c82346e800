package faults

import (
	"context"
	"strings"
)

// Answer is how a server answers to writes that is no primary any more, or none that
// may write. It is the code of the server's error.
type Answer string

// The answers.
const (
	ReadOnly   Answer = "READONLY"   // it follows the new primary
	NoReplicas Answer = "NOREPLICAS" // it stays a primary, and has too few replicas
	MasterDown Answer = "MASTERDOWN" // it follows a primary that it cannot reach; it answers so to reads, too
)

// Answers are all of them.
var Answers = []Answer{ReadOnly, NoReplicas, MasterDown}

// StoreMoved makes the store's address lead to a promoted replica, for new connections
// only, as a service or a virtual address does. Connections that are open go on with
// the former primary, which answers so for good.
//
// It is over once applied: a client that connects from then on reaches a primary that serves.
type StoreMoved struct{ Answer Answer }

// Name implements Fault.
func (m StoreMoved) Name() string { return "moved-" + strings.ToLower(string(m.Answer)) }

// Params implements Fault.
func (m StoreMoved) Params() map[string]any { return map[string]any{"answer": string(m.Answer)} }

func (m StoreMoved) with(p *params) Fault {
	p.implied("answer", string(m.Answer))
	return m
}

// Apply implements Fault.
func (m StoreMoved) Apply(ctx context.Context, w World, _ []string) (string, error) {
	return w.MoveStore(ctx, m.Answer)
}

// Heal implements Fault.
func (StoreMoved) Heal(context.Context, World, []string) (string, error) { return "", nil }

// Effect implements Fault.
func (m StoreMoved) Effect() Effect {
	summaries := map[Answer]string{
		ReadOnly:   "new connections lead to a new primary; open ones go on with the former one, which follows it",
		NoReplicas: "new connections lead to a new primary; open ones go on with the former one, which has too few replicas to write",
		MasterDown: "new connections lead to a new primary; open ones go on with the former one, which serves nobody",
	}
	return Effect{
		Summary: summaries[m.Answer], Undone: "not at all: the former primary ends with the run",
		Store: true, Attended: true, Instant: true,
	}
}

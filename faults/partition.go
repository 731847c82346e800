package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Cut says how a way to the store is cut.
type Cut string

// The cuts.
const (
	CutBoth     Cut = "both"     // nothing passes in either direction; connections stay open
	CutRequests Cut = "requests" // requests are lost, so nothing is executed
	CutReplies  Cut = "replies"  // requests are executed, their replies are lost
	CutRefused  Cut = "refused"  // connections are closed, new ones are refused
	CutReset    Cut = "reset"    // connections are reset, new ones too
)

// Cuts are all of them.
var Cuts = []Cut{CutBoth, CutRequests, CutReplies, CutRefused, CutReset}

// ParseCut reads the name of a cut.
func ParseCut(name string) (Cut, error) {
	if !slices.Contains(Cuts, Cut(name)) {
		var names []string
		for _, c := range Cuts {
			names = append(names, string(c))
		}
		return "", fmt.Errorf("faults: no cut is called %q: give one of %s", name, strings.Join(names, ", "))
	}
	return Cut(name), nil
}

// unshaped is how a fault on the way to the store is undone.
const unshaped = "the proxy on the way lets everything pass again"

// Partition cuts the ways between its targets and the store.
type Partition struct{ How Cut }

// Name implements Fault.
func (p Partition) Name() string {
	switch p.How {
	case CutRequests:
		return "requests-lost"
	case CutReplies:
		return "replies-lost"
	case CutRefused:
		return "connection-refused"
	case CutReset:
		return "connection-reset"
	default:
		return "partition"
	}
}

// Params implements Fault.
func (p Partition) Params() map[string]any { return map[string]any{"cut": string(p.How)} }

func (p Partition) with(given *params) Fault {
	given.implied("cut", string(p.How))
	return p
}

// Apply implements Fault.
func (p Partition) Apply(ctx context.Context, w World, targets []string) (string, error) {
	return each(w, targets, func(node string) (string, error) { return w.Cut(ctx, node, p.How) })
}

// Heal implements Fault.
func (p Partition) Heal(ctx context.Context, w World, targets []string) (string, error) {
	return each(w, targets, silent(func(node string) error { return w.Mend(ctx, node) }))
}

// Effect implements Fault.
func (p Partition) Effect() Effect {
	summaries := map[Cut]string{
		CutBoth:     "the way to the store is cut in both directions; connections stay open",
		CutRequests: "requests to the store are lost",
		CutReplies:  "requests are executed, but their replies are lost",
		CutRefused:  "connections to the store are refused",
		CutReset:    "connections to the store are reset",
	}
	return Effect{Summary: summaries[p.How], Undone: unshaped, Immediate: true, Cuts: true, Simple: p.How != CutReplies, Bearable: true, Fair: true}
}

package crosscheck

import (
	"slices"
	"time"

	"github.com/recount-io/recount/history"
)

// shrink leaves out of the history what it can without losing what is seen in
// it: operations with their entries in the store's own record, entries, faults,
// and single events.
func shrink(h *history.History, seen func(h *history.History) bool, until time.Duration) *history.History {
	begun := time.Now()
	for changed := true; changed; {
		changed = false
		groups := parts(h)
		for n := max(1, len(groups)/2); n >= 1; n /= 2 {
			for i := 0; i+n <= len(groups); {
				if time.Since(begun) > until {
					return h
				}
				fewer := without(h, groups[i:i+n])
				if len(fewer.Events) > 0 && seen(fewer) {
					h, changed = fewer, true
					groups = slices.Delete(groups, i, i+n)
				} else {
					i += n
				}
			}
		}
	}
	for _, change := range plainer {
		p := &history.History{Header: h.Header, Events: slices.Clone(h.Events)}
		change(p)
		if seen(p) {
			h = p
		}
	}
	return h
}

// plainer are changes that make a history easier to read.
var plainer = []func(h *history.History){
	func(h *history.History) { h.Header.ClockError = 0 },
	func(h *history.History) { // times that begin early
		first := h.Events[0].At
		for i := range h.Events {
			e := &h.Events[i]
			e.At -= first
			if e.Until != nil {
				e.Until = history.At(*e.Until - first)
			}
		}
	},
	func(h *history.History) { // whole microseconds
		for i := range h.Events {
			h.Events[i].At = h.Events[i].At.Round(time.Microsecond)
		}
	},
	func(h *history.History) {
		h.Header.Nodes, h.Header.Seed, h.Header.Margin, h.Header.DriftPPM = nil, 0, 0, 0
	},
}

// part is what stays or goes together: an operation (with its entry), or one
// event.
type part struct {
	op    int64
	fault string
	seq   int64
}

func parts(h *history.History) []part {
	var out []part
	for i := range h.Events {
		switch e := &h.Events[i]; e.Kind {
		case history.Invoke:
			out = append(out, part{op: e.Op})
		case history.Ok, history.Fail, history.Info:
		case history.Fault:
			if e.Phase == history.On {
				out = append(out, part{fault: e.ID})
			}
		default:
			out = append(out, part{seq: e.Seq})
		}
	}
	return out
}

func without(h *history.History, gone []part) *history.History {
	type record struct {
		node, nonce string
		call        history.Call
		try         uint64
	}
	ops, faults, seqs, entries := map[int64]bool{}, map[string]bool{}, map[int64]bool{}, map[record]bool{}
	for _, p := range gone {
		switch {
		case p.op != 0:
			ops[p.op] = true
		case p.fault != "":
			faults[p.fault] = true
		default:
			seqs[p.seq] = true
		}
	}
	for i := range h.Events {
		if e := &h.Events[i]; e.Kind == history.Invoke && ops[e.Op] {
			entries[record{e.Node, e.Nonce, e.Call, e.Try}] = true
		}
	}
	out := &history.History{Header: h.Header}
	for _, e := range h.Events {
		switch {
		case e.Op != 0 && ops[e.Op], e.Kind == history.Fault && faults[e.ID], seqs[e.Seq]:
		case e.Kind == history.Audit && entries[record{e.Node, e.Nonce, e.Call, e.Try}]:
		default:
			out.Events = append(out.Events, e)
		}
	}
	// The parts left are known by their old numbers: renumber, in order.
	return out
}

// numbered gives the events and operations new numbers.
func numbered(h *history.History) *history.History {
	out := &history.History{Header: h.Header, Events: slices.Clone(h.Events)}
	ops := map[int64]int64{}
	for i := range out.Events {
		e := &out.Events[i]
		e.Seq = int64(i) + 1
		if e.Op != 0 {
			if ops[e.Op] == 0 {
				ops[e.Op] = int64(len(ops)) + 1
			}
			e.Op = ops[e.Op]
		}
	}
	return out
}

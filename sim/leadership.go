package sim

import (
	"slices"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
)

// Leadership follows a run's events to tell who leads and who runs just now:
// what a schedule needs in order to hit the leader. It is not safe for
// concurrent use.
type Leadership struct {
	nodes  []string
	leader string
	token  uint64
	wrote  bool            // the leader's term has an accepted write: it is at work
	down   map[string]int  // how many faults hit a node
	gone   map[string]bool // nodes whose process ended by itself
}

// NewLeadership returns the leadership of a run that has not begun.
func NewLeadership(nodes []string) *Leadership {
	return &Leadership{nodes: nodes, down: map[string]int{}, gone: map[string]bool{}}
}

// See takes in one recorded event and reports whether View may have changed.
func (l *Leadership) See(e *history.Event) bool {
	switch e.Kind {
	case history.Elected:
		if e.Token < l.token && l.leader != "" {
			return false // a store that lost its data may count again from 1
		}
		// A program that says nothing writes to no protected resource either.
		l.leader, l.token, l.wrote = e.Node, e.Token, e.Evidence == history.FromWire
	case history.Deposed:
		if e.Node != l.leader || e.Token != l.token {
			return false
		}
		l.leader, l.wrote = "", false
	case history.Exit:
		l.gone[e.Node] = e.Why == history.ByItself || e.Why == history.Panicked
		if e.Node == l.leader {
			l.leader, l.wrote = "", false
		}
	case history.Start:
		l.gone[e.Node] = false
	case history.Ok:
		if l.wrote || e.Call != history.Write || e.Node != l.leader {
			return false
		}
		l.wrote = true
	default:
		return false
	}
	return true
}

// Disturb marks nodes as hit by a fault, or that fault as over: a second fault
// that looks for a follower, say, looks elsewhere.
func (l *Leadership) Disturb(nodes []string, disturbed bool) {
	for _, n := range nodes {
		if disturbed {
			l.down[n]++
		} else {
			l.down[n]--
		}
	}
}

// Leader is who leads, whatever hits it; "" if nobody does.
func (l *Leadership) Leader() string { return l.leader }

// View is who runs undisturbed, and who of them leads and is at work.
func (l *Leadership) View() faults.View {
	v := faults.View{Running: slices.DeleteFunc(slices.Clone(l.nodes), func(n string) bool { return l.down[n] > 0 || l.gone[n] })}
	if l.wrote {
		v.Leading = l.leader
	}
	if l.down[v.Leading] == 0 {
		v.Leader = v.Leading
	}
	return v
}

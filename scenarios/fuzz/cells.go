package fuzz

import (
	"slices"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/virtual"
)

// The map's dimensions. A cell is a fault that met a certain moment: put on at
// that point of the lease's life, on a candidate in that role, with that call
// under way.
var (
	faultNames = catalogueNames()
	roleNames  = [roles]string{"leader", "follower", "down", "store"}
	pointNames = [points]string{"free", "renewed", "settled", "due", "overdue", "ending"}
	calls      = [...]history.Call{"", history.Acquire, history.Renew, history.Release, history.Observe}
)

// Roles of what is hit.
const (
	asLeader = iota // it leads and is at work
	asFollower
	asDown  // its process is gone
	asStore // not a candidate at all
	roles
)

// Points of the lease's life, as the store sees it.
const (
	free    = iota // nobody holds it, or the store is down
	renewed        // in the first quarter of the time from one renewal to the next
	settled        // in the middle
	due            // in the last quarter
	overdue        // a renewal should have come
	ending         // less than a tenth of the lease is left
	points
)

// Calls under way, as places in calls.
const (
	noCall = iota
	acquire
	renew
	release
	observe
)

// catalogueNames are the faults that are drawn, by their places in the catalogue. Its last
// ones are not. In place of transfers, leaders are drawn that hand over when they resign;
// and what Attendant has is not in the virtual world.
func catalogueNames() []string {
	var names []string
	for _, f := range faults.Catalogue() {
		if f != (faults.Transfer{}) && !f.Effect().Attended {
			names = append(names, f.Name())
		}
	}
	return names
}

// cell is a place on the map.
type cell int32

func cells() int { return len(faultNames) * roles * points * len(calls) }

func cellAt(fault, role, point, call int) cell {
	return cell(((fault*roles+role)*points+point)*len(calls) + call)
}

// parts are the coordinates of a cell.
func (c cell) parts() (fault, role, point, call int) {
	n := int(c)
	call, n = n%len(calls), n/len(calls)
	point, n = n%points, n/points
	return n / roles, n % roles, point, call
}

// cellOf is the cell of a moment, -1 if the map has none for it.
func cellOf(m *virtual.Moment) cell {
	fault, role, call := slices.Index(faultNames, m.Fault), slices.Index(roleNames[:], m.Role), slices.Index(calls[:], m.InFlight)
	if fault < 0 || role < 0 || call < 0 {
		return -1
	}
	return cellAt(fault, role, pointOf(m), call)
}

func pointOf(m *virtual.Moment) int {
	switch {
	case m.Lease < 0:
		return free
	case m.Lease >= 0.9:
		return ending
	case m.Renewal >= 1:
		return overdue
	case m.Renewal >= 0.75:
		return due
	case m.Renewal >= 0.25:
		return settled
	default:
		return renewed
	}
}

// reachable reports whether a fault can meet such a moment at all. It is
// reasoned, not measured: a cell that is reachable and was never reached is
// what the map is there to show.
func (c cell) reachable(p Pins) bool {
	fault, role, point, call := c.parts()
	example := faults.Catalogue()[fault]
	effect := example.Effect()
	if (effect.Store && !effect.Divides) != (role == asStore) {
		return false
	}
	switch role {
	case asStore:
		// Where there is no lease, there is none to delete, or to shorten.
		return point != free || !takesLease(example)
	case asLeader:
		return leaderReaches(point, call)
	case asFollower:
		// Only the leader is at work, and has writes to be held. A renewal is
		// given up with the belief that it was to extend: a follower has none
		// under way.
		return example != faults.PauseBeforeWrite{} && call != renew && p.Nodes != 1
	default:
		// A process that is gone calls nothing, and cannot be hit itself.
		return call == noCall && !hitsProcess(example) && p.Nodes != 1
	}
}

// takesLease reports whether the fault does something to a lease, and nothing
// where there is none.
func takesLease(f faults.Fault) bool {
	switch f.(type) {
	case faults.KeyDeleted, faults.StoreFlush, faults.Eviction, faults.StoreClockJump, faults.TTLRemoved:
		return true
	default:
		return false
	}
}

// leaderReaches tells what a leader can have under way at a point of its
// lease.
func leaderReaches(point, call int) bool {
	switch call {
	case acquire:
		// A first try that nobody answered hangs for one request time-out more,
		// while the second one is granted.
		return point == renewed
	case release:
		// A grant to an attempt long given up goes back while a later attempt
		// is granted.
		return point == renewed
	default:
		return true
	}
}

// hitsProcess reports whether the fault acts on the candidate's process, and not
// on what is around it.
func hitsProcess(f faults.Fault) bool {
	switch f.(type) {
	case faults.Crash, faults.Pause, faults.Suspend, faults.PauseBeforeWrite, faults.Resign:
		return true
	default:
		return false
	}
}

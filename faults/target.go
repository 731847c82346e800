package faults

import (
	"fmt"
	"slices"

	"github.com/recount-io/recount/history"
)

// Target says whom a fault hits. Who that is, is decided when the fault is put
// on: the leader of that moment, say.
type Target struct {
	role role
	node string
}

type role int

const (
	roleNode role = iota
	roleLeader
	roleFollower
	roleMinority
	roleAll
	roleStore
)

// The targets.
var (
	Leader   = Target{role: roleLeader}   // the candidate that leads
	Follower = Target{role: roleFollower} // one candidate that does not
	Minority = Target{role: roleMinority} // fewer than half of the candidates, the leader among them; of one or two, the leader
	All      = Target{role: roleAll}      // every candidate
	Store    = Target{role: roleStore}    // the store itself
)

// Node is the candidate of that name.
func Node(name string) Target { return Target{node: name} }

func (t Target) String() string {
	switch t.role {
	case roleLeader:
		return "the leader"
	case roleFollower:
		return "a follower"
	case roleMinority:
		return "a minority with the leader"
	case roleAll:
		return "all candidates"
	case roleStore:
		return "the store"
	default:
		return t.node
	}
}

// NeedsLeader tells whether the target can be told only while somebody leads.
func (t Target) NeedsLeader() bool {
	return t.role == roleLeader || t.role == roleFollower || t.role == roleMinority
}

// View is what a Target is resolved against.
type View struct {
	Running []string // candidates that run undisturbed, in their order
	Leader  string   // the one that leads, "" if none does
}

// Resolve returns the nodes that the target means just now. pick returns a
// number below n, from the run's seed. It is an error if there is no such node.
func (t Target) Resolve(v View, pick func(n int) int) ([]string, error) {
	if t.NeedsLeader() && v.Leader == "" {
		return nil, fmt.Errorf("faults: nobody leads, so there is no saying who is %v", t)
	}
	followers := slices.DeleteFunc(slices.Clone(v.Running), func(n string) bool { return n == v.Leader })
	switch t.role {
	case roleLeader:
		return []string{v.Leader}, nil
	case roleFollower:
		if len(followers) == 0 {
			return nil, fmt.Errorf("faults: no follower is running")
		}
		return []string{followers[pick(len(followers))]}, nil
	case roleMinority:
		nodes := []string{v.Leader}
		for len(nodes) < (len(v.Running)-1)/2 {
			i := pick(len(followers))
			nodes = append(nodes, followers[i])
			followers = slices.Delete(followers, i, i+1)
		}
		return nodes, nil
	case roleAll:
		if len(v.Running) == 0 {
			return nil, fmt.Errorf("faults: no candidate is running undisturbed")
		}
		return slices.Clone(v.Running), nil
	case roleStore:
		return []string{history.StoreTarget}, nil
	default:
		return []string{t.node}, nil
	}
}

package faults

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

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
	roleLeads
	roleFollower
	roleMinority
	roleAll
	roleStore
)

// The targets.
var (
	Leader        = Target{role: roleLeader}   // the candidate that leads and that no other fault hits
	PresentLeader = Target{role: roleLeads}    // the candidate that leads, even if another fault hits it already
	Follower      = Target{role: roleFollower} // one candidate that does not lead
	Minority      = Target{role: roleMinority} // fewer than half of the candidates, the leader among them; of one or two, the leader
	All           = Target{role: roleAll}      // every candidate
	Store         = Target{role: roleStore}    // the store itself
)

// Node is the candidate of that name.
func Node(name string) Target { return Target{node: name} }

// storeNode begins the name of one of the store's servers.
const storeNode = history.StoreTarget + "-"

// StoreNode is the n-th of the servers, from 1 on, of a store that is several
// independent ones. It is called "store-1" and so on. Only what stops, crashes
// and starts the store can hit one of them alone.
func StoreNode(n int) Target { return Target{node: storeNode + strconv.Itoa(n)} }

// IsStoreNode reports whether a target is called as one of the servers is.
func IsStoreNode(target string) bool { return strings.HasPrefix(target, storeNode) }

// Meets reports whether the two targets are called the same, or both are of the store.
func (t Target) Meets(other Target) bool {
	ofStore := func(t Target) bool { return t.role == roleStore || t.role == roleNode && IsStoreNode(t.node) }
	return t == other || ofStore(t) && ofStore(other)
}

// StoreNodes are the servers, counted from 0, that the targets of a fault mean,
// if the store has so many of them.
func StoreNodes(targets []string, of int) ([]int, error) {
	var which []int
	for _, target := range targets {
		number, isNode := strings.CutPrefix(target, storeNode)
		n, err := strconv.Atoi(number)
		switch {
		case target == history.StoreTarget:
			for i := range of {
				which = append(which, i)
			}
		case isNode && err == nil && 1 <= n && n <= of:
			which = append(which, n-1)
		default:
			return nil, NoEffect("there is no %q among the %d servers of the store", target, of)
		}
	}
	return which, nil
}

func (t Target) String() string {
	switch t.role {
	case roleLeader:
		return "the leader"
	case roleLeads:
		return "the present leader"
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

// roles are the targets that are no names of candidates, with what a hurried
// hand may write for them.
var roles = []struct {
	target Target
	short  string
}{{Leader, "leader"}, {PresentLeader, "present"}, {Follower, "follower"}, {Minority, "minority"}, {All, "all"}, {Store, "store"}}

const targetHelp = `give "the leader", "the present leader", "a follower", "a minority with the leader", "all candidates", "the store", or the name of a candidate, such as "n1", or of one of several servers of the store, such as "store-1"`

// ParseTarget undoes String: it reads what a target is called. "leader",
// "present", "follower", "minority", "all" and "store" will do as well. Any other
// word is the name of a candidate, or of a StoreNode: letters, digits and "-_.".
// Whether there is such a one, a world must say.
func ParseTarget(text string) (Target, error) {
	for _, r := range roles {
		if text == r.short || text == r.target.String() {
			return r.target, nil
		}
	}
	if text == "whoever leads" || text == "whoever" { // so it was called before
		return PresentLeader, nil
	}
	if text == "" || strings.ContainsFunc(text, notInNames) {
		return Target{}, fmt.Errorf("faults: nobody is called %q: %s", text, targetHelp)
	}
	return Node(text), nil
}

func notInNames(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.", r)
}

// MarshalText writes the target as String does. It is an error if ParseTarget
// would not read it as the same: a candidate must not be called "leader".
func (t Target) MarshalText() ([]byte, error) {
	again, err := ParseTarget(t.String())
	if err != nil {
		return nil, err
	}
	if again != t {
		return nil, fmt.Errorf("faults: a candidate called %q cannot be told from %v: give it another name", t.node, again)
	}
	return []byte(t.String()), nil
}

// UnmarshalText is ParseTarget.
func (t *Target) UnmarshalText(text []byte) error {
	target, err := ParseTarget(string(text))
	if err == nil {
		*t = target
	}
	return err
}

// NeedsLeader reports whether the target can be told only while somebody leads.
func (t Target) NeedsLeader() bool {
	return t.role == roleLeader || t.role == roleLeads || t.role == roleFollower || t.role == roleMinority
}

// leader is who leads, as far as the target cares: for most, a leader that a
// fault hits already does not count.
func (t Target) leader(v View) string {
	if t.role == roleLeads {
		return v.Leading
	}
	return v.Leader
}

// Known reports whether there is no need to wait for a leader, to tell who the
// target is.
func (t Target) Known(v View) bool { return !t.NeedsLeader() || t.leader(v) != "" }

// View is what a Target is resolved against.
type View struct {
	Running []string // candidates that run undisturbed, in their order
	Leader  string   // the one of them that leads, "" if none does
	Leading string   // the one that leads, whether it is disturbed or not
}

// Resolve returns the nodes that the target means just now. pick returns a
// number below n, from the run's seed. It is an error if there is no such node.
func (t Target) Resolve(v View, pick func(n int) int) ([]string, error) {
	if !t.Known(v) {
		return nil, fmt.Errorf("faults: nobody leads, so there is no saying who is %v", t)
	}
	followers := slices.DeleteFunc(slices.Clone(v.Running), func(n string) bool { return n == v.Leader })
	switch t.role {
	case roleLeader, roleLeads:
		return []string{t.leader(v)}, nil
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

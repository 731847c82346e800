package faults_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/recount-io/recount/faults"
)

func nodes(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("n%d", i+1)
	}
	return names
}

// first and last pick the two ends of what there is to choose from.
func first(int) int  { return 0 }
func last(n int) int { return n - 1 }

// Who a target is, in elections of 3, 5 and 20, with and without a leader.
func TestResolve(t *testing.T) {
	v := func(n int, leader string) faults.View { return faults.View{Running: nodes(n), Leader: leader} }
	for _, test := range []struct {
		target faults.Target
		view   faults.View
		pick   func(int) int
		want   string // nodes, or the error's words after "!"
	}{
		{faults.Leader, v(3, "n2"), first, "n2"},
		{faults.Leader, v(3, ""), first, "!nobody leads, so there is no saying who is the leader"},
		{faults.PresentLeader, v(3, ""), first, "!nobody leads, so there is no saying who is the present leader"},
		{faults.Follower, v(3, "n1"), first, "n2"},
		{faults.Follower, v(3, "n1"), last, "n3"},
		{faults.Follower, v(3, "n3"), last, "n2"},
		{faults.Follower, v(20, "n20"), last, "n19"},
		{faults.Follower, v(3, ""), first, "!nobody leads, so there is no saying who is a follower"},
		{faults.Follower, v(1, "n1"), first, "!no follower is running"},
		{faults.Minority, v(3, "n2"), first, "n2"},
		{faults.Minority, v(4, "n2"), first, "n2"},
		{faults.Minority, v(5, "n3"), first, "n3 n1"},
		{faults.Minority, v(5, "n3"), last, "n3 n5"},
		{faults.Minority, v(20, "n20"), first, "n20 n1 n2 n3 n4 n5 n6 n7 n8"},
		{faults.Minority, v(2, "n1"), first, "n1"},
		{faults.Minority, v(1, "n1"), first, "n1"},
		{faults.Minority, v(5, ""), first, "!nobody leads, so there is no saying who is a minority with the leader"},
		{faults.All, v(3, ""), first, "n1 n2 n3"},
		{faults.All, v(5, "n2"), first, "n1 n2 n3 n4 n5"},
		{faults.All, v(0, ""), first, "!no candidate is running undisturbed"},
		{faults.Store, v(0, ""), first, "store"},
		{faults.Store, v(3, "n1"), first, "store"},
		{faults.StoreNode(2), v(0, ""), first, "store-2"},
		{faults.Node("n2"), v(3, ""), first, "n2"},
		{faults.Node("n2"), v(1, "n1"), first, "n2"}, // a node that is meant by name is meant
		// Some are disturbed: only the others count.
		{faults.Follower, faults.View{Running: []string{"n2", "n5"}, Leader: "n5"}, first, "n2"},
		{faults.Minority, faults.View{Running: []string{"n2", "n4", "n5"}, Leader: "n5"}, first, "n5"},
		{faults.All, faults.View{Running: []string{"n4", "n2"}}, first, "n4 n2"},
		{faults.Leader, faults.View{Running: []string{"n2", "n5"}, Leading: "n1"}, first, "!nobody leads"},
		{faults.PresentLeader, faults.View{Running: []string{"n2", "n5"}, Leading: "n1"}, first, "n1"},
		{faults.PresentLeader, faults.View{Running: []string{"n2", "n5"}, Leader: "n2", Leading: "n2"}, first, "n2"},
	} {
		name := fmt.Sprintf("%v of %v led by %q", test.target, test.view.Running, test.view.Leader)
		got, err := test.target.Resolve(test.view, test.pick)
		if words, isError := strings.CutPrefix(test.want, "!"); isError {
			if err == nil || got != nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%s: %v, %v; want an error: %s", name, got, err, words)
			}
			continue
		}
		if err != nil || strings.Join(got, " ") != test.want {
			t.Errorf("%s: %v, %v; want %s", name, got, err, test.want)
		}
	}
}

// What a target is called, and whether it takes a leader to tell who it is.
func TestTargetNames(t *testing.T) {
	for target, want := range map[faults.Target]struct {
		name   string
		leader bool
	}{
		faults.Leader: {"the leader", true}, faults.PresentLeader: {"the present leader", true}, faults.Follower: {"a follower", true}, faults.Minority: {"a minority with the leader", true},
		faults.All: {"all candidates", false}, faults.Store: {"the store", false}, faults.Node("n7"): {"n7", false},
		faults.StoreNode(4): {"store-4", false},
	} {
		if target.String() != want.name || target.NeedsLeader() != want.leader {
			t.Errorf("%v needs a leader: %v; want %+v", target, target.NeedsLeader(), want)
		}
	}
}

// Which servers of a store of five the targets of a fault mean.
func TestStoreNodes(t *testing.T) {
	for targets, want := range map[string]string{
		"store": "[0 1 2 3 4]", "store-1": "[0]", "store-5 store-2": "[4 1]",
		"store-0": "!", "store-6": "!", "store-x": "!", "store-": "!", "n1": "!",
	} {
		got, err := faults.StoreNodes(strings.Fields(targets), 5)
		if errors.Is(err, faults.ErrNoEffect) != (want == "!") || err == nil && fmt.Sprint(got) != want {
			t.Errorf("%s: %v, %v; want %s", targets, got, err, want)
		}
	}
}

// For any candidates and any choice: nobody is hit twice, everybody hit runs,
// a minority has the leader and is less than half, a follower does not lead;
// and the view is left as it was.
func TestResolveProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		running := rapid.SliceOfNDistinct(rapid.SampledFrom(nodes(30)), 1, 30, rapid.ID).Draw(t, "running")
		view := faults.View{Running: slices.Clone(running), Leader: rapid.SampledFrom(running).Draw(t, "leader")}
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }
		for _, target := range []faults.Target{faults.Leader, faults.Follower, faults.Minority, faults.All} {
			got, err := target.Resolve(view, pick)
			if err != nil {
				if target != faults.Follower || len(running) > 1 {
					t.Fatalf("%v: %v", target, err)
				}
				continue
			}
			seen := map[string]bool{}
			for _, node := range got {
				if seen[node] || !slices.Contains(running, node) {
					t.Fatalf("%v is %v of %v", target, got, running)
				}
				seen[node] = true
			}
			switch {
			case target == faults.Minority && (!seen[view.Leader] || 2*len(got) >= len(running) && len(got) > 1),
				// As many as a minority can be.
				target == faults.Minority && 2*(len(got)+1) < len(running),
				target == faults.Follower && (seen[view.Leader] || len(got) != 1),
				target == faults.All && len(got) != len(running):
				t.Fatalf("%v is %v of %v led by %s", target, got, running, view.Leader)
			}
		}
		if !slices.Equal(view.Running, running) {
			t.Fatalf("the view changed to %v", view.Running)
		}
	})
}

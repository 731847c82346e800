package explore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/recount-io/recount/internal/raced"
)

// A state of several stores that was written and read again has the same
// successors as the world that went on, and the same is seen and broken on the way
// to each: in random walks through every such world. From one successor to the
// next, only what was touched is read again.
func TestFoldedMajoritiesGoOnAlike(t *testing.T) {
	walks := uint64(12)
	if raced.Enabled {
		walks = 2
	}
	for _, set := range Worlds() {
		if set.Stores == 0 {
			continue
		}
		t.Run(set.Name, func(t *testing.T) {
			t.Parallel()
			compared := 0
			for seed := range walks {
				compared += compareMajorityWalk(t, &set, rand.New(rand.NewPCG(seed, 1)))
			}
			if compared < 125*int(walks) {
				t.Errorf("only %d successors were compared", compared)
			}
		})
	}
}

// compareMajorityWalk walks through a concrete world, and compares all successors of
// each of its states with those of the folded one. Which store is which is lost in
// the fold, so the successors are compared as a set.
func compareMajorityWalk(t *testing.T, set *Settings, chance *rand.Rand) (compared int) {
	concrete, folded := newMajority(set, &Plant{}), newMajority(set, &Plant{})
	c := newMajorityCodec()
	for range 60 {
		state := c.append(nil, concrete.fork(nil).(*majority))
		folded.load(state, c)
		var ones, others []string
		actions := concrete.actions(nil)
		for _, a := range actions {
			one := concrete.fork(nil).(*majority)
			one.apply(a)
			ones = append(ones, outcomeOf(one, a))
		}
		around := folded.actions(nil)
		for i, a := range around {
			if i > 0 {
				folded.again(around[i-1], c)
			}
			folded.apply(a)
			others = append(others, outcomeOf(folded, a))
		}
		for _, one := range ones {
			i := slices.Index(others, one)
			if i < 0 {
				t.Fatalf("after %v the concrete world comes to\n%s\nand the folded one to none but\n%s", concrete.trail, one, strings.Join(others, "\n"))
			}
			others = slices.Delete(others, i, i+1)
		}
		if len(others) > 0 {
			t.Fatalf("after %v the folded world comes to\n%s\nbesides", concrete.trail, strings.Join(others, "\n"))
		}
		compared += len(ones)
		concrete.apply(actions[chance.IntN(len(actions))])
	}
	return compared
}

// outcomeOf is the kind of an action, what it showed and broke, and the state that it
// led to.
func outcomeOf(w *majority, a Action) string {
	return fmt.Sprintf("%v %q %v %d", a.Kind, w.broken, (w.sights &^ phases).Names(), newMajorityCodec().append(nil, w))
}

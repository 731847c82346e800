package explore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/recount-io/recount/internal/raced"
)

// A state of several stores or elections that was written and read again has the same
// successors as the world that went on, and the same is seen and broken on the way
// to each: in random walks through every such world. From one successor to the
// next, only what was touched is read again.
func TestFoldedPlainWorldsGoOnAlike(t *testing.T) {
	walks := uint64(12)
	if raced.Enabled {
		walks = 2
	}
	for _, set := range Worlds() {
		if !set.plain() {
			continue
		}
		t.Run(set.Name, func(t *testing.T) {
			t.Parallel()
			compared := 0
			for seed := range walks {
				compared += comparePlainWalk(t, &set, rand.New(rand.NewPCG(seed, 1)))
			}
			if compared < 125*int(walks) {
				t.Errorf("only %d successors were compared", compared)
			}
		})
	}
}

// comparePlainWalk walks through a concrete world, and compares all successors of
// each of its states with those of the folded one. Which store or election is which is
// lost in the fold, so the successors are compared as a set.
func comparePlainWalk(t *testing.T, set *Settings, chance *rand.Rand) (compared int) {
	concrete, folded := newPlain(set, &plant{}), newPlain(set, &plant{})
	var trail []Action
	for range 60 {
		folded.load(copied(concrete).append(nil))
		var ones, others []string
		actions := concrete.actions(nil)
		for _, a := range actions {
			one := copied(concrete)
			one.apply(a)
			ones = append(ones, outcomeOf(one, a))
		}
		around := folded.actions(nil)
		for i, a := range around {
			if i > 0 {
				folded.again(around[i-1])
			}
			folded.apply(a)
			others = append(others, outcomeOf(folded, a))
		}
		for _, one := range ones {
			i := slices.Index(others, one)
			if i < 0 {
				t.Fatalf("after %v the concrete world comes to\n%s\nand the folded one to none but\n%s", trail, one, strings.Join(others, "\n"))
			}
			others = slices.Delete(others, i, i+1)
		}
		if len(others) > 0 {
			t.Fatalf("after %v the folded world comes to\n%s\nbesides", trail, strings.Join(others, "\n"))
		}
		compared += len(ones)
		trail = append(trail, actions[chance.IntN(len(actions))])
		concrete.apply(trail[len(trail)-1])
	}
	return compared
}

// copied is an independent copy of a concrete world.
func copied(w plain) plain {
	if m, is := w.fork(nil).(*majority); is {
		return &writtenMajority{m, newMajorityCodec()}
	}
	return w.fork(nil).(plain)
}

// outcomeOf is the kind of an action, what it showed and broke, and the state that it
// led to.
func outcomeOf(w plain, a Action) string {
	news := w.news()
	return fmt.Sprintf("%v %q %v %d", a.Kind, news.broken, (news.sights &^ phases).Names(), w.append(nil))
}

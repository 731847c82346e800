package explore

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/recount-io/recount/internal/race"
)

// A state that was written and read again has the same successors as the world
// that went on, and the same is seen and broken on the way to each: in random
// walks through every world, where no concrete state is ever folded. From one
// successor to the next, only what was touched is read again.
func TestFoldedAndConcreteWorldsGoOnAlike(t *testing.T) {
	for _, set := range Worlds() {
		walks, steps := uint64(40), 120
		if set.Stores+set.Elections > 0 { // which take longer
			walks, steps = 12, 60
		}
		if race.Enabled {
			walks = max(walks/10, 2)
		}
		t.Run(set.Name, func(t *testing.T) {
			t.Parallel()
			compared := 0
			for seed := range walks {
				compared += compareWalk(t, &set, steps, rand.New(rand.NewPCG(seed, 1)))
			}
			if compared < 125*int(walks) {
				t.Errorf("only %d successors were compared", compared)
			}
		})
	}
}

// compareWalk walks through a concrete world, and compares all successors of each
// of its states with those of the folded one. Which candidate, store or election is
// which is lost in the fold, so the successors are compared as a set.
func compareWalk(t *testing.T, set *Settings, steps int, chance *rand.Rand) (compared int) {
	concrete, folded := newModel(set, &plant{}), newModel(set, &plant{})
	var trail []Action
	for range steps {
		state := concrete.fork(nil).append(nil)
		if w, is := concrete.(*world); is {
			alarmsChangeNothing(t, w, state)
		}
		ones, next := successors(concrete)
		folded.load(state)
		others := foldedSuccessors(folded)
		slices.Sort(ones)
		slices.Sort(others)
		if !slices.Equal(ones, others) {
			t.Fatalf("after %v the concrete world comes to\n%s\nand the folded one to\n%s", trail, strings.Join(ones, "\n"), strings.Join(others, "\n"))
		}
		compared += len(ones)
		if len(next) == 0 {
			break
		}
		one := next[chance.IntN(len(next))]
		concrete, trail = one.model, append(trail, one.by)
	}
	return compared
}

// successor is a concrete world after an action.
type successor struct {
	model
	by Action
}

// successors are the outcomes of all that may come next after a concrete world, and the
// worlds in which nothing is broken.
func successors(w model) (outcomes []string, next []successor) {
	for _, a := range w.actions(nil) {
		var planned []uint8
		for more := true; more; {
			one := w.fork(slices.Clone(planned))
			one.apply(a)
			outcomes = append(outcomes, outcomeOf(one.fork(nil), one.shared(), a))
			if one.tidyMessages(); one.shared().broken == "" {
				next = append(next, successor{one, a})
			}
			more = one.shared().random.next()
			planned = one.shared().random.planned
		}
	}
	return outcomes, next
}

// foldedSuccessors are the outcomes of all that may come next after a state that was read.
func foldedSuccessors(w model) (outcomes []string) {
	c := w.shared()
	c.random = dice{}
	var last *Action
	for _, a := range w.actions(nil) {
		for more := true; more; more = c.random.next() {
			if last != nil {
				w.again(*last)
			}
			last = &a
			c.random.faces = c.random.faces[:0]
			w.apply(a)
			outcomes = append(outcomes, outcomeOf(w, c, a))
		}
	}
	return outcomes
}

// outcomeOf is the kind of an action, what it showed and broke, what the dice had, and
// the state that it led to.
func outcomeOf(w model, c *common, a Action) string {
	text := fmt.Sprintf("%v %t %v %d", a.Kind, c.broken != "", (c.observations &^ phases).Names(), c.random.faces)
	if c.broken != "" {
		return text
	}
	return fmt.Sprintf("%s %d", text, w.append(nil))
}

// alarmsChangeNothing demands that a wake-up that only the concrete world has
// comes to the same state: it is for the alarm of a silent store.
func alarmsChangeNothing(t *testing.T, w *world, state []byte) {
	for i := range w.nodes {
		n := &w.nodes[i]
		if !n.up || w.due(n) || n.m.Wake() > n.now {
			continue
		}
		woken := w.clone()
		woken.apply(Action{Kind: Wake, Node: uint8(i)})
		if after := woken.append(nil); !bytes.Equal(after, state) {
			t.Fatalf("an alarm changes\n%v into\n%v", state, after)
		}
	}
}

// phases are observations that depend on the way to a state.
const phases = SawTakenOver | SawRegained

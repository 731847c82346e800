package explore

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/recount-io/recount/internal/raced"
)

// A state that was written and read again has the same successors as the world
// that went on, and the same is seen and broken on the way to each: in random
// walks through every world, where no concrete state is ever folded. From one
// successor to the next, only what was touched is read again.
func TestFoldedAndConcreteWorldsGoOnAlike(t *testing.T) {
	walks := uint64(40)
	if raced.Enabled {
		walks = 4
	}
	for _, set := range Worlds() {
		if set.plain() {
			continue // see TestFoldedPlainWorldsGoOnAlike
		}
		t.Run(set.Name, func(t *testing.T) {
			t.Parallel()
			compared := 0
			for seed := range walks {
				compared += compareWalk(t, &set, rand.New(rand.NewPCG(seed, 1)))
			}
			if compared < 125*int(walks) {
				t.Errorf("only %d successors were compared", compared)
			}
		})
	}
}

// compareWalk walks through a concrete world, and compares all successors of each
// of its states with those of the folded one.
func compareWalk(t *testing.T, set *Settings, chance *rand.Rand) (compared int) {
	concrete, folded := newWorld(set, &plant{}), newWorld(set, &plant{})
	var c codec
	for range 120 {
		state := c.append(nil, concrete.clone())
		order := slices.Clone(c.chosen)
		folded.load(state)
		alarmsChangeNothing(t, concrete, state)
		actions := concrete.actions(nil)
		sameActions(t, actions, folded.actions(nil), order)
		var next []*world
		for _, a := range actions {
			var told []uint8
			for more := true; more; {
				one := concrete.clone()
				one.random.told = slices.Clone(told)
				one.apply(a)
				folded.again()
				folded.random = dice{told: slices.Clone(told)}
				folded.apply(renamed(a, order))
				same(t, one, folded, a)
				compared++
				if one.tidyMessages(); one.broken == "" {
					next = append(next, one)
				}
				more = one.random.next()
				told = one.random.told
			}
		}
		if len(next) == 0 {
			break
		}
		concrete = next[chance.IntN(len(next))]
	}
	return compared
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
		if after := new(codec).append(nil, woken); !bytes.Equal(after, state) {
			t.Fatalf("an alarm changes\n%v into\n%v", state, after)
		}
	}
}

// renamed is an action in a world whose nodes stand in another order.
func renamed(a Action, order []int) Action {
	a.Node = uint8(slices.Index(order, int(a.Node)))
	switch {
	case a.Kind == HandOver:
		a.Index = uint8(slices.Index(order, int(a.Index)))
	case a.Kind == Tick && a.Index > 0:
		a.Index = uint8(slices.Index(order, int(a.Index)-1)) + 1
	}
	if a.Kind == Tick || a.Kind == Appear || a.Kind == Restart || a.Kind == Forget || a.Kind == Save || a.Kind == Rewind || a.Kind == Jump {
		a.Node = 0
	}
	return a
}

func sameActions(t *testing.T, concrete, folded []Action, order []int) {
	t.Helper()
	if len(concrete) != len(folded) {
		t.Fatalf("%v may happen in the concrete world and %v in the folded one", concrete, folded)
	}
	for _, a := range concrete {
		if !slices.Contains(folded, renamed(a, order)) {
			t.Fatalf("%v may happen in the concrete world and not in the folded one: %v", a, folded)
		}
	}
}

func same(t *testing.T, one, other *world, a Action) {
	t.Helper()
	if (one.broken == "") != (other.broken == "") || one.sights&^phases != other.sights&^phases {
		t.Fatalf("%v: the concrete world says %q and %v, the folded one %q and %v", a, one.broken, one.sights.Names(), other.broken, other.sights.Names())
	}
	if !slices.Equal(one.random.faces, other.random.faces) {
		t.Fatalf("%v: the dice have %v in the concrete world and %v in the folded one", a, one.random.faces, other.random.faces)
	}
	if one.broken != "" {
		return
	}
	var c, d codec
	x, y := c.append(nil, one.clone()), d.append(nil, other.clone())
	if !bytes.Equal(x, y) {
		t.Fatalf("%v: the concrete world comes to\n%v\nand the folded one to\n%v", a, x, y)
	}
}

// phases are sights that depend on the way to a state.
const phases = SawTakenOver | SawRegained

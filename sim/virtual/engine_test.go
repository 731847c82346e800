package virtual

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// note is an actor that notes that it acted.
type note struct {
	agenda *agenda
	acted  *[]planned
}

type planned struct {
	at  time.Duration
	seq uint64
}

func (n note) act(arg uint64) { *n.acted = append(*n.acted, planned{n.agenda.now, arg}) }

// Whatever is planned, and whenever: it happens in the order of its times, and
// in the order of planning where these are the same; what was planned for the
// past happens now. The reference is a sorted slice.
func TestAgendaOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a agenda
		var acted, want, open []planned
		for seq := range rapid.Uint64Range(0, 200).Draw(t, "plans") {
			at := time.Duration(rapid.IntRange(0, 60).Draw(t, "at"))
			a.plan(at, note{&a, &acted}, seq)
			open = append(open, planned{max(at, a.now), seq})
			if rapid.IntRange(0, 2).Draw(t, "go on") > 0 {
				continue
			}
			end := a.now + time.Duration(rapid.IntRange(0, 8).Draw(t, "by"))
			for a.next(end) {
				heaped(t, &a)
			}
			if a.now != end {
				t.Fatalf("it is %v, want %v", a.now, end)
			}
			slices.SortStableFunc(open, func(x, y planned) int { return cmp.Compare(x.at, y.at) })
			n := 0
			for n < len(open) && open[n].at < end {
				n++
			}
			want = append(want, open[:n]...)
			open = open[n:]
			if !slices.Equal(acted, want) {
				t.Fatalf("acted %v, want %v", acted, want)
			}
		}
	})
}

// heaped demands that nothing is planned before its parent.
func heaped(t *rapid.T, a *agenda) {
	for i := 1; i < len(a.heap); i++ {
		if parent := (i - 1) / children; a.heap[i].before(&a.heap[parent]) {
			t.Fatalf("%d comes before its parent %d", i, parent)
		}
	}
}

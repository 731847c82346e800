package bubble_test

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
)

// A seed gives the same history, to the byte, as long as one goroutine runs at a
// time: no two things happen at one moment whose order the scheduler would choose,
// but for what a machine under load interrupts. So of several runs most agree.
func TestSameSeedSameBytes(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector makes the scheduler choose at random")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // its workers are goroutines, too
	const runs = 5
	for seed := range uint64(4) {
		plan := planOf(t, "mixed", scenarios.Settings{Seed: seed})
		if agree, _, _ := repeat(t, plan, 2); agree == 2 {
			continue
		}
		agree, one, other := repeat(t, plan, runs)
		t.Logf("seed %d: %d of %d histories agree", seed, agree, runs)
		if agree <= runs/2 {
			at := differ(one, other)
			t.Errorf("seed %d: two histories of %d and %d bytes differ from byte %d on:\n%s\n%s", seed, len(one), len(other), at, around(one, at), around(other, at))
		}
	}
}

// repeat carries out a plan so many times. It returns how many histories agree at
// the most, and two that differ, if there are.
func repeat(t *testing.T, plan sim.Plan, runs int) (agree int, one, other []byte) {
	t.Helper()
	seen := map[string]int{}
	for range runs {
		text := written(t, carryOut(t, plan))
		if one == nil {
			one = text
		} else if !bytes.Equal(one, text) {
			other = text
		}
		seen[string(text)]++
		agree = max(agree, seen[string(text)])
	}
	return agree, one, other
}

func written(t *testing.T, h *history.History) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := h.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// differ is the first byte in which the two differ.
func differ(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// around are the lines about a byte.
func around(text []byte, at int) []byte { return text[max(0, at-400):min(len(text), at+400)] }

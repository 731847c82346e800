package crowd_test

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/recount-io/recount/internal/raced"
	"github.com/recount-io/recount/sim/bubble/crowd"
)

// One number repeats a case: mostly to the byte, on one core.
func TestRepeats(t *testing.T) {
	if raced.Enabled {
		t.Skip("the race detector schedules anew")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const cases = 12
	same := 0
	for number := range uint64(cases) {
		var runs [2]bytes.Buffer
		for i := range runs {
			o, _ := carryOut(t, crowd.Draw(1000+number))
			if err := o.History.Write(&runs[i]); err != nil {
				t.Fatal(err)
			}
		}
		if bytes.Equal(runs[0].Bytes(), runs[1].Bytes()) {
			same++
		}
	}
	t.Logf("%d of %d cases were the same twice", same, cases)
	if same < cases/2 {
		t.Errorf("only %d of %d cases were the same twice", same, cases)
	}
}

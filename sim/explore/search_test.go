package explore

import (
	"testing"

	"github.com/recount-io/recount/internal/race"
)

// skipLong skips what takes millions of states, on one goroutine.
func skipLong(t *testing.T) {
	if race.Enabled || testing.Short() {
		t.Skip("it takes too long here, and the race detector would see one goroutine")
	}
}

// The elector breaks nothing in any schedule of the small worlds: each is walked to
// its end, and what must be seen is seen.
func TestSmallWorlds(t *testing.T) {
	skipLong(t)
	for _, set := range Worlds() {
		if set.Large {
			continue
		}
		t.Run(set.Name, func(t *testing.T) {
			t.Parallel()
			r, err := Search(&set, Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d states, %d edges, depth %d", r.States, r.Edges, r.Depth)
			switch missing := r.Missing(); {
			case r.Broken != "":
				t.Fatalf("%s\n%s", r.Broken, r.Path.Text())
			case !r.Finished || len(missing) > 0:
				t.Errorf("finished: %t; never seen: %v", r.Finished, missing)
			}
		})
	}
}

// The first states of every world, the large ones too, break nothing.
func TestBeginningsOfWorlds(t *testing.T) {
	states := 20_000
	if race.Enabled {
		states = 2000
	}
	for _, set := range Worlds() {
		states := states
		if set.Stores+set.Elections > 0 {
			states /= 4 // which take longer, or have not many more
		}
		r, err := Search(&set, Options{States: states})
		switch {
		case err != nil:
			t.Fatal(err)
		case r.Broken != "":
			t.Errorf("%s: %s\n%s", set.Name, r.Broken, r.Path.Text())
		case r.States < states || r.Finished || r.Waiting == 0:
			t.Errorf("%s: %d states, finished %t, %d waiting", set.Name, r.States, r.Finished, r.Waiting)
		}
	}
}

// A search ends at its limit, and says that it is not through.
func TestSearchIsBounded(t *testing.T) {
	set := Find("delays")
	r, err := Search(set, Options{Depth: 10})
	if err != nil || r.Depth != 10 || r.Finished || r.Waiting == 0 {
		t.Errorf("%v: depth %d, finished %t, %d waiting", err, r.Depth, r.Finished, r.Waiting)
	}
	asked := 0
	r, err = Search(set, Options{Stop: func() bool { asked++; return asked > 1 }})
	if err != nil || r.Finished {
		t.Errorf("%v: finished %t after it was stopped", err, r.Finished)
	}
	wrong := *set
	wrong.Candidates = 4
	if _, err := Search(&wrong, Options{}); err == nil {
		t.Error("four candidates were taken")
	}
}

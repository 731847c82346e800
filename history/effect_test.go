package history_test

import (
	"testing"

	"github.com/recount-io/recount/history"
)

// A name is looked up as it is, not by its letters; what nobody injected holds its
// target up.
func TestEffectOf(t *testing.T) {
	for name, want := range map[string]history.Effect{
		"partition": {Cuts: true}, "stall": {Holds: true}, "crash": {}, "overload": {},
		"": {}, "store-partition": {}, "partitions": {}, "Pause": {}, "pause-leader": {}, "isolation": {}, "data-lost": {},
	} {
		if got := history.EffectOf(name); got != want {
			t.Errorf("%q is %+v, want %+v", name, got, want)
		}
	}
}

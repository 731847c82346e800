package protocol

import (
	"testing"
	"time"
)

// TestLateness shows what of being late is worth a word: one long delay, and many short
// ones that make up much of some time, but not the same delays now and then.
func TestLateness(t *testing.T) {
	const ms = time.Millisecond
	for name, x := range map[string]struct {
		late  func(turn int) time.Duration
		turns int
		want  []time.Duration // what it tells
	}{
		"in time":                 {func(int) time.Duration { return ms }, 10_000, nil},
		"once":                    {func(turn int) time.Duration { return 300 * ms * time.Duration(turn/9) }, 10, []time.Duration{300 * ms}},
		"once, a bit less":        {func(turn int) time.Duration { return 249 * ms * time.Duration(turn/9) }, 10, nil},
		"a quarter of the time":   {func(int) time.Duration { return 6 * ms }, 10_000, nil},
		"most of the time":        {func(int) time.Duration { return 40 * ms }, 10, []time.Duration{580 * ms}},
		"most of the time, still": {func(int) time.Duration { return 40 * ms }, 20, []time.Duration{580 * ms, 580 * ms}},
		"now and then":            {func(turn int) time.Duration { return 100 * ms * time.Duration(turn%20/19) }, 10_000, nil},
	} {
		t.Run(name, func(t *testing.T) {
			l := lateness{least: 250 * ms}
			var reported []time.Duration
			var now time.Duration
			for turn := range x.turns {
				now += StallPeriod + x.late(turn)
				if lasted := l.woke(now); lasted > 0 {
					reported = append(reported, lasted)
				}
			}
			if len(reported) != len(x.want) {
				t.Fatalf("it reported %v, not %v", reported, x.want)
			}
			for i := range reported {
				if reported[i] != x.want[i] {
					t.Errorf("it reported %v, not %v", reported, x.want)
				}
			}
		})
	}
}

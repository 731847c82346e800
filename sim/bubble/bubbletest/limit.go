package bubbletest

import (
	"fmt"
	"time"

	"github.com/recount-io/recount/internal/endless"
	"github.com/recount-io/recount/internal/race"
)

// bounds are many times what any case takes. Fake time stands still in a bubble that passes
// them, and with it every limit inside.
var bounds = endless.Limits{
	Processor: map[bool]time.Duration{false: 45 * time.Second, true: 10 * time.Minute}[race.Enabled],
	Idle:      time.Minute,
	Heap:      3 << 30,
	Bubble:    true,
}

// Limit sets the time, of the processors and without them, after which a bubble counts as
// endless. It must be called before the first bubble.
func Limit(d time.Duration) { bounds.Processor, bounds.Idle = d, d }

// Endless is how the panic begins that ends a process whose bubble is endless.
const Endless = "an endless bubble: "

// watch ends the process, with the seed and with what runs, when its bubble passes a
// limit. The function that it returns ends the watch.
func watch(seed uint64) (end func()) {
	return endless.Start(bounds, func(why string) { panic(fmt.Sprintf("%sseed %d: %s", Endless, seed, why)) }).End
}

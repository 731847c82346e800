package soak

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/live/network"
	"github.com/recount-io/recount/sim/protocol"
	"github.com/recount-io/recount/sim/stage"
)

// usages is what processes consume, sample by sample.
type usages struct {
	now   func() time.Duration
	every time.Duration

	mu  sync.Mutex
	all map[string][]sample // by process: those that live as long as the soak

	stranded int // goroutines of the harness that are toxiproxy's, and wait for ever
}

// sample is what a process consumes at a time.
type sample struct {
	at time.Duration
	history.Usage
	leads int
}

// add records what a candidate said of itself, and looks at the rest from outside.
func (u *usages) add(m *member, pid int, own history.Usage, leads int) {
	if m.place != 1 {
		return // it is started again now and then
	}
	u.take(m.label(), fmt.Sprintf("/proc/%d", pid), own, leads)
}

func (u *usages) take(process, folder string, own history.Usage, leads int) {
	seen, _ := protocol.UsageOf(folder)
	own.Resident, own.Descriptors = seen.Resident, seen.Descriptors
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all == nil {
		u.all = map[string][]sample{}
	}
	u.all[process] = append(u.all[process], sample{u.now(), own, leads})
}

// watch samples the harness itself. What toxiproxy leaves behind is counted apart: it
// would hide that anything else grows.
func (u *usages) watch(ctx context.Context) {
	for stage.Sleep(ctx, u.every) {
		goroutines, heap := protocol.OwnUsage()
		stranded := network.Stranded()
		u.take("harness", "/proc/self", history.Usage{Goroutines: goroutines - int64(stranded), Heap: heap}, 0)
		u.mu.Lock()
		u.stranded = stranded
		u.mu.Unlock()
	}
}

// Growth is how one thing that a process consumes went on in the second half of a
// soak.
type Growth struct {
	Process, Thing string
	First, Last    int64 // medians of the first and the last quarter of that half
	Samples        int
	Slope          float64 // per hour: the median of the slopes between all pairs of samples
	Bound          float64 // so much more, at the slope, at the end of the half than at its begin is not flat
	Flat           bool
}

// things are what has to be flat, with what is not yet growth: a share of what there
// is, and an amount. Memory comes and goes by whole pages and spans.
var things = []struct {
	name  string
	of    func(sample) int64
	share float64
	least float64
}{
	{"goroutines", func(s sample) int64 { return s.Goroutines - int64(s.leads) }, 0.20, 60}, // a leader has one more
	{"descriptors", func(s sample) int64 { return s.Descriptors }, 0.10, 8},
	{"heap", func(s sample) int64 { return s.Heap }, 0.15, 4 << 20},
	{"resident", func(s sample) int64 { return s.Resident }, 0.15, 16 << 20},
}

// leastSamples is with how many samples one can speak of a slope.
const leastSamples = 30

// growths judges all processes, and tells what toxiproxy left behind in the harness.
func (u *usages) growths() (all []Growth, stranded int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	var names []string
	for name := range u.all {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		samples := u.all[name]
		samples = samples[len(samples)/2:]
		for _, thing := range things {
			g := growth(samples, thing.of, thing.share, thing.least)
			g.Process, g.Thing = name, thing.name
			all = append(all, g)
		}
	}
	return all, u.stranded
}

// growth is the rule: the median of the slopes between all pairs of samples, which a
// few odd ones do not move, times the time from the first to the last one, is what
// grew. It is flat if that is no more than the larger of the share of the median and
// the least amount.
func growth(samples []sample, of func(sample) int64, share, least float64) Growth {
	g := Growth{Samples: len(samples), Flat: true}
	if len(samples) < leastSamples {
		return g
	}
	var values []int64
	var slopes []float64
	for i, s := range samples {
		values = append(values, of(s))
		for _, before := range samples[:i] {
			slopes = append(slopes, float64(of(s)-of(before))/(s.at-before.at).Hours())
		}
	}
	slices.Sort(slopes)
	quarter := max(1, len(values)/4)
	g.First, g.Last = median(values[:quarter]), median(values[len(values)-quarter:])
	g.Slope = slopes[len(slopes)/2]
	g.Bound = max(share*float64(median(values)), least)
	g.Flat = g.Slope*(samples[len(samples)-1].at-samples[0].at).Hours() <= g.Bound
	return g
}

func median(values []int64) int64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

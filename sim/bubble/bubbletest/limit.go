package bubbletest

import (
	"fmt"
	"regexp"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/internal/processor"
	"github.com/recount-io/recount/internal/raced"
)

// limits are what a bubble may take before it counts as endless. Fake time stands still
// in such a bubble, and with it every limit inside.
type limits struct {
	processor time.Duration // time of the processors
	idle      time.Duration // real time in which the processors do nothing
	heap      uint64        // bytes
}

// bounds are many times what any case takes.
var bounds = limits{
	processor: map[bool]time.Duration{false: 45 * time.Second, true: 10 * time.Minute}[raced.Enabled],
	idle:      time.Minute,
	heap:      3 << 30,
}

// Limit sets the time, of the processors and without them, after which a bubble counts as
// endless. It must be called before the first bubble.
func Limit(d time.Duration) { bounds.processor, bounds.idle = d, d }

// Endless is how the panic begins that ends a process whose bubble is endless.
const Endless = "an endless bubble: "

// watch ends the process, with the seed and with what runs, when its bubble passes a
// limit. The function that it returns ends the watch.
func watch(seed uint64, l limits) (end func()) {
	over := make(chan struct{})
	w := watcher{limits: l, began: processor.Time(), busy: time.Now()}
	go func() {
		look := time.NewTicker(min(l.processor, l.idle) / 200)
		defer look.Stop()
		for {
			select {
			case <-over:
				return
			case <-look.C:
				if why := w.look(); why != "" {
					panic(fmt.Sprintf("%sseed %d: %s", Endless, seed, why))
				}
			}
		}
	}()
	return func() { close(over) }
}

// watcher looks at one bubble.
type watcher struct {
	limits
	began time.Duration // of the processors
	used  time.Duration // at the last look
	busy  time.Time     // when the processors were seen to work last
}

// look returns why the bubble is endless, or "".
func (w *watcher) look() string {
	used := processor.Time() - w.began
	if used-w.used > w.idle/2000 { // to look takes less
		w.busy = time.Now()
	}
	w.used = used
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(heap)
	switch {
	case used > w.processor:
		return fmt.Sprintf("something spins: %v of the processors were used%s", used.Round(time.Millisecond), functions("running", "runnable"))
	case time.Since(w.busy) > w.idle:
		return fmt.Sprintf("something stands still in real time: nothing has run for %v%s", w.idle, functions("sync.Mutex.Lock", "sync.RWMutex", "IO wait", "syscall", "select", "chan"))
	case heap[0].Value.Uint64() > w.heap:
		return fmt.Sprintf("something takes all memory: the heap has %d MiB%s", heap[0].Value.Uint64()>>20, functions("running", "runnable"))
	default:
		return ""
	}
}

// goroutine is a goroutine of a bubble in a dump of all stacks, with its state.
var goroutine = regexp.MustCompile(`^goroutine \d+ (?:gp=\S+ m=\S+ )?\[([^\]]*synctest bubble[^\]]*)\]:`)

// functions names the functions of this module in which goroutines of the bubble are
// that are in one of those states.
func functions(states ...string) string {
	const module = "github.com/recount-io/recount/"
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	var all []string
	for one := range strings.SplitSeq(string(stacks), "\n\n") {
		m := goroutine.FindStringSubmatch(one)
		if m == nil || !slices.ContainsFunc(states, func(state string) bool { return strings.HasPrefix(m[1], state) }) {
			continue
		}
		for line := range strings.Lines(one) {
			if name, is := strings.CutPrefix(line, module); is && !strings.HasPrefix(name, "sim/bubble/bubbletest.Run") {
				all = append(all, name[:strings.LastIndexByte(name, '(')])
				break
			}
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return " in " + strings.Join(all[:min(len(all), 5)], ", ")
}

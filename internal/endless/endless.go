// Package endless notices work that does not come to an end: it spins, stands still or
// takes all memory.
package endless

import (
	"fmt"
	"regexp"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recount-io/recount/internal/processor"
)

// Limits are what a piece of work may take before it counts as endless.
type Limits struct {
	Processor time.Duration // time of the processors
	Idle      time.Duration // real time in which the processors do nothing
	Heap      uint64        // bytes, of the whole process
	Bubble    bool          // only goroutines in a bubble of testing/synctest are named
}

// Watch looks at the work of this process until it is ended.
type Watch struct {
	limits Limits
	over   chan struct{}

	mu    sync.Mutex
	began time.Duration // of the processors, when the piece of work began
	used  time.Duration // at the last look
	busy  time.Time     // when the processors were seen to work last
}

// Start starts a watch. When a piece of work passes a limit, tell is called once, with what
// is wrong and with the functions of this module that do it, and the watch ends.
func Start(l Limits, tell func(why string)) *Watch {
	w := &Watch{limits: l, over: make(chan struct{}), began: processor.Time(), busy: time.Now()}
	go func() {
		look := time.NewTicker(min(l.Processor, l.Idle) / 200)
		defer look.Stop()
		for {
			select {
			case <-w.over:
				return
			case <-look.C:
				if why := w.look(); why != "" {
					tell(why)
					return
				}
			}
		}
	}()
	return w
}

// End ends the watch.
func (w *Watch) End() { close(w.over) }

// Next says that a piece of work has ended and the next one begins.
func (w *Watch) Next() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.began, w.used, w.busy = processor.Time(), 0, time.Now()
}

// look returns why the work is endless, or "".
func (w *Watch) look() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	used := processor.Time() - w.began
	if used-w.used > w.limits.Idle/2000 { // to look takes less
		w.busy = time.Now()
	}
	w.used = used
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(heap)
	switch {
	case used > w.limits.Processor:
		return fmt.Sprintf("something spins: %v of the processors were used%s", used.Round(time.Millisecond), w.functions("running", "runnable"))
	case time.Since(w.busy) > w.limits.Idle:
		return fmt.Sprintf("something stands still in real time: nothing has run for %v%s", w.limits.Idle, w.functions("sync.Mutex.Lock", "sync.RWMutex", "IO wait", "syscall", "select", "chan"))
	case heap[0].Value.Uint64() > w.limits.Heap:
		return fmt.Sprintf("something takes all memory: the heap has %d MiB%s", heap[0].Value.Uint64()>>20, w.functions("running", "runnable"))
	default:
		return ""
	}
}

// goroutine is a goroutine in a dump of all stacks, with its state.
var goroutine = regexp.MustCompile(`^goroutine \d+ (?:gp=\S+ m=\S+ )?\[([^\]]*)\]:`)

// module is how the names of this module's functions begin.
const module = "github.com/recount-io/recount/"

// functions names the functions of this module in which goroutines are that are in one of
// those states.
func (w *Watch) functions(states ...string) string {
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	var all []string
	for one := range strings.SplitSeq(string(stacks), "\n\n") {
		m := goroutine.FindStringSubmatch(one)
		if m == nil || w.limits.Bubble && !strings.Contains(m[1], "synctest bubble") ||
			!slices.ContainsFunc(states, func(state string) bool { return strings.HasPrefix(m[1], state) }) {
			continue
		}
		if name := first(one); name != "" {
			all = append(all, name)
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return " in " + strings.Join(all[:min(len(all), 5)], ", ")
}

// first is the innermost function of this module in a stack. What only watches is none.
func first(stack string) string {
	for line := range strings.Lines(stack) {
		name, is := strings.CutPrefix(line, module)
		if !is {
			continue
		}
		if strings.HasPrefix(name, "internal/endless.") || strings.HasPrefix(name, "sim/bubble/bubbletest.Run") {
			return ""
		}
		return name[:strings.LastIndexByte(name, '(')]
	}
	return ""
}

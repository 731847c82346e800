package live

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/protocol"
	"github.com/recount-io/recount/sim/stage"
)

// measure records every protocol.UsagePeriod what a candidate's process
// consumes, whatever program it is, as far as the system tells. It goes on
// until stop is called, and stop returns when it is over.
func (c *candidate) measure(pid int) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var measuring sync.WaitGroup
	measuring.Go(func() {
		for stage.Sleep(ctx, protocol.UsagePeriod) {
			if u, seen := usageOf(fmt.Sprintf("/proc/%d", pid)); seen {
				c.recorder.Stamp(history.Event{Kind: history.Note, Node: c.node, Usage: &u})
			}
		}
	})
	return func() { cancel(); measuring.Wait() }
}

// measureSelf records every protocol.UsagePeriod what the harness's own
// process consumes, until ctx is done.
func measureSelf(ctx context.Context, recorder *history.Recorder) {
	protocol.Usages(ctx, func(goroutines, heap int64) {
		u, _ := usageOf("/proc/self")
		u.Goroutines, u.Heap = goroutines, heap
		recorder.Stamp(history.Event{Kind: history.Note, Usage: &u})
	})
}

// toldUsage is what a candidate says that it consumes.
func toldUsage(node string, line protocol.Line) history.Event {
	return history.Event{Kind: history.Note, Node: node, Usage: &history.Usage{
		Goroutines: max(line.Goroutines, 0), Heap: max(line.HeapBytes, 0),
	}}
}

// usageOf reads what a process consumes from its folder in Linux's /proc. It
// reports false where there is none, and for a process that has ended.
func usageOf(folder string) (u history.Usage, seen bool) {
	status, err := os.ReadFile(folder + "/status")
	if err != nil {
		return u, false
	}
	u.Resident = 1024 * field(status, "VmRSS:")
	u.Threads = field(status, "Threads:")
	u.Processor = processorTime(folder)
	if open, err := os.ReadDir(folder + "/fd"); err == nil {
		u.Descriptors = int64(len(open))
	}
	return u, u.Resident > 0
}

// processorTime is for how many milliseconds processors worked for a process, by the 14th and
// the 15th field of its line in Linux's /proc, which count hundredths of a second.
func processorTime(folder string) int64 {
	line, err := os.ReadFile(folder + "/stat")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(line[bytes.LastIndexByte(line, ')')+1:]) // the name before may have blanks; the 3rd field is first
	const user, system = 14 - 3, 15 - 3
	if len(fields) <= system {
		return 0
	}
	ticks := int64(0)
	for _, i := range []int{user, system} {
		n, _ := strconv.ParseInt(string(fields[i]), 10, 64) // 0: not known
		ticks += n
	}
	return 10 * ticks
}

// field is the number behind a name in a process's status.
func field(status []byte, name string) int64 {
	for line := range bytes.Lines(status) {
		if rest, found := bytes.CutPrefix(line, []byte(name)); found {
			words := bytes.Fields(rest)
			if len(words) == 0 {
				return 0
			}
			value, _ := strconv.ParseInt(string(words[0]), 10, 64) // 0: not known
			return value
		}
	}
	return 0
}

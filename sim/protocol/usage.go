package protocol

import (
	"bytes"
	"context"
	"os"
	"runtime/metrics"
	"strconv"
	"time"

	"github.com/recount-io/recount/history"
)

// UsagePeriod is how often it is looked at what a process consumes: often
// enough for the processes of a scenario that keeps killing them, and seldom
// enough to cost nothing.
const UsagePeriod = time.Second

// Usages calls report with what this process consumes, every UsagePeriod until
// ctx is done.
func Usages(ctx context.Context, report func(goroutines, heap int64)) {
	ticker := time.NewTicker(UsagePeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			report(OwnUsage())
		}
	}
}

// OwnUsage is how many goroutines this process has, and how many bytes its
// last garbage collection left alive: 0 before the first one.
func OwnUsage() (goroutines, heap int64) {
	samples := []metrics.Sample{{Name: "/sched/goroutines:goroutines"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64()), int64(samples[1].Value.Uint64())
}

// UsageOf reads what a process consumes from its folder in Linux's /proc. It
// reports false where there is none, and for a process that has ended.
func UsageOf(folder string) (u history.Usage, seen bool) {
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

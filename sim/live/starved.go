package live

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/stage"
)

// starvedShare is the part of a stretch of time for which a process must wait for a
// processor before it counts as starved.
const starvedShare = 0.5

// starvedPeriod is how often the kernel's counters are read at most: some of them count
// hundredths of a second.
const starvedPeriod = 100 * time.Millisecond

// proc is the folder in which Linux tells what its processes do. Other systems have none,
// and nobody is seen to starve there.
type proc string

// work is for how long threads ran on a processor and waited for one.
type work struct{ ran, waited time.Duration }

// threads reads the work of each thread of a process so far.
func (p proc) threads(pid int) map[string]work {
	folder := fmt.Sprintf("%s/%d/task", p, pid)
	tasks, err := os.ReadDir(folder)
	if err != nil {
		return nil // it has ended
	}
	all := make(map[string]work, len(tasks))
	for _, t := range tasks {
		text, err := os.ReadFile(folder + "/" + t.Name() + "/schedstat")
		if fields := bytes.Fields(text); err == nil && len(fields) >= 2 {
			all[t.Name()] = work{time.Duration(number(fields[0])), time.Duration(number(fields[1]))}
		}
	}
	return all
}

// children counts page faults of the process's children that have ended: it grows with
// each of them.
func (p proc) children(pid int) int64 {
	line, err := os.ReadFile(fmt.Sprintf("%s/%d/stat", p, pid))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(line[bytes.LastIndexByte(line, ')')+1:]) // the 3rd field is first
	const cminflt = 11 - 3
	if len(fields) <= cminflt {
		return 0
	}
	return number(fields[cminflt])
}

// pressure is for how long some task of the machine waited for a processor so far.
// See Documentation/accounting/psi.rst of the kernel.
func (p proc) pressure() time.Duration {
	text, err := os.ReadFile(string(p) + "/pressure/cpu")
	if err != nil {
		return 0
	}
	some, _, _ := bytes.Cut(text, []byte("\n"))
	_, total, _ := bytes.Cut(some, []byte("total="))
	return time.Duration(number(total)) * time.Microsecond
}

// stolen is the processor time that other virtual machines have taken so far, and all
// processor time, both in the kernel's ticks.
func (p proc) stolen() (steal, all int64) {
	text, err := os.ReadFile(string(p) + "/stat")
	if err != nil {
		return 0, 0
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	const stealField, fields = 8, 8 // the two after them, of virtual machines, are part of the first
	for i, f := range bytes.Fields(first) {
		if i > 0 && i <= fields {
			all += number(f)
		}
		if i == stealField {
			steal = number(f)
		}
	}
	return steal, all
}

func number(text []byte) int64 {
	n, _ := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64) // 0: not known
	return n
}

// starvation collects the times in which processes waited for a processor, by what the
// kernel counts. A process need not be able to tell of them itself.
type starvation struct {
	proc  proc
	nodes []string

	seen  counters
	forks map[int]bool
	all   []spell
}

// spell is a time in which the targets starved.
type spell struct {
	from, to time.Duration
	targets  []string
	what     string
}

// counters are what the kernel has counted up to a moment.
type counters struct {
	at         time.Duration
	threads    map[int]map[string]work
	children   map[int]int64
	pressure   time.Duration
	steal, all int64
}

// look compares what the kernel counts with what it counted at the last look. Of a
// process that starts others for its work, the threads tell too little: each child's
// time is gone with it. There the pressure on the whole machine counts.
func (s *starvation) look(now time.Duration, candidates map[string]int) {
	last := s.seen
	s.seen = counters{at: now, pressure: s.proc.pressure(), threads: map[int]map[string]work{}, children: map[int]int64{}}
	s.seen.steal, s.seen.all = s.proc.stolen()
	self := os.Getpid()
	for _, pid := range append(slices.Collect(maps.Values(candidates)), self) {
		s.seen.threads[pid], s.seen.children[pid] = s.proc.threads(pid), s.proc.children(pid)
		if s.seen.children[pid] > last.children[pid] {
			s.forks[pid] = true
		}
	}
	lasted := now - last.at
	if last.threads == nil || lasted <= 0 {
		return
	}
	long := time.Duration(starvedShare * float64(lasted))
	if all := s.seen.all - last.all; all > 0 && float64(s.seen.steal-last.steal) >= starvedShare*float64(all) {
		s.note(s.nodes, last.at, "other machines took most of the processor time")
		return
	}
	if waited := starved(last.threads[self], s.seen.threads[self]); waited >= long {
		s.note(s.nodes, last.at, "the harness waited for a processor")
		return
	}
	for node, pid := range candidates {
		switch {
		case starved(last.threads[pid], s.seen.threads[pid]) >= long:
			s.note([]string{node}, last.at, node+" waited for a processor")
		case s.forks[pid] && s.seen.pressure-last.pressure >= long:
			s.note([]string{node}, last.at, node+" starts processes, and processes of this machine waited for a processor")
		}
	}
}

// starved is for how long threads waited, if that is longer than they ran, or else 0.
func starved(before, after map[string]work) time.Duration {
	var all work
	for thread, w := range after {
		all.ran += w.ran - before[thread].ran
		all.waited += w.waited - before[thread].waited
	}
	if all.waited < all.ran {
		return 0
	}
	return all.waited
}

// note notes that the targets starved from then until now. What goes on is one time.
func (s *starvation) note(targets []string, from time.Duration, why string) {
	for i := range s.all {
		if last := &s.all[i]; last.to == from && last.what == why {
			last.to = s.seen.at
			return
		}
	}
	s.all = append(s.all, spell{from: from, to: s.seen.at, targets: targets, what: why})
}

// watch looks every period until ctx is done: at the candidates that run, and at the
// harness, through which everybody reaches the store.
func (s *starvation) watch(ctx context.Context, period time.Duration, recorder *history.Recorder, running func() map[string]int) {
	for s.look(recorder.Now(), running()); stage.Sleep(ctx, max(period, starvedPeriod)); {
		s.look(recorder.Now(), running())
	}
}

// record puts the times into the history.
func (s *starvation) record(recorder *history.Recorder) {
	for i, one := range s.all {
		for _, e := range stage.Uninjected(fmt.Sprintf("p%d", i+1), history.StarvedFault, one.targets, one.from, one.to, history.Effect{}, one.what) {
			recorder.Record(e)
		}
	}
}

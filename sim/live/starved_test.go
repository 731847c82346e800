package live

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/history"
)

// kernel writes what Linux tells of one thread of the process, of its children and of
// the machine.
func kernel(t *testing.T, folder proc, pid int, ran, waited time.Duration, children int, pressure time.Duration, steal int) {
	t.Helper()
	for name, text := range map[string]string{
		fmt.Sprintf("%d/task/%d/schedstat", pid, pid): fmt.Sprintf("%d %d 7\n", ran, waited),
		fmt.Sprintf("%d/stat", pid):                   fmt.Sprintf("%d (a ) b) S 1 2 3 4 5 6 7 %d 9\n", pid, children),
		"pressure/cpu":                                fmt.Sprintf("some avg10=9.00 avg60=9.00 avg300=9.00 total=%d\nfull avg10=0.00 total=5\n", pressure.Microseconds()),
		"stat":                                        fmt.Sprintf("cpu  100 0 0 %d 0 0 0 %d 0 0\ncpu0 1 2\n", 900-steal, steal),
	} {
		path := filepath.Join(string(folder), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStarvationIsWhatTheKernelCounts gives the kernel's counters before and after a
// second, and who is said to have starved.
func TestStarvationIsWhatTheKernelCounts(t *testing.T) {
	const second, pid = time.Second, 4711
	for name, x := range map[string]struct {
		ran, waited time.Duration
		children    int
		pressure    time.Duration
		steal       int
		want        []string
	}{
		"calm":                                {ran: second, waited: second / 4},
		"waited longer than it ran":           {ran: second / 5, waited: second * 3 / 5, want: []string{"n1"}},
		"ran for longer than it waited":       {ran: second, waited: second * 3 / 5},
		"pressure, and it starts no children": {pressure: second},
		"pressure, and it starts children":    {children: 3, pressure: second * 3 / 5, want: []string{"n1"}},
		"children, and little pressure":       {children: 3, pressure: second / 3},
		"stolen":                              {steal: 600, want: []string{"n1", "n2"}},
		"a little was stolen":                 {steal: 90},
	} {
		folder := proc(t.TempDir())
		recorder := history.NewRecorder(func() time.Duration { return 3 * second })
		s := &starvation{proc: folder, nodes: []string{"n1", "n2"}, forks: map[int]bool{}}
		kernel(t, folder, pid, 0, 0, 0, 0, 0)
		s.look(second, map[string]int{"n1": pid})
		kernel(t, folder, pid, x.ran, x.waited, x.children, x.pressure, x.steal)
		if x.steal > 0 { // of 1000 ticks more
			stat := fmt.Sprintf("cpu  100 0 0 %d 0 0 0 %d 0 0\n", 1900-x.steal, x.steal)
			if err := os.WriteFile(filepath.Join(string(folder), "stat"), []byte(stat), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s.look(2*second, map[string]int{"n1": pid})
		s.record(recorder)
		var got []string
		for _, e := range recorder.History(history.Header{}).Events {
			if e.Fault != history.StarvedFault || e.Phase == history.On && e.At != second || e.Phase == history.Off && e.At != 2*second {
				t.Errorf("%s: recorded %+v", name, e)
			}
			if e.Phase == history.On {
				got = append(got, e.Targets...)
			}
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("%s: %v starved, want %v", name, got, x.want)
		}
	}
}

// TestStarvingProcessIsSeen lets processes share one processor: each has to wait.
func TestStarvingProcessIsSeen(t *testing.T) {
	if _, err := os.Stat("/proc/self/schedstat"); err != nil {
		t.Skipf("this system does not count how long its processes wait: %v", err)
	}
	running := map[string]int{}
	for i := range 4 * runtime.NumCPU() {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			t.Skipf("no shell here: %v", err)
		}
		defer func() { _ = cmd.Wait() }() // it was killed
		defer func() { _ = cmd.Process.Kill() }()
		running["n"+strconv.Itoa(i)] = cmd.Process.Pid
	}
	began := time.Now()
	s := &starvation{proc: "/proc", nodes: slices.Collect(maps.Keys(running)), forks: map[int]bool{}}
	for s.look(0, running); len(s.all) == 0 && time.Since(began) < 30*time.Second; {
		time.Sleep(starvedPeriod)
		s.look(time.Since(began), running)
	}
	if len(s.all) == 0 || !strings.Contains(s.all[0].what, "waited for a processor") {
		t.Errorf("%d processes of four to a processor: nobody is seen to starve: %+v", len(running), s.all)
	}
}

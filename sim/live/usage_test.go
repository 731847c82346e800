package live

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/protocol"
)

// What a process consumes is read from its folder in /proc. One that has ended
// and waits to be buried consumes nothing that is worth recording.
func TestUsageIsRead(t *testing.T) {
	const zombie = "Name:\tchaos\nState:\tZ (zombie)\nThreads:\t1\n"
	for name, test := range map[string]struct {
		status string // none if it is empty
		open   []string
		want   history.Usage
		seen   bool
	}{
		"alive":      {"VmHWM:\t   99999 kB\nVmRSS:\t   31996 kB\nRssAnon:\t   12000 kB\nThreads:\t9\n", []string{"0", "1", "2"}, history.Usage{Resident: 31996 << 10, Descriptors: 3, Threads: 9}, true},
		"a zombie":   {zombie, nil, history.Usage{Threads: 1}, false},
		"gone":       {"", nil, history.Usage{}, false},
		"cut off":    {"VmRSS:", nil, history.Usage{}, false},
		"no numbers": {"VmRSS:\tmany kB\n", nil, history.Usage{}, false},
	} {
		folder := t.TempDir()
		if err := os.Mkdir(filepath.Join(folder, "fd"), 0o700); err != nil {
			t.Fatal(err)
		}
		files := test.open
		for i := range files {
			files[i] = filepath.Join("fd", files[i])
		}
		if test.status != "" {
			files = append(files, "status")
		}
		for _, file := range files {
			if err := os.WriteFile(filepath.Join(folder, file), []byte(test.status), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, seen := protocol.UsageOf(folder); got != test.want || seen != test.seen {
			t.Errorf("%s: %+v, %v; want %+v, %v", name, got, seen, test.want, test.seen)
		}
	}
}

// The harness records what it consumes itself, in every period.
func TestHarnessIsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		recorder := history.NewRecorder(func() time.Duration { return time.Since(begin) })
		ctx, stop := context.WithTimeout(t.Context(), 2*protocol.UsagePeriod+1)
		defer stop()
		measureSelf(ctx, recorder)
		events := recorder.History(history.Header{}).Events
		if len(events) != 2 {
			t.Fatalf("%d events in two periods", len(events))
		}
		for _, e := range events {
			if e.Kind != history.Note || e.Node != "" || e.Usage == nil || e.Usage.Goroutines < 1 {
				t.Errorf("recorded %+v", e)
			}
		}
	})
}

// What a program of any language consumes is recorded while it lives.
func TestCandidateIsMeasured(t *testing.T) {
	needsProc(t)
	c, p := shell(t, "read line")
	measured := make(chan history.Event, 100)
	c.recorder.Observe(func(e history.Event) {
		if e.Usage != nil {
			measured <- e
		}
	})
	select {
	case e := <-measured:
		u := e.Usage
		if e.Kind != history.Note || e.Node != "n1" || u.Resident < 1<<16 || u.Descriptors < 3 || u.Threads != 1 || u.Goroutines != 0 {
			t.Errorf("recorded %+v: %+v", e, u)
		}
	case <-time.After(patience):
		t.Fatalf("nothing was recorded within %v", patience)
	}
	if err := p.system.Stdin().(io.Closer).Close(); err != nil {
		t.Fatal(err)
	}
	await(t, p.done, "a script")
	events := c.recorder.History(history.Header{}).Events
	if last := events[len(events)-1]; last.Kind != history.Exit {
		t.Errorf("recorded after its end: %+v", last)
	}
}

func needsProc(t *testing.T) {
	t.Helper()
	if _, seen := protocol.UsageOf("/proc/self"); !seen {
		t.Skip("this system has no /proc that tells what processes consume")
	}
}

// What a candidate tells of itself is recorded, and never as anything that
// only the system can know.
func TestHearUsage(t *testing.T) {
	l := newListener()
	l.heard(`{"event":"usage","goroutines":12,"heap_bytes":900000,"usage":{"rss_bytes":1}}`,
		`{"event":"usage","goroutines":-1,"heap_bytes":-1}`, `{"event":"note","text":"lean","usage":{"rss_bytes":1}}`)
	events := l.recorder.History(history.Header{}).Events
	if got, want := summary(events), slices.Repeat([]string{"10s n1 note"}, 2); !slices.Equal(got, append(want, "10s n1 note as it arrived lean")) {
		t.Fatalf("recorded\n  %s", strings.Join(got, "\n  "))
	}
	if *events[0].Usage != (history.Usage{Goroutines: 12, Heap: 900000}) || *events[1].Usage != (history.Usage{}) || events[2].Usage != nil {
		t.Errorf("recorded %+v, %+v, %+v", events[0].Usage, events[1].Usage, events[2].Usage)
	}
}

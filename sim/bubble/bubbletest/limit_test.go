package bubbletest

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// spin never returns.
func spin() {
	for rounds := 0; ; rounds++ {
		_ = rounds
	}
}

// hoard takes ever more memory.
func hoard() {
	for size := 1 << 20; ; size *= 2 {
		all := make([]byte, size)
		for i := range all {
			all[i] = 1
		}
		runtime.KeepAlive(all)
	}
}

// standStill waits for a lock that nobody gives back. Fake time does not go on meanwhile.
func standStill() {
	var mu sync.Mutex
	mu.Lock()
	mu.Lock()
}

// An endless bubble ends its process, which says the seed, what is wrong and in which
// function.
func TestEndlessBubbleEndsItsProcess(t *testing.T) {
	const inside = "RECOUNT_IN_LIMIT"
	endless := map[string]struct {
		f    func()
		name string
	}{
		"something spins":                     {spin, "bubbletest.spin"},
		"something takes all memory":          {hoard, "bubbletest.hoard"},
		"something stands still in real time": {standStill, "bubbletest.standStill"},
	}
	if what := os.Getenv(inside); what != "" {
		bounds.Processor, bounds.Idle, bounds.Heap = time.Second, time.Second, 20<<20
		if what == "something takes all memory" {
			bounds.Processor = time.Minute // with the race detector memory is slow
		}
		Run(t, 4711, func(*testing.T) { endless[what].f() })
	}
	for what, one := range endless {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=1m")
		cmd.Env = append(os.Environ(), inside+"="+what)
		out, err := cmd.CombinedOutput()
		line, _, _ := strings.Cut(string(out), "\n")
		if err == nil || !strings.HasPrefix(line, "panic: "+Endless+"seed 4711: "+what) || !strings.HasSuffix(line, one.name) {
			t.Errorf("%s in %s: %v\n%.2000s", what, one.name, err, out)
		}
	}
}

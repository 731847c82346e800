package virtual

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/internal/machine"
)

// A subscription that waits before its next try goes on waiting when other
// connections break.
func TestPauseBeforeSubscribing(t *testing.T) {
	r := launch(t, quick(1), Subject{})
	r.to(time.Second)
	s := r.nodes[0].subscriptions[0]
	r.must(r.Cut(t.Context(), "n1", faults.CutRefused)) // 200 ms, then 400 ms, …
	r.to(1300 * ms)
	r.must("", r.Mend(t.Context(), "n1"))
	r.must(r.CrashStore(t.Context(), whole))
	r.must(r.LaunchStore(t.Context(), whole, true))
	r.to(1550 * ms)
	if s.stands != nil {
		t.Error("it was not given its pause")
	}
	r.to(1700 * ms)
	if s.stands == nil {
		t.Error("its pause has begun again")
	}
}

// listener is a process that only listens.
type listener struct{ heard []uint64 }

func (*listener) stop()      {}
func (*listener) reclocked() {}
func (*listener) kill()      {}
func (l *listener) hint(in machine.Input) {
	if in.Kind != machine.HintListens {
		l.heard = append(l.heard, in.Token)
	}
}

// Hints may be lost with their connection, but they keep their order, come once,
// and come all while nothing breaks, however the network delays them and
// however often the process stands still.
func TestHintsKeepTheirOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		plan := quick(1)
		plan.Network.Jitter = 50 * ms
		r := rig{t, &stage{run: (&World{}).newRun(plan, Subject{}, how{})}}
		defer r.end()
		n := r.nodes[0]
		n.launch(0)
		l := &listener{}
		n.process.kill()
		n.process = l
		r.to(time.Second)
		broken := false
		sent := uint64(0)
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			switch rapid.IntRange(0, 9).Draw(rt, "what") {
			case 0:
				n.paused = true
			case 1:
				n.resume()
			case 2:
				broken = true
				n.subscriptions[0].breaks()
			default:
				sent++
				r.store.model.Do(r.store.now(), "PUBLISH", r.store.channel, "released "+decimal(sent))
			}
			r.to(r.now + time.Duration(rapid.IntRange(0, 40).Draw(rt, "ms"))*ms)
		}
		n.resume()
		r.to(r.now + time.Second)
		for i := 1; i < len(l.heard); i++ {
			if l.heard[i] <= l.heard[i-1] {
				rt.Fatalf("hint %d came after %d", l.heard[i], l.heard[i-1])
			}
		}
		if !broken && len(l.heard) != int(sent) {
			rt.Fatalf("%d hints of %d came", len(l.heard), sent)
		}
	})
}

// Only what the scripts publish is a hint.
func TestParseHint(t *testing.T) {
	for text, want := range map[string]machine.Input{
		"released 7":           {Kind: machine.HintReleased, Token: 7},
		"released 7 0 n2":      {Kind: machine.HintReleased, Token: 7, Holder: "n2"},
		"released 7 400 an n2": {Kind: machine.HintReleased, Token: 7, Holder: "an n2", Remaining: 400 * ms},
		"granted 7 3000":       {Kind: machine.HintGranted, Token: 7, Remaining: 3 * time.Second},
	} {
		if got, ok := parseHint(text); !ok || got != want {
			t.Errorf("%q is %+v, %t", text, got, ok)
		}
	}
	for _, text := range []string{"", "released", "released 7 3", "released 7 3 ", "granted 7", "granted 7 3 2", "taken 7 3", "released x 3", "released -7 3"} {
		if got, ok := parseHint(text); ok {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

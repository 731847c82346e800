package live

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/protocol"
)

// listening is a process that takes commands and does nothing.
type listening struct {
	Process
	commands bytes.Buffer
}

func (p *listening) Stdin() io.Writer { return &p.commands }

// A fault on a candidate's clocks took effect when the candidate reports the clocks
// that it was given, and no others. A candidate without that command gets none.
func TestClocksAreReported(t *testing.T) {
	ordered := protocol.Line{Rate: 1, OffsetMS: 3_600_000}
	for name, test := range map[string]struct {
		unasked, reports []protocol.Line
		clocked          bool
		want             string // of the evidence, or of the error
		takes            time.Duration
	}{
		"reported":              {reports: []protocol.Line{ordered}, clocked: true, want: "n1 reports clocks at rate 1, its wall clock off by 1h0m0s"},
		"reported after others": {reports: []protocol.Line{{Rate: 1}, {Rate: 2, OffsetMS: 3_600_000}, ordered}, clocked: true, want: "n1 reports clocks at rate 1"},
		"reported unasked":      {unasked: []protocol.Line{ordered}, clocked: true, want: "n1 did not report within 5s", takes: actTime},
		"not reported":          {clocked: true, want: "n1 did not report within 5s", takes: actTime},
		"other clocks reported": {reports: []protocol.Line{{Rate: 1}}, clocked: true, want: "n1 did not report within 5s", takes: actTime},
		"takes no clocks":       {reports: []protocol.Line{ordered}, want: "n1 cannot be told its clocks"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &incarnation{system: &listening{}, clocks: make(chan protocol.Line, 8), done: make(chan struct{})}
				c := &candidate{node: "n1", clocked: test.clocked, process: p, clocks: clocks{rate: 1}}
				for _, line := range test.unasked {
					p.clocks <- line
				}
				go func() {
					time.Sleep(time.Millisecond) // of the bubble's
					for _, line := range test.reports {
						p.clocks <- line
					}
				}()
				begin := time.Now()
				text, err := (&world{candidates: map[string]*candidate{"n1": c}}).JumpClock(t.Context(), "n1", time.Hour)
				if err != nil {
					text = err.Error()
				}
				if !strings.Contains(text, test.want) || err != nil && !errors.Is(err, faults.ErrNoEffect) {
					t.Errorf("%s, want %s", text, test.want)
				}
				if took := time.Since(begin); test.takes > 0 && took != test.takes || test.takes == 0 && took > time.Millisecond {
					t.Errorf("it took %v", took)
				}
				if sent := p.system.(*listening).commands.String(); (sent == `{"command":"clock","rate":1,"offset_ms":3600000}`+"\n") != test.clocked {
					t.Errorf("it got %q", sent)
				}
				synctest.Wait()
				time.Sleep(time.Millisecond)
			})
		})
	}
}

// A command that obeys gets its clocks while it runs, and keeps its term; another one
// is left alone, and the fault says once why it took no effect.
func TestCommandGetsItsClocks(t *testing.T) {
	obeys := strings.Replace(leads(t), "exec cat", `while read -r line; do echo "$line" | sed 's/"command"/"event"/'; done`, 1)
	for _, clocks := range []bool{true, false} {
		s, err := Open(t.Context(), Options{Redis: "embedded", Command: []string{"sh", "-c", obeys}, Clocks: clocks})
		if err != nil {
			t.Fatal(err)
		}
		h, err := s.Run(t.Context(), plan(2, faults.Step{For: 10 * time.Millisecond, Fault: faults.ClockJump{Offset: time.Hour}, Target: faults.Leader}), t.TempDir())
		if err = errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		want := "n1 cannot be told its clocks"
		if clocks {
			want = "n1 reports clocks at rate 1, its wall clock off by 1h0m0s; n1 reports clocks at rate 1, its wall clock off by 0s"
		}
		starts := 0
		for _, e := range h.Events {
			if e.Kind == history.Start {
				starts++
			}
			if e.Fault == "clock-jump" && e.Phase == history.Off && (*e.Effective != clocks || e.Evidence != want) {
				t.Errorf("obeys %v: effective %v: %s\nwant %s", clocks, *e.Effective, e.Evidence, want)
			}
		}
		if starts != 2 {
			t.Errorf("two candidates were started %d times", starts)
		}
	}
}

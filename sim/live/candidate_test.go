package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/live/supervisor"
	"github.com/recount-io/recount/sim/protocol"
	"github.com/recount-io/recount/sim/resource"
)

const sec = time.Second

// listener is a candidate that only hears, at a time that the test sets.
type listener struct {
	*candidate
	*incarnation
	now time.Duration
}

func newListener() *listener {
	l := &listener{now: 10 * sec}
	l.candidate = &candidate{node: "n1", recorder: history.NewRecorder(func() time.Duration { return l.now })}
	l.incarnation = &incarnation{
		ready: make(chan struct{}), clocks: make(chan protocol.Line, 8),
		operations: map[int64]history.Event{}, numbers: map[int64]int64{},
	}
	return l
}

// heard is what a listener records of some lines, in short.
func (l *listener) heard(lines ...string) []string {
	for _, line := range lines {
		l.hear(l.incarnation, []byte(line))
	}
	return summary(l.recorder.History(history.Header{}).Events)
}

func summary(events []history.Event) []string {
	var list []string
	for _, e := range events {
		text := fmt.Sprintf("%v %s %s", e.At, e.Node, e.Kind)
		if e.Op != 0 {
			text += fmt.Sprintf(" op%d %s", e.Op, e.Call)
		}
		if e.Token != 0 {
			text += fmt.Sprintf(" t%d", e.Token)
		}
		if e.Until != nil {
			text += fmt.Sprintf(" until %v", *e.Until)
		}
		if e.Arrived {
			text += " as it arrived"
		}
		for _, words := range []string{e.Election, string(e.Why), e.Text, e.Error} {
			if words != "" {
				text += " " + words
			}
		}
		list = append(list, text)
	}
	return list
}

// Lines become events of the node that printed them, on the run's clock.
func TestHear(t *testing.T) {
	for name, test := range map[string]struct{ lines, want []string }{
		"beliefs": {
			[]string{`{"event":"elected","token":7,"until_ms":1800}`, `{"event":"extended","token":7}`, `{"event":"deposed","token":7,"why":"expired"}`},
			[]string{"10s n1 elected t7 until 11.8s as it arrived", "10s n1 extended t7 as it arrived", "10s n1 deposed t7 as it arrived expired"},
		},
		"stamped by itself":        {[]string{`{"event":"elected","at":9000000000,"until_ms":1500}`}, []string{"9s n1 elected until 10.5s"}},
		"deadline on the run":      {[]string{`{"event":"elected","at":9000000000,"until":12000000000}`}, []string{"9s n1 elected until 12s"}},
		"stamped in the future":    {[]string{`{"event":"elected","at":99000000000,"until_ms":1500}`}, []string{"10s n1 elected until 11.5s as it arrived"}},
		"stamped before the run":   {[]string{`{"event":"elected","at":-5,"until_ms":1500}`}, []string{"0s n1 elected until 1.5s"}},
		"believes nearly for ever": {[]string{`{"event":"elected","until_ms":9007199254740991}`}, []string{"10s n1 elected as it arrived"}},
		"believes for ever":        {[]string{`{"event":"elected","until_ms":1e300}`}, []string{"10s n1 elected as it arrived"}},
		"never believed":           {[]string{`{"event":"elected","until_ms":-1e300}`}, []string{"10s n1 elected until 0s as it arrived"}},
		"stood still meanwhile":    {[]string{`{"event":"elected","at":9000000000,"until_ms":-926.5}`}, []string{"9s n1 elected until 8.0735s"}},
		"speaks for another":       {[]string{`{"event":"elected","node":"n2","election":"x","seq":7,"token":1}`}, []string{"10s n1 elected t1 as it arrived"}},
		"words": {
			[]string{"Starting up…", "", "  \t", `{"event":"healed"}`, `{"level":"info"}`, `{"event":"note","text":"hello"}`},
			[]string{"10s n1 note Starting up…", `10s n1 note {"event":"healed"}`, `10s n1 note {"level":"info"}`, "10s n1 note as it arrived hello"},
		},
		"operations": {
			[]string{
				`{"event":"invoke","op":5,"call":"acquire"}`, `{"event":"invoke","op":9,"call":"renew","at":10000000000,"arrived":true}`,
				`{"event":"ok","op":9,"call":"renew"}`, `{"event":"fail","op":5,"call":"acquire","at":10000000000}`,
				`{"event":"invoke","op":5,"call":"release"}`, `{"event":"info","op":5,"call":"release","error":"time-out"}`,
			},
			[]string{
				"10s n1 invoke op1 acquire as it arrived", "10s n1 invoke op2 renew", "10s n1 ok op2 renew as it arrived", "10s n1 fail op1 acquire",
				"10s n1 invoke op3 release as it arrived", "10s n1 info op3 release as it arrived time-out",
			},
		},
		"operations without numbers": {
			[]string{`{"event":"invoke","call":"acquire"}`, `{"event":"ok"}`},
			[]string{"10s n1 invoke op1 acquire as it arrived", "10s n1 ok op1  as it arrived"},
		},
		"completion of no operation": {
			[]string{`{"event":"ok","op":5}`, `{"event":"invoke","op":5,"call":"renew"}`, `{"event":"ok","op":5}`, `{"event":"info","op":5}`},
			[]string{
				`10s n1 note completion of no operation: {"event":"ok","op":5}`, "10s n1 invoke op1 renew as it arrived", "10s n1 ok op1  as it arrived",
				`10s n1 note completion of no operation: {"event":"info","op":5}`,
			},
		},
		"steering": {
			slices.Concat([]string{`{"event":"ready"}`, `{"event":"ready"}`, `{"event":"stall","lasted_ms":900}`}, slices.Repeat([]string{`{"event":"clock","rate":2}`}, 20)),
			nil,
		},
	} {
		got := newListener().heard(test.lines...)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s:\n  %s\nwant\n  %s", name, strings.Join(got, "\n  "), strings.Join(test.want, "\n  "))
		}
	}
}

// What only the harness can know is not believed from a candidate, and no line of
// its makes a history that cannot be read.
func TestHearOnlyWhatIsItsOwn(t *testing.T) {
	l := newListener()
	l.heard(
		`{"event":"elected","seq":9,"node":"n2","election":"x","id":"f1","fault":"stall","phase":"on","targets":["n2"],"params":{"a":1},"effective":true,`+
			`"evidence":"wire","since":1,"shorten_ns":5,"void":true,"effect":{"holds":true},"applied":true,"wire":{"operations":1},"usage":{"rss_bytes":1}}`,
		`{"event":"extended","until":-9223372036854775808}`, `{"event":"extended","until":9223372036854775807}`,
		`{"event":"invoke","op":1,"call":"acquire","ttl_ns":-9223372036854775808}`, `{"event":"ok","op":1,"at":-9223372036854775808}`,
	)
	h := l.recorder.History(history.Header{})
	elected := h.Events[slices.IndexFunc(h.Events, func(e history.Event) bool { return e.Kind == history.Elected })]
	if want := (history.Event{Seq: elected.Seq, At: 10 * sec, Node: "n1", Kind: history.Elected, Arrived: true}); !reflect.DeepEqual(elected, want) {
		t.Errorf("recorded %+v\nwant %+v", elected, want)
	}
	var file bytes.Buffer
	if err := h.Write(&file); err != nil {
		t.Fatal(err)
	}
	if _, err := history.Load(&file); err != nil || len(h.Events) != 5 {
		t.Errorf("of 5 lines %d are recorded; they are read with the error %v", len(h.Events), err)
	}
}

// The numbers of operations are unique in the run, though two candidates count
// alike.
func TestHearNumbersOperations(t *testing.T) {
	a, b := newListener(), newListener()
	b.candidate = &candidate{node: "n2", recorder: a.recorder}
	for _, l := range []*listener{a, b} {
		l.hear(l.incarnation, []byte(`{"event":"invoke","op":1,"call":"acquire"}`))
	}
	got := b.heard(`{"event":"ok","op":1}`)
	want := []string{"10s n1 invoke op1 acquire as it arrived", "10s n2 invoke op2 acquire as it arrived", "10s n2 ok op2  as it arrived"}
	if !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
}

// That the machine held it up excuses an elector: only one of our own is
// believed.
func TestHearStalls(t *testing.T) {
	for _, steered := range []bool{false, true} {
		l := newListener()
		l.stalls, l.steered = &stalls{recorder: l.recorder}, steered
		l.heard(`{"event":"stall","lasted_ms":900}`)
		if got := len(l.stalls.all); got > 0 != steered || steered && l.stalls.all[0] != (stall{target: "n1", from: 9100 * time.Millisecond, to: 10 * sec}) {
			t.Errorf("steered %v: stalls %+v", steered, l.stalls.all)
		}
	}
}

// An attempt that was refused, stood, and was granted later was asked for when it was
// sent: others may have seen its lease before the news came back. That widens what an
// elector may have done, so only one of our own is believed.
func TestHearBids(t *testing.T) {
	for _, steered := range []bool{false, true} {
		l := newListener()
		l.steered = steered
		l.heard(
			`{"event":"invoke","op":1,"call":"acquire","at":9000000000}`, `{"event":"fail","op":1,"call":"acquire","stands":true,"at":9100000000}`,
			`{"event":"invoke","op":2,"call":"acquire","since":9000000000}`, `{"event":"ok","op":2,"call":"acquire","token":5}`,
			`{"event":"invoke","op":3,"call":"acquire","since":99000000000}`, `{"event":"invoke","op":4,"call":"renew","since":9000000000}`,
		)
		var stood int
		var since []time.Duration
		for _, e := range l.recorder.History(history.Header{}).Events {
			if e.Stands {
				stood++
			}
			if e.Since != nil {
				since = append(since, *e.Since)
			}
		}
		want, stands := []time.Duration(nil), 0
		if steered {
			want, stands = []time.Duration{9 * sec, 10 * sec}, 1
		}
		if !slices.Equal(since, want) || stood != stands {
			t.Errorf("steered %v: since %v, want %v; %d stand, want %d", steered, since, want, stood, stands)
		}
	}
}

// Being ready is heard, and so is a report about the clocks.
func TestHearSteering(t *testing.T) {
	l := newListener()
	l.heard(`{"event":"ready"}`, `{"event":"clock","rate":0.5,"offset_ms":7}`)
	select {
	case <-l.ready:
	default:
		t.Error("it is not ready")
	}
	if report := <-l.incarnation.clocks; report.Rate != 0.5 || report.OffsetMS != 7 {
		t.Errorf("the clocks are %+v", report)
	}
}

// shell starts a candidate that is a script.
func shell(t *testing.T, script string) (*candidate, *incarnation) {
	t.Helper()
	guard, err := supervisor.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := guard.Close(); err != nil {
			t.Error(err)
		}
	})
	begin := protocol.Monotonic()
	c := &candidate{
		node: "n1", called: "the process of n1", host: &processHost{command: []string{"sh", "-c", script}, supervisor: guard}, logs: filepath.Join(t.TempDir(), "n1.log"),
		recorder: history.NewRecorder(func() time.Duration { return protocol.Monotonic() - begin }),
		clocks:   clocks{rate: 0.5, offset: 7 * time.Millisecond},
	}
	p, err := c.start()
	if err != nil {
		t.Fatal(err)
	}
	return c, p
}

func await(t *testing.T, done <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s took longer than %v", what, patience)
	}
}

// said is what was recorded of a candidate, without the times, that it was stamped
// on arrival, and without what it consumed if it took longer than usual.
func said(c *candidate) []string {
	events := c.recorder.History(history.Header{}).Events
	list := summary(slices.DeleteFunc(events, func(e history.Event) bool { return e.Usage != nil }))
	for i := range list {
		_, list[i], _ = strings.Cut(list[i], " n1 ")
		list[i] = strings.Replace(list[i], " as it arrived", "", 1)
	}
	return list
}

// A candidate in any language, here a shell, is recorded from its start to its
// exit: what it said, what became of operations that its end cut off, how it
// ended. Its clocks come to it through the environment, its errors to its log.
func TestShellCandidate(t *testing.T) {
	c, p := shell(t, `
		echo '{"event":"invoke","op":7,"call":"acquire"}'
		echo "clocks $RECOUNT_CLOCK_RATE $RECOUNT_CLOCK_OFFSET_MS"
		echo '{"event":"ok","op":7,"token":3}'
		echo '{"event":"elected","token":3}'
		echo '{"event":"invoke","op":9,"call":"renew","token":3}'
		echo '{"event":"invoke","op":8,"call":"renew","token":3}'
		echo 'first words' >&2
		echo 'last words' >&2
		printf '{"event":"deposed","token":3}'
		exit 3`)
	await(t, p.done, "a script")
	want := []string{
		"start", "invoke op1 acquire", "note clocks 0.5 7", "ok op1  t3", "elected t3", "invoke op2 renew t3", "invoke op3 renew t3", "deposed t3",
		"info op3 renew t3 the process ended", "info op2 renew t3 the process ended", "exit by itself exit status 3",
	}
	if got := said(c); !slices.Equal(got, want) {
		t.Errorf("recorded\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	if _, err := c.running(); err == nil {
		t.Error("it still counts as running")
	}
	if words := lastLine(c.logs, 0); words != "last words" {
		t.Errorf("its last words are %q", words)
	}
	var died *CandidateError
	if err := c.died(p); !errors.As(err, &died) || died.Node != "n1" || !strings.Contains(err.Error(), "exit status 3): last words; its log is ") || !strings.HasSuffix(err.Error(), "n1.log") {
		t.Errorf("its death: %v", err)
	}

	// It can be started again; its log goes on.
	again, err := c.start()
	if err != nil {
		t.Fatal(err)
	}
	await(t, again.done, "the script again")
	if got := said(c); len(got) != 2*len(want) || !strings.HasPrefix(got[len(want)+1], "invoke op4") {
		t.Errorf("started again, it is recorded as %q", got)
	}
	if log, err := os.ReadFile(c.logs); err != nil || strings.Count(string(log), "first words") != 2 {
		t.Errorf("its log is %q, %v", log, err)
	}
}

// Whatever a candidate prints, the harness lives, and hears what comes after:
// bytes that are no text, half lines, and a line without end.
func TestGarbageCandidate(t *testing.T) {
	c, p := shell(t, `
		printf '\377\376\000{"event":\n'
		echo '{"event":"elected","token":-1}'
		head -c 3000000 /dev/zero | tr '\0' x
		echo
		echo '{"event":"elected","token":3}'
		printf '{"event":"depo'`)
	await(t, p.done, "a script")
	want := []string{
		"start", "note \xff\xfe\x00{\"event\":", `note {"event":"elected","token":-1}`, "note a line longer than 1 MiB is left out",
		"elected t3", `note {"event":"depo`, "exit by itself exit status 0",
	}
	if got := said(c); !slices.Equal(got, want) {
		t.Errorf("recorded\n  %.300q\nwant\n  %q", got, want)
	}
	h := c.recorder.History(history.Header{})
	var file strings.Builder
	if err := h.Write(&file); err != nil {
		t.Fatal(err)
	}
	if _, err := history.Load(strings.NewReader(file.String())); err != nil {
		t.Errorf("the history does not load: %v", err)
	}
}

// What a candidate has started, and what has left its process group, holds up nobody:
// it may keep the candidate's standard output open for ever.
func TestOrphanOfCandidate(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("there is no setsid on PATH")
	}
	file := filepath.Join(t.TempDir(), "pid")
	c, p := shell(t, `setsid sleep 600 & echo $! >`+file+`; echo '{"event":"elected","token":3}'`)
	t.Cleanup(func() {
		text, err := os.ReadFile(file)
		pid, errPID := strconv.Atoi(strings.TrimSpace(string(text)))
		if err := errors.Join(err, errPID); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Errorf("the orphan: %v", err)
		}
	})
	await(t, p.done, "its end")
	if got, want := said(c), []string{"start", "elected t3", "exit by itself exit status 0"}; !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
}

// A candidate that is stopped, killed and asked to go is recorded with what
// the harness did to it.
func TestCandidateEnds(t *testing.T) {
	for why, end := range map[history.Why]func(*world, context.Context) (string, error){
		history.Killed:    func(w *world, ctx context.Context) (string, error) { return w.Kill(ctx, "n1") },
		history.Dismissed: func(w *world, ctx context.Context) (string, error) { return w.Dismiss(ctx, "n1") },
	} {
		c, p := shell(t, `exec cat`) // until its standard input ends
		w := &world{candidates: map[string]*candidate{"n1": c}}
		if evidence, err := w.Stop(t.Context(), "n1"); err != nil || evidence == "" {
			t.Errorf("stop: %q, %v", evidence, err)
		}
		if err := w.Continue(t.Context(), "n1"); err != nil {
			t.Errorf("continue: %v", err)
		}
		if evidence, err := end(w, t.Context()); err != nil || !strings.Contains(evidence, "signal") {
			t.Errorf("%s: %q, %v", why, evidence, err)
		}
		await(t, p.done, "its end")
		if got := said(c); len(got) != 2 || !strings.HasPrefix(got[1], "exit "+string(why)+" signal: ") {
			t.Errorf("%s: recorded %q", why, got)
		}
		if err := w.Continue(t.Context(), "n1"); err != nil {
			t.Errorf("continue what has ended: %v", err)
		}
		for name, act := range map[string]func(context.Context, string) (string, error){"stop": w.Stop, "kill": w.Kill, "dismiss": w.Dismiss} {
			if _, err := act(t.Context(), "n1"); err == nil || !strings.Contains(err.Error(), "n1 is not running") {
				t.Errorf("%s what has ended: %v", name, err)
			}
		}
	}
}

// The error about a Go program that panicked says so, with the panic of this life and
// not of the last one.
func TestCandidatePanics(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "panicked")
	c, p := shell(t, `if [ -e `+mark+` ]; then exit 2; fi; touch `+mark+`; echo "panic: no reason

goroutine 1 [running]:" >&2; exit 2`)
	await(t, p.done, "its panic")
	for _, died := range []error{c.died(p), c.died(nil)} { // also if it was forgotten before anybody asked
		if !strings.Contains(died.Error(), "it ended at once (exit status 2): it panicked: no reason") {
			t.Errorf("its end is described so: %v", died)
		}
	}
	p, err := c.start()
	if err != nil {
		t.Fatal(err)
	}
	await(t, p.done, "its end")
	got := said(c)
	if want := []string{"start", "exit panic no reason", "start", "exit by itself exit status 2"}; !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
}

// Two faults that ended one process start it again once: a second process of
// the same candidate would act in its name, and nobody would know of it.
func TestLaunchOfOneThatRuns(t *testing.T) {
	c, _ := shell(t, `exec cat`)
	w := &world{candidates: map[string]*candidate{"n1": c}}
	if _, err := w.Kill(t.Context(), "n1"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.Launch(t.Context(), "n1"); err != nil {
			t.Errorf("launch: %v", err)
		}
	}
	if got, want := said(c), []string{"start", "exit killed signal: killed", "start"}; !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
	if _, err := w.Kill(t.Context(), "n1"); err != nil {
		t.Error(err)
	}
}

// A process that takes its time to resign is waited for, and then started
// again.
func TestLaunchOfOneThatResigns(t *testing.T) {
	c, p := shell(t, `exec cat`)
	p.why.Store(history.Dismissed)
	time.AfterFunc(20*time.Millisecond, func() { _ = p.system.Stdin().(io.Closer).Close() })
	w := &world{candidates: map[string]*candidate{"n1": c}}
	if err := w.Launch(t.Context(), "n1"); err != nil {
		t.Fatal(err)
	}
	if got, want := said(c), []string{"start", "exit dismissed exit status 0", "start"}; !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
	if _, err := w.Kill(t.Context(), "n1"); err != nil {
		t.Error(err)
	}
}

// Clocks that are set while a candidate does not run are those of its next
// start: a fault that heals while another one has killed it leaves no wrong
// clock behind.
func TestClocksOfOneThatIsDown(t *testing.T) {
	c, p := shell(t, `echo "$RECOUNT_CLOCK_RATE $RECOUNT_CLOCK_OFFSET_MS"`)
	await(t, p.done, "a script")
	w := &world{candidates: map[string]*candidate{"n1": c}}
	for _, set := range []func() (string, error){
		func() (string, error) { return w.SetClockRate(t.Context(), "n1", 1) },
		func() (string, error) { return w.JumpClock(t.Context(), "n1", -5*time.Millisecond) },
	} {
		if _, err := set(); !errors.Is(err, faults.ErrNoEffect) {
			t.Errorf("set while it is down: %v", err)
		}
	}
	again, err := c.start()
	if err != nil {
		t.Fatal(err)
	}
	await(t, again.done, "the script again")
	if got := said(c); !slices.Contains(got, "note 0.5 7") || !slices.Contains(got, "note 1 2") {
		t.Errorf("its clocks were %q", got)
	}
}

// A candidate whose command cannot be started is an error that names it.
func TestCandidateThatCannotStart(t *testing.T) {
	c, p := shell(t, "true")
	await(t, p.done, "a script")
	c.host.(*processHost).command = []string{filepath.Join(t.TempDir(), "gone")}
	var wrong *CandidateError
	if _, err := c.start(); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "candidate n1: cannot be started") {
		t.Errorf("started: %v", err)
	}
	c.logs = filepath.Join(t.TempDir(), "gone", "n1.log")
	if _, err := c.start(); err == nil || !strings.Contains(err.Error(), "log of n1") {
		t.Errorf("without a log: %v", err)
	}
	if words := lastLine(c.logs, 0); words != "" {
		t.Errorf("last words %q of a log that is not there", words)
	}
}

// A pause before a write that never came leaves nothing behind: healing it
// waits for no write, and holds none.
func TestHoldOfNoWrite(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	res := resource.Serve(listener, history.NewRecorder(func() time.Duration { return 0 }))
	defer func() {
		if err := res.Close(); err != nil {
			t.Error(err)
		}
	}()
	w := &world{candidates: map[string]*candidate{"n1": {node: "n1"}}, resource: res, holds: map[string]*resource.Hold{}}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.StopBeforeWrite(ended, "n1"); !errors.Is(err, faults.ErrNoEffect) {
		t.Errorf("stopped before no write: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), sec)
	defer cancel()
	if _, err := w.ContinueWrite(ctx, "n1"); err != nil || ctx.Err() != nil {
		t.Errorf("continued: %v", err)
	}
}

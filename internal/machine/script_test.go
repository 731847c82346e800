package machine

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/internal/situation"
)

var rewrite = flag.Bool("rewrite", false, "write the files in testdata anew")

// Each file in testdata is a situation, named after it: what is done to one
// machine, and what the machine makes of it. Written anew with
//
//	go test ./internal/machine -run TestScripts -rewrite
//
// and then read: what a machine does is not right because it does it.
//
// Times count from the start of the machine. Its settings are those of newRig
// unless the script says otherwise: lease 15s, renew 5s, retry 1s, time-out
// 2.5s, drain 30s, drift 0.01. The commands:
//
//	config lease=3s renew=1s retry=200ms timeout=500ms drain=6s drift=0.01 in-flight=8 floor=0 once value=a
//	start
//	wake                    time goes on to the moment at which the machine wants to be woken
//	at 1.2s [input]         time goes on to 1.2s, the machine is woken whenever it wants to be, then comes the input
//	paused-until 9s [input] time goes on to 9s, and nobody wakes the machine; the input is the first thing that it sees
//	clock-says 3s [input]   the clock has any time at all, an earlier one too
//	answer 3 done token=7
//	answer 3 held by=n2 token=7 remaining=800ms waiters=2
//	answer 3 not-held
//	answer 3 unknown err=(connection reset)
//	answer 3 fatal err=(no permission)
//	hint released token=4 waiters=5
//	hint granted token=5 remaining=15s waiters=4
//	resign [token=7]
//	work-ended token=7 [calling] [err=(it panicked)]
//	returned
//	stop
//	publish token=7 value=b version=2
//
// An input by itself comes at the present time. Nonces are printed as letters,
// in the order in which they turn up.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil || !strings.HasPrefix(string(content), "# ") {
				t.Fatalf("%s does not begin with a comment that says what the situation is and what must be seen; %v", file, err)
			}
			s := newScript(t)
			situation.Run(t, file, *rewrite, func(d *situation.Command) string {
				line := words{T: t, place: d.Pos, args: append([]situation.Arg{{Key: d.Cmd}}, d.CmdArgs...)}
				text := s.command(&line)
				line.end()
				return text
			})
		})
	}
}

// scriptSeed makes the first try come at once, so that what follows has round
// times.
const scriptSeed = 2741079

// epoch is when a script's machine starts, so that nothing relies on a zero.
const epoch = 100 * sec

// script carries out the commands of one file.
type script struct {
	*testing.T
	rig    *rig
	nonces []string
	text   strings.Builder // of the present command
}

func newScript(t *testing.T) *script {
	s := &script{T: t}
	s.renew(Config{Drift: 0.01})
	return s
}

// renew begins with a new machine.
func (s *script) renew(cfg Config) {
	cfg.ID, cfg.Seed = "n1", scriptSeed
	s.rig = &rig{T: s.T, m: New(cfg), now: epoch}
	s.rig.out.Wake = Never
	s.nonces = nil
}

func (s *script) command(line *words) string {
	s.text.Reset()
	switch name := line.next(); name {
	case "config":
		s.renew(line.config())
		c := s.rig.m.cfg
		s.print("lease ", c.Lease, " of which usable ", c.Usable(), ", renew ", c.Renew, ", retry ", c.Retry, ", timeout ", c.RequestTimeout,
			", drain ", c.DrainTimeout, ", in-flight ", c.MaxInFlight, "\n")
	case "wake":
		if s.rig.out.Wake == Never {
			line.fatalf("the machine does not want to be woken")
		}
		s.rig.now = max(s.rig.now, s.rig.out.Wake)
		s.step(Input{})
	case "at":
		at := epoch + line.duration(line.next())
		for s.rig.out.Wake < at {
			s.rig.now = s.rig.out.Wake
			s.step(Input{})
		}
		s.reach(line, at)
		s.step(s.input(line, line.next()))
	case "paused-until":
		s.reach(line, epoch+line.duration(line.next()))
		s.step(s.input(line, line.next()))
	case "clock-says":
		s.rig.now = epoch + line.duration(line.next())
		s.step(s.input(line, line.next()))
	default:
		s.step(s.input(line, name))
	}
	return s.text.String()
}

func (s *script) reach(line *words, at time.Duration) {
	if at < s.rig.now {
		line.fatalf("it is %v already", s.rig.now-epoch)
	}
	s.rig.now = at
}

// input reads what a step is given; no name is a wake-up.
func (s *script) input(line *words, name string) Input {
	in := Input{
		Token: line.number("token"), Holder: line.value("by"), Remaining: line.duration(line.value("remaining")),
		Waiters: int(line.number("waiters")), Calling: line.flag("calling"), Value: line.value("value"), Version: line.number("version"),
	}
	if text := line.value("err"); text != "" {
		in.Err = errors.New(text)
	}
	switch name {
	case "":
		in.Kind = Wake
	case "start":
		in.Kind = Start
	case "answer":
		in.Kind = Answer
		in.Request = line.parse(line.next())
		result := line.next()
		i := slices.Index([]string{"unknown", "done", "held", "not-held", "fatal"}, result)
		if i < 0 {
			line.fatalf("no result is called %q", result)
		}
		in.Result = Result(i)
	case "hint":
		switch which := line.next(); which {
		case "released":
			in.Kind = HintReleased
		case "granted":
			in.Kind = HintGranted
		default:
			line.fatalf("no hint is called %q", which)
		}
	case "resign":
		in.Kind = Resign
	case "work-ended":
		in.Kind = WorkEnded
	case "returned":
		in.Kind = Returned
	case "stop":
		in.Kind = Stop
	case "fenced":
		in.Kind = Fenced
	case "publish":
		in.Kind = Publish
	default:
		line.fatalf("no command is called %q", name)
	}
	return in
}

// words are the rest of a command's line.
type words struct {
	*testing.T
	place string
	args  []situation.Arg
}

func (w *words) fatalf(format string, args ...any) {
	w.Helper()
	w.Fatalf(w.place+": "+format, args...)
}

// next takes the next word that has no value, "" if there is none.
func (w *words) next() string {
	if len(w.args) == 0 || len(w.args[0].Vals) > 0 {
		return ""
	}
	word := w.args[0].Key
	w.args = w.args[1:]
	return word
}

// value takes what key= says, "" if it is not there.
func (w *words) value(key string) string {
	i := slices.IndexFunc(w.args, func(a situation.Arg) bool { return a.Key == key && len(a.Vals) == 1 })
	if i < 0 {
		return ""
	}
	value := w.args[i].Vals[0]
	w.args = slices.Delete(w.args, i, i+1)
	return value
}

// flag takes a word without a value from wherever it stands.
func (w *words) flag(key string) bool {
	i := slices.IndexFunc(w.args, func(a situation.Arg) bool { return a.Key == key && len(a.Vals) == 0 })
	if i >= 0 {
		w.args = slices.Delete(w.args, i, i+1)
	}
	return i >= 0
}

func (w *words) parse(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		w.fatalf("%v", err)
	}
	return n
}

func (w *words) number(key string) uint64 {
	if text := w.value(key); text != "" {
		return w.parse(text)
	}
	return 0
}

func (w *words) duration(text string) time.Duration {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		w.fatalf("%v", err)
	}
	return d
}

func (w *words) config() Config {
	drift := 0.01
	if text := w.value("drift"); text != "" {
		var err error
		if drift, err = strconv.ParseFloat(text, 64); err != nil {
			w.fatalf("%v", err)
		}
	}
	return Config{
		Lease: w.duration(w.value("lease")), Renew: w.duration(w.value("renew")), Retry: w.duration(w.value("retry")),
		RequestTimeout: w.duration(w.value("timeout")), DrainTimeout: w.duration(w.value("drain")), Drift: drift,
		MaxInFlight: int(w.number("in-flight")), Floor: w.number("floor"), Once: w.flag("once"), Value: w.value("value"),
	}
}

// end demands that every word was understood.
func (w *words) end() {
	if len(w.args) > 0 {
		w.fatalf("what is %v?", w.args)
	}
}

package virtual

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// Each file in testdata is a situation, named after it: what is done to a few
// candidates, and what the world makes of it. Written anew with
//
//	go test ./sim/virtual -run TestScripts -rewrite
//
// and then read: what a world does is not what a real system does because it
// does it. The commands:
//
//	plan nodes=2 lease=3s renew=1s retry=200ms drift=0.01 writes=1s observes=1h quiet=3s latency=10ms bare seed=1
//	2s for=5s pause leader
//	1s for=1s latency n1 base_ms=500 jitter_ms=0
//
// runs the plan with the faults below it, one a line; their times count from
// the first leader on. What is left out is as in the line above, but for seed
// and bare (an elector in blocking style that does not know of the production
// elector's scripts). It says how the run went on the whole.
//
//	show from=1s to=2s of=n1,store what=belief,renew,write,read,acquire,release,observe,audit,fault,process
//
// shows the last run's history, or that part of it. Times count from the start
// of the run, in seconds. Nonces are letters, in the order of their appearance.
// A "?" is the invocation of a call, a "!" is the store's own word on it.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil || !strings.HasPrefix(string(content), "# ") {
				t.Fatalf("%s does not begin with a comment that says what must be seen; %v", file, err)
			}
			s := &script{}
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				s.T = t
				words := &words{t, d.Pos, d.CmdArgs}
				var text string
				switch d.Cmd {
				case "plan":
					text = s.run(words.plan(), words.flag("bare"), d.Input)
				case "show":
					text = s.show(words)
				default:
					words.fatalf("no command is called %q", d.Cmd)
				}
				words.end()
				return text
			})
		})
	}
}

// script is the last run of a file's plans.
type script struct {
	*testing.T
	events []history.Event
	nonces []string
}

// run carries out a plan.
func (s *script) run(plan sim.Plan, bare bool, schedule string) string {
	for line := range strings.Lines(schedule) {
		plan.Schedule = append(plan.Schedule, s.step(line))
	}
	world := &World{}
	if bare {
		world.Subjects = map[string]Subject{"recount": {Blocking: bareElector}}
	}
	h, err := world.Run(s.Context(), plan, "")
	if err != nil {
		s.Fatal(err)
	}
	s.events, s.nonces = h.Events, nil
	wellFormed(s.T, h.Events)
	var leaders []string
	for _, e := range h.Events {
		if e.Kind == history.Elected {
			leaders = append(leaders, fmt.Sprintf("%s (%d)", e.Node, e.Token))
		}
	}
	last := h.Events[len(h.Events)-1]
	return s.ranked(fmt.Sprintf("leaders: %s; %s s\n", strings.Join(leaders, ", "), seconds(last.At)))
}

// micros is a token that a server made of its time.
var micros = regexp.MustCompile(`\b1\d{15}\b`)

// ranked is a text in which each token that was made of a time is its place among those
// of the run: 1 is the smallest.
func (s *script) ranked(text string) string {
	var tokens []uint64
	for i := range s.events {
		tokens = append(tokens, s.events[i].Token)
	}
	slices.Sort(tokens)
	tokens = slices.Compact(tokens)
	return micros.ReplaceAllStringFunc(text, func(found string) string {
		token, _ := strconv.ParseUint(found, 10, 64) // it is digits
		if place, is := slices.BinarySearch(tokens, token); is {
			return strconv.Itoa(place + 1 - slices.Index(tokens, firstMicros(tokens)))
		}
		return found
	})
}

// firstMicros is the smallest token that was made of a time.
func firstMicros(sorted []uint64) uint64 {
	i, _ := slices.BinarySearch(sorted, 1e15)
	return sorted[i]
}

// step reads a fault.
func (s *script) step(line string) faults.Step {
	fields := strings.Fields(line)
	var step faults.Step
	var err error
	must := func(what string, err error) {
		if err != nil {
			s.Fatalf("%q: %s: %v", strings.TrimSpace(line), what, err)
		}
	}
	step.At, err = time.ParseDuration(fields[0])
	must("time", err)
	fields = fields[1:]
	if length, ok := strings.CutPrefix(fields[0], "for="); ok {
		step.For, err = time.ParseDuration(length)
		must("length", err)
		fields = fields[1:]
	}
	params := map[string]any{}
	for _, field := range fields[2:] {
		key, text, _ := strings.Cut(field, "=")
		value, err := strconv.ParseFloat(text, 64)
		must(key, err)
		params[key] = value
	}
	step.Fault, err = faults.Parse(fields[0], params)
	must("fault", err)
	step.Target, err = faults.ParseTarget(fields[1])
	must("target", err)
	return step
}

// show prints what is asked for.
func (s *script) show(w *words) string {
	from, to := w.duration("from", 0), w.duration("to", forever)
	of, what := w.list("of"), w.list("what")
	var text strings.Builder
	for i := range s.events {
		e := &s.events[i]
		where, kind, line := s.line(e)
		if e.At < from || e.At > to || of != nil && !slices.Contains(of, where) {
			continue
		}
		if what == nil && kind != "observe" && kind != "read" || slices.Contains(what, kind) {
			fmt.Fprintf(&text, "%8s  %-5s  %s\n", seconds(e.At), where, line)
		}
	}
	return s.ranked(text.String())
}

// line says where an event happened, of which kind it is, and what it was.
func (s *script) line(e *history.Event) (where, kind, line string) {
	switch e.Kind {
	case history.Invoke:
		return e.Node, string(e.Call), string(e.Call) + "? " + s.subject(e)
	case history.Ok:
		return e.Node, string(e.Call), fmt.Sprintf("%s %s: ok%s", e.Call, s.subject(e), said(e))
	case history.Fail:
		return e.Node, string(e.Call), fmt.Sprintf("%s %s: refused%s", e.Call, s.subject(e), said(e))
	case history.Info:
		return e.Node, string(e.Call), fmt.Sprintf("%s %s: unknown, %s", e.Call, s.subject(e), e.Error)
	case history.Audit:
		if *e.Applied {
			return "store", "audit", fmt.Sprintf("%s! %s: token %d", e.Call, s.subject(e), e.Token)
		}
		return "store", "audit", fmt.Sprintf("%s! %s: no", e.Call, s.subject(e))
	case history.Elected, history.Extended:
		return e.Node, "belief", fmt.Sprintf("%s %d until %s", e.Kind, e.Token, seconds(*e.Until))
	case history.Deposed:
		return e.Node, "belief", fmt.Sprintf("deposed %d, %s", e.Token, e.Why)
	case history.Fault:
		if e.Phase == history.On {
			return "fault", "fault", fmt.Sprintf("%s on: %s of %s", e.ID, e.Fault, strings.Join(e.Targets, ","))
		}
		effect := "without effect"
		if *e.Effective {
			effect = "in force from " + seconds(*e.Since)
		}
		return "fault", "fault", fmt.Sprintf("%s off: %s; %s", e.ID, effect, e.Evidence)
	case history.Healed:
		return "fault", "fault", "all is healed"
	case history.Exit:
		return e.Node, "process", "exit, " + string(e.Why)
	default:
		return e.Node, "process", strings.TrimSpace(string(e.Kind) + " " + e.Text)
	}
}

// subject is what an operation is about.
func (s *script) subject(e *history.Event) string {
	if e.Nonce == "" {
		return strings.TrimSpace(e.Value)
	}
	i := slices.Index(s.nonces, e.Nonce)
	if i < 0 {
		i = len(s.nonces)
		s.nonces = append(s.nonces, e.Nonce)
	}
	return fmt.Sprintf("%c/%d", 'a'+i, e.Try)
}

// said is what the answer said.
func said(e *history.Event) string {
	var text string
	if e.Token != 0 {
		text = fmt.Sprintf(", token %d", e.Token)
	}
	if e.Holder != "" {
		text += " of " + e.Holder
	}
	if e.Fence != 0 {
		text += fmt.Sprintf(", the fence is at %d", e.Fence)
	}
	return text
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 4, 64) }

// words are the arguments of a command.
type words struct {
	*testing.T
	place string
	args  []datadriven.CmdArg
}

func (w *words) fatalf(format string, args ...any) {
	w.Helper()
	w.Fatalf(w.place+": "+format, args...)
}

// list takes what key= says.
func (w *words) list(key string) []string {
	i := slices.IndexFunc(w.args, func(a datadriven.CmdArg) bool { return a.Key == key })
	if i < 0 {
		return nil
	}
	values := w.args[i].Vals
	w.args = slices.Delete(w.args, i, i+1)
	return strings.Split(strings.Join(values, ","), ",")
}

func (w *words) flag(key string) bool { return w.list(key) != nil }

func (w *words) duration(key string, otherwise time.Duration) time.Duration {
	list := w.list(key)
	if list == nil {
		return otherwise
	}
	d, err := time.ParseDuration(list[0])
	if err != nil {
		w.fatalf("%v", err)
	}
	return d
}

func (w *words) number(key string, otherwise float64) float64 {
	list := w.list(key)
	if list == nil {
		return otherwise
	}
	n, err := strconv.ParseFloat(list[0], 64)
	if err != nil {
		w.fatalf("%v", err)
	}
	return n
}

func (w *words) plan() sim.Plan {
	return sim.Plan{
		Subject: "recount", Nodes: int(w.number("nodes", 2)), Drift: w.number("drift", 0.01), Seed: uint64(w.number("seed", 1)),
		Timings: sim.Timings{
			Lease: w.duration("lease", 3*time.Second), Renew: w.duration("renew", time.Second), Retry: w.duration("retry", 200*time.Millisecond),
		},
		Quiet: w.duration("quiet", 3*time.Second), Writes: w.duration("writes", time.Second), Observes: w.duration("observes", time.Hour),
		Network: sim.Network{Latency: w.duration("latency", 10*time.Millisecond)},
	}
}

// end demands that every word was understood.
func (w *words) end() {
	if len(w.args) > 0 {
		w.fatalf("what is %v?", w.args)
	}
}

// wellFormed demands of a history what every one of this world must be: in
// order, with operations that are invoked once and end once at the most, by the
// process that began them.
func wellFormed(t testing.TB, events []history.Event) {
	t.Helper()
	open := map[int64]*history.Event{}
	running := map[string]bool{}
	for i := range events {
		e := &events[i]
		if i > 0 && e.At < events[i-1].At || e.Seq != events[0].Seq+int64(i) {
			t.Fatalf("event %d, %+v, comes after %+v", i, e, events[i-1])
		}
		if on := e.Kind == history.Fault && e.Phase == history.On; on != (e.Effect != nil) || on && *e.Effect != history.EffectOf(e.Fault) {
			t.Fatalf("%+v has the effect %+v", e, e.Effect)
		}
		alive := running[e.Node] || e.Node == "" || e.Call == history.Write
		switch e.Kind {
		case history.Start:
			alive = !alive
			running[e.Node] = true
		case history.Exit:
			delete(running, e.Node)
		case history.Invoke:
			if open[e.Op] != nil || e.Op == 0 {
				t.Fatalf("operation %d is invoked twice", e.Op)
			}
			open[e.Op] = e
		case history.Ok, history.Fail, history.Info:
			invoked := open[e.Op]
			if invoked == nil || invoked.Call != e.Call || invoked.Nonce != e.Nonce || invoked.Try != e.Try || invoked.Node != e.Node {
				t.Fatalf("%+v is the end of operation %+v", e, invoked)
			}
			e := *invoked
			e.Kind = "over"
			open[e.Op] = &e
		}
		if !alive {
			t.Fatalf("%s is not running: %+v", e.Node, e)
		}
	}
}

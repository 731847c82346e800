package chaostest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/reports"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/live"
)

// tries is how often a scenario runs that a busy machine keeps from being decided.
const tries = 3

// run runs one scenario, and fails the test unless it passes.
func (r *runner) run(t *testing.T, in place, s scenarios.Scenario) {
	t.Helper()
	ctx, cancel := untilDeadline(t)
	defer cancel()
	for try := 1; ; try++ {
		dir, err := r.artifacts.folder(r.out, string(in.world()), s.Name)
		if err == nil {
			_, err = r.artifacts.folder(r.out, string(in.world()), s.Name, "logs")
		}
		if err != nil {
			t.Fatal(err)
		}
		o := scenarios.Runner{World: in, Logs: func(string) (string, error) { return filepath.Join(dir, "logs"), nil }}.Run(ctx, []scenarios.Scenario{s}, r.set)
		if len(o) == 0 {
			t.Fatal("the test's -timeout left no time to run it")
		}
		v := r.judge(o[0], dir)
		if v.verdict == checker.Unknown && v.busy && try < tries && ctx.Err() == nil {
			t.Logf("the machine was too busy to decide it; once more. %s", v.text)
			continue
		}
		r.tell(t, v)
		return
	}
}

// untilDeadline is a context that ends early enough before the test's -timeout for what
// was recorded to be told.
func untilDeadline(t *testing.T) (context.Context, context.CancelFunc) {
	end, limited := t.Deadline()
	if !limited {
		return context.WithCancel(t.Context())
	}
	return context.WithDeadline(t.Context(), end.Add(-min(10*time.Second, time.Until(end)/10)))
}

// judgement is what a run comes to.
type judgement struct {
	verdict checker.Verdict
	text    string // what there is to say, in lines
	busy    bool   // the machine did not let the run go on for a while
}

// tell tells it to the test.
func (r *runner) tell(t *testing.T, v judgement) {
	t.Helper()
	switch {
	case v.verdict == checker.Pass:
		t.Log(v.text)
	case v.verdict == checker.Unknown && r.allowUnknown:
		t.Log(v.text)
	default:
		t.Error(v.text)
	}
}

// judge judges a run and writes its report.
func (r *runner) judge(o scenarios.Outcome, dir string) judgement {
	logs := filepath.Join(dir, "logs")
	if o.History == nil || o.Result == nil {
		return judgement{verdict: checker.Fail, text: sentence(o.Err) + "\n  logs: " + logs}
	}
	v := judgement{verdict: o.Verdict(), busy: stalled(o.Result) || o.Err != nil}
	rep, page, err := write(dir, o)
	var lines []string
	if blamed := blames(o.History); len(blamed) > 0 {
		v.verdict = checker.Fail
		lines = append(lines, blamed...)
	}
	if o.Err != nil {
		lines = append(lines, "the run is not whole: "+sentence(o.Err))
	}
	if err != nil {
		lines = append(lines, "the report could not be written: "+err.Error())
		if v.verdict == checker.Pass {
			v.verdict = checker.Unknown
		}
	}
	if v.verdict != checker.Pass {
		lines = append(lines, unknownTo(o.History)...)
	}
	for _, p := range rep.Promises {
		if p.Verdict == checker.Fail {
			lines = append(lines, spell(p)...)
		}
	}
	for _, p := range rep.Promises {
		if p.Verdict == checker.Unknown && v.verdict == checker.Unknown { // else it follows from the rest
			lines = append(lines, spell(p)...)
		}
	}
	if v.verdict == checker.Pass {
		v.text = fmt.Sprintf("pass: %s", figures(rep))
		return v
	}
	v.text = strings.Join(append(lines, "  report: "+page), "\n")
	return v
}

// most is how many of the events that decide a promise are spelled out.
const most = 4

// spell is a promise that is broken, or undecided, with the events that decide it.
func spell(p reports.Promise) []string {
	word := "is broken"
	if p.Verdict == checker.Unknown {
		word = "is undecided"
	}
	lines := []string{fmt.Sprintf("%s %s: %s", p.Promise, word, p.Reason)}
	for _, e := range p.Events[:min(most, len(p.Events))] {
		line := fmt.Sprintf("    #%d  %.3f s  %s  %s", e.Seq, e.AtMS/1000, e.Node, e.Kind)
		if e.Token != 0 {
			line += fmt.Sprintf("  token %d", e.Token)
		}
		lines = append(lines, strings.TrimRight(line+"  "+e.Text, " "))
	}
	return lines
}

// figures are those of a run that passed.
func figures(rep *reports.Report) string {
	if rep.FailoverMS.Count == 0 {
		return "no failover"
	}
	return fmt.Sprintf("%d failovers, %s", rep.FailoverMS.Count, rep.FailoverMS.Short())
}

// blames are the sentences on what is wrong with the elector, or with how it was given
// to Run, whatever promises it has kept.
func blames(h *history.History) (list []string) {
	for i := range h.Events {
		e := &h.Events[i]
		switch {
		case e.Kind != history.Note:
		case e.Text == sim.NothingRead && len(list) == 0: // else it follows from the rest
			list = append(list, "no candidate connected by Candidate.Dial, and in fake time there is no other way to Redis: have the client use it, as RedisOptions does, or run in the live world alone, with Worlds(Live)")
		case e.Node != "" && strings.HasPrefix(e.Text, blame) && !slices.ContainsFunc(list, func(s string) bool { return strings.HasSuffix(s, e.Text) }):
			list = append(list, e.Node+": "+e.Text)
		}
	}
	return list
}

// unknownTo are the sentences on what the model of Redis did not know, which may be why a
// run did not pass.
func unknownTo(h *history.History) (list []string) {
	for i := range h.Events {
		if command, is := strings.CutPrefix(h.Events[i].Text, sim.UnknownCommand); is && h.Events[i].Kind == history.Note {
			list = append(list, "the model of Redis in fake time does not know "+command+", which the elector sends: run it in the live world alone, with Worlds(Live)")
		}
	}
	return list
}

// sentence says of an error what a user has to know.
func sentence(err error) string {
	var unusable *live.CandidateError
	switch {
	case err == nil:
		return "nothing was recorded"
	case errors.As(err, &unusable):
		return fmt.Sprintf("%s: %v", unusable.Node, unusable.Err)
	case errors.Is(err, context.DeadlineExceeded):
		return "the test's -timeout was about to end it: give it more time, or fewer scenarios"
	default:
		return err.Error()
	}
}

// stalled reports whether the machine did not let the run go on for a while.
func stalled(result *checker.Result) bool {
	return slices.ContainsFunc(result.Faults, func(f checker.FaultCount) bool {
		return history.Uninjected(f.Name)
	})
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/misuse"
	"github.com/recount-io/recount/scenarios/fuzz"
)

// maximise adds --maximise to chaos fuzz: given, it searches for the worst case
// of something in place of broken promises.
func (m Main) maximise(cmd *cobra.Command, f *fuzzFlags) {
	var goal string
	cmd.Flags().StringVar(&goal, "maximise", "", "search for the longest \"failover\", or the largest \"dual-belief\", and compare it with its bound")
	fuzzes := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		given := cmd.Flags().Changed
		if !given("maximise") {
			return fuzzes(cmd, args)
		}
		for _, flag := range []string{"cover", "failures", "shard"} {
			if given(flag) {
				return misuse.Of(fmt.Errorf("--%s means nothing with --maximise: it is for a search for broken promises", flag))
			}
		}
		f.seeded = given("seed")
		return m.worst(cmd.Context(), goal, f)
	}
}

// worst is chaos fuzz --maximise.
func (m Main) worst(ctx context.Context, name string, f *fuzzFlags) error {
	goal, err := fuzz.ParseGoal(name)
	if err != nil {
		return misuse.Of(fmt.Errorf("--maximise: %w", err))
	}
	if err := f.resolve(m); err != nil {
		return err
	}
	o := fuzz.MaximiseOptions{
		Goal: goal, Seed: f.options.Seed, Schedules: f.options.Schedules, For: f.options.For, Workers: f.options.Workers,
		Pins: f.options.Pins, Subjects: f.options.Subjects,
	}
	if err := o.Validate(); err != nil {
		return misuse.Of(err)
	}
	out, err := openOutput(f.out)
	if err != nil {
		return err
	}
	s := newFuzzScreen(m, f.asJSON)
	s.say("Searching for the worst %s of %s, seed %d; the case will be in %s", goal, o.Pins.Subject, o.Seed, out.dir)
	o.Progress = s.worst
	w := fuzz.Maximise(ctx, o)
	s.clear()
	file, err := saveWorst(out.dir, &w)
	if err != nil {
		return err
	}
	if f.asJSON {
		err = json.NewEncoder(s.out).Encode(worstObject(&w, o.Seed, file))
	} else {
		s.say("%s", w.Text())
		if file != "" {
			s.say("The case: %s", file)
		}
		s.say("Again: %s --maximise %s", f.repro(), goal)
	}
	if err != nil {
		return err
	}
	if w.Err != nil {
		return w.Err
	}
	return judged(worstVerdict(&w))
}

// worst shows how far a search has got.
func (s *fuzzScreen) worst(w fuzz.Worst) {
	switch {
	case time.Since(s.shown) < progressEvery:
		return
	case w.Found:
		s.line("%d schedules; the worst so far is %.1f %% of the bound", w.Schedules, 100*w.Share())
	default:
		s.line("%d schedules", w.Schedules)
	}
	s.shown = time.Now()
}

// saveWorst writes the case that was found into a file that chaos replay
// repeats.
func saveWorst(dir string, w *fuzz.Worst) (string, error) {
	if !w.Found {
		return "", nil
	}
	text, err := w.Case.Marshal()
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("worst-%s.json", w.Goal)
	return filepath.Join(dir, name), writeFiles(dir, map[string][]byte{name: text})
}

// worstVerdict is unknown for a search that met no change of leaders at all.
func worstVerdict(w *fuzz.Worst) checker.Verdict {
	switch {
	case w.Broken != "":
		return checker.Fail
	case !w.Found:
		return checker.Unknown
	default:
		return checker.Pass
	}
}

// worstCase is what chaos fuzz --maximise --json prints. Of two beliefs the
// length is that of their overlap, and negative if there is a gap between them.
type worstCase struct {
	Goal      fuzz.Goal   `json:"goal"`
	Schedules int         `json:"schedules"`
	Seconds   float64     `json:"seconds"`
	Seed      uint64      `json:"seed"`
	Verdict   string      `json:"verdict"`
	Reason    string      `json:"reason,omitempty"`
	Length    int64       `json:"length_ns"`
	Limit     int64       `json:"limit_ns"`
	Excess    int64       `json:"excess_ns,omitempty"`
	Bound     []worstTerm `json:"bound,omitempty"`
	File      string      `json:"file,omitempty"`
}

type worstTerm struct {
	Name   string `json:"name"`
	Length int64  `json:"length_ns"`
}

func worstObject(w *fuzz.Worst, seed uint64, file string) worstCase {
	object := worstCase{
		Goal: w.Goal, Schedules: w.Schedules, Seconds: w.Seconds, Seed: seed, Verdict: worstVerdict(w).String(),
		Reason: w.Broken, Length: int64(w.Length), Limit: int64(w.Limit), File: file,
	}
	for _, t := range w.Bound {
		object.Bound = append(object.Bound, worstTerm{t.Name, int64(t.Length)})
	}
	if w.Goal == fuzz.LongestFailover && w.Found {
		object.Excess = int64(w.Length - w.Limits.Lease)
	}
	return object
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/scenarios/fuzz"
)

func (m Main) worstCommand() *cobra.Command {
	var f fuzzFlags
	cmd := &cobra.Command{
		Use:   "worst failover|dual-belief",
		Short: "Search virtual time for the worst case of something, and compare it with its bound",
		Long: `Worst searches for the schedule with the longest failover, or with the largest overlap
of two candidates that both believe to lead, and says how close it comes to the
bound that the settings give. It saves the case as a file that "chaos replay"
repeats.

Exit status: 0 within the bound; 1 beyond it; 2 undecided, because no schedule had
a change of leaders; 3 stopped early; 64 wrong use or bad input; 70 the tool itself
failed.`,
		Example: `  chaos worst failover --lease 5s
  chaos worst dual-belief --for 10m`,
		Args: cobra.MatchAll(someArguments("what to search for: failover or dual-belief"), oneArgument),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.seeded = cmd.Flags().Changed("seed")
			return m.worst(cmd.Context(), args[0], &f)
		},
	}
	f.common(cmd.Flags())
	return cmd
}

// oneArgument refuses more than one argument.
func oneArgument(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usage.Of(fmt.Errorf("%s: give one thing to search for", strings.Join(args, " ")))
	}
	return nil
}

// worst is chaos worst.
func (m Main) worst(ctx context.Context, name string, f *fuzzFlags) error {
	goal, err := fuzz.ParseGoal(name)
	if err != nil {
		return usage.Of(err)
	}
	f.options.Failures = 1
	if err := f.resolve(m); err != nil {
		return err
	}
	o := fuzz.MaximiseOptions{
		Goal: goal, Seed: f.options.Seed, Schedules: f.options.Schedules, For: f.options.For, Workers: f.options.Workers,
		Pins: f.options.Pins, Subjects: f.options.Subjects,
	}
	if err := o.Validate(); err != nil {
		return usage.Of(err)
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
		s.say("Again: %s", f.repro("worst "+string(goal)))
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

// worstCase is what chaos worst --json prints. Of two beliefs the
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

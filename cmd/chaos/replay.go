package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/scenarios/fuzz"
	"github.com/recount-io/recount/sim/live/inspection"
	"github.com/recount-io/recount/sim/virtual"
)

// replayFlags are the flags of chaos replay.
type replayFlags struct {
	runFlags // of the live world
	lease    time.Duration
	given    func(flag string) bool
}

func (m Main) replayCommand() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay FILE…",
		Short: "Repeat recorded failures",
		Long: `Replay repeats the run that a file of "chaos fuzz" describes, exactly, and says
what broke, or that nothing does any more. A folder stands for the files in it.
What a property test has saved (*.fail) is repeated as well, as long as cases
are drawn as they were then.

With --world live the same schedule runs on real Redis, which repeats nothing
exactly: so it runs until the chance of its failing is known well enough, or
--runs times. --lease makes that shorter: it scales everything in proportion. What
only the virtual world has (earlier tokens, candidates with longer leases, leaders
that hand over when they resign) is refused there.

A case of "chaos fuzz --in" runs again up to three times, in its own world. A path that
"chaos explore" has saved is walked once more, action by action.

Exit status: 0 it does not fail any more; 1 it fails; 2 undecided; 3 stopped
early; 64 wrong use or bad input; 70 the tool itself failed.`,
		Example: `  chaos replay recount-runs/2026-11-20T10-00-00/at-most-one-leader-17.json
  chaos replay scenarios/testdata
  chaos replay --world live --lease 1s failure.json`,
		Args: someArguments("at least one file that chaos fuzz wrote, or a folder of them"),
		RunE: func(cmd *cobra.Command, paths []string) error {
			f.given = cmd.Flags().Changed
			return m.replay(cmd.Context(), f, paths)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.world, "world", "virtual", "where it is repeated: virtual or live")
	flags.StringVar(&f.redis, "redis", "", "with --world live: auto, embedded, process, docker, or a URL (default: $RECOUNT_REDIS, else auto)")
	flags.DurationVar(&f.lease, "lease", 0, "scale everything to a lease of this length (default: as in the file)")
	flags.IntVar(&f.runs, "runs", 40, "with --world live: how often it runs at the most")
	flags.IntVar(&f.parallel, "parallel", 5, "with --world live: how many runs at once")
	f.sparing.add(flags)
	flags.StringVar(&f.out, "out", "", "folder for reports of the runs in the virtual world (default: none are written)")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object and nothing else on standard output")
	return cmd
}

// session are the flags of chaos run for the runs in the live world.
func (f *replayFlags) session() *runFlags {
	one := f.runFlags
	one.world, one.prefix = liveWorld, inspection.DefaultPrefix
	return &one
}

// replayed is what became of one file, as chaos replay --json prints it.
type replayed struct {
	File     string          `json:"file"`
	Verdict  checker.Verdict `json:"verdict"`
	Promise  checker.Promise `json:"promise,omitempty"` // that broke, or is undecided
	Reason   string          `json:"reason,omitempty"`
	Runs     int             `json:"runs"`
	Fails    int             `json:"fails"`
	Interval []float64       `json:"interval,omitempty"` // of the chance that it fails, in the live world
	says     string
}

// replay is chaos replay.
func (m Main) replay(ctx context.Context, f replayFlags, paths []string) error {
	if f.redis == "" && f.world == liveReplay {
		f.redis = m.Getenv("RECOUNT_REDIS")
	}
	if err := f.session().checkSparing(f.given); err != nil {
		return err
	}
	files, others, err := sortFiles(f, paths)
	if err != nil {
		return err
	}
	cases, err := m.loadCases(f, files)
	if err != nil {
		return err
	}
	s := newFuzzScreen(m, f.asJSON)
	var all []replayed
	if f.world == liveReplay {
		all, err = m.replayLive(ctx, f, s, cases, files)
	} else {
		all, err = m.replayVirtual(ctx, f, cases, files)
	}
	s.clear()
	for i := 0; i < len(others) && err == nil; i++ {
		var one replayed
		one, err = others[i].again(ctx)
		all = append(all, one)
	}
	if err == nil && f.asJSON {
		err = json.NewEncoder(s.out).Encode(map[string]any{"replays": all})
	} else {
		for _, r := range all {
			s.say("%s: %s", r.File, r.says)
		}
	}
	if err != nil {
		return err
	}
	return judged(fold(all, func(r *replayed) checker.Verdict { return r.Verdict }))
}

// loadCases reads all files before anything is run.
func (m Main) loadCases(f replayFlags, files []string) (cases []fuzz.Case, err error) {
	for _, path := range files {
		c, err := loadCase(path)
		if err == nil && f.lease != 0 {
			c = c.Scaled(f.lease)
			err = c.Validate()
		}
		if err != nil {
			return nil, usage.Of(fmt.Errorf("%s: %w", path, err))
		}
		if err := m.checkCase(f, &c); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// checkCase refuses a case that cannot run in the world that was asked for.
func (m Main) checkCase(f replayFlags, c *fuzz.Case) error {
	if f.world != liveReplay {
		return m.checkVirtualSubject(c.Subject)
	}
	if c.Behavior != (fuzz.Behavior{}) {
		return usage.Of(errors.New(`"tokens", "long_lease" and "hands_over" are of the virtual world: leave them out of the file to try the rest on real Redis`))
	}
	if err := checkSubject(c.Subject); err != nil {
		return err
	}
	if why := subjectOf(c.Subject).absent(f.redis)[liveWorld]; why != "" {
		return usage.Of(fmt.Errorf("%s cannot run in the live world: %s", c.Subject, why))
	}
	return nil
}

// replayFiles are the files that paths name; a folder stands for those in it.
func replayFiles(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("no failure can be read: %w", err)
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, fmt.Errorf("no failure can be read: %w", err)
		}
		before := len(files)
		for _, e := range entries {
			if ext := filepath.Ext(e.Name()); !e.IsDir() && (ext == ".json" || ext == ".fail") {
				files = append(files, filepath.Join(path, e.Name()))
			}
		}
		if len(files) == before {
			return nil, fmt.Errorf("%s holds no failure: give a folder with files that chaos fuzz wrote (*.json)", path)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// loadCase reads one file of either kind.
func loadCase(path string) (fuzz.Case, error) {
	if filepath.Ext(path) == ".fail" {
		return fuzz.FromFailFile(path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fuzz.Case{}, err
	}
	return fuzz.Parse(text)
}

// replayVirtual repeats the cases exactly.
func (m Main) replayVirtual(ctx context.Context, f replayFlags, cases []fuzz.Case, files []string) ([]replayed, error) {
	var out *output
	if f.out != "" {
		var err error
		if out, err = openOutput(f.out); err != nil {
			return nil, err
		}
	}
	var all []replayed
	for i := range cases {
		c := &cases[i]
		h, r, err := c.Try(ctx, &virtual.World{Subjects: m.virtualSubjects(), Scripts: virtual.Compared})
		var endless *fuzz.EndlessError
		if errors.As(err, &endless) {
			all = append(all, replayed{File: files[i], Verdict: checker.Fail, Promise: fuzz.Ends, Reason: endless.Why, Runs: 1, Fails: 1, says: "it fails: it does not end: " + endless.Why})
			continue
		}
		if err != nil {
			return all, err
		}
		all = append(all, conclude(files[i], c, r))
		if out != nil {
			name := strings.TrimSuffix(filepath.Base(files[i]), filepath.Ext(files[i]))
			if _, err := out.add(name, h, r); err != nil {
				return all, err
			}
		}
	}
	if out != nil {
		return all, out.finish()
	}
	return all, nil
}

// conclude says in one sentence what the run of a case amounts to.
func conclude(file string, c *fuzz.Case, r *checker.Result) replayed {
	done := replayed{File: file, Verdict: checker.Pass, Runs: 1}
	was := c.Failed.Promise
	if broke, broken := failed(r, was); broken {
		done.Verdict, done.Promise, done.Reason, done.Fails = checker.Fail, broke.Promise, broke.Reason, 1
		done.says = fmt.Sprintf("it fails: %s is broken: %s", broke.Promise, broke.Reason)
		if was != "" && was != broke.Promise {
			done.says += fmt.Sprintf(" (it was kept for %s)", was)
		}
		return done
	}
	for _, f := range r.Asked {
		if f.Verdict == checker.Unknown && (f.Promise == was || f.Promise == checker.WellFormed) {
			done.Verdict, done.Promise, done.Reason = checker.Unknown, f.Promise, f.Reason
			done.says = fmt.Sprintf("undecided: %s: %s", f.Promise, f.Reason)
			return done
		}
	}
	done.says = "it does not fail: every promise is kept"
	if was != "" {
		done.says = fmt.Sprintf("it does not fail any more: %s is kept", was)
	}
	return done
}

// failed is what a result says is broken: what the case is kept for, if it is,
// else the first promise.
func failed(r *checker.Result, was checker.Promise) (fuzz.Failed, bool) {
	for _, f := range r.Asked {
		if f.Promise == was && f.Verdict == checker.Fail {
			return fuzz.Failed{Promise: f.Promise, Reason: f.Reason}, true
		}
	}
	return fuzz.Verdict(r)
}

// errNoRuns is why nothing can be said of a case in the live world.
var errNoRuns = errors.New("no run was decided: its faults did not take effect, or the machine stalled; run it again on a calmer one")

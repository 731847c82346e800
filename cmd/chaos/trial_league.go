package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/misuse"
	"github.com/recount-io/recount/internal/garbage"
	"github.com/recount-io/recount/scenarios/fuzz"
	"github.com/recount-io/recount/scenarios/league"
)

// leagueSettings are the flags of chaos trial that belong to --league alone.
type leagueSettings struct {
	seeds     int
	schedules int
}

// What a league is made of, unless a flag says otherwise.
const (
	defaultLeagueSeeds = 20
	defaultLeagueClean = 1_000_000
	defaultLeagueSeed  = 1
)

// leagueProgress is how often it is told how far the clean run is, where there
// is no status line.
const leagueProgress = 30 * time.Second

// leagueFlags are the flags of chaos trial --league.
func (m Main) leagueFlags(cmd *cobra.Command, f *trialFlags) {
	flags := cmd.Flags()
	flags.BoolVar(&f.league, "league", false, "hunt every planted bug of \"chaos list --mutants\", or those that are named, in the virtual world")
	flags.IntVar(&f.planted.seeds, "seeds", defaultLeagueSeeds, "with --league: from how many seeds each bug is hunted; 0: none is")
	flags.IntVar(&f.planted.schedules, "schedules", defaultLeagueClean, "with --league: how many random schedules the elector without a bug must survive; 0: none")
}

// leagueRun is one league under way.
type leagueRun struct {
	*fuzzScreen
	flags *trialFlags
	seed  uint64
	names []string
	table league.Table
	told  time.Time
}

// league is chaos trial --league.
func (m Main) league(ctx context.Context, f *trialFlags, names []string) error {
	mutants, err := f.mutants(names)
	if err != nil {
		return misuse.Of(err)
	}
	err = updatable(f.update, func(text []byte) error {
		_, err := (&league.Table{}).Rewrite(string(text))
		return err
	})
	if err != nil {
		return misuse.Of(err)
	}
	r := &leagueRun{fuzzScreen: newFuzzScreen(m, f.asJSON), flags: f, seed: defaultLeagueSeed, names: names}
	if f.given("seed") {
		r.seed = f.settings.Seed
	}
	if len(names) > 0 && !f.given("schedules") {
		f.planted.schedules = 0
	}
	defer garbage.Seldom()()
	seconds := clocked()
	out := &output{}
	if f.shard.Given() {
		if out, err = openOutput(f.out); err != nil {
			return err
		}
		r.table.Clean.Shard = f.shard
	}
	if f.planted.seeds == 0 {
		mutants = nil
	}
	for i := range mutants {
		if !f.shard.Takes(i) {
			continue
		}
		e, err := mutants[i].Measure(ctx, r.seed, f.planted.seeds)
		r.clear()
		if err != nil {
			return err
		}
		r.table.Entries = append(r.table.Entries, e)
		if line := leagueLine(&e); f.asJSON {
			fmt.Fprintln(r.err, line) // it takes a while
		} else {
			fmt.Fprintln(r.out, line)
		}
		if err := r.write(); err != nil {
			return err
		}
	}
	if err := r.survive(ctx); err != nil {
		return err
	}
	if f.shard.Given() {
		return r.concludeShard(out, seconds())
	}
	if err := r.report(); err != nil {
		return err
	}
	return judged(r.verdict())
}

// mutants are those to be hunted: the named ones, or all that can be found.
func (f *trialFlags) mutants(names []string) ([]league.Mutant, error) {
	for _, flag := range []string{"world", "scenario", "exec-dir", "runs", "virtual-runs", "redis", "toxiproxy", "prefix", "lease", "parallel", "shrink", "out"} {
		if f.given(flag) && (flag != "out" || !f.shard.Given()) {
			return nil, fmt.Errorf("--%s means nothing with --league: a bug is hunted in the virtual world, as its catalogue says", flag)
		}
	}
	switch {
	case f.planted.seeds < 0:
		return nil, fmt.Errorf("--seeds %d: give a number that is not negative", f.planted.seeds)
	case f.planted.seeds == 0 && f.planted.schedules == 0:
		return nil, errors.New("--seeds 0 and --schedules 0: there is nothing to do")
	case f.planted.schedules < 0:
		return nil, fmt.Errorf("--schedules %d: give a number that is not negative", f.planted.schedules)
	}
	all := league.Mutants()
	if len(names) == 0 {
		return slices.DeleteFunc(all, func(m league.Mutant) bool { return m.Unseen != "" }), nil
	}
	var some []league.Mutant
	for _, name := range names {
		i := slices.IndexFunc(all, func(m league.Mutant) bool { return m.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("no planted bug is called %q: \"chaos list --mutants\" lists them", name)
		}
		some = append(some, all[i])
	}
	return some, nil
}

// survive lets the elector without a bug live through the same.
func (r *leagueRun) survive(ctx context.Context) error {
	if r.flags.planted.schedules == 0 {
		return nil
	}
	if len(r.names) == 0 {
		if err := r.table.Clean.ByScenario(ctx, r.seed, defaultLeagueSeeds); err != nil {
			return err
		}
	}
	err := r.table.Clean.AtRandom(ctx, r.seed, r.flags.planted.schedules, func(p fuzz.Progress) {
		r.line("%d of %d clean schedules, %.0f a second", p.Schedules, r.flags.planted.schedules, float64(p.Schedules)/p.Seconds)
		if now := time.Now(); !r.terminal && now.Sub(r.told) > leagueProgress {
			r.told = now
			fmt.Fprintf(r.err, "%d of %d clean schedules\n", p.Schedules, r.flags.planted.schedules)
		}
	})
	r.clear()
	return err
}

func (r *leagueRun) verdict() checker.Verdict {
	if len(r.table.Clean.Alarms) > 0 || slices.ContainsFunc(r.table.Entries, func(e league.Entry) bool { return !e.Found() }) {
		return checker.Fail
	}
	return checker.Pass
}

// write writes what the league has come to so far into documents. It may go on
// for hours, and be stopped.
func (r *leagueRun) write() error {
	for _, file := range r.flags.update {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("the table cannot be written: %w", err)
		}
		document, err := r.table.Rewrite(string(text))
		if err != nil {
			return misuse.Of(fmt.Errorf("%s: %w", file, err))
		}
		if err := os.WriteFile(file, []byte(document), 0o644); err != nil {
			return fmt.Errorf("the table cannot be written: %w", err)
		}
	}
	return nil
}

// report writes and prints what the league came to.
func (r *leagueRun) report() error {
	if err := r.write(); err != nil {
		return err
	}
	if r.flags.asJSON {
		return json.NewEncoder(r.out).Encode(r.object())
	}
	r.print(r.out)
	return nil
}

// print prints what follows the line of each bug.
func (r *leagueRun) print(w io.Writer) {
	found := 0
	for i := range r.table.Entries {
		if r.table.Entries[i].Found() {
			found++
		}
	}
	if len(r.table.Entries) > 0 {
		fmt.Fprintf(w, "\n%d of %d planted bugs found, from %d seeds each\n", found, len(r.table.Entries), r.flags.planted.seeds)
	}
	if c := &r.table.Clean; c.Schedules+c.Runs > 0 {
		fmt.Fprintln(w, strings.Replace(c.Sentence(), ", and ", ",\nand ", 1)) // it fits a narrow terminal
		for _, f := range c.Alarms {
			fmt.Fprintf(w, "  %s, seed %d: %s: %s\n", f.By, f.Seed, f.Promise, f.Reason)
		}
	}
}

// leagueLine is an entry in two lines that fit a narrow terminal.
func leagueLine(e *league.Entry) string {
	median, most := e.Schedules()
	last := &e.Sightings[len(e.Sightings)-1]
	if !e.Found() {
		return fmt.Sprintf("%-26s NOT FOUND in %d schedules\n  by %s; %d other alarms, %d disputes of the checkers",
			e.Name, last.Schedules, e.By(), len(last.Elsewhere), len(last.Disputes))
	}
	var promises []string
	for _, p := range e.Promises() {
		promises = append(promises, string(p))
	}
	return fmt.Sprintf("%-26s %6d schedules (at most %d), %.2f s, %d faults\n  by %s: %s",
		e.Name, median, most, e.Seconds(), e.First().Faults, e.By(), strings.Join(promises, ", "))
}

// leagueObject is what chaos trial --league --json prints.
type leagueObject struct {
	Mutants        []leagueMutant `json:"mutants"`
	Seed           uint64         `json:"seed"`
	Seeds          int            `json:"seeds"`
	CleanSchedules int            `json:"clean_schedules"`
	CleanSeconds   float64        `json:"clean_seconds"`
	CleanFaults    int            `json:"clean_faults"`
	CleanRuns      int            `json:"clean_runs"` // of scenarios
	FalseAlarms    int            `json:"false_alarms"`
	Alarms         []leagueAlarm  `json:"alarms"`
}

type leagueMutant struct {
	Name          string            `json:"name"`
	Where         league.Place      `json:"where"`
	Summary       string            `json:"summary"`
	HuntedBy      string            `json:"hunted_by"`
	Found         bool              `json:"found"`
	Promise       checker.Promise   `json:"promise"`
	Promises      []checker.Promise `json:"promises"` // of all seeds, the most frequent first
	Schedules     int               `json:"schedules"`
	MostSchedules int               `json:"most_schedules"`
	Seconds       float64           `json:"seconds"`
	ShrunkFaults  int               `json:"shrunk_faults"`
	Shrunk        string            `json:"shrunk"`
	Elsewhere     int               `json:"alarms_on_other_promises"`
	Disputes      int               `json:"disputes_of_the_checkers"`
}

type leagueAlarm struct {
	Promise checker.Promise `json:"promise"`
	Reason  string          `json:"reason"`
	By      string          `json:"by"`
	Seed    uint64          `json:"seed"` // which repeats it
}

func (r *leagueRun) object() leagueObject {
	c := &r.table.Clean
	o := leagueObject{
		Mutants: []leagueMutant{}, Alarms: []leagueAlarm{}, Seed: r.seed, Seeds: r.flags.planted.seeds,
		CleanSchedules: c.Schedules, CleanSeconds: c.Seconds, CleanFaults: c.Faults, CleanRuns: c.Runs, FalseAlarms: len(c.Alarms),
	}
	for _, f := range c.Alarms {
		o.Alarms = append(o.Alarms, leagueAlarm{f.Promise, f.Reason, f.By, f.Seed})
	}
	for i := range r.table.Entries {
		e := &r.table.Entries[i]
		m := leagueMutant{
			Name: e.Name, Where: e.Where, Summary: e.What, HuntedBy: e.By(), Found: e.Found(), Promises: e.Promises(),
			Seconds: e.Seconds(), ShrunkFaults: e.First().Faults, Shrunk: e.First().Text,
		}
		m.Schedules, m.MostSchedules = e.Schedules()
		if len(m.Promises) > 0 {
			m.Promise = m.Promises[0]
		}
		for _, s := range e.Sightings {
			m.Elsewhere += len(s.Elsewhere)
			m.Disputes += len(s.Disputes)
		}
		o.Mutants = append(o.Mutants, m)
	}
	return o
}

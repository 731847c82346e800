package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/misuse"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/spelling"
	"github.com/recount-io/recount/scenarios/fuzz/fuzzreport"
	"github.com/recount-io/recount/scenarios/search"
)

// plans is the name of what chaos fuzz generates by default.
const plans = "plans"

// searchFlags are the flags of chaos fuzz --in for everything but plans.
type searchFlags struct {
	in    string
	cases int
	only  string
	limit time.Duration
}

func (f *searchFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.in, "in", plans, "what is generated: "+strings.Join(append([]string{plans}, spaceNames()...), ", "))
	flags.IntVar(&f.cases, "cases", 0, fmt.Sprintf("with --in: how many cases to run (default: %d, or as many as --for allows)", defaultCases))
	flags.StringVar(&f.only, "only", "", "with --in: a feature that each case must have, such as act:kill")
	flags.DurationVar(&f.limit, "limit", 0, "with --in: how long a case may use the processor, or wait in real time, until it counts as endless (default: 45s and 1m)")
}

// defaultCases is how many cases a search tries that is given no limit.
const defaultCases = 200

// Flags that go with plans alone, and with everything else.
var (
	ofPlans  = []string{"schedules", "subject", "nodes", "lease", "renew", "retry", "drift", "cover", "texts", "shard"}
	ofSpaces = []string{"cases", "only", "limit"}
)

// refuse refuses the flags that say nothing of plans.
func (f *searchFlags) refuse(given func(string) bool) error {
	for _, name := range ofSpaces {
		if given(name) {
			return misuse.Of(fmt.Errorf("--%s says nothing of plans: add --in %s", name, strings.Join(spaceNames(), ", or ")))
		}
	}
	return nil
}

func spaceNames() (names []string) {
	for _, s := range search.Spaces {
		names = append(names, s.Name)
	}
	return names
}

// spacesHelp is a line for each space.
func spacesHelp() string {
	var b strings.Builder
	for _, s := range search.Spaces {
		fmt.Fprintf(&b, "  %-11s %s\n", s.Name, s.About)
	}
	return b.String()
}

// searchIn is chaos fuzz --in for everything but plans.
func (m Main) searchIn(cmd *cobra.Command, f fuzzFlags) error {
	o, err := f.searchOptions(cmd.Flags().Changed)
	if err != nil {
		return misuse.Of(err)
	}
	out, err := openOutput(f.out)
	if err != nil {
		return err
	}
	s := newFuzzScreen(m, f.asJSON)
	s.say("Searching %s, seed %d; report in %s", o.Space.Name, o.Seed, out.dir)
	o.Progress = func(p search.Progress) { s.searchProgress(&p) }
	r, stopped := search.Run(cmd.Context(), o)
	s.clear()
	if stopped == nil {
		stopped = cmd.Context().Err()
	}
	if stopped != nil && !errors.Is(stopped, context.Canceled) {
		return stopped
	}
	done := searched{options: o, result: r, repeat: repeatSearch(&o)}
	if err := done.save(out); err != nil {
		return err
	}
	if f.asJSON {
		err = json.NewEncoder(s.out).Encode(done.object())
	} else {
		fuzzreport.SearchText(s.out, &done.result, done.traces, "Again: "+done.repeat)
	}
	if err := errors.Join(err, stopped); err != nil {
		return err
	}
	return judged(done.verdict())
}

// searchOptions are what the flags ask for.
func (f *fuzzFlags) searchOptions(given func(string) bool) (search.Options, error) {
	space, err := search.Find(f.search.in)
	if err != nil {
		return search.Options{}, fmt.Errorf("--in %s: use one of %s", f.search.in, strings.Join(append([]string{plans}, spaceNames()...), ", "))
	}
	for _, name := range ofPlans {
		if given(name) {
			return search.Options{}, fmt.Errorf("--%s is for plans: leave it out with --in %s", name, space.Name)
		}
	}
	o := search.Options{
		Space: space, Seed: f.options.Seed, Cases: f.search.cases, For: f.options.For, Workers: f.options.Workers,
		Failures: f.options.Failures, Shrink: f.options.Shrink, Only: f.search.only, Limit: f.search.limit,
	}
	switch {
	case o.Cases < 0:
		return o, fmt.Errorf("--cases %d: give a number above 0", o.Cases)
	case o.For < 0:
		return o, fmt.Errorf("--for %v is negative", o.For)
	case o.Failures < 1:
		return o, fmt.Errorf("--failures %d: give a number above 0", o.Failures)
	case o.Workers < 0:
		return o, fmt.Errorf("--workers %d: at least one case must run at a time", o.Workers)
	case o.Limit < 0:
		return o, fmt.Errorf("--limit %v is negative", o.Limit)
	}
	if all := space.Features(); o.Only != "" && !slices.Contains(all, o.Only) {
		return o, fmt.Errorf("--only %s: no case of %s has that feature%s: give one of %s", o.Only, space.Name, spelling.Hint(o.Only, all), strings.Join(all, ", "))
	}
	if o.Cases == 0 && o.For == 0 {
		o.Cases = defaultCases
	}
	if !f.seeded {
		o.Seed = rand.Uint64N(1 << 32)
	}
	return o, nil
}

// searched is what came of a search.
type searched struct {
	options search.Options
	result  search.Result
	repeat  string // the command that repeats it
	traces  []fuzzreport.Trace
}

// repeatSearch is the command that repeats a search.
func repeatSearch(o *search.Options) string {
	text := fmt.Sprintf("chaos fuzz --in %s --seed %d", o.Space.Name, o.Seed)
	add := func(when bool, format string, args ...any) {
		if when {
			text += " " + fmt.Sprintf(format, args...)
		}
	}
	add(o.Cases > 0, "--cases %d", o.Cases)
	add(o.For > 0, "--for %v", o.For)
	add(o.Only != "", "--only %q", o.Only)
	add(o.Limit > 0, "--limit %v", o.Limit)
	add(o.Failures > 1, "--failures %d", o.Failures)
	return text
}

// save writes the page, each failure into a file of its own, and a report of its history
// beside it.
func (d *searched) save(out *output) error {
	files := map[string][]byte{}
	for i := range d.result.Failures {
		f := &d.result.Failures[i]
		name := fmt.Sprintf("%s-%d", hyphened(strings.ReplaceAll(f.Finding.Obligation, " ", "-")), f.Number)
		text, err := f.Marshal()
		if err != nil {
			return err
		}
		files[name+".json"] = text
		one := search.Options{Space: d.options.Space, Seed: f.Number, Cases: 1, Limit: f.Limit}
		trace := fuzzreport.Trace{File: filepath.Join(out.dir, name+".json"), Command: repeatSearch(&one)}
		if trace.Page, err = saveHistory(out, name, f.History); err != nil {
			return err
		}
		if len(f.Log) > 0 {
			files[name+".log"] = logText(f.Log)
			trace.Page = name + ".log"
		}
		d.traces = append(d.traces, trace)
	}
	page, err := fuzzreport.SearchHTML(d.options.Space, &d.result, d.traces, d.repeat)
	if err != nil {
		return err
	}
	files["fuzz.html"] = page
	return writeFiles(out.dir, files)
}

// logText is the log of a case as a file.
func logText(lines []string) []byte { return []byte(strings.Join(lines, "\n") + "\n") }

// saveHistory writes the report of a history, if there is one, and returns where it is,
// seen from the folder of all.
func saveHistory(out *output, name string, text []byte) (page string, err error) {
	if text == nil {
		return "", nil
	}
	h, err := history.Load(strings.NewReader(string(text)))
	if err != nil {
		return "", err
	}
	if _, err := out.add(name, h, checker.Check(h, checker.Options{})); err != nil {
		return "", err
	}
	return name + "/report.html", nil
}

// verdict is pass only for a search that tried something.
func (d *searched) verdict() checker.Verdict {
	switch {
	case len(d.result.Failures) > 0:
		return checker.Fail
	case d.result.Cases == 0:
		return checker.Unknown
	default:
		return checker.Pass
	}
}

// searchObject is what chaos fuzz --in prints with --json.
type searchObject struct {
	In       string          `json:"in"`
	Cases    int             `json:"cases"`
	Seconds  float64         `json:"seconds"`
	Seed     uint64          `json:"seed"`
	Verdict  string          `json:"verdict"`
	Failures []searchFailure `json:"failures"`
	Features []searchFeature `json:"features"`
}

type searchFailure struct {
	File       string  `json:"file"`
	Obligation string  `json:"obligation"`
	Details    string  `json:"details"`
	Says       string  `json:"says,omitempty"`
	Seed       uint64  `json:"seed"`  // which alone draws it again
	Cases      int     `json:"cases"` // needed to find it
	Seconds    float64 `json:"seconds"`
	Again      int     `json:"again"` // so many repetitions failed
}

type searchFeature struct {
	Name      string `json:"name"`
	Drawn     int    `json:"drawn"`
	Effective int    `json:"effective"`
}

func (d *searched) object() searchObject {
	o := searchObject{
		In: d.options.Space.Name, Cases: d.result.Cases, Seconds: d.result.Seconds, Seed: d.options.Seed, Verdict: d.verdict().String(),
		Failures: []searchFailure{}, Features: []searchFeature{},
	}
	for i := range d.result.Failures {
		f := &d.result.Failures[i]
		o.Failures = append(o.Failures, searchFailure{
			File: d.traces[i].File, Obligation: f.Finding.Obligation, Details: f.Finding.Details, Says: f.Says(),
			Seed: f.Number, Cases: f.Cases, Seconds: f.Seconds, Again: f.Again,
		})
	}
	for _, f := range d.result.Coverage.Features() {
		o.Features = append(o.Features, searchFeature(f))
	}
	return o
}

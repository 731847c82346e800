package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/spelling"
	"github.com/recount-io/recount/reports/document"
	"github.com/recount-io/recount/scenarios/fuzz/fuzzreport"
	"github.com/recount-io/recount/scenarios/search"
)

// plans is the name of what chaos fuzz generates by default.
const plans = "plans"

// searchFlags are the flags of chaos fuzz --in for everything but plans.
type searchFlags struct {
	in    string
	only  string
	limit time.Duration
}

func (f *searchFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.in, "in", plans, "kind of cases: "+strings.Join(allSpaces(), ", "))
	flags.StringVar(&f.only, "only", "", "a feature that each case must have, such as act:kill")
	flags.DurationVar(&f.limit, "limit", 0, "a case is endless after so much time of the processor, or after so long in real time (default: 45s and 1m)")
}

// defaultCases is how many cases a search tries that is given no limit.
const defaultCases = 200

// Flags that say something of plans only, and of all other cases.
var (
	ofPlans  = []string{"subject", "nodes", "lease", "renew", "retry", "drift", "cover", "texts"}
	ofSpaces = []string{"only", "limit"}
)

// misplaced refuses a flag that means nothing for this kind of cases.
func (f *searchFlags) misplaced(given func(string) bool) error {
	if !slices.Contains(allSpaces(), f.in) {
		return fmt.Errorf("--in %s: use one of %s", f.in, strings.Join(allSpaces(), ", "))
	}
	names, only := ofSpaces, "is not for plans: add --in "+strings.Join(spaceNames(), ", or ")
	if f.in != plans {
		names, only = ofPlans, "is for plans: leave it out with --in "+f.in
	}
	for _, name := range names {
		if given(name) {
			return fmt.Errorf("--%s %s", name, only)
		}
	}
	return nil
}

// allSpaces are the values of --in.
func allSpaces() []string { return append([]string{plans}, spaceNames()...) }

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
func (m Main) searchIn(ctx context.Context, f fuzzFlags) error {
	o, err := f.searchOptions()
	if err != nil {
		return usage.Of(err)
	}
	out, err := openOutput(f.out)
	if err != nil {
		return err
	}
	s := newFuzzScreen(m, f.asJSON)
	if o.Shard.Given() {
		s.say("Searching %s, seed %d, shard %v; its file will be in %s", o.Space.Name, o.Seed, o.Shard, out.dir)
	} else {
		s.say("Searching %s, seed %d; report in %s", o.Space.Name, o.Seed, out.dir)
	}
	o.Progress = func(p search.Progress) { s.searchProgress(&p) }
	seconds := clocked()
	r, stopped := search.Run(ctx, o)
	s.clear()
	if stopped == nil {
		stopped = ctx.Err()
	}
	if stopped != nil && (o.Shard.Given() || !errors.Is(stopped, context.Canceled)) {
		return stopped
	}
	done := searched{options: o, result: r, repeat: repeatSearch(&o)}
	if o.Shard.Given() {
		return done.concludeShard(s, out, f.asJSON, seconds())
	}
	if err := done.save(out); err != nil {
		return err
	}
	if f.asJSON {
		err = json.NewEncoder(s.out).Encode(done.object())
	} else {
		err = done.print(s, "Again: "+done.repeat)
	}
	if err := errors.Join(err, stopped); err != nil {
		return err
	}
	return judged(done.verdict())
}

// searchOptions are what the flags ask for.
func (f *fuzzFlags) searchOptions() (search.Options, error) {
	if err := f.limits(); err != nil {
		return search.Options{}, err
	}
	f.defaults(defaultCases)
	o := f.search.options()
	o.Seed, o.Cases, o.For, o.Workers = f.options.Seed, f.options.Schedules, f.options.For, f.options.Workers
	o.Failures, o.Shrink, o.Shard = f.options.Failures, f.options.Shrink, f.options.Shard
	if o.Limit < 0 {
		return o, fmt.Errorf("--limit %v is negative", o.Limit)
	}
	if all := o.Space.Features(); o.Only != "" && !slices.Contains(all, o.Only) {
		return o, fmt.Errorf("--only %s: no case of %s has that feature%s: give one of %s", o.Only, o.Space.Name, spelling.Hint(o.Only, all), strings.Join(all, ", "))
	}
	return o, nil
}

// options are the space, and what narrows its cases.
func (f *searchFlags) options() search.Options {
	space, _ := search.Find(f.in) // misplaced has refused what is none
	return search.Options{Space: space, Only: f.only, Limit: f.limit}
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
	words := line{"chaos fuzz"}
	add := words.add
	add(true, "--in %s --seed %d", o.Space.Name, o.Seed)
	add(o.Cases > 0, "--cases %d", o.Cases)
	add(o.For > 0, "--for %v", o.For)
	add(o.Only != "", "--only %q", o.Only)
	add(o.Limit > 0, "--limit %v", o.Limit)
	add(o.Failures > 1, "--failures %d", o.Failures)
	return words.String()
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
		trace := d.trace(f, filepath.Join(out.dir, name+".json"))
		if trace.Page, err = saveHistory(out, name, f.History); err != nil {
			return err
		}
		if len(f.Log) > 0 {
			files[name+".log"] = logText(f.Log)
			trace.Page = name + ".log"
		}
		d.traces = append(d.traces, trace)
	}
	page, err := d.document().HTML()
	if err != nil {
		return err
	}
	files["fuzz.html"] = page
	return writeFiles(out.dir, files)
}

// trace says where a failure is, and how its case is drawn again.
func (d *searched) trace(f *search.Failure, file string) fuzzreport.Trace {
	one := search.Options{Space: d.options.Space, Seed: f.Number, Cases: 1, Limit: f.Limit}
	return fuzzreport.Trace{File: file, Command: repeatSearch(&one)}
}

func (d *searched) document() *document.Document {
	return fuzzreport.SearchDocument(d.options.Space, &d.result, d.traces, d.repeat)
}

// print shows the search, and last below it.
func (d *searched) print(s *fuzzScreen, last string) error {
	return fuzzreport.Print(s.out, d.document(), last)
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

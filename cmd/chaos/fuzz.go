package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/internal/garbage"
	"github.com/recount-io/recount/scenarios/fuzz"
	"github.com/recount-io/recount/scenarios/fuzz/fuzzreport"
	"github.com/recount-io/recount/scenarios/search"
	"github.com/recount-io/recount/sim/virtual"
)

// fuzzFlags are the flags of chaos fuzz.
type fuzzFlags struct {
	options fuzz.Options
	seeded  bool
	cover   float64
	out     string
	asJSON  bool
	search  searchFlags
	traces  []fuzzreport.Trace // of the failures, in their order
}

// defaultSchedules is how many schedules a fuzz run has that is given no limit.
const defaultSchedules = 20_000

func (m Main) fuzzCommand() *cobra.Command {
	var f fuzzFlags
	cmd := &cobra.Command{
		Use:   "fuzz",
		Short: "Run generated cases, and shrink what fails",
		Long: `Fuzz generates cases, runs each one, and checks every promise. A case that breaks
a promise is shrunk and saved as a file. "chaos replay" repeats that file.

--in chooses the kind of cases:
  plans       timings and fault schedules, in virtual time; the default
` + spacesHelp() + `
Plans run any elector of the virtual world. A map shows at which moments their
faults took effect. The map steers the next draws. All other cases run the code
that ships, in fake time, and check what its documents promise. Each case runs in
a worker process. A case that hangs, spins, takes all memory or panics is a
finding.

--shard i/n runs the i-th of n parts of a campaign, and writes one file. A shard
does not stop at a failure. "chaos merge" combines the files. The exit status of
a shard is 0 once its file is written, whatever the shard found.

Exit status: 0 every promise kept; 1 a promise broken; 2 undecided, because no
case was run, or less of the map was reached than --cover asks for; 3 stopped
early; 64 wrong use or bad input; 70 the tool itself failed.`,
		Example: `  chaos fuzz
  chaos fuzz --for 10m
  chaos fuzz --in calls --for 2m
  chaos fuzz --cases 100000 --seed 7 --nodes 3 --lease 2s
  chaos fuzz --cases 1000000 --seed 7 --shard 3/8 --out campaign
  chaos fuzz --in calls --cases 20000 --seed 7 --shard 3/8 --out calls`,
		Args: usage.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.seeded = cmd.Flags().Changed("seed")
			if cmd.Flags().Changed("shrink") && f.options.Shrink <= 0 {
				f.options.Shrink = -1 // to the options 0 is the default
			}
			if err := f.search.misplaced(cmd.Flags().Changed); err != nil {
				return usage.Of(err)
			}
			if f.options.Shard.Given() {
				if err := checkShard(cmd.Flags().Changed, notOfShards); err != nil {
					return err
				}
			}
			if f.search.in != plans {
				return m.searchIn(cmd.Context(), f)
			}
			return m.fuzz(cmd.Context(), f)
		},
	}
	flags, o := cmd.Flags(), &f.options
	f.common(flags)
	f.search.add(flags)
	flags.DurationVar(&o.Shrink, "shrink", 0, fmt.Sprintf("longest time to shrink one failure; 0s: do not shrink (default: %v, with --in %v)", fuzz.DefaultShrink, search.DefaultShrink))
	flags.IntVar(&o.Failures, "failures", 1, "stop after so many broken promises or obligations")
	flags.Float64Var(&f.cover, "cover", 0, "share of the map that a pass must reach, such as 0.5 (default: any)")
	flags.BoolVar(&o.Texts, "texts", false, fmt.Sprintf("run the scripts' Lua text in every case, not in one of %d", virtual.SampleOf))
	shardFlag(flags, &o.Shard)
	flags.Lookup("cases").Usage = fmt.Sprintf("number of cases (default: %d plans, or %d other cases; no limit with --for)", defaultSchedules, defaultCases)
	for prefix, names := range map[string][]string{"plans only: ": ofPlans, "not for plans: ": ofSpaces} {
		for _, name := range names {
			flags.Lookup(name).Usage = prefix + flags.Lookup(name).Usage
		}
	}
	return cmd
}

// common adds what every search in virtual time can be told.
func (f *fuzzFlags) common(flags *pflag.FlagSet) {
	o := &f.options
	flags.SetNormalizeFunc(oldNames)
	flags.IntVar(&o.Schedules, "cases", 0, fmt.Sprintf("number of cases (default: %d; no limit with --for)", defaultSchedules))
	flags.DurationVar(&o.For, "for", 0, "start no case after this time (default: no limit)")
	flags.Uint64Var(&o.Seed, "seed", 0, "seed of all random choices (default: drawn, and printed)")
	flags.StringVar(&o.Pins.Subject, "subject", "recount", "the elector under test")
	flags.IntVar(&o.Pins.Nodes, "nodes", 0, "number of candidates (default: drawn)")
	flags.DurationVar(&o.Pins.Timings.Lease, "lease", 0, "duration of a lease (default: drawn)")
	flags.DurationVar(&o.Pins.Timings.Renew, "renew", 0, "interval between the leader's renewals (default: drawn)")
	flags.DurationVar(&o.Pins.Timings.Retry, "retry", 0, "pause before a failed request is repeated (default: drawn)")
	flags.Float64Var(&o.Pins.Drift, "drift", 0, "tolerated difference of clock rates, as a share (default: drawn)")
	flags.IntVar(&o.Workers, "workers", 0, "number of cases that run at once (default: one for each processor)")
	flags.StringVar(&f.out, "out", "", "folder for the report and the failures (default: recount-runs/TIME)")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object and nothing else on standard output")
}

// oldNames lets --schedules stand for --cases, as in earlier versions.
func oldNames(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	if name == "schedules" {
		name = "cases"
	}
	return pflag.NormalizedName(name)
}

// fuzz is chaos fuzz.
func (m Main) fuzz(ctx context.Context, f fuzzFlags) error {
	if err := f.resolve(m); err != nil {
		return err
	}
	out, err := openOutput(f.out)
	if err != nil {
		return err
	}
	s := newFuzzScreen(m, f.asJSON)
	if shard := f.options.Shard; shard.Given() {
		s.say("Fuzzing %s, seed %d, shard %v; its file will be in %s", f.options.Pins.Subject, f.options.Seed, shard, out.dir)
	} else {
		s.say("Fuzzing %s, seed %d; report in %s", f.options.Pins.Subject, f.options.Seed, out.dir)
	}
	f.options.Progress = s.progress
	defer garbage.Seldom()()
	seconds := clocked()
	r := fuzz.Run(ctx, f.options)
	s.clear()
	if f.options.Shard.Given() {
		return f.concludeShard(s, out, &r, seconds())
	}
	if err := f.save(out, &r); err != nil {
		return err
	}
	if f.asJSON {
		err = f.print(s, &r)
	} else {
		err = fuzzreport.Print(s.out, fuzzreport.Document(&r, f.traces, f.again()), f.sentence(&r))
	}
	if err != nil {
		return err
	}
	if r.Err != nil {
		return r.Err
	}
	return judged(f.verdict(&r))
}

// resolve checks all that can be checked before anything is run.
func (f *fuzzFlags) resolve(m Main) error {
	o := &f.options
	o.Subjects = m.virtualSubjects()
	if err := m.checkVirtualSubject(o.Pins.Subject); err != nil {
		return err
	}
	if err := f.limits(); err != nil {
		return usage.Of(err)
	}
	if err := o.Pins.Validate(); err != nil {
		return usage.Of(err)
	}
	f.defaults(defaultSchedules)
	return nil
}

// limits refuses numbers that make no sense, in whatever kind of cases.
func (f *fuzzFlags) limits() error {
	o := &f.options
	switch {
	case o.Schedules < 0:
		return fmt.Errorf("--cases %d: give a number above 0", o.Schedules)
	case o.For < 0:
		return fmt.Errorf("--for %v is negative", o.For)
	case o.Failures < 1:
		return fmt.Errorf("--failures %d: give a number above 0", o.Failures)
	case o.Workers < 0:
		return fmt.Errorf("--workers %d: at least one case must run at a time", o.Workers)
	case !(f.cover >= 0 && f.cover <= 1):
		return fmt.Errorf("--cover %v: give a share from 0 to 1, such as 0.5", f.cover)
	}
	return nil
}

// defaults sets what was not given.
func (f *fuzzFlags) defaults(cases int) {
	o := &f.options
	if o.Schedules == 0 && o.For == 0 {
		o.Schedules = cases
	}
	if !f.seeded {
		o.Seed = rand.Uint64N(1 << 32)
	}
}

// checkVirtualSubject refuses the name of an elector that does not live in the
// virtual world.
func (m Main) checkVirtualSubject(name string) error {
	names := (&virtual.World{Subjects: m.virtualSubjects()}).Names()
	if slices.Contains(names, name) {
		return nil
	}
	return usage.Of(fmt.Errorf("no subject is called %q in the virtual world: give one of %s", name, strings.Join(names, ", ")))
}

// save writes the report, and each failure into a file of its own.
func (f *fuzzFlags) save(out *output, r *fuzz.Result) error {
	files := map[string][]byte{}
	for i := range r.Failures {
		c := &r.Failures[i].Case
		text, err := c.Marshal()
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s-%d.json", hyphened(string(c.Failed.Promise)), r.Failures[i].Seed)
		files[name] = text
		f.traces = append(f.traces, fuzzreport.Trace{File: filepath.Join(out.dir, name), Command: f.draws(r.Failures[i].Seed)})
	}
	page, err := fuzzreport.Document(r, f.traces, f.again()).HTML()
	if err != nil {
		return err
	}
	files["fuzz.html"] = page
	return writeFiles(out.dir, files)
}

// hyphened is a promise's name as a file's.
func hyphened(name string) string {
	var b strings.Builder
	for i, r := range name {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				b.WriteByte('-')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// repro is the command that repeats the run; a campaign's without --shard.
func (f *fuzzFlags) repro(command string) string {
	o := &f.options
	words := line{"chaos", command}
	add := words.add
	add(true, "--subject %s --seed %d", o.Pins.Subject, o.Seed)
	add(o.Schedules > 0, "--cases %d", o.Schedules)
	add(o.For > 0, "--for %v", o.For)
	add(o.Texts, "--texts")
	add(o.Pins.Nodes > 0, "--nodes %d", o.Pins.Nodes)
	add(o.Pins.Timings.Lease > 0, "--lease %v", o.Pins.Timings.Lease)
	add(o.Pins.Timings.Renew > 0, "--renew %v", o.Pins.Timings.Renew)
	add(o.Pins.Timings.Retry > 0, "--retry %v", o.Pins.Timings.Retry)
	add(o.Pins.Drift > 0, "--drift %g", o.Pins.Drift)
	return words.String()
}

// again is the command that repeats the run, or the campaign as a whole.
func (f *fuzzFlags) again() string {
	switch {
	case f.options.Shard.Given():
		return f.repro("fuzz") + " --shard 1/1"
	case f.cover > 0:
		return fmt.Sprintf("%s --cover %g", f.repro("fuzz"), f.cover)
	default:
		return f.repro("fuzz")
	}
}

// draws is the command that tries the case of that number alone.
func (f *fuzzFlags) draws(number uint64) string {
	one := *f
	one.options.Seed, one.options.Schedules, one.options.For = number, 1, 0
	return one.repro("fuzz")
}

// verdict is pass only for a run that tried something, and reached as much of the
// map as --cover asks for.
func (f *fuzzFlags) verdict(r *fuzz.Result) checker.Verdict {
	switch {
	case len(r.Failures) > 0:
		return checker.Fail
	case r.Schedules == 0 || r.Coverage.Share() < f.cover:
		return checker.Unknown
	default:
		return checker.Pass
	}
}

// sentence is the last line.
func (f *fuzzFlags) sentence(r *fuzz.Result) string {
	switch v := f.verdict(r); {
	case v == checker.Unknown && r.Schedules > 0:
		return fmt.Sprintf("Undecided: %.0f %% of the map was reached, and --cover asks for %.0f %%: run longer", 100*r.Coverage.Share(), 100*f.cover)
	default:
		return "Again: " + f.again()
	}
}

// fuzzObject is what chaos fuzz --json prints.
type fuzzObject struct {
	Schedules  int           `json:"schedules"`
	Seconds    float64       `json:"seconds"`
	Seed       uint64        `json:"seed"`
	Verdict    string        `json:"verdict"`
	Failures   []fuzzFailure `json:"failures"`
	Coverage   float64       `json:"coverage"`
	Confidence string        `json:"confidence"`
}

type fuzzFailure struct {
	File      string          `json:"file"`
	Promise   checker.Promise `json:"promise"`
	Reason    string          `json:"reason"`
	Seed      uint64          `json:"seed"` // which alone draws it again
	Faults    int             `json:"faults"`
	Schedules int             `json:"schedules"` // needed to find it
	Seconds   float64         `json:"seconds"`
}

// print prints the one object of --json.
func (f *fuzzFlags) print(s *fuzzScreen, r *fuzz.Result) error {
	return json.NewEncoder(s.out).Encode(f.object(r))
}

// object is the run as --json prints it.
func (f *fuzzFlags) object(r *fuzz.Result) fuzzObject {
	object := fuzzObject{
		Schedules: r.Schedules, Seconds: r.Seconds, Seed: f.options.Seed, Verdict: f.verdict(r).String(),
		Coverage: r.Coverage.Share(), Confidence: fuzzreport.Confidence(r), Failures: []fuzzFailure{},
	}
	for i := range r.Failures {
		failure := &r.Failures[i]
		object.Failures = append(object.Failures, fuzzFailure{
			File: f.traces[i].File, Promise: failure.Case.Failed.Promise, Reason: failure.Case.Failed.Reason, Seed: failure.Seed,
			Faults: len(failure.Case.Schedule), Schedules: failure.Schedules, Seconds: failure.Seconds,
		})
	}
	return object
}

// progressEvery is how often the status line moves.
const progressEvery = 200 * time.Millisecond

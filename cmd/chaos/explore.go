package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/internal/garbage"
	"github.com/recount-io/recount/sim/explore"
)

// exploreFlags are the flags of chaos explore.
type exploreFlags struct {
	depth  int
	limit  int
	time   time.Duration
	out    string
	large  bool
	list   bool
	asJSON bool
}

func (m Main) exploreCommand() *cobra.Command {
	var f exploreFlags
	cmd := &cobra.Command{
		Use:   "explore [WORLD…]",
		Short: "Visit every schedule of a small world",
		Long: `Explore visits every state that a few candidates and one store, or three, can
get into: each order in which messages arrive, are lost, late or repeated, clocks
tick, and processes crash and return. What decides for a candidate is the
production elector's state machine; in the world witness, in which keys of a Redis
are lost, the scripts decide. It checks in each state that at most one believes,
that no belief outlasts the store's lease, and more; what breaks is told step by
step, by the shortest way to it.

Exit status: 0 all states visited and nothing broken; 1 something broken, or
something never seen that has to be; 2 not all states visited; 3 stopped early;
64 wrong use; 70 the tool itself failed.`,
		Example: `  chaos explore                     the worlds that take seconds
  chaos explore crash --depth 30
  chaos explore --list`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.explore(cmd.Context(), f, args)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.depth, "depth", 0, "go no further than so many actions from the beginning (default: to the end)")
	flags.IntVar(&f.limit, "limit", 30_000_000, "visit so many states of a world at the most; 30 million take about 3 GB")
	flags.DurationVar(&f.time, "time", 0, "take so long for a world at the most (default: as long as it takes)")
	flags.StringVar(&f.out, "out", "", "folder for the paths to what is broken, for chaos replay (default: none are written)")
	flags.BoolVar(&f.large, "large", false, "without WORLD: the large worlds, too")
	flags.BoolVar(&f.list, "list", false, "list the worlds, and do nothing else")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object and nothing else on standard output")
	return cmd
}

// explored is what became of one world, as chaos explore --json prints it.
type explored struct {
	World    string          `json:"world"`
	Verdict  checker.Verdict `json:"verdict"`
	Broken   string          `json:"broken,omitempty"`
	File     string          `json:"file,omitempty"` // that chaos replay repeats
	Path     []explore.Step  `json:"path,omitempty"`
	Missing  []string        `json:"missing,omitempty"` // has to be seen, and was not
	States   int             `json:"states"`
	Edges    int             `json:"edges"`
	Depth    int             `json:"depth"`
	Finished bool            `json:"finished"`
	Waiting  int             `json:"waiting,omitempty"` // states found and not gone on from
	Seconds  float64         `json:"seconds"`
	Seen     map[string]int  `json:"seen"` // and the least depth
	Taken    map[string]int  `json:"taken"`
	report   *explore.Report
}

func (m Main) explore(ctx context.Context, f exploreFlags, names []string) error {
	if f.list {
		listWorlds(m.Stdout)
		return nil
	}
	worlds, err := f.resolve(names)
	if err != nil {
		return err
	}
	defer garbage.Seldom()()
	s := newFuzzScreen(m, f.asJSON)
	var all []explored
	for i := range worlds {
		one, err := f.search(ctx, s, &worlds[i])
		s.clear()
		if err != nil {
			return err
		}
		if err := one.save(f.out); err != nil {
			return err
		}
		all = append(all, one)
		if !f.asJSON {
			one.print(s.out)
		}
	}
	if f.asJSON {
		err = json.NewEncoder(s.out).Encode(map[string]any{"worlds": all})
	} else {
		printExplored(s.out, all)
	}
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return judged(fold(all, func(e *explored) checker.Verdict { return e.Verdict }))
}

// resolve checks all that can be checked before anything is searched.
func (f *exploreFlags) resolve(names []string) ([]explore.Settings, error) {
	switch {
	case f.depth < 0:
		return nil, usage.Of(fmt.Errorf("--depth %d is negative", f.depth))
	case f.limit < 1:
		return nil, usage.Of(fmt.Errorf("--limit %d: give a number above 0", f.limit))
	case f.time < 0:
		return nil, usage.Of(fmt.Errorf("--time %v is negative", f.time))
	}
	all := explore.Worlds()
	if len(names) == 0 {
		return slices.DeleteFunc(all, func(s explore.Settings) bool { return s.Large && !f.large }), nil
	}
	var chosen []explore.Settings
	for _, name := range names {
		i := slices.IndexFunc(all, func(s explore.Settings) bool { return s.Name == name })
		if i < 0 {
			return nil, usage.Of(fmt.Errorf("no world is called %q: see \"chaos explore --list\"", name))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func (f *exploreFlags) search(ctx context.Context, s *fuzzScreen, set *explore.Settings) (explored, error) {
	began := time.Now()
	o := explore.Options{Depth: f.depth, States: f.limit}
	o.Stop = func() bool { return ctx.Err() != nil || f.time > 0 && time.Since(began) > f.time }
	o.Progress = func(states, depth int) {
		if time.Since(s.shown) > progressEvery {
			s.shown = time.Now()
			s.line("%s: %d states, depth %d, %.0f states a second", set.Name, states, depth, float64(states)/time.Since(began).Seconds())
		}
	}
	r, err := explore.Search(set, o)
	if err != nil {
		return explored{}, err
	}
	one := explored{
		World: set.Name, Broken: r.Broken, Missing: r.Missing(), States: r.States, Edges: r.Edges, Depth: r.Depth, Finished: r.Finished,
		Waiting: r.Waiting, Seconds: time.Since(began).Seconds(), Seen: map[string]int{}, Taken: map[string]int{}, report: r,
	}
	for observation, depth := range r.Seen {
		one.Seen[strings.Join(observation.Names(), "")] = depth
	}
	for kind, times := range r.Taken {
		if times > 0 {
			one.Taken[explore.Kind(kind).String()] = times
		}
	}
	if r.Path != nil {
		one.Path = r.Path.Steps
	}
	one.Verdict = one.judge()
	return one, nil
}

// save writes the path to what is broken into a folder.
func (e *explored) save(dir string) error {
	if e.report.Path == nil || dir == "" {
		return nil
	}
	text, err := e.report.Path.Marshal()
	if err != nil {
		return err
	}
	name := "explore-" + e.World + ".json"
	e.File = filepath.Join(dir, name)
	return writeFiles(dir, map[string][]byte{name: text})
}

// judge: what was never seen in all of a world is a failure, since a check that
// never came to its matter has shown nothing.
func (e *explored) judge() checker.Verdict {
	switch {
	case e.Broken != "", e.Finished && len(e.Missing) > 0:
		return checker.Fail
	case !e.Finished:
		return checker.Unknown
	default:
		return checker.Pass
	}
}

// print tells what was found in one world.
func (e *explored) print(w io.Writer) {
	set := e.report.Settings
	printEntry(w, set.Name, set.What)
	var seen, taken []string
	for _, name := range explore.AllObservations().Names() {
		if depth := e.Seen[name]; depth > 0 {
			seen = append(seen, fmt.Sprintf("%s %d", name, depth))
		}
	}
	for kind, times := range e.report.Taken {
		if times > 0 {
			taken = append(taken, fmt.Sprintf("%v %d", explore.Kind(kind), times))
		}
	}
	printEntry(w, "  settings", set.Text())
	printEntry(w, "  seen from depth", strings.Join(seen, ", "))
	printEntry(w, "  actions", strings.Join(taken, ", "))
	if len(e.Missing) > 0 {
		printEntry(w, "  never seen", strings.Join(e.Missing, ", "))
	}
	if e.Broken != "" {
		printEntry(w, "  BROKEN", fmt.Sprintf("after %d actions: %s", len(e.report.Path.Steps), e.Broken))
		fmt.Fprint(w, e.report.Path.Text())
		if e.File != "" {
			fmt.Fprintf(w, "  Again: chaos replay %s\n", e.File)
		}
	}
	fmt.Fprintln(w)
}

// printExplored prints one line for each world.
func printExplored(w io.Writer, all []explored) {
	fmt.Fprintf(w, "%-20s %11s %6s %9s %10s  %s\n", "world", "states", "depth", "seconds", "states/s", "")
	for i := range all {
		e := &all[i]
		fmt.Fprintf(w, "%-20s %11d %6d %9.1f %10.0f  %s\n", e.World, e.States, e.Depth, e.Seconds, float64(e.States)/max(e.Seconds, 1e-3), e.outcome())
	}
}

func (e *explored) outcome() string {
	switch {
	case e.Broken != "":
		return "BROKEN"
	case e.Verdict == checker.Fail:
		return "NOT SEEN"
	case e.Finished:
		return "all of it"
	default:
		return "not all of it"
	}
}

// listWorlds lists what can be searched.
func listWorlds(w io.Writer) {
	fmt.Fprintln(w, "Worlds (those marked * are large)")
	for _, s := range explore.Worlds() {
		mark := "  "
		if s.Large {
			mark = "* "
		}
		printEntry(w, mark+s.Name, s.What)
	}
}

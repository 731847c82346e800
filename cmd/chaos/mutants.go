package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/internal/spelling"
	"github.com/recount-io/recount/scenarios/campaign"
	"github.com/recount-io/recount/scenarios/mutants"
)

// mutantFlags are the flags of chaos mutants.
type mutantFlags struct {
	source string
	hunt   mutants.Hunt
	sound  bool
	shard  campaign.Shard
	out    string
	update []string
	asJSON bool
}

func (m Main) mutantsCommand() *cobra.Command {
	var f mutantFlags
	cmd := &cobra.Command{
		Use:   "mutants",
		Short: "Plant bugs in the source, one at a time, and hunt them",
		Long: `A mutant is a bug planted in the source of Recount: a few words changed in the
elector, its scripts, a store or a guard. "hunt" compiles the source with one
mutant at a time and runs it in the worlds that use the changed code, until one
world finds it. It needs a clone of the source and the go command.`,
		Args: usage.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&f.source, "source", ".", "a folder in a clone of Recount")
	cmd.AddCommand(mutantsList(&f), mutantsShow(&f), m.mutantsHunt(&f))
	return cmd
}

func mutantsList(f *mutantFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list [NAME|KIND]…",
		Short:   "List mutants: all, or those of the given names and kinds",
		Example: "  chaos mutants list machine fence",
		RunE: func(cmd *cobra.Command, args []string) error {
			_, list, err := f.chosen(args)
			if err != nil {
				return err
			}
			if f.asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{"mutants": list})
			}
			for _, one := range list {
				printEntry(cmd.OutOrStdout(), one.Name, string(one.Kind)+": "+one.What)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON object")
	return cmd
}

func mutantsShow(f *mutantFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "show NAME|KIND…",
		Short:   "Show what mutants change",
		Example: "  chaos mutants show reserved-from-the-successor",
		Args:    someArguments("the name of a mutant, or a kind"),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, list, err := f.chosen(args)
			if err != nil {
				return err
			}
			for i := range list {
				fmt.Fprintln(cmd.OutOrStdout(), list[i].Text())
			}
			return nil
		},
	}
}

func (m Main) mutantsHunt(f *mutantFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hunt [NAME|KIND]…",
		Short: "Hunt mutants: all, or those of the given names and kinds",
		Long: `Hunt compiles the source with each mutant and runs it in the worlds for its
kind, one after the other, until one has found it. An alarm counts if the sound
source raises none in the same run. All mutants take hours.

Exit status: 0 each mutant was found, or is known not to be; 1 one was not;
3 stopped early; 64 wrong use or bad input; 70 the tool itself failed.`,
		Example: `  chaos mutants hunt tokens-as-text
  chaos mutants hunt machine --budget 30s
  chaos mutants hunt --update docs/mutants.md
  chaos mutants hunt --sound --every`,
		RunE: func(cmd *cobra.Command, args []string) error { return m.hunt(cmd.Context(), f, args) },
	}
	flags := cmd.Flags()
	flags.DurationVar(&f.hunt.Budget, "budget", 2*time.Minute, "what each world may take of a processor for each mutant, without compiling")
	flags.BoolVar(&f.hunt.Every, "every", false, "go on to the other worlds when one has found the mutant")
	flags.StringVar(&f.hunt.In, "in", "", "only in worlds whose name has that in it")
	flags.BoolVar(&f.hunt.Units, "units", false, "run the tests of the mutant's own package, too")
	flags.BoolVar(&f.sound, "sound", false, "hunt in the source without any mutant instead: nothing may be found")
	shardFlag(flags, &f.shard)
	flags.StringVar(&f.out, "out", "", "with --shard: folder for its file (default: recount-runs/TIME)")
	flags.StringArrayVar(&f.update, "update", nil, "Markdown file in which the table is written anew, a row as soon as it is known; may be repeated")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object and nothing else on standard output")
	return cmd
}

// chosen returns all mutants, and those of these names and kinds, or all, in the shard.
func (f *mutantFlags) chosen(wanted []string) (all, some []mutants.Mutant, err error) {
	root, err := mutants.Root(f.source)
	if err != nil {
		return nil, nil, usage.Of(fmt.Errorf("--source %s: %w: give a folder of one", f.source, err))
	}
	f.hunt.Root = root
	if all, err = mutants.Catalogue(root); err != nil {
		return nil, nil, err
	}
	is := func(m *mutants.Mutant, name string) bool { return name == m.Name || name == string(m.Kind) }
	for _, name := range wanted {
		if !slices.ContainsFunc(all, func(m mutants.Mutant) bool { return is(&m, name) }) {
			var names []string
			for i := range all {
				names = append(names, all[i].Name)
			}
			return nil, nil, usage.Of(fmt.Errorf("no mutant, and no kind of mutants, is called %q%s: see \"chaos mutants list\"", name, spelling.Hint(name, names)))
		}
	}
	n := 0
	for i := range all {
		if len(wanted) > 0 && !slices.ContainsFunc(wanted, func(name string) bool { return is(&all[i], name) }) {
			continue
		}
		if f.shard.Takes(n) {
			some = append(some, all[i])
		}
		n++
	}
	return all, some, nil
}

// hunt is chaos mutants hunt.
func (m Main) hunt(ctx context.Context, f *mutantFlags, wanted []string) error {
	catalogue, list, err := f.chosen(wanted)
	switch {
	case err != nil:
		return err
	case f.hunt.Budget < time.Second:
		return usage.Of(fmt.Errorf("--budget %v: give a second or more", f.hunt.Budget))
	case f.out != "" && !f.shard.Given():
		return usage.Of(errors.New("--out is the folder for the file of a shard: give --shard, or leave it out"))
	}
	s := newFuzzScreen(m, f.asJSON)
	f.hunt.Tell = s.say
	defer f.hunt.Close()
	if f.sound {
		return f.huntSound(ctx, s, len(wanted) > 0)
	}
	rewrite := func(done []mutants.Result) error {
		return f.rewrite(func(page string) (string, error) { return mutants.Rewrite(page, catalogue, done) })
	}
	if err := rewrite(nil); err != nil {
		return usage.Of(err)
	}
	seconds := clocked()
	var results []mutants.Result
	for i := range list {
		r, err := f.hunt.Find(ctx, list[i])
		if err != nil {
			return err
		}
		results = append(results, r)
		s.say("%s", r.Line())
		if err := rewrite(results[i:]); err != nil {
			return err
		}
	}
	if f.shard.Given() {
		return f.concludeShard(s, wanted, results, seconds())
	}
	return reportMutants(s, f.asJSON, results)
}

// huntSound hunts in the source without a mutant, where nothing may be found.
func (f *mutantFlags) huntSound(ctx context.Context, s *fuzzScreen, some bool) error {
	if some || f.shard.Given() {
		return usage.Of(errors.New("--sound is about the source without a mutant: leave out names and --shard"))
	}
	all, err := f.hunt.Clean(ctx)
	if err != nil {
		return err
	}
	if err := f.rewrite(func(page string) (string, error) { return mutants.RewriteClean(page, all) }); err != nil {
		return err
	}
	verdict := checker.Pass
	for i := range all {
		if all[i].Found {
			verdict = checker.Fail
			s.say("nothing is planted, and %s found %s: %s", all[i].World, all[i].Promise, all[i].Words)
		}
	}
	if f.asJSON {
		if err := json.NewEncoder(s.out).Encode(map[string]any{"verdict": verdict.String(), "worlds": all}); err != nil {
			return err
		}
	}
	return judged(verdict)
}

// rewrite changes the pages of --update.
func (f *mutantFlags) rewrite(with func(page string) (string, error)) error {
	return rewritePages(f.update, with)
}

// mutantFound is what became of one mutant, as chaos mutants hunt --json prints it.
type mutantFound struct {
	mutants.Kept
	mutants.Measured
}

// reportMutants says how many were found, and which were not although they should be.
func reportMutants(s *fuzzScreen, asJSON bool, results []mutants.Result) error {
	verdict, found, listed := checker.Pass, 0, []mutantFound{}
	for i := range results {
		kept, measured := results[i].Keep()
		listed = append(listed, mutantFound{kept, measured})
		if kept.Found {
			found++
		}
		if !results[i].Expected() {
			verdict = checker.Fail
		}
	}
	if asJSON {
		if err := json.NewEncoder(s.out).Encode(map[string]any{"verdict": verdict.String(), "mutants": listed}); err != nil {
			return err
		}
		return judged(verdict)
	}
	s.say("%d of %d mutants found", found, len(results))
	return judged(verdict)
}

// mutantCampaign are the settings of a hunt, as they stand in the files of a campaign.
type mutantCampaign struct {
	Mutants []string `json:"mutants,omitempty"` // none: all
	Budget  string   `json:"budget"`
	Every   bool     `json:"every"`
	In      string   `json:"in,omitempty"`
}

// concludeShard writes the file of a shard.
func (f *mutantFlags) concludeShard(s *fuzzScreen, wanted []string, results []mutants.Result, seconds float64) error {
	kept, measured := []mutants.Kept{}, map[string]mutants.Measured{}
	for i := range results {
		k, m := results[i].Keep()
		kept, measured[k.Name] = append(kept, k), m
	}
	command := strings.Join(append([]string{"chaos mutants hunt --budget", f.hunt.Budget.String()}, wanted...), " ")
	out, err := openOutput(f.out)
	if err != nil {
		return err
	}
	settings := mutantCampaign{wanted, f.hunt.Budget.String(), f.hunt.Every, f.hunt.In}
	path, err := saveShard(out, campaign.Plan{Kind: campaign.Mutants, Command: command}, f.shard, settings, kept, measured, seconds)
	if err != nil {
		return err
	}
	return sayShard(s.screen, f.asJSON, path, f.shard, seconds)
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/scenarios/campaign"
)

// mergeFlags are the flags of chaos merge.
type mergeFlags struct {
	out    string
	cover  float64
	update []string
	asJSON bool
}

func (m Main) mergeCommand() *cobra.Command {
	var f mergeFlags
	cmd := &cobra.Command{
		Use:   "merge FILE…",
		Short: "Put together what the shards of a campaign came to",
		Long: `Merge reads the files that commands with --shard wrote, all of one campaign, and
reports what the campaign came to as the command without --shard would. A folder
stands for the files shard-*.json in it. Each shard counts once, however often it
is there; those that are missing are named. What is merged is such a file again,
campaign.json in the folder of --out: files can be merged in any order and in any
groups.

A shard's result follows from its seed, its settings and its number. If one has
come back with two different results, it is named, and the campaign is undecided.

Exit status: that of the command that was divided, so 0 every promise kept, 1 a
promise broken, 2 undecided; 64 files of different campaigns, or bad ones; 70 the
tool itself failed.`,
		Example: `  chaos merge campaign
  chaos merge shard-*.json --out whole
  chaos merge monday/campaign.json tuesday --json`,
		Args: someArguments("at least one file, or a folder with some"),
		RunE: func(cmd *cobra.Command, paths []string) error { return m.merge(cmd.Context(), &f, paths) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.out, "out", "", "folder for the merged file and the report (default: recount-runs/TIME)")
	flags.Float64Var(&f.cover, "cover", 0, "share of the map that must be reached for a pass, such as 0.5 (default: any)")
	flags.StringArrayVar(&f.update, "update", nil, "Markdown file in which the tables of a trial or of a hunt for mutants are written anew; may be repeated")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object and nothing else on standard output")
	return cmd
}

// mergeRun is a campaign that is put together.
type mergeRun struct {
	Main
	flags    *mergeFlags
	out      *output
	screen   *fuzzScreen
	file     *campaign.File
	repeated []int
}

// merge is chaos merge.
func (m Main) merge(ctx context.Context, f *mergeFlags, paths []string) error {
	if !(f.cover >= 0 && f.cover <= 1) {
		return usage.Of(fmt.Errorf("--cover %v: give a share from 0 to 1, such as 0.5", f.cover))
	}
	files, err := readCampaign(paths)
	if err != nil {
		return usage.Of(err)
	}
	merged, err := campaign.Merge(files...)
	if err != nil {
		return usage.Of(err)
	}
	out, err := openOutput(f.out)
	if err != nil {
		return err
	}
	r := &mergeRun{Main: m, flags: f, out: out, screen: newFuzzScreen(m, f.asJSON), file: merged, repeated: campaign.Repeated(files...)}
	kinds := map[campaign.Kind]func() error{
		campaign.Fuzz:    r.fuzz,
		campaign.Search:  r.search,
		campaign.Trial:   func() error { return r.trial(ctx) },
		campaign.Mutants: r.mutants,
	}
	report, known := kinds[merged.Kind]
	if !known {
		return r.wrong(fmt.Errorf("there is no kind %q of campaigns here", merged.Kind))
	}
	if cases := merged.Kind == campaign.Fuzz || merged.Kind == campaign.Search; cases && len(f.update) > 0 {
		return usage.Of(errors.New("--update means nothing for cases: they fill no table"))
	}
	if f.cover > 0 && merged.Kind != campaign.Fuzz {
		return usage.Of(errors.New("--cover is for a campaign of plans: leave it out"))
	}
	if _, err := saveCampaign(out.dir, campaignFile, merged); err != nil {
		return err
	}
	r.screen.say("%s; report in %s", r.file.Command, out.dir)
	return report()
}

// campaignFile is the file that merge writes.
const campaignFile = "campaign.json"

// readCampaign reads the files that paths name; a folder stands for the shards in
// it.
func readCampaign(paths []string) ([]*campaign.File, error) {
	var files []*campaign.File
	for _, path := range paths {
		names := []string{path}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			names, err = filepath.Glob(filepath.Join(path, "shard-*.json"))
			if err != nil || len(names) == 0 {
				return nil, fmt.Errorf("%s holds no shard of a campaign: give a folder with files shard-*.json, or the files", path)
			}
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				return nil, fmt.Errorf("no shard can be read: %w", err)
			}
			file, err := campaign.Parse(name, text)
			if err != nil {
				return nil, err
			}
			files = append(files, file)
		}
	}
	return files, nil
}

// read reads what a kind has written.
func (r *mergeRun) read(text json.RawMessage, into any) error {
	if err := campaign.Read(text, into); err != nil {
		return r.wrong(err)
	}
	return nil
}

// wrong refuses what the program that wrote it would not have written.
func (r *mergeRun) wrong(err error) error {
	return usage.Of(fmt.Errorf("the campaign makes no sense: %w; use the program that wrote it (%s)", err, r.file.Program))
}

// undecided is the verdict, or unknown if that is pass and something is in doubt:
// a shard that has come back in two ways. missing is what the verdict is at the
// best if shards are missing.
func (r *mergeRun) undecided(v, missing checker.Verdict) checker.Verdict {
	switch {
	case v != checker.Pass:
		return v
	case len(r.file.Disputed()) > 0:
		return checker.Unknown
	case len(r.file.Missing()) > 0:
		return missing
	default:
		return v
	}
}

// sentences say which shards have come back, and how.
func (r *mergeRun) sentences() string {
	missing, disputed := r.file.Missing(), r.file.Disputed()
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d shards came back\n", r.file.Of-len(missing), r.file.Of)
	if len(missing) > 0 {
		fmt.Fprintf(&b, "Missing: %s; each is run by: %s --shard i/%d\n", campaign.Ranges(missing), r.file.Command, r.file.Of)
	}
	if len(r.repeated) > 0 {
		fmt.Fprintf(&b, "Repeated, and counted once: %s\n", campaign.Ranges(r.repeated))
	}
	if len(disputed) > 0 {
		fmt.Fprintf(&b, "Undecided: come back with different results, which one program must not give: %s\n", campaign.Ranges(disputed))
	}
	return b.String()
}

// mergeObject is what chaos merge --json prints of the shards.
type mergeObject struct {
	File      string  `json:"file"`
	Kind      string  `json:"kind"`
	Command   string  `json:"command"`
	Program   string  `json:"program"`
	Shards    int     `json:"shards"` // of the campaign
	Missing   []int   `json:"missing"`
	Repeated  []int   `json:"repeated"`
	Disputed  []int   `json:"disputed"` // come back with different results
	Processor float64 `json:"processor_seconds"`
}

func (r *mergeRun) object() mergeObject {
	f := r.file
	return mergeObject{
		File: filepath.Join(r.out.dir, campaignFile), Kind: string(f.Kind), Command: f.Command, Program: f.Program, Shards: f.Of,
		Missing: orNone(f.Missing()), Repeated: orNone(r.repeated), Disputed: orNone(f.Disputed()), Processor: f.Processor(),
	}
}

// orNone is a list that is not null in JSON.
func orNone(list []int) []int {
	if list == nil {
		return []int{}
	}
	return list
}

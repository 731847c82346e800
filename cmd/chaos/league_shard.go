package main

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/misuse"
	"github.com/recount-io/recount/scenarios/campaign"
	"github.com/recount-io/recount/scenarios/league"
)

// leagueCampaign are the settings of a league, as they stand in the files of a
// campaign.
type leagueCampaign struct {
	Bugs      []string `json:"bugs,omitempty"` // none: all that are found
	Seeds     int      `json:"seeds"`
	Schedules int      `json:"schedules"` // without a bug
}

// concludeShard writes the file of a shard.
func (r *leagueRun) concludeShard(out *output, seconds float64) error {
	kept, measured := r.table.Keep()
	f := r.flags
	words := append([]string{"chaos trial --league"}, r.names...)
	words = append(words, fmt.Sprintf("--seed %d --seeds %d --schedules %d", r.seed, f.planted.seeds, f.planted.schedules))
	plan := campaign.Plan{Kind: campaign.League, Seed: r.seed, Command: strings.Join(words, " "), Program: program(debug.ReadBuildInfo)}
	file, err := campaign.New(plan, f.shard, leagueCampaign{r.names, f.planted.seeds, f.planted.schedules}, kept, measured, seconds)
	if err != nil {
		return err
	}
	path, err := saveCampaign(out.dir, f.shard.Name(), file)
	if err != nil {
		return err
	}
	return sayShard(r.screen, f.asJSON, path, f.shard, seconds)
}

// league shows the table that the shards of a league fill.
func (r *mergeRun) league() error {
	var settings leagueCampaign
	if err := r.read(r.file.Settings, &settings); err != nil {
		return err
	}
	flags := &trialFlags{asJSON: r.flags.asJSON, update: r.flags.update, planted: leagueSettings{seeds: settings.Seeds, schedules: settings.Schedules}}
	all := &leagueRun{fuzzScreen: r.screen, flags: flags, seed: r.file.Seed, names: settings.Bugs}
	for i := range r.file.Shards {
		var kept league.Kept
		var seconds league.Seconds
		part := &r.file.Shards[i]
		if err := errors.Join(r.read(part.Result, &kept), r.read(part.Measured, &seconds)); err != nil {
			return err
		}
		if r.file.First(i) {
			all.table.Join(&kept, &seconds)
		}
	}
	err := updatable(flags.update, func(text []byte) error {
		_, err := (&league.Table{}).Rewrite(string(text))
		return err
	})
	if err != nil {
		return misuse.Of(err)
	}
	if !flags.asJSON {
		for i := range all.table.Entries {
			fmt.Fprintln(r.screen.out, leagueLine(&all.table.Entries[i]))
		}
	}
	if err := all.report(); err != nil {
		return err
	}
	r.screen.say("%s", strings.TrimSpace(r.sentences()))
	return judged(r.undecided(all.verdict(), checker.Unknown))
}

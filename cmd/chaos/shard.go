package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/spf13/pflag"

	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/internal/processor"
	"github.com/recount-io/recount/scenarios/campaign"
)

// shardUse is what --shard is, wherever it is given.
const shardUse = "run only the i-th of n parts of the campaign, and write its file for \"chaos merge\""

// shardFlag adds --shard.
func shardFlag(flags *pflag.FlagSet, shard *campaign.Shard) { flags.Var(shard, "shard", shardUse) }

// checkShard refuses what would make two machines draw different campaigns, and
// what means nothing for a part of one.
func checkShard(given func(flag string) bool, senseless map[string]string) error {
	if !given("seed") {
		return usage.Of(fmt.Errorf("--shard needs --seed: all shards of a campaign have the same one"))
	}
	for flag, why := range senseless {
		if given(flag) {
			return usage.Of(fmt.Errorf("--%s means nothing with --shard: %s", flag, why))
		}
	}
	return nil
}

// program is the version of this program, as Go has put it into it. Shards that
// were drawn by different ones are not of one campaign.
func program(read func() (*debug.BuildInfo, bool)) string {
	info, ok := read()
	if !ok {
		return "unknown"
	}
	version := info.Main.Version
	if version != "" && version != "(devel)" {
		return version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return "unknown"
}

// clocked tells what of the processor is used from now on, by worker processes that have
// ended, too.
func clocked() (seconds func() float64) {
	begun := processor.WithChildren()
	return func() float64 { return (processor.WithChildren() - begun).Round(time.Millisecond).Seconds() }
}

// saveShard writes the file of a shard. The plan needs no version of the program.
func saveShard(out *output, plan campaign.Plan, shard campaign.Shard, settings, result, measured any, seconds float64) (path string, err error) {
	plan.Program = program(debug.ReadBuildInfo)
	file, err := campaign.New(plan, shard, settings, result, measured, seconds)
	if err != nil {
		return "", err
	}
	return saveCampaign(out.dir, shard.Name(), file)
}

// saveCampaign writes the file of a campaign into a folder. It is there as a
// whole or not at all: a shard that is killed leaves none.
func saveCampaign(dir, name string, f *campaign.File) (path string, err error) {
	text, err := f.Marshal()
	if err != nil {
		return "", err
	}
	part, err := os.CreateTemp(dir, "."+name+"-*")
	if err != nil {
		return "", fmt.Errorf("write the file of a campaign: %w", err)
	}
	_, err = part.Write(text)
	err = errors.Join(err, part.Chmod(0o644), part.Sync(), part.Close())
	path = filepath.Join(dir, name)
	if err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		_ = os.Remove(part.Name()) // what is left of it is of no use
		return "", fmt.Errorf("write the file of a campaign: %w", err)
	}
	return path, nil
}

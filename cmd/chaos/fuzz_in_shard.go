package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/scenarios/campaign"
	"github.com/recount-io/recount/scenarios/search"
)

// searchSettings are the settings of a search, as they stand in the files of a campaign.
type searchSettings struct {
	In    string        `json:"in"`
	Cases int           `json:"cases"` // of all shards
	Only  string        `json:"only,omitempty"`
	Limit time.Duration `json:"limit,omitempty"` // in nanoseconds
}

// concludeShard writes the shard's file, and says what is in it.
func (d *searched) concludeShard(s *fuzzScreen, out *output, asJSON bool, seconds float64) error {
	kept, err := d.result.Keep()
	if err != nil {
		return err
	}
	o := &d.options
	plan := campaign.Plan{Kind: campaign.Search, Seed: o.Seed, Command: d.repeat}
	path, err := saveShard(out, plan, o.Shard, searchSettings{o.Space.Name, o.Cases, o.Only, o.Limit}, kept, nil, seconds)
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(s.out).Encode(struct {
			shardObject
			Cases    int `json:"cases"`
			Failures int `json:"failures"`
		}{shardObject{path, o.Shard.String(), seconds}, d.result.Cases, len(d.result.Failures)})
	}
	for i := range d.result.Failures {
		d.traces = append(d.traces, d.trace(&d.result.Failures[i], ""))
	}
	return d.print(s, fmt.Sprintf("Shard %v is in %s: \"chaos merge\" combines the shards", o.Shard, path))
}

// search shows what the shards of a search came to.
func (r *mergeRun) search() error {
	var settings searchSettings
	if err := r.read(r.file.Settings, &settings); err != nil {
		return err
	}
	space, err := search.Find(settings.In)
	if err != nil {
		return r.wrong(err)
	}
	o := search.Options{Space: space, Seed: r.file.Seed, Cases: settings.Cases, Only: settings.Only, Limit: settings.Limit}
	d := searched{options: o, result: search.Result{Coverage: search.NewCoverage(), Seconds: r.file.Processor()}, repeat: repeatSearch(&o) + " --shard 1/1"}
	for i := range r.file.Shards {
		var kept search.Kept
		if err := r.read(r.file.Shards[i].Result, &kept); err != nil {
			return err
		}
		if err := d.result.Join(&kept, r.file.First(i)); err != nil {
			return r.wrong(fmt.Errorf("shard %d: %w", r.file.Shards[i].Shard, err))
		}
	}
	if err := d.save(r.out); err != nil {
		return err
	}
	verdict := r.undecided(d.verdict(), checker.Pass)
	if r.flags.asJSON {
		object := d.object()
		object.Verdict = verdict.String()
		err = json.NewEncoder(r.screen.out).Encode(struct {
			searchObject
			mergeObject
		}{object, r.object()})
	} else {
		err = d.print(r.screen, strings.TrimSpace(r.sentences()+"\nAgain: "+d.repeat))
	}
	if err != nil {
		return err
	}
	return judged(verdict)
}

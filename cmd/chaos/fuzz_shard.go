package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/scenarios/campaign"
	"github.com/recount-io/recount/scenarios/fuzz"
	"github.com/recount-io/recount/scenarios/fuzz/fuzzreport"
	"github.com/recount-io/recount/sim"
)

// notOfShards are flags of chaos fuzz that mean nothing for a shard.
var notOfShards = map[string]string{
	"for":      "a time is another number of cases on each machine; give --cases, of the whole campaign",
	"failures": "a shard does not stop at failures",
	"cover":    "the map is the campaign's; give it to \"chaos merge\"",
}

// fuzzSettings are what decides what a campaign draws, beside its seed, as they
// stand in its files. What is left out is drawn.
type fuzzSettings struct {
	Subject   string  `json:"subject"`
	Schedules int     `json:"schedules"` // of all shards
	Nodes     int     `json:"nodes,omitempty"`
	Lease     string  `json:"lease,omitempty"`
	Renew     string  `json:"renew,omitempty"`
	Retry     string  `json:"retry,omitempty"`
	Drift     float64 `json:"drift,omitempty"`
	Texts     bool    `json:"texts,omitempty"`
}

// campaign are the settings of the run.
func (f *fuzzFlags) campaign() fuzzSettings {
	p := f.options.Pins
	in := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return d.String()
	}
	return fuzzSettings{
		Subject: p.Subject, Schedules: f.options.Schedules, Nodes: p.Nodes, Lease: in(p.Timings.Lease), Renew: in(p.Timings.Renew),
		Retry: in(p.Timings.Retry), Drift: p.Drift, Texts: f.options.Texts,
	}
}

// flags are those of the run that has these settings.
func (s *fuzzSettings) flags(seed uint64) (*fuzzFlags, error) {
	timings := sim.Timings{}
	for text, into := range map[string]*time.Duration{s.Lease: &timings.Lease, s.Renew: &timings.Renew, s.Retry: &timings.Retry} {
		d, err := time.ParseDuration(text)
		if err != nil && text != "" {
			return nil, err
		}
		*into = d
	}
	pins := fuzz.Pins{Subject: s.Subject, Nodes: s.Nodes, Timings: timings, Drift: s.Drift}
	return &fuzzFlags{options: fuzz.Options{Seed: seed, Schedules: s.Schedules, Texts: s.Texts, Pins: pins}}, nil
}

// shardObject is what a command with --shard and --json prints.
type shardObject struct {
	File      string  `json:"file"`
	Shard     string  `json:"shard"`
	Processor float64 `json:"processor_seconds"`
}

// concludeShard writes the shard's file, and shows what is in it. A shard that was
// stopped leaves none: what it has seen by then is nobody else's to see again.
func (f *fuzzFlags) concludeShard(s *fuzzScreen, out *output, r *fuzz.Result, seconds float64) error {
	if r.Err != nil {
		return r.Err
	}
	kept, err := r.Keep()
	if err != nil {
		return err
	}
	shard := f.options.Shard
	plan := campaign.Plan{Kind: campaign.Fuzz, Seed: f.options.Seed, Command: f.repro("fuzz")}
	path, err := saveShard(out, plan, shard, f.campaign(), kept, nil, seconds)
	if err != nil {
		return err
	}
	if f.asJSON {
		return json.NewEncoder(s.out).Encode(struct {
			shardObject
			Schedules int     `json:"schedules"`
			Failures  int     `json:"failures"`
			Coverage  float64 `json:"coverage"`
		}{shardObject{path, shard.String(), seconds}, r.Schedules, len(r.Failures), r.Coverage.Share()})
	}
	for i := range r.Failures {
		f.traces = append(f.traces, fuzzreport.Trace{Command: f.draws(r.Failures[i].Seed)})
	}
	return fuzzreport.Print(s.out, fuzzreport.Document(r, f.traces, f.again()), fmt.Sprintf("Shard %v is in %s: \"chaos merge\" says what the campaign came to", shard, path))
}

// fuzz shows what the shards of a campaign of schedules came to.
func (r *mergeRun) fuzz() error {
	var settings fuzzSettings
	if err := r.read(r.file.Settings, &settings); err != nil {
		return err
	}
	f, err := settings.flags(r.file.Seed)
	if err != nil {
		return r.wrong(err)
	}
	f.cover, f.asJSON, f.options.Shard = r.flags.cover, r.flags.asJSON, campaign.Shard{Index: 1, Of: 1}
	result := fuzz.Empty(f.options.Pins)
	for i := range r.file.Shards {
		var kept fuzz.Kept
		err := r.read(r.file.Shards[i].Result, &kept)
		if err != nil {
			return err
		}
		if err := result.Join(&kept, r.file.First(i)); err != nil {
			return r.wrong(fmt.Errorf("shard %d: %w", r.file.Shards[i].Shard, err))
		}
	}
	result.Seconds = r.file.Processor()
	if err := f.save(r.out, &result); err != nil {
		return err
	}
	verdict := r.undecided(f.verdict(&result), checker.Pass)
	if f.asJSON {
		object := f.object(&result)
		object.Verdict = verdict.String()
		err = json.NewEncoder(r.screen.out).Encode(struct {
			fuzzObject
			mergeObject
		}{object, r.object()})
	} else {
		err = fuzzreport.Print(r.screen.out, fuzzreport.Document(&result, f.traces, f.again()), r.sentences()+f.sentence(&result))
	}
	if err != nil {
		return err
	}
	return judged(verdict)
}

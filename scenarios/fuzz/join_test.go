package fuzz

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/recount-io/recount/internal/raced"
	"github.com/recount-io/recount/scenarios/campaign"
)

// shardOf is what a shard of a campaign came to, through its file.
func shardOf(t *testing.T, o Options, shard campaign.Shard) *Kept {
	t.Helper()
	o.Shard = shard
	r := Run(t.Context(), o)
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	kept, err := r.Keep()
	if err != nil {
		t.Fatal(err)
	}
	return through(t, kept)
}

// through sends what is kept through its text.
func through(t *testing.T, kept Kept) *Kept {
	t.Helper()
	text, err := json.Marshal(kept)
	if err != nil {
		t.Fatal(err)
	}
	var read Kept
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return &read
}

// joined is what comes of joining them.
func joined(t *testing.T, o Options, parts ...*Kept) *Kept {
	t.Helper()
	r := Empty(o.Pins)
	for _, p := range parts {
		if err := r.Join(p, true); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := r.Keep()
	if err != nil {
		t.Fatal(err)
	}
	return through(t, kept)
}

// short is the length of blocks in tests, which need several: a batch that nothing
// steers, and some cases that are steered.
const short = batch + 64

// The shards of a campaign come to what one run of it comes to, in whatever order
// and however many there are, and with any number of workers: the same schedules,
// map and failures, which are shrunk to the same. That is what a run without
// shards draws, too.
func TestShardsAreTheWhole(t *testing.T) {
	const blocks = 3
	if raced.Enabled {
		t.Skip("some thousand schedules, which are run without the race detector")
	}
	o := production(11, blocks*short-100)
	o.block, o.Subjects, o.Pins.Subject = short, planted(), "forgets-margin"
	whole := shardOf(t, o, campaign.Shard{Index: 1, Of: 1})
	if whole.Schedules != o.Schedules || len(whole.Failures) == 0 {
		t.Fatalf("of no use: %d schedules, %d failures", whole.Schedules, len(whole.Failures))
	}
	for _, of := range []int{2, 5} {
		var parts []*Kept
		for i := of; i > 0; i-- {
			o.Workers = i % 3
			parts = append(parts, shardOf(t, o, campaign.Shard{Index: i, Of: of}))
		}
		if got := joined(t, o, parts...); !reflect.DeepEqual(got, whole) {
			t.Errorf("%d shards come to\n%+v\none comes to\n%+v", of, got, whole)
		}
		if of > blocks && parts[0].Schedules != 0 {
			t.Errorf("shard %d of %d has %d schedules of %d blocks", of, of, parts[0].Schedules, blocks)
		}
	}
	o.Workers, o.Failures = 0, len(whole.Failures)+1
	r := Run(t.Context(), o)
	plain, err := r.Keep()
	if err != nil || r.Err != nil {
		t.Fatal(err, r.Err)
	}
	if !reflect.DeepEqual(plain.Coverage, whole.Coverage) || plain.Faults != whole.Faults || plain.Failures[0].Seed != whole.Failures[0].Seed {
		t.Error("a run without shards draws something else")
	}
}

// The schedules of a shard that is joined once more only for what it found do not
// count again, and neither does what was found before.
func TestJoinCountsOnce(t *testing.T) {
	o := production(11, schedules(short, 100))
	o.block, o.Subjects, o.Pins.Subject = short, planted(), "forgets-margin"
	once := shardOf(t, o, campaign.Shard{Index: 1, Of: 1})
	r := Empty(o.Pins)
	for _, counted := range []bool{true, false} {
		if err := r.Join(once, counted); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := r.Keep()
	if err != nil {
		t.Fatal(err)
	}
	if got := through(t, kept); !reflect.DeepEqual(got, once) || r.Shards != 1 {
		t.Errorf("twice it comes to\n%+v\nonce to\n%+v", got, once)
	}
	bad := &Kept{Coverage: map[string][]int{"earthquake": {1}}}
	if err := r.Join(bad, true); err == nil {
		t.Error("a fault that is not known is on the map")
	}
}

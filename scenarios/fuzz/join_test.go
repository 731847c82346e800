package fuzz

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/recount-io/recount/internal/race"
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

// The shards of a campaign come to what one run of it comes to, in whatever order
// and however many there are, and with any number of workers: the same schedules,
// map and failures, which are shrunk to the same.
func TestShardsAreTheWhole(t *testing.T) {
	const blocks, block = 3, 2 * batch // the second batch is steered
	if race.Enabled {
		t.Skip("some thousand schedules, which are run without the race detector")
	}
	o := production(11, blocks*block-100)
	o.block, o.Subjects, o.Pins.Subject = block, planted(), "forgets-margin"
	whole := shardOf(t, o, campaign.Shard{Index: 1, Of: 1})
	if whole.Schedules != o.Schedules || len(whole.Failures) == 0 {
		t.Fatalf("of no use: %d schedules, %d failures", whole.Schedules, len(whole.Failures))
	}
	for _, of := range []int{2, 8} {
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
}

// The blocks of a campaign are a 128th of it, but no shorter than a batch and no
// longer than 64 of them: more is not gained by steering.
func TestBlocks(t *testing.T) {
	for schedules, want := range map[int]int{1: batch, 20_000: batch, 1 << 17: 4 * batch, 1_000_000: 30 * batch, 1 << 21: 64 * batch, 3_000_000_000: 64 * batch} {
		if got := blockOf(schedules); got != want {
			t.Errorf("%d schedules are divided by %d, want %d", schedules, got, want)
		}
	}
}

// The schedules of a shard that is joined once more only for what it found do not
// count again, and neither does what was found before.
func TestJoinCountsOnce(t *testing.T) {
	o := production(11, schedules(batch, 100))
	o.Subjects, o.Pins.Subject = planted(), "forgets-margin"
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

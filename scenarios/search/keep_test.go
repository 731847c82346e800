package search

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/recount-io/recount/scenarios/campaign"
)

// shardOfCoins runs a shard of a campaign of coins, and returns it as it is kept.
func shardOfCoins(t *testing.T, shard campaign.Shard, workers int) Kept {
	t.Helper()
	r, err := Run(t.Context(), Options{Space: coins, Seed: 1, Cases: 301, Workers: workers, Shard: shard, Shrink: -1})
	if err != nil {
		t.Fatal(err)
	}
	k, err := r.Keep()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestShardsOfASearch shows that a shard follows from the seed and its number, goes on after
// a failure, and has its share of the cases; that other shards have other cases; and that
// joined shards have all cases, and each broken obligation once.
func TestShardsOfASearch(t *testing.T) {
	text := func(k Kept) string {
		b, err := json.Marshal(k)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	whole := Result{Coverage: NewCoverage()}
	seen := map[string]bool{}
	for i := range 2 {
		shard := campaign.Shard{Index: i + 1, Of: 2}
		k := shardOfCoins(t, shard, 1)
		if want := 151 - i; k.Cases != want {
			t.Errorf("shard %v has %d cases, want %d", shard, k.Cases, want)
		}
		if again := shardOfCoins(t, shard, 3); text(again) != text(k) {
			t.Errorf("shard %v with one worker\n%s\nand with three\n%s", shard, text(k), text(again))
		}
		if len(k.Failures) == 0 || seen[string(k.Failures[0].Case)] {
			t.Errorf("shard %v found %d failures, or that of the other shard", shard, len(k.Failures))
		} else {
			seen[string(k.Failures[0].Case)] = true
		}
		if err := whole.Join(&k, true); err != nil {
			t.Fatal(err)
		}
		if err := whole.Join(&k, false); err != nil { // it has come back twice
			t.Fatal(err)
		}
	}
	k, err := whole.Keep()
	if err != nil || k.Cases != 301 || len(k.Failures) != 1 || k.Drawn[0] == 0 || k.Drawn[0]+k.Drawn[len(k.Drawn)-1] != 301 {
		t.Errorf("%v: joined\n%s", err, text(k))
	}
	if features, _, pairs, _ := whole.Coverage.Share(); features != 2 || pairs != 0 {
		t.Errorf("joined, %d features and %d pairs were drawn, want 2 and 0", features, pairs)
	}
	k.Drawn = k.Drawn[1:]
	if err := whole.Join(&k, true); err == nil || !strings.Contains(err.Error(), "features ask for") {
		t.Errorf("a map that lacks a number: %v", err)
	}
}

// TestWholeCampaignIsTheSearch shows that shard 1/1 tries the cases of the search without
// shards.
func TestWholeCampaignIsTheSearch(t *testing.T) {
	r, err := Run(t.Context(), Options{Space: coins, Seed: 1, Cases: 301, Shrink: -1})
	if err != nil || len(r.Failures) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	k := shardOfCoins(t, campaign.Shard{Index: 1, Of: 1}, 2)
	if k.Cases != 301 || len(k.Failures) != 1 || k.Failures[0].Cases != r.Failures[0].Cases {
		t.Errorf("the search failed at case %d, the campaign at %+v", r.Failures[0].Cases, k.Failures)
	}
}

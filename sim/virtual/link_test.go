package virtual

import (
	"testing"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim"
)

// What each cut lets pass, and whether connections live.
func TestLinkCuts(t *testing.T) {
	for cut, want := range map[faults.Cut][3]bool{
		"": {true, true, true}, faults.CutBoth: {false, false, true}, faults.CutRequests: {false, true, true},
		faults.CutReplies: {true, false, true}, faults.CutRefused: {true, true, false}, faults.CutReset: {true, true, false},
	} {
		l := link{cut: cut}
		if got := [3]bool{l.passes(up), l.passes(down), l.open()}; got != want {
			t.Errorf("%q: up, down and open are %v, want %v", cut, got, want)
		}
	}
}

// A message takes what the network and the faults say, all of the range of it,
// and nothing beyond.
func TestLinkTravel(t *testing.T) {
	for name, test := range map[string]struct {
		link        link
		way         direction
		least, most time.Duration
	}{
		"latency":    {link{network: sim.Network{Latency: 10 * ms}}, up, 10 * ms, 10 * ms},
		"jitter":     {link{network: sim.Network{Latency: 10 * ms, Jitter: 5 * ms}}, down, 10 * ms, 15 * ms},
		"spikes":     {link{network: sim.Network{SpikeRate: 2, Spike: 5 * ms}}, up, 0, 5 * ms},
		"loss":       {link{network: sim.Network{LossRate: 2}}, up, 0, sim.Resend},
		"delay":      {link{delay: 10 * ms, jitter: 4 * ms}, down, 6 * ms, 14 * ms},
		"throttle":   {link{kilobytes: 1}, up, sim.RequestBytes * ms, sim.RequestBytes * ms},
		"throttled":  {link{kilobytes: 2}, down, replyBytes * ms / 2, replyBytes * ms / 2},
		"everything": {link{network: sim.Network{Latency: ms}, delay: 10 * ms, kilobytes: 1}, up, 11*ms + sim.RequestBytes*ms, 11*ms + sim.RequestBytes*ms},
	} {
		test.link.random = newRandom(1, 2)
		least, most := forever, time.Duration(0)
		for range 10_000 {
			took := test.link.travel(test.way)
			least, most = min(least, took), max(most, took)
		}
		slack := (test.most - test.least) / 100
		if least < test.least || least > test.least+slack || most > test.most || most < test.most-slack {
			t.Errorf("%s: a message takes from %v to %v, want %v to %v", name, least, most, test.least, test.most)
		}
	}
}

// Whatever is drawn stays within its bounds, and one in n is about that.
func TestRandom(t *testing.T) {
	r := newRandom(1, 1)
	hits := 0
	for range 100_000 {
		if n := r.below(7); n < 0 || n > 6 {
			t.Fatalf("%d is not below 7", n)
		}
		if d := r.upTo(3); d < 0 || d > 3 {
			t.Fatalf("%v is not up to 3", d)
		}
		if r.one(10) {
			hits++
		}
	}
	if hits < 9_500 || hits > 10_500 {
		t.Errorf("one in ten is %d of 100000", hits)
	}
	if r.below(0) != 0 || r.below(-1) != 0 || r.upTo(0) != 0 || r.upTo(-1) != 0 || r.one(0) {
		t.Error("nothing is not nothing")
	}
	if newRandom(1, 2).number() == newRandom(1, 3).number() || newRandom(1, 2).number() == newRandom(2, 2).number() {
		t.Error("two parts, or two seeds, draw the same")
	}
}

package checker

import (
	"slices"
	"testing"
	"time"

	"github.com/recount-io/recount/history"
)

// A candidate that learns that it leads no more, from the store or from its clock, and
// can act, believes and writes no longer.
func TestStepsDownOnLoss(t *testing.T) {
	lost := func(s *story) *story { // a lease that somebody deleted: the holder learns it at 700 ms
		return s.elected("n1", 0, 1, 1980*ms).renew("n1", 698*ms, 700*ms, history.Fail, 1)
	}
	answered := func(s *story, from, to time.Duration, took bool) *story { // by the store's own record
		try := history.Event{Nonce: "a", Try: 7, Token: 1}
		s.elected("n1", 0, 1, 1980*ms)
		s.op("n1", history.Renew, from, to, history.Info, try, history.Event{Nonce: "a", Try: 7})
		try.Kind, try.Node, try.Call, try.At, try.Applied = history.Audit, "n1", history.Renew, 720*ms, history.Bool(took)
		return s.add(try)
	}
	unread := func(s *story) *story { return answered(s, 698*ms, 700*ms, false) }
	again := func(s *story) *story { // a lock without tokens that was given back
		s.acquire("n1", "a", 10*ms, 20*ms, 0).elected("n1", 25*ms, 0, 1980*ms)
		return s.release("n1", 700*ms, 702*ms, history.Ok, 0).deposed("n1", 703*ms, 0, history.Resigned)
	}
	for _, x := range []struct {
		name     string
		story    func(s *story)
		want     Verdict
		evidence []int64
	}{
		{"notified, and gone", func(s *story) { lost(s).deposed("n1", 702*ms, 1, history.Superseded) }, Pass, nil},
		{"notified, and believes on", func(s *story) { lost(s).deposed("n1", 1100*ms, 1, history.Resigned) }, Fail, []int64{3, 4}},
		{"notified, and extended", func(s *story) { lost(s).extended("n1", 701*ms, 1, 2680*ms).note(9000 * ms) }, Fail, []int64{3, 4}},
		{"notified of an earlier term", func(s *story) {
			s.elected("n1", 0, 1, 500*ms).elected("n1", 600*ms, 2, 2500*ms).renew("n1", 400*ms, 700*ms, history.Fail, 1).note(2500 * ms)
		}, Pass, nil},
		{"notified, and suspended just then", func(s *story) {
			lost(s).fault("pause", 650*ms, 1000*ms, nil, "n1").deposed("n1", 1100*ms, 1, history.Superseded)
		}, Pass, nil},
		{"notified of nothing: the request failed", func(s *story) {
			s.elected("n1", 0, 1, 1980*ms)
			s.op("n1", history.Renew, 698*ms, 700*ms, history.Fail, token(1), history.Event{Error: "NOPERM"})
		}, Pass, nil},
		{"notified, read it wrong and believes on", func(s *story) { unread(s).deposed("n1", 1100*ms, 1, history.Expired) }, Fail, []int64{3, 5}},
		{"notified, read it wrong and gone", func(s *story) { unread(s).deposed("n1", 730*ms, 1, history.Expired) }, Pass, nil},
		{"refused, and it did not wait for the answer", func(s *story) {
			unread(s).deposed("n1", 1100*ms, 1, history.Expired)
			s.events[len(s.events)-3].Error = "dial tcp: i/o timeout"
		}, Pass, nil},
		{"refused, and the answer was lost", func(s *story) {
			unread(s).fault("replies-lost", 650*ms, 1000*ms, nil, "n1").deposed("n1", 1100*ms, 1, history.Expired)
		}, Pass, nil},
		{"refused on a way that was slow just before", func(s *story) {
			unread(s).fault("latency", 100*ms, 600*ms, nil, "n1").deposed("n1", 1100*ms, 1, history.Expired)
		}, Pass, nil},
		{"refused, and it waited in vain for the answer", func(s *story) {
			answered(s, 400*ms, 700*ms, false).deposed("n1", 1100*ms, 1, history.Expired)
		}, Pass, nil},
		{"not refused: the answer was lost", func(s *story) {
			answered(s, 698*ms, 700*ms, true).deposed("n1", 1100*ms, 1, history.Expired)
		}, Pass, nil},
		{"asked once more, and another one has it", func(s *story) {
			s.elected("n1", 0, 1, 1980*ms).refused("n1", "a", 698*ms, 700*ms, "n2", 2).deposed("n1", 1100*ms, 1, history.Expired)
		}, Fail, []int64{3, 4}},
		{"asked once more, and another one has it: gone", func(s *story) {
			s.elected("n1", 0, 1, 1980*ms).refused("n1", "a", 698*ms, 700*ms, "n2", 2).deposed("n1", 702*ms, 1, history.Superseded)
		}, Pass, nil},
		{"asked once more, and has it itself", func(s *story) {
			s.elected("n1", 0, 1, 1980*ms).refused("n1", "a", 698*ms, 700*ms, "n1", 1).deposed("n1", 1100*ms, 1, history.Expired)
		}, Pass, nil},
		{"asked before it was elected", func(s *story) {
			s.elected("n1", 650*ms, 1, 1980*ms).refused("n1", "a", 640*ms, 700*ms, "n2", 2).deposed("n1", 1100*ms, 1, history.Expired)
		}, Pass, nil},
		{"without tokens, believes again after it gave the lease back", func(s *story) {
			again(s).extended("n1", 900*ms, 0, 2600*ms).note(2600 * ms)
		}, Fail, []int64{5, 7}},
		{"without tokens, asked again before", func(s *story) {
			again(s).acquire("n1", "b", 800*ms, 810*ms, 0).extended("n1", 900*ms, 0, 2600*ms).note(2600 * ms)
		}, Pass, nil},
		{"without tokens, and nobody recorded its grants", func(s *story) {
			s.elected("n1", 25*ms, 0, 1980*ms).release("n1", 700*ms, 702*ms, history.Ok, 0).deposed("n1", 703*ms, 0, history.Resigned)
			s.extended("n1", 900*ms, 0, 2600*ms).note(2600 * ms)
		}, Pass, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := newStory()
			x.story(s)
			f := expect(t, Check(s.build(), Options{}), StepsDownOnLoss, x.want)
			if x.evidence != nil && !slices.Equal(f.Evidence, x.evidence) {
				t.Errorf("evidence %v (%s), want %v", f.Evidence, f.Reason, x.evidence)
			}
		})
	}
}

package checker

import (
	"slices"
	"testing"

	"github.com/recount-io/recount/history"
)

// Whoever is told that it leads no more, by the store or by the clock, and can
// act, believes and writes no longer.
func TestLossHeeded(t *testing.T) {
	lost := func(s *story) *story { // a lease that somebody deleted: the holder is told at 700 ms
		return s.elected("n1", 0, 1, 1980*ms).renew("n1", 698*ms, 700*ms, history.Fail, 1)
	}
	ended := func(s *story) *story { // a belief that expires at 1980 ms
		return s.elected("n1", 0, 1, 1980*ms).write("n1", 10*ms, 11*ms, history.Ok, 1, "a", 0).
			elected("n2", 9000*ms, 2, 9900*ms)
	}
	for _, x := range []struct {
		name     string
		story    func(s *story)
		want     Verdict
		evidence []int64
	}{
		{"told, and gone", func(s *story) { lost(s).deposed("n1", 702*ms, 1, history.Superseded) }, Pass, nil},
		{"told, and believes on", func(s *story) { lost(s).deposed("n1", 1100*ms, 1, history.Resigned) }, Fail, []int64{3, 4}},
		{"told, and extended", func(s *story) { lost(s).extended("n1", 701*ms, 1, 2680*ms).note(9000 * ms) }, Fail, []int64{3, 4}},
		{"told of an earlier term", func(s *story) {
			s.elected("n1", 0, 1, 500*ms).elected("n1", 600*ms, 2, 2500*ms).renew("n1", 400*ms, 700*ms, history.Fail, 1).note(2500 * ms)
		}, Pass, nil},
		{"told, and suspended just then", func(s *story) {
			lost(s).fault("pause", 650*ms, 1000*ms, nil, "n1").deposed("n1", 1100*ms, 1, history.Superseded)
		}, Pass, nil},
		{"told nothing: the request failed", func(s *story) {
			s.elected("n1", 0, 1, 1980*ms)
			s.op("n1", history.Renew, 698*ms, 700*ms, history.Fail, token(1), history.Event{Error: "NOPERM"})
		}, Pass, nil},
		{"a write on its way at the end", func(s *story) {
			ended(s).write("n1", 1990*ms, 1991*ms, history.Ok, 1, "b", 0)
		}, Pass, nil},
		{"a write long after the end", func(s *story) {
			ended(s).write("n1", 2500*ms, 2501*ms, history.Ok, 1, "b", 0)
		}, Fail, nil},
		{"a write long after the end, of a process that was suspended", func(s *story) {
			ended(s).fault("pause-before-write", 1000*ms, 2499*ms, nil, "n1").write("n1", 2500*ms, 2501*ms, history.Fail, 1, "b", 2)
		}, Pass, nil},
		{"a write long after the end, on a machine that held up others meanwhile", func(s *story) {
			ended(s).fault(history.StallFault, 1900*ms, 2400*ms, nil, "n2").write("n1", 2500*ms, 2501*ms, history.Fail, 1, "b", 2)
		}, Pass, nil},
		{"a write of a term that lasts", func(s *story) {
			s.elected("n1", 0, 1, 90000*ms).write("n1", 2500*ms, 2501*ms, history.Ok, 1, "b", 0)
		}, Pass, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := newStory()
			x.story(s)
			f := expect(t, Check(s.build(), Options{}), LossHeeded, x.want)
			if x.evidence != nil && !slices.Equal(f.Evidence, x.evidence) {
				t.Errorf("evidence %v (%s), want %v", f.Evidence, f.Reason, x.evidence)
			}
		})
	}
}

package checker

import (
	"testing"

	"github.com/recount-io/recount/history"
)

// A candidate that does not believe to lead, by its own account, begins no write.
func TestWriteWithinTerm(t *testing.T) {
	ended := func(s *story) *story { // a belief that expires at 1980 ms
		return s.elected("n1", 0, 1, 1980*ms).write("n1", 10*ms, 11*ms, history.Ok, 1, "a", 0).
			elected("n2", 9000*ms, 2, 9900*ms)
	}
	for _, x := range []struct {
		name  string
		story func(s *story)
		want  Verdict
	}{
		{"a write on its way at the end", func(s *story) {
			ended(s).write("n1", 1990*ms, 1991*ms, history.Ok, 1, "b", 0)
		}, Pass},
		{"a write long after the end", func(s *story) {
			ended(s).write("n1", 2500*ms, 2501*ms, history.Ok, 1, "b", 0)
		}, Fail},
		{"a write long after the end, of a process that was suspended", func(s *story) {
			ended(s).fault("pause-before-write", 1000*ms, 2499*ms, nil, "n1").write("n1", 2500*ms, 2501*ms, history.Fail, 1, "b", 2)
		}, Pass},
		{"a write long after the end, on a machine that held up others meanwhile", func(s *story) {
			ended(s).fault(history.StallFault, 1900*ms, 2400*ms, nil, "n2").write("n1", 2500*ms, 2501*ms, history.Fail, 1, "b", 2)
		}, Pass},
		{"a write that arrives long after its process was ended with the run", func(s *story) {
			s.elected("n1", 0, 1, 5000*ms).write("n1", 10*ms, 11*ms, history.Ok, 1, "a", 0).
				endOfRun(1000*ms).ended("n1", 1001*ms, history.EndOfRun).write("n1", 1300*ms, 1301*ms, history.Ok, 1, "b", 0)
		}, Pass},
		{"a write long after the end of a term, when the run has ended", func(s *story) {
			s.elected("n1", 0, 1, 1980*ms).write("n1", 10*ms, 11*ms, history.Ok, 1, "a", 0).
				endOfRun(2400*ms).write("n1", 2500*ms, 2501*ms, history.Ok, 1, "b", 0)
		}, Fail},
		{"a write of a term that lasts", func(s *story) {
			s.elected("n1", 0, 1, 90000*ms).write("n1", 2500*ms, 2501*ms, history.Ok, 1, "b", 0)
		}, Pass},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := newStory()
			x.story(s)
			expect(t, Check(s.build(), Options{}), WriteWithinTerm, x.want)
		})
	}
}

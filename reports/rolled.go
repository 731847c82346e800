package reports

import (
	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
)

// Rolled builds the report of a run that was judged as a chain of histories, of
// which only the first was kept that broke a promise: the promises name events of
// that one. It lists no failovers, only their quantiles. h and s are not kept and
// not changed.
func Rolled(h history.Header, s *checker.Summary) *Report {
	shown := &history.History{Header: h}
	if s.Guilty != nil {
		shown.Events = s.Guilty.Events
	}
	rep := New(shown, &checker.Result{
		Verdict: s.Verdict, Asked: s.Asked, Measured: s.Measured, Lease: s.Lease,
		Faults: s.Faults, Ops: s.Ops, Writes: s.Writes,
		DualBelief: s.DualBelief, Leaderless: s.Leaderless, Availability: s.Availability, End: s.End,
	})
	rep.Terms, rep.Events, rep.Pieces, rep.Longest = s.Terms, s.Events, s.Links, s.Longest
	rep.FailoverMS = quantilesFrom(s.Failovers.Count, s.Failovers.Total)
	rep.ExcessMS = quantilesFrom(s.Failovers.Count, s.Failovers.Excess)
	rep.Files = []string{"report.json", "report.md", "junit.xml"}
	return rep
}

// RolledFiles makes everything that the folder of one such run receives, by
// file name: report.json, report.md and junit.xml. rep is not changed.
func RolledFiles(rep *Report) (map[string][]byte, error) {
	object, err := JSON(rep)
	if err != nil {
		return nil, err
	}
	cases, err := JUnit([]*Report{rep})
	if err != nil {
		return nil, err
	}
	d, err := rep.Document(nil, nil)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{"report.json": object, "report.md": d.Markdown(), "junit.xml": cases}, nil
}

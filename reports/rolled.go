package reports

import (
	"fmt"
	"strings"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
)

// Rolled builds the report of a run that was judged as it grew, and whose
// history was not kept: it lists no failovers, only their quantiles, and its
// promises name the events that they rest on by number alone. h and s are not
// kept and not changed.
func Rolled(h history.Header, s *checker.Summary) *Report {
	rep := New(&history.History{Header: h}, &checker.Result{
		Verdict: s.Verdict, Asked: s.Asked, Measured: s.Measured, Lease: s.Lease,
		Faults: s.Faults, Ops: s.Ops, Writes: s.Writes,
		DualBelief: s.DualBelief, Leaderless: s.Leaderless, Availability: s.Availability, End: s.End,
	})
	rep.Terms, rep.Events, rep.Pieces, rep.Longest = s.Terms, s.Events, s.Pieces, s.Longest
	rep.FailoverMS = quantilesFrom(s.Failovers.Count, s.Failovers.Total)
	rep.ExcessMS = quantilesFrom(s.Failovers.Count, s.Failovers.Excess)
	rep.Files = []string{"report.json", "report.md", "junit.xml"}
	return rep
}

func quantilesFrom(count int, q checker.Quantiles) Quantiles {
	if count == 0 {
		return Quantiles{}
	}
	return Quantiles{Count: count, P50: millis(q.P50), P90: millis(q.P90), P99: millis(q.P99), Max: millis(q.Max)}
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
	return map[string][]byte{"report.json": object, "report.md": Markdown(rep), "junit.xml": cases}, nil
}

// numbers names the events that a promise rests on where no more is known of
// them: their history was not kept. It is empty where there are none, or where
// they stand in the report.
func (r *Report) numbers(p Promise) string {
	if r.Pieces == 0 || len(p.Evidence) == 0 || len(p.Events) > 0 {
		return ""
	}
	named := p.Evidence[:min(len(p.Evidence), maxEvents)]
	texts := make([]string, len(named))
	for i, seq := range named {
		texts[i] = fmt.Sprintf("#%d", seq)
	}
	text := "event " + texts[0]
	if len(named) > 1 {
		text = "events " + strings.Join(texts, ", ")
	}
	if more := len(p.Evidence) - len(named); more > 0 {
		text += " and " + thousands(more) + " more"
	}
	return text + " of a history that was not kept"
}

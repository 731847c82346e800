package fuzzreport

import (
	"fmt"
	"math"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/reports/document"
	"github.com/recount-io/recount/scenarios/search"
)

// SearchDocument is what a search found out, as Document is for a run of plans.
func SearchDocument(s *search.Space, r *search.Result, traces []Trace, again string) *document.Document {
	features, effective, pairs, pairsEffective := r.Coverage.Share()
	d := &document.Document{Title: fmt.Sprintf("%s of %s, and no obligation was broken", count(r.Cases, "case"), s.Name), Verdict: checker.Pass}
	sure := confidence(r.Cases, "case")
	switch {
	case len(r.Failures) > 0:
		d.Title, d.Verdict = fmt.Sprintf("%s is broken", r.Failures[0].Finding.Obligation), checker.Fail
		sure = fmt.Sprintf("An obligation is broken: the first one after %s", count(r.Failures[0].Cases, "case"))
	case r.Cases == 0:
		d.Verdict, sure = checker.Unknown, "No case was run: nothing is known"
	}
	d.Add("", document.Page, document.Numbers{
		{Name: "cases", Value: thousands(r.Cases), Note: "in " + took(r.Seconds, r.Shards)},
		{Name: "features", Value: fmt.Sprint(features), Note: fmt.Sprintf("%d had an effect", effective)},
		{Name: "pairs of features", Value: thousands(pairs), Note: fmt.Sprintf("%d had an effect", pairsEffective)},
		{Name: "broken obligations", Value: fmt.Sprint(len(r.Failures)), Bad: len(r.Failures) > 0},
	})
	for i := range r.Failures {
		f := &r.Failures[i]
		about := []string{foundBySearch(f)}
		if says := f.Says(); says != "" {
			about = append([]string{"the documents say: " + says}, about...)
		}
		d.Add("", 0, failure(f.Finding.Obligation, f.Finding.Details, about, f.Case.Lines(), traces[i]))
	}
	d.Add("", document.Terminal, document.Para(fmt.Sprintf("%s in %s (%.1f a second)", count(r.Cases, "case"), took(r.Seconds, r.Shards), float64(r.Cases)/math.Max(r.Seconds, 1e-9))),
		document.Para(fmt.Sprintf("%d of %d features had an effect, and %d of %d pairs of them", effective, features, pairsEffective, pairs)))
	drawn := document.Table{Look: "fit", Caption: "Each row is something that a case can have. It had an effect in so many of the cases that have it.", Columns: append(document.Left("feature"), document.Right("cases", "with an effect")...)}
	for _, f := range r.Coverage.Features() {
		drawn.Rows = append(drawn.Rows, document.Cells(f.Name, fmt.Sprint(f.Drawn), fmt.Sprint(f.Effective)))
	}
	d.Add("What was drawn", document.Page, drawn)
	end(d, sure, again)
	return d
}

// foundBySearch says how the failure came to be known.
func foundBySearch(f *search.Failure) string {
	after := count(f.Cases, "case")
	if f.Seconds > 0 { // a shard keeps no times
		after += fmt.Sprintf(" (%.1f s)", f.Seconds)
	}
	return fmt.Sprintf("found after %s; %d of %s failed again", after, f.Again, count(f.Repeats(), "repetition"))
}

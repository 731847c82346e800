package fuzzreport

import (
	"fmt"
	"html/template"
	"io"
	"math"

	"github.com/recount-io/recount/scenarios/search"
)

// SearchText writes what a search found out for a terminal, as Text does for a run of
// plans.
func SearchText(w io.Writer, r *search.Result, traces []Trace, last string) {
	for i := range r.Failures {
		f := &r.Failures[i]
		fmt.Fprintf(w, "%s is broken: %s\n", f.Finding.Obligation, f.Finding.Details)
		if says := f.Says(); says != "" {
			fmt.Fprintf(w, "  the documents say: %s\n", says)
		}
		fmt.Fprintf(w, "  %s\n", foundBySearch(f))
		for _, line := range f.Case.Lines() {
			fmt.Fprintf(w, "    %s\n", line)
		}
		fmt.Fprintf(w, "  again: chaos replay %s\n  as drawn: %s\n\n", traces[i].File, traces[i].Command)
	}
	features, effective, pairs, pairsEffective := r.Coverage.Share()
	fmt.Fprintf(w, "%s in %.1f s (%.1f a second)\n%d of %d features had an effect, and %d of %d pairs of them\n",
		count(r.Cases, "case"), r.Seconds, float64(r.Cases)/math.Max(r.Seconds, 1e-9), effective, features, pairsEffective, pairs)
	if len(r.Failures) == 0 && r.Cases > 0 {
		fmt.Fprintln(w, confidence(r.Cases, "case"))
	}
	fmt.Fprintln(w, last)
}

// SearchHTML returns the page of a search, as HTML does for a run of plans.
func SearchHTML(s *search.Space, r *search.Result, traces []Trace, again string) ([]byte, error) {
	features, effective, pairs, pairsEffective := r.Coverage.Share()
	p := page{
		Style: template.CSS(pageStyle), Broken: len(r.Failures) > 0, Again: again, Features: r.Coverage.Features(),
		Headline:   fmt.Sprintf("%s of %s, and no obligation was broken", count(r.Cases, "case"), s.Name),
		Confidence: confidence(r.Cases, "case"),
		Key: []figure{
			{"cases", thousands(r.Cases), fmt.Sprintf("in %.1f s", r.Seconds)},
			{"features", fmt.Sprint(features), fmt.Sprintf("%d had an effect", effective)},
			{"pairs of features", thousands(pairs), fmt.Sprintf("%d had an effect", pairsEffective)},
			{"broken obligations", fmt.Sprint(len(r.Failures)), ""},
		},
	}
	if r.Cases == 0 {
		p.Confidence = "No case was run: nothing is known"
	}
	if p.Broken {
		p.Headline = fmt.Sprintf("%s is broken", r.Failures[0].Finding.Obligation)
		p.Confidence = fmt.Sprintf("An obligation is broken: the first one after %s", count(r.Failures[0].Cases, "case"))
	}
	for i := range r.Failures {
		f := &r.Failures[i]
		p.Failures = append(p.Failures, failureView{
			Trace: traces[i], Promise: f.Finding.Obligation, Reason: f.Finding.Details, Says: f.Says(), Found: foundBySearch(f), Steps: f.Case.Lines(),
		})
	}
	return p.render()
}

// foundBySearch says how the failure came to be known.
func foundBySearch(f *search.Failure) string {
	return fmt.Sprintf("found after %s (%.1f s); %d of %s failed again", count(f.Cases, "case"), f.Seconds, f.Again, count(f.Repeats(), "repetition"))
}

package fuzzreport

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/recount-io/recount/scenarios/fuzz"
)

// Trace is what is left of a failure: the file that holds it, and the command
// that draws it again. Page is a report of the failure's history, seen from the page of
// the run, if there is one.
type Trace struct{ File, Command, Page string }

// Text writes what the run found out for a terminal. traces are those of the
// failures, in their order; verdict is the last line.
func Text(w io.Writer, r *fuzz.Result, traces []Trace, verdict string) {
	for i := range r.Failures {
		failure(w, &r.Failures[i], traces[i])
	}
	Map(w, r.Coverage)
	fmt.Fprintf(w, "\n%s in %s (%.0f a second)", count(r.Schedules, "schedule"), took(r), float64(r.Schedules)/math.Max(r.Seconds, 1e-9))
	fmt.Fprintf(w, ", %s, %d without effect\n", count(r.Injected, "fault"), r.Missed)
	if len(r.Failures) == 0 {
		fmt.Fprintln(w, Confidence(r))
	}
	if verdict != "" {
		fmt.Fprintln(w, verdict)
	}
}

func failure(w io.Writer, f *fuzz.Failure, trace Trace) {
	fmt.Fprintf(w, "%s is broken: %s\n", f.Case.Failed.Promise, f.Case.Failed.Reason)
	fmt.Fprintf(w, "  %s\n", found(f))
	c := &f.Case
	fmt.Fprintf(w, "  %s, lease %v, renew %v, retry %v, drift %g\n", count(c.Nodes, "candidate"), c.Timings.Lease, c.Timings.Renew, c.Timings.Retry, c.Drift)
	for _, step := range c.Schedule.Sorted() {
		fmt.Fprintf(w, "    %v\n", step)
	}
	if trace.File != "" {
		fmt.Fprintf(w, "  again: chaos replay %s\n", trace.File)
	}
	fmt.Fprintf(w, "  as drawn: %s\n", trace.Command)
	fmt.Fprintln(w)
}

// took says how long the run took; a campaign's shards ran who knows where.
func took(r *fuzz.Result) string {
	if r.Shards > 0 {
		return fmt.Sprintf("%.1f s of a processor", r.Seconds)
	}
	return fmt.Sprintf("%.1f s", r.Seconds)
}

// found says how the failure came to be known. In a campaign nobody knows when.
func found(f *fuzz.Failure) string {
	after := count(f.Schedules, "schedule")
	if f.Seconds > 0 {
		after += fmt.Sprintf(" (%.1f s)", f.Seconds)
	}
	return fmt.Sprintf("found after %s, shrunk from %s to %d", after, count(len(f.Drawn.Schedule), "fault"), len(f.Case.Schedule))
}

// Confidence is what a run that found nothing says about what it may have
// missed: a fault with a chance of p a schedule stays hidden in n schedules
// with a chance of (1-p)^n.
func Confidence(r *fuzz.Result) string {
	if r.Schedules == 0 {
		return "No schedule was run: nothing is known"
	}
	if len(r.Failures) > 0 {
		return fmt.Sprintf("A promise is broken: the first one after %s", count(r.Failures[0].Schedules, "schedule"))
	}
	return confidence(r.Schedules, "schedule")
}

// confidence is what n cases say that found nothing.
func confidence(n int, noun string) string {
	return fmt.Sprintf("With 95 %% confidence a fault with a chance of 1 in %s a %s would have been seen", thousands(fuzz.Rarest(n, 0.95)), noun)
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return thousands(n) + " " + noun
}

// thousands writes a number with commas.
func thousands(n int) string {
	text := fmt.Sprint(n)
	var parts []string
	for len(text) > 3 {
		parts = append([]string{text[len(text)-3:]}, parts...)
		text = text[:len(text)-3]
	}
	return strings.Join(append([]string{text}, parts...), ",")
}

package fuzzreport

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/recount-io/recount/reports/document"
	"github.com/recount-io/recount/scenarios/fuzz"
)

// Trace is what is left of a failure: the file that holds it, and the command
// that draws it again. Page is a report of the failure's history, seen from the page of
// the run, if there is one.
type Trace struct{ File, Command, Page string }

// Print writes a document for a terminal, and a last line behind it, "" for none. Lines are
// not wrapped, so that each fact of a failure stays in one line.
func Print(w io.Writer, d *document.Document, last string) error {
	if err := d.Print(w, document.Screen{Width: math.MaxInt}); err != nil || last == "" {
		return err
	}
	_, err := fmt.Fprintln(w, last)
	return err
}

// took says how long the run took; a campaign's shards ran who knows where.
func took(seconds float64, shards int) string {
	if shards > 0 {
		return fmt.Sprintf("%.1f s of a processor", seconds)
	}
	return fmt.Sprintf("%.1f s", seconds)
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

package main

import (
	"io"
	"path/filepath"

	"github.com/recount-io/recount/reports"
)

// summarise prints the summary of all runs, where their reports lie, and the
// command that repeats them.
func summarise(w io.Writer, out *output, again string, width int, color bool) error {
	one, all := "report.html", "index.html"
	if out.text {
		one, all = "report.md", "report.md"
	}
	where := ""
	switch {
	case out.dir == "" || len(out.reports) == 0:
	case len(out.reports) == 1:
		where = filepath.Join(out.dir, out.reports[0].Folder, one)
	default:
		where = filepath.Join(out.dir, all)
	}
	return reports.SuiteDocument(out.reports, again).Print(w, reports.Screen{Width: width, Color: color, Where: where})
}

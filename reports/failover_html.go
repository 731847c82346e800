package reports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/recount-io/recount/checker/quantile"
)

// failoversPage is what the index.html of a measurement is made from.
type failoversPage struct {
	*Failovers
	Style     template.CSS
	Script    template.JS
	ScriptSum string

	Answers       []failoverAnswer
	Settings      []string
	Panels        []failoverPanel
	Contrasts     []Contrast
	Notes         []string
	Circumstances string
	Longest       []longestFailover
	Rows          template.JS // see rowsOf
	Files         []string
}

// failoverAnswer is a row of the first table: how long a cell's elector was without a leader,
// and how that differs from what it is compared with.
type failoverAnswer struct {
	*FailoverCell
	Beside string
}

// failoverPanel is the distributions after one cause.
type failoverPanel struct {
	Cause, Summary string
	Legend         []legendEntry
	Total, Excess  template.HTML
}

type legendEntry struct {
	Name  string
	Class string // of its colour
}

// longestFailover is a row of the table that is there without scripts, too.
type longestFailover struct {
	Cause, Elector string
	MeasuredFailover
	Number uint64 // of the run
	Link   string
}

// mostLongest is how many failovers of each cell the page lists itself; with scripts it lists
// all of them.
const mostLongest = 3

// FailoversFiles are the names of what lies beside failovers.json, in the order in which the
// page names them.
func FailoversFiles() []string {
	return []string{"failovers.md", "failovers.json", "failovers.csv", "failovers.txt", "junit.xml"}
}

// FailoversHTML returns the index.html of a measurement: one file that needs no network.
// Without scripts it lists the longest failovers, with them all.
func FailoversHTML(r *Failovers) ([]byte, error) {
	p := failoversPage{Failovers: r, Settings: r.settings(), Contrasts: r.contrasts(), Notes: r.notes(), Circumstances: r.circumstances(), Files: FailoversFiles()}
	for _, cause := range r.causes() {
		panel, err := r.panel(cause)
		if err != nil {
			return nil, err
		}
		if panel != nil {
			p.Panels = append(p.Panels, *panel)
		}
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.TotalMS.Count > 0 {
			p.Answers = append(p.Answers, failoverAnswer{c, r.beside(c)})
		}
		all := slices.Clone(c.Failovers)
		slices.SortStableFunc(all, func(a, b MeasuredFailover) int { return cmp.Compare(b.TotalMS, a.TotalMS) })
		for _, f := range all[:min(len(all), mostLongest)] {
			p.Longest = append(p.Longest, longestFailover{c.Cause, c.Elector, f, r.number(c, &f), c.Runs[f.Run].page()})
		}
	}
	rows, err := r.rows()
	if err != nil {
		return nil, err
	}
	p.Rows = rows
	return render("failovers.html", "failovers.js", &p, &p.Style, &p.Script, &p.ScriptSum)
}

// page is the link to the report of a run, "" if its files were not kept.
func (r *FailoverRun) page() string {
	if r.Folder == "" {
		return ""
	}
	return r.Folder + "/report.html"
}

// rows are all failovers for the page's script: of each cell its cause, its elector and the
// links of its runs; and of each failover the index of its cell, the index and the number of its
// run, when it began in milliseconds, from whom to whom, wait, detect, acquire, announce, total
// and excess as the JSON has them, and whether it was held up.
func (r *Failovers) rows() (template.JS, error) {
	type cellRow struct {
		Cause   string   `json:"cause"`
		Elector string   `json:"elector"`
		Runs    []string `json:"runs"`
	}
	cells, failovers := []cellRow{}, [][]any{}
	for i := range r.Cells {
		c := &r.Cells[i]
		row := cellRow{Cause: c.Cause, Elector: c.Elector, Runs: []string{}}
		for k := range c.Runs {
			link := c.Runs[k].page()
			if link != "" {
				link = relative(link)
			}
			row.Runs = append(row.Runs, link)
		}
		cells = append(cells, row)
		for _, f := range c.Failovers {
			held := 0
			if f.Stalled {
				held = 1
			}
			failovers = append(failovers, []any{i, f.Run, r.number(c, &f), f.AtMS, f.From, f.To, f.WaitMS, f.DetectMS, f.AcquireMS, f.AnnounceMS, f.TotalMS, f.ExcessMS, held})
		}
	}
	text, err := json.Marshal(map[string]any{"cells": cells, "failovers": failovers})
	if err != nil {
		return "", fmt.Errorf("reports: failovers.html: %w", err)
	}
	return template.JS(text), nil // of encoding/json, which escapes what would end a script
}

// panel draws the distributions after a cause; nil if there was no failover.
func (r *Failovers) panel(cause string) (*failoverPanel, error) {
	p := &failoverPanel{Cause: cause}
	var totals, excesses []banded
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Cause != cause || c.TotalMS.Count == 0 {
			continue
		}
		p.Summary = c.Summary
		k := len(excesses)
		class := fmt.Sprintf("t%d", k%6)
		p.Legend = append(p.Legend, legendEntry{fmt.Sprintf("%s, %s", c.Elector, plural(c.TotalMS.Count, "failover")), class})
		in := ink{color.RGBA{20, 0, uint8(k), 255}, "var(--" + class + ")"}
		var dashes []vg.Length
		if k > 0 {
			dashes = []vg.Length{vg.Length(6 - min(k, 4)), 2} // whoever sees no colours
		}
		totals = append(totals, banded{curve{c.values(metrics[0]), in, dashes}})
		excesses = append(excesses, banded{curve{c.values(metrics[1]), in, dashes}})
		if k == 0 { // what no elector can beat
			totals = append(totals, banded{curve{c.values(metrics[3]), secondInk(), []vg.Length{1, 2}}})
			p.Legend = append(p.Legend, legendEntry{"what no elector can beat, of " + c.Elector, "bound"})
		}
	}
	if len(totals) == 0 {
		return nil, nil
	}
	var err error
	if p.Total, err = bands("Distribution of the total time of failovers after "+cause, totals); err != nil {
		return nil, err
	}
	p.Excess, err = bands("Distribution of the excess of failovers after "+cause, excesses)
	return p, err
}

// banded is a curve with the band in which the true one lies, point by point, in 95 of 100
// samples.
type banded struct{ curve }

// bandPoints is how many quantiles make up a band.
const bandPoints = 60

// bands plots several distributions with their bands.
func bands(label string, curves []banded) (template.HTML, error) {
	var all []float64
	for _, c := range curves {
		all = append(all, c.values...)
	}
	p := sheet(all, 0, false)
	axis, grid, _, _ := inks()
	used := []ink{axis, grid}
	for _, c := range curves {
		if err := c.add(p); err != nil {
			return "", fmt.Errorf("reports: plot of %s: %w", label, err)
		}
		used = append(used, c.ink, c.shade())
	}
	return rendered(p, label, used...)
}

// shade is the ink of the band.
func (c banded) shade() ink {
	shade := c.ink.colour
	shade.R++
	return ink{shade, c.ink.variable + ";fill-opacity:.18"}
}

// add draws the curve and its band.
func (c banded) add(p *plot.Plot) error {
	sorted := slices.Sorted(slices.Values(c.values))
	var left, right plotter.XYs
	for i := range bandPoints + 1 {
		q := (float64(i) + .5) / (bandPoints + 1)
		if e := quantile.Of(sorted, q); e.Bounded() {
			left, right = append(left, plotter.XY{X: e.Low, Y: q}), append(right, plotter.XY{X: e.High, Y: q})
		}
	}
	if len(left) > 1 {
		slices.Reverse(right)
		area, err := plotter.NewPolygon(append(left, right...))
		if err != nil {
			return err
		}
		area.Color, area.Width = c.shade().colour, 0
		p.Add(area)
	}
	steps, err := plotter.NewLine(stairs(c.values, p.X.Min, p.X.Max))
	if err != nil {
		return err
	}
	steps.LineStyle = draw.LineStyle{Color: c.ink.colour, Width: 1.6, Dashes: c.dashes}
	p.Add(steps)
	return nil
}

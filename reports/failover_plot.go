package reports

import (
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
	"github.com/recount-io/recount/reports/document"
)

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
				link = document.Relative(link)
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

// addPanel adds the distributions after a cause, if there was a failover.
func (r *Failovers) addPanel(d *document.Document, cause string) error {
	var totals, excesses []banded
	var legend []document.Key
	title := "After " + cause
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Cause != cause || c.TotalMS.Count == 0 {
			continue
		}
		k := len(excesses)
		class := fmt.Sprintf("t%d", k%6)
		legend = append(legend, document.Key{Class: class, Words: fmt.Sprintf("%s, %s", c.Elector, plural(c.TotalMS.Count, "failover"))})
		in := ink{color.RGBA{20, 0, uint8(k), 255}, "var(--" + class + ")"}
		var dashes []vg.Length
		if k > 0 {
			dashes = []vg.Length{vg.Length(6 - min(k, 4)), 2} // for readers who see no colours
		}
		totals = append(totals, banded{curve{c.values(metrics[0]), in, dashes}})
		excesses = append(excesses, banded{curve{c.values(metrics[1]), in, dashes}})
		if k == 0 { // what no elector can beat
			title += ": " + c.Summary
			totals = append(totals, banded{curve{c.values(metrics[3]), secondInk(), []vg.Length{1, 2}}})
			legend = append(legend, document.Key{Class: "bound", Words: "what no elector can beat, of " + c.Elector})
		}
	}
	if len(totals) == 0 {
		return nil
	}
	total, err := bands("Distribution of the total time of failovers after "+cause, totals)
	if err != nil {
		return err
	}
	excess, err := bands("Distribution of the excess of failovers after "+cause, excesses)
	d.Add(title, document.Page, document.Figures{Wide: true, Legend: legend, Figures: []document.Figure{
		{Name: "Total", Note: "share of failovers that took at most so long; shaded, where the true share lies", SVG: total},
		{Name: "Excess", Note: "what no elector may skip is taken off", SVG: excess},
	}})
	return err
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

package reports

import (
	"fmt"
	"html/template"
	"image/color"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/reports/document"
)

// maxMoments is how many times of a run a plot of its processes tells apart.
const maxMoments = 120

// usagePlots draw what the candidates' processes consumed over the run.
func usagePlots(r *Report, h *history.History) ([]document.Block, error) {
	if r.Usage == nil {
		return nil, nil
	}
	lives := livesIn(h)
	end := lives[""][0].to
	var out []document.Figure
	for _, q := range quantities() {
		middle, most := momentsOf(q, h.Header.Nodes, lives, end)
		if len(most) == 0 || q.name == "threads" { // which tell nothing that the others do not
			continue
		}
		unit := ""
		if q.bytes {
			unit = ", MB"
		}
		svg, err := usagePlot(q.words+" of the candidates' processes, by minutes of the run", end.Minutes(), middle, most)
		if err != nil {
			return nil, err
		}
		out = append(out, document.Figure{Name: upper(q.words) + unit, Note: "the candidate in the middle; dashed, the one with most", SVG: svg})
	}
	return pictures(out), nil
}

// momentsOf are the median and the largest value of all candidates' samples,
// moment by moment.
func momentsOf(q quantity, nodes []string, lives map[string][]life, end time.Duration) (middle, most plotter.XYs) {
	var moments [maxMoments][]float64
	for _, node := range nodes {
		for _, l := range lives[node] {
			for _, s := range l.samples {
				if value := float64(q.of(s.usage)); value > 0 {
					i := min(int(maxMoments*float64(s.at)/float64(end)), maxMoments-1)
					moments[i] = append(moments[i], value)
				}
			}
		}
	}
	scale := 1.0
	if q.bytes {
		scale = 1e6
	}
	for i, values := range moments {
		if len(values) == 0 {
			continue
		}
		x := (float64(i) + 0.5) / maxMoments * end.Minutes()
		middle = append(middle, plotter.XY{X: x, Y: median(values) / scale})
		most = append(most, plotter.XY{X: x, Y: slices.Max(values) / scale})
	}
	return middle, most
}

// usagePlot draws two curves over a run that took so many minutes. They begin
// at nothing, so that what is level looks level.
func usagePlot(label string, minutes float64, middle, most plotter.XYs) (template.HTML, error) {
	axis, grid, curve, _ := inks()
	p := plot.New()
	p.BackgroundColor = color.Transparent
	p.X.Label.Text = "min"
	p.X.Min, p.X.Max = 0, minutes
	for _, xy := range most {
		p.Y.Max = max(p.Y.Max, 1.15*xy.Y)
	}
	p.Y.Min = 0
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks(0, p.X.Max), ticks(0, p.Y.Max)
	dress(&p.X, axis.colour)
	dress(&p.Y, axis.colour)
	lines := plotter.NewGrid()
	lines.Horizontal = draw.LineStyle{Color: grid.colour, Width: 0.7}
	lines.Vertical.Width = 0
	p.Add(lines)
	for _, c := range []struct {
		points plotter.XYs
		style  draw.LineStyle
	}{
		{most, draw.LineStyle{Color: axis.colour, Width: 0.9, Dashes: []vg.Length{3, 2}}},
		{middle, draw.LineStyle{Color: curve.colour, Width: 1.6}},
	} {
		line, err := plotter.NewLine(c.points)
		if err != nil {
			return "", fmt.Errorf("reports: plot of %s: %w", label, err)
		}
		line.LineStyle = c.style
		p.Add(line)
	}
	return rendered(p, label, axis, grid, curve)
}

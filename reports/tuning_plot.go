package reports

import (
	"cmp"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// rarest is the smallest number of needless changes a year that the plot tells from 0.
const rarest = 0.001

// Size of the plot in its own units.
const (
	frontWidth  vg.Length = 400
	frontHeight vg.Length = 250
)

// place on the plot.
func (p *TunedPoint) xy() plotter.XY {
	return plotter.XY{X: p.CrashP99MS[0], Y: max(p.NeedlessYear, rarest)}
}

// plot draws the points: p99 after a crash against needless changes a year, both logarithmic.
// It returns nothing if no point is known.
func (r *Tuning) plot() (template.HTML, error) {
	var known []*TunedPoint
	for i := range r.Points {
		if r.Points[i].Known {
			known = append(known, &r.Points[i])
		}
	}
	if len(known) == 0 {
		return "", nil
	}
	axis, grid, accent, limit := inks()
	chosen := ink{color.RGBA{40, 0, 0, 255}, "var(--pass)"}
	p := logSheet(known)
	limits, err := r.limits(p, limit)
	if err != nil {
		return "", fmt.Errorf("reports: plot of settings: %w", err)
	}
	p.Add(limits...)
	// What is drawn later lies above.
	slices.SortStableFunc(known, func(a, b *TunedPoint) int { return cmp.Compare(r.weight(a), r.weight(b)) })
	var xys plotter.XYs
	for _, q := range known {
		xys = append(xys, q.xy())
	}
	dots, err := plotter.NewScatter(xys)
	if err != nil {
		return "", fmt.Errorf("reports: plot of settings: %w", err)
	}
	dots.GlyphStyleFunc = func(i int) draw.GlyphStyle {
		q := known[i]
		size := vg.Length(1.2 + math.Log10(max(q.CommandsMinute, 1)))
		switch {
		case q == r.chosen():
			return draw.GlyphStyle{Color: chosen.colour, Radius: size + 1, Shape: draw.CircleGlyph{}}
		case q.Front:
			return draw.GlyphStyle{Color: accent.colour, Radius: size, Shape: draw.CircleGlyph{}}
		default:
			return draw.GlyphStyle{Color: axis.colour, Radius: 1.3, Shape: draw.RingGlyph{}}
		}
	}
	names, err := r.names(p, known)
	if err != nil {
		return "", fmt.Errorf("reports: plot of settings: %w", err)
	}
	p.Add(unboxed{dots}, unboxed{names})
	return renderedAt(p, frontWidth, frontHeight, "All settings: p99 after a crash, and needless changes of leader a year", axis, grid, accent, limit, chosen)
}

// unboxed is drawn without room of its own around the plot: there is enough within.
type unboxed struct{ plot.Plotter }

// weight orders points by how much they matter.
func (r *Tuning) weight(p *TunedPoint) int {
	switch {
	case p == r.chosen():
		return 3
	case p.Preset != "":
		return 2
	case p.Front:
		return 1
	default:
		return 0
	}
}

// logSheet is the plot with its axes and its grid, and nothing drawn.
func logSheet(points []*TunedPoint) *plot.Plot {
	axis, grid, _, _ := inks()
	p := plot.New()
	p.BackgroundColor = color.Transparent
	p.X.Label.Text = "p99 after a crash" // the plotter keeps room for a label of a logarithmic y axis above the plot
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = math.Inf(1), 0, rarest/2, 2
	for _, q := range points {
		at := q.xy()
		p.X.Min, p.X.Max, p.Y.Max = min(p.X.Min, at.X/1.4), max(p.X.Max, at.X*2), max(p.Y.Max, at.Y*2)
	}
	var x, y plot.ConstantTicks
	for decade := 1.; decade <= p.X.Max; decade *= 10 {
		for _, step := range []float64{1, 2, 5} {
			if at := step * decade; at >= p.X.Min && at <= p.X.Max {
				x = append(x, plot.Tick{Value: at, Label: (time.Duration(at) * time.Millisecond).String()})
			}
		}
	}
	for power := int(math.Round(math.Log10(rarest))); math.Pow10(power) <= p.Y.Max; power++ {
		label := thousands(int(math.Pow10(max(power, 0))))
		if power < 0 {
			label = strconv.FormatFloat(math.Pow10(power), 'f', -power, 64)
		}
		if math.Pow10(power) == rarest {
			label = "≤ " + label
		}
		y = append(y, plot.Tick{Value: math.Pow10(power), Label: label})
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = x, y
	dress(&p.X, axis.colour)
	dress(&p.Y, axis.colour)
	lines := plotter.NewGrid()
	lines.Horizontal = draw.LineStyle{Color: grid.colour, Width: 0.7}
	lines.Vertical = lines.Horizontal
	p.Add(lines)
	return p
}

// limits are lines for what is wanted, where they are in sight.
func (r *Tuning) limits(p *plot.Plot, in ink) (lines []plot.Plotter, err error) {
	add := func(from, to plotter.XY) {
		line, wrong := plotter.NewLine(plotter.XYs{from, to})
		if wrong != nil {
			err = wrong
			return
		}
		line.LineStyle = draw.LineStyle{Color: in.colour, Width: 1, Dashes: []vg.Length{4, 3}}
		lines = append(lines, line)
	}
	if y := r.NeedlessLimit; y > p.Y.Min && y < p.Y.Max {
		add(plotter.XY{X: p.X.Min, Y: y}, plotter.XY{X: p.X.Max, Y: y})
	}
	if x := r.P99LimitMS; x > p.X.Min && x < p.X.Max {
		add(plotter.XY{X: x, Y: p.Y.Min}, plotter.XY{X: x, Y: p.Y.Max})
	}
	return lines, err
}

// names are the requests a minute of points that matter, with the names of presets, as far as
// there is room. Those that matter most get theirs first.
func (r *Tuning) names(p *plot.Plot, points []*TunedPoint) (*plotter.Labels, error) {
	axis, _, _, _ := inks()
	const letter, line, gap = 4.6, 10., 6. // of a label, in the plot's units
	type box struct{ left, bottom, right, top float64 }
	var taken []box
	var labels plotter.XYLabels
	for _, q := range slices.Backward(points) {
		if r.weight(q) == 0 {
			break
		}
		text := ms(q.CommandsMinute)
		if q.Preset != "" {
			text = q.Preset + ": " + text
		}
		at := q.xy()
		x, y := p.X.Norm(at.X)*float64(frontWidth-70), p.Y.Norm(at.Y)*float64(frontHeight-45)
		own := box{x + gap, y, x + gap + letter*float64(len(text)), y + line}
		if own.right > float64(frontWidth-60) || slices.ContainsFunc(taken, func(b box) bool {
			return own.left < b.right && b.left < own.right && own.bottom < b.top && b.bottom < own.top
		}) {
			continue
		}
		taken = append(taken, own)
		labels.XYs, labels.Labels = append(labels.XYs, at), append(labels.Labels, text)
	}
	names, err := plotter.NewLabels(labels)
	if err != nil {
		return nil, err
	}
	for i := range names.TextStyle {
		names.TextStyle[i].Font, names.TextStyle[i].Color = p.X.Tick.Label.Font, axis.colour
	}
	names.Offset = vg.Point{X: gap, Y: 1}
	return names, nil
}

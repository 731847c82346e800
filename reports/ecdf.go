package reports

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Size of one plot in its own units; the page scales it to the space there is.
const (
	plotWidth  vg.Length = 330
	plotHeight vg.Length = 190

	maxSteps = 400
)

// Colours that stand for those of the page: a plot cannot know whether it is
// read by day or by night, so ecdf puts the page's variables in their place.
type ink struct {
	colour   color.RGBA
	variable string
}

func inks() (axis, grid, curve, limit ink) {
	return ink{color.RGBA{1, 2, 3, 255}, "var(--muted)"},
		ink{color.RGBA{4, 5, 6, 255}, "var(--rule)"},
		ink{color.RGBA{7, 8, 9, 255}, "var(--accent)"},
		ink{color.RGBA{10, 11, 12, 255}, "var(--fail)"}
}

// secondInk is that of a second curve in one plot.
func secondInk() ink { return ink{color.RGBA{13, 14, 15, 255}, "var(--ink)"} }

func (i ink) hex() string { return fmt.Sprintf("#%02X%02X%02X", i.colour.R, i.colour.G, i.colour.B) }

// ecdf plots which share of the values is at most how large, as an SVG element
// for the page. Values are milliseconds. A bound greater than 0 is drawn as a
// vertical line where it is in sight. It returns nothing for an empty sample.
func ecdf(label string, values []float64, bound float64) (template.HTML, error) {
	_, _, ink, _ := inks()
	return ecdfs(label, bound, curve{values, ink, nil})
}

// curve is one distribution in a plot.
type curve struct {
	values []float64
	ink    ink
	dashes []vg.Length // for readers who see no colours
}

// ecdfs plots several distributions in one picture: see ecdf. Empty ones are
// left out.
func ecdfs(label string, bound float64, curves ...curve) (template.HTML, error) {
	curves = slices.DeleteFunc(curves, func(c curve) bool { return len(c.values) == 0 })
	if len(curves) == 0 {
		return "", nil
	}
	var all []float64
	for _, c := range curves {
		all = append(all, c.values...)
	}
	drawBound := inSight(bound, all)
	p := sheet(all, bound, drawBound)
	axis, grid, _, limit := inks()
	used := []ink{axis, grid, limit}
	for _, c := range curves {
		steps, err := plotter.NewLine(stairs(c.values, p.X.Min, p.X.Max))
		if err != nil {
			return "", fmt.Errorf("reports: plot of %s: %w", label, err)
		}
		steps.LineStyle = draw.LineStyle{Color: c.ink.colour, Width: 1.6, Dashes: c.dashes}
		p.Add(steps)
		used = append(used, c.ink)
	}
	if drawBound {
		line, err := plotter.NewLine(plotter.XYs{{X: bound, Y: 0}, {X: bound, Y: 1}})
		if err != nil {
			return "", fmt.Errorf("reports: bound of %s: %w", label, err)
		}
		line.LineStyle = draw.LineStyle{Color: limit.colour, Width: 1, Dashes: []vg.Length{4, 3}}
		p.Add(line)
	}
	return rendered(p, label, used...)
}

// sheet is the plot with its axes and its grid, and nothing drawn.
func sheet(values []float64, bound float64, drawBound bool) *plot.Plot {
	axis, grid, _, _ := inks()
	p := plot.New()
	p.BackgroundColor = color.Transparent
	p.X.Label.Text = "ms"
	largest := slices.Max(values)
	p.X.Min, p.X.Max = 0, math.Max(largest*1.04, 0.01)
	if slices.Min(values) > 0.5*largest {
		p.X.Min = math.Floor(slices.Min(values) * 0.9)
	}
	if drawBound {
		p.X.Max = math.Max(p.X.Max, bound*1.04)
	}
	p.X.Tick.Marker = ticks(p.X.Min, p.X.Max)
	p.Y.Min, p.Y.Max = 0, 1
	p.Y.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0 %"}, {Value: 0.5, Label: "50 %"}, {Value: 0.9, Label: "90 %"}, {Value: 1, Label: "100 %"}}
	dress(&p.X, axis.colour)
	dress(&p.Y, axis.colour)
	lines := plotter.NewGrid()
	lines.Horizontal = draw.LineStyle{Color: grid.colour, Width: 0.7}
	lines.Vertical.Width = 0
	p.Add(lines)
	return p
}

// inSight reports whether a bound is close enough to the values to be drawn with
// them: a far one would squeeze them into a corner.
func inSight(bound float64, values []float64) bool {
	return bound > 0 && bound < 3*slices.Max(values)
}

// dress takes the weight out of an axis.
func dress(a *plot.Axis, c color.Color) {
	sans := font.Font{Typeface: "Liberation", Variant: "Sans", Size: 9.5}
	a.Label.TextStyle.Font, a.Tick.Label.Font = sans, sans
	a.Label.TextStyle.Color, a.Tick.Label.Color = c, c
	a.Color, a.Tick.Color = c, c
	a.Width, a.Tick.Width = 0.7, 0.7
	a.Tick.Length = 4
	a.Padding = 0
}

// ticks are about five round values.
func ticks(from, to float64) plot.ConstantTicks {
	const fine = 1e-6 // ms; roundStep counts in whole numbers
	step := float64(roundStep(time.Duration((to-from)/fine), 5)) * fine
	decimals := max(0, int(math.Ceil(-math.Log10(step)-1e-9)))
	var out plot.ConstantTicks
	for i := int(math.Ceil(from/step - 1e-9)); float64(i)*step <= to; i++ {
		value := float64(i) * step
		out = append(out, plot.Tick{Value: value, Label: strconv.FormatFloat(value, 'f', decimals, 64)})
	}
	return out
}

// stairs are the corners of the step function, spelled out so that the curve
// begins and ends at the edges of the plot. Of large samples only every so
// many values make a step: finer ones than a pixel show nothing.
func stairs(values []float64, from, to float64) plotter.XYs {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	xys := plotter.XYs{{X: from, Y: 0}}
	below := 0.0
	for i := range min(n, maxSteps) {
		rank := n * (i + 1) / min(n, maxSteps)
		x, upTo := sorted[rank-1], float64(rank)/float64(n)
		xys = append(xys, plotter.XY{X: x, Y: below}, plotter.XY{X: x, Y: upTo})
		below = upTo
	}
	return append(xys, plotter.XY{X: to, Y: 1})
}

// rendered is the plot as SVG inside a page, see inline.
func rendered(p *plot.Plot, label string, colours ...ink) (template.HTML, error) {
	return renderedAt(p, plotWidth, plotHeight, label, colours...)
}

// renderedAt is rendered in a size of its own.
func renderedAt(p *plot.Plot, width, height vg.Length, label string, colours ...ink) (template.HTML, error) {
	to := vgsvg.New(width, height)
	p.Draw(draw.Crop(draw.New(to), 0, -14, 0, -6)) // room for half of the last labels
	var out bytes.Buffer
	if _, err := to.WriteTo(&out); err != nil {
		return "", fmt.Errorf("reports: plot of %s: %w", label, err)
	}
	return inline(out.String(), width, height, label, colours...), nil
}

// inline makes an element of the page out of the plotter's document.
func inline(doc string, width, height vg.Length, label string, colours ...ink) template.HTML {
	_, body, _ := strings.Cut(doc, "<g")
	body = "<g" + body
	for _, c := range colours {
		body = strings.ReplaceAll(body, c.hex(), c.variable)
	}
	head := fmt.Sprintf(`<svg class="plot" viewBox="0 0 %g %g" role="img" aria-label="%s">`, float64(width), float64(height), template.HTMLEscapeString(label))
	return template.HTML(head + "\n" + body) // made of numbers and our own words
}

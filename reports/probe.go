package reports

import (
	"fmt"
	"html/template"
	"image/color"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/reports/document"
)

// maxProbed is how many answers a plot of the probe draws: of more, those that took
// longest.
const maxProbed = 400

// Probe is what a connection that goes around all faults saw of a Redis that others
// use.
type Probe struct {
	BeforeP50MS float64   `json:"before_p50_ms"` // of its answers before the run
	BeforeP99MS float64   `json:"before_p99_ms"`
	LimitMS     float64   `json:"limit_ms"` // beyond it answers are too late
	AnswerMS    Quantiles `json:"answer_ms"`
	Errors      int       `json:"errors"`
	Late        int       `json:"late"`              // answers beyond the limit
	Stopped     string    `json:"stopped,omitempty"` // why the run ended early, if it did for that

	_ struct{}
}

// probeIn finds what the probe saw, nil if there was none.
func probeIn(h *history.History) *Probe {
	var out *Probe
	var took []time.Duration
	for i := range h.Events {
		p := h.Events[i].Probe
		switch {
		case p == nil:
		case p.Limit > 0:
			out = &Probe{BeforeP50MS: millis(p.P50), BeforeP99MS: millis(p.P99), LimitMS: millis(p.Limit)}
		case out == nil: // a history of somebody's own
		case p.Stopped:
			out.Stopped = Redact(h.Events[i].Text)
		case p.Error != "":
			out.Errors++
		default:
			took = append(took, p.Latency)
			if millis(p.Latency) > out.LimitMS {
				out.Late++
			}
		}
	}
	if out != nil {
		out.AnswerMS = quantilesOf(took)
	}
	return out
}

// Sentence says what the probe saw.
func (p *Probe) Sentence() string {
	text := fmt.Sprintf("A connection around all faults asked it %s: %s; before the run p50 %s, p99 %s ms. ",
		plural(p.AnswerMS.Count+p.Errors, "time"), p.AnswerMS.Short(), ms(p.BeforeP50MS), ms(p.BeforeP99MS))
	text += fmt.Sprintf("Later than the limit of %s ms: %s; errors: %s.", ms(p.LimitMS), thousands(p.Late), thousands(p.Errors))
	if p.Stopped != "" {
		text += " The run was stopped early: " + p.Stopped + "."
	}
	return text
}

// probePlots draw the probe's answers over the run, beside the faults.
func probePlots(h *history.History) ([]document.Block, error) {
	var answers, errors plotter.XYs
	var limit, end time.Duration
	for i := range h.Events {
		e := &h.Events[i]
		end = max(end, e.At)
		switch p := e.Probe; {
		case p == nil || p.Stopped:
		case p.Limit > 0:
			limit = p.Limit
		case p.Error != "":
			errors = append(errors, plotter.XY{X: e.At.Seconds(), Y: millis(p.Latency)})
		default:
			answers = append(answers, plotter.XY{X: e.At.Seconds(), Y: millis(p.Latency)})
		}
	}
	if limit == 0 || len(answers)+len(errors) == 0 || end == 0 {
		return nil, nil
	}
	note := "milliseconds, by seconds of the run; shaded, a fault was on"
	if len(errors) > 0 {
		note += "; crosses, no answer"
	}
	svg, err := probePlot(thinned(answers), thinned(errors), millis(limit), end.Seconds(), faultTimes(h, end))
	if err != nil {
		return nil, err
	}
	return pictures([]document.Figure{{Name: "Its answers", Note: note, SVG: svg}}), nil
}

// thinned are the largest of each stretch of points, so that there are not too many.
func thinned(all plotter.XYs) (few plotter.XYs) {
	share := (len(all) + maxProbed - 1) / maxProbed
	for i := 0; i < len(all); i += share {
		most := all[i]
		for _, xy := range all[i:min(i+share, len(all))] {
			if xy.Y > most.Y {
				most = xy
			}
		}
		few = append(few, most)
	}
	return few
}

// faultTimes are the seconds in which injected faults were on, each from and to.
func faultTimes(h *history.History, end time.Duration) (out [][2]float64) {
	began := map[string]time.Duration{}
	for i := range h.Events {
		e := &h.Events[i]
		if e.Kind != history.Fault || history.Uninjected(e.Fault) || len(out) == maxFaults {
			continue
		}
		if e.Phase == history.On {
			began[e.ID] = e.At
		} else if from, known := began[e.ID]; known {
			delete(began, e.ID)
			out = append(out, [2]float64{from.Seconds(), max(e.At, from+end/200).Seconds()})
		}
	}
	return out
}

func probePlot(answers, errors plotter.XYs, limit, seconds float64, faults [][2]float64) (template.HTML, error) {
	const label = "Answers of the Redis that others use, in milliseconds, by seconds of the run"
	axis, grid, curve, red := inks()
	p := plot.New()
	p.BackgroundColor = color.Transparent
	p.X.Label.Text = "s"
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, seconds, 0, 0.01
	var values []float64
	for _, xy := range append(append(plotter.XYs{}, answers...), errors...) {
		values = append(values, xy.Y)
		p.Y.Max = max(p.Y.Max, 1.15*xy.Y)
	}
	if inSight(limit, values) {
		p.Y.Max = max(p.Y.Max, 1.15*limit)
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks(0, p.X.Max), ticks(0, p.Y.Max)
	dress(&p.X, axis.colour)
	dress(&p.Y, axis.colour)
	for _, span := range faults {
		shade, err := plotter.NewPolygon(plotter.XYs{{X: span[0], Y: 0}, {X: span[1], Y: 0}, {X: span[1], Y: p.Y.Max}, {X: span[0], Y: p.Y.Max}})
		if err != nil {
			return "", fmt.Errorf("reports: plot of %s: %w", label, err)
		}
		shade.Color, shade.Width = grid.colour, 0
		p.Add(shade)
	}
	if inSight(limit, values) {
		line, err := plotter.NewLine(plotter.XYs{{X: 0, Y: limit}, {X: seconds, Y: limit}})
		if err != nil {
			return "", fmt.Errorf("reports: plot of %s: %w", label, err)
		}
		line.LineStyle = draw.LineStyle{Color: red.colour, Width: 1, Dashes: []vg.Length{4, 3}}
		p.Add(line)
	}
	for _, marks := range []struct {
		points plotter.XYs
		style  draw.GlyphStyle
	}{
		{answers, draw.GlyphStyle{Color: curve.colour, Radius: 1.6, Shape: draw.CircleGlyph{}}},
		{errors, draw.GlyphStyle{Color: red.colour, Radius: 3, Shape: draw.CrossGlyph{}}},
	} {
		if len(marks.points) == 0 {
			continue
		}
		scatter, err := plotter.NewScatter(marks.points)
		if err != nil {
			return "", fmt.Errorf("reports: plot of %s: %w", label, err)
		}
		scatter.GlyphStyle = marks.style
		p.Add(scatter)
	}
	return rendered(p, label, axis, grid, curve, red)
}

package reports

import (
	"fmt"
	"html/template"

	"gonum.org/v1/plot/vg"

	"github.com/recount-io/recount/calibration"
)

// calibrationPage is what calibration.html is made from.
type calibrationPage struct {
	*Calibration
	Style     template.CSS
	Script    template.JS // the page has none, but its policy is the others'
	ScriptSum string
	Headline  string
	About     string
	Rule      string
	Views     []calibrationView
}

// calibrationView is one scenario on the page.
type calibrationView struct {
	CalibratedScenario
	ID       string
	Found    string
	LiveRuns string
	Simulate string // the virtual runs
	Rows     []calibrationRow
	Road     []roadRow
	Plots    []plotView
	Orders   []orderView
}

type calibrationRow struct {
	Label string
	CalibratedFigure
	By string
}

type orderView struct {
	Title string
	CalibratedOrder
	By string
}

// CalibrationHTML returns calibration.html: the distributions of both worlds in
// one picture, for every scenario. Like report.html it needs nothing else.
func CalibrationHTML(c *Calibration) ([]byte, error) {
	p := calibrationPage{Calibration: c, Headline: upper(c.agreements()) + ".", About: c.about(), Rule: c.rule()}
	for i := range c.Scenarios {
		view, err := calibrationViewOf(&c.Scenarios[i], c.Limits.AreaOfLease*c.LeaseMS)
		if err != nil {
			return nil, err
		}
		view.ID = fmt.Sprintf("s%d", i+1)
		p.Views = append(p.Views, view)
	}
	return render("calibration.html", "lanes.js", &p, &p.Style, &p.Script, &p.ScriptSum)
}

func calibrationViewOf(s *CalibratedScenario, limit float64) (calibrationView, error) {
	v := calibrationView{
		CalibratedScenario: *s, Found: s.agreement(), Road: roadRows(s),
		LiveRuns: runsOf(s.Live) + brokenIn(s.Live), Simulate: runsOf(s.Virtual) + brokenIn(s.Virtual),
	}
	for _, f := range s.Figures {
		if !f.Compared {
			continue
		}
		v.Rows = append(v.Rows, calibrationRow{f.label(), f, chance(f.Chance)})
		if !f.Say || f.Name == calibration.Failovers {
			continue
		}
		svg, err := ecdfs(fmt.Sprintf("Empirical distributions of the %s of failovers in both worlds, in milliseconds", f.Name), 0, bothCurves(f)...)
		if err != nil {
			return v, err
		}
		v.Plots = append(v.Plots, plotView{upper(f.Name), fmt.Sprintf("%s ms between the curves, of %s ms allowed", ms(f.Area), ms(limit)), svg})
	}
	for _, o := range s.Orders {
		v.Orders = append(v.Orders, orderView{o.title(), o, chance(o.Chance)})
	}
	return v, nil
}

// bothCurves are the live curve, drawn through, and the virtual one, dashed.
func bothCurves(f CalibratedFigure) []curve {
	_, _, accent, _ := inks()
	return []curve{{f.Live.Values, accent, nil}, {f.Virtual.Values, secondInk(), []vg.Length{5, 3}}}
}

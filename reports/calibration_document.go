package reports

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot/vg"

	"github.com/recount-io/recount/calibration"
	"github.com/recount-io/recount/reports/document"
)

// Document is what the comparison says: for every scenario the verdict, what differs, the
// distributions of both worlds in one picture, and the figures side by side.
func (c *Calibration) Document() (*document.Document, error) {
	d := &document.Document{Title: "Two worlds", About: "two worlds", Verdict: c.Verdict, Repeat: Redact(c.Repro), Last: c.agreements()}
	d.Add("", document.Written, document.Styled(document.Headline, upper(c.agreements())+"."), document.Styled(document.Muted, c.about()), document.Styled(document.Muted, c.rule()))
	all := document.Table{Look: "suite", Columns: document.Left("scenario", "verdict", "live", "virtual", "what was found"), Empty: "No scenario was run in both worlds, so nothing was compared."}
	for i := range c.Scenarios {
		s := &c.Scenarios[i]
		all.Rows = append(all.Rows, document.Cells(document.Span{Words: s.Scenario, Link: fmt.Sprintf("#c%d", i+1)}, document.Of(s.Verdict), s.Live.line(), s.Virtual.line(), s.agreement()))
	}
	d.Add("", document.Written, all)
	for i := range c.Scenarios {
		s := &c.Scenarios[i]
		blocks, err := s.blocks(c.Limits.AreaOfLease * c.LeaseMS)
		if err != nil {
			return nil, err
		}
		d.Sections = append(d.Sections, document.Section{Title: s.Scenario, ID: fmt.Sprintf("c%d", i+1), Verdict: &s.Verdict, Blocks: blocks})
	}
	if d.Repeat != "" {
		d.Add("Repeat the comparison", document.Written, document.Command{Lines: d.Repeat})
	}
	return d, nil
}

// blocks are what is said about one scenario; limit is how far curves may lie apart.
func (s *CalibratedScenario) blocks(limit float64) ([]document.Block, error) {
	var differs document.List
	for _, d := range s.Differences {
		differs = append(differs, document.Text{document.Judged(s.Verdict, "differs"), {Words: ": " + sentence(d)}})
	}
	plots, err := s.plots(limit)
	if err != nil {
		return nil, err
	}
	blocks := []document.Block{
		document.For(document.Terminal, document.Paragraph{Text: append(document.Words("live: "), s.Live.line()...)}, document.Paragraph{Text: append(document.Words("virtual: "), s.Virtual.line()...)}),
	}
	if len(differs) > 0 {
		blocks = append(blocks, differs)
	}
	blocks = append(blocks, document.For(document.Page, plots), document.For(document.Terminal, s.figures(false)), document.For(document.Written, s.figures(true)))
	for i := range s.Orders {
		blocks = append(blocks, s.Orders[i].blocks()...)
	}
	return blocks, nil
}

// line says what came of the runs in a world.
func (w CalibratedWorld) line() document.Text {
	text := runsOf(w)
	for i, b := range w.Broken {
		before := ", "
		if i == 0 {
			before = "; broken: "
		}
		text += fmt.Sprintf("%s%s in %d", before, b.Name, b.Runs)
	}
	return document.Text{document.Of(w.Verdict), {Words: ": " + text}}
}

// plots are the distributions of the figures that decide: the live ones are drawn through, and
// the virtual ones dashed.
func (s *CalibratedScenario) plots(limit float64) (document.Block, error) {
	var all document.Figures
	_, _, accent, _ := inks()
	for _, f := range s.Figures {
		if !f.Compared || !f.Say || f.Name == calibration.Failovers {
			continue
		}
		svg, err := ecdfs(fmt.Sprintf("Empirical distributions of the %s of failovers in both worlds, in milliseconds", f.Name), 0,
			curve{f.Live.Values, accent, nil}, curve{f.Virtual.Values, secondInk(), []vg.Length{5, 3}})
		if err != nil {
			return nil, err
		}
		note := fmt.Sprintf("%s ms between the curves, of %s ms allowed; live drawn through, virtual dashed", ms(f.Area), ms(limit))
		all.Figures = append(all.Figures, document.Figure{Name: upper(f.Name), Note: note, SVG: svg})
	}
	if len(all.Figures) == 0 {
		return document.Para("There is no failover in both worlds, so there are no distributions to compare."), nil
	}
	return all, nil
}

// figures are all that was compared; those of the requests have no say, and are in no terminal.
func (s *CalibratedScenario) figures(requests bool) document.Table {
	columns := slices.Concat(document.Left("ms"), document.Right("live p50", "p90", "max", "virtual p50", "p90", "max", "apart", "distance", "by chance", "chance of it"))
	columns[9].In = document.Written
	t := document.Table{Look: "fit quantiles", Columns: columns}
	row := func(name string, live, virtual Quantiles, compared ...any) document.Row {
		sides := []any{name, live.P50.String(), live.P90.String(), ms(live.Max), virtual.P50.String(), virtual.P90.String(), ms(virtual.Max)}
		return document.Cells(append(sides, compared...)...)
	}
	for _, f := range s.Figures {
		if !f.Compared || !requests && f.Name == calibration.Failovers {
			continue
		}
		r := row(f.Name, f.Live.Quantiles, f.Virtual.Quantiles, ms(f.Area), fmt.Sprintf("%.2f", f.Distance.Distance), fmt.Sprintf("%.2f", f.Usual), chance(f.Chance))
		if f.Differs {
			r.Class = "unknown"
		} else if f.Say {
			r.Class = "sum"
		}
		t.Rows = append(t.Rows, r)
	}
	for _, r := range []struct {
		name          string
		live, virtual Quantiles
	}{
		{"round trip of a renewal", s.Live.Renewals, s.Virtual.Renewals},
		{"round trip of an acquisition", s.Live.Acquisitions, s.Virtual.Acquisitions},
		{"lateness of a renewal", s.Live.Lateness, s.Virtual.Lateness},
		{"start of a process", s.Live.Starts, s.Virtual.Starts},
	} {
		if requests && r.live.Count > 0 && r.virtual.Count > 0 {
			t.Rows = append(t.Rows, row(r.name, r.live, r.virtual))
		}
	}
	return t
}

// blocks say how far the orders of events differ.
func (o *CalibratedOrder) blocks() []document.Block {
	title := "Causes of the failovers"
	if o.Cause != "" {
		title = fmt.Sprintf("Order of events after %s (%s live, %s virtual)", o.Cause, plural(o.Live, "failover"), thousands(o.Virtual))
	}
	if !o.Compared {
		return []document.Block{document.For(document.Written, document.Para(title+": only one world has any, so there is nothing to compare."))}
	}
	said := document.Para(fmt.Sprintf("%s: total variation distance %.2f, by chance %.2f (chance of it %s).", title, o.Distance.Distance, o.Usual, chance(o.Chance)))
	if o.Cause == "" {
		return []document.Block{document.For(document.Written, said)}
	}
	if len(o.Pairs) == 0 {
		return []document.Block{said}
	}
	pairs := document.Table{Look: "fit", Columns: append(document.Left("what follows what"), document.Right("live", "virtual")...)}
	for _, p := range o.Pairs {
		pairs.Rows = append(pairs.Rows, document.Cells(p.First+" → "+p.Second, percent(p.Live), percent(p.Virtual)))
	}
	return []document.Block{said, document.For(document.Written, pairs)}
}

// rule states what counts as a difference.
func (c *Calibration) rule() string {
	return fmt.Sprintf("The worlds differ where the verdicts or the broken promises do, or where two samples are further apart than chance explains (%g %% for a scenario) and further than matters: %g %% of a lease (%s ms) between the curves of total or excess, %g of the pairs of events, %g failovers a run. The verdict rests on total, excess and the number of failovers; the rest shows where a difference comes from.",
		100*c.Limits.Chance, 100*c.Limits.AreaOfLease, ms(c.Limits.AreaOfLease*c.LeaseMS), c.Limits.Variation, c.Limits.Failovers)
}

package reports

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/recount-io/recount/calibration"
)

// CalibrationSummary writes what a person wants to see when two worlds have
// been compared: for every scenario the verdict, the figures side by side and
// what differs, and at the very end the overall verdict.
func CalibrationSummary(w io.Writer, c *Calibration, t Terminal) error {
	s := newSummary(t)
	for i := range c.Scenarios {
		s.calibrated(&c.Scenarios[i])
		s.line("")
	}
	s.pointers()
	s.wrap("", s.paint(c.Verdict, strings.ToUpper(c.Verdict.String()))+": "+c.agreements())
	return s.print(w)
}

// calibrated is the part of one scenario.
func (s *summary) calibrated(c *CalibratedScenario) {
	s.line(cut(s.paint(c.Verdict, c.Verdict.String())+"  "+plain(c.Scenario), s.Width+len("\x1b[1;31m\x1b[0m")))
	s.wrap("  ", "live: "+c.Live.Verdict.String()+", "+runsOf(c.Live)+brokenIn(c.Live))
	s.wrap("  ", "virtual: "+c.Virtual.Verdict.String()+", "+runsOf(c.Virtual)+brokenIn(c.Virtual))
	head := false
	for _, f := range c.Figures {
		if !f.Compared || f.Name == calibration.Failovers {
			continue
		}
		if !head {
			s.line(cut("  p50, p90, max; ms          live                 virtual    apart    KS   chance", s.Width))
			head = true
		}
		s.line(cut(fmt.Sprintf("  %-10s %6s %6s %6s   %6s %6s %6s   %6s  %.2f  %7s", f.Name,
			f.Live.Quantiles.P50, f.Live.Quantiles.P90, ms(f.Live.Quantiles.Max),
			f.Virtual.Quantiles.P50, f.Virtual.Quantiles.P90, ms(f.Virtual.Quantiles.Max),
			ms(f.Area), f.Distance.Distance, chance(f.Chance)), s.Width))
	}
	for _, o := range c.Orders {
		if o.Compared && o.Cause != "" {
			s.wrap("  ", fmt.Sprintf("order after %s: variation %.2f, of which chance makes %.2f", plain(o.Cause), o.Distance.Distance, o.Usual))
		}
	}
	for _, d := range c.Differences {
		s.wrap("  ", s.paint(c.Verdict, "differs")+": "+plain(d))
	}
}

func brokenIn(w CalibratedWorld) string {
	var parts []string
	for _, b := range w.Broken {
		parts = append(parts, fmt.Sprintf("%s in %d", b.Name, b.Runs))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; broken: " + strings.Join(parts, ", ")
}

// CalibrationMarkdown returns calibration.md.
func CalibrationMarkdown(c *Calibration) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Two worlds: %s\n\n**%s**\n\n%s\n\n%s\n", c.Verdict, cell(upper(c.agreements())+"."), cell(c.about()), cell(c.rule()))
	b.WriteString("\n| scenario | verdict | live | virtual | what was found |\n| --- | --- | --- | --- | --- |\n")
	for i := range c.Scenarios {
		s := &c.Scenarios[i]
		fmt.Fprintf(&b, "| %s | %s | %s: %s | %s: %s | %s |\n", cell(s.Scenario), bold(s.Verdict), s.Live.Verdict, runsOf(s.Live), s.Virtual.Verdict, runsOf(s.Virtual), cell(s.agreement()))
	}
	for i := range c.Scenarios {
		markdownCalibrated(&b, &c.Scenarios[i])
	}
	if c.Repro != "" {
		fmt.Fprintf(&b, "\n## Repeat the comparison\n\n%s", fenced(c.Repro))
	}
	return b.Bytes()
}

func markdownCalibrated(b *bytes.Buffer, s *CalibratedScenario) {
	fmt.Fprintf(b, "\n## %s: %s\n", cell(s.Scenario), s.Verdict)
	for _, d := range s.Differences {
		fmt.Fprintf(b, "\n- %s", cell(sentence(d)))
	}
	if len(s.Differences) > 0 {
		b.WriteByte('\n')
	}
	b.WriteString("\n| | live p50 | p90 | max | virtual p50 | p90 | max | apart | distance | by chance | chance of it |\n")
	b.WriteString("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, f := range s.Figures {
		if f.Compared {
			live, virtual := f.Live.Quantiles, f.Virtual.Quantiles
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s | %.2f | %.2f | %s |\n", f.label(), live.P50, live.P90, ms(live.Max),
				virtual.P50, virtual.P90, ms(virtual.Max), ms(f.Area), f.Distance.Distance, f.Usual, cell(chance(f.Chance)))
		}
	}
	for _, r := range roadRows(s) {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | | | | |\n", r.Name, r.Live.P50, r.Live.P90, ms(r.Live.Max), r.Virtual.P50, r.Virtual.P90, ms(r.Virtual.Max))
	}
	for _, o := range s.Orders {
		fmt.Fprintf(b, "\n%s", cell(o.title()))
		if !o.Compared {
			b.WriteString(": only one world has any, so there is nothing to compare.\n")
			continue
		}
		fmt.Fprintf(b, ": total variation distance %.2f, by chance %.2f (chance of it %s).\n", o.Distance.Distance, o.Usual, cell(chance(o.Chance)))
		if len(o.Pairs) == 0 {
			continue
		}
		b.WriteString("\n| what follows what | live | virtual |\n| --- | ---: | ---: |\n")
		for _, p := range o.Pairs {
			fmt.Fprintf(b, "| %s → %s | %s | %s |\n", cell(p.First), cell(p.Second), percent(p.Live), percent(p.Virtual))
		}
	}
}

// title says what an order is about.
func (o *CalibratedOrder) title() string {
	if o.Cause == "" {
		return "Causes of the failovers"
	}
	return fmt.Sprintf("Order of events after %s (%s live, %s virtual)", o.Cause, plural(o.Live, "failover"), thousands(o.Virtual))
}

// label is a figure's name with its unit.
func (f *CalibratedFigure) label() string {
	if f.Name == calibration.Failovers {
		return f.Name
	}
	return f.Name + ", ms"
}

// roadRow is a figure of the requests: it is shown, and has no say.
type roadRow struct {
	Name          string
	Live, Virtual Quantiles
}

// roadRows are those that both worlds have.
func roadRows(s *CalibratedScenario) []roadRow {
	var rows []roadRow
	for _, r := range []roadRow{
		{"round trip of a renewal, ms", s.Live.Renewals, s.Virtual.Renewals},
		{"round trip of an acquisition, ms", s.Live.Acquisitions, s.Virtual.Acquisitions},
		{"lateness of a renewal, ms", s.Live.Lateness, s.Virtual.Lateness},
		{"start of a process, ms", s.Live.Starts, s.Virtual.Starts},
	} {
		if r.Live.Count > 0 && r.Virtual.Count > 0 {
			rows = append(rows, r)
		}
	}
	return rows
}

// rule states what counts as a difference.
func (c *Calibration) rule() string {
	return fmt.Sprintf("The worlds differ where the verdicts or the broken promises do, or where two samples are further apart than chance explains (%g %% for a scenario) and further than matters: %g %% of a lease (%s ms) between the curves of total or excess, %g of the pairs of events, %g failovers a run.",
		100*c.Limits.Chance, 100*c.Limits.AreaOfLease, ms(c.Limits.AreaOfLease*c.LeaseMS), c.Limits.Variation, c.Limits.Failovers)
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

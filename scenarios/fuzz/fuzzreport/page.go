package fuzzreport

import (
	"fmt"
	"html"
	"math"
	"strings"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/reports/document"
	"github.com/recount-io/recount/scenarios/fuzz"
)

// mapStyle is that of the map, whose fields are small.
const mapStyle = `.map { width: auto; font-size: 13px; } .map th { white-space: nowrap; }
.map thead th[colspan], .map td.first { border-left: 1px solid var(--rule); padding-left: .3rem; }
.map .point { height: 4.6rem; vertical-align: bottom; padding: 0; } .map .point span { writing-mode: vertical-rl; transform: rotate(180deg); }
.map td { padding: 1px 2px; vertical-align: middle; white-space: nowrap; min-width: 22px; line-height: 0; }
.map td.blank { background: repeating-linear-gradient(135deg, transparent 0 4px, var(--rule) 4px 5px); opacity: .5; }
i.l0, i.l1, i.l2, i.l3, i.l4 { display: inline-block; width: 7px; height: 14px; margin: 0 1px 0 0; box-sizing: border-box; border: 1px solid var(--rule); vertical-align: middle; }
i.l1 { background: color-mix(in srgb, var(--accent) 25%, var(--page)); } i.l2 { background: color-mix(in srgb, var(--accent) 50%, var(--page)); }
i.l3 { background: color-mix(in srgb, var(--accent) 75%, var(--page)); } i.l4 { background: var(--accent); }`

// Document is what the run found out. again is the command that repeats it.
func Document(r *fuzz.Result, traces []Trace, again string) *document.Document {
	reached, reachable := r.Coverage.Cells()
	d := &document.Document{Title: count(r.Schedules, "schedule") + ", and no promise was broken", Verdict: checker.Pass, Style: mapStyle}
	if r.Schedules == 0 {
		d.Verdict = checker.Unknown
	}
	if len(r.Failures) > 0 {
		d.Title, d.Verdict = fmt.Sprintf("%s is broken", r.Failures[0].Case.Failed.Promise), checker.Fail
	}
	d.Add("", document.Page, document.Numbers{
		{Name: "schedules", Value: thousands(r.Schedules), Note: "in " + took(r.Seconds, r.Shards)},
		{Name: "faults", Value: thousands(r.Injected), Note: thousands(r.Missed) + " without effect"},
		{Name: "coverage", Value: fmt.Sprintf("%.0f %%", 100*r.Coverage.Share()), Note: fmt.Sprintf("%d of %d moments", reached, reachable)},
		{Name: "broken promises", Value: fmt.Sprint(len(r.Failures)), Bad: len(r.Failures) > 0},
	})
	for i := range r.Failures {
		f := &r.Failures[i]
		c := &f.Case
		timings := fmt.Sprintf("%s, lease %v, renew %v, retry %v, drift %g", count(c.Nodes, "candidate"), c.Timings.Lease, c.Timings.Renew, c.Timings.Retry, c.Drift)
		var steps []string
		for _, step := range c.Schedule.Sorted() {
			steps = append(steps, step.String())
		}
		d.Add("", 0, failure(string(c.Failed.Promise), c.Failed.Reason, []string{found(f), timings}, steps, traces[i]))
	}
	var drawn strings.Builder
	Map(&drawn, r.Coverage)
	d.Add("", document.Terminal, document.Command{Lines: drawn.String(), Code: true})
	d.Add("What the faults met", document.Page, document.Raw(mapOf(draw(r.Coverage))))
	speed := fmt.Sprintf("%s in %s (%.0f a second), %s, %d without effect", count(r.Schedules, "schedule"), took(r.Seconds, r.Shards), float64(r.Schedules)/math.Max(r.Seconds, 1e-9), count(r.Injected, "fault"), r.Missed)
	d.Add("", document.Terminal, document.Para(speed))
	end(d, Confidence(r), again)
	return d
}

// failure is something that is broken, what it takes to break it, and how to see it again.
func failure(name, reason string, about, steps []string, trace Trace) document.Case {
	c := document.Case{Verdict: checker.Fail, Title: name + " is broken", Reason: reason, Blocks: []document.Block{document.Paras(document.Muted, about), document.Points(steps)}}
	if trace.File != "" {
		c.Blocks = append(c.Blocks, document.Command{Name: "again", Lines: "chaos replay " + trace.File})
	}
	c.Blocks = append(c.Blocks, document.Command{Name: "as drawn", Lines: trace.Command})
	if trace.Page != "" {
		c.Blocks = append(c.Blocks, document.For(document.Page, document.Paragraph{Text: document.Text{{Words: "What happened, moment by moment", Link: trace.Page}}}))
	}
	return c
}

// end says how sure one can be that nothing else is broken, and how to repeat all of it.
func end(d *document.Document, confidence, again string) {
	if d.Verdict != checker.Fail {
		d.Add("", document.Terminal, document.Para(confidence))
	}
	d.Add("", document.Page, document.Para(confidence+"."), document.Command{Lines: again})
}

// mapOf draws the map for a page.
func mapOf(m chart) string {
	var b strings.Builder
	b.WriteString("\n<p class=\"told\">Each field is a fault that was put on at one point of the lease's life, on a candidate in one role. The squares in it are the calls that can be under way just then; the darker, the more often. White ones can be met and were not.</p>\n<div class=\"wide\" tabindex=\"0\"><table class=\"map\">\n<thead>\n<tr><td></td>")
	for _, role := range m.roles {
		fmt.Fprintf(&b, "<th colspan=\"%d\" scope=\"colgroup\">%s</th>", len(m.points), html.EscapeString(role))
	}
	b.WriteString("</tr>\n<tr><td></td>")
	for range m.roles {
		for _, point := range m.points {
			fmt.Fprintf(&b, "<th class=\"point\" scope=\"col\"><span>%s</span></th>", html.EscapeString(point))
		}
	}
	b.WriteString("</tr>\n</thead>\n<tbody>\n")
	for _, row := range m.rows {
		fmt.Fprintf(&b, "<tr><th scope=\"row\">%s</th>", html.EscapeString(row.fault))
		for _, fields := range row.fields {
			for i := range fields {
				fields[i].write(&b, i == 0)
			}
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody>\n</table></div>\n<p class=\"quiet\"><i class=\"l0\"></i> never <i class=\"l1\"></i> up to 9 times <i class=\"l2\"></i> up to 99 <i class=\"l3\"></i> up to 999 <i class=\"l4\"></i> more</p>")
	return b.String()
}

// write draws a field with a square for each call that can be under way.
func (f *field) write(b *strings.Builder, first bool) {
	var classes []string
	if first {
		classes = append(classes, "first")
	}
	if f.reachable == 0 {
		classes = append(classes, "blank")
	}
	fmt.Fprintf(b, "<td class=\"%s\">", strings.Join(classes, " "))
	for _, c := range f.cells {
		if !c.Reachable {
			continue
		}
		call := c.Call
		if call == "" {
			call = "nothing"
		}
		title := fmt.Sprintf("%s, %s, lease %s, %s under way: met %s", c.Fault, c.Role, c.Point, call, count(c.Count, "time"))
		fmt.Fprintf(b, "<i class=\"l%d\" title=\"%s\"></i>", level(c.Count), html.EscapeString(title))
	}
	b.WriteString("</td>")
}

// level is a number's order of magnitude, up to 4.
func level(n int) int {
	if n == 0 {
		return 0
	}
	return min(1+int(math.Log10(float64(n))), 4)
}

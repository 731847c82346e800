package reports

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/recount-io/recount/reports/document"
)

// TuningFiles are the names of what lies beside the page, in the order in which it names them.
func TuningFiles() []string { return []string{"tune.md", "tune.json"} }

// Document is what the search for settings says. A script of its page sorts the table of all
// points; without it, the table is in the order of the leases.
func (r *Tuning) Document() (*document.Document, error) {
	d := &document.Document{Title: "Settings", About: "settings", Verdict: r.Verdict, Repeat: Redact(r.Repro), Script: asset("failovers.js"), Last: plural(len(r.Points), "setting"), Style: ".plot { max-width: 46rem; }"}
	head := []document.Block{document.Styled(document.Headline, r.headline())}
	if r.Stopped != "" {
		head = append(head, document.Para(fmt.Sprintf("It ended early: %s. Only %s were tried, so others may be better.", r.Stopped, plural(len(r.Points), "setting"))))
	}
	d.Add("", 0, head...)
	chosen := r.chosen()
	if chosen != nil {
		d.Add("The settings, as Go, YAML and environment", 0, document.Command{Lines: chosen.forms(r.Drift), Code: true})
	}
	if err := r.addFront(d); err != nil {
		return nil, err
	}
	if chosen != nil {
		d.Add("Why not its neighbours", 0, document.Points(r.neighbours()))
		d.Add("How the elector's presets stand", 0, document.Points(r.standing()))
	}
	if text := r.confirmation(); text != "" {
		d.Add("Confirmed by real processes", 0, document.Para(text))
		d.Sections[len(d.Sections)-1].Verdict = &r.Confirmed.Verdict
	}
	var all []*TunedPoint
	for i := range r.Points {
		all = append(all, &r.Points[i])
	}
	table := r.table(all)
	table.Look, table.Caption = "sortable", "After a crash nobody leads for so many milliseconds; behind p99 stands between which values the true figure lies (95 %). Needless: leaders lost in a year although none crashed"
	d.Add("All settings", document.Page, table)
	d.Add("", 0, document.Styled(document.Prose, r.assumptions()))
	d.Add("Files, and how to repeat it", document.Page, filesList(TuningFiles()))
	if d.Repeat != "" {
		d.Add("", document.Written, document.Command{Lines: d.Repeat})
	}
	return d, nil
}

// addFront adds the points of the front: on a page as a plot of all points.
func (r *Tuning) addFront(d *document.Document) error {
	svg, err := r.plot()
	if err != nil || svg == "" {
		return err
	}
	legend := []document.Key{
		{Class: "chosen", Words: r.chosenName()},
		{Class: "front", Words: "on the front: not to be improved in one respect without loss in another"},
		{Class: "other", Words: "other settings"},
	}
	if r.NeedlessLimit != 0 || r.P99LimitMS != 0 {
		legend = append(legend, document.Key{Class: "limit", Words: "the limit of what is wanted"})
	}
	const note = "From left to right: how long nobody leads after a crash, in 99 of 100 cases at most. Upwards: how many leaders a year are lost although none crashed. The number at a dot, and its size: requests a minute"
	d.Add("The front", 0,
		document.For(document.Page, document.Figures{Wide: true, Legend: legend, Figures: []document.Figure{{Note: note, SVG: svg}}}),
		document.For(document.Terminal|document.Markdown, document.Para("None of these settings can be improved in one respect without loss in another."), r.table(r.front())))
	return nil
}

// chosenName says what the chosen point is.
func (r *Tuning) chosenName() string {
	if r.Best > 0 {
		return "recommended"
	}
	return "the nearest"
}

// table has a row for each of the points.
func (r *Tuning) table(points []*TunedPoint) document.Table {
	columns := slices.Concat(document.Right("lease", "renew", "retry", "time-out", "crash p50 ms", "crash p99 ms", "needless a year", "by the network", "by pauses", "by outages", "requests a minute"), document.Left("it is"))
	for _, i := range []int{4, 7, 8, 9} {
		columns[i].In = document.Written
	}
	columns[11].In = document.Page
	t := document.Table{Columns: columns}
	sorted := func(words string, by float64) document.Span { return document.Span{Words: words, Sort: by} }
	for _, p := range points {
		lease, is := sorted(duration(p.LeaseMS), p.LeaseMS), r.inShort(p)
		p50, p99 := "–", document.Span{Words: "–"}
		if p.Known {
			p50, p99 = ms(p.CrashP50MS[0]), sorted(fmt.Sprintf("%s (%s to %s)", ms(p.CrashP99MS[0]), ms(p.CrashP99MS[1]), ms(p.CrashP99MS[2])), p.CrashP99MS[0])
		}
		if p.Preset != "" {
			is += "; preset " + p.Preset
		}
		class := ""
		if p == r.chosen() {
			lease.Mark, is, class = document.Strong, r.chosenName()+", "+is, "here"
		}
		row := document.Cells(lease, sorted(duration(p.RenewMS), p.RenewMS), sorted(duration(p.RetryMS), p.RetryMS), sorted(duration(p.RequestTimeoutMS), p.RequestTimeoutMS), p50, p99,
			sorted(fmt.Sprintf("%s (%s to %s)", rare(p.NeedlessYear), rare(p.NeedlessLow), rare(p.NeedlessHigh)), p.NeedlessYear),
			sorted(rare(p.ByNetwork), p.ByNetwork), sorted(rare(p.ByPauses), p.ByPauses), sorted(rare(p.ByOutages), p.ByOutages), ms(p.CommandsMinute), is)
		row.Class = class
		t.Rows = append(t.Rows, row)
	}
	return t
}

// inShort reports whether the point meets what is wanted, and else whether it is on the front.
func (r *Tuning) inShort(p *TunedPoint) string {
	switch {
	case !p.Known:
		return "nobody leads for long enough"
	case len(p.Misses) > 0:
		return "misses " + strings.Join(p.Misses, " and ")
	case p.Front:
		return "on the front"
	case r.better(p) == nil:
		return "on the front within 5 %"
	default:
		return "off the front"
	}
}

const tuningHead = "| network | settings | lease | renew | retry | time-out | after a crash p50 ms | p99 ms | needless a year | requests a minute | |\n" +
	"| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n"

// TuningTable returns a table of what is recommended in this network, and of how the elector's
// presets stand in it. Rows of other networks stay as they are in before, which is an earlier
// table or nothing.
func TuningTable(r *Tuning, before []byte) []byte {
	var own bytes.Buffer
	row := func(p *TunedPoint, name, note string) {
		fmt.Fprintf(&own, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", document.Escape(r.Network), name, duration(p.LeaseMS), duration(p.RenewMS), duration(p.RetryMS), duration(p.RequestTimeoutMS),
			ms(p.CrashP50MS[0]), ms(p.CrashP99MS[0]), rare(p.NeedlessYear), ms(p.CommandsMinute), note)
	}
	if p := r.chosen(); r.Best > 0 {
		row(p, "**recommended**", "")
	}
	for i := range r.Points {
		if p := &r.Points[i]; p.Preset != "" && p.Known {
			row(p, "`"+p.Preset+"`", r.inShort(p))
		}
	}
	out := []byte(tuningHead)
	placed := false
	for line := range strings.Lines(string(before)) {
		switch {
		case strings.HasPrefix(line, "| "+document.Escape(r.Network)+" |"):
			if !placed {
				out, placed = append(out, own.Bytes()...), true
			}
		case strings.HasPrefix(line, "| ") && !strings.Contains(tuningHead, line):
			out = append(out, line...)
		}
	}
	if !placed {
		out = append(out, own.Bytes()...)
	}
	return out
}

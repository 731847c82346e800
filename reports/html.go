package reports

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"slices"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/reports/document"
)

//go:embed assets
var assets embed.FS

//go:embed report.schema.json
var schema []byte

// maxEventRows bounds the list of events on the page.
const maxEventRows = 300

// shown is what a page shows of a history.
type shown struct {
	closeUp, run, plots, usage, probe, waived, events []document.Block

	listed map[int64]bool // events that have a row to link to
	all    int            // events of the history
}

// show draws and lists what a page shows of a history.
func show(rep *Report, h *history.History, r *checker.Result) (*shown, error) {
	s := &shown{all: len(h.Events)}
	guilty := guiltyEvents(rep.withVerdict(checker.Fail))
	run, err := laidOut(layOut("run", h, r, guilty, 0, r.End, false), "What the store held, who believed to lead, and which faults were on", len(guilty) > 0)
	if err != nil {
		return nil, err
	}
	s.run = []document.Block{run}
	if from, to, ok := closeUp(h, r, guilty); ok {
		near, err := laidOut(layOut("close", h, r, guilty, from, to, true), "Around the guilty events", false)
		if err != nil {
			return nil, err
		}
		s.closeUp = []document.Block{document.For(document.Page, near)}
	}
	if s.plots, err = plots(rep); err != nil {
		return nil, err
	}
	if s.usage, err = usagePlots(rep, h); err != nil {
		return nil, err
	}
	if s.probe, err = probePlots(h); err != nil {
		return nil, err
	}
	var events []EventRef
	events, s.listed = notable(h, rep, guilty)
	s.events = []document.Block{eventList(events, guilty, len(h.Events))}
	s.waived = waived(rep, h)
	return s, nil
}

// pictures are figures beside each other, if there are any.
func pictures(all []document.Figure) []document.Block {
	if len(all) == 0 {
		return nil
	}
	return []document.Block{document.Figures{Wide: true, Figures: all}}
}

// waived are the promises that do not apply in the scenario, and why.
func waived(rep *Report, h *history.History) []document.Block {
	var all document.List
	for _, name := range checker.Promises {
		named := func(f Promise) bool { return f.Promise == name }
		if slices.ContainsFunc(rep.Measured, named) {
			continue // says so itself
		}
		if why := h.Header.Waived[string(name)]; why != "" {
			all = append(all, document.Text{{Words: string(name), Mark: document.Strong}, {Words: ": " + Redact(why)}})
		}
	}
	if len(all) == 0 {
		return nil
	}
	return []document.Block{all}
}

// eventList lists events of a history that has so many. Their times lead to the drawing.
func eventList(events, guilty []EventRef, all int) document.Details {
	t := eventTable(events, false)
	t.Look = "events long"
	for i, e := range events {
		row := &t.Rows[i]
		row.ID = fmt.Sprintf("e%d", e.Seq)
		row.Cells[1] = document.Text{{Words: atSeconds(e.AtMS), Link: "#run", Data: e.AtMS}}
		if slices.ContainsFunc(guilty, func(g EventRef) bool { return g.Seq == e.Seq }) {
			row.Class = "guilty"
		}
	}
	title := fmt.Sprintf("The %s that tell the story, of %s", thousands(len(events)), thousands(all))
	if len(events) == all {
		title = "All " + plural(all, "event")
	}
	return document.Details{Title: title, ID: "event-list", Blocks: []document.Block{t}}
}

// laidOut is a drawing as a part of a page; whole ones have a legend.
func laidOut(d *drawing, caption string, guilty bool) (document.Raw, error) {
	t, err := template.ParseFS(assets, "assets/drawing.tmpl")
	if err != nil {
		return "", fmt.Errorf("reports: drawing: %w", err)
	}
	var out bytes.Buffer
	if err := t.ExecuteTemplate(&out, "drawing", map[string]any{"D": d, "Caption": caption, "Legend": d.ID == "run", "Guilty": guilty}); err != nil {
		return "", fmt.Errorf("reports: drawing: %w", err)
	}
	return document.Raw(out.String()), nil
}

// asset is a script of the pages.
func asset(name string) template.JS {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return template.JS(text)
}

// guiltyEvents are the events that broken promises name, each once.
func guiltyEvents(broken []Promise) []EventRef {
	var out []EventRef
	for _, p := range broken {
		for _, e := range p.Events {
			if !slices.ContainsFunc(out, func(o EventRef) bool { return o.Seq == e.Seq }) {
				out = append(out, e)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b EventRef) int { return int(a.Seq - b.Seq) })
	return out
}

// closeUp is the part of the run around the guilty events, if it is worth a
// drawing of its own. Where two candidates believed, it is that time: the
// belief itself may have begun long before.
func closeUp(h *history.History, r *checker.Result, guilty []EventRef) (from, to time.Duration, ok bool) {
	if len(guilty) == 0 {
		return 0, 0, false
	}
	from, to = r.End, 0
	for _, g := range guilty {
		from, to = min(from, g.at()), max(to, g.at())
	}
	if begin, end, found := guiltyOverlap(h, r, guilty); found {
		near := h.Header.Lease / 2
		from, to = max(from, begin-near), max(end, min(to, end+near))
	}
	margin := max((to-from)*2/5, h.Header.Lease/10, time.Millisecond)
	from, to = max(0, from-margin), min(r.End, to+margin)
	return from, to, to > from && to-from < r.End*6/10
}

// guiltyOverlap is the first time of dual belief that a guilty event begins,
// ends, or lies in.
func guiltyOverlap(h *history.History, r *checker.Result, guilty []EventRef) (from, to time.Duration, ok bool) {
	for _, o := range overlaps(r.Terms, h.Header.ClockError) {
		for _, g := range guilty {
			if at := g.at(); at >= o.from-time.Microsecond && at <= o.to+time.Microsecond {
				return o.from, o.to, true
			}
		}
	}
	return 0, 0, false
}

// plots are the distributions of the failovers.
func plots(r *Report) ([]document.Block, error) {
	var total, excess []float64
	for _, f := range r.Failovers {
		total, excess = append(total, f.TotalMS), append(excess, f.ExcessMS)
	}
	if len(total) == 0 {
		return nil, nil
	}
	whole, err := ecdf("Empirical distribution of the total time of failovers, in milliseconds", total, 0)
	if err != nil {
		return nil, err
	}
	rest, err := ecdf("Empirical distribution of the excess of failovers, in milliseconds", excess, r.FailoverBoundMS)
	if err != nil {
		return nil, err
	}
	note := "what no elector may skip is taken off"
	switch bound := r.FailoverBoundMS; {
	case inSight(bound, excess):
		note = "the bound, dashed, is " + ms(bound) + " ms"
	case bound > 0:
		note = "the bound, " + ms(bound) + " ms, lies further to the right"
	}
	return pictures([]document.Figure{{Name: "Total", Note: "share of failovers that took at most so long", SVG: whole}, {Name: "Excess", Note: note, SVG: rest}}), nil
}

// notable are the events that the page lists: the guilty ones, then faults,
// then what failovers rest on, then changes of belief and of processes, as far
// as there is room; in the order of the history.
func notable(h *history.History, r *Report, guilty []EventRef) ([]EventRef, map[int64]bool) {
	shown := map[int64]bool{}
	take := func(seq int64) {
		if len(shown) < maxEventRows {
			shown[seq] = true
		}
	}
	for _, g := range guilty {
		take(g.Seq)
	}
	for _, p := range r.withVerdict(checker.Unknown) {
		for _, e := range p.Events {
			take(e.Seq)
		}
	}
	for _, kinds := range [][]history.Kind{{history.Fault, history.Healed}, nil, {history.Elected, history.Deposed}, {history.Exit, history.Start}, {history.Note}} {
		if kinds == nil {
			for _, f := range r.Failovers {
				for _, seq := range f.Evidence {
					take(seq)
				}
			}
			continue
		}
		for i := range h.Events {
			if slices.Contains(kinds, h.Events[i].Kind) && h.Events[i].Usage == nil && (h.Events[i].Probe == nil || h.Events[i].Probe.Stopped) {
				take(h.Events[i].Seq)
			}
		}
	}
	var out []EventRef
	for i := range h.Events {
		if shown[h.Events[i].Seq] {
			out = append(out, reference(&h.Events[i]))
		}
	}
	return out, shown
}

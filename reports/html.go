package reports

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
)

//go:embed assets
var assets embed.FS

//go:embed report.schema.json
var schema []byte

// maxFailoverRows and maxEventRows bound the tables of the page.
const (
	maxFailoverRows = 200
	maxEventRows    = 300
)

// page is what report.html is made from.
type page struct {
	Report    *Report
	Style     template.CSS
	Script    template.JS
	ScriptSum string

	Headline  string
	Broken    []Promise
	Undecided []Promise
	CloseUp   *drawing
	Run       *drawing
	Key       []keyFigure
	Quantiles []quantileRow
	Plots     []plotView
	Usage     []plotView
	Probe     []plotView
	Failovers []Failover
	MoreFails int
	Events    []EventRef
	AllEvents int
	Waived    []figure
	Shown     map[int64]bool // events that have a row to link to
	Guilty    map[int64]bool
	Logs      []string // files beside the standard ones
	Idle      int      // faults without effect
}

// keyFigure is one of the few numbers at the top of the page.
type keyFigure struct {
	Name, Value, Unit, Note string
	Bad                     bool
}

type plotView struct {
	Name string
	Note string
	SVG  template.HTML
}

// HTML returns report.html: one file that needs no network, no fonts and no
// scripts from elsewhere, and that can be read with scripts switched off. Its
// size is bounded whatever the length of the history; what is left out is said.
func HTML(rep *Report, h *history.History, r *checker.Result) ([]byte, error) {
	p := page{Report: rep, Headline: headline(rep), AllEvents: len(h.Events), Key: keyFigures(rep)}
	p.Broken, p.Undecided = rep.withVerdict(checker.Fail), rep.withVerdict(checker.Unknown)
	guilty := guiltyEvents(p.Broken)
	p.Guilty = map[int64]bool{}
	for _, g := range guilty {
		p.Guilty[g.Seq] = true
	}
	p.Run = layOut("run", h, r, guilty, 0, r.End, false)
	if from, to, ok := closeUp(h, r, guilty); ok {
		p.CloseUp = layOut("close", h, r, guilty, from, to, true)
	}
	p.Quantiles = quantileRows(rep)
	p.Failovers = rep.Failovers[:min(len(rep.Failovers), maxFailoverRows)]
	p.MoreFails = len(rep.Failovers) - len(p.Failovers)
	p.Events, p.Shown = notable(h, rep, guilty)
	for _, name := range checker.Promises {
		named := func(f Promise) bool { return f.Promise == name }
		if slices.ContainsFunc(rep.Measured, named) {
			continue // says so itself
		}
		if why := h.Header.Waived[string(name)]; why != "" {
			p.Waived = append(p.Waived, figure{string(name), Redact(why)})
		}
	}
	p.Logs = slices.DeleteFunc(slices.Clone(rep.Files), func(name string) bool { return slices.Contains(standardFiles(), name) })
	for _, f := range rep.Faults {
		p.Idle += f.Injected - f.Effective
	}
	var err error
	if p.Plots, err = plots(rep); err != nil {
		return nil, err
	}
	if p.Usage, err = usagePlots(rep, h); err != nil {
		return nil, err
	}
	if p.Probe, err = probePlots(h); err != nil {
		return nil, err
	}
	return render("report.html", "lanes.js", &p, &p.Style, &p.Script, &p.ScriptSum)
}

// render executes a page's template with the style and a script of the assets put in. The
// page's own security policy admits this one script, by its hash.
func render(name, scriptFile string, data any, style *template.CSS, script *template.JS, sum *string) ([]byte, error) {
	css, err := assets.ReadFile("assets/style.css")
	if err != nil {
		return nil, fmt.Errorf("reports: %s: %w", name, err)
	}
	js, err := assets.ReadFile("assets/" + scriptFile)
	if err != nil {
		return nil, fmt.Errorf("reports: %s: %w", name, err)
	}
	hash := sha256.Sum256(js)
	*style, *script, *sum = template.CSS(css), template.JS(js), base64.StdEncoding.EncodeToString(hash[:])
	t, err := template.New(name).Funcs(functions()).ParseFS(assets, "assets/*.tmpl")
	if err != nil {
		return nil, fmt.Errorf("reports: %s: %w", name, err)
	}
	var out bytes.Buffer
	if err := t.ExecuteTemplate(&out, name, data); err != nil {
		return nil, fmt.Errorf("reports: %s: %w", name, err)
	}
	return out.Bytes(), nil
}

func functions() template.FuncMap {
	return template.FuncMap{
		"ms": ms, "rare": rare, "duration": duration, "at": atSeconds, "percent": percent, "thousands": thousands, "plural": plural,
		"word": verdictWord, "meaning": meaning, "circumstances": circumstances, "headline": headline, "quantileNote": quantileNote, "uninjected": uninjected, "sentence": sentence,
		"has":     func(r *Report, file string) bool { return slices.Contains(r.Files, file) },
		"path":    relative,
		"orLeast": Quantile.orLeast,
		"drawing": func(d *drawing, caption string) map[string]any {
			return map[string]any{"D": d, "Caption": caption}
		},
	}
}

// relative is a link to a file beside the page, whatever its name holds. The
// leading "./" keeps a name with a colon from being read as a scheme.
func relative(path string) string {
	var out strings.Builder
	out.WriteString("./")
	for _, b := range []byte(path) {
		switch {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9', strings.IndexByte("-_.~/", b) >= 0:
			out.WriteByte(b)
		default:
			fmt.Fprintf(&out, "%%%02X", b)
		}
	}
	return out.String()
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

func keyFigures(r *Report) []keyFigure {
	out := []keyFigure{{Name: "Failover", Value: "–", Note: "none in this run"}, {Name: "Longest failover", Value: "–", Note: "none in this run"}}
	if q := r.FailoverMS; q.Count > 0 {
		out[1] = keyFigure{Name: "Longest failover", Value: ms(q.Max), Unit: "ms", Note: fmt.Sprintf("of %d; excess at most %s ms", q.Count, ms(r.ExcessMS.Max))}
		out[0] = keyFigure{Name: "Shortest failover", Value: ms(q.Min), Unit: "ms", Note: fmt.Sprintf("of %d: too few for a median", q.Count)}
		if q.P50.Bounded {
			out[0] = keyFigure{Name: "Failover p50", Value: ms(q.P50.Value), Unit: "ms", Note: fmt.Sprintf("of %d; %s to %s", q.Count, ms(q.P50.Low), ms(q.P50.High))}
		}
		if q.P99.Bounded {
			out[1] = keyFigure{Name: "Failover p99", Value: ms(q.P99.Value), Unit: "ms", Note: fmt.Sprintf("of %d; %s to %s", q.Count, ms(q.P99.Low), ms(q.P99.High))}
		}
	}
	return append(out,
		keyFigure{Name: "Two leaders", Value: ms(r.DualBeliefMS), Unit: "ms", Note: "time of dual belief", Bad: r.DualBeliefMS > r.ClockErrorMS},
		keyFigure{Name: "Availability", Value: percent(r.Availability), Note: joined("no leader for "+ms(r.LeaderlessMS)+" ms", meant(r))},
		keyFigure{Name: "Stale writes", Value: thousands(r.Writes.StaleAccepted), Note: fmt.Sprintf("%s accepted, %s refused", thousands(r.Writes.Accepted), thousands(r.Writes.Refused)), Bad: r.Writes.StaleAccepted > 0},
	)
}

func plots(r *Report) ([]plotView, error) {
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
	return []plotView{{"Total", "share of failovers that took at most so long", whole}, {"Excess", note, rest}}, nil
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

package reports

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/reports/document"
)

// Rows that tables of failovers have. A page lists more than Markdown does.
const (
	maxRows         = 50
	maxFailoverRows = 200
)

//go:embed assets/how.html
var howToRead string

// Document is what a run's report says, for report.html and report.md. The page of a document
// without a history and its result, which may be nil, has no drawings and lists no events. The
// size of the page is bounded whatever the length of the history; what is left out is said.
func (r *Report) Document(h *history.History, result *checker.Result) (*document.Document, error) {
	d := &document.Document{Title: or(r.Scenario, "run"), About: r.Scenario + " · " + r.Subject, Verdict: r.Verdict, Script: asset("lanes.js")}
	s := &shown{}
	if h != nil {
		var err error
		if s, err = show(r, h, result); err != nil {
			return nil, err
		}
	}
	d.Add("", document.Written, document.Styled(document.Headline, headline(r)), document.Styled(document.Muted, circumstances(r)))
	title, broken := "What is undecided", r.cases(checker.Fail, true)
	if len(broken) > 0 {
		title = "What was broken"
	}
	d.Add(title, document.Written, slices.Concat(broken, s.closeUp, r.cases(checker.Unknown, true))...)
	d.Add("", document.Page, keyFigures(r))
	d.Add("The run", document.Page, s.run...)
	d.Add("Failovers", document.Written, r.failoverBlocks(s)...)
	d.Add("Promises", document.Written, append([]document.Block{promiseTable(r.Promises)}, r.leaseBlocks()...)...)
	if len(r.Measured) > 0 {
		d.Add("Measured only", document.Written, document.For(document.Page, document.Styled(document.Muted, "Judged like the others, without a say in the verdict.")), promiseTable(r.Measured))
	}
	d.Add("Does not apply in this scenario", document.Page, s.waived...)
	d.Add("Figures", document.Written, r.figureBlocks()...)
	d.Add("The Redis that others use", document.Written, r.probeBlocks(s)...)
	d.Add("What the processes consumed", document.Written, r.usageBlocks(s)...)
	d.Add("Repeat the run", document.Written, r.repeatBlocks(s)...)
	d.Add("Events", document.Page, s.events...)
	d.Add("How to read this", document.Page, document.Raw(howToRead))
	return d, nil
}

// cases are the promises that came out as v, with their events; linked ones lead to the page's
// list of events.
func (r *Report) cases(v checker.Verdict, linked bool) (all []document.Block) {
	for _, p := range r.withVerdict(v) {
		c := document.Case{Verdict: v, Title: string(p.Promise) + " is " + verdictWord(v), Reason: sentence(p.Reason)}
		if says := meaning(p.Promise); says != "" {
			c.Blocks = append(c.Blocks, document.For(document.Written, document.Styled(document.Quote, "The promise: "+says)))
		}
		if len(p.Events) > 0 {
			c.Blocks = append(c.Blocks, eventTable(p.Events, linked))
		}
		all = append(all, c)
	}
	return all
}

// eventTable lists events; linked ones lead to the page's list of events.
func eventTable(events []EventRef, linked bool) document.Table {
	t := document.Table{Look: "events", Brief: 2, HeadLess: true, Columns: slices.Concat(document.Right("event", "time"), document.Left("node", "kind"), document.Right("token"), document.Left("what happened"))}
	t.Columns[5].Fit = document.End
	for _, e := range events {
		number, token := document.Text{{Words: "#", In: document.Terminal}, {Words: fmt.Sprint(e.Seq)}}, document.Text{}
		if linked {
			number[1].Link = fmt.Sprintf("#e%d", e.Seq)
		}
		if e.Token != 0 {
			token = document.Text{{Words: "token ", In: document.Terminal}, {Words: fmt.Sprint(e.Token)}}
		}
		t.Rows = append(t.Rows, document.Cells(number, atSeconds(e.AtMS), e.Node, e.Kind, token, e.Text))
	}
	return t
}

// failoverBlocks are the quantiles of the failovers, and the failovers one by one.
func (r *Report) failoverBlocks(s *shown) []document.Block {
	if r.FailoverMS.Count == 0 {
		return []document.Block{document.Para("None: no leader was lost and followed by another in this run.")}
	}
	t := document.Table{
		Look: "fit quantiles", Caption: "Milliseconds. Excess is what is left after the wait that no elector may skip. " + quantileNote(),
		Columns: append(document.Left("part"), document.Right("count", "min", "p50", "p90", "p99", "max")...),
	}
	for _, row := range quantileRows(r) {
		if q := row.Q; q.Count > 0 {
			name := document.Text{{Words: row.Name}, {Words: row.Note, Mark: document.Line, In: document.Page}}
			cells := document.Cells(name, fmt.Sprint(q.Count), ms(q.Min), q.P50.Interval(), q.P90.Interval(), q.P99.Interval(), ms(q.Max))
			if row.Name == "total" || row.Name == "excess" {
				cells.Class = "sum"
			}
			t.Rows = append(t.Rows, cells)
		}
	}
	if len(r.Failovers) == 0 {
		return []document.Block{t, document.Para("They are not listed one by one: the history was judged as it grew, and not kept.")}
	}
	title := "The failover"
	if n := len(r.Failovers); n > 1 {
		title = fmt.Sprintf("All %s failovers", thousands(n))
	}
	folded := document.Details{Title: title, Open: len(r.Failovers) < 13, Blocks: r.listed(maxFailoverRows, s.listed)}
	return []document.Block{t, document.For(document.Page, s.plots...), document.For(document.Page, folded), document.For(document.Markdown, r.listed(maxRows, nil)...)}
}

// listed are the first failovers, and how many there are besides.
func (r *Report) listed(most int, linked map[int64]bool) []document.Block {
	t := document.Table{Look: "failovers", Columns: slices.Concat(document.Right("at"), document.Left("cause", "from → to"), document.Right("wait", "detect", "acquire", "announce", "total", "excess"), document.Left("events"))}
	t.Columns[9].In = document.Page
	for _, f := range r.Failovers[:min(len(r.Failovers), most)] {
		var evidence document.Text
		for i, seq := range f.Evidence {
			if i > 0 {
				evidence = append(evidence, document.Span{Words: ", "})
			}
			number := document.Span{Words: fmt.Sprint(seq)}
			if linked[seq] {
				number.Link = fmt.Sprintf("#e%d", seq)
			}
			evidence = append(evidence, number)
		}
		t.Rows = append(t.Rows, document.Cells(atSeconds(f.AtMS), f.Fault, f.From+" → "+f.To, ms(f.WaitMS), ms(f.DetectMS), ms(f.AcquireMS), ms(f.AnnounceMS), ms(f.TotalMS), ms(f.ExcessMS), evidence))
	}
	if more := len(r.Failovers) - len(t.Rows); more > 0 {
		return []document.Block{t, document.Para(thousands(more) + " more are in report.json.")}
	}
	return []document.Block{t}
}

// quantileRow is one line of the table of quantiles.
type quantileRow struct {
	Name string
	Note string
	Q    Quantiles
}

func quantileRows(r *Report) []quantileRow {
	return []quantileRow{
		{"total", "from the old leader's end to the new one's first accepted write", r.FailoverMS},
		{"wait", "the old lease still had to run: no elector may skip it", r.Parts.Wait},
		{"detect", "until the successor sent the request that was granted", r.Parts.Detect},
		{"acquire", "until it had the answer", r.Parts.Acquire},
		{"announce", "until the resource accepted its first write", r.Parts.Announce},
		{"excess", "total less wait: what the elector is to blame for", r.ExcessMS},
	}
}

// promiseTable has a row for each promise.
func promiseTable(promises []Promise) document.Table {
	t := document.Table{Look: "promises", Columns: document.Left("promise", "verdict", "reason"), Empty: "None was asked for, so nothing was decided."}
	for _, p := range promises {
		reason := document.Words(p.Reason)
		if p.Why != "" {
			reason = document.Words(strings.TrimSpace(p.Reason + " (no say: " + p.Why + ")"))
		}
		reason = append(reason, document.Span{Words: meaning(p.Promise), Mark: document.Line, In: document.Page})
		row := document.Cells(string(p.Promise), document.Of(p.Verdict), reason)
		row.Class = p.Verdict.String()
		t.Rows = append(t.Rows, row)
	}
	return t
}

// leaseBlocks are the three checks of the lease.
func (r *Report) leaseBlocks() []document.Block {
	if r.Lease == nil {
		return nil
	}
	t := document.Table{Look: "promises", Columns: document.Left("check", "verdict", "reason")}
	for _, c := range []struct {
		name string
		checker.Finding
	}{{"intervals", r.Lease.Intervals}, {"the store's own order", r.Lease.StoreOrder}, {"porcupine", r.Lease.Porcupine}} {
		t.Rows = append(t.Rows, document.Cells(c.name, document.Of(c.Verdict), sentence(c.Reason)))
	}
	const note = "LeaseLinearizable is decided three times. Where two of the checks disagree, the harness is wrong and the verdict is unknown."
	return []document.Block{document.For(document.Page, document.Details{Title: "Three independent checks of the lease", Blocks: []document.Block{document.Styled(document.Muted, note), t}})}
}

// figureBlocks are the figures and settings of the run, and its faults.
func (r *Report) figureBlocks() []document.Block {
	all := document.Table{Look: "fit", Columns: document.Left("figure", "value")}
	for _, f := range append(figures(r), settings(r)...) {
		row := document.Cells(f.Name, f.Value)
		if f.Bad {
			row.Class = "fail"
		}
		all.Rows = append(all.Rows, row)
	}
	faults := document.Table{Look: "fit", Columns: append(document.Left("fault"), document.Right("injected", "effective")...), Empty: "No fault was injected."}
	idle := 0
	for _, f := range r.Faults {
		row := document.Cells(joined(f.Name, uninjected(f.Name)), fmt.Sprint(f.Injected), fmt.Sprint(f.Effective))
		if f.Effective < f.Injected {
			row.Class = "unknown"
		}
		faults.Rows = append(faults.Rows, row)
		idle += f.Injected - f.Effective
	}
	if idle > 0 {
		return []document.Block{all, faults, document.Para(plural(idle, "fault") + " did not show an effect: what the run says about them is worth nothing.")}
	}
	return []document.Block{all, faults}
}

// figure is a named value.
type figure struct {
	Name, Value string
	Bad         bool
}

func figures(r *Report) []figure {
	all := []figure{
		{Name: "more than one leader", Value: ms(r.DualBeliefMS) + " ms"},
		{Name: "no leader", Value: ms(r.LeaderlessMS) + " ms"},
		{Name: "availability", Value: joined(percent(r.Availability), meant(r))},
		{Name: "terms", Value: thousands(r.Terms)},
		{Name: "writes accepted", Value: thousands(r.Writes.Accepted)},
		{Name: "writes refused", Value: thousands(r.Writes.Refused)},
		{Name: "stale writes accepted", Value: thousands(r.Writes.StaleAccepted), Bad: r.Writes.StaleAccepted > 0},
		{Name: "operations ok", Value: thousands(r.Ops.Ok)},
		{Name: "operations refused", Value: thousands(r.Ops.Fail)},
		{Name: "operations of unknown outcome", Value: thousands(r.Ops.Info)},
		{Name: "events recorded", Value: thousands(r.Events)},
	}
	if r.Pieces > 0 {
		all = append(all, figure{Name: "histories that they were judged in", Value: thousands(r.Pieces)}, figure{Name: "events of the longest history", Value: thousands(r.Longest)})
	}
	return all
}

// settings are those of the run that its circumstances do not name.
func settings(r *Report) (all []figure) {
	for _, s := range []struct {
		name  string
		value float64
	}{{"renewed every", r.RenewMS}, {"retried every", r.RetryMS}, {"bound of a failover's excess", r.FailoverBoundMS}, {"bound of a leader's return", r.ReturnBoundMS}} {
		if s.value != 0 {
			all = append(all, figure{Name: s.name, Value: ms(s.value) + " ms"})
		}
	}
	return append(all, figure{Name: "tolerated drift", Value: fmt.Sprintf("%d ppm", r.DriftPPM)}, figure{Name: "error of the clocks", Value: ms(r.ClockErrorMS) + " ms"})
}

// probeBlocks are what a connection around all faults saw.
func (r *Report) probeBlocks(s *shown) []document.Block {
	if r.Probe == nil {
		return nil
	}
	return []document.Block{document.Styled(document.Prose, r.Probe.Sentence()), document.For(document.Page, s.probe...)}
}

// usageBlocks are what the processes consumed.
func (r *Report) usageBlocks(s *shown) []document.Block {
	if r.Usage == nil {
		return nil
	}
	t := document.Table{Look: "fit", Columns: slices.Concat(document.Left("process", "figure"), document.Right("start", "end", "most", "growth an hour"), document.Left("grows"))}
	own := r.Usage.Harness
	own.Node = "harness"
	for _, p := range append(slices.Clone(r.Usage.Candidates), own) {
		for _, l := range p.Figures {
			row := document.Cells(p.Node, l.Words(), l.At(l.Start), l.At(l.End), l.At(l.Max), l.Growth())
			if l.Grows {
				row.Class = "unknown"
				row.Cells = append(row.Cells, document.Text{{Words: "yes", Mark: document.Strong}})
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return []document.Block{document.Paras(document.Prose, r.Usage.Sentences()), document.For(document.Page, s.usage...), document.Details{Title: "Every process", Blocks: []document.Block{t}}}
}

// repeatBlocks are the command that repeats the run, and the files beside the page.
func (r *Report) repeatBlocks(s *shown) (blocks []document.Block) {
	if r.Repro != "" {
		blocks = append(blocks, document.Command{Lines: r.Repro})
	} else {
		blocks = append(blocks, document.For(document.Page, document.Para("The history names no command that repeats it.")))
	}
	var files document.List
	for _, f := range []struct{ name, is string }{
		{"lease.html", "every operation on the lease, as porcupine sees it"},
		{"history.jsonl", "all that was recorded: " + plural(s.all, "event")},
		{"report.json", "this report for programs"},
	} {
		if slices.Contains(r.Files, f.name) {
			files = append(files, document.Text{{Words: f.name, Link: f.name}, {Words: " " + f.is}})
		} else if f.name == "lease.html" {
			files = append(files, document.Words("No lease.html: the history has no operations on the lease, or is not well-formed."))
		}
	}
	for _, name := range r.Files {
		if !slices.Contains(standardFiles(), name) {
			files = append(files, document.Text{{Words: name, Link: name}})
		}
	}
	return append(blocks, document.For(document.Page, files))
}

// keyFigures are the few numbers at the top of the page.
func keyFigures(r *Report) document.Numbers {
	out := document.Numbers{{Name: "Failover", Value: "–", Note: "none in this run"}, {Name: "Longest failover", Value: "–", Note: "none in this run"}}
	if q := r.FailoverMS; q.Count > 0 {
		out[1] = document.Number{Name: "Longest failover", Value: ms(q.Max), Unit: "ms", Note: fmt.Sprintf("of %d; excess at most %s ms", q.Count, ms(r.ExcessMS.Max))}
		out[0] = document.Number{Name: "Shortest failover", Value: ms(q.Min), Unit: "ms", Note: fmt.Sprintf("of %d: too few for a median", q.Count)}
		if q.P50.Bounded {
			out[0] = document.Number{Name: "Failover p50", Value: ms(q.P50.Value), Unit: "ms", Note: fmt.Sprintf("of %d; %s to %s", q.Count, ms(q.P50.Low), ms(q.P50.High))}
		}
		if q.P99.Bounded {
			out[1] = document.Number{Name: "Failover p99", Value: ms(q.P99.Value), Unit: "ms", Note: fmt.Sprintf("of %d; %s to %s", q.Count, ms(q.P99.Low), ms(q.P99.High))}
		}
	}
	return append(out,
		document.Number{Name: "Two leaders", Value: ms(r.DualBeliefMS), Unit: "ms", Note: "time of dual belief", Bad: r.DualBeliefMS > r.ClockErrorMS},
		document.Number{Name: "Availability", Value: percent(r.Availability), Note: joined("no leader for "+ms(r.LeaderlessMS)+" ms", meant(r))},
		document.Number{Name: "Stale writes", Value: thousands(r.Writes.StaleAccepted), Note: fmt.Sprintf("%s accepted, %s refused", thousands(r.Writes.Accepted), thousands(r.Writes.Refused)), Bad: r.Writes.StaleAccepted > 0},
	)
}

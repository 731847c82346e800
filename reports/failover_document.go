package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/checker/quantile"
	"github.com/recount-io/recount/reports/document"
)

// mostLongest is how many failovers of each cell the page lists itself; with scripts it lists
// all of them.
const mostLongest = 3

// FailoversFiles are the names of what lies beside the page, in the order in which it names
// them.
func FailoversFiles() []string {
	return []string{"failovers.md", "failovers.json", "failovers.csv", "failovers.txt", "junit.xml"}
}

// Document is what the measurement says. In Markdown it fits the comment of a pull request. Its
// page lists the longest failovers, and with scripts all of them.
func (r *Failovers) Document() (*document.Document, error) {
	d := &document.Document{Title: "Failovers", About: "failovers", Verdict: r.Verdict, Repeat: Redact(r.Repro), Script: asset("failovers.js"), Last: plural(r.count(), "failover")}
	gates := r.gates()
	table := r.table()
	table.Caption = "Milliseconds without a leader. " + quantileNote()
	d.Add("", 0, document.For(document.Written, gates...), table)
	d.Add("", 0, document.For(document.Terminal, document.Paras(document.Prose, r.besides())), document.Paras(document.Prose, r.settings()), document.Paras(document.Prose, r.notes()),
		document.For(document.Terminal, gates...), document.For(document.Written, document.Styled(document.Muted, r.circumstances())))
	for _, cause := range r.causes() {
		if err := r.addPanel(d, cause); err != nil {
			return nil, err
		}
	}
	d.Add("All figures", document.Page, r.figures())
	if contrasts := r.contrastTable(); len(contrasts.Rows) > 0 {
		d.Add("Beside each other", document.Written, contrasts)
	}
	const pager = `<p class="tools" id="pages" hidden><button type="button" data-step="-1">before</button><button type="button" data-step="1">next</button><output class="readout"></output></p>`
	d.Add("Every failover", document.Page, r.longest(), document.Raw(pager))
	d.Add("Files, and how to repeat it", document.Page, filesList(FailoversFiles()))
	if d.Repeat != "" {
		d.Add("", document.Written, document.Command{Lines: d.Repeat})
	}
	var err error
	d.Data, err = r.rows()
	return d, err
}

// filesList are links to files beside a page.
func filesList(names []string) (all document.List) {
	for _, name := range names {
		all = append(all, document.Text{{Words: name, Link: name}})
	}
	return all
}

// FailoversTable returns the table of failovers.md, how it was measured, and the command that
// repeats it: for a part of a Markdown file.
func FailoversTable(r *Failovers) []byte {
	blocks := []document.Block{r.table(), document.Para(quantileNote() + " Measured in the " + r.circumstances())}
	if r.Repro != "" {
		blocks = append(blocks, document.Command{Lines: Redact(r.Repro)})
	}
	return document.MarkdownOf(blocks...)
}

// count is how many failovers there are in all cells.
func (r *Failovers) count() (total int) {
	for _, c := range r.Cells {
		total += c.TotalMS.Count
	}
	return total
}

// gates are the conditions and what became of them.
func (r *Failovers) gates() []document.Block {
	if len(r.Gates) == 0 {
		return nil
	}
	var all document.List
	for _, g := range r.Gates {
		all = append(all, document.Text{document.Of(g.Verdict), {Words: " "}, {Words: g.Text, Mark: document.Code}, {Words: ": " + g.Sentence}})
	}
	return []document.Block{all}
}

// table has a row for each cause and elector.
func (r *Failovers) table() document.Table {
	beside := r.Beside()
	if beside != "" {
		beside = "p50, beside " + beside
	}
	columns := slices.Concat(document.Left("after", "elector"), document.Right("count", "p50 ms", "p90 ms", "p99 ms", "longest ms", "excess p50 ms"), document.Left(beside))
	columns[1].Fit = document.Middle
	for i := 6; i < len(columns); i++ {
		columns[i].In = document.Written
	}
	t := document.Table{Columns: columns, Keys: 2}
	for i := range r.Cells {
		c := &r.Cells[i]
		if q := c.TotalMS; q.Count > 0 {
			t.Rows = append(t.Rows, document.Cells(c.Cause, c.Elector, thousands(q.Count), q.P50.orLeast(), q.P90.orLeast(), q.P99.orLeast(), ms(q.Max), c.ExcessMS.P50.orLeast(), r.beside(c)))
		}
	}
	return t
}

// beside says how the cell differs from what it is compared with, in p50 of the total; "" if
// with nothing.
func (r *Failovers) beside(c *FailoverCell) string {
	base, _ := r.base(c)
	if base == nil {
		return ""
	}
	return contrastOf(base, c, metrics[0], .5).Sentence
}

// besides say so in sentences.
func (r *Failovers) besides() (all []string) {
	for i := range r.Cells {
		c := &r.Cells[i]
		base, _ := r.base(c)
		if base == nil || c.TotalMS.Count == 0 {
			continue
		}
		all = append(all, fmt.Sprintf("After %s, %s beside %s: %s (p50).", c.Cause, c.Elector, r.Beside(), r.beside(c)))
		if r.Baseline != nil {
			all = append(all, fmt.Sprintf("Its excess: %s (p50).", contrastOf(base, c, metrics[1], .5).Sentence))
		}
	}
	return all
}

// figures has what the first table leaves out.
func (r *Failovers) figures() document.Table {
	t := document.Table{
		Look:    "sortable",
		Caption: "Milliseconds: p50 of the parts of the total, and p90 of its excess",
		Columns: slices.Concat(document.Left("after", "elector"), document.Right("wait", "detect", "acquire", "announce", "excess p90", "no write p50", "requests a minute", "processor ms a minute, of a candidate", "held up", "unexplained an hour"), document.Left("promises")),
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.TotalMS.Count == 0 {
			continue
		}
		processor := "–"
		if c.ProcessorMSMinute != 0 {
			processor = ms(c.ProcessorMSMinute)
		}
		p := c.Parts
		t.Rows = append(t.Rows, document.Cells(c.Cause, c.Elector, p.Wait.P50.orLeast(), p.Detect.P50.orLeast(), p.Acquire.P50.orLeast(), p.Announce.P50.orLeast(), c.ExcessMS.P90.orLeast(), c.UnservedMS.P50.orLeast(),
			ms(c.RequestsMinute), processor, thousands(c.Stalled), ms(c.UnexplainedHour), verdictWord(c.Verdict)))
	}
	return t
}

// contrastTable compares each cell with its base, in each figure.
func (r *Failovers) contrastTable() document.Table {
	t := document.Table{
		Look:    "sortable",
		Caption: "By a permutation test, of whole runs where either side has eight of them; the interval holds the true difference in 98 of 100 comparisons.",
		Columns: document.Left("after", "elector", "beside", "figure", "it is"),
	}
	for _, c := range r.contrasts() {
		mark := document.None
		if c.Sure {
			mark = document.Strong
		}
		t.Rows = append(t.Rows, document.Cells(c.Cause, c.Other, c.One, c.Figure, document.Span{Words: c.Sentence, Mark: mark, Sort: c.By}))
	}
	return t
}

// longest are the longest failovers of each cell.
func (r *Failovers) longest() document.Table {
	t := document.Table{
		ID:      "all",
		Caption: "The longest of each elector after each cause; milliseconds. The link leads to the run's report and its history",
		Columns: slices.Concat(document.Left("after", "elector"), document.Right("run", "at"), document.Left("from → to"), document.Right("wait", "detect", "acquire", "announce", "total", "excess")),
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		all := slices.Clone(c.Failovers)
		slices.SortStableFunc(all, func(a, b MeasuredFailover) int { return cmp.Compare(b.TotalMS, a.TotalMS) })
		for _, f := range all[:min(len(all), mostLongest)] {
			run := document.Span{Words: fmt.Sprint(r.number(c, &f)), Link: c.Runs[f.Run].page()}
			t.Rows = append(t.Rows, document.Cells(c.Cause, c.Elector, run, atSeconds(f.AtMS), f.From+" → "+f.To, ms(f.WaitMS), ms(f.DetectMS), ms(f.AcquireMS), ms(f.AnnounceMS), ms(f.TotalMS), ms(f.ExcessMS)))
		}
	}
	return t
}

// settings says what another lease would make of the longest wait: the wait for the end of a
// lease grows with it, and the excess does not.
func (r *Failovers) settings() (all []string) {
	for i := range r.Cells {
		c := &r.Cells[i]
		if !c.Parts.Wait.P50.Bounded || c.Parts.Wait.P50.Value < 0.1*r.LeaseMS || c.ExcessMS.P50.Value > 0.05*r.LeaseMS {
			continue // an excess that is a share of the lease may grow with it
		}
		p, often := .99, "99 of 100"
		if c.TotalMS.Count < quantile.Needs(p) {
			p, often = .9, "9 of 10"
		}
		if c.TotalMS.Count < quantile.Needs(p) {
			p, often = .5, "half of all"
		}
		with := func(factor float64) string {
			values := c.values(metric{of: func(f *MeasuredFailover) float64 { return f.WaitMS*factor + f.ExcessMS }})
			slices.Sort(values)
			return fmt.Sprintf("%s ms with a lease of %s", ms(quantile.Of(values, p).Value), duration(r.LeaseMS*factor))
		}
		return append(all, fmt.Sprintf("After %s, %s has a leader again in %s cases after at most %s, and would after about %s and %s, renewed as often in a lease as here: the wait for its end grows with the lease, the rest does not.",
			c.Cause, c.Elector, often, with(1), with(.5), with(2)))
	}
	return all
}

// notes are what a reader has to know besides.
func (r *Failovers) notes() (all []string) {
	if r.Stopped != "" {
		all = append(all, "It ended early: "+r.Stopped+".")
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		who := c.Elector + " after " + c.Cause
		for _, b := range c.Broken {
			all = append(all, fmt.Sprintf("%s: %s is broken in %s: %s", who, b.Name, plural(b.Runs, "run"), sentence(b.Reason)))
		}
		if n, first := c.undecided(); n > 0 {
			all = append(all, fmt.Sprintf("%s: %s not decided, such as that of seed %d: %s", who, plural(n, "run"), first.Seed, sentence(first.Trouble)))
		}
		if c.Why != "" {
			all = append(all, who+": "+sentence(c.Why))
		}
		if c.Stalled > 0 {
			all = append(all, fmt.Sprintf("%s: the machine held up %s, which is in no quantile.", who, plural(c.Stalled, "failover")))
		}
		if c.Unexplained > 0 {
			all = append(all, fmt.Sprintf("%s: %s for which no fault was the cause, %s an hour.", who, plural(c.Unexplained, "change")+" of leader", ms(c.UnexplainedHour)))
		}
	}
	if k := r.Control; k != nil && k.TimerMS.Count > 0 {
		all = append(all, fmt.Sprintf("The machine meanwhile, with %s: a timer was late by %s (n = %d); a PING to a server without faults took %s (n = %d).",
			k.groups(), k.TimerMS.Short(), k.TimerMS.Count, k.PingMS.Short(), k.PingMS.Count))
	}
	return all
}

// undecided is how many runs are, and the first of them.
func (c *FailoverCell) undecided() (n int, first *FailoverRun) {
	for i := range c.Runs {
		if r := &c.Runs[i]; r.Verdict == checker.Unknown {
			if n++; first == nil {
				first = r
			}
		}
	}
	return n, first
}

// circumstances says in one line under what conditions it was measured.
func (r *Failovers) circumstances() string {
	parts := []string{r.World + " world"}
	if r.Redis != "" {
		parts = append(parts, r.Redis)
	}
	parts = append(parts, plural(r.Nodes, "candidate"), "lease "+duration(r.LeaseMS), "renewed every "+duration(r.RenewMS), "retry "+duration(r.RetryMS), fmt.Sprintf("seed %d", r.Seed), r.Asked)
	if r.TookMS > 0 {
		parts = append(parts, "took "+(time.Duration(r.TookMS)*time.Millisecond).Round(time.Second).String())
	}
	if r.Machine != "" {
		parts = append(parts, r.Machine)
	}
	return strings.Join(parts, " · ")
}

package reports

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/checker/quantile"
)

// FailoversMarkdown returns failovers.md: one page that fits the comment of a pull request.
func FailoversMarkdown(r *Failovers) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Failovers: %s\n\n", r.Verdict)
	for _, g := range r.Gates {
		fmt.Fprintf(&b, "- %s `%s`: %s\n", bold(g.Verdict), g.Text, cell(g.Sentence))
	}
	if len(r.Gates) > 0 {
		b.WriteByte('\n')
	}
	r.table(&b)
	for _, text := range r.settings() {
		fmt.Fprintf(&b, "\n%s\n", cell(text))
	}
	fmt.Fprintf(&b, "\n%s\n", cell(quantileNote()))
	if all := r.contrasts(); len(all) > 0 {
		b.WriteString("\n| after | elector | beside | figure | it is |\n| --- | --- | --- | --- | --- |\n")
		for _, c := range all {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", cell(c.Cause), cell(c.Other), cell(c.One), c.Figure, cell(c.Sentence))
		}
	}
	for _, note := range r.notes() {
		fmt.Fprintf(&b, "\n%s\n", cell(note))
	}
	fmt.Fprintf(&b, "\n%s\n", cell(r.circumstances()))
	if r.Repro != "" {
		fmt.Fprintf(&b, "\n%s", fenced(r.Repro))
	}
	return b.Bytes()
}

// FailoversTable returns the table of failovers.md, how it was measured, and the command that
// repeats it: for a part of a Markdown file.
func FailoversTable(r *Failovers) []byte {
	var b bytes.Buffer
	r.table(&b)
	fmt.Fprintf(&b, "\n%s Measured in the %s\n", cell(quantileNote()), cell(r.circumstances()))
	if r.Repro != "" {
		fmt.Fprintf(&b, "\n%s", fenced(r.Repro))
	}
	return b.Bytes()
}

// table writes a row for each cause and elector.
func (r *Failovers) table(b *bytes.Buffer) {
	beside := r.Beside()
	if beside != "" {
		beside = "p50, beside " + beside
	}
	b.WriteString("| after | elector | failovers | p50 ms | p90 ms | p99 ms | longest ms | excess p50 ms | " + cell(beside) + " |\n")
	b.WriteString("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n")
	for i := range r.Cells {
		c := &r.Cells[i]
		if t := c.TotalMS; t.Count > 0 {
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", cell(c.Cause), cell(c.Elector), thousands(t.Count),
				t.P50.orLeast(), t.P90.orLeast(), t.P99.orLeast(), ms(t.Max), c.ExcessMS.P50.orLeast(), cell(r.beside(c)))
		}
	}
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

// FailoversCSV returns failovers.csv: a line for each failover.
func FailoversCSV(r *Failovers) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	head := []string{"cause", "elector", "run", "seed", "at_ms", "from", "to", "stalled"}
	for _, m := range metrics {
		head = append(head, m.name+"_ms")
	}
	_ = w.Write(head) // to memory: Error tells
	for i := range r.Cells {
		c := &r.Cells[i]
		for k := range c.Failovers {
			f := &c.Failovers[k]
			line := []string{c.Cause, c.Elector, strconv.FormatUint(r.number(c, f), 10), strconv.FormatUint(c.Runs[f.Run].Seed, 10), exact(f.AtMS), f.From, f.To, strconv.FormatBool(f.Stalled)}
			for _, m := range metrics {
				line = append(line, exact(m.of(f)))
			}
			_ = w.Write(line)
		}
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return nil, fmt.Errorf("reports: failovers.csv: %w", err)
	}
	return b.Bytes(), nil
}

// number is that of the failover's run, from 1 on, as its folder has it: runs that were stopped
// have one, too.
func (r *Failovers) number(c *FailoverCell, f *MeasuredFailover) uint64 {
	return c.Runs[f.Run].Seed - r.Seed + 1
}

func exact(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// FailoversBenchmark returns failovers.txt, in the format of Go's benchmarks: a line for
// each failover, so that "benchstat before.txt after.txt" compares two measurements.
// (https://go.dev/design/14313-benchmark-format)
//
// The cause stands last, as benchstat takes a number at the end of a name, "elector-2", for
// that of processors. Blanks and slashes of a name are written as in the path of a URL.
func FailoversBenchmark(r *Failovers) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "world: %s\nlease: %s\nrenew: %s\nretry: %s\nnodes: %d\n\n", r.World, duration(r.LeaseMS), duration(r.RenewMS), duration(r.RetryMS), r.Nodes)
	for i := range r.Cells {
		c := &r.Cells[i]
		for k := range c.Failovers {
			f := &c.Failovers[k]
			if f.Stalled {
				continue
			}
			fmt.Fprintf(&b, "BenchmarkFailover/elector=%s/cause=%s 1", url.PathEscape(c.Elector), url.PathEscape(c.Cause))
			for _, m := range metrics[:3] {
				fmt.Fprintf(&b, " %.0f %s-ns", 1e6*m.of(f), m.name)
			}
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// FailoversJUnit returns junit.xml: a case for each cell, which fails where a promise was
// broken, and one for each gate.
func FailoversJUnit(r *Failovers) ([]byte, error) {
	s := junitSuite{Name: "failovers", Time: junitTime(r.TookMS), Timestamp: r.Started}
	trouble := func(c *junitCase, v checker.Verdict, text string) {
		switch v {
		case checker.Fail:
			c.Failure = &junitTrouble{Message: text}
		case checker.Unknown:
			c.Error = &junitTrouble{Message: text, Type: "undecided"}
		}
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		one := junitCase{Name: c.Cause, Class: "recount.failover." + c.Elector, Time: junitTime(0), Out: c.inShort()}
		if c.TotalMS.Count == 0 && c.Verdict != checker.Fail {
			one.Skipped = &junitTrouble{Message: or(c.Why, "no failover followed")}
		} else {
			var broken []string
			for _, b := range c.Broken {
				broken = append(broken, fmt.Sprintf("%s: %s", b.Name, b.Reason))
			}
			trouble(&one, c.Verdict, or(strings.Join(broken, "; "), "not every run is decided"))
		}
		s.add(one)
	}
	for _, g := range r.Gates {
		name := g.Text
		if g.Elector != "" && !strings.HasPrefix(name, g.Elector+"/") {
			name = g.Elector + "/" + name
		}
		one := junitCase{Name: name, Class: "recount.failover.gate", Time: junitTime(0), Out: g.Sentence}
		trouble(&one, g.Verdict, g.Sentence)
		s.add(one)
	}
	return junitFile(r.TookMS, s)
}

func (c *FailoverCell) inShort() string {
	if c.TotalMS.Count == 0 {
		return c.Why
	}
	return fmt.Sprintf("total %s; excess %s", c.TotalMS.Short(), c.ExcessMS.Short())
}

// FailoversSummary writes what a person wants to see when the measurement has ended.
func FailoversSummary(w io.Writer, r *Failovers, t Terminal) error {
	s := newSummary(t)
	s.line("Milliseconds without a leader, and where the true figure lies:")
	rows := [][]string{{"after", "elector", "n", "p50", "p90", "p99"}}
	for _, c := range r.Cells {
		if q := c.TotalMS; q.Count > 0 {
			rows = append(rows, []string{plain(c.Cause), plain(c.Elector), thousands(q.Count), q.P50.brief(), q.P90.brief(), q.P99.brief()})
		}
	}
	s.columns(rows, 1, 2)
	s.line("")
	for i := range r.Cells {
		if c := &r.Cells[i]; c.TotalMS.Count > 0 {
			if text := r.beside(c); text != "" {
				s.wrap("", fmt.Sprintf("After %s, %s beside %s: %s (p50).", c.Cause, c.Elector, r.Beside(), text))
				if base, _ := r.base(c); r.Baseline != nil {
					s.wrap("", fmt.Sprintf("Its excess: %s (p50).", contrastOf(base, c, metrics[1], .5).Sentence))
				}
			}
		}
	}
	for _, text := range slices.Concat(r.settings(), r.notes()) {
		s.wrap("", text)
	}
	for _, g := range r.Gates {
		s.wrap("", s.paint(g.Verdict, strings.ToUpper(g.Verdict.String()))+"  "+g.Sentence)
	}
	if t.Where != "" || t.Again != "" {
		s.line("")
	}
	s.pointers()
	total := 0
	for _, c := range r.Cells {
		total += c.TotalMS.Count
	}
	s.line(s.paint(r.Verdict, strings.ToUpper(r.Verdict.String())) + "  " + plural(total, "failover"))
	return s.print(w)
}

// brief is Interval or what the quantile is at the least, in few columns.
func (q Quantile) brief() string {
	switch {
	case q.Bounded:
		return fmt.Sprintf("%s (%s–%s)", ms(q.Value), ms(q.Low), ms(q.High))
	case q.Low > 0:
		return "≥ " + ms(q.Low)
	default:
		return "–"
	}
}

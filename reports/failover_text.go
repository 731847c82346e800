package reports

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"io"
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
	for _, a := range r.answers() {
		fmt.Fprintf(&b, "%s\n\n", cell(a))
	}
	for _, g := range r.Gates {
		fmt.Fprintf(&b, "- %s `%s`: %s\n", bold(g.Verdict), g.Text, cell(g.Sentence))
	}
	if len(r.Gates) > 0 {
		b.WriteByte('\n')
	}
	b.WriteString("| after | elector | failovers | total p50 ms | p90 ms | p99 ms | longest ms | excess p50 ms | p90 ms |\n")
	b.WriteString("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, c := range r.Cells {
		if t, e := c.TotalMS, c.ExcessMS; t.Count > 0 {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", cell(c.Cause), cell(c.Elector), thousands(t.Count),
				t.P50.orLeast(), t.P90.orLeast(), t.P99.orLeast(), ms(t.Max), e.P50.orLeast(), e.P90.orLeast())
		}
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

// answers are what whoever asked wants to know first, a sentence each: how long nobody leads,
// whether that has changed, and what another lease would make of it.
func (r *Failovers) answers() (all []string) {
	for _, cause := range r.causes() {
		for i := range r.Cells {
			if c := &r.Cells[i]; c.Cause == cause && c.TotalMS.Count > 0 {
				all = append(all, c.answer())
			}
		}
		for _, c := range r.contrasts() {
			if c.Cause == cause && (c.Figure == "total p50" || c.Figure == "excess p50") {
				all = append(all, fmt.Sprintf("After %s, %s beside %s: %s (p50 of the %s).", cause, c.Other, c.One, c.Sentence, strings.TrimSuffix(c.Figure, " p50")))
			}
		}
	}
	return append(all, r.leases()...)
}

// answer says how long the cell's elector was without a leader.
func (c *FailoverCell) answer() string {
	t := c.TotalMS
	text := fmt.Sprintf("After %s, %s has no leader ", c.Cause, c.Elector)
	switch {
	case !t.P50.Bounded:
		return text + fmt.Sprintf("for %s (%s: too few for a median).", t.Short(), plural(t.Count, "failover"))
	case t.P99.Bounded:
		text += fmt.Sprintf("for %s ms in half of all cases, and for %s ms at most in 99 of 100", t.P50.Interval(), t.P99.Interval())
	case t.P90.Bounded:
		text += fmt.Sprintf("for %s ms in half of all cases, and for %s ms at most in 9 of 10", t.P50.Interval(), t.P90.Interval())
		if t.P99.Low > 0 {
			text += fmt.Sprintf("; p99 of %d: at least %s ms, and %d failovers would bound it", t.Count, ms(t.P99.Low), quantile.Needs(.99))
		}
	default:
		text += fmt.Sprintf("for %s ms in half of all cases, and for %s ms at the longest", t.P50.Interval(), ms(t.Max))
	}
	if wait := c.Parts.Wait; wait.P50.Bounded && wait.P50.Value > 0 {
		text += fmt.Sprintf(". Of that, no elector could skip %s ms (p50); the rest is the excess, %s ms", ms(wait.P50.Value), c.ExcessMS.P50.Interval())
	}
	return text + "."
}

// leases says what another lease would make of the longest wait: the wait for the end of a
// lease grows with it, and the excess does not.
func (r *Failovers) leases() (all []string) {
	for i := range r.Cells {
		c := &r.Cells[i]
		if !c.Parts.Wait.P50.Bounded || c.Parts.Wait.P50.Value < 0.1*r.LeaseMS || i > 0 && r.Cells[i-1].Cause == c.Cause {
			continue
		}
		p := .99
		for p > .5 && c.TotalMS.Count < quantile.Needs(p) {
			p = map[float64]float64{.99: .9, .9: .5}[p]
		}
		with := func(factor float64) string {
			values := c.values(metric{of: func(f *MeasuredFailover) float64 { return f.WaitMS*factor + f.ExcessMS }})
			slices.Sort(values)
			return fmt.Sprintf("a lease of %s makes about %s ms", duration(r.LeaseMS*factor), ms(quantile.Of(values, p).Value))
		}
		all = append(all, fmt.Sprintf("What to set: after %s, %s of p%v, and %s, if it is renewed as often in a lease as here: the wait grows with the lease, and the excess does not.",
			c.Cause, with(.5), 100*p, with(2)))
		return all
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
		all = append(all, fmt.Sprintf("The machine meanwhile, with %s at once: a timer was late by %s; a PING to a server without faults took %s.",
			plural(k.Parallel, "run"), k.TimerMS.Short(), k.PingMS.Short()))
	}
	return all
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
			line := []string{c.Cause, c.Elector, strconv.Itoa(f.Run), strconv.FormatUint(c.Runs[f.Run].Seed, 10), exact(f.AtMS), f.From, f.To, strconv.FormatBool(f.Stalled)}
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

func exact(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// FailoversBenchmark returns failovers.txt, in the format of Go's benchmarks: a line for
// each failover, so that "benchstat before.txt after.txt" compares two measurements.
// (https://go.dev/design/14313-benchmark-format)
func FailoversBenchmark(r *Failovers) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "world: %s\nlease: %s\nrenew: %s\nretry: %s\nnodes: %d\n\n", r.World, duration(r.LeaseMS), duration(r.RenewMS), duration(r.RetryMS), r.Nodes)
	word := func(text string) string {
		return strings.Map(func(x rune) rune {
			if x <= ' ' || x == '/' || x == '=' {
				return '_'
			}
			return x
		}, text)
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		for k := range c.Failovers {
			f := &c.Failovers[k]
			if f.Stalled {
				continue
			}
			fmt.Fprintf(&b, "BenchmarkFailover/cause=%s/elector=%s 1", word(c.Cause), word(c.Elector))
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
		one := junitCase{Name: c.Cause, Class: "recount.failover." + c.Elector, Time: junitTime(0), Out: c.answerOrWhy()}
		if c.TotalMS.Count == 0 {
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
		one := junitCase{Name: g.Text, Class: "recount.failover.gate", Time: junitTime(0), Out: g.Sentence}
		trouble(&one, g.Verdict, g.Sentence)
		s.add(one)
	}
	doc := junitSuites{Name: "recount", Tests: s.Tests, Failures: s.Failures, Errors: s.Errors, Skipped: s.Skipped, Time: s.Time, Suites: []junitSuite{s}}
	text, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("reports: junit.xml: %w", err)
	}
	return append([]byte(xml.Header), append(text, '\n')...), nil
}

func (c *FailoverCell) answerOrWhy() string {
	if c.TotalMS.Count == 0 {
		return c.Why
	}
	return c.answer()
}

// FailoversSummary writes what a person wants to see when the measurement has ended.
func FailoversSummary(w io.Writer, r *Failovers, t Terminal) error {
	s := newSummary(t)
	s.line(fmt.Sprintf("%-18s %-14s %5s  %-21s %-21s %8s", "after", "elector", "n", "p50 ms", "p90 ms", "longest"))
	for _, c := range r.Cells {
		if q := c.TotalMS; q.Count > 0 {
			s.line(fmt.Sprintf("%-18s %-14s %5d  %-21s %-21s %8s", clipped(c.Cause, 18), clipped(c.Elector, 14), q.Count, q.P50.orLeast(), q.P90.orLeast(), ms(q.Max)))
		}
	}
	s.line("")
	for _, text := range slices.Concat(r.answers(), r.notes()) {
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

// clipped is a text in no more than so many columns.
func clipped(text string, most int) string {
	if runes := []rune(plain(text)); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return plain(text)
}

package reports

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/recount-io/recount/checker"
)

// maxRows bounds the tables of the Markdown report.
const maxRows = 50

// Markdown returns report.md: one run on one page, for pull requests and
// terminals.
func Markdown(r *Report) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s: %s\n\n", cell(or(r.Scenario, "run")), r.Verdict)
	fmt.Fprintf(&b, "**%s**\n\n%s\n", cell(headline(r)), cell(circumstances(r)))
	markdownGuilty(&b, r)
	markdownPromises(&b, "Promises", r.Promises)
	if len(r.Measured) > 0 {
		markdownPromises(&b, "Measured only", r.Measured)
	}
	markdownFailovers(&b, r)
	markdownFigures(&b, r)
	markdownUsage(&b, r.Usage)
	markdownProbe(&b, r.Probe)
	if r.Repro != "" {
		fmt.Fprintf(&b, "\n## Repeat the run\n\n%s", fenced(r.Repro))
	}
	return b.Bytes()
}

// MarkdownSuite returns one page for several runs: a line for each, then the
// details of those that did not pass.
func MarkdownSuite(runs []*Report) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Recount: %s\n\n%s: %s.\n\n", Overall(runs), plural(len(runs), "run"), suiteLine(runs))
	b.WriteString("| scenario | subject | world | verdict | failovers | they took | longest excess ms | availability |\n")
	b.WriteString("| --- | --- | --- | --- | ---: | --- | ---: | ---: |\n")
	for _, r := range runs {
		excess := "–"
		if r.FailoverMS.Count > 0 {
			excess = ms(r.ExcessMS.Max)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d | %s | %s | %s |\n",
			cell(r.Scenario), cell(r.Subject), cell(r.World), bold(r.Verdict), r.FailoverMS.Count, r.FailoverMS.Short(), excess, percent(r.Availability))
	}
	if note := availabilityNote(runs); note != "" {
		fmt.Fprintf(&b, "\n%s\n", note)
	}
	for _, text := range repeated(runs) {
		fmt.Fprintf(&b, "\n%s\n", cell(text))
	}
	for _, r := range runs {
		if r.Verdict == checker.Pass {
			continue
		}
		fmt.Fprintf(&b, "\n## %s: %s\n\n%s\n", cell(r.Scenario), r.Verdict, cell(headline(r)))
		markdownGuilty(&b, r)
		if r.Repro != "" {
			fmt.Fprintf(&b, "\n%s", fenced(r.Repro))
		}
	}
	return b.Bytes()
}

// suiteLine counts verdicts.
func suiteLine(runs []*Report) string {
	var of [3]int
	for _, r := range runs {
		of[r.Verdict]++
	}
	return fmt.Sprintf("%d pass, %d fail, %d unknown", of[checker.Pass], of[checker.Fail], of[checker.Unknown])
}

// circumstances says in one line under what conditions the run took place.
func circumstances(r *Report) string {
	parts := []string{"subject " + or(r.Subject, "?"), or(r.World, "?") + " world"}
	if r.Redis != "" && r.Redis != r.World { // the virtual world's store has no name of its own
		parts = append(parts, "redis "+r.Redis)
	}
	parts = append(parts, fmt.Sprintf("seed %d", r.Seed), plural(r.Nodes, "node"), "lease "+duration(r.LeaseMS), "ran for "+duration(r.DurationMS))
	if r.Started != "" {
		parts = append(parts, "started "+r.Started)
	}
	return strings.Join(parts, " · ")
}

func markdownGuilty(b *bytes.Buffer, r *Report) {
	for _, v := range []checker.Verdict{checker.Fail, checker.Unknown} {
		for _, p := range r.withVerdict(v) {
			fmt.Fprintf(b, "\n### %s is %s\n\n%s\n\n> %s\n", p.Promise, verdictWord(v), cell(or(p.Reason, "no reason given")), cell(meaning(p.Promise)))
			if len(p.Events) == 0 {
				continue
			}
			b.WriteString("\n| event | time | node | kind | token | what |\n| ---: | ---: | --- | --- | ---: | --- |\n")
			for _, e := range p.Events {
				fmt.Fprintf(b, "| %d | %s | %s | %s | %s | %s |\n", e.Seq, atSeconds(e.AtMS), cell(e.Node), cell(e.Kind), token(e.Token), cell(e.Text))
			}
		}
	}
}

func markdownPromises(b *bytes.Buffer, title string, promises []Promise) {
	fmt.Fprintf(b, "\n## %s\n\n", title)
	if len(promises) == 0 {
		b.WriteString("None.\n")
		return
	}
	b.WriteString("| promise | verdict | reason |\n| --- | --- | --- |\n")
	for _, p := range promises {
		reason := p.Reason
		if p.Why != "" {
			reason = strings.TrimSpace(reason + " (no say: " + p.Why + ")")
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", cell(string(p.Promise)), bold(p.Verdict), cell(reason))
	}
}

func markdownFailovers(b *bytes.Buffer, r *Report) {
	b.WriteString("\n## Failovers\n\n")
	if r.FailoverMS.Count == 0 {
		b.WriteString("None: no leader was lost and followed by another in this run.\n")
		return
	}
	b.WriteString("Milliseconds. Excess is what is left after the wait that no elector may skip. " + quantileNote() + "\n\n")
	b.WriteString("| | count | min | p50 | p90 | p99 | max |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, row := range quantileRows(r) {
		if row.Q.Count == 0 {
			continue
		}
		q := row.Q
		fmt.Fprintf(b, "| %s | %d | %s | %s | %s | %s | %s |\n", row.Name, q.Count, ms(q.Min), q.P50.Interval(), q.P90.Interval(), q.P99.Interval(), ms(q.Max))
	}
	if len(r.Failovers) == 0 {
		b.WriteString("\nThey are not listed one by one: the history was judged as it grew, and not kept.\n")
		return
	}
	b.WriteString("\n| at | cause | from → to | wait | detect | acquire | announce | total | excess |\n")
	b.WriteString("| ---: | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for i, f := range r.Failovers {
		if i == maxRows {
			fmt.Fprintf(b, "\n%s more in report.json.\n", thousands(len(r.Failovers)-maxRows))
			break
		}
		fmt.Fprintf(b, "| %s | %s | %s → %s | %s | %s | %s | %s | %s | %s |\n", atSeconds(f.AtMS), cell(f.Fault), cell(f.From), cell(f.To),
			ms(f.WaitMS), ms(f.DetectMS), ms(f.AcquireMS), ms(f.AnnounceMS), ms(f.TotalMS), ms(f.ExcessMS))
	}
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

func markdownFigures(b *bytes.Buffer, r *Report) {
	b.WriteString("\n## Figures\n\n| | |\n| --- | --- |\n")
	for _, f := range figures(r) {
		fmt.Fprintf(b, "| %s | %s |\n", cell(f.Name), cell(f.Value))
	}
	if len(r.Faults) == 0 {
		b.WriteString("\nNo fault was injected.\n")
		return
	}
	b.WriteString("\n| fault | injected | effective |\n| --- | ---: | ---: |\n")
	for _, f := range r.Faults {
		fmt.Fprintf(b, "| %s | %d | %d |\n", cell(joined(f.Name, uninjected(f.Name))), f.Injected, f.Effective)
	}
}

// figure is a named value.
type figure struct{ Name, Value string }

func figures(r *Report) []figure {
	all := []figure{
		{"more than one leader", ms(r.DualBeliefMS) + " ms"},
		{"no leader", ms(r.LeaderlessMS) + " ms"},
		{"availability", joined(percent(r.Availability), meant(r))},
		{"terms", thousands(r.Terms)},
		{"writes accepted", thousands(r.Writes.Accepted)},
		{"writes refused", thousands(r.Writes.Refused)},
		{"stale writes accepted", thousands(r.Writes.StaleAccepted)},
		{"operations ok", thousands(r.Ops.Ok)},
		{"operations refused", thousands(r.Ops.Fail)},
		{"operations of unknown outcome", thousands(r.Ops.Info)},
		{"events recorded", thousands(r.Events)},
	}
	if r.Pieces > 0 {
		all = append(all, figure{"histories that they were judged in", thousands(r.Pieces)}, figure{"events of the longest history", thousands(r.Longest)})
	}
	return all
}

func bold(v checker.Verdict) string {
	if v == checker.Pass {
		return v.String()
	}
	return "**" + v.String() + "**"
}

func token(t uint64) string {
	if t == 0 {
		return ""
	}
	return fmt.Sprint(t)
}

// cell makes a text safe inside a Markdown table: one line, no markup of its
// own, no HTML.
func cell(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", `\|`, "`", "\\`", "*", `\*`, "[", `\[`, "]", `\]`, "\\", `\\`).Replace(s)
}

// fenced is a code block whose fence s cannot close.
func fenced(s string) string {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + "sh\n" + s + "\n" + fence + "\n"
}

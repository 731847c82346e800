package reports

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// early says what an answer is worth that was stopped.
func (r *Tuning) early() string {
	return fmt.Sprintf("It ended early: %s. Only %s were tried, so others may be better.", r.Stopped, plural(len(r.Points), "setting"))
}

func list(b *bytes.Buffer, all []string) {
	for _, text := range all {
		fmt.Fprintf(b, "- %s\n", cell(text))
	}
}

// inShort says whether the point meets what is wanted, and else whether it is on the front.
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
		fmt.Fprintf(&own, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", cell(r.Network), name, duration(p.LeaseMS), duration(p.RenewMS), duration(p.RetryMS), duration(p.RequestTimeoutMS),
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
		case strings.HasPrefix(line, "| "+cell(r.Network)+" |"):
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

// TuningMarkdown returns tune.md.
func TuningMarkdown(r *Tuning) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Settings: %s\n\n**%s**\n", r.Verdict, cell(r.headline()))
	if r.Stopped != "" {
		fmt.Fprintf(&b, "\n%s\n", r.early())
	}
	if p := r.chosen(); p != nil {
		fmt.Fprintf(&b, "\n```\n%s```\n\n## Why not its neighbours\n\n", p.forms(r.Drift))
		list(&b, r.neighbours())
		b.WriteString("\n## How the elector's presets stand\n\n")
		list(&b, r.standing())
	}
	if text := r.confirmation(); text != "" {
		fmt.Fprintf(&b, "\n## Confirmed: %s\n\n%s\n", r.Confirmed.Verdict, cell(text))
	}
	b.WriteString("\n## The front\n\nNone of these settings can be improved in one respect without loss in another.\n\n")
	b.WriteString("| lease | renew | retry | time-out | after a crash p50 ms | p99 ms | needless a year | by the network | by pauses | by outages | requests a minute |\n")
	b.WriteString("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, p := range r.front() {
		mark := ""
		if p == r.chosen() {
			mark = "**"
		}
		fmt.Fprintf(&b, "| %s%s%s | %s | %s | %s | %s | %s (%s to %s) | %s (%s to %s) | %s | %s | %s | %s |\n", mark, duration(p.LeaseMS), mark, duration(p.RenewMS), duration(p.RetryMS), duration(p.RequestTimeoutMS),
			ms(p.CrashP50MS[0]), ms(p.CrashP99MS[0]), ms(p.CrashP99MS[1]), ms(p.CrashP99MS[2]), rare(p.NeedlessYear), rare(p.NeedlessLow), rare(p.NeedlessHigh),
			rare(p.ByNetwork), rare(p.ByPauses), rare(p.ByOutages), ms(p.CommandsMinute))
	}
	fmt.Fprintf(&b, "\n%s\n", cell(r.assumptions()))
	if r.Repro != "" {
		fmt.Fprintf(&b, "\n%s", fenced(r.Repro))
	}
	return b.Bytes()
}

// TuningSummary writes what a person wants to see when the settings were tried.
func TuningSummary(w io.Writer, r *Tuning, t Terminal) error {
	s := newSummary(t)
	s.wrap("", r.headline())
	if r.Stopped != "" {
		s.wrap("", r.early())
	}
	if p := r.chosen(); p != nil {
		s.line("")
		for line := range strings.Lines(p.forms(r.Drift)) {
			s.line("  " + strings.TrimRight(line, "\n"))
		}
		s.line("")
		for _, text := range slices.Concat(r.neighbours(), []string{""}, r.standing()) {
			s.wrap("", text)
		}
	}
	if text := r.confirmation(); text != "" {
		s.wrap("", text)
	}
	s.line("")
	const row = "%8s %9s %9s %9s %12s %14s %12s"
	s.line(fmt.Sprintf(row, "lease", "renew", "retry", "time-out", "p99 crash ms", "needless/year", "requests/min"))
	for _, p := range r.front() {
		s.line(fmt.Sprintf(row, duration(p.LeaseMS), duration(p.RenewMS), duration(p.RetryMS), duration(p.RequestTimeoutMS), ms(p.CrashP99MS[0]), rare(p.NeedlessYear), ms(p.CommandsMinute)))
	}
	s.line("")
	s.wrap("", r.assumptions())
	if t.Where != "" || t.Again != "" {
		s.line("")
	}
	s.pointers()
	s.line(s.paint(r.Verdict, strings.ToUpper(r.Verdict.String())) + "  " + plural(len(r.Points), "setting"))
	return s.print(w)
}

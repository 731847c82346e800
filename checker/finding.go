package checker

import (
	"fmt"
	"slices"
	"time"
)

func pass(p Promise, reason string) Finding {
	return Finding{Promise: p, Verdict: Pass, Reason: reason}
}

func unknown(p Promise, reason string, evidence ...int64) Finding {
	return Finding{Promise: p, Verdict: Unknown, Reason: reason, Evidence: sorted(evidence)}
}

func fail(p Promise, reason string, evidence ...int64) Finding {
	return Finding{Promise: p, Verdict: Fail, Reason: reason, Evidence: sorted(evidence)}
}

// sorted returns the evidence in the order of the history, each event once.
func sorted(evidence []int64) []int64 {
	if len(evidence) == 0 {
		return nil
	}
	out := slices.Clone(evidence)
	slices.Sort(out)
	out = slices.Compact(out)
	if out[0] == 0 { // no event
		out = out[1:]
	}
	return out
}

// span writes a duration for people: "812 ms", "2.5 s".
func span(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.String()
	case d < 10*time.Second:
		return trimZeros(fmt.Sprintf("%.3f", float64(d)/float64(time.Millisecond))) + " ms"
	default:
		return trimZeros(fmt.Sprintf("%.3f", d.Seconds())) + " s"
	}
}

func trimZeros(s string) string {
	for s[len(s)-1] == '0' {
		s = s[:len(s)-1]
	}
	if s[len(s)-1] == '.' {
		s = s[:len(s)-1]
	}
	return s
}

// moment writes a time of the run for people: "5.120 s".
func moment(t time.Duration) string { return fmt.Sprintf("%.3f s", t.Seconds()) }

// count writes a number of things for people: "1 term", "3 terms".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// who writes a node and its token: "n1 (token 3)".
func who(node string, token uint64) string {
	if node == "" {
		node = "somebody"
	}
	if token == 0 {
		return node
	}
	return fmt.Sprintf("%s (token %d)", node, token)
}

// in writes the election where a run has several: ` in "billing"`.
func (r *run) in(e *election) string {
	if len(r.elections) < 2 {
		return ""
	}
	return fmt.Sprintf(" in %q", e.name)
}

// Package finding holds what a check comes to, and the words in which all
// checks say it.
package finding

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"
)

// Verdict is the outcome of a check. The zero value is Unknown: nothing
// defaults to pass.
type Verdict int

// The verdicts.
const (
	Unknown Verdict = iota
	Pass
	Fail
)

func (v Verdict) String() string {
	switch v {
	case Pass:
		return "pass"
	case Fail:
		return "fail"
	default:
		return "unknown"
	}
}

// MarshalText writes the verdict as in report.json.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (v *Verdict) UnmarshalText(text []byte) error {
	switch string(text) {
	case "pass":
		*v = Pass
	case "fail":
		*v = Fail
	case "unknown":
		*v = Unknown
	default:
		return fmt.Errorf("checker: %q is no verdict: pass, fail or unknown", text)
	}
	return nil
}

// Fold makes one verdict of several: fail if one of them is, else unknown if one
// of them is or there is none, else pass.
func Fold(all iter.Seq[Verdict]) Verdict {
	folded, some := Pass, false
	for v := range all {
		switch v {
		case Fail:
			return Fail
		case Unknown:
			folded = Unknown
		}
		some = true
	}
	if !some {
		return Unknown
	}
	return folded
}

// Promise names a property that a check decides. Read from JSON or YAML, it is
// what [Named] makes of the text.
type Promise string

// renamed are names that promises had in earlier versions, which wrote them into
// files.
var renamed = map[string]Promise{
	"LossHeeded": "StepsDownOnLoss",
}

// Named is the promise that is meant by a name in a file: names of earlier
// versions are replaced, all others are taken as they are.
func Named(name string) Promise {
	if now, ok := renamed[name]; ok {
		return now
	}
	return Promise(name)
}

// UnmarshalText reads the name of a promise; see [Named].
func (p *Promise) UnmarshalText(text []byte) error {
	*p = Named(string(text))
	return nil
}

// Finding is what a check found about one promise.
type Finding struct {
	Promise  Promise `json:"name"`
	Verdict  Verdict `json:"verdict"`
	Reason   string  `json:"reason"`             // one sentence
	Evidence []int64 `json:"evidence,omitempty"` // seq of the guilty events: two, where two contradict each other

	// Moot says that the verdict is unknown because the history has nothing to
	// decide the promise from, and not because something is in doubt.
	Moot bool `json:"-"`
}

// Passed, Nothing, Undecided and Failed make findings, whose Promise is for the
// caller to fill in.
func Passed(reason string) Finding { return Finding{Verdict: Pass, Reason: reason} }

// Nothing is the finding where there is nothing to decide from; see Passed.
func Nothing(reason string) Finding { return Finding{Verdict: Unknown, Reason: reason, Moot: true} }

// Undecided: see Passed.
func Undecided(reason string, evidence ...int64) Finding {
	return Finding{Verdict: Unknown, Reason: reason, Evidence: Sorted(evidence)}
}

// Failed: see Passed.
func Failed(reason string, evidence ...int64) Finding {
	return Finding{Verdict: Fail, Reason: reason, Evidence: Sorted(evidence)}
}

// Worse is the finding that outweighs the other one: the first that fails, else
// the first that is in doubt, else the first that passes. Nil is none.
func Worse(a, b *Finding) *Finding {
	if a == nil || b != nil && b.weight() > a.weight() {
		return b
	}
	return a
}

func (f *Finding) weight() int {
	switch {
	case f.Verdict == Fail:
		return 3
	case f.Verdict == Unknown && !f.Moot:
		return 2
	case f.Verdict == Pass:
		return 1
	default:
		return 0
	}
}

// Sorted returns evidence in the order of the history, each event once.
func Sorted(evidence []int64) []int64 {
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

// Span writes a duration for people: "812 ms", "2.5 s".
func Span(d time.Duration) string {
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

// Moment writes a time of the run for people: "5.120 s".
func Moment(t time.Duration) string { return fmt.Sprintf("%.3f s", t.Seconds()) }

// Count writes a number of things for people: "1 term", "3 terms".
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Who writes a node and its token: "n1 (token 3)".
func Who(node string, token uint64) string {
	if node == "" {
		node = "somebody"
	}
	if token == 0 {
		return node
	}
	return fmt.Sprintf("%s (token %d)", node, token)
}

// Thousands writes a number that is not negative for people: "1,884".
func Thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

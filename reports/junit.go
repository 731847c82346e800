package reports

import (
	"encoding/xml"
	"fmt"
	"strconv"

	"github.com/recount-io/recount/checker"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr"`
	Timestamp  string          `xml:"timestamp,attr,omitempty"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitTrouble `xml:"failure"`
	Error   *junitTrouble `xml:"error"`
	Skipped *junitTrouble `xml:"skipped"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitTrouble struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// JUnit returns junit.xml: a suite for every run and a case for every promise.
// A broken promise is a failure, an undecided one an error of type "undecided",
// one that is only measured is skipped. A run that did not pass never looks
// green: if no promise of it is red, a case of its own says so.
func JUnit(runs []*Report) ([]byte, error) {
	var suites []junitSuite
	var total float64
	for _, r := range runs {
		suites = append(suites, suiteOf(r))
		total += r.DurationMS
	}
	return junitFile(total, suites...)
}

// junitFile is junit.xml of suites that took so many milliseconds together.
func junitFile(total float64, suites ...junitSuite) ([]byte, error) {
	doc := junitSuites{Name: "recount", Time: junitTime(total), Suites: suites}
	for _, s := range suites {
		doc.Tests += s.Tests
		doc.Failures += s.Failures
		doc.Errors += s.Errors
		doc.Skipped += s.Skipped
	}
	text, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("reports: junit.xml: %w", err)
	}
	return append([]byte(xml.Header), append(text, '\n')...), nil
}

func suiteOf(r *Report) junitSuite {
	class := "recount." + or(r.World, "world") + "." + or(r.Subject, "subject")
	s := junitSuite{Name: or(r.Scenario, "run"), Time: junitTime(r.DurationMS), Timestamp: r.Started, Properties: properties(r)}
	for _, p := range r.Promises {
		s.add(caseOf(class, r, p))
	}
	for _, p := range r.Measured {
		c := caseOf(class, r, p)
		message := "measured only"
		if p.Why != "" {
			message += " (" + p.Why + ")"
		}
		message += ": " + verdictWord(p.Verdict) + ". " + p.Reason
		c.Failure, c.Error, c.Skipped = nil, nil, &junitTrouble{Message: message}
		s.add(c)
	}
	if r.Verdict != checker.Pass && s.Failures+s.Errors == 0 {
		s.add(junitCase{Name: "verdict", Class: class, Time: "0", Error: &junitTrouble{
			Message: headline(r), Type: "undecided", Text: "the run's verdict is " + r.Verdict.String(),
		}})
	}
	return s
}

// add counts c and takes it in.
func (s *junitSuite) add(c junitCase) {
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

func caseOf(class string, r *Report, p Promise) junitCase {
	c := junitCase{Name: string(p.Promise), Class: class, Time: "0"}
	text := "\n" + meaning(p.Promise) + "\n"
	for _, e := range p.Events {
		text += eventLine(e) + "\n"
	}
	if r.Repro != "" {
		text += "Repeat with: " + r.Repro + "\n"
	}
	switch p.Verdict {
	case checker.Pass:
		c.Out = p.Reason
	case checker.Fail:
		c.Failure = &junitTrouble{Message: p.Reason, Type: string(p.Promise), Text: text}
	default:
		c.Error = &junitTrouble{Message: or(p.Reason, "no reason given"), Type: "undecided", Text: text}
	}
	return c
}

// eventLine is one event on one line of plain text.
func eventLine(e EventRef) string {
	line := fmt.Sprintf("#%d  %s  %s", e.Seq, atSeconds(e.AtMS), e.Kind)
	if e.Node != "" {
		line += "  " + e.Node
	}
	if e.Token != 0 {
		line += fmt.Sprintf("  token %d", e.Token)
	}
	return line + "  " + e.Text
}

func properties(r *Report) []junitProperty {
	number := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	out := []junitProperty{
		{"verdict", r.Verdict.String()},
		{"subject", r.Subject},
		{"world", r.World},
		{"redis", r.Redis},
		{"seed", strconv.FormatUint(r.Seed, 10)},
		{"nodes", strconv.Itoa(r.Nodes)},
		{"lease_ms", number(r.LeaseMS)},
		{"failovers", strconv.Itoa(r.FailoverMS.Count)},
	}
	if r.FailoverMS.Count > 0 {
		out = append(out, junitProperty{"failover_max_ms", number(r.FailoverMS.Max)}, junitProperty{"excess_max_ms", number(r.ExcessMS.Max)})
	}
	for _, q := range []struct {
		name string
		q    Quantile
	}{{"failover_p50_ms", r.FailoverMS.P50}, {"failover_p99_ms", r.FailoverMS.P99}, {"excess_p99_ms", r.ExcessMS.P99}} {
		if q.q.Bounded {
			out = append(out, junitProperty{q.name, number(q.q.Value)})
		}
	}
	out = append(out,
		junitProperty{"dual_belief_ms", number(r.DualBeliefMS)},
		junitProperty{"availability", number(r.Availability)})
	if r.Repro != "" {
		out = append(out, junitProperty{"repro", r.Repro})
	}
	return out
}

// junitTime is in seconds.
func junitTime(ms float64) string { return strconv.FormatFloat(ms/1000, 'f', 3, 64) }

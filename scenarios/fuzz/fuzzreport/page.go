package fuzzreport

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"

	"github.com/recount-io/recount/scenarios/fuzz"
	"github.com/recount-io/recount/scenarios/search"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page is what fuzz.html is made from.
type page struct {
	Style      template.CSS
	Headline   string
	Broken     bool
	Key        []figure
	Failures   []failureView
	Confidence string
	Roles      []head
	Points     []string // under each role
	Rows       []rowView
	Features   []search.Feature
	Again      string
}

type figure struct{ Name, Value, Note string }

// head is a role above its columns.
type head struct {
	Name string
	Span int
}

type failureView struct {
	Trace

	Promise, Reason, Says, Found, Timings string
	Steps                                 []string
}

type rowView struct {
	Fault  string
	Fields []fieldView
}

type fieldView struct {
	Blank bool
	First bool // of its role
	Cells []cellView
}

type cellView struct {
	Level int // 0: never met … 4: often
	Title string
}

// HTML returns fuzz.html: one file that needs no network, no fonts and no
// scripts. again is the command that repeats the run.
func HTML(r *fuzz.Result, traces []Trace, again string) ([]byte, error) {
	m := draw(r.Coverage)
	reached, reachable := r.Coverage.Cells()
	p := page{
		Style: template.CSS(pageStyle), Broken: len(r.Failures) > 0, Confidence: Confidence(r), Again: again,
		Headline: fmt.Sprintf("%s, and no promise was broken", count(r.Schedules, "schedule")),
		Key: []figure{
			{"schedules", thousands(r.Schedules), "in " + took(r)},
			{"faults", thousands(r.Injected), thousands(r.Missed) + " without effect"},
			{"coverage", fmt.Sprintf("%.0f %%", 100*r.Coverage.Share()), fmt.Sprintf("%d of %d moments", reached, reachable)},
			{"broken promises", fmt.Sprint(len(r.Failures)), ""},
		},
	}
	if p.Broken {
		p.Headline = fmt.Sprintf("%s is broken", r.Failures[0].Case.Failed.Promise)
	}
	for i := range r.Failures {
		p.Failures = append(p.Failures, viewFailure(&r.Failures[i], traces[i]))
	}
	for _, role := range m.roles {
		p.Roles = append(p.Roles, head{role, len(m.points)})
		p.Points = append(p.Points, m.points...)
	}
	for _, row := range m.rows {
		p.Rows = append(p.Rows, viewRow(&row))
	}
	return p.render()
}

func (p *page) render() ([]byte, error) {
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, p); err != nil {
		return nil, fmt.Errorf("fuzzreport: %w", err)
	}
	return b.Bytes(), nil
}

func viewFailure(f *fuzz.Failure, trace Trace) failureView {
	c := &f.Case
	v := failureView{
		Promise: string(c.Failed.Promise), Reason: c.Failed.Reason, Trace: trace,
		Found: found(f),
		Timings: fmt.Sprintf("%s, lease %v, renew %v, retry %v, drift %g", count(c.Nodes, "candidate"),
			c.Timings.Lease, c.Timings.Renew, c.Timings.Retry, c.Drift),
	}
	for _, step := range c.Schedule.Sorted() {
		v.Steps = append(v.Steps, step.String())
	}
	return v
}

func viewRow(r *row) rowView {
	v := rowView{Fault: r.fault}
	for _, fields := range r.fields {
		for i := range fields {
			f := fieldView{Blank: fields[i].reachable == 0, First: i == 0}
			for _, c := range fields[i].cells {
				if !c.Reachable {
					continue
				}
				call := c.Call
				if call == "" {
					call = "nothing"
				}
				f.Cells = append(f.Cells, cellView{
					Level: level(c.Count),
					Title: fmt.Sprintf("%s, %s, lease %s, %s under way: met %s", c.Fault, c.Role, c.Point, call, count(c.Count, "time")),
				})
			}
			v.Fields = append(v.Fields, f)
		}
	}
	return v
}

// level is a number's order of magnitude, up to 4.
func level(n int) int {
	if n == 0 {
		return 0
	}
	return min(1+int(math.Log10(float64(n))), 4)
}

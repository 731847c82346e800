package reports

import (
	"slices"
	"testing"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/reports/document"
)

// probedRun is a run on a Redis that others use, which was stopped to spare it.
func probedRun() *history.History {
	h, _ := goodRun()
	end := h.Events[len(h.Events)-1].At
	add := func(at time.Duration, text string, p history.Probe) {
		h.Events = append(h.Events, history.Event{At: at, Kind: history.Note, Text: text, Probe: &p})
	}
	add(0, "", history.Probe{P50: 300 * time.Microsecond, P99: 900 * time.Microsecond, Limit: 109 * time.Millisecond})
	for i := range 16 {
		add(end/20*time.Duration(i), "", history.Probe{Latency: time.Duration(300+20*i) * time.Microsecond})
	}
	add(end/20*17, "", history.Probe{Latency: 250 * time.Millisecond})
	add(end/20*18, "", history.Probe{Latency: time.Second, Error: "time-out"})
	add(end/20*19, "the Redis gave no answer for 1.25s (time-out); before the run 99% of its answers took at most 900µs", history.Probe{Stopped: true})
	slices.SortStableFunc(h.Events, func(a, b history.Event) int { return int(a.At - b.At) })
	for i := range h.Events {
		h.Events[i].Seq = int64(i + 1)
	}
	return h
}

// Every format of a run that was stopped to spare a Redis that others use.
func TestGoldenProbe(t *testing.T) {
	h := probedRun()
	_, r := goodRun()
	rep := New(h, r)
	golden(t, "probed.json", must(JSON(rep))(t))
	golden(t, "probed.md", reportMarkdown(t, rep))
	golden(t, "probed.html.txt", outline(reportPage(t, rep, h, r)))
	golden(t, "probed.txt", printed(t, SuiteDocument([]*Report{rep}, ""), Screen{}))
}

// What the probe says about itself is no event worth a row, but for why it stopped
// the run; and a page has no room for every answer of a long run.
func TestProbeIsNoNews(t *testing.T) {
	h := probedRun()
	_, r := goodRun()
	events, _ := notable(h, New(h, r), nil)
	rows := 0
	for _, e := range events {
		if p := h.Events[e.Seq-1].Probe; p != nil {
			rows++
			if !p.Stopped {
				t.Errorf("event %d has a row: %s", e.Seq, e.Text)
			}
		}
	}
	if rows != 1 {
		t.Errorf("%d rows tell why the run was stopped", rows)
	}
	for i := range 10 * maxProbed {
		h.Events = append(h.Events, history.Event{At: h.Events[len(h.Events)-1].At + time.Millisecond, Kind: history.Note, Probe: &history.Probe{Latency: time.Duration(i+1) * time.Microsecond}})
	}
	views, err := probePlots(h)
	if err != nil || len(views) != 1 {
		t.Fatal(views, err)
	}
	if n := len(views[0].(document.Figures).Figures[0].SVG); n > 200_000 {
		t.Errorf("the plot of a long run has %d bytes", n)
	}
}

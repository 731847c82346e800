package reports

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
)

// The page is well formed: every element is closed, in order; every link
// inside it leads somewhere, and no id is given twice.
func TestPagesAreWellFormed(t *testing.T) {
	var all []*Report
	for _, s := range stories {
		h, r := s.run()
		rep := New(h, r)
		all = append(all, rep)
		checkPage(t, s.name, reportPage(t, rep, h, r))
	}
	checkPage(t, "index", must(SuiteDocument(all, "").HTML())(t))
}

func checkPage(t *testing.T, name string, page []byte) {
	t.Helper()
	text := string(page)
	script := regexp.MustCompile(`(?s)<(script|style)>.*?</(script|style)>`)
	text = script.ReplaceAllString(text, "")
	var open []string
	void := []string{"meta", "br", "hr", "img", "link", "input", "!doctype"}
	for _, m := range regexp.MustCompile(`<(/?)([a-zA-Z!][a-zA-Z0-9]*)([^>]*)>`).FindAllStringSubmatch(text, -1) {
		switch {
		case slices.Contains(void, m[2]) || strings.HasSuffix(m[3], "/"):
		case m[1] == "":
			open = append(open, m[2])
		case len(open) == 0 || open[len(open)-1] != m[2]:
			t.Fatalf("%s: </%s> closes %v", name, m[2], open)
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Errorf("%s: never closed: %v", name, open)
	}
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		if ids[m[1]] {
			t.Errorf("%s: id %q twice", name, m[1])
		}
		ids[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`(?:href="|aria-labelledby="|url\()#?([^")]*)`).FindAllStringSubmatch(text, -1) {
		for ref := range strings.FieldsSeq(m[1]) {
			if !ids[ref] && !strings.Contains(ref, ".html") && !strings.Contains(ref, ".json") && !strings.HasPrefix(ref, "./") {
				t.Errorf("%s: a link to %q leads nowhere", name, ref)
			}
		}
	}
}

// The page asks nothing of a network, and its policy would not let it: the one
// script is admitted by the hash of its text.
func TestPageNeedsNoNetwork(t *testing.T) {
	h, r := badRun()
	page := string(reportPage(t, New(h, r), h, r))
	for _, m := range regexp.MustCompile(`(?i)(src|href|action|data|xlink:href)="?(https?:)?//[^"]*|@import|url\(["']?(https?:)?//|<link|<iframe|<img`).FindAllString(page, -1) {
		t.Errorf("reaches out: %s", m)
	}
	scripts := regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindAllStringSubmatch(page, -1)
	if len(scripts) != 1 {
		t.Fatalf("%d scripts", len(scripts))
	}
	sum := sha256.Sum256([]byte(scripts[0][1]))
	if want := "script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(html.UnescapeString(page), want) {
		t.Errorf("the policy does not admit the page's own script: want %s", want)
	}
}

// Whatever a program under test calls itself, it gets no markup into a report.
func TestNamesAreEscaped(t *testing.T) {
	const evil = `<script>alert(1)</script>"'&|` + "`"
	h, r := badRun()
	h.Header.Scenario, h.Header.Subject, h.Header.Repro = evil, evil, "chaos run "+evil
	h.Header.Nodes[2] = evil
	for i := range h.Events {
		e := &h.Events[i]
		if e.Node == "n3" {
			e.Node = evil
		}
		if e.Kind == history.Note {
			e.Text = evil
		}
		if e.Kind == history.Fault {
			e.Fault, e.Evidence, e.Targets = evil, evil, []string{evil}
		}
	}
	for i := range r.Terms {
		if r.Terms[i].Node == "n3" {
			r.Terms[i].Node = evil
		}
	}
	r.Faults[0].Name, r.Failovers[0].Cause, r.Asked[0].Reason = evil, evil, evil
	rep := New(h, r)
	rep.Files = append(rep.Files, "javascript:alert(1)", `logs/"n 1".txt`)
	pages := map[string][]byte{
		"report.html": reportPage(t, rep, h, r), "index.html": must(SuiteDocument([]*Report{rep}, "").HTML())(t),
		"report.md": reportMarkdown(t, rep), "suite.md": SuiteDocument([]*Report{rep}, "").Markdown(),
	}
	for name, page := range pages {
		page = regexp.MustCompile(`(?s)`+"```.*?```").ReplaceAll(page, nil)
		markup := "<script>alert"
		if strings.HasSuffix(name, ".md") {
			markup = "<script" // a page has one of its own
		}
		if bytes.Contains(page, []byte(markup)) {
			t.Errorf("%s: the name became markup", name)
		}
		if bytes.Contains(page, []byte(`href="javascript`)) {
			t.Errorf("%s: a file's name became a script", name)
		}
		if strings.HasSuffix(name, ".html") {
			checkPage(t, name, page)
		}
	}
}

// A history of any length makes a page that a phone can open, and the page
// says what it left out. The guilty events are always there.
func TestPageStaysSmall(t *testing.T) {
	h := &history.History{Header: history.Header{Scenario: "long", Nodes: []string{"n1", "n2", "n3"}, ClockError: time.Microsecond}}
	r := &checker.Result{End: 3000 * time.Second}
	add := func(e history.Event) {
		e.Seq = int64(len(h.Events) + 1)
		h.Events = append(h.Events, e)
	}
	for i := range 20000 {
		at := time.Duration(i) * 150 * time.Millisecond
		node, token := h.Header.Nodes[i%3], uint64(i+1)
		add(history.Event{At: at, Kind: history.Elected, Node: node, Token: token})
		add(history.Event{At: at, Kind: history.Invoke, Call: history.Write, Op: int64(i + 1), Node: node, Token: token})
		add(history.Event{At: at, Kind: history.Fail, Op: int64(i + 1), Node: node})
		add(history.Event{At: at, Kind: history.Fault, ID: fmt.Sprint(i), Fault: "cut", Phase: history.On, Targets: []string{node}})
		add(history.Event{At: at + time.Millisecond, Kind: history.Fault, ID: fmt.Sprint(i), Fault: "cut", Phase: history.Off})
		add(history.Event{At: at + 100*time.Millisecond, Kind: history.Deposed, Node: node, Token: token})
		r.Terms = append(r.Terms, checker.Term{Node: node, Token: token, From: at, To: at + 200*time.Millisecond})
		r.Holdings = append(r.Holdings, checker.Holding{Node: node, Token: token, From: at, To: at + 100*time.Millisecond})
		r.Failovers = append(r.Failovers, checker.Failover{Cause: "cut", At: at, Total: time.Duration(i), Excess: time.Duration(i)})
	}
	r.Verdict = checker.Fail
	r.Asked = []checker.Finding{{Promise: checker.AtMostOneLeader, Verdict: checker.Fail, Evidence: []int64{60001, 60007}}}
	page := reportPage(t, New(h, r), h, r)
	if limit := 3 << 20; len(page) > limit {
		t.Errorf("%d bytes", len(page))
	}
	for _, want := range []string{"Left out of this drawing", "18,500 shortest terms", `id="e60001"`, `id="e60007"`, "19,800 more are in report.json", "The 300 that tell the story, of 120,000"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// The same run gives the same bytes, whatever the order of maps.
func TestReportsAreDeterministic(t *testing.T) {
	build := func() map[string][]byte {
		h, r := badRun()
		h.Header.Waived = map[string]string{"A": "a", "B": "b", "Stable": "c", "FailoverBound": "d"}
		files, err := Files(New(h, r), h, r)
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	want := build()
	for range 5 {
		for name, text := range build() {
			if !bytes.Equal(text, want[name]) {
				t.Errorf("%s differs", name)
			}
		}
	}
}

// What the real checkers find in a history becomes all the files of a run, and
// report.html links only to files that are there.
func TestFilesOfACheckedHistory(t *testing.T) {
	h, _ := goodRun()
	r := checker.Check(h, checker.Options{})
	rep := New(h, r)
	files, err := Files(rep, h, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range standardFiles() {
		if len(files[name]) == 0 {
			t.Errorf("%s is missing", name)
		}
	}
	read, err := Parse(files["report.json"])
	if err != nil || read.Verdict != r.Verdict {
		t.Errorf("report.json says %v (%v), the checkers %v", read.Verdict, err, r.Verdict)
	}
	if _, err := history.Load(bytes.NewReader(files["history.jsonl"])); err != nil {
		t.Errorf("history.jsonl: %v", err)
	}

	h.Events = slices.DeleteFunc(h.Events, func(e history.Event) bool { return e.Call.OnLease() })
	for i := range h.Events {
		h.Events[i].Seq = int64(i + 1)
	}
	r = checker.Check(h, checker.Options{})
	if files, err = Files(New(h, r), h, r); err != nil {
		t.Fatal(err)
	}
	if files["lease.html"] != nil || strings.Contains(string(files["report.html"]), `href="lease.html"`) {
		t.Error("lease.html for a history without operations on a lease, or a link to it")
	}
	if !slices.Contains(rep.Files, "lease.html") {
		t.Error("the caller's report was changed")
	}
}

// The overlaps that are drawn cover exactly the times in which two nodes
// believed, as a check of every pair finds them.
func TestOverlapsCoverEveryPair(t *testing.T) {
	state := uint64(1)
	next := func(n uint64) uint64 {
		state = state*6364136223846793005 + 1442695040888963407
		return (state >> 33) % n
	}
	for range 300 {
		var terms []checker.Term
		for range 2 + next(7) {
			from := time.Duration(next(30))
			terms = append(terms, checker.Term{Election: fmt.Sprint(next(2)), Node: fmt.Sprint(next(3)), From: from, To: from + 1 + time.Duration(next(12))})
		}
		for _, election := range []string{"0", "1"} {
			for at := time.Duration(0); at < 45; at++ {
				want, got := false, false
				for _, a := range terms {
					for _, b := range terms {
						want = want || a.Election == election && b.Election == election && a.Node != b.Node && a.From <= at && at < a.To && b.From <= at && at < b.To
					}
				}
				for _, o := range overlaps(terms, 0) {
					got = got || o.a.Election == election && o.from <= at && at < o.to
				}
				if got != want {
					t.Fatalf("at %d in election %s: drawn %v, is %v: %+v", at, election, got, want, terms)
				}
			}
		}
	}
}

// Axis ticks are round, at most eight or so, and none lies outside.
func TestAxisTicks(t *testing.T) {
	for _, test := range []struct {
		from, to time.Duration
		first    string
		most     int
	}{
		{0, 30 * time.Second, "0 s", 9},
		{10231 * time.Millisecond, 11694 * time.Millisecond, "10.4 s", 9},
		{0, 3 * time.Microsecond, "0.0000000 s", 9},
		{0, 50 * time.Hour, "0 s", 10},
	} {
		c := &canvas{}
		c.From, c.To = test.from, test.to
		c.axis()
		if n := len(c.Ticks); n < 2 || n > test.most {
			t.Errorf("%v to %v: %d ticks", test.from, test.to, n)
		}
		if c.Ticks[0].Label != test.first {
			t.Errorf("%v to %v: first tick %q, want %q", test.from, test.to, c.Ticks[0].Label, test.first)
		}
	}
}

// What nobody injected is said to be so: in a lane of its own below the injected
// faults, in its tooltips, and in the tables. Only what was injected is said to have
// been meant to take the leader away.
func TestStallIsNotInjected(t *testing.T) {
	s := newStory("steady", "recount", 3)
	s.fault("s1", history.StallFault, sec(1), sec(2), "n1")
	s.result.Leaderless = sec(1)
	h, r := s.done(sec(10))
	page := string(reportPage(t, New(h, r), h, r))
	if n := strings.Count(page, "ot injected: the machine stalled"); n != 4 {
		t.Errorf("the lane, its bar, the mark on the node and the table say it %d times, want 4", n)
	}
	const note = "the faults were meant to take it away"
	if text := string(reportMarkdown(t, New(h, r))); !strings.Contains(text, "| stall; not injected: the machine stalled | 1 | 1 |") || strings.Contains(text+page, note) {
		t.Errorf("the machine's own faults are called meant, or not what they are:\n%s", text)
	}

	s = newStory("crash-leader", "recount", 3)
	s.fault("s1", history.StallFault, sec(1), sec(2), "n1")
	s.fault("f1", "crash", sec(3), sec(4), "n1")
	s.result.Leaderless = sec(1)
	h, r = s.done(sec(10))
	page = string(reportPage(t, New(h, r), h, r))
	if crash, stall := strings.Index(page, "<title>crash</title>"), strings.Index(page, "Not injected: the machine stalled"); crash < 0 || stall < crash {
		t.Errorf("the lane of stalls is at %d, that of crashes at %d", stall, crash)
	}
	for name, text := range map[string]string{"page": page, "Markdown": string(reportMarkdown(t, New(h, r))), "suite": string(SuiteDocument([]*Report{New(h, r)}, "").Markdown()), "index": string(must(SuiteDocument([]*Report{New(h, r)}, "").HTML())(t))} {
		if !strings.Contains(text, note) {
			t.Errorf("%s does not say that %s", name, note)
		}
	}
}

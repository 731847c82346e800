package reports

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
)

var update = flag.Bool("update", false, "write the golden files anew")

// stories are the runs whose reports are kept as golden files.
var stories = []struct {
	name string
	run  func() (*history.History, *checker.Result)
}{
	{"good", goodRun}, {"bad", badRun}, {"unknown", unknownRun}, {"quiet", quietRun},
}

// golden compares got with the file, or writes it with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with: go test ./reports -update", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s changed (-want +got); if that is meant: go test ./reports -update\n%s", path, diff)
	}
}

// Every format of four runs: all kept, one broken, one undecided, and one
// without a failover.
func TestGoldenReports(t *testing.T) {
	var all []*Report
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			h, r := s.run()
			rep := New(h, r)
			all = append(all, rep)
			golden(t, s.name+".json", must(JSON(rep))(t))
			golden(t, s.name+".md", Markdown(rep))
			golden(t, s.name+".xml", must(JUnit([]*Report{rep}))(t))
			golden(t, s.name+".html.txt", outline(must(HTML(rep, h, r))(t)))
			golden(t, s.name+".txt", summaryOf(t, []*Report{rep}, Terminal{}))
		})
	}
	golden(t, "suite.md", MarkdownSuite(all))
	golden(t, "suite.xml", must(JUnit(all))(t))
	golden(t, "suite.html.txt", outline(must(HTMLIndex(all))(t)))
	terminal := Terminal{Where: "recount-runs/42/index.html", Again: "chaos run --seed 42"}
	golden(t, "suite.txt", summaryOf(t, all, terminal))
	terminal.Color = true
	golden(t, "suite-color.txt", summaryOf(t, all, terminal))
}

func must(text []byte, err error) func(*testing.T) []byte {
	return func(t *testing.T) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
}

func summaryOf(t *testing.T, runs []*Report, terminal Terminal) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Summary(&out, runs, terminal); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// outline is what a page says, without how it looks: title, headings, tables,
// links, what the drawings' tooltips say, and how many things they hold.
func outline(page []byte) []byte {
	var out bytes.Buffer
	text := regexp.MustCompile(`(?s)<style>.*?</style>`).ReplaceAllString(string(page), "")
	kinds := regexp.MustCompile(`(?s)<(title|h1|h2|h3|summary|caption|figcaption)\b[^>]*>(.*?)</(title|h1|h2|h3|summary|caption|figcaption)>|<th scope="col"[^>]*>(.*?)</th>|<p class="(headline|reason)">(.*?)</p>`)
	body := regexp.MustCompile(`(?s)<svg.*?</svg>\s*</div>`).ReplaceAllString(text, "")
	for _, m := range kinds.FindAllStringSubmatch(body, -1) {
		inner := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(m[2]+m[4]+m[6], "")
		fmt.Fprintf(&out, "%s: %s\n", m[1]+m[5]+map[bool]string{true: "column"}[m[4] != ""], strings.TrimSpace(inner))
	}
	for _, m := range regexp.MustCompile(`<a [^>]*href="([^"#]+)"`).FindAllStringSubmatch(text, -1) {
		fmt.Fprintf(&out, "link: %s\n", m[1])
	}
	for _, m := range regexp.MustCompile(`(?s)<tr\b[^>]*>(.*?)</tr>`).FindAllStringSubmatch(body, -1) {
		cells := regexp.MustCompile(`</t[hd]>`).ReplaceAllString(m[1], " | ")
		fmt.Fprintf(&out, "row: %s\n", strings.TrimSpace(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(cells, "")))
	}
	for _, m := range regexp.MustCompile(`<(?:g|svg|rect|a)\b[^>]*><title>(.*?)</title>`).FindAllStringSubmatch(text, -1) {
		fmt.Fprintf(&out, "tooltip: %s\n", m[1])
	}
	for _, kind := range []string{`data-lane="store"`, `data-lane="belief"`, `data-lane="fault"`, `class="dual"`, `class="flag"`, `class="refused"`, `class="instant"`, `class="plot"`, `<tr`} {
		fmt.Fprintf(&out, "%d × %s\n", strings.Count(text, kind), kind)
	}
	return out.Bytes()
}

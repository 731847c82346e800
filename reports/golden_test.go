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
	"github.com/recount-io/recount/reports/document"
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
			golden(t, s.name+".md", reportMarkdown(t, rep))
			golden(t, s.name+".xml", must(JUnit([]*Report{rep}))(t))
			golden(t, s.name+".html.txt", outline(reportPage(t, rep, h, r)))
			golden(t, s.name+".txt", printed(t, SuiteDocument([]*Report{rep}, ""), Screen{}))
		})
	}
	golden(t, "suite.md", SuiteDocument(all, "").Markdown())
	golden(t, "suite.xml", must(JUnit(all))(t))
	golden(t, "suite.html.txt", outline(must(SuiteDocument(all, "").HTML())(t)))
	screen := Screen{Where: "recount-runs/42/index.html"}
	golden(t, "suite.txt", printed(t, SuiteDocument(all, "chaos run --seed 42"), screen))
	screen.Color = true
	golden(t, "suite-color.txt", printed(t, SuiteDocument(all, "chaos run --seed 42"), screen))
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

// reportPage is the page of a run.
func reportPage(t *testing.T, rep *Report, h *history.History, r *checker.Result) []byte {
	t.Helper()
	return must(built(rep.Document(h, r))(t).HTML())(t)
}

// reportMarkdown is the Markdown of a run.
func reportMarkdown(t *testing.T, rep *Report) []byte {
	t.Helper()
	return built(rep.Document(nil, nil))(t).Markdown()
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

// built is a document, which nothing went wrong with.
func built(d *document.Document, err error) func(*testing.T) *document.Document {
	return func(t *testing.T) *document.Document {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
}

// goldenDocument compares what the media show of a document with the files of that name.
func goldenDocument(t *testing.T, name string, d *document.Document, screen Screen) {
	t.Helper()
	golden(t, name+".md", d.Markdown())
	golden(t, name+".html.txt", outline(must(d.HTML())(t)))
	golden(t, name+".txt", printed(t, d, screen))
}

// printed is what a terminal shows.
func printed(t *testing.T, d *document.Document, screen Screen) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := d.Print(&out, screen); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// fits fails the test if a line of the document is wider than its terminal.
func fits(t *testing.T, d *document.Document) {
	t.Helper()
	for _, columns := range []int{40, 80, 132} {
		for line := range strings.Lines(string(printed(t, d, Screen{Width: columns, Color: true}))) {
			line = regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(strings.TrimSuffix(line, "\n"), "")
			if n := len([]rune(line)); n > columns && !strings.HasPrefix(line, "Repeat: ") {
				t.Errorf("%d columns in %d: %s", n, columns, line)
			}
		}
	}
}

package reports

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/internal/race"
)

// many is a measurement of 10,000 failovers; with the race detector of 1,600.
func many() *Failovers {
	r, runs := measured(), 250
	if race.Enabled {
		runs = 40
	}
	r.Cells = nil
	for i, elector := range []string{"recount", "honua"} {
		for _, cause := range []string{"crash", "resign"} {
			c := cellOf(cause, elector, runs, 10*runs, time.Duration(i+1)*50*time.Millisecond)
			for k := range 20 {
				c.Failovers[k*13].Stalled = true
			}
			for k := 200; k < len(c.Runs); k++ {
				c.Runs[k].Folder = ""
			}
			r.Cells = append(r.Cells, c)
		}
	}
	r.Gates = nil
	r.Finish()
	return r
}

// written is the JSON of a measurement as another program reads it.
type written struct {
	Cells []struct {
		Cause, Elector string
		Runs           []struct{ Folder string }
		Stalled        int
		Total          struct {
			Count    int
			Max      float64
			P50, P90 float64
			P99      float64
			From50   [2]float64 `json:"p50_interval"`
			From90   [2]float64 `json:"p90_interval"`
			From99   [2]float64 `json:"p99_interval"`
		} `json:"total_ms"`
		Failovers []struct {
			Run      int
			At       float64 `json:"at_ms"`
			From, To string
			Wait     float64 `json:"wait_ms"`
			Detect   float64 `json:"detect_ms"`
			Acquire  float64 `json:"acquire_ms"`
			Announce float64 `json:"announce_ms"`
			Total    float64 `json:"total_ms"`
			Excess   float64 `json:"excess_ms"`
			Unserved float64 `json:"unserved_ms"`
			Stalled  bool
		}
	}
}

// writtenOf reads the JSON of a measurement.
func writtenOf(t *testing.T, r *Failovers) (f written) {
	t.Helper()
	if err := json.Unmarshal(must(FailoversJSON(r))(t), &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// The page of 10,000 failovers stays small, asks nothing of a network, and admits its own
// script by its hash and nothing else.
func TestFailoversPageStaysSmallAndNeedsNoNetwork(t *testing.T) {
	page := failoversPage(t, many())
	if most := 2_000_000; len(page) > most {
		t.Errorf("the page has %d bytes, want at most %d", len(page), most)
	}
	if found := regexp.MustCompile(`(?i)(src|href|action|data|srcset|xlink:href)="?\s*(https?:)?//[^"]*|@import|url\(["']?(https?:)?//|<link|<iframe|<img|fetch\(|XMLHttpRequest|\bimport\(`).FindAllString(string(page), -1); len(found) > 0 {
		t.Errorf("the page reaches out: %q", found)
	}
	scripts := regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindAllSubmatch(page, -1)
	if len(scripts) != 1 {
		t.Fatalf("%d scripts, want 1", len(scripts))
	}
	sum := sha256.Sum256(scripts[0][1])
	text := html.UnescapeString(string(page))
	if want := "script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(text, want) || !strings.Contains(text, "default-src 'none'") {
		t.Errorf("the policy is not %s and nothing else", want)
	}
}

// The rows that the page's script lists are the failovers of the JSON, one by one, with the
// folders of their runs.
func TestFailoversPageListsWhatTheJSONHas(t *testing.T) {
	for name, r := range map[string]*Failovers{"small": measured(), "10,000": many()} {
		page := failoversPage(t, r)
		m := regexp.MustCompile(`(?s)<script type="application/json" id="rows">(.*?)</script>`).FindSubmatch(page)
		if m == nil {
			t.Fatalf("%s: the page has no rows", name)
		}
		var rows struct {
			Cells []struct {
				Cause, Elector string
				Runs           []string
			}
			Failovers [][]any
		}
		if err := json.Unmarshal(m[1], &rows); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := writtenOf(t, r)
		if len(rows.Cells) != len(want.Cells) {
			t.Fatalf("%s: %d cells, want %d", name, len(rows.Cells), len(want.Cells))
		}
		next := 0
		for i, c := range want.Cells {
			if got := rows.Cells[i]; got.Cause != c.Cause || got.Elector != c.Elector || len(got.Runs) != len(c.Runs) {
				t.Fatalf("%s: cell %d is %s of %s with %d runs, want %s of %s with %d", name, i, got.Cause, got.Elector, len(got.Runs), c.Cause, c.Elector, len(c.Runs))
			}
			for k, run := range c.Runs {
				link := ""
				if run.Folder != "" {
					link = "./" + run.Folder + "/report.html"
				}
				if rows.Cells[i].Runs[k] != link {
					t.Errorf("%s: run %d of cell %d links to %q, want %q", name, k, i, rows.Cells[i].Runs[k], link)
				}
			}
			for _, f := range c.Failovers {
				if next == len(rows.Failovers) {
					t.Fatalf("%s: only %d rows", name, next)
				}
				row := rows.Failovers[next]
				next++
				held := map[bool]float64{true: 1}[f.Stalled]
				if got, want := fmt.Sprint(row), fmt.Sprint([]any{float64(i), float64(f.Run), float64(f.Run + 1), f.At, f.From, f.To, f.Wait, f.Detect, f.Acquire, f.Announce, f.Total, f.Excess, held}); got != want {
					t.Fatalf("%s: row %d is %s, want %s", name, next, got, want)
				}
				if run := c.Runs[f.Run].Folder; run != "" && !strings.HasSuffix(run, fmt.Sprintf("/%v", row[2])) {
					t.Fatalf("%s: row %d is of run %v in the folder %s", name, next, row[2], run)
				}
			}
		}
		if next != len(rows.Failovers) {
			t.Errorf("%s: %d rows, want %d", name, len(rows.Failovers), next)
		}
	}
}

// The page's script writes a figure as the report itself does: half-way cases, too. It runs in
// Node.js here.
func TestFailoversScriptWritesFiguresAsTheReport(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node on PATH")
	}
	script := string(failoversPage(t, measured()))
	script = script[strings.Index(script, "const fixed ="):strings.Index(script, "const valueOf =")]
	values := []float64{0, .005, .015, .125, 1.005, 9.995, 10.05, 10.25, 10.35, 99.95, 100.5, 101.5, 1234.5}
	for _, c := range many().Cells {
		for _, f := range c.Failovers {
			values = append(values, f.TotalMS, f.ExcessMS, f.AtMS)
		}
	}
	text, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), node, "-e", script+`;
		const values = JSON.parse(require("fs").readFileSync(0, "utf8"));
		console.log(JSON.stringify(values.map(x => [ms(x), fixed(x / 1000, 3) + " s"])))`)
	run.Stdin = bytes.NewReader(text)
	out, err := run.Output()
	var got [][2]string
	if err == nil {
		err = json.Unmarshal(out, &got)
	}
	if err != nil || len(got) != len(values) {
		t.Fatalf("%v, %d figures of %d\n%s", err, len(got), len(values), out)
	}
	for i, x := range values {
		if want := [2]string{ms(x), atSeconds(x)}; got[i] != want {
			t.Errorf("%v is written as %q, want %q", x, got[i], want)
		}
	}
}

// The table of comparisons sorts by the difference, not by the letters of its sentence.
func TestFailoversPageSortsComparisonsByTheirSize(t *testing.T) {
	r := measured()
	page := string(failoversPage(t, r))
	for _, c := range r.contrasts() {
		if want := fmt.Sprintf(`<td data-value="%v">`, c.By); !strings.Contains(page, want) {
			t.Errorf("the page has no %s for %s", want, c.Sentence)
		}
	}
}

// The figures of the page's first table are those of the JSON: quantiles with their
// intervals, the longest, and the number of failovers, without those that the machine held up.
func TestFailoversPageBeginsWithTheFiguresOfTheJSON(t *testing.T) {
	r := many()
	page := string(failoversPage(t, r))
	table := page[strings.Index(page, "<table"):strings.Index(page, "</table>")]
	var got []string
	for _, row := range regexp.MustCompile(`(?s)<tr><th scope="row">.*?</tr>`).FindAllString(table, -1) {
		cells := regexp.MustCompile(`</t[hd]>`).ReplaceAllString(row, "|")
		got = append(got, regexp.MustCompile(`<[^>]*>`).ReplaceAllString(cells, ""))
	}
	var want []string
	for i, c := range writtenOf(t, r).Cells {
		held := 0
		var totals []float64
		for _, f := range c.Failovers {
			if f.Stalled {
				held++
			} else {
				totals = append(totals, f.Total)
			}
		}
		slices.Sort(totals)
		if c.Total.Count != len(totals) || c.Stalled != held || c.Total.Max != totals[len(totals)-1] || c.Total.P50 != totals[(len(totals)+1)/2-1] {
			t.Errorf("cell %d of the JSON: %+v, %d held up, which does not follow from its failovers", i, c.Total, c.Stalled)
		}
		of := func(value float64, from [2]float64) string {
			return fmt.Sprintf("%s (%s to %s)", ms(value), ms(from[0]), ms(from[1]))
		}
		line := fmt.Sprintf("%s|%s|%s|%s|%s|%s|%s|", c.Cause, c.Elector, thousands(len(totals)), of(c.Total.P50, c.Total.From50), of(c.Total.P90, c.Total.From90), of(c.Total.P99, c.Total.From99), ms(c.Total.Max))
		line += r.Cells[i].ExcessMS.P50.orLeast() + "|"
		want = append(want, line+html.EscapeString(r.beside(&r.Cells[i]))+"|")
	}
	if !slices.Equal(got, want) {
		t.Errorf("the first table is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A line of failovers.csv, and of the benchmark's format, has what the JSON has of the
// failover, in milliseconds and in nanoseconds. Those that the machine held up are no
// benchmark.
func TestTablesHaveWhatTheJSONHas(t *testing.T) {
	r := many()
	lines, err := csv.NewReader(bytes.NewReader(must(FailoversCSV(r))(t))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	benchmark := regexp.MustCompile(`(?m)^BenchmarkFailover/.*$`).FindAllString(string(FailoversBenchmark(r)), -1)
	if want := "cause elector run seed at_ms from to stalled total_ms excess_ms unserved_ms wait_ms detect_ms acquire_ms announce_ms"; strings.Join(lines[0], " ") != want {
		t.Fatalf("columns: %v, want %s", lines[0], want)
	}
	exact := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	lines = lines[1:]
	for _, c := range writtenOf(t, r).Cells {
		for _, f := range c.Failovers {
			want := []string{
				c.Cause, c.Elector, strconv.Itoa(f.Run + 1), strconv.Itoa(42 + f.Run), exact(f.At), f.From, f.To, strconv.FormatBool(f.Stalled),
				exact(f.Total), exact(f.Excess), exact(f.Unserved), exact(f.Wait), exact(f.Detect), exact(f.Acquire), exact(f.Announce),
			}
			if !slices.Equal(lines[0], want) {
				t.Fatalf("the line is %q, want %q", lines[0], want)
			}
			if lines = lines[1:]; f.Stalled {
				continue
			}
			ns := fmt.Sprintf("BenchmarkFailover/elector=%s/cause=%s 1 %.0f total-ns %.0f excess-ns %.0f unserved-ns", c.Elector, c.Cause, f.Total*1e6, f.Excess*1e6, f.Unserved*1e6)
			if len(benchmark) == 0 || benchmark[0] != ns {
				t.Fatalf("the benchmark is %q, want %q", benchmark[:1], ns)
			}
			benchmark = benchmark[1:]
		}
	}
	if len(lines) > 0 || len(benchmark) > 0 {
		t.Errorf("%d lines and %d benchmarks are left", len(lines), len(benchmark))
	}
}

// Without scripts the page lists the longest failovers of each cell, the longest first.
func TestFailoversPageListsTheLongestItself(t *testing.T) {
	r := &Failovers{Cells: []FailoverCell{cellOf("crash", "recount", 1, 8, time.Millisecond)}}
	for i, total := range []float64{1000.001, 1000.008, 1000.004, 1000.002, 1000.006, 1000.003, 1000.007, 1000.005} {
		r.Cells[0].Failovers[i].TotalMS, r.Cells[0].Failovers[i].AtMS = total, 1e6*(total-1000)
	}
	r.Finish()
	page := string(failoversPage(t, r))
	table := page[strings.Index(page, `<table id="all">`):]
	var got []string
	for _, m := range regexp.MustCompile(`<td class="n">([0-9.]+) s</td>`).FindAllStringSubmatch(table, -1) {
		got = append(got, m[1])
	}
	if want := []string{"8.000", "7.000", "6.000"}; !slices.Equal(got, want) {
		t.Errorf("the longest began at %v, want %v", got, want)
	}
}

// The page is well formed. What an elector, a run or a gate calls itself gets no markup into
// it, nor into Markdown.
func TestFailoverNamesAreEscaped(t *testing.T) {
	checkPage(t, "failovers", failoversPageWithoutLinks(t, measured()))
	checkPage(t, "failovers of 10,000", failoversPageWithoutLinks(t, many()))
	const evil = `<script>alert(1)</script>"'&|` + "`" + "\u2028"
	r := measured()
	r.Redis, r.Machine, r.Asked, r.Stopped, r.Repro = evil, evil, evil, evil, "chaos failover --exec "+evil
	c := &r.Cells[1]
	c.Cause, c.Elector, c.Summary, c.Why = evil, evil, evil, evil
	c.Broken[0].Reason, c.Runs[0].Folder = evil, evil
	for i := range c.Failovers {
		c.Failovers[i].From, c.Failovers[i].To = evil, evil
	}
	r.Gates[0].Text, r.Gates[0].Sentence = evil, evil
	r.Finish()
	page := failoversPageWithoutLinks(t, r)
	checkPage(t, "names", page)
	markdown := regexp.MustCompile("(?s)```.*?```|`[^`]*`").ReplaceAll(bytes.ReplaceAll(built(r.Document())(t).Markdown(), []byte("\\`"), nil), nil)
	for name, text := range map[string][]byte{"html": page, "md": markdown} {
		if i := bytes.Index(text, []byte("<script>alert")); i >= 0 {
			t.Errorf("%s: a name became markup: …%s…", name, text[max(0, i-60):i+30])
		}
	}
}

// failoversPageWithoutLinks is the page without its links to files, which are not ids of it.
func failoversPageWithoutLinks(t *testing.T, r *Failovers) []byte {
	t.Helper()
	return regexp.MustCompile(`href="\./[^"]*"`).ReplaceAll(failoversPage(t, r), nil)
}

// failoversPage is the page of a measurement.
func failoversPage(t *testing.T, r *Failovers) []byte {
	t.Helper()
	return must(built(r.Document())(t).HTML())(t)
}

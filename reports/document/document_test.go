package document

import (
	"bytes"
	"strings"
	"testing"

	"github.com/recount-io/recount/checker"
)

// printed is what a terminal of so many columns shows.
func printed(t *testing.T, d *Document, columns int) string {
	t.Helper()
	var out bytes.Buffer
	if err := d.Print(&out, Screen{Width: columns}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// What is for one medium stands in no other one: sections, blocks and columns.
func TestMediaShowTheirOwn(t *testing.T) {
	columns := Left("all", "b", "c", "d")
	columns[1].In, columns[2].In, columns[3].In = Terminal, Markdown, Page
	d := &Document{Title: "Title", Verdict: checker.Pass}
	d.Add("both", 0, For(Terminal, Para("terminal-block")), For(Markdown, Para("markdown-block")), For(Page, Para("page-block")), Table{Columns: columns, Rows: []Row{Cells("a", "terminal-column", "markdown-column", "page-column")}})
	d.Add("terminal-section", Terminal, Para("x"))
	d.Add("markdown-section", Markdown, Para("x"))
	d.Add("page-section", Page, Para("x"))
	page, err := d.HTML()
	if err != nil {
		t.Fatal(err)
	}
	for medium, text := range map[string]string{"terminal": printed(t, d, 80), "markdown": string(d.Markdown()), "page": string(page)} {
		for _, of := range []string{"terminal", "markdown", "page"} {
			for _, part := range []string{"block", "column", "section"} {
				if got := strings.Contains(text, of+"-"+part); got != (of == medium) {
					t.Errorf("%s: %s-%s is shown: %t", medium, of, part, got)
				}
			}
		}
	}
}

// A table that does not fit a terminal goes on below, with its first columns again. Columns
// that may be are shortened before: names in their middle, as long as they differ.
func TestTablesFitTerminals(t *testing.T) {
	wide := Table{Columns: append(Left("subject"), Right("first figure", "second-figure", "third")...), Rows: []Row{Cells("recount", "1", "22", "12345678901234567"), Cells("titan", "3", "4", "5")}}
	names := Table{Columns: append([]Column{{Head: "name", Fit: Middle}}, Right("n")...), Rows: []Row{Cells(strings.Repeat("a", 50)+"1", "1"), Cells(strings.Repeat("a", 50)+"2", "2")}}
	d := &Document{Verdict: checker.Fail, Last: "the end"}
	d.Add("", 0, wide)
	d.Add("", 0, names)
	want := `          first  second-
subject  figure   figure
recount       1       22
titan         3        4

subject              third
recount  12345678901234567
titan                    5

name                                   n
aaaaaaaaaaaaaaaaaa…aaaaaaaaaaaaaaaaa1  1
aaaaaaaaaaaaaaaaaa…aaaaaaaaaaaaaaaaa2  2

FAIL  the end
`
	if got := printed(t, d, 40); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// What stands in a document gets no markup of its own into a page or into Markdown.
func TestTextsAreEscaped(t *testing.T) {
	const evil = "<script>alert(1)</script>|`*[x](y)"
	d := &Document{Title: evil, Verdict: checker.Pass, Script: "const script = 1;"}
	table := Table{Caption: evil, Columns: Left(evil), Rows: []Row{Cells(Span{Words: evil, Link: "javascript:alert(1)", Title: evil})}}
	d.Add(evil, 0, Para(evil), List{Words(evil)}, Case{Title: evil, Reason: evil}, For(Written, Details{Title: evil}), table)
	page, err := d.HTML()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"page": string(page), "Markdown": string(d.Markdown())} {
		for _, bad := range []string{"<script>alert", "[x](y)", "(javascript", `"javascript`} {
			if strings.Contains(text, bad) && !(name == "page" && bad == "[x](y)") {
				t.Errorf("%s holds %q:\n%s", name, bad, text)
			}
		}
	}
	if !strings.Contains(string(page), "script-src &#39;sha256-") {
		t.Error("the page's policy does not name its script")
	}
}

// A code block's fence cannot be closed by the code.
func TestFencesStayClosed(t *testing.T) {
	if got, want := string(MarkdownOf(Command{Lines: "a\n```\nb"})), "````sh\na\n```\nb\n````\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A link to a file is relative and stays one, whatever the file is called.
func TestRelativeLinks(t *testing.T) {
	for in, want := range map[string]string{
		"pause-leader/report.html": "./pause-leader/report.html",
		"a b?c#d":                  "./a%20b%3Fc%23d",
		"javascript:alert(1)":      "./javascript%3Aalert%281%29",
	} {
		if got := Relative(in); got != want {
			t.Errorf("Relative(%q) = %q, want %q", in, got, want)
		}
	}
}

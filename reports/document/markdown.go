package document

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/recount-io/recount/checker"
)

// Markdown returns the document as Markdown.
func (d *Document) Markdown() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s: %s\n", Escape(d.Title), d.Verdict)
	for _, s := range d.visibleSections(Markdown) {
		if s.Title != "" {
			b.WriteString("\n## " + Escape(s.Title))
			if s.Verdict != nil {
				b.WriteString(": " + s.Verdict.String())
			}
			b.WriteByte('\n')
		}
		for _, block := range s.Blocks {
			b.WriteByte('\n')
			markdown(&b, block)
		}
	}
	return b.Bytes()
}

// MarkdownOf returns some blocks as Markdown, for a part of a file.
func MarkdownOf(blocks ...Block) []byte {
	var b bytes.Buffer
	for i, block := range visible(blocks, Markdown) {
		if i > 0 {
			b.WriteByte('\n')
		}
		markdown(&b, block)
	}
	return b.Bytes()
}

func markdown(b *bytes.Buffer, block Block) {
	switch block := block.(type) {
	case Paragraph:
		switch text := block.Text.markdown(); block.Look {
		case Headline:
			fmt.Fprintf(b, "**%s**\n", text)
		case Quote:
			fmt.Fprintf(b, "> %s\n", text)
		default:
			fmt.Fprintf(b, "%s\n", text)
		}
	case List:
		for _, text := range block {
			fmt.Fprintf(b, "- %s\n", text.markdown())
		}
	case Command:
		b.WriteString(fenced(block))
	case Case:
		if block.Title == "" {
			fmt.Fprintf(b, "- %s\n", Escape(block.Reason))
		} else {
			fmt.Fprintf(b, "### %s\n\n%s\n", Escape(block.Title), Escape(block.Reason))
		}
		within(b, block.Blocks)
	case Details:
		fmt.Fprintf(b, "%s:\n", Escape(block.Title))
		within(b, block.Blocks)
	case Table:
		block.markdown(b)
	default:
		panic(fmt.Sprintf("document: %T in Markdown", block))
	}
}

// within writes the blocks of another one.
func within(b *bytes.Buffer, blocks []Block) {
	for _, inner := range visible(blocks, Markdown) {
		b.WriteByte('\n')
		markdown(b, inner)
	}
}

func (t Table) markdown(b *bytes.Buffer) {
	if t.Caption != "" {
		fmt.Fprintf(b, "%s\n\n", Escape(t.Caption))
	}
	if len(t.Rows) == 0 && t.Empty != "" {
		fmt.Fprintf(b, "%s\n", Escape(t.Empty))
		return
	}
	var heads, rules []string
	for _, c := range t.Columns {
		if !c.In.shows(Markdown) {
			continue
		}
		rule := "---"
		if c.Number {
			rule = "---:"
		}
		heads, rules = append(heads, Escape(c.Head)), append(rules, rule)
	}
	line := func(cells []string) { fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | ")) }
	line(heads)
	line(rules)
	for _, r := range t.Rows {
		var cells []string
		for i, c := range t.Columns {
			if c.In.shows(Markdown) {
				cells = append(cells, r.cell(i).markdown())
			}
		}
		line(cells)
	}
}

func (t Text) markdown() string {
	var b strings.Builder
	for _, s := range t.in(Markdown) {
		words := Escape(s.Words)
		switch {
		case words == "":
		case s.Mark == Strong, s.Mark == Badge && s.Verdict != checker.Pass:
			words = "**" + words + "**"
		case s.Mark == Code:
			words = "`" + strings.NewReplacer("`", "'", "|", `\\|`, "\n", " ").Replace(s.Words) + "`"
		}
		if s.Link != "" && !strings.HasPrefix(s.Link, "#") {
			words = fmt.Sprintf("[%s](%s)", words, Relative(s.Link))
		}
		b.WriteString(words)
	}
	return b.String()
}

// Escape makes a text safe inside a Markdown table: one line, no markup of its
// own, no HTML.
func Escape(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", `\|`, "`", "\\`", "*", `\*`, "[", `\[`, "]", `\]`, "\\", `\\`).Replace(s)
}

// fenced is a code block whose fence the code cannot close.
func fenced(c Command) string {
	fence, shell := "```", "sh"
	for strings.Contains(c.Lines, fence) {
		fence += "`"
	}
	if c.Code {
		shell = ""
	}
	return fence + shell + "\n" + strings.TrimSuffix(c.Lines, "\n") + "\n" + fence + "\n"
}

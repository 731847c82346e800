package document

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/recount-io/recount/checker"
)

// Screen says for what terminal a document is printed, and what only the caller knows.
type Screen struct {
	Width int    // columns; 0 means 80, and fewer than 40 are taken as 40
	Color bool   // ANSI colours; without them the output is plain
	Where string // where the report lies; "" leaves the line out

	_ struct{}
}

// Print writes the document to a terminal: at its end where the report lies, how to repeat it,
// and the verdict. No line of a table is wider than the terminal. Commands and paths are never
// broken, so that they can be copied.
func (d *Document) Print(w io.Writer, s Screen) error {
	if s.Width == 0 {
		s.Width = 80
	}
	s.Width = max(s.Width, 40)
	p := printer{Screen: s, repeat: d.Repeat}
	for i, section := range d.visibleSections(Terminal) {
		if i > 0 {
			p.line("")
		}
		p.section(section)
	}
	p.end(d)
	if _, err := io.WriteString(w, p.out.String()); err != nil {
		return fmt.Errorf("document: %s: %w", d.Title, err)
	}
	return nil
}

// end writes where the report lies, how to repeat it, and the verdict, if there is one.
func (p *printer) end(d *Document) {
	if d.Last == "" {
		return
	}
	p.line("")
	if p.Where != "" {
		p.line("Report: " + plain(p.Where))
	}
	if d.Repeat != "" {
		p.line("Repeat: " + plain(d.Repeat))
	}
	if p.Where != "" || d.Repeat != "" {
		p.line("")
	}
	p.hang(p.paint(d.Verdict, strings.ToUpper(d.Verdict.String()))+"  ", "  ", plain(d.Last))
}

// printer writes for a terminal.
type printer struct {
	Screen

	repeat string
	out    strings.Builder
}

func (p *printer) line(text string) {
	p.out.WriteString(strings.TrimRight(text, " "))
	p.out.WriteByte('\n')
}

func (p *printer) section(s Section) {
	indent := ""
	if s.Title != "" {
		indent = "  "
		verdict, room := "", p.Width
		if s.Verdict != nil {
			verdict = p.paint(*s.Verdict, s.Verdict.String()) + indent
			room -= width(verdict)
		}
		p.line(verdict + cut(plain(s.Title), room))
	}
	p.blocks(indent, s.Blocks)
}

func (p *printer) blocks(indent string, blocks []Block) {
	for _, block := range visible(blocks, Terminal) {
		switch block := block.(type) {
		case Paragraph:
			p.wrap(indent, p.text(block.Text))
		case List:
			for _, text := range block {
				p.wrap(indent, p.text(text))
			}
		case Command:
			p.command(indent, block)
		case Case:
			reason := plain(block.Reason)
			if block.Title != "" {
				reason = p.paint(block.Verdict, plain(block.Title)) + ": " + reason
			}
			p.wrap(indent, reason)
			p.blocks(indent+"  ", block.Blocks)
		case Table:
			p.table(indent, block)
		default:
			panic(fmt.Sprintf("document: %T in a terminal", block))
		}
	}
}

// command writes a command in one line, or code as it is.
func (p *printer) command(indent string, c Command) {
	switch {
	case c.Code:
		for line := range strings.Lines(c.Lines) {
			p.line("  " + plain(strings.TrimRight(line, "\n")))
		}
	case c.Name != "" && c.Lines != p.repeat: // else it stands at the end
		p.line(indent + c.Name + ": " + plain(c.Lines))
	}
}

// text is a text in one line.
func (p *printer) text(t Text) string {
	var b strings.Builder
	for _, s := range t.in(Terminal) {
		if s.Mark == Badge {
			b.WriteString(p.paint(s.Verdict, plain(s.Words)))
		} else {
			b.WriteString(plain(s.Words))
		}
	}
	return b.String()
}

// paint colours a text by a verdict.
func (p *printer) paint(v checker.Verdict, text string) string {
	if !p.Color {
		return text
	}
	code := "33"
	switch v {
	case checker.Pass:
		code = "32"
	case checker.Fail:
		code = "1;31"
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// wrap breaks a sentence between words; further lines are indented once more.
func (p *printer) wrap(indent, text string) { p.hang(indent, indent+"  ", text) }

// hang breaks a sentence behind what stands in front of it, and of its further lines.
func (p *printer) hang(first, further, text string) {
	line, empty := first, true
	for word := range strings.FieldsSeq(text) {
		if !empty && width(line)+1+width(word) > p.Width {
			p.line(line)
			line, empty = further, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	p.line(line)
}

// width counts what takes a column: colours do not.
func width(text string) int {
	n, code := 0, false
	for _, r := range text {
		switch {
		case r == '\x1b':
			code = true
		case code:
			code = r != 'm'
		default:
			n++
		}
	}
	return n
}

// cut shortens text to n columns.
func cut(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	if n < 4 {
		return string([]rune(text)[:n])
	}
	return string([]rune(text)[:n-3]) + "..."
}

// plain takes out what would steer the terminal: names and notes come from the
// programs under test.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, text)
}

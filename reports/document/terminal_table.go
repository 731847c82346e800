package document

import "strings"

// columnSpace stands between two columns.
const columnSpace = "  "

// stack is a column of a table as a terminal shows it.
type stack struct {
	Column

	head  []string // lines
	cells []string
	paint []func(string) string // colours a cell
	width int
}

// table writes a table whose columns are as wide as their widest text. Where it does not fit,
// columns are shortened that may be; where that is not enough, the last columns follow in a
// table below.
func (p *printer) table(indent string, t Table) {
	if len(t.Rows) == 0 {
		if t.Empty != "" {
			p.wrap(indent, t.Empty)
		}
		return
	}
	if t.Caption != "" {
		p.wrap(indent, t.Caption)
	}
	stacks := p.stacks(t)
	room := p.Width - len(indent)
	for i := range stacks {
		if s := &stacks[i]; s.Fit != Whole {
			s.shorten(room - (total(stacks) - s.width))
		}
	}
	keys := min(max(t.Keys, 1), len(stacks))
	for i := range stacks[keys:] {
		stacks[keys+i].shorten(room - total(stacks[:keys]) - len(columnSpace))
	}
	for first, rest := true, stacks[keys:]; first || len(rest) > 0; first = false {
		part := append([]stack{}, stacks[:keys]...)
		for len(rest) > 0 && (len(part) == keys || total(append(part[:len(part):len(part)], rest[0])) <= room) {
			part, rest = append(part, rest[0]), rest[1:]
		}
		if !first {
			p.line("")
		}
		p.part(indent, part)
	}
}

// stacks are the columns that a terminal shows: those that it may, and that hold anything.
func (p *printer) stacks(t Table) (all []stack) {
	rows := t.Rows
	if t.Brief > 0 {
		rows = rows[:min(t.Brief, len(rows))]
	}
	for i, c := range t.Columns {
		if !c.In.shows(Terminal) {
			continue
		}
		s := stack{Column: c}
		for _, r := range rows {
			spans := r.cell(i).in(Terminal)
			text := plainOf(spans)
			paint := func(text string) string { return text }
			if len(spans) == 1 && spans[0].Mark == Badge {
				paint = func(text string) string { return p.paint(spans[0].Verdict, text) }
			}
			s.cells, s.paint, s.width = append(s.cells, text), append(s.paint, paint), max(s.width, width(text))
		}
		if t.HeadLess {
			s.Head = ""
		}
		if s.width > 0 {
			s.breakHead()
			all = append(all, s)
		}
	}
	return all
}

func plainOf(t Text) string {
	var b strings.Builder
	for _, s := range t {
		b.WriteString(s.Words)
	}
	return plain(b.String())
}

// breakHead breaks a head that is wider than the cells between words and after hyphens.
func (s *stack) breakHead() {
	s.head = nil
	for word := range strings.FieldsSeq(plain(strings.ReplaceAll(s.Head, "-", "- "))) {
		s.width = max(s.width, width(word))
		if len(s.head) == 0 {
			s.head = []string{word}
			continue
		}
		last := &s.head[len(s.head)-1]
		longer := *last + " " + word
		if strings.HasSuffix(*last, "-") {
			longer = *last + word
		}
		if width(longer) <= s.width {
			*last = longer
		} else {
			s.head = append(s.head, word)
		}
	}
}

// shorten makes the column no wider than most, as far as its head and a few letters allow it.
func (s *stack) shorten(most int) {
	if s.width <= most {
		return
	}
	s.width = 0
	s.breakHead()
	most = max(most, s.width, 8)
	if s.Fit == Middle {
		s.cells = shortened(s.cells, most)
	}
	for i := range s.cells {
		if s.Fit != Middle {
			s.cells[i] = cut(s.cells[i], most)
		}
		s.width = max(s.width, width(s.cells[i]))
	}
	s.breakHead()
}

// shortened are the texts in no more than so many columns, cut in the middle. Texts that differ
// still do: where the cut would take what differs, they get more columns.
func shortened(texts []string, most int) []string {
	for ; ; most++ {
		for tail := most / 2; tail >= 0; tail-- {
			short, of := make([]string, len(texts)), map[string]string{}
			same := false
			for i, text := range texts {
				if runes := []rune(text); len(runes) > most {
					text = string(runes[:most-1-tail]) + "…" + string(runes[len(runes)-tail:])
				}
				was, seen := of[text]
				same = same || seen && was != texts[i]
				short[i], of[text] = text, texts[i]
			}
			if !same {
				return short
			}
		}
	}
}

// total is the width of columns beside each other.
func total(stacks []stack) int {
	sum := -len(columnSpace)
	for _, s := range stacks {
		sum += s.width + len(columnSpace)
	}
	return sum
}

// part writes columns beside each other.
func (p *printer) part(indent string, stacks []stack) {
	height := 0
	for _, s := range stacks {
		height = max(height, len(s.head))
	}
	for i := range height {
		var line []string
		for _, s := range stacks {
			text := ""
			if k := i - (height - len(s.head)); k >= 0 {
				text = s.head[k]
			}
			line = append(line, s.aligned(text))
		}
		p.line(indent + strings.Join(line, columnSpace))
	}
	for i := range stacks[0].cells {
		var line []string
		for _, s := range stacks {
			line = append(line, s.aligned(s.paint[i](s.cells[i])))
		}
		p.line(indent + strings.Join(line, columnSpace))
	}
}

// aligned is a text in the width of the column.
func (s *stack) aligned(text string) string {
	space := strings.Repeat(" ", max(0, s.width-width(text)))
	if s.Number {
		return space + text
	}
	return text + space
}

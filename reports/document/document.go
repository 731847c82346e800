package document

import (
	"html/template"

	"github.com/recount-io/recount/checker"
)

// Document is a report. Its first section has no title: it is the head of the page.
type Document struct {
	Title    string // of the first heading
	About    string // of the page's tab, in place of Title
	Verdict  checker.Verdict
	Sections []Section
	Repeat   string // the command that repeats all of it, for a terminal
	Last     string // what the last line in a terminal says behind the verdict; "": there is none

	Style  template.CSS // of the page, besides that of all pages
	Script template.JS  // of the page; it is complete without
	Data   template.JS  // JSON for the script, in an element with the id "rows"
}

// Medium is where something is shown. The zero value is everywhere.
type Medium uint8

// The media, to be combined.
const (
	Terminal Medium = 1 << iota
	Markdown
	Page

	Written = Markdown | Page
)

// shows reports whether something that is meant for m is shown in one of the media.
func (m Medium) shows(in Medium) bool { return m == 0 || m&in != 0 }

// Section is a part of a document. One without a block in a medium is not shown there.
type Section struct {
	Title   string
	ID      string   // to link to; "": the page finds one
	Verdict *Verdict // beside the title
	In      Medium
	Look    string // a class of the page's style
	Blocks  []Block
}

// Verdict is one of checker's.
type Verdict = checker.Verdict

// Add appends a section.
func (d *Document) Add(title string, in Medium, blocks ...Block) {
	d.Sections = append(d.Sections, Section{Title: title, In: in, Blocks: blocks})
}

// Block is a Paragraph, List, Table, Command, Case, Details, Figures, Raw, or one of them Only
// for some media.
type Block any

// Only shows blocks in some of the media.
type Only struct {
	In     Medium
	Blocks []Block
}

// For returns blocks that only some media show.
func For(in Medium, blocks ...Block) Only { return Only{in, blocks} }

// visible are the blocks that a medium shows.
func visible(blocks []Block, in Medium) (shown []Block) {
	for _, b := range blocks {
		if o, some := b.(Only); !some {
			shown = append(shown, b)
		} else if o.In.shows(in) {
			shown = append(shown, visible(o.Blocks, in)...)
		}
	}
	return shown
}

// visibleSections are the sections that a medium shows, with the blocks that it shows.
func (d *Document) visibleSections(in Medium) (shown []Section) {
	for _, s := range d.Sections {
		if s.Blocks = visible(s.Blocks, in); s.In.shows(in) && len(s.Blocks) > 0 {
			shown = append(shown, s)
		}
	}
	return shown
}

// Paragraph is some sentences.
type Paragraph struct {
	Look Look
	Text Text
}

// Look is how much a paragraph stands out.
type Look string

// The looks, as the page's style names them.
const (
	Plain    Look = ""
	Headline Look = "headline"
	Prose    Look = "prose" // at most as wide as a line of text
	Muted    Look = "quiet"
	Quote    Look = "quote"
)

// Para is a paragraph of plain words.
func Para(words string) Paragraph { return Paragraph{Plain, Text{{Words: words}}} }

// Styled is a paragraph that stands out more, or less.
func Styled(look Look, words string) Paragraph { return Paragraph{look, Text{{Words: words}}} }

// Paras are paragraphs, one for each text.
func Paras(look Look, texts []string) Only {
	var all Only
	for _, text := range texts {
		all.Blocks = append(all.Blocks, Styled(look, text))
	}
	return all
}

// List is a list of points.
type List []Text

// Points are a list of plain words.
func Points(texts []string) List {
	var all List
	for _, text := range texts {
		all = append(all, Text{{Words: text}})
	}
	return all
}

// Command is a command to copy, or other code.
type Command struct {
	Lines string
	Code  bool   // it is no command: Markdown names no shell
	Name  string // in front of it in a terminal; "" leaves it out there
}

// Case is something that was found, and what shows it.
type Case struct {
	Verdict checker.Verdict
	Title   string // "" leaves it out
	Reason  string
	Blocks  []Block
}

// Details are folded on a page until somebody asks for them.
type Details struct {
	Title  string
	Open   bool
	ID     string
	Blocks []Block
}

// Figures are pictures beside each other. Only pages have them.
type Figures struct {
	Wide    bool
	Legend  []Key
	Figures []Figure
}

// Figure is a picture.
type Figure struct {
	Name, Note string
	SVG        template.HTML
}

// Key says what a colour of figures stands for: a class of the page's style.
type Key struct{ Class, Words string }

// Numbers are the few figures that stand out at the top of a page.
type Numbers []Number

// Number is one of them.
type Number struct {
	Name, Value, Unit, Note string
	Bad                     bool
}

// Raw is a part of a page that is made elsewhere. Only pages have it.
type Raw template.HTML

// Table is a table. The first column says what a row is about.
type Table struct {
	ID       string
	Caption  string
	Columns  []Column
	Rows     []Row
	Empty    string // what stands in place of rows, if there are none
	Look     string // a class of the page's style; "sortable" for a table that the script sorts
	Keys     int    // columns that a terminal repeats where a table does not fit; 0: one
	Brief    int    // rows that a terminal shows, 0: all
	HeadLess bool   // a terminal shows no head
}

// Column is a column of a table.
type Column struct {
	Head   string
	Number bool // to the right
	Fit    Fit
	In     Medium
}

// Fit is what a terminal does with a column where the table does not fit.
type Fit int

// A column stays as it is, loses the middle of its texts as far as they still differ, or
// loses their ends.
const (
	Whole Fit = iota
	Middle
	End
)

// Left are columns of words, and Right columns of numbers.
func Left(heads ...string) []Column { return columns(false, heads) }

// Right are columns of numbers.
func Right(heads ...string) []Column { return columns(true, heads) }

func columns(number bool, heads []string) (all []Column) {
	for _, head := range heads {
		all = append(all, Column{Head: head, Number: number})
	}
	return all
}

// Row is a row of a table, with a cell for every column, also for one that a medium leaves
// out. Cells at its end may be missing: they are empty.
type Row struct {
	Cells     []Text
	ID, Class string
}

func (r *Row) cell(column int) Text {
	if column < len(r.Cells) {
		return r.Cells[column]
	}
	return nil
}

// Cells make a row. A cell is a string, a Span or a Text.
func Cells(cells ...any) Row {
	var r Row
	for _, c := range cells {
		switch c := c.(type) {
		case Text:
			r.Cells = append(r.Cells, c)
		case Span:
			r.Cells = append(r.Cells, Text{c})
		default:
			r.Cells = append(r.Cells, Text{{Words: c.(string)}})
		}
	}
	return r
}

// Text is words in one line.
type Text []Span

// Span is words that look alike.
type Span struct {
	Words   string
	Mark    Mark
	Verdict checker.Verdict // of a Badge
	Link    string          // to a file beside the page, or "#" and an id
	Data    any             // of a link, for the page's script
	Sort    any             // by what a sortable table sorts the cell, in place of its words
	Title   string          // of a page, to point at
	In      Medium
}

// in are the spans that a medium shows.
func (t Text) in(m Medium) (shown Text) {
	for _, s := range t {
		if s.In.shows(m) {
			shown = append(shown, s)
		}
	}
	return shown
}

// Mark is how words stand out.
type Mark string

// The marks.
const (
	None   Mark = ""
	Strong Mark = "strong"
	Quiet  Mark = "quiet" // on a page
	Code   Mark = "code"
	Badge  Mark = "badge" // coloured by a verdict; Markdown makes one bold that is no pass
	Line   Mark = "line"  // on a page these words begin a line, and are quiet
)

// Words are a text without marks.
func Words(words string) Text { return Text{{Words: words}} }

// Of is a verdict as a word.
func Of(v checker.Verdict) Span { return Judged(v, v.String()) }

// Judged is a word that a verdict colours.
func Judged(v checker.Verdict, words string) Span { return Span{Words: words, Mark: Badge, Verdict: v} }

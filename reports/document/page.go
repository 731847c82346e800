package document

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"
)

//go:embed style.css
var style string

//go:embed page.tmpl
var pageText string

// page is what the template is executed with.
type page struct {
	*Document
	Head   []Block
	Main   []Section
	Common template.CSS
	Policy string // what admits the page's own script
}

// HTML returns the document as one file that needs no network, no fonts and no scripts from
// elsewhere. The page's security policy admits its own script alone, by its hash.
func (d *Document) HTML() ([]byte, error) {
	p := page{Document: d, Common: template.CSS(style), Policy: "'none'", Main: d.visibleSections(Page)}
	if len(p.Main) > 0 && p.Main[0].Title == "" {
		p.Head, p.Main = p.Main[0].Blocks, p.Main[1:]
	}
	for i := range p.Main {
		if p.Main[i].ID == "" {
			p.Main[i].ID = fmt.Sprintf("s%d", i+1)
		}
	}
	if d.Script != "" {
		hash := sha256.Sum256([]byte(d.Script))
		p.Policy = "'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'"
	}
	t := template.New("page")
	t.Funcs(template.FuncMap{"blocks": func(blocks []Block) (template.HTML, error) { return html(t, blocks) }, "cell": cellOf, "link": link, "isPage": func(c Column) bool { return c.In.shows(Page) }})
	if _, err := t.Parse(pageText); err != nil {
		return nil, fmt.Errorf("document: page: %w", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, &p); err != nil {
		return nil, fmt.Errorf("document: page of %s: %w", d.Title, err)
	}
	return out.Bytes(), nil
}

// html are blocks by the templates named after their types.
func html(t *template.Template, blocks []Block) (template.HTML, error) {
	var out bytes.Buffer
	for _, b := range visible(blocks, Page) {
		if raw, made := b.(Raw); made {
			out.WriteString(string(raw))
			continue
		}
		name := strings.TrimPrefix(fmt.Sprintf("%T", b), "document.")
		if err := t.ExecuteTemplate(&out, name, b); err != nil {
			return "", err
		}
	}
	return template.HTML(out.String()), nil
}

// cell is a cell of a page's table.
type cell struct {
	Column
	Text
	First bool
}

// Sort is by what the cell is sorted, "" by its words.
func (c cell) Sort() any {
	for _, s := range c.Text {
		if s.Sort != nil {
			return s.Sort
		}
	}
	return nil
}

// cellOf is the cell of a row in a column.
func cellOf(t Table, r Row, i int) cell { return cell{t.Columns[i], r.cell(i).in(Page), i == 0} }

// link is where a link leads: to a place of the page, or to a file beside it.
func link(path string) template.URL {
	if strings.HasPrefix(path, "#") {
		return template.URL(path) // ids are our own words
	}
	return template.URL(Relative(path))
}

// Relative is a link to a file beside the page, whatever its name holds. The
// leading "./" keeps a name with a colon from being read as a scheme.
func Relative(path string) string {
	var out strings.Builder
	out.WriteString("./")
	for _, b := range []byte(path) {
		switch {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9', strings.IndexByte("-_.~/", b) >= 0:
			out.WriteByte(b)
		default:
			fmt.Fprintf(&out, "%%%02X", b)
		}
	}
	return out.String()
}

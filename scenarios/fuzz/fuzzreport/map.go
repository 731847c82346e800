package fuzzreport

import (
	"fmt"
	"io"
	"strings"

	"github.com/recount-io/recount/scenarios/fuzz"
)

// chart is the map as it is drawn: one row for each fault, in it one field for
// each role and point of the lease's life, and in that one cell for each call
// under way.
type chart struct {
	roles, points []string
	rows          []row
}

type row struct {
	fault  string
	fields [][]field // by role, by point
}

// field is what is known about a fault, a role and a point.
type field struct {
	cells              []fuzz.Cell
	reached, reachable int
}

func draw(c *fuzz.Coverage) chart {
	names, roles, points := c.Names()
	m := chart{roles: roles, points: points}
	at := map[string]int{}
	for i, name := range names {
		at[name] = i
		fields := make([][]field, len(roles))
		for j := range fields {
			fields[j] = make([]field, len(points))
		}
		m.rows = append(m.rows, row{name, fields})
	}
	place := func(names []string, name string) int {
		for i := range names {
			if names[i] == name {
				return i
			}
		}
		return 0
	}
	c.Each(func(cell fuzz.Cell) {
		f := &m.rows[at[cell.Fault]].fields[place(roles, cell.Role)][place(points, cell.Point)]
		f.cells = append(f.cells, cell)
		if !cell.Reachable {
			return
		}
		f.reachable++
		if cell.Count > 0 {
			f.reached++
		}
	})
	return m
}

// levels say how many of a field's cells were reached: none, some, all.
var levels = []rune(".▂▄▆█")

func (f *field) rune() rune {
	switch {
	case f.reachable == 0:
		return ' '
	case f.reached == 0:
		return levels[0]
	case f.reached == f.reachable:
		return levels[len(levels)-1]
	default:
		return levels[1+(f.reached*(len(levels)-2))/f.reachable]
	}
}

// Map draws the map for a terminal of 80 columns.
func Map(w io.Writer, c *fuzz.Coverage) {
	m := draw(c)
	reached, reachable := c.Cells()
	fmt.Fprintf(w, "Coverage %.0f %%: %d of %d moments that faults can meet\n\n", 100*c.Share(), reached, reachable)
	head := fmt.Sprintf("  %-20s", "")
	for _, role := range m.roles {
		head += fmt.Sprintf("%-*s", len(m.points)+3, role)
	}
	fmt.Fprintln(w, strings.TrimRight(head, " "))
	for _, row := range m.rows {
		line := fmt.Sprintf("  %-20s", row.fault)
		for _, fields := range row.fields {
			for i := range fields {
				line += string(fields[i].rune())
			}
			line += "   "
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
	fmt.Fprintf(w, "\n  Columns: the lease is %s.\n  Height: with how many of the calls that can be under way just then;\n  %c none, %c all, blank: cannot be.\n",
		strings.Join(m.points, ", "), levels[0], levels[len(levels)-1])
}

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// sample is what was measured of one library.
type sample []time.Duration

// quantile is the smallest value that at least a share q does not exceed.
func (s sample) quantile(q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(s))
	i := int(q*float64(len(sorted))+0.999999) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

func (s sample) String() string {
	return fmt.Sprintf("n %d, median %v, p90 %v, p99 %v, max %v", len(s), s.quantile(.5), s.quantile(.9), s.quantile(.99), s.quantile(1))
}

// ratio is a to b, with two figures that mean something.
func ratio(a, b float64) string {
	if b == 0 {
		return "–"
	}
	return figure(a / b)
}

func figure(x float64) string {
	switch {
	case x >= 100 || x <= -100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10 || x <= -10 || x == float64(int(x)):
		return strings.TrimSuffix(fmt.Sprintf("%.1f", x), ".0")
	default:
		return fmt.Sprintf("%.2f", x)
	}
}

// table is one in Markdown.
type table struct {
	b     strings.Builder
	goals []string
}

// goal adds a line below the table.
func (t *table) goal(format string, arguments ...any) {
	t.goals = append(t.goals, "- "+fmt.Sprintf(format, arguments...)+"\n")
}

func (t *table) String() string { return t.b.String() + "\n" + strings.Join(t.goals, "") }

func (t *table) head(title, explanation string, columns ...string) {
	fmt.Fprintf(&t.b, "### %s\n\n%s\n\n", title, explanation)
	t.row(columns...)
	t.row(slices.Repeat([]string{"---"}, len(columns))...)
}

func (t *table) row(cells ...string) { fmt.Fprintf(&t.b, "| %s |\n", strings.Join(cells, " | ")) }

// verdict compares a figure with what was aimed at.
func verdict(value, goal float64) string {
	if value <= goal {
		return "reached"
	}
	return "missed: " + ratio(value, goal) + " times the goal"
}

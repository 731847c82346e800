package reports

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Sentences say what a run's processes consumed, and whether they grew.
func (u *Usage) Sentences() []string {
	typical, judged := u.typical()
	candidates := fmt.Sprintf("The candidates' processes: %s over %s; ", levels(typical), span(u.OverMS))
	grown := u.grown()
	switch {
	case len(grown) > 0:
		candidates += strings.Join(grown, "; ")
	case judged == 0:
		candidates += "the longest of them lived for " + span(u.longest()) + ", too short to tell whether one grows"
	default:
		candidates += "no growth seen"
		if lived := u.lived(); judged < lived {
			candidates += fmt.Sprintf(" in those %s of %s that lived long enough to tell", thousands(judged), thousands(lived))
		}
	}
	harness := "The harness: " + levels(u.Harness.Figures) + "; "
	if own := u.Harness.grown(true); len(own) > 0 {
		harness += "it grows by " + strings.Join(own, ", ")
	} else {
		harness += "no growth seen but that of the history, which it keeps in memory"
	}
	return []string{candidates + ".", harness + "."}
}

// typical are the figures of the candidate in the middle, and how many
// processes they rest on that lived long enough to report whether they grow.
func (u *Usage) typical() (out []Level, judged int) {
	for _, q := range quantities() {
		var start, end []float64
		sum := 0
		for _, c := range u.Candidates {
			for _, l := range c.Figures {
				if l.Name == q.name {
					start, end = append(start, l.Start), append(end, l.End)
					sum += l.Judged
				}
			}
		}
		if len(start) > 0 {
			out = append(out, Level{Name: q.name, Start: median(start), End: median(end)})
		}
		judged = max(judged, sum)
	}
	return out, judged
}

// lived is how many processes of candidates there were.
func (u *Usage) lived() int {
	sum := 0
	for _, c := range u.Candidates {
		sum += c.Processes
	}
	return sum
}

// longest is the longest life of a candidate's process.
func (u *Usage) longest() float64 {
	longest := 0.0
	for _, c := range u.Candidates {
		longest = max(longest, c.LongestMS)
	}
	return longest
}

// grown names the candidates that grow, and by what.
func (u *Usage) grown() []string {
	var out []string
	for _, c := range u.Candidates {
		if by := c.grown(false); len(by) > 0 {
			out = append(out, c.Node+" grows by "+strings.Join(by, ", "))
		}
	}
	return out
}

// grown says by what a process grows: "12 goroutines an hour". Memory is left
// out of one that keeps the history.
func (p ProcessUsage) grown(keeper bool) []string {
	var out []string
	for _, l := range p.Figures {
		q := l.quantity()
		if !l.Grows || keeper && q.memory {
			continue
		}
		by := q.amount(l.PerHour)
		if q.bytes {
			by += " of"
		}
		out = append(out, by+" "+q.words+" an hour")
	}
	return out
}

// levels lists figures from their start to their end.
func levels(figures []Level) string {
	var out []string
	for _, l := range figures {
		out = append(out, l.Words()+" "+l.Range())
	}
	return strings.Join(out, ", ")
}

// quantity is what the figure is of; one of another release has its bare name.
func (l Level) quantity() quantity {
	all := quantities()
	i := slices.IndexFunc(all, func(q quantity) bool { return q.name == l.Name })
	if i < 0 {
		return quantity{name: l.Name, words: l.Name}
	}
	return all[i]
}

// Words name the figure for people.
func (l Level) Words() string { return l.quantity().words }

// Range writes the figure at the run's start and end.
func (l Level) Range() string {
	q := l.quantity()
	if q.bytes {
		return strings.TrimSuffix(q.amount(l.Start), " MB") + " to " + q.amount(l.End)
	}
	return q.amount(l.Start) + " to " + q.amount(l.End)
}

// At writes a value of the figure.
func (l Level) At(value float64) string { return l.quantity().amount(value) }

// Growth writes by how much the figure grows in an hour.
func (l Level) Growth() string {
	if l.Judged == 0 {
		return "–"
	}
	return l.quantity().amount(l.PerHour)
}

// amount writes a value for people.
func (q quantity) amount(value float64) string {
	if q.bytes {
		return strconv.FormatFloat(value/1e6, 'f', 1, 64) + " MB"
	}
	return thousands(int(math.Round(value)))
}

// span writes how long something took, in the unit that fits.
func span(ms float64) string {
	switch d := time.Duration(ms * float64(time.Millisecond)); {
	case d >= 2*time.Hour:
		return strconv.FormatFloat(d.Hours(), 'f', 1, 64) + " h"
	case d >= 2*time.Minute:
		return strconv.FormatFloat(d.Minutes(), 'f', 0, 64) + " min"
	default:
		return strconv.FormatFloat(d.Seconds(), 'f', 0, 64) + " s"
	}
}

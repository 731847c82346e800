// Package spelling finds the name that somebody may have meant who wrote another one.
package spelling

import "strings"

// Suggest says what may have been meant by a name that is none of these: those that
// resemble it ("did you mean a or b?"), else all of them ("give one of a, b, c").
func Suggest(given string, names []string) string {
	if near := Near(given, names); len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	return "give one of " + strings.Join(names, ", ")
}

// Hint is what Suggest says of those that resemble the name, three at the most, to be
// put behind it (" (did you mean a or b?)"); empty if none does.
func Hint(given string, names []string) string {
	near := Near(given, names)
	if len(near) == 0 {
		return ""
	}
	return " (did you mean " + strings.Join(near[:min(len(near), 3)], " or ") + "?)"
}

// Near are those of the names that may have been meant.
func Near(given string, names []string) []string {
	var near []string
	for _, name := range names {
		if resembles(strings.ToLower(given), name) {
			near = append(near, name)
		}
	}
	return near
}

// resembles reports whether one name may have been meant by the other: a slip of
// some letters, or a part of it.
func resembles(given, name string) bool {
	const slips, part = 2, 4
	if len(given) > 2*len(name) {
		return false
	}
	return len(given) >= part && (strings.Contains(name, given) || strings.Contains(given, name)) || Distance(given, name) <= slips
}

// Distance is how many letters must be put in, taken out or replaced to make
// one word the other (Levenshtein 1965).
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = min(diagonal, row[j], row[j+1]) + 1
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

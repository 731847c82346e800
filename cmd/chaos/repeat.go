package main

import (
	"fmt"
	"strings"
)

// line is a command that repeats a run, word by word.
type line []string

// add adds words if they are needed.
func (l *line) add(needed bool, format string, args ...any) {
	if needed {
		*l = append(*l, fmt.Sprintf(format, args...))
	}
}

func (l *line) String() string { return strings.Join(*l, " ") }

package main

import (
	"io"
)

// summarise prints the summary of all runs.
func summarise(w io.Writer, out *output, again string, width int, color bool) error {
	return nil
}

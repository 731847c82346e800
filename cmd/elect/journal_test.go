package main

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
)

// Nobody waits for who reads the log; how many lines were lost is said, in the log's own
// form, when somebody reads again.
func TestJournal(t *testing.T) {
	r, w := io.Pipe()
	j := newJournal(w)
	log := j.logTo(func(to io.Writer) slog.Handler { return slog.NewJSONHandler(to, nil) })
	const lines = 3 * journalLines
	for i := range lines { // nobody reads
		log.Info(fmt.Sprint("line ", i))
	}
	text := make(chan string)
	go func() {
		content, _ := io.ReadAll(r) // it ends with the writer
		text <- string(content)
	}()
	j.close()
	_ = w.Close()
	got := <-text
	written, lost := strings.Count(got, `"msg":"line `), 0
	if _, after, reported := strings.Cut(got, `"lines":`); reported {
		if _, err := fmt.Sscan(strings.TrimRight(after, "}\n"), &lost); err != nil {
			t.Errorf("%v in %q", err, after)
		}
	}
	if written < journalLines || written+lost != lines || strings.Count(got, linesLost) != 1 {
		t.Errorf("%d lines are there, %d are said to be lost, and %d were written", written, lost, lines)
	}
}

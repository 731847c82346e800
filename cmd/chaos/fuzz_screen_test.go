package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestProgressWithoutTerminal shows that progress is a line on standard error every half
// minute if that is no terminal, and that standard output gets none of it.
func TestProgressWithoutTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, errs bytes.Buffer
		s := newFuzzScreen(Main{Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}, false)
		for range 650 {
			time.Sleep(100 * time.Millisecond)
			s.line("%d cases", 7)
		}
		s.clear()
		if lines := strings.Count(errs.String(), "7 cases\n"); lines != 2 || out.Len() > 0 || strings.ContainsAny(errs.String(), "\r\x1b") {
			t.Errorf("%d lines after 65 s, want 2\n%q\n%q", lines, errs.String(), out.String())
		}
	})
}

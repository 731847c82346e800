package main

import (
	"fmt"
	"time"

	"github.com/recount-io/recount/scenarios/fuzz"
	"github.com/recount-io/recount/scenarios/search"
)

// fuzzScreen shows how far a fuzz run or a replay is: in a status line if standard error is
// a terminal, and otherwise in a line of its own every half minute.
type fuzzScreen struct {
	*screen
	shown   time.Time
	printed time.Time // when the last line of its own was printed
	drawn   bool
}

// toldSeldom is how often a line of its own is printed.
const printEvery = 30 * time.Second

func newFuzzScreen(m Main, asJSON bool) *fuzzScreen {
	return &fuzzScreen{screen: newScreen(m, asJSON), printed: time.Now()}
}

// line replaces the status line.
func (s *fuzzScreen) line(format string, args ...any) {
	if !s.terminal {
		if time.Since(s.printed) >= printEvery {
			s.printed = time.Now()
			fmt.Fprintf(s.err, format+"\n", args...)
		}
		return
	}
	s.drawn = true
	text := []rune(fmt.Sprintf(format, args...))
	fmt.Fprintf(s.err, "\r%s\x1b[K", string(text[:min(len(text), s.width-1)]))
}

// clear takes the status line off.
func (s *fuzzScreen) clear() {
	if s.drawn {
		fmt.Fprint(s.err, "\r\x1b[K")
		s.drawn = false
	}
}

// progress shows how far a fuzz run has got.
func (s *fuzzScreen) progress(p fuzz.Progress) {
	if p.Shrinking == "" && time.Since(s.shown) < progressEvery {
		return
	}
	s.shown = time.Now()
	if p.Shrinking != "" {
		s.line("%d schedules: %s is broken; shrinking", p.Schedules, p.Shrinking)
		return
	}
	s.line("%d schedules, %.0f a second, coverage %.0f %%", p.Schedules, float64(p.Schedules)/p.Seconds, 100*p.Coverage)
}

// searchProgress shows how far a search has got.
func (s *fuzzScreen) searchProgress(p *search.Progress) {
	if p.Shrinking == "" && time.Since(s.shown) < progressEvery {
		return
	}
	s.shown = time.Now()
	if p.Shrinking != "" {
		s.line("%d cases: %s is broken; repeating and shrinking", p.Cases, p.Shrinking)
		return
	}
	s.line("%d cases, %.1f a second", p.Cases, float64(p.Cases)/max(p.Seconds, 1e-9))
}

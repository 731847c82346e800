package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/recount-io/recount/reports"
	"github.com/recount-io/recount/reports/document"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim/live"
)

const (
	defaultWidth = 80
	// startUp is what starting and ending a run's candidates takes, roughly:
	// only the progress bar believes it.
	startUp = time.Second
)

// screen is what a person sees of a run: a status line on a terminal, plain
// lines otherwise, and the summary at the end. With --json only the object
// goes to standard output.
type screen struct {
	out, err io.Writer
	asJSON   bool
	terminal bool
	width    int
	color    bool

	advise  sync.Once
	mu      sync.Mutex
	bar     *progressbar.ProgressBar
	stop    chan struct{}
	stopped sync.WaitGroup
	lengths map[string]time.Duration  // how long each scenario should take
	begun   map[string]time.Time      // those that run now
	acts    map[string]map[string]int // by scenario, the faults that are on
	past    time.Duration             // of scenarios that are done
	total   time.Duration
}

func newScreen(m Main, asJSON bool) *screen {
	s := &screen{
		out: m.Stdout, err: m.Stderr, asJSON: asJSON, width: defaultWidth,
		lengths: map[string]time.Duration{}, begun: map[string]time.Time{}, acts: map[string]map[string]int{},
		stop: make(chan struct{}),
	}
	if f, ok := m.Stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.terminal = true
	}
	if f, ok := m.Stdout.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.color = m.Getenv("NO_COLOR") == ""
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			s.width = width
		}
	}
	return s
}

// say prints a line for people, above the status line.
func (s *screen) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar != nil {
		_ = s.bar.Clear() // a status line that cannot be drawn is not worth failing for
	}
	w := s.out
	if s.asJSON {
		w = s.err
	}
	fmt.Fprintf(w, format+"\n", args...)
}

// announce says what is about to happen to so many scenarios.
func (s *screen) announce(world *place, set scenarios.Settings, scenarios, parallel int, dir string) {
	s.say("%s", world.says)
	noun := "scenarios"
	if scenarios == 1 {
		noun = "scenario"
	}
	s.say("Running %d %s, up to %d at once; seed %d, lease %v", scenarios, noun, min(parallel, scenarios), set.Seed, set.Timings().Lease)
	s.say("Reports: %s", dir)
}

// begin says what is about to happen, and begins the status line.
func (s *screen) begin(world *place, set scenarios.Settings, list []scenarios.Planned, parallel int, dir string) {
	s.announce(world, set, len(list), parallel, dir)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range list {
		plan := &list[i].Plan
		s.lengths[plan.Scenario] = startUp + plan.Schedule.End() + plan.Quiet
		s.total += s.lengths[plan.Scenario]
	}
	if s.terminal {
		s.bar = progressbar.NewOptions64(int64(s.total),
			progressbar.OptionSetWriter(s.err), progressbar.OptionSetWidth(20), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false))
		s.stopped.Go(s.animate)
	}
}

// animate moves the status line on.
func (s *screen) animate() {
	pace := time.NewTicker(200 * time.Millisecond)
	defer pace.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-pace.C:
			s.mu.Lock()
			s.draw()
			s.mu.Unlock()
		}
	}
}

func (s *screen) draw() {
	done := s.past
	var running []string
	for name, begun := range s.begun {
		done += min(time.Since(begun), s.lengths[name])
		var faults []string
		for fault, n := range s.acts[name] {
			if n > 0 {
				faults = append(faults, fault)
			}
		}
		if slices.Sort(faults); len(faults) > 0 {
			name += " (" + strings.Join(faults, ", ") + ")"
		}
		running = append(running, name)
	}
	slices.Sort(running)
	text := strings.Join(running, ", ")
	if room := s.width - 36; len(text) > room {
		text = text[:max(room-1, 0)] + "…"
	}
	s.bar.Describe(fmt.Sprintf("%-*s", s.width-36, text))
	_ = s.bar.Set64(int64(min(done, s.total-1))) // the last step would remove the line
}

// progress takes in what a run tells.
func (s *screen) progress(p live.Progress) {
	if p.Advice != "" {
		s.advise.Do(func() { s.say("%s", p.Advice) }) // the next scenario's would be much the same
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.acts[p.Scenario] == nil {
		s.acts[p.Scenario] = map[string]int{}
	}
	switch {
	case p.Phase == "started":
		s.begun[p.Scenario] = time.Now()
	case p.Fault != "" && p.On:
		s.acts[p.Scenario][p.Fault]++
	case p.Fault != "":
		s.acts[p.Scenario][p.Fault]--
	}
}

// missed names the scenarios that did not run: a suite that was stopped has not shown
// what they would have.
func (s *screen) missed(list []scenarios.Planned, ran func(name string) bool) {
	var left []string
	for i := range list {
		if name := list[i].Name; !ran(name) {
			left = append(left, name)
		}
	}
	if len(left) > 0 {
		s.say("Not run: %s", strings.Join(left, ", "))
	}
}

// done prints a scenario's verdict as soon as there is one. The error is that of the
// report, which could not be written.
func (s *screen) done(o scenarios.Outcome, rep *reports.Report, writing error) {
	s.mu.Lock()
	delete(s.begun, o.Scenario.Name)
	s.past += s.lengths[o.Scenario.Name]
	s.mu.Unlock()
	switch {
	case writing != nil:
		s.say("%s: no report: %s", o.Scenario.Name, explain(writing))
	case rep == nil:
		s.say("%s: no history: %s", o.Scenario.Name, explain(o.Err))
	case !s.terminal:
		s.say("%s: %v, failovers: %d", o.Scenario.Name, o.Verdict(), rep.FailoverMS.Count)
	}
}

// close takes the status line off.
func (s *screen) close() {
	s.mu.Lock()
	select {
	case <-s.stop:
	default:
		close(s.stop)
	}
	s.mu.Unlock()
	s.stopped.Wait()
	if s.bar != nil {
		_ = s.bar.Clear() // see say
		s.bar = nil
	}
}

// end prints the summary, or the object.
func (s *screen) end(out *output, f *runFlags, names []string) error {
	s.close()
	if s.asJSON {
		return printRuns(s.out, out.reports)
	}
	again := "chaos run " + strings.TrimSpace(strings.Join(names, " ")+" "+f.settings.Flags)
	return summarise(s.out, out, again, s.width, s.color)
}

// printRuns prints the one object of --json.
func printRuns(w io.Writer, runs []*reports.Report) error {
	if runs == nil {
		runs = []*reports.Report{}
	}
	return json.NewEncoder(w).Encode(map[string]any{"runs": runs})
}

// format makes one of the files of a report.
type format[R any] func(report R) ([]byte, error)

// publish writes the files of a report into a folder: those of formats, the document as a
// page and as Markdown. Then it shows the report: with --json the
// file called object, and otherwise the document.
func publish[R any](s *screen, dir string, report R, doc *document.Document, page, markdown string, formats map[string]format[R], object string) error {
	s.close()
	html, err := doc.HTML()
	if err != nil {
		return err
	}
	texts := map[string][]byte{page: html, markdown: doc.Markdown()}
	for name, text := range formats {
		if texts[name], err = text(report); err != nil {
			return err
		}
	}
	if err := writeFiles(dir, texts); err != nil {
		return err
	}
	if s.asJSON {
		_, err := s.out.Write(texts[object])
		return err
	}
	return doc.Print(s.out, reports.Screen{Width: s.width, Color: s.color, Where: filepath.Join(dir, page)})
}

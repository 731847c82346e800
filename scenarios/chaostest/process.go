package chaostest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/sim/candidate"
	"github.com/recount-io/recount/sim/live"
)

// work does the work of a process that Run has started, and ends it.
func (s *settings) work(t *testing.T) {
	t.Helper()
	private, err := takeOutput()
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaostest: standard output:", err)
		os.Exit(statusFailed)
	}
	os.Stdout = private
	fmt.Fprintln(private) // what was printed before may not have ended its line
	live.Main()
	candidate.Main(map[string]candidate.Subject{subject: func(ctx context.Context, h *candidate.Host) error {
		os.Stdout = os.Stderr // what the elector prints is no line of the protocol
		err := s.compete(ctx, h)
		var panicked *candidate.PanicError
		if errors.As(err, &panicked) {
			fmt.Fprintf(os.Stderr, "panic: %s\n\n%s\n", panicked.Value, panicked.Stack)
			os.Exit(statusPanicked)
		}
		return err
	}})
	if os.Getenv(envCell) != "" {
		os.Stdout = os.Stderr
		s.cell = true
		s.inCell(private)
	}
	s.inBubble(t, os.Getenv(envJob))
}

// The statuses with which processes end: that of a Go program that panicked, and that
// of one that could not do its work.
const (
	statusPanicked = 2
	statusFailed   = 70
)

// blame begins the notes in a history that say what is wrong with the elector, whatever
// promises it has kept.
const blame = "the elector "

// compete lets one candidate compete: it is the elector as a subject.
func (s *settings) compete(ctx context.Context, h *candidate.Host) error {
	c, err := newCandidate(ctx, h)
	if err != nil {
		return err
	}
	returned := make(chan error, 1)
	go func() { returned <- s.call(ctx, c) }()
	select {
	case err = <-returned:
	case <-ctx.Done():
		return s.leave(c, returned)
	}
	var panicked *candidate.PanicError
	switch {
	case errors.As(err, &panicked):
		h.Note(blame+"panicked: %s", panicked.Value)
		return err
	case ctx.Err() != nil:
		return nil
	case err != nil:
		err = fmt.Errorf(blame+"returned before its context was done: %w", err)
	default:
		err = errors.New(blame + "returned before its context was done, without an error: it must compete until then")
	}
	h.Note("%s", firstLine(err.Error()))
	return err
}

// leave waits for the elector to return after its context was done.
func (s *settings) leave(c *Candidate, returned <-chan error) error {
	patience := 10*c.Lease + 10*time.Second
	if s.cell { // no machine is busy, and a fault that dismisses waits no longer
		patience = max(5*time.Second, c.Lease) - time.Millisecond
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case err := <-returned:
		var panicked *candidate.PanicError
		if errors.As(err, &panicked) {
			c.host.Note(blame+"panicked: %s", panicked.Value)
			return err
		}
		return nil
	case <-late.C:
		err := fmt.Errorf(blame+"did not return within %v after its context was done", patience)
		c.host.Note("%s", err.Error())
		return err
	}
}

// call calls New, and makes an error of its panic.
func (s *settings) call(ctx context.Context, c *Candidate) (err error) {
	ended := false
	defer func() {
		switch value := recover(); {
		case value != nil:
			err = &candidate.PanicError{Value: firstLine(fmt.Sprint(value)), Stack: debug.Stack()}
		case !ended: // by runtime.Goexit, as the methods of a test that has failed do
			err = errors.New("its goroutine was ended: New must not call FailNow, Fatal or Skip of a test")
		}
	}()
	err = s.elector(ctx, c)
	ended = true
	return err
}

// firstLine is what a text says in one line.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

package supervisor

import (
	"context"
	"fmt"
	"strings"
)

// markerVariable is the variable of the environment whose value is a marker.
const markerVariable = "RECOUNT_MARKER"

// Marker finds processes that have left their process group. A process that is started
// with its Variable hands that on to its children, wherever they go. On Linux they can be
// found by it; elsewhere none is. One that gives its children another environment hides
// them.
type Marker struct {
	supervisor *Supervisor
	name       string
}

// Marker makes a new one. What has it is ended when the harness ends, if it was not
// before by End.
func (w *Supervisor) Marker() (*Marker, error) {
	m := &Marker{supervisor: w, name: Name("run")}
	if err := w.tell("marker", m.name); err != nil {
		return nil, err
	}
	return m, nil
}

// Variable is what the environment of a process has to have: "NAME=VALUE".
func (m *Marker) Variable() string { return markerVariable + "=" + m.name }

// End ends, by SIGKILL, every process that has the variable. Nothing is started with
// it any more then.
func (m *Marker) End() error {
	ctx, cancel := context.WithTimeout(context.Background(), guardTimeout)
	defer cancel()
	if err := endMarked(ctx, m.name); err != nil {
		return fmt.Errorf("supervisor: %w", err)
	}
	return m.supervisor.tell("forget-marker", m.name)
}

// endMarked ends the processes that have the marker, and those that they start
// meanwhile.
func endMarked(ctx context.Context, name string) error {
	if !strings.HasPrefix(name, Prefix) {
		return fmt.Errorf("%q is no marker of a supervisor: nothing is ended", name)
	}
	for {
		left := killMarked(markerVariable + "=" + name)
		if left == 0 {
			return nil
		}
		if !pause(ctx) {
			return fmt.Errorf("%d processes that left their process group are still alive after SIGKILL", left)
		}
	}
}

package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/sim/space"
)

// file is a failure as it is kept.
type file struct {
	Space      string          `json:"space"`
	Obligation string          `json:"obligation"`
	Details    string          `json:"details"`
	Says       string          `json:"says,omitempty"`
	Number     uint64          `json:"number"`
	Limit      time.Duration   `json:"limit,omitempty"` // in nanoseconds; 0: the default
	Case       json.RawMessage `json:"case"`
}

// Marshal returns the text of a file that Parse reads.
func (f *Failure) Marshal() ([]byte, error) {
	text, err := json.Marshal(f.Case)
	if err == nil {
		text, err = json.MarshalIndent(file{f.Space.Name, f.Finding.Obligation, f.Finding.Details, f.Says(), f.Number, f.Limit, text}, "", "  ")
	}
	if err != nil {
		return nil, fmt.Errorf("search: case %d of %s cannot be written: %w", f.Number, f.Space.Name, err)
	}
	return append(text, '\n'), nil
}

// IsFile reports whether a text is one of Marshal's, of whatever version.
func IsFile(text []byte) bool {
	var f struct {
		Space string          `json:"space"`
		Case  json.RawMessage `json:"case"`
	}
	return json.Unmarshal(text, &f) == nil && f.Space != "" && f.Case != nil
}

// Parse reads a failure.
func Parse(text []byte) (Failure, error) {
	var f file
	if err := strictly(text, &f); err != nil {
		return Failure{}, fmt.Errorf("the file was written by another version (%w): search again", err)
	}
	s, err := Find(f.Space)
	if err != nil {
		return Failure{}, fmt.Errorf("the file was written by another version (it is of the space %q): search again", f.Space)
	}
	c, err := s.parse(f.Case)
	if err != nil {
		return Failure{}, fmt.Errorf("the case was written by another version (%w): search again", err)
	}
	return Failure{Space: s, Number: f.Number, Limit: f.Limit, Finding: space.Finding{Obligation: named(f.Obligation), Details: f.Details}, Case: c}, nil
}

// renamed are names that obligations had in earlier versions.
var renamed = map[string]string{"dead heir": "dead successor", "wrong heir": "wrong successor"}

// named is the obligation, or the promise, that is meant by a name in a file.
func named(obligation string) string {
	if now, ok := renamed[obligation]; ok {
		return now
	}
	return string(checker.Named(obligation))
}

// Replay is what came of running the case of a failure again.
type Replay struct {
	Runs     int
	Failed   int             // of these
	Findings []space.Finding // of the last run that broke the obligation, else of the last run
	Log      []string        // likewise
	History  []byte          // likewise
}

// Replay runs the case again, [Failure.Repeats] times or until its obligation is broken.
func (f *Failure) Replay(ctx context.Context) (r Replay, err error) {
	w := worker{limit: f.Limit}
	defer w.close()
	for r.Runs < f.Repeats() && r.Failed == 0 {
		a, err := w.try(ctx, f.Space, f.Case, true)
		if err != nil {
			return r, errors.Join(err, ctx.Err())
		}
		r.Runs++
		if _, is := a.breaks(f.Finding.Obligation); is {
			r.Failed++
		}
		r.Findings, r.Log, r.History = a.Findings, a.Log, a.History
	}
	return r, nil
}

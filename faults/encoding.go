package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// stepJSON is a step in a file.
type stepJSON struct {
	At     string         `json:"at"`
	For    *string        `json:"for,omitempty"` // nil: over once applied
	Fault  string         `json:"fault"`
	Target *string        `json:"target"`
	Params map[string]any `json:"params,omitempty"`
}

// MarshalJSON writes the step in one object, as in
//
//	{"at":"1.5s","for":"2s","fault":"latency","target":"the leader","params":{"base_ms":40,"jitter_ms":10}}
//
// Times are those of time.Duration, the fault's name and parameters those of
// the history, the target is called by its String. For a fault that is over
// once applied, "for" is left out where it is 0.
//
// It is an error if the step could not be read back as exactly what it is.
func (s Step) MarshalJSON() ([]byte, error) {
	if s.Fault == nil {
		return nil, errors.New("faults: a step without a fault cannot be written")
	}
	target, err := s.Target.MarshalText()
	if err != nil {
		return nil, err
	}
	whom := string(target)
	text := stepJSON{At: s.At.String(), Fault: s.Fault.Name(), Target: &whom, Params: s.Fault.Params()}
	if s.For != 0 || !s.Fault.Effect().Instant {
		length := s.For.String()
		text.For = &length
	}
	if err := s.timely(); err != nil {
		return nil, err
	}
	switch again, err := Parse(text.Fault, text.Params); {
	case err != nil:
		return nil, err
	case again != s.Fault:
		return nil, fmt.Errorf("faults: %s cannot be written exactly: its parameters %v would be read as %v", text.Fault, text.Params, again.Params())
	}
	return json.Marshal(text)
}

// UnmarshalJSON reads what MarshalJSON writes. It refuses what it does not
// know, negative times, and faults with missing or senseless parameters; the
// error says in one line what is wrong and what to give instead.
func (s *Step) UnmarshalJSON(data []byte) error {
	var text stepJSON
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&text); err != nil {
		return fmt.Errorf("faults: this is no step with at, for, fault, target and params: %w", err)
	}
	if text.Fault == "" {
		return errors.New(`faults: "fault" is missing: give a fault's name, such as "pause"`)
	}
	f, err := Parse(text.Fault, text.Params)
	if err != nil {
		return err
	}
	if text.Target == nil {
		return fmt.Errorf(`faults: %s: "target" is missing: %s`, text.Fault, targetHelp)
	}
	step := Step{Fault: f}
	if step.Target, err = ParseTarget(*text.Target); err != nil {
		return err
	}
	if step.At, err = duration("at", text.At); err != nil {
		return fmt.Errorf("faults: %s: %w", text.Fault, err)
	}
	if text.For == nil && !f.Effect().Instant {
		return fmt.Errorf(`faults: %s: "for" is missing: give how long it lasts, such as "2s"`, text.Fault)
	}
	if text.For != nil {
		if step.For, err = duration("for", *text.For); err != nil {
			return fmt.Errorf("faults: %s: %w", text.Fault, err)
		}
	}
	if err := step.timely(); err != nil {
		return err
	}
	*s = step
	return nil
}

func duration(field, text string) (time.Duration, error) {
	if text == "" {
		return 0, fmt.Errorf(`%q is missing: give a time, such as "1.5s"`, field)
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf(`%q is %q: give a time, such as "1.5s"`, field, text)
	}
	return d, nil
}

// timely refuses times that no run can keep.
func (s Step) timely() error {
	switch {
	case s.At < 0:
		return fmt.Errorf(`faults: %s: "at" is %v: give a time from 0s on`, s.Fault.Name(), s.At)
	case s.For < 0:
		return fmt.Errorf(`faults: %s: "for" is %v: give a time from 0s on`, s.Fault.Name(), s.For)
	case s.At+s.For < 0:
		return fmt.Errorf(`faults: %s: "at" %v and "for" %v are more than 290 years: give less`, s.Fault.Name(), s.At, s.For)
	default:
		return nil
	}
}

// MarshalJSON writes the schedule as a list of its steps, in its own order.
func (s Schedule) MarshalJSON() ([]byte, error) {
	list := make([]json.RawMessage, len(s))
	for i, step := range s {
		text, err := step.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
		list[i] = text
	}
	return json.Marshal(list)
}

// UnmarshalJSON reads a list of steps, see Step.UnmarshalJSON. An error names
// the step by its place, from 1.
func (s *Schedule) UnmarshalJSON(data []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return fmt.Errorf("faults: a schedule is a list of steps: %w", err)
	}
	if list == nil {
		return errors.New("faults: there is no schedule: give a list of steps, [] for none")
	}
	schedule := make(Schedule, len(list))
	for i, text := range list {
		if err := schedule[i].UnmarshalJSON(text); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	*s = schedule
	return nil
}

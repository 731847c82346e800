package campaign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Version is that of the files that Marshal writes and Parse reads.
const Version = 1

// Kind says what a campaign does.
type Kind string

// The kinds.
const (
	Fuzz    Kind = "fuzz"    // chaos fuzz: a unit is a block of schedules
	Search  Kind = "search"  // chaos fuzz --in: a unit is a case, and a shard a range of places
	Trial   Kind = "trial"   // chaos trial: a unit is a subject in a scenario
	Mutants Kind = "mutants" // chaos mutants hunt: a unit is a mutant
)

// Plan is all that decides what a campaign does. Files of one plan can be merged.
type Plan struct {
	Kind     Kind            `json:"kind"`
	Seed     uint64          `json:"seed"`
	Of       int             `json:"of"`       // how many shards there are
	Settings json.RawMessage `json:"settings"` // what else decides what is drawn, in the kind's own words
	Command  string          `json:"command"`  // of the whole campaign; a shard's has --shard besides
	Program  string          `json:"program"`  // the version of the program that drew it
}

// File is what some shards of a campaign came to: one of them, or those that
// were merged.
type File struct {
	Plan
	Shards []Part // in their order; two of one shard are there only if they differ

	// Name is where the file is from, for messages.
	Name string
}

// Part is what one shard came to.
type Part struct {
	Shard     int             `json:"shard"`              // counted from 1
	Processor float64         `json:"processor_seconds"`  // that it took
	Result    json.RawMessage `json:"result"`             // follows from the plan and the shard alone; in the kind's own words
	Measured  json.RawMessage `json:"measured,omitempty"` // depends on the machine; in the kind's own words
}

// New is the file of one shard. The settings, the result and what was measured
// (nil: nothing) are values that marshal to JSON.
func New(p Plan, shard Shard, settings, result, measured any, processor float64) (*File, error) {
	var err error
	p.Of = shard.Of
	if p.Settings, err = raw(settings); err != nil {
		return nil, err
	}
	part := Part{Shard: shard.Index, Processor: processor}
	if part.Result, err = raw(result); err != nil {
		return nil, err
	}
	if measured != nil {
		if part.Measured, err = raw(measured); err != nil {
			return nil, err
		}
	}
	return &File{Plan: p, Shards: []Part{part}}, nil
}

// raw is a value in JSON, in one line, and the same however often it is read
// and written.
func raw(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("campaign: %w", err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// Marshal writes the file: the plan, and one line for each shard.
func (f *File) Marshal() ([]byte, error) {
	plan, err := raw(f.Plan)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"recount_campaign\":%d,%s,\n\"shards\":[", Version, plan[1:len(plan)-1]) // without its brackets
	for i := range f.Shards {
		part, err := raw(&f.Shards[i])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
		b.Write(part)
	}
	b.WriteString("\n]}\n")
	return b.Bytes(), nil
}

// written is a file as it is read.
type written struct {
	Version *int `json:"recount_campaign"`
	Plan
	Shards []Part `json:"shards"`
}

// Parse reads a file that Marshal wrote. The name is where it is from; an error
// begins with it, is one sentence, and says what to do.
func Parse(name string, data []byte) (*File, error) {
	var w written
	refuse := func(format string, args ...any) (*File, error) {
		return nil, fmt.Errorf("%s is no file of a campaign: "+format, append([]any{name}, args...)...)
	}
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return refuse("it is no JSON object; give files that a command with --shard wrote, or \"chaos merge\"")
	}
	if err := json.Unmarshal(data, &struct {
		Version **int `json:"recount_campaign"`
	}{&w.Version}); err != nil {
		return refuse("%w; copy it again, or leave it out: its shard counts as missing then", err)
	}
	switch {
	case w.Version == nil:
		return refuse("\"recount_campaign\" is missing; give files that a command with --shard wrote, or \"chaos merge\"")
	case *w.Version != Version:
		return refuse("it is of version %d, and this program reads version %d; use the program that wrote it", *w.Version, Version)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&w); err != nil {
		return refuse("%w; use the program that wrote it", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return refuse("something follows its end; copy it again")
	}
	if w.Of < 1 || w.Of > Most || len(w.Settings) == 0 {
		return refuse("its plan makes no sense; use the program that wrote it")
	}
	for _, p := range w.Shards {
		if p.Shard < 1 || p.Shard > w.Of || len(p.Result) == 0 || p.Processor < 0 {
			return refuse("shard %d of %d makes no sense; use the program that wrote it", p.Shard, w.Of)
		}
	}
	f := &File{Plan: w.Plan, Shards: w.Shards, Name: name}
	return f, f.compact()
}

// compact writes what is in JSON in one line: somebody may have made it prettier.
func (f *File) compact() error {
	all := []*json.RawMessage{&f.Settings}
	for i := range f.Shards {
		all = append(all, &f.Shards[i].Result, &f.Shards[i].Measured)
	}
	for _, text := range all {
		if len(*text) == 0 {
			continue
		}
		var b bytes.Buffer
		if err := json.Compact(&b, *text); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err) // it was read without an error before
		}
		*text = b.Bytes()
	}
	return nil
}

// Read reads JSON in a kind's own words into a value, and refuses what it does
// not know.
func Read(text json.RawMessage, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

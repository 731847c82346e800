package fuzz

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim"
)

// Version is that of the files that Marshal writes and Parse reads.
const Version = 1

// FormatError says in one line what is wrong with a file, and how to mend it.
type FormatError struct{ problem string }

func (e *FormatError) Error() string { return "no replay file: " + e.problem }

func wrong(format string, args ...any) error { return &FormatError{fmt.Sprintf(format, args...)} }

// file is a case in a file. What is nil was not given.
type file struct {
	Version  *int             `json:"recount_replay"`
	Broke    *checker.Promise `json:"broke,omitempty"`
	Reason   *string          `json:"reason,omitempty"`
	Subject  *string          `json:"subject"`
	World    *string          `json:"world"`
	Seed     *uint64          `json:"seed"`
	Nodes    *int             `json:"nodes"`
	Lease    *span            `json:"lease"`
	Renew    *span            `json:"renew"`
	Retry    *span            `json:"retry"`
	Drift    *float64         `json:"drift"`
	Network  *network         `json:"network,omitempty"`
	Writes   *span            `json:"writes,omitempty"`
	Observes *span            `json:"observes,omitempty"`
	Tokens   uint64           `json:"tokens,omitempty"`
	Longer   *span            `json:"long_lease,omitempty"`
	Hands    bool             `json:"hands_over,omitempty"`
	Schedule faults.Schedule  `json:"schedule"`
	Quiet    *span            `json:"quiet,omitempty"`
	Return   *span            `json:"return_within,omitempty"`
	Failover *span            `json:"failover_excess,omitempty"`
	Calm     *bool            `json:"steadfast,omitempty"`
	Waived   *waived          `json:"waived,omitempty"`
}

type waived = map[checker.Promise]string

// network is sim.Network in a file.
type network struct {
	Latency  span `json:"latency"`
	Jitter   span `json:"jitter"`
	SpikesIn int  `json:"spike_one_in,omitempty"`
	Spike    span `json:"spike,omitempty"`
	LossesIn int  `json:"loss_one_in,omitempty"`
}

// span is a time as Go writes it.
type span time.Duration

func (s span) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

func (s *span) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil {
		return wrong("%q is no time: give one such as \"1.5s\"", text)
	}
	*s = span(d)
	return nil
}

// Marshal writes the case as a file that people can read, one step of the
// schedule a line. It is an error if it could not be read back.
func (c *Case) Marshal() ([]byte, error) {
	var b bytes.Buffer
	for i, field := range c.fields() {
		if i == 0 {
			b.WriteString("{")
		} else {
			b.WriteString(",")
		}
		value, err := compact(field.value)
		if err != nil {
			return nil, fmt.Errorf("fuzz: write %s of a case: %w", field.name, err)
		}
		fmt.Fprintf(&b, "\n  %q: %s", field.name, value)
	}
	b.WriteString("\n}\n")
	if _, err := Parse(b.Bytes()); err != nil {
		return nil, fmt.Errorf("fuzz: a case that cannot be read back: %w", err)
	}
	return b.Bytes(), nil
}

// namedField is a line of a file.
type namedField struct {
	name  string
	value any
}

func (c *Case) fields() []namedField {
	fields := []namedField{{"recount_replay", Version}}
	add := func(when bool, name string, value any) {
		if when {
			fields = append(fields, namedField{name, value})
		}
	}
	add(c.Failed.Promise != "", "broke", c.Failed.Promise)
	add(c.Failed.Promise != "", "reason", c.Failed.Reason)
	add(true, "subject", c.Subject)
	add(true, "world", "virtual")
	add(true, "seed", c.Seed)
	add(true, "nodes", c.Nodes)
	add(true, "lease", span(c.Timings.Lease))
	add(true, "renew", span(c.Timings.Renew))
	add(true, "retry", span(c.Timings.Retry))
	add(true, "drift", c.Drift)
	n := c.Network
	add(true, "network", network{span(n.Latency), span(n.Jitter), n.SpikeRate, span(n.Spike), n.LossRate})
	add(true, "writes", span(c.Writes))
	add(true, "observes", span(c.Observes))
	add(c.Tokens > 0, "tokens", c.Tokens)
	add(c.LongLease > 0, "long_lease", span(c.LongLease))
	add(c.HandsOver, "hands_over", true)
	add(true, "schedule", c.Schedule)
	add(true, "quiet", span(c.Quiet))
	add(true, "return_within", span(c.ReturnBound))
	add(c.FailoverBound > 0, "failover_excess", span(c.FailoverBound))
	add(c.Steadfast, "steadfast", true)
	all := c.Waived
	if all == nil {
		all = waived{}
	}
	add(true, "waived", all)
	return fields
}

// compact is a value in JSON: a list with one entry a line, everything else in
// one line.
func compact(v any) (string, error) {
	if schedule, ok := v.(faults.Schedule); ok {
		return lines(schedule)
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return strings.TrimSpace(b.String()), err
}

func lines(schedule faults.Schedule) (string, error) {
	if len(schedule) == 0 {
		return "[]", nil
	}
	var steps []string
	for _, step := range schedule {
		text, err := compact(step)
		if err != nil {
			return "", err
		}
		steps = append(steps, "    "+text)
	}
	return "[\n" + strings.Join(steps, ",\n") + "\n  ]", nil
}

// Parse reads a case from a file. What the file leaves out of how the run is
// watched and judged is filled in as for a case that is drawn. Everything else
// must be there and make sense, and nothing more may be there: an error is a
// *FormatError.
func Parse(data []byte) (Case, error) {
	if len(data) > maxBytes {
		return Case{}, wrong("it has %d bytes, and a case needs less than %d: give a file that \"chaos fuzz\" wrote", len(data), maxBytes)
	}
	if err := version(data); err != nil {
		return Case{}, err
	}
	var f file
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&f); err != nil {
		return Case{}, unreadable(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Case{}, wrong("something follows its end: remove what comes after the last }")
	}
	if err := f.missing(); err != nil {
		return Case{}, err
	}
	c := f.Case()
	if err := c.Validate(); err != nil {
		return Case{}, err
	}
	return c, nil
}

// version refuses what is no replay file, and those of another version, before
// anything else is complained about.
func version(data []byte) error {
	var v struct {
		Version *json.RawMessage `json:"recount_replay"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return unreadable(err)
	}
	switch {
	case v.Version == nil:
		return wrong("\"recount_replay\" is missing: give a file that \"chaos fuzz\" wrote")
	case string(*v.Version) != fmt.Sprint(Version):
		return wrong("it is of version %s, and this program reads version %d: use the program that wrote it", *v.Version, Version)
	default:
		return nil
	}
}

// unreadable puts a decoder's error into words.
func unreadable(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	var format *FormatError
	text := err.Error()
	switch {
	case errors.As(err, &format):
		return format
	case errors.Is(err, io.EOF):
		return wrong("it is empty: give a file that \"chaos fuzz\" wrote")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &syntax) && strings.Contains(text, "unexpected end"):
		return wrong("it is cut off: copy it again")
	case errors.As(err, &syntax):
		return wrong("at byte %d it is no JSON: %s: mend it there, or copy it again", syntax.Offset, syntax)
	case errors.As(err, &kind) && kind.Field == "":
		return wrong("it is a %s, not an object: give a file that \"chaos fuzz\" wrote", kind.Value)
	case errors.As(err, &kind):
		return wrong("%q is a %s: give %s", kind.Field, kind.Value, wanted(kind))
	case strings.HasPrefix(text, "json: unknown field "):
		field := strings.TrimPrefix(text, "json: unknown field ")
		return wrong("the field %s is not known: remove it, or correct its name", field)
	default:
		return wrong("%s", strings.TrimPrefix(text, "faults: "))
	}
}

// wanted is what the field should have been, in words.
func wanted(e *json.UnmarshalTypeError) string {
	switch e.Type.Kind().String() {
	case "uint64", "int":
		return "a whole number"
	case "float64":
		return "a number, such as 0.01"
	case "bool":
		return "true or false"
	case "string":
		return "a text"
	case "ptr": // to what is written as a text
		return "a time, such as \"1.5s\""
	default:
		return "what \"chaos fuzz\" writes there"
	}
}

// missing finds a field that has to be there.
func (f *file) missing() error {
	for _, field := range []struct {
		name  string
		there bool
	}{
		{"subject", f.Subject != nil}, {"world", f.World != nil}, {"seed", f.Seed != nil}, {"nodes", f.Nodes != nil},
		{"lease", f.Lease != nil}, {"renew", f.Renew != nil}, {"retry", f.Retry != nil}, {"drift", f.Drift != nil},
		{"schedule", f.Schedule != nil},
	} {
		if !field.there {
			return wrong("%q is missing: every replay file has it", field.name)
		}
	}
	if *f.World != "virtual" {
		return wrong("\"world\" is %q: a replay file describes a run in the virtual world, and --world says where it is repeated", *f.World)
	}
	return nil
}

// Case is what the file says.
func (f *file) Case() Case {
	lease := time.Duration(*f.Lease)
	c := Case{
		Subject: *f.Subject, Seed: *f.Seed, Nodes: *f.Nodes, Drift: *f.Drift, Schedule: f.Schedule,
		Timings: sim.Timings{Lease: lease, Renew: time.Duration(*f.Renew), Retry: time.Duration(*f.Retry)},
		Network: sim.DefaultNetwork(),
		Writes:  or(f.Writes, lease/10), Observes: or(f.Observes, lease/2),
		Behavior: Behavior{Tokens: f.Tokens, LongLease: or(f.Longer, 0), HandsOver: f.Hands},
	}
	if n := f.Network; n != nil {
		c.Network = sim.Network{
			Latency: time.Duration(n.Latency), Jitter: time.Duration(n.Jitter),
			SpikeRate: n.SpikesIn, Spike: time.Duration(n.Spike), LossRate: n.LossesIn,
		}
	}
	c.Judge()
	if f.Waived != nil { // the file says itself what is asked for
		c.Waived, c.Steadfast, c.FailoverBound = *f.Waived, false, 0
	}
	c.Quiet, c.ReturnBound, c.FailoverBound = or(f.Quiet, c.Quiet), or(f.Return, c.ReturnBound), or(f.Failover, c.FailoverBound)
	if f.Calm != nil {
		c.Steadfast = *f.Calm
	}
	if f.Broke != nil {
		c.Failed.Promise = *f.Broke
	}
	if f.Reason != nil {
		c.Failed.Reason = *f.Reason
	}
	return c
}

func or(s *span, otherwise time.Duration) time.Duration {
	if s == nil {
		return otherwise
	}
	return time.Duration(*s)
}

// known reports whether there is a promise of that name.
func known(p checker.Promise) bool {
	return p == Ends || slices.Contains(checker.Promises, p)
}

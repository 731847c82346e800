package search

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/sim/bubble/calls"
	"github.com/recount-io/recount/sim/bubble/guards"
	"github.com/recount-io/recount/sim/bubble/jobs"
	"github.com/recount-io/recount/sim/bubble/topologies"
	"github.com/recount-io/recount/sim/space"
)

// Space is a set of generated cases.
type Space struct {
	Name        string
	About       string // what is drawn, in half a sentence
	Obligations space.Obligations
	draw        func(number uint64) Case
	parse       func(text []byte) (Case, error)
}

// Spaces are all of them.
var Spaces = []*Space{
	NewSpace("calls", "the elector's calls, settings and callbacks, on one Redis that operators and networks disturb", calls.Draw, judgeCalls, calls.Obligations),
	NewSpace("topologies", "one to seven servers that lag, fail over and come back, with replicas or as a majority", topologies.Draw, judgeTopologies, topologies.Obligations),
	NewSpace("schedules", "timings and fault schedules, as of plans, on the code that ships", drawSchedule, judgeSchedule, nil),
	NewSpace("jobs", "the lock for jobs that run at most once", jobs.Draw, func(jobs.Case, *checker.Result) []space.Finding { return nil }, jobs.Obligations),
	NewSpace("guards", "the guards of fenced resources, and writers with old tokens", guards.Draw, judgeGuards, guards.Obligations),
}

// Topologies returns a case of that space that was written by hand.
func Topologies(c topologies.Case) Case {
	return wrapped[topologies.Case]{c, c.Number, judgeTopologies}
}

// Find returns the space of that name.
func Find(name string) (*Space, error) {
	var names []string
	for _, s := range Spaces {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return nil, fmt.Errorf("there is no space %q: use %s", name, strings.Join(names, ", "))
}

// Draw returns the case of a number.
func (s *Space) Draw(number uint64) Case { return s.draw(number) }

// The obligations of every case, in whatever space.
const (
	rests   = "comes to rest"
	ends    = "Ends"
	noPanic = "NoPanic"
)

var ofAll = space.Obligations{
	rests:   "when everybody is asked to end, everybody ends, and leaves no goroutine behind",
	ends:    "a case ends: nothing in it stands still, spins or takes all memory",
	noPanic: "no panic of the code under test reaches the program that uses it",
}

// Says returns the sentence of the documents behind an obligation, or "" if it is a
// promise of the checkers.
func (s *Space) Says(obligation string) string {
	return cmp.Or(s.Obligations[obligation], ofAll[obligation])
}

// sample is how many cases are drawn to see what a space has.
const sample = 1000

// Features are those of the space's cases, in alphabetical order: nearly all, since they
// are those of a sample.
func (s *Space) Features() []string {
	set := map[string]bool{}
	for number := range uint64(sample) {
		for _, f := range s.Draw(number).Features() {
			set[f] = true
		}
	}
	return space.Features(set)
}

// Case is a case of a space.
type Case interface {
	// Run carries the case out. It must be called in a bubble.
	Run(ctx context.Context) space.Outcome
	// Number is the number that draws the case, as long as nobody has simplified it.
	Number() uint64
	// Features are what is drawn in the case, each in a word or two.
	Features() []string
	// Simpler returns cases that are simpler in one thing.
	Simpler() []Case
	// Judge returns what the history of a run shows to be broken.
	Judge(r *checker.Result) []space.Finding
	// Cost grows with the time that the case takes.
	Cost() float64
	// String shows the case in a line, and Lines in one for each thing that happens.
	String() string
	Lines() []string
	// MarshalJSON and the space's parse keep the case in a file.
	json.Marshaler
}

// plainCase is a case as its own package knows it.
type plainCase[C any] interface {
	Run(ctx context.Context) space.Outcome
	Features() []string
	Simpler() []C
}

// wrapped is a plain case with what the package adds to it.
type wrapped[C plainCase[C]] struct {
	plain  C
	number uint64
	judge  func(C, *checker.Result) []space.Finding
}

// NewSpace makes a space of cases that are drawn from a number. Their type has the fields
// that JSON keeps, and one called Number. Judge returns what a history shows to be broken;
// it is called for cases that record one.
func NewSpace[C plainCase[C]](name, about string, draw func(uint64) C, judge func(C, *checker.Result) []space.Finding, obligations space.Obligations) *Space {
	return &Space{
		Name: name, About: about, Obligations: obligations,
		draw: func(number uint64) Case { return wrapped[C]{draw(number), number, judge} },
		parse: func(text []byte) (Case, error) {
			w := wrapped[C]{judge: judge}
			named := struct{ Number *uint64 }{&w.number}
			if err := strictly(text, &w.plain); err != nil {
				return nil, err
			}
			return w, json.Unmarshal(text, &named)
		},
	}
}

// strictly reads JSON, and refuses fields that are not known.
func strictly(text []byte, into any) error {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

func (w wrapped[C]) Run(ctx context.Context) space.Outcome   { return w.plain.Run(ctx) }
func (w wrapped[C]) Number() uint64                          { return w.number }
func (w wrapped[C]) Features() []string                      { return w.plain.Features() }
func (w wrapped[C]) Judge(r *checker.Result) []space.Finding { return w.judge(w.plain, r) }
func (w wrapped[C]) String() string                          { return fmt.Sprintf("%+v", w.plain) }
func (w wrapped[C]) MarshalJSON() ([]byte, error)            { return json.Marshal(w.plain) }

func (w wrapped[C]) Simpler() (all []Case) {
	for _, plain := range w.plain.Simpler() {
		all = append(all, wrapped[C]{plain, w.number, w.judge})
	}
	return all
}

func (w wrapped[C]) Cost() float64 {
	if costly, is := any(w.plain).(interface{ Cost() float64 }); is {
		return costly.Cost()
	}
	return 1
}

// Lines shows what is set of the case in one line, and below it a line for each element
// of its lists.
func (w wrapped[C]) Lines() []string {
	var head, rest []string
	v := reflect.ValueOf(w.plain)
	for i := range v.NumField() {
		field, name := v.Field(i), v.Type().Field(i).Name
		switch {
		case field.Kind() == reflect.Slice:
			one := strings.ToLower(strings.TrimSuffix(name, "s"))
			if strings.HasSuffix(one, "sse") {
				one = strings.TrimSuffix(one, "e")
			}
			for k := range field.Len() {
				rest = append(rest, fmt.Sprintf("%s %d: %+v", one, k, field.Index(k)))
			}
		case !field.IsZero():
			head = append(head, fmt.Sprintf("%s %+v", strings.ToLower(name), field))
		}
	}
	return append([]string{strings.Join(head, ", ")}, rest...)
}

// Package space holds what all spaces of generated cases share. A space is a set of
// cases: each is drawn from a number and runs in a bubble of fake time.
package space

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recount-io/recount/history"
)

// Outcome is the result of one run of a case.
type Outcome struct {
	History  *history.History // nil if the space records none
	Findings []Finding
	Effects  map[string]bool // the features that had an effect; nil if the space does not tell
	Log      []string        // what happened, line by line; nil if the history says it
}

// Finding is a broken obligation. Details says how it was broken.
type Finding struct {
	Obligation string `json:"obligation"`
	Details    string `json:"details"`
}

// Obligations are sentences of the documents to which every case is held, by the names
// that findings use.
type Obligations map[string]string

// Findings collects the broken obligations of a run. The zero value is empty. Its
// methods are safe for concurrent use.
type Findings struct {
	mu  sync.Mutex
	all []Finding
}

// enough is how often an obligation is reported in a case.
const enough = 3

// Find adds a finding, unless there are three of the obligation already.
func (f *Findings) Find(obligation, format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, one := range f.all {
		if one.Obligation == obligation {
			n++
		}
	}
	if n < enough {
		f.all = append(f.all, Finding{obligation, fmt.Sprintf(format, args...)})
	}
}

// All returns the findings so far, in the order in which they came.
func (f *Findings) All() []Finding {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.all)
}

// Features lists those of the features that are true, in alphabetical order.
func Features(all map[string]bool) []string {
	maps.DeleteFunc(all, func(_ string, has bool) bool { return !has })
	return slices.Sorted(maps.Keys(all))
}

// Words describe a thing by what differs from the plain one. The zero value is empty.
type Words struct{ text strings.Builder }

// Add adds words, behind a blank, if the thing differs.
func (w *Words) Add(differs bool, format string, args ...any) {
	if differs {
		fmt.Fprintf(&w.text, " "+format, args...)
	}
}

// String returns all words.
func (w *Words) String() string { return strings.TrimSpace(w.text.String()) }

// Between draws a duration evenly by orders of magnitude. least must be above 0.
func Between(r *rand.Rand, least, most time.Duration) time.Duration {
	return time.Duration(float64(least) * math.Pow(float64(most)/float64(least), r.Float64()))
}

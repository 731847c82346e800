// Package space holds the types that all spaces of generated cases share. A space is
// a set of cases: each is drawn from a number and runs in a bubble of fake time.
package space

import "github.com/recount-io/recount/history"

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

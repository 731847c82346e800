package documented

import "github.com/recount-io/recount/sim"

// Elector is a documented elector, and what there is to know about it.
type Elector struct {
	Name    string
	Summary string
	Run     sim.Elector
}

// Electors are all of them.
func Electors() []Elector {
	return []Elector{
		{Name: "titan", Summary: "SET NX EX; renews by GET and then EXPIRE; a flag without a deadline", Run: Titan},
	}
}

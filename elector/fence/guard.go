package fence

import (
	"errors"
	"fmt"
	"sync"
)

// ErrNoToken refuses a token of zero: no term has it.
var ErrNoToken = errors.New("fence: the token is zero, and no term has that: pass Term.Token")

// StaleError refuses a token that is smaller than one that was seen before:
// its term is over.
type StaleError struct {
	Token   uint64
	Highest uint64 // the highest token seen
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("fence: token %d is stale: token %d was seen already", e.Token, e.Highest)
}

// Guard is a fence inside one process. The zero value is ready for use. All
// methods may be called concurrently.
type Guard struct {
	mu      sync.Mutex
	highest uint64
}

// Admit lets a token pass, and remembers it, unless it is smaller than one
// that passed before: then the error is a *StaleError.
func (g *Guard) Admit(token uint64) error {
	if token == 0 {
		return ErrNoToken
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if token < g.highest {
		return &StaleError{Token: token, Highest: g.highest}
	}
	g.highest = token
	return nil
}

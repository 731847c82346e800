package fence

import (
	"errors"
	"fmt"
	"sync"
)

// ErrNoToken is the answer to a write without a token.
var ErrNoToken = errors.New("fence: the write has no token (0): take it from the term, with Term.Token")

// StaleError is the answer to a write of a former leader. It was not executed.
type StaleError struct {
	Token   uint64 // of the write
	Highest uint64 // that the guard has admitted
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("fence: token %d is stale: the resource has seen token %d, so somebody else leads since; stop working on this term", e.Token, e.Highest)
}

// Guard guards a resource in this process. The zero Guard has seen no token.
// It is safe for concurrent use and must not be copied.
//
// A resource that outlives the process stores Highest with its data, and
// admits that token when it starts again.
type Guard struct {
	mu      sync.Mutex
	highest uint64
}

// Admit lets the token pass, if the guard has admitted no larger one, or
// returns a *StaleError, or ErrNoToken for 0.
//
// A token that has passed may be stale a moment later. Where the write must
// not come after one of a later term, use Do.
func (g *Guard) Admit(token uint64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.admit(token)
}

// Do calls write if the token is admitted, as Admit says, and admits no other
// token until write has returned. It returns write's error. Writes wait for
// one another; write must not use the guard.
func (g *Guard) Do(token uint64, write func() error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.admit(token); err != nil {
		return err
	}
	return write()
}

// Highest is the largest token that was admitted; 0 before the first one.
func (g *Guard) Highest() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.highest
}

func (g *Guard) admit(token uint64) error {
	if token == 0 {
		return ErrNoToken
	}
	if token < g.highest {
		return &StaleError{Token: token, Highest: g.highest}
	}
	g.highest = token
	return nil
}

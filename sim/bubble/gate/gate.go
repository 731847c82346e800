// Package gate keeps goroutines where they are: those of a process that stands
// still, which nobody can stop.
package gate

import "sync"

// Gate is what the goroutines of a process pass wherever it can stand still. The
// zero value is open.
type Gate struct {
	mu    sync.Mutex
	shut  chan struct{} // closed when it opens; nil while it is open
	times int           // that it was closed, or opened
}

// Wait waits until the gate is open. Nobody may hold a lock meanwhile: who waits
// for that lock would keep fake time from passing.
func (g *Gate) Wait() {
	for {
		g.mu.Lock()
		shut := g.shut
		g.mu.Unlock()
		if shut == nil {
			return
		}
		<-shut
	}
}

// Close closes the gate.
func (g *Gate) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut == nil {
		g.shut = make(chan struct{})
		g.times++
	}
}

// Open opens the gate.
func (g *Gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut != nil {
		close(g.shut)
		g.shut = nil
		g.times++
	}
}

// Stood is a number that is another one when the process has begun to stand still, or
// ended it: what took long meanwhile says nothing.
func (g *Gate) Stood() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.times
}

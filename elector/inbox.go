package elector

import (
	"sync"
	"time"

	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/machine"
)

// message is what reaches a session: an input for the machine, and what only the
// shell wants to know.
type message struct {
	input machine.Input
	held  *HeldError
	sent  time.Duration // held: when the request was
}

// inbox is what has reached a session and is not taken in yet. Nobody waits there
// for what is to come: a goroutine that brings something while nobody works it off does so.
// A session that waits costs no goroutine.
type inbox struct {
	mu       sync.Mutex
	messages []message
	hints    [2]*store.Hint // what was announced last: a release, and a grant
	rings    bool           // the alarm does
	busy     bool           // somebody works it off
	shut     bool           // nothing is taken in any more
}

// add puts something in, and reports whether its caller has to work it off.
func (i *inbox) add(put func()) (work bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.shut {
		return false
	}
	put()
	work = !i.busy
	i.busy = true
	return work
}

// merge keeps a hint, and forgets an older one of its kind: hints may be lost.
func (i *inbox) merge(h store.Hint) {
	if last := &i.hints[h.Kind-store.HintReleased]; *last == nil || h.Token >= (*last).Token {
		*last = &h
	}
}

// take is the next message: what was brought first, then what was announced, in its
// order. It is none when there is nothing.
func (i *inbox) take() (msg message, hint *store.Hint, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	released, granted := &i.hints[0], &i.hints[1]
	switch {
	case len(i.messages) > 0:
		msg = i.messages[0]
		i.messages[0] = message{}
		if i.messages = i.messages[1:]; len(i.messages) == 0 {
			i.messages = nil
		}
		return msg, nil, true
	case *granted != nil && (*released == nil || (*granted).Token <= (*released).Token):
		hint, *granted = *granted, nil
		return msg, hint, true
	case *released != nil:
		hint, *released = *released, nil
		return msg, hint, true
	}
	ok, i.rings = i.rings, false // the zero message wakes the machine
	return msg, hint, ok
}

// leave reports whether nothing has come meanwhile. Then nobody works any more.
func (i *inbox) leave() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.busy = len(i.messages) > 0 || i.hints != [2]*store.Hint{} || i.rings
	return !i.busy
}

// close drops what there is, and takes in nothing any more.
func (i *inbox) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.shut, i.messages, i.hints = true, nil, [2]*store.Hint{}
}

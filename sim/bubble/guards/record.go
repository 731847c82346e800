package guards

import "sync"

// happening is what can happen to a call, or to a resource.
type happening int

const (
	begun   happening = iota // it was made
	entered                  // the guard has let it pass: what it asks for begins
	done                     // it took effect
	left                     // what it asked for has ended, in whatever way
	ended                    // its caller knows what came of it
	died                     // the resource's process has: what it was doing has no effect any more
	forgot                   // the resource's guard has forgotten its tokens, but for one perhaps
	asked                    // somebody asks for the largest token
	replied                  // and gets an answer
)

// moment is one thing that happened.
type moment struct {
	happening
	call     *call // nil where a resource is meant
	resource int
	highest  uint64 // that the answer named
	question int    // that it answers: the number of the moment
}

// record is what happened, in the order in which it did. It is safe for concurrent
// use.
type record struct {
	mu      sync.Mutex
	moments []moment
	calls   []*call
	byValue map[string]*call
}

func newRecord() *record { return &record{byValue: map[string]*call{}} }

// add notes that something happened to a call.
func (r *record) add(h happening, c *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moments = append(r.moments, moment{happening: h, call: c, resource: c.resource})
}

// begin notes that a call is made.
func (r *record) begin(c *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.number = len(r.calls)
	r.calls = append(r.calls, c)
	r.byValue[c.value] = c
	r.moments = append(r.moments, moment{happening: begun, call: c, resource: c.resource})
}

// end notes what has come of a call.
func (r *record) end(c *call, o outcome, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.outcome, c.err = o, err
	r.moments = append(r.moments, moment{happening: ended, call: c, resource: c.resource})
}

// to notes that something happened to a resource, of which the guard still knows a
// token, or 0.
func (r *record) to(resource int, h happening, highest uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moments = append(r.moments, moment{happening: h, resource: resource, highest: highest})
}

// ask notes that the largest token of a resource is asked for, and returns what to
// call with the answer.
func (r *record) ask(resource int) (answer func(highest uint64)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	question := len(r.moments)
	r.moments = append(r.moments, moment{happening: asked, resource: resource})
	return func(highest uint64) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.moments = append(r.moments, moment{happening: replied, resource: resource, highest: highest, question: question})
	}
}

// of is the call with that value; nil if there is none.
func (r *record) of(value string) *call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byValue[value]
}

// top is the largest token that anybody has come with to a resource.
func (r *record) top(resource int) (top uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.calls {
		if c.resource == resource {
			top = max(top, c.token)
		}
	}
	return top
}

// nth is the call of that number; nil if there is none.
func (r *record) nth(number int) *call {
	r.mu.Lock()
	defer r.mu.Unlock()
	if number < 0 || number >= len(r.calls) {
		return nil
	}
	return r.calls[number]
}

package guards

import (
	"errors"
	"testing"
	"time"

	"github.com/recount-io/recount/elector/fence"
)

// story is a record that is made by hand: calls of one resource.
type story struct{ *record }

// begins makes a write with a token.
func (s story) begins(token uint64) *call {
	c := &call{what: write, token: token, patience: time.Second}
	s.begin(c)
	return c
}

// happens notes what happens to a call.
func (s story) happens(c *call, all ...happening) *call {
	for _, h := range all {
		s.add(h, c)
	}
	return c
}

// writes is a write that is accepted.
func (s story) writes(token uint64) {
	s.end(s.happens(s.begins(token), entered, done, left), accepted, nil)
}

// givesUp is a write that is given up when its term is over.
func (s story) givesUp(token uint64) {
	c := s.begins(token)
	c.cut = true
	s.end(c, waits, heldError{errors.New("over")})
}

// refused is a write that is refused, with that error.
func (s story) refused(token uint64, stale fence.StaleError) {
	s.end(s.begins(token), refused, &stale)
}

// judgements are records, and which obligation they break; "": none.
var judgements = []struct {
	name  string
	guard Kind
	tell  func(s story)
	want  string
}{
	{"writes in order", InMemory, func(s story) {
		s.writes(5)
		s.writes(5)
		s.writes(6)
		s.refused(5, fence.StaleError{Token: 5, Highest: 6})
	}, ""},
	{"a smaller token after a larger one", InMemory, func(s story) { s.writes(6); s.writes(5) }, inOrder},
	{"the same, after the guard has forgotten", InMemory, func(s story) { s.writes(6); s.to(0, forgot, 0); s.writes(5) }, ""},
	{"the same, when it has forgotten all but a token", InProcess, func(s story) { s.writes(6); s.writes(7); s.to(0, forgot, 6); s.writes(5) }, inOrder},
	{"an effect after a larger token's acceptance", InRedis, func(s story) {
		c := s.begins(5)
		s.writes(6)
		s.happens(c, done)
		s.end(c, unknown, errors.New("cut off"))
	}, inOrder},
	{"an effect of before the largest was known", InMemory, func(s story) {
		c := s.happens(s.begins(5), entered)
		s.givesUp(6)
		s.end(s.happens(c, done, left), accepted, nil)
	}, ""},
	{"who has given up too soon", InMemory, func(s story) { s.end(s.begins(6), waits, heldError{errors.New("time over")}) }, answered},
	{"a token that somebody made known who gave up", InMemory, func(s story) {
		s.givesUp(6)
		s.writes(5)
	}, inOrder},
	{"two at a time", OverHTTP, func(s story) {
		c := s.happens(s.begins(5), entered)
		s.happens(s.begins(6), entered)
		s.happens(c, done)
	}, oneStep},
	{"two of one token", OverHTTP, func(s story) {
		c := s.happens(s.begins(5), entered)
		s.writes(5)
		s.end(s.happens(c, done, left), accepted, nil)
	}, ""},
	{"two of one token, behind a guard that lets one pass", InProcess, func(s story) {
		c := s.happens(s.begins(5), entered)
		s.writes(5)
		s.end(s.happens(c, done, left), accepted, nil)
	}, oneStep},
	{"two at a time, of which one has died", InMemory, func(s story) {
		s.happens(s.begins(6), entered)
		s.to(0, died, 0)
		s.to(0, forgot, 0)
		s.writes(5)
	}, ""},
	{"refused by an equal token", InMemory, func(s story) { s.writes(5); s.refused(5, fence.StaleError{Token: 5, Highest: 5}) }, refusals},
	{"refused by a token of nobody", InMemory, func(s story) { s.writes(6); s.refused(5, fence.StaleError{Token: 5, Highest: 7}) }, refusals},
	{"refused by a token that is not the largest", InMemory, func(s story) { s.writes(6); s.writes(7); s.refused(5, fence.StaleError{Token: 5, Highest: 6}) }, refusals},
	{"refused as another token", InMemory, func(s story) { s.writes(6); s.refused(5, fence.StaleError{Token: 4, Highest: 6}) }, refusals},
	{"an effect of what was refused", InRedis, func(s story) {
		s.writes(6)
		c := s.begins(5)
		s.end(c, refused, &fence.StaleError{Token: 5, Highest: 6})
		s.to(0, forgot, 0)
		s.happens(c, done)
	}, noTrace},
	{"an effect of what was never sent", Relayed, func(s story) { s.end(s.happens(s.begins(5), done), undone, errOver) }, noTrace},
	{"accepted without an effect", InRedis, func(s story) { s.end(s.begins(5), accepted, nil) }, once},
	{"an effect twice", InRedis, func(s story) {
		c := s.happens(s.begins(5), done, done)
		c.cut = true
		s.end(c, unknown, errors.New("cut off"))
	}, once},
	{"a failure that is not its own", InMemory, func(s story) { s.end(s.begins(5), failed, errWrite) }, ownErrors},
	{"a failure after its effect", InMemory, func(s story) {
		c := s.begins(5)
		c.fate = breaks
		s.end(s.happens(c, entered, done, left), failed, errWrite)
	}, ""},
	{"a failure before its effect, which it had", InMemory, func(s story) {
		c := s.begins(5)
		c.fate = fails
		s.end(s.happens(c, entered, done, left), failed, errWrite)
	}, ownErrors},
	{"no answer", InRedis, func(s story) { s.end(s.begins(5), unknown, errors.New("no")) }, answered},
	{"an answer after its time", InRedis, func(s story) {
		c := s.happens(s.begins(5), done)
		c.took = 2 * c.patience
		s.end(c, accepted, nil)
	}, inTime},
	{"a wait for the same token", InMemory, func(s story) {
		c := s.begins(5)
		c.waited = time.Millisecond
		s.end(s.happens(c, entered, done, left), accepted, nil)
	}, beside},
	{"a wait for another token", InMemory, func(s story) {
		other := s.happens(s.begins(4), entered)
		c := s.begins(5)
		c.waited = time.Millisecond
		s.end(s.happens(other, done, left), accepted, nil)
		s.end(s.happens(c, entered, done, left), accepted, nil)
	}, ""},
	{"the largest token is told", InMemory, func(s story) { s.writes(5); s.ask(0)(5) }, ""},
	{"a smaller one is told", InMemory, func(s story) { s.writes(4); s.writes(5); s.ask(0)(4) }, largest},
	{"one of nobody is told", InMemory, func(s story) { s.writes(5); s.ask(0)(6) }, largest},
	{"no token is accepted", InMemory, func(s story) { s.writes(0) }, needsToken},
	{"no token is an error of another kind", InMemory, func(s story) { s.end(s.begins(0), unknown, errors.New("no")) }, needsToken},
}

// The judge finds in each record what is wrong with it, and nothing else.
func TestJudge(t *testing.T) {
	for _, one := range judgements {
		s := story{newRecord()}
		one.tell(s)
		var found []string
		s.judge(Case{Guard: one.guard}, time.Now(), 0, func(obligation, _ string, _ ...any) { found = append(found, obligation) })
		switch {
		case one.want == "" && len(found) > 0:
			t.Errorf("%s: %q was found", one.name, found)
		case one.want != "" && (len(found) == 0 || found[0] != one.want):
			t.Errorf("%s: %q was found, want %q", one.name, found, one.want)
		}
	}
}

package guards

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/recount-io/recount/elector/fence"
)

// judge walks through what happened to one resource, in the order in which it did.
type judge struct {
	Case
	start time.Time // of the run
	find  func(obligation, format string, args ...any)

	floor  uint64 // the largest token that the guard knows certainly
	let    *call  // of those that it has let pass, that of the largest token; nil if it has none
	epoch  int    // how often it has forgotten
	tokens map[uint64]bool
	open   []*call // that have begun, and not ended
	inside []*call // that the guard has let pass, and that have not ended
	of     map[*call]*course
	heard  map[int]bounds // questions, by the number of the moment
}

// course is what the judge has seen of a call so far.
type course struct {
	bounds
	effects  int
	overlaps bool // calls of other tokens were open meanwhile
}

// bounds are what the guard knew when something began.
type bounds struct {
	floor uint64
	epoch int
}

// judge tells what is wrong with what happened to the resource.
func (r *record) judge(c Case, start time.Time, resource int, find func(obligation, format string, args ...any)) {
	j := &judge{Case: c, start: start, find: find, tokens: map[uint64]bool{}, of: map[*call]*course{}, heard: map[int]bounds{}}
	for i := range r.moments {
		if m := &r.moments[i]; m.resource == resource {
			j.see(i, m)
		}
	}
	for _, one := range r.calls {
		if one.resource == resource {
			j.conclude(one)
		}
	}
}

// see takes in one moment.
func (j *judge) see(i int, m *moment) {
	c := m.call
	switch m.happening {
	case begun:
		j.begin(c)
	case entered:
		j.enter(c)
	case done:
		j.effect(c)
	case left:
		j.inside = without(j.inside, c)
	case ended:
		j.end(c)
	case died:
		j.inside = nil
	case forgot:
		j.floor, j.let = m.highest, nil
		j.epoch++
	case asked:
		j.heard[i] = bounds{j.floor, j.epoch}
	case replied:
		j.highest(m)
	}
}

func without(all []*call, c *call) []*call {
	return slices.DeleteFunc(all, func(other *call) bool { return other == c })
}

func (j *judge) begin(c *call) {
	one := &course{bounds: bounds{j.floor, j.epoch}}
	for _, other := range slices.Concat(j.open, j.inside) {
		if other.token != c.token {
			one.overlaps, j.of[other].overlaps = true, true
		}
	}
	j.of[c], j.open = one, append(j.open, c)
	j.tokens[c.token] = true
}

// enter looks who else is let pass at the same time.
func (j *judge) enter(c *call) {
	for _, other := range j.inside {
		if other.token != c.token || j.Guard == InProcess {
			j.find(oneStep, "%v was let pass while %v went on", c, other)
		}
	}
	j.inside = append(j.inside, c)
	if j.Guard == InMemory && !j.of[c].overlaps && c.waited > 0 {
		j.find(beside, "%v waited for %v, and nobody came with another token", c, c.waited)
	}
}

// effect looks whether an effect comes after the admission of a larger token.
func (j *judge) effect(c *call) {
	one := j.of[c]
	one.effects++
	if j.let != nil && c.token < j.let.token {
		j.find(inOrder, "%v took effect after %v was admitted", c, j.let)
	}
	j.raise(c, true)
}

// raise notes that the guard knows a call's token, and perhaps that it has let it pass.
// Who has given up waiting has made its token known to those who come afterwards, while
// those before whom it waited may go on.
func (j *judge) raise(c *call, passed bool) {
	j.floor = max(j.floor, c.token)
	if passed && (j.let == nil || c.token > j.let.token) {
		j.let = c
	}
}

// end looks at what a call has returned.
func (j *judge) end(c *call) {
	one := j.of[c]
	j.open = without(j.open, c)
	switch {
	case c.outcome == refused:
		j.refusal(c, one)
	case c.outcome == accepted && c.token < one.floor && one.epoch == j.epoch:
		j.find(inOrder, "%v was accepted, and token %d was known before", c, one.floor)
	case c.outcome == accepted && c.token == 0:
		j.find(needsToken, "%v was accepted", c)
	case c.outcome == accepted && c.what != check && one.effects != 1:
		j.find(once, "%v was accepted, and has had %d effects", c, one.effects)
	case c.token == 0 && !errors.Is(c.err, fence.ErrNoToken):
		j.find(needsToken, "%v returned %v", c, c.err)
	case c.outcome == failed && j.Guard != Relayed && c.fate == succeeds:
		j.find(ownErrors, "%v failed, but by itself it does not: %v", c, c.err)
	case (c.outcome == unknown || c.outcome == waits || c.outcome == undone && c.sound()) && !j.explained(c, one):
		j.find(answered, "%v returned %v after %v", c, c.err, c.took)
	}
	if late := j.waiting(c) - c.patience; late > time.Millisecond {
		j.find(inTime, "%v (%v) ended %v after its time", c, c.err, late)
	}
	if c.outcome.knows() && one.epoch == j.epoch {
		j.raise(c, c.outcome != waits)
	}
}

// waiting is how long a call has waited for others: where writes are made in its own
// process, until it was let pass.
func (j *judge) waiting(c *call) time.Duration {
	switch {
	case j.Guard == InProcess: // it takes no context
		return 0
	case j.Guard == InMemory && c.waited > 0:
		return c.waited
	case j.Guard == InMemory && c.outcome != waits:
		return 0
	default:
		return c.took
	}
}

// refusal looks at the refusal of a stale token.
func (j *judge) refusal(c *call, one *course) {
	stale := new(fence.StaleError)
	if !errors.As(c.err, &stale) {
		return
	}
	var why string
	switch {
	case stale.Token != c.token:
		why = fmt.Sprintf("as token %d", stale.Token)
	case stale.Highest <= c.token:
		why = fmt.Sprintf("for token %d, which is not larger", stale.Highest)
	case !j.tokens[stale.Highest]:
		why = fmt.Sprintf("for token %d, with which nobody has come", stale.Highest)
	case stale.Highest < one.floor && one.epoch == j.epoch:
		why = fmt.Sprintf("for token %d, when %d was known", stale.Highest, one.floor)
	default:
		return
	}
	j.find(refusals, "%v was refused %s", c, why)
}

// sound reports whether nothing is wrong with a call that was made.
func (c *call) sound() bool {
	return c.token > 0 && (c.odd == regular || c.odd == own) && !errors.Is(c.err, errOver)
}

// explained reports whether something explains that a call was not answered.
func (j *judge) explained(c *call, one *course) bool {
	if c.cut || j.disturbed(c) || c.fate == panics && j.Guard.web() {
		return true
	}
	waits := one.overlaps && j.Guard != InRedis || c.takes+15*j.RoundTrip > c.patience
	return c.took >= c.patience && waits
}

// disturbed reports whether something has happened that may break a connection of which
// the call makes use, or keep an answer from it.
func (j *judge) disturbed(c *call) bool {
	ended := c.began.Add(c.took)
	return slices.ContainsFunc(j.Acts, func(a Act) bool { return a.Kind != Flush && !j.start.Add(a.At).After(ended) })
}

// highest looks at an answer about the largest token.
func (j *judge) highest(m *moment) {
	before := j.heard[m.question]
	switch {
	case m.highest != 0 && !j.tokens[m.highest]:
		j.find(largest, "the highest token of %s is told to be %d, with which nobody has come", resourceName(m.resource), m.highest)
	case m.highest < before.floor && before.epoch == j.epoch:
		j.find(largest, "the highest token of %s is told to be %d, when %d was known", resourceName(m.resource), m.highest, before.floor)
	}
}

// conclude looks at all effects of a call, late ones too.
func (j *judge) conclude(c *call) {
	effects := j.of[c].effects
	switch c.outcome {
	case refused, undone, waits:
		if effects > 0 {
			j.find(noTrace, "%v was %v (%v), and took effect", c, c.outcome, c.err)
		}
	case failed:
		if had := c.fate == breaks || c.fate == panics; c.fate != heeds && had != (effects == 1) {
			j.find(ownErrors, "%v failed (%v), and has had %d effects", c, c.err, effects)
		}
	default:
		if effects > 1 {
			j.find(once, "%v (%v) took effect %d times", c, c.outcome, effects)
		}
	}
}

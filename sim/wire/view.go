package wire

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recount-io/recount/history"
)

// presence reports whether the lock's key is there.
type presence uint8

const (
	unsure presence = iota
	absent
	present
)

// view is what one execution (of a command, a transaction or a script) shows
// of the lock's key, and what it did to the key in the end.
type view struct {
	before presence // before anything was written
	held   string   // the value then, if known
	known  bool
	not    []string // foreign: the values that it certainly was not
	other  bool     // it was a value, but none of not

	lacking []string // fields that it did not have, if it is a hash, of which nobody knew what they are for

	now     presence
	value   string // what was written, if wrote
	wrote   bool
	call    history.Call // what was done in the end; empty: nothing
	fresh   bool         // acquire: there certainly was no lease
	ttl     time.Duration
	sent    time.Time // when what was written was sent
	clocked bool      // by a script that asked what time it is
	shown   bool      // the reply shows the writer what was there before
	idle    bool      // what was written changed nothing
	unclear string    // why nobody can say what was done

	record  bool              // what was written is a record
	name    string            // the holder that it names
	stamp   time.Time         // see record
	fields  map[string]string // see record
	vacancy string            // a record without a holder that was written
}

// find notes what an answer tells about the key as it was found.
func (v *view) find(p presence) {
	if v.now == unsure {
		v.now, v.before = p, p
	}
}

// read notes the value that the key was found to hold.
func (v *view) read(text string) {
	v.find(present)
	if !v.wrote && v.now == present {
		v.held, v.known = text, true
	}
}

// lacks notes that the key did not hold any of these values: it is not there,
// or holds another one.
func (v *view) lacks(values ...string) {
	if !v.wrote {
		v.other, v.not = true, values
	}
}

// set notes that the value was written. A value that was there before and is
// the writer's own, or the same, is a renewal.
func (v *view) set(text string, ttl time.Duration, own func(string) bool) {
	switch {
	case v.call == history.Acquire: // written twice
	case v.now == absent && v.call == "":
		v.call, v.fresh = history.Acquire, true
	case v.now == present && v.known && (v.held == text || own(v.held)):
		v.call = history.Renew
	case v.call == history.Renew:
	default:
		v.call = history.Acquire
	}
	v.now, v.wrote, v.value, v.ttl = present, true, text, ttl
}

// rewrite notes that the value was written where there certainly was one.
func (v *view) rewrite(text string, ttl time.Duration) {
	v.find(present)
	v.prolong(ttl)
	v.wrote, v.value = true, text
}

// prolong notes that the key got another time to live.
func (v *view) prolong(ttl time.Duration) {
	v.find(present)
	if v.call == "" {
		v.call = history.Renew
	}
	v.now, v.ttl = present, ttl
}

// counted puts a number that a script answers into the value that it made of it: both
// come from a counter.
func counted(v view, result, reply Value) view {
	if v.wrote && result.Kind == Int && result.Int == largeSentinel && reply.Kind == Int {
		v.value = strings.ReplaceAll(v.value, someNumber, strconv.FormatInt(reply.Int, 10))
	}
	return v
}

// remove notes that the key was there and is no more.
func (v *view) remove() {
	v.find(present)
	v.now, v.wrote, v.ttl = absent, false, 0
	if v.call == history.Acquire && v.fresh {
		v.call, v.fresh = "", false // there was nothing before, and is nothing now
		return
	}
	v.call = history.Release
}

// unlike reports whether the key certainly did not hold a value of the list.
func (v *view) unlike(values []string) bool {
	switch {
	case v.before == absent:
		return true
	case v.known:
		return !slices.Contains(values, v.held)
	case v.other:
		return !slices.ContainsFunc(values, func(s string) bool { return !slices.Contains(v.not, s) })
	default:
		return false
	}
}

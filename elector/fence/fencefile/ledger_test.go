package fencefile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/recount-io/recount/elector/fence"
)

// attempt is one call, and what came of it.
type attempt struct {
	what     string // write, check or highest
	token    uint64
	value    string // its own
	patience time.Duration
	takes    time.Duration // a write that the guard does not make itself

	floor        uint64 // that was certainly known when it began
	began, ended int    // moments
	epoch        int    // when it began
	died         bool   // with its process
	faults       int    // of the disk, that it has met
	took         time.Duration
	stood        time.Duration // its process, in all
	err          error
}

func (a *attempt) String() string {
	return fmt.Sprintf("%s %q with token %d (%v, died %v)", a.what, a.value, a.token, a.err, a.died)
}

// content is what it writes as a whole.
func (a *attempt) content() []byte {
	return []byte(a.value + " " + strings.Repeat("x", 3*len(a.value)))
}

// ledger holds what is found to what is known.
type ledger struct {
	mu      sync.Mutex
	moments int
	all     []*attempt
	byValue map[string]*attempt
	tokens  map[uint64]bool // that somebody came with
	floor   uint64          // the largest token that was certainly admitted
	epoch   int             // how often the file has lost its fence
	floors  []mark
	inside  map[*program]*attempt // whose write goes on
	last    *attempt              // that had an effect
	found   []string
}

// mark says that every line after so many has such a token at the least.
type mark struct {
	lines int
	token uint64
}

func newLedger() ledger {
	return ledger{byValue: map[string]*attempt{}, tokens: map[uint64]bool{}, inside: map[*program]*attempt{}}
}

// find notes that something is wrong. The caller may hold the lock.
func (l *ledger) find(obligation, format string, args ...any) {
	if len(l.found) < 3 {
		l.found = append(l.found, obligation+": "+fmt.Sprintf(format, args...))
	}
}

func (l *ledger) started(a *attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.moments++
	a.began, a.floor, a.epoch = l.moments, l.floor, l.epoch
	l.all = append(l.all, a)
	l.byValue[a.value] = a
	l.tokens[a.token] = true
}

// over looks at what an attempt has returned, when the log has so many lines.
func (l *ledger) over(a *attempt, lines int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.moments++
	a.ended = l.moments
	stale := new(fence.StaleError)
	if late := a.took - a.patience - a.stood; late > 2*time.Second {
		l.find("in time", "%v ended %v after its time", a, late)
	}
	switch {
	case a.died:
	case a.token == 0 && a.what != "highest":
		if !errors.Is(a.err, fence.ErrNoToken) {
			l.find("needs token", "%v", a)
		}
	case a.err == nil && a.what != "highest":
		l.admitted(a, lines)
	case errors.As(a.err, &stale):
		same := a.epoch == l.epoch
		if stale.Token != a.token || stale.Highest <= a.token || !l.tokens[stale.Highest] || same && stale.Highest < a.floor {
			l.find("refusals", "%v, when %d was known", a, a.floor)
		}
	case a.err != nil && !l.explained(a):
		l.find("answered", "%v after %v of %v", a, a.took, a.patience)
	}
}

// admitted notes that a token was.
func (l *ledger) admitted(a *attempt, lines int) {
	if a.epoch != l.epoch {
		return
	}
	if a.token < a.floor {
		l.find("in order", "%v was admitted after token %d", a, a.floor)
	}
	if a.token > l.floor {
		l.floor = a.token
		l.floors = append(l.floors, mark{lines, a.token})
	}
}

// explained reports whether an error is one that must be: somebody has waited for long
// enough, or the disk has failed.
func (l *ledger) explained(a *attempt) bool {
	if errors.Is(a.err, context.DeadlineExceeded) {
		return a.took >= a.patience && strings.Contains(a.err.Error(), "nothing was written")
	}
	return a.faults > 0
}

// answered looks at an answer about the largest token.
func (l *ledger) answered(a *attempt, highest uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if highest != 0 && !l.tokens[highest] || a.epoch == l.epoch && highest < a.floor {
		l.find("highest", "it is said to be %d, when %d was known", highest, a.floor)
	}
}

// forget notes that the file has lost its fence, or has an older one: what a log knows
// then is the token of its last line. The caller holds the lock.
func (l *ledger) forget() {
	l.epoch++
	l.floor, l.floors = 0, nil
}

// enter notes that a write begins that the guard does not make itself, leave that it
// ends. Who has died goes on sleeping, and does nothing.
func (l *ledger) enter(g *program, a *attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for other, of := range l.inside {
		if !other.over() {
			l.find("one step", "%v is let pass while %v goes on", a, of)
		}
	}
	if a.token < l.floor {
		l.find("in order", "%v is let pass after token %d was admitted", a, l.floor)
	}
	l.inside[g] = a
}

func (l *ledger) leave(g *program, a *attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.inside, g)
	if g.over() {
		return
	}
	if l.last != nil && a.token < l.last.token {
		l.find("in order", "%v takes effect after %v", a, l.last)
	}
	l.last = a
}

// log looks at the content of a log. The caller holds the lock.
func (l *ledger) log(content string) {
	seen, before := map[*attempt]int{}, (*attempt)(nil)
	text := strings.SplitAfter(content, "\n")
	for i, one := range text[:len(text)-1] { // the last one is torn, or empty
		line, ok := parseRecord([]byte(one))
		a := l.byValue[string(line.Data)]
		switch {
		case !ok || a == nil || a.token != line.Token:
			l.find("whole", "line %d is %q", i+1, one)
			return
		case seen[a] > 0:
			l.find("once", "%v is line %d, and %d", a, seen[a], i+1)
		case a.ended > 0 && !a.died && a.err != nil && l.undone(a.err):
			l.find("no trace", "%v is line %d", a, i+1)
		case before != nil && before.token > a.token:
			l.find("in order", "%v is the line after %v", a, before)
		}
		for _, m := range l.floors {
			if i >= m.lines && a.token < m.token {
				l.find("in order", "%v is line %d, and token %d was admitted when there were %d", a, i+1, m.token, m.lines)
			}
		}
		seen[a], before = i+1, a
	}
	for _, a := range l.all {
		if a.acknowledged() && seen[a] == 0 {
			l.find("kept", "%v is not in the log", a)
		}
	}
	if before != nil { // whatever fence is lost, this one is not
		l.floor = max(l.floor, before.token)
	}
}

func (a *attempt) acknowledged() bool {
	return a.what == "write" && a.ended > 0 && !a.died && a.err == nil && a.token > 0
}

// undone reports whether an error says that nothing was written.
func (l *ledger) undone(err error) bool {
	return errors.As(err, new(*fence.StaleError)) || errors.Is(err, fence.ErrNoToken) || strings.Contains(err.Error(), "nothing was written")
}

// whole looks at the content of a file that is replaced. The caller holds the lock.
func (l *ledger) whole(content []byte) {
	value, _, _ := strings.Cut(string(content), " ")
	a := l.byValue[value]
	switch {
	case a == nil || string(a.content()) != string(content):
		l.find("whole", "the content is %q", content)
		return
	case a.ended > 0 && !a.died && a.err != nil && l.undone(a.err):
		l.find("no trace", "the content is that of %v", a)
	case a.token < l.floor && a.epoch == l.epoch && !l.onlyKnown(a):
		l.find("in order", "the content is that of %v, and %d was admitted", a, l.floor)
	}
	for _, other := range l.all {
		if other.acknowledged() && a.ended > 0 && a.ended < other.began {
			l.find("kept", "the content is that of %v, which had ended before %v began", a, other)
		}
	}
}

// onlyKnown reports whether larger tokens than the attempt's were only made known: then
// its content may be there still.
func (l *ledger) onlyKnown(a *attempt) bool {
	for _, other := range l.all {
		if other.acknowledged() && other.token > a.token {
			return false
		}
	}
	return true
}

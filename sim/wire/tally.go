package wire

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/recount-io/recount/history"
)

// tally counts the requests that were read, and how many of them were
// understood.
type tally struct {
	requests   int64
	understood int64
	strange    map[string]int64 // what was not understood, how often
	first      string           // the node that came first
	shared     bool             // another one came as well

	// As long as no lock is known: writes under the election's prefix, any of
	// which may have been on the lock.
	writes map[string]int64   // by command
	places map[place]*unknown // keys
}

// unknown is what happened to a key that is not known to be the lock.
type unknown struct {
	first  string // the node that came first
	shared bool   // another one came as well
	writer string // the node that wrote last
	turns  int64  // how often that became another one
	writes int64
	taker  string // the node that took the key as a lock is taken, without having the lock
	taken  bool   // another one did as well
}

// see notes a command of the node on the key.
func (u *unknown) see(node string, writes bool) {
	u.shared = u.shared || u.first != node
	if !writes {
		return
	}
	u.writes++
	if u.writer != "" && u.writer != node {
		u.turns++
	}
	u.writer = node
}

// take notes that the node takes a key as a lock is taken, and may or may not have the
// lock itself. A node that has it may need another one besides.
func (t *tally) take(at place, node string, m *member) {
	u := t.places[at]
	if u == nil || m != nil && len(m.nonces)+len(m.holds) > 0 {
		return
	}
	if u.taker == "" {
		u.taker = node
	}
	u.taken = u.taken || u.taker != node
}

// others are the kinds that are too many to be named.
const others = "others"

// Bounds of what is remembered and shown.
const (
	maxPlaces  = 1000
	maxKinds   = 100
	shownKinds = 8
	rivalry    = 3 // how much more often
)

// count notes one more request of the node on the lock, and why it is not
// understood, if so.
func (t *tally) count(node, why string) {
	t.requests++
	if t.first == "" {
		t.first = node
	}
	t.shared = t.shared || t.first != node
	t.judge(why)
}

// judge counts a request as understood, or why it is not.
func (t *tally) judge(why string) {
	if why == "" {
		t.understood++
	} else {
		add(&t.strange, why)
	}
}

// revise takes a judgement back.
func (t *tally) revise(why string) {
	if why == "" {
		t.understood--
		return
	}
	if _, known := t.strange[why]; !known {
		why = others
	}
	if t.strange[why]--; t.strange[why] == 0 {
		delete(t.strange, why)
	}
}

// add counts a kind, all of them together if there are too many.
func add(kinds *map[string]int64, kind string) {
	if *kinds == nil {
		*kinds = map[string]int64{}
	}
	if _, known := (*kinds)[kind]; !known && len(*kinds) >= maxKinds {
		kind = others
	}
	(*kinds)[kind]++
}

// kinds names what was counted, the most frequent first.
func kinds(counts map[string]int64) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	var parts []string
	rest := int64(0)
	for i, name := range names {
		if i < shownKinds {
			parts = append(parts, grouped(counts[name])+" × "+name)
		} else {
			rest += counts[name]
		}
	}
	if rest > 0 {
		parts = append(parts, grouped(rest)+" more")
	}
	return strings.Join(parts, ", ")
}

// grouped is a number as people read it: 1,884.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// look notes a command that may be about the lock although nobody knows: one on a
// key of the election that is not known to be the lock.
func (l *Lock) look(node string, cmd command) {
	if l.options.Prefix == "" || l.found && l.hasName() {
		return
	}
	writes := !reads(cmd)
	about := false
	for _, key := range l.keys(cmd) {
		at := place{cmd.db, key}
		if !strings.HasPrefix(key, l.options.Prefix) || l.found && at == l.key {
			continue
		}
		about = true
		u := l.tally.places[at]
		if u == nil {
			if len(l.tally.places) >= maxPlaces {
				continue
			}
			if l.tally.places == nil {
				l.tally.places = map[place]*unknown{}
			}
			u = &unknown{first: node}
			l.tally.places[at] = u
		}
		u.see(node, writes)
	}
	if about && writes {
		add(&l.tally.writes, cmd.name)
	}
}

// keys are the keys that a command names.
func (l *Lock) keys(cmd command) []string {
	if isScript(cmd.name) {
		keys, _, _ := scriptArguments(cmd.args)
		return keys
	}
	var keys []string
	for _, i := range keysOf(cmd) {
		keys = append(keys, cmd.args[i])
	}
	return keys
}

// Puzzled reports whether candidates share a lock of which nothing is understood,
// or, while no lock is known, share a key of the election and write it: that key
// may be the lock.
func (l *Lock) Puzzled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.found {
		return l.tally.shared && l.tally.understood == 0
	}
	for _, u := range l.tally.places { // any order: one is enough
		if u.shared && u.writes > 0 {
			return true
		}
	}
	return false
}

// rival is a key that may be the lock in place of the one that was taken first, and why;
// empty if there is none. Several nodes took it that did not have the lock, or wrote it in
// turn much more often than they used the lock. What only the leader writes changes hands
// as rarely as the lock.
func (l *Lock) rival() (key, why string, writes int64) {
	if !l.found || l.hasName() {
		return "", "", 0
	}
	for at, u := range l.tally.places { // any order: the greatest counts, and of equals the first by name
		often := u.turns > rivalry*l.tally.requests
		if !u.taken && !often || u.writes < writes || u.writes == writes && key != "" && key < at.key {
			continue
		}
		key, writes = at.key, u.writes
		why = fmt.Sprintf("the candidates wrote %q more often, %s times", key, grouped(writes))
		if u.taken {
			why = fmt.Sprintf("candidates that did not have it took %q", key)
		}
	}
	return key, why, writes
}

// Understanding is the note, without a time, that tells how many of the requests
// on the lock were understood, and which ones were not. If no lock was found, any
// write to a key of the election may have been on it.
func (l *Lock) Understanding() history.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	if rival, why, writes := l.rival(); rival != "" {
		return history.Event{
			Kind: history.Note, Wire: &history.Wire{Operations: l.tally.requests + writes},
			Text: fmt.Sprintf("no lock was found on the wire: the key %q was taken first, but %s; not understood: which of them is the lock", l.key.key, why),
		}
	}
	if l.found {
		t := &l.tally
		text := fmt.Sprintf("of %s requests on the lock %s were understood", grouped(t.requests), grouped(t.understood))
		if t.understood < t.requests {
			text += "; not understood: " + kinds(t.strange)
		}
		return history.Event{Kind: history.Note, Text: text, Wire: &history.Wire{Lock: l.key.key, Operations: t.requests, Understood: t.understood}}
	}
	total := int64(0)
	for _, n := range l.tally.writes { // any order: it is a sum
		total += n
	}
	text := "no lock was found on the wire: no candidate took a key that nobody had, by a command or a script that is understood"
	if l.hasName() {
		text = "no lock was found on the wire: no candidate used the key that was named"
	}
	if total > 0 {
		text += "; not understood: " + kinds(l.tally.writes)
	}
	return history.Event{Kind: history.Note, Text: text, Wire: &history.Wire{Operations: total}}
}

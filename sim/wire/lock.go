package wire

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recount-io/recount/history"
)

// Options are what has to be known of a lock before it is read.
type Options struct {
	// Key is the key that is the lock. Empty: the first key that somebody takes
	// if nobody has it, by SET with NX, SETNX, or a script that does so.
	Key string

	// Match, if there is no Key, tells of a key whether it is the lock: the
	// first such one that somebody uses. See Pattern.
	Match func(key string) bool

	// Prefix is what every key of the election begins with. As long as no lock
	// is known, what is written to such keys counts as not understood. Empty:
	// nothing does.
	Prefix string

	// Wall is what the server's wall clock shows, for commands that name the
	// time at which a key expires. Nil: how long those last is not known.
	Wall func() time.Time

	// Lease is how long a lease lasts whose record does not say it, and Drift by how
	// much the clocks of candidates may be fast, as a share. Without a Lease or Wall
	// no record is understood.
	Lease time.Duration
	Drift float64

	// Scripts are those that are known from earlier runs. Nil: none.
	Scripts *Scripts

	// Written is called with each key that a command names which may write to it.
	// It must not call back into the Lock. Nil: nobody asks.
	Written func(db int, key string)
}

// Endless is the time to live of a lease that does not end by itself. It is
// longer than any run, and so short that thousands of them can be added up.
const Endless = 10 * 24 * time.Hour

// Lock turns commands on one key of a Redis into the operations on a lease
// that they are. It is shared by all connections of all candidates: it knows
// which value is whose. Its methods may be called by several goroutines.
//
// The operations have no tokens: holders differ by node. The nonce of an
// acquire is unique to the attempt, except for commands that take the lease from any
// holder: those by one node are attempts of one nonce, because each takes effect again
// although the one before it did.
type Lock struct {
	options Options

	mu      sync.Mutex
	key     place
	found   bool              // key is known
	touched bool              // by now the key was seen free or taken by somebody known
	cleared bool              // by now it was seen free, or taken: what was there before the run is over
	absent  map[string]bool   // values that it was seen not to hold
	owners  map[string]*owner // by value
	members map[string]*member
	noted   map[string]bool
	slots   map[string]bool    // fields, if the lock is a hash, whose value is the holder
	scripts map[string]*script // by SHA-1
	serial  int                // of nonces
	tick    int                // counts what is sent and what is answered
	tally   tally

	records   bool                         // it holds records
	tenure    tenure                       // of the last one that was granted
	names     map[string]string            // the nodes that wrote records, by the holders that these name
	vacancies []string                     // records that name nobody
	fields    map[string]map[string]string // of records that are hashes, by the holders that they name

	timing  timing         // what the value says about when the lock ends
	ends    bool           // its key got a time to live
	seized  bool           // as long as it got none, another one than its holder took it away
	risks   map[string]int // values that requests under way may write over the lock of another node
	muddled int            // the tick at which a node may have written over the lock of another one; 0: it was free since
}

// place is where a key is.
type place struct {
	db  int
	key string
}

// owner is who sent a value to take the lock with.
type owner struct {
	node   string
	shared bool // several nodes sent it
}

// member is what is known about one node.
type member struct {
	values  []string       // that it ever sent to take the lock with
	nonces  attempts       // under which it holds the lock, or may
	holds   attempts       // values that it has in the lock, or may
	entered map[string]int // by value: the tick of the last request that may have written it
	murky   int            // how many of its requests may have written what nobody knows
}

// attempts are names under which a node holds the lock, or may.
type attempts []attempt

type attempt struct {
	name    string
	granted int  // tick of the reply that said so; 0: none did, or it is over since
	pending int  // operations under it without a reply
	lost    bool // one never got any: it may take effect at any time
}

// NewLock returns the reader of one lock, of one run.
func NewLock(o Options) *Lock {
	if o.Scripts == nil {
		o.Scripts = NewScripts()
	}
	return &Lock{options: o, absent: map[string]bool{}, owners: map[string]*owner{}, members: map[string]*member{}, noted: map[string]bool{}, slots: map[string]bool{}, scripts: map[string]*script{}, risks: map[string]int{},
		names: map[string]string{}, fields: map[string]map[string]string{}}
}

// Key is the key that is the lock, empty as long as that is not known.
func (l *Lock) Key() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.found {
		return l.key.key
	}
	return ""
}

// Conn returns the reader of one connection of a node. It calls tell with each
// event, which has no time yet, and next for the number of an operation; tell
// must not call back into the Lock. Both are called on the goroutine that
// calls Send, Answer or Lose.
func (l *Lock) Conn(node string, tell func(history.Event), next func() int64) *Conn {
	return &Conn{lock: l, node: node, tell: tell, next: next}
}

// now is what the server's wall clock shows, zero if that is not known.
func (l *Lock) now() time.Time {
	if l.options.Wall == nil {
		return time.Time{}
	}
	return l.options.Wall()
}

// moment is now, for a request that the node sends.
func (l *Lock) moment(node string) moment {
	now := l.now()
	return moment{now, l.lives(node, now)}
}

// is reports whether the key is the lock. A command that takes a key if nobody
// has it makes it the lock, where none was named.
func (l *Lock) is(at place, takes bool, c *Conn, how string) bool {
	switch {
	case l.found:
		if takes && at != l.key {
			l.tally.take(at, c.node, l.members[c.node])
		}
		return at == l.key
	case l.named(at.key):
		l.key, l.found = at, true
		return true
	case !l.hasName() && takes:
		l.key, l.found = at, true
		c.note("key", fmt.Sprintf("the lock is taken to be the key %q: %s took it first, by %s", at.key, c.node, how))
		return true
	}
	return false
}

// hasName reports whether it was said which key is the lock.
func (l *Lock) hasName() bool { return l.options.Key != "" || l.options.Match != nil }

// named reports whether it was said that this key is the lock.
func (l *Lock) named(key string) bool {
	if l.options.Key == "" && l.options.Match != nil {
		return l.options.Match(key)
	}
	return l.options.Key != "" && l.options.Key == key
}

// Pattern is for Options.Match: a key matches a text if it ends with it; or,
// if the text contains * or ?, which stand for any characters and for one, if
// it is like the whole of it.
func Pattern(text string) func(key string) bool {
	if !strings.ContainsAny(text, "*?") {
		return func(key string) bool { return strings.HasSuffix(key, text) }
	}
	quoted := regexp.QuoteMeta(text)
	quoted = strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(quoted)
	return regexp.MustCompile("(?s)^" + quoted + "$").MatchString
}

func (l *Lock) member(node string) *member {
	m := l.members[node]
	if m == nil {
		m = &member{entered: map[string]int{}}
		l.members[node] = m
	}
	return m
}

// own remembers that the node sent the value to take the lock with.
func (l *Lock) own(node, value string) {
	if m := l.member(node); !slices.Contains(m.values, value) {
		m.values = append(m.values, value)
	}
	o := l.owners[value]
	if o == nil {
		l.owners[value] = &owner{node: node}
		return
	}
	o.shared = o.shared || o.node != node
}

// maxHeld is how many values there may be that a script looks into.
const maxHeld = 16

// held are values that the lock may hold, as far as somebody sent them to take it: the
// node's own last ones, and then those of others.
func (l *Lock) held(node string, timed bool) []string {
	if l.records {
		return l.recent(node, timed)
	}
	list := slices.Clone(l.member(node).values)
	list = list[max(0, len(list)-maxHeld/2):]
	for _, value := range slices.Sorted(maps.Keys(l.owners)) {
		if len(list) < maxHeld && l.owners[value].node != node {
			list = append(list, value)
		}
	}
	return list
}

// holder is the node whose value this is; empty if that is not certain.
func (l *Lock) holder(value string) string {
	if node := l.names[l.identity(value)]; node != "" {
		return node
	}
	if o := l.owners[value]; o != nil && !o.shared {
		return o.node
	}
	return ""
}

// nonce is a new one.
func (l *Lock) nonce(node string) string {
	l.serial++
	return fmt.Sprintf("%s/%d", node, l.serial)
}

// enter notes an operation under the name, whose outcome is not known yet.
func (a *attempts) enter(name string) {
	for i := range *a {
		if (*a)[i].name == name {
			(*a)[i].pending++
			return
		}
	}
	*a = append(*a, attempt{name: name, pending: 1})
}

// leave notes the outcome of an operation under the name that was sent then.
// What the node was granted before a grant was sent is over.
func (a *attempts) leave(name string, kind history.Kind, sent, now int) {
	if kind == history.Ok {
		a.over(sent)
	}
	for i := range *a {
		if one := &(*a)[i]; one.name == name {
			one.pending--
			one.lost = one.lost || kind == history.Info
			if kind == history.Ok {
				one.granted = now
			}
		}
	}
	a.prune()
}

// over notes that the node does not hold what it was granted before that time.
func (a *attempts) over(before int) {
	for i := range *a {
		if one := &(*a)[i]; one.granted < before {
			one.granted = 0
		}
	}
	a.prune()
}

func (a *attempts) prune() {
	*a = slices.DeleteFunc(*a, func(one attempt) bool { return one.granted == 0 && one.pending == 0 && !one.lost })
}

// names are those of the attempts.
func (a attempts) names() []string {
	var names []string
	for _, one := range a {
		names = append(names, one.name)
	}
	return names
}

// over notes that the node does not hold what it was granted before that time.
func (m *member) over(before int) {
	m.nonces.over(before)
	m.holds.over(before)
}

// upper is the name of a command or option, as it is compared.
func upper(s string) string { return strings.ToUpper(s) }

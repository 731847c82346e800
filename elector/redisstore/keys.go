package redisstore

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/recount-io/recount/elector/store"
)

// DefaultPrefix is what every key begins with unless Options say otherwise.
const DefaultPrefix = "recount:"

const hexDigits = "0123456789ABCDEF"

// escape makes a text that has no spaces, control characters or braces, and
// is different for different texts: it writes those bytes, and %, as %XX.
// Braces would move the hash tag, and with it an election's keys to different
// cluster nodes; spaces separate the fields of leases, hints and audits.
func escape(text string) string {
	odd := 0
	for i := range len(text) {
		if isOdd(text[i]) {
			odd++
		}
	}
	if odd == 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + 2*odd)
	for i := range len(text) {
		c := text[i]
		if !isOdd(c) {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hexDigits[c>>4])
		b.WriteByte(hexDigits[c&15])
	}
	return b.String()
}

func isOdd(c byte) bool {
	return c <= ' ' || c == 0x7f || c == '{' || c == '}' || c == '%'
}

// unescape undoes escape.
func unescape(text string) (string, error) { return url.PathUnescape(text) }

// Keys lists all keys that the election may leave in Redis. They share one
// hash tag, so a cluster keeps them on one node. An empty name has none.
//
// The counter (the key that ends in ":token"), the guard, the candidates and the
// past terms have no time to live. An election therefore leaves some hundred bytes behind
// for good; see [Store.Retire] for elections whose names are made up as the program runs.
// Besides there is [Store.Witness].
func (s *Store) Keys(election string) []string {
	if election == "" {
		return nil
	}
	all := s.keys(election).all()
	if !s.audit {
		return all[:len(all)-1]
	}
	return all
}

// keys is what all keys of one election begin with: the prefix and hash tag.
type keys string

func (s *Store) keys(election string) keys {
	return keys(s.prefix + "{" + escape(election) + "}")
}

func (k keys) lease() string   { return string(k) + ":lease" }
func (k keys) counter() string { return string(k) + ":token" }
func (k keys) guard() string   { return string(k) + ":guard" }
func (k keys) terms() string   { return string(k) + ":terms" }
func (k keys) audit() string   { return string(k) + ":audit" }

// channel is that of the election in the database: the databases of a server share
// its channels.
func (k keys) channel(database int) string {
	if database == 0 {
		return string(k) + ":wake"
	}
	return string(k) + ":wake:" + strconv.Itoa(database)
}

func (k keys) candidates() string { return string(k) + ":candidates" }

// all are the keys, the lease's first and the audit's last.
func (k keys) all() []string {
	return []string{k.lease(), k.counter(), k.guard(), k.candidates(), k.terms(), k.audit()}
}

// others are the keys that hold nothing of the lease.
func (k keys) others() []string {
	return []string{k.counter(), k.candidates(), k.terms(), k.audit()}
}

// Witness is the key that all elections of the store share: a hash without a time to
// live. It has the moment from which on the server has forgotten nothing, and when each
// election's lease ends. If it is lost, nobody new is granted a lease for a lease's time.
// It is empty in a cluster, where elections have no key in common: there the guard of each
// takes its place.
func (s *Store) Witness() string {
	if s.lonely.Load() {
		return ""
	}
	return s.witness
}

// witnessOf is the witness of the election that has this guard.
func (s *Store) witnessOf(guard string) string {
	if s.lonely.Load() {
		return guard
	}
	return s.witness
}

// parted reports whether the request is to be sent again without the witness, which it
// had: a cluster's node has refused keys of several slots, and executed nothing.
func (s *Store) parted(err error, witnessed bool) bool {
	if !witnessed || !crossSlot(err) {
		return false
	}
	s.lonely.Store(true)
	s.known.Clear()
	return true
}

// names are the keys that the scripts of an election get, and its channel. They
// are the same for every call, so they are made once.
type names struct {
	acquire, renew, release, withdraw []string
	guard, channel                    string

	epoch  atomic.Uint64 // of the store, at the last renewal that looked, and one more; 0: none has
	at     atomic.Int64  // when that was, in nanoseconds since began
	vacant doubt         // nobody leads
	lasts  atomic.Int64  // how long a lease lasts at least, as was seen, in nanoseconds
}

// began is when the process did, about.
var began = time.Now()

// looked reports whether a renewal has looked for another server in this epoch, and
// within a lease.
func (n *names) looked(epoch uint64, lease time.Duration) bool {
	return n.epoch.Load() == epoch+1 && time.Since(began)-time.Duration(n.at.Load()) < lease
}

// look notes that a renewal has looked, which began in this epoch.
func (n *names) look(epoch uint64) {
	n.at.Store(int64(time.Since(began)))
	n.epoch.Store(epoch + 1)
}

// maxKnown bounds how many elections' names are kept, some KiB each, for programs that
// make names up as they run. A program that competes in more than these makes them anew
// for each request, which is a sixth of what one allocates.
const maxKnown = 16384

func (s *Store) names(election string) *names {
	if n, ok := s.known.Load(election); ok {
		return n.(*names)
	}
	n := s.newNames(election)
	if s.knownOf.Add(1) > maxKnown {
		s.known.Clear()
		s.knownOf.Store(1)
	}
	s.known.Store(election, n)
	return n
}

// newNames makes the names as parts of one text: there may be thousands of elections.
func (s *Store) newNames(election string) *names {
	k := s.keys(election)
	all := append(k.all(), k.channel(s.opts.DB))
	text := strings.Join(all, "")
	for i, name := range all {
		all[i], text = text[:len(name)], text[len(name):]
	}
	lease, counter, guard, candidates, terms, audit := all[0], all[1], all[2], all[3], all[4], all[5]
	witness := s.witnessOf(guard)
	lists := []string{
		lease, counter, guard, candidates, terms, witness, audit,
		lease, guard, witness, audit,
		lease, guard, candidates, terms, counter, witness, audit,
		lease, candidates,
	}
	n := &names{acquire: lists[:7], renew: lists[7:11], release: lists[11:18], withdraw: lists[18:], guard: guard, channel: all[6]}
	if !s.audit {
		n.acquire, n.renew, n.release = n.acquire[:6], n.renew[:3], n.release[:6]
	}
	return n
}

// leaseValue is what the lease's key holds while l stands. The scripts build
// and parse the same: "r1 TOKEN NONCE ID".
func leaseValue(l store.Lease, nonce string) string {
	var room [128]byte // most have room there
	b := append(room[:0], "r1 "...)
	b = strconv.AppendUint(b, l.Token, 10)
	b = append(b, ' ')
	b = append(b, nonce...)
	b = append(b, ' ')
	return string(append(b, l.ID...))
}

// checkNames refuses what could not be told from something else in Redis.
func checkNames(election, id, nonce string) error {
	switch {
	case election == "":
		return &store.FatalError{Err: errors.New("redisstore: the election has no name"), Fix: "name the election"}
	case id == "":
		return &store.FatalError{Err: fmt.Errorf("redisstore: election %q: the candidate has no id", election), Fix: "give the candidate an id"}
	case nonce == "":
		return &store.FatalError{Err: fmt.Errorf("redisstore: election %q: the attempt has no nonce", election), Fix: "give every attempt a nonce of its own"}
	}
	return nil
}

// millis is a time to live as Redis takes it.
func millis(election string, ttl time.Duration) (int64, error) {
	if ttl < time.Millisecond || ttl%time.Millisecond != 0 {
		return 0, &store.FatalError{
			Err: fmt.Errorf("redisstore: election %q: a lease cannot last %v", election, ttl),
			Fix: "choose a lease of whole milliseconds, 1ms or longer",
		}
	}
	return ttl.Milliseconds(), nil
}

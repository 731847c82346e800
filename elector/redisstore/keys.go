package redisstore

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/recount-io/recount/elector"
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
// past terms have no time to live: the first two must outlive every lease, or
// tokens would start again. An election therefore leaves some hundred bytes behind for good;
// see [Store.Retire] for elections whose names are made up as the program runs.
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

// names are the keys that the scripts of an election get, and its channel. They
// are the same for every call, so they are made once.
type names struct {
	acquire, renew, release []string
	guard, channel          string
}

// maxKnown bounds how many elections' names are kept, for programs that make
// names up as they run.
const maxKnown = 4096

func (s *Store) names(election string) *names {
	if n, ok := s.known.Load(election); ok {
		return n.(*names)
	}
	k := s.keys(election)
	n := &names{
		acquire: []string{k.lease(), k.counter(), k.guard(), k.candidates(), k.terms()},
		renew:   []string{k.lease(), k.guard(), k.candidates()},
		release: []string{k.lease(), k.guard(), k.terms()},
		guard:   k.guard(),
		channel: k.channel(s.opts.DB),
	}
	if s.audit {
		for _, keys := range []*[]string{&n.acquire, &n.renew, &n.release} {
			*keys = append(*keys, k.audit())
		}
	}
	if s.knownOf.Add(1) > maxKnown {
		s.known.Clear()
		s.knownOf.Store(1)
	}
	s.known.Store(election, n)
	return n
}

// leaseValue is what the lease's key holds while l stands. The scripts build
// and parse the same: "r1 TOKEN NONCE ID".
func leaseValue(l elector.Lease, nonce string) string {
	b := make([]byte, 0, len("r1 ")+20+1+len(nonce)+1+len(l.ID))
	b = append(b, "r1 "...)
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
		return &elector.FatalError{Err: errors.New("redisstore: the election has no name"), Fix: "name the election"}
	case id == "":
		return &elector.FatalError{Err: fmt.Errorf("redisstore: election %q: the candidate has no id", election), Fix: "give the candidate an id"}
	case nonce == "":
		return &elector.FatalError{Err: fmt.Errorf("redisstore: election %q: the attempt has no nonce", election), Fix: "give every attempt a nonce of its own"}
	}
	return nil
}

// millis is a time to live as Redis takes it.
func millis(election string, ttl time.Duration) (int64, error) {
	if ttl < time.Millisecond || ttl%time.Millisecond != 0 {
		return 0, &elector.FatalError{
			Err: fmt.Errorf("redisstore: election %q: a lease cannot last %v", election, ttl),
			Fix: "choose a lease of whole milliseconds, 1ms or longer",
		}
	}
	return ttl.Milliseconds(), nil
}

package wire

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/recount-io/recount/history"
)

// timing is what the value of a lock says about when the lock ends, in place of
// its time to live or beside it.
type timing uint8

const (
	timeless timing = iota
	stamped         // it tells a time that is past: of its making, or after which it only counts as stale
	expiring        // it tells a time to come, at which its key does not go away by itself
)

const (
	valueTells  = "a lock whose value tells a time, and whose key has no time to live"
	valueCounts = "a lock that ends at a time that is written down: its key does not go away then"
	takenAway   = "a lock without a time to live that another one than its holder takes away"
)

// near is how far from the present a time may be for a number in a value to be
// taken for it.
const near = 24 * time.Hour

// zones is what the offsets of all time zones are multiples of. A time without a zone may
// be that of any of them; leases are shorter than that.
const zones = 15 * time.Minute

// timed is what a value says that is written at the time now with that time to
// live. Of a store whose clock is not known nothing is said.
func timed(value string, ttl time.Duration, now time.Time) timing {
	at, tells := latest(value, now)
	switch left := at.Sub(now); {
	case !tells:
		return timeless
	case left > 0 && (left-ttl).Abs() > max(time.Second, ttl/5): // whole seconds are usual
		return expiring
	case ttl == Endless:
		return stamped
	default:
		return timeless
	}
}

var (
	numbers = regexp.MustCompile(`\d{10,19}`)
	dates   = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?`)
)

// latest is the latest time, not far from now, that the value tells: as a number
// of seconds since 1970, or of parts of them, or as a date.
func latest(value string, now time.Time) (at time.Time, tells bool) {
	if now.IsZero() {
		return at, false
	}
	take := func(t time.Time) {
		if t.Sub(now).Abs() < near && (!tells || t.After(at)) {
			at, tells = t, true
		}
	}
	for _, span := range numbers.FindAllStringIndex(value, -1) {
		if n, err := strconv.ParseInt(value[span[0]:span[1]], 10, 64); err == nil && alone(value, span[0], span[1]) {
			for _, t := range []time.Time{time.Unix(n, 0), time.UnixMilli(n), time.UnixMicro(n), time.Unix(0, n)} {
				take(t)
			}
		}
	}
	for _, text := range dates.FindAllString(value, -1) {
		text = strings.Replace(text, " ", "T", 1)
		if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
			take(t)
		} else if t, err := time.Parse("2006-01-02T15:04:05.999999999", text); err == nil && t.Sub(now).Abs() < near {
			take(t.Add(-t.Sub(now).Round(zones)))
		}
	}
	return at, tells
}

// alone reports whether a number in a text is no part of a word, such as a random
// one in hexadecimal digits.
func alone(text string, from, to int) bool {
	letter := func(i int) bool {
		return i >= 0 && i < len(text) && (text[i]|0x20 >= 'a' && text[i]|0x20 <= 'z' || text[i] >= '0' && text[i] <= '9')
	}
	return !letter(from-1) && !letter(to)
}

// doubt marks the views of whose operations nobody can say what they did, because
// the lock ends when its value says so, or something that is not known: it was taken away
// from its holder, and its key never had a time to live.
func (x *Exchange) doubt(views []view) []view {
	l := x.conn.lock
	looks := x.looks(views)
	for i := range views {
		v := &views[i]
		switch tells := v.timing(); {
		case x.premature(v):
			v.before = unsure
		case v.unclear != "", v.before == absent && v.call == "": // nothing is in doubt where nothing was
		case l.muddled > 0 && v.before != absent && looks:
			v.known, v.other = false, false
		case l.muddled > 0 && v.before != absent:
			v.unclear = overwrites
		case v.record, l.records && !v.wrote:
			v.unclear = x.untimely(v)
		case tells == expiring || l.timing == expiring:
			v.unclear = valueCounts
		case tells == stamped && !l.ends, l.timing == stamped && !(v.bounds() && v.call != ""):
			v.unclear = valueTells
		case !l.ends && !v.bounds() && (l.seized || x.seizes(v)):
			v.unclear = takenAway
		}
	}
	return views
}

// seizes reports whether the view shows that a lock without a time to live was taken away
// that is not the caller's.
func (x *Exchange) seizes(v *view) bool {
	own := len(x.held) > 0
	if v.known {
		own = x.conn.lock.owns(x.conn.node, v.held)
	}
	return !own && (v.call == history.Release || v.call == history.Acquire && v.before == present && v.ttl == Endless)
}

// timing is that of the value that was written.
func (v *view) timing() timing {
	switch {
	case !v.wrote:
		return timeless
	case v.clocked && v.ttl == Endless:
		return expiring
	}
	return timed(v.value, v.ttl, v.sent)
}

// bounds reports whether the view shows that the key got a time to live.
func (v *view) bounds() bool { return v.ttl > 0 && v.ttl < Endless }

// clocked notes what the views of a request that was answered show about how the
// lock ends. Once its key got a time to live, a time in its value that is past is
// no more than a part of a name.
func (x *Exchange) clocked(views []view) {
	l := x.conn.lock
	for i := range views {
		v := &views[i]
		l.seized = l.seized || !l.records && !v.record && v.unclear == "" && !l.ends && !v.bounds() && x.seizes(v)
		switch tells := v.timing(); {
		case v.unclear != "":
		case v.record:
			x.stamp = v.stamp
		case tells == expiring:
			l.timing = expiring
		case v.bounds() && l.timing != expiring:
			l.plain()
		case tells == stamped && !l.ends && l.timing == timeless:
			l.timing = stamped
		}
	}
}

package wire

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// record is what a value says that names who holds the lease and tells when the lease was
// renewed or ends, as the record of Kubernetes' leader election does. Its key does not go
// away at the end of the lease: candidates compare the time with a clock.
type record struct {
	holder  string            // empty: nobody
	stamp   time.Time         // when it was renewed, by the clock of its writer; zero: the zone is not known
	lasts   time.Duration     // from the write on
	vague   bool              // its time may also be that of its making
	strange string            // why nobody can say when it ends
	fields  map[string]string // if it is a hash
}

// The names of a record's fields, without case, _ and -. The first one that is there counts.
var (
	holderNames = []string{"holderidentity", "holder", "holderid", "owner", "ownerid", "leader", "leaderid", "identity", "node", "candidate", "instance", "id"}
	renewNames  = []string{"renewtime", "renewedat", "renewed", "lastrenewtime", "lastrenewedat", "lastrenewed", "lastrenewal", "lastrenew", "heartbeatat", "heartbeat", "lastheartbeat"}
	endNames    = []string{"expiresat", "expires", "expireat", "expiry", "expiration", "validuntil"}
	vagueNames  = []string{"timestamp", "ts", "updatedat", "time"}
	spanNames   = []string{"leaseduration", "lease", "duration", "ttl"}
)

// units are the ends of the names of durations. Without one the unit is that which makes
// the duration most like the lease of the run.
var units = []struct {
	suffix string
	unit   time.Duration
}{
	{"seconds", time.Second}, {"secs", time.Second}, {"sec", time.Second}, {"s", time.Second},
	{"milliseconds", time.Millisecond}, {"millis", time.Millisecond}, {"ms", time.Millisecond},
	{"nanos", time.Nanosecond}, {"ns", time.Nanosecond}, {"", 0},
}

const endsOddly = "a record that ends at another time than one lease after it was written"

// readRecord reads a JSON object that was written at the time sent. Lease is that of the
// run.
func readRecord(text string, lease time.Duration, sent time.Time) (record, bool) {
	if !strings.HasPrefix(text, "{") {
		return record{}, false
	}
	var object map[string]any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&object) != nil {
		return record{}, false
	}
	fields := map[string]string{}
	for name, value := range object { // any order: each by itself
		switch v := value.(type) {
		case nil:
			fields[name] = ""
		case string:
			fields[name] = v
		case json.Number:
			fields[name] = v.String()
		}
	}
	r, is := recordOf(fields, lease, sent)
	r.fields = nil
	return r, is
}

// recordOf makes a record of fields: it needs one that names the holder and one that tells
// a time. A record without a holder needs no time.
func recordOf(fields map[string]string, lease time.Duration, sent time.Time) (record, bool) {
	holder, found := pick(fields, holderNames)
	r := record{holder: holder, lasts: spanOf(fields, lease), fields: fields}
	var tells bool
	if text, is := pick(fields, renewNames); is {
		r.stamp, tells = instant(text)
	}
	if text, is := pick(fields, endNames); is && !tells {
		var end time.Time
		if end, tells = instant(text); tells {
			r.ends(end, sent)
		}
	}
	if text, is := pick(fields, vagueNames); is && !tells {
		r.stamp, tells = instant(text)
		r.vague = true
	}
	return r, found && (tells || holder == "")
}

// ends notes the end that the record tells. It must be about one lease after the write: a
// writer whose clock is wrong leaves open when others take the lease for over.
func (r *record) ends(end, sent time.Time) {
	left := end.Sub(sent)
	if end.IsZero() || (left-r.lasts).Abs() > r.lasts/2+time.Second || left <= 0 {
		r.strange = endsOddly
		return
	}
	r.stamp, r.lasts = sent, left
}

// outlives is the longest time to live of a key that is taken for the end of its record's
// lease. A key that lives longer is only tidied up by it.
func (r *record) outlives() time.Duration { return r.lasts + r.lasts/2 + time.Second }

// pick is the first of these fields that is there.
func pick(fields map[string]string, names []string) (string, bool) {
	best, text := len(names), ""
	for field, value := range fields { // any order: the best counts
		if i := slices.Index(names, plainName(field)); i >= 0 && i < best {
			best, text = i, value
		}
	}
	return text, best < len(names)
}

var joints = strings.NewReplacer("_", "", "-", "")

// plainName is the name of a field without case, _ and -.
func plainName(field string) string { return joints.Replace(strings.ToLower(field)) }

// aside reports whether a field of a hash is one that says more about the lease than who
// holds it.
func aside(field string) bool {
	name := plainName(field)
	_, _, spans := unitOf(name)
	return spans || slices.Contains(slices.Concat(renewNames, endNames, vagueNames), name)
}

// unitOf splits the plain name of a duration.
func unitOf(name string) (base int, unit time.Duration, is bool) {
	for _, u := range units {
		if rest, has := strings.CutSuffix(name, u.suffix); has {
			if i := slices.Index(spanNames, rest); i >= 0 {
				return i, u.unit, true
			}
		}
	}
	return 0, 0, false
}

// spanOf is how long the lease lasts: as the record says, or else as the run does.
func spanOf(fields map[string]string, lease time.Duration) time.Duration {
	best, span := len(spanNames), lease
	for field, text := range fields { // any order: the best counts
		base, unit, is := unitOf(plainName(field))
		if !is || base >= best {
			continue
		}
		if d, fine := spanIn(text, unit, lease); fine {
			best, span = base, d
		}
	}
	return span
}

// spanIn reads a duration.
func spanIn(text string, unit, lease time.Duration) (time.Duration, bool) {
	d, err := time.ParseDuration(text)
	n, notNumber := strconv.ParseFloat(text, 64)
	if notNumber == nil {
		err = nil
		if unit == 0 {
			like := func(u time.Duration) float64 { return math.Abs(math.Log(n * float64(u) / float64(lease))) }
			unit = slices.MinFunc([]time.Duration{time.Second, time.Millisecond, time.Nanosecond}, func(a, b time.Duration) int {
				return int(math.Copysign(1, like(a)-like(b)))
			})
		}
		d = time.Duration(n * float64(unit))
	}
	return d, err == nil && d > 0 && d < Endless
}

// instant reads a time: a date, or a number of seconds since 1970 or of parts of them. A
// date without a zone is a time, but nobody knows which: then at is zero.
func instant(text string) (at time.Time, is bool) {
	if t, err := time.Parse(time.RFC3339Nano, strings.Replace(text, " ", "T", 1)); err == nil {
		return t, true
	}
	if dates.FindString(text) == text && text != "" {
		return at, true
	}
	n, err := strconv.ParseFloat(text, 64)
	const first, last = 1e9, 1e10 // in seconds: since 2001
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond, time.Nanosecond} {
		if seconds := n * unit.Seconds(); err == nil && seconds >= first && seconds < last {
			if whole, err := strconv.ParseInt(text, 10, 64); err == nil {
				return time.Unix(0, whole*int64(unit)), true
			}
			whole, part := math.Modf(seconds)
			return time.Unix(int64(whole), int64(part*1e9)), true
		}
	}
	return at, false
}

// shifted are texts like the record with its times much earlier, and much later. A script
// that takes the time from the server writes another one than can be foreseen.
func shifted(text string) []string {
	by := func(sign int64) string {
		return numbers.ReplaceAllStringFunc(text, func(digits string) string {
			n, err := strconv.ParseInt(digits, 10, 64)
			if err != nil {
				return digits
			}
			return strconv.FormatInt(n+sign*(n/10), 10)
		})
	}
	return []string{by(-1), by(1)}
}

package faults

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// milliseconds is a duration as a parameter: a whole number where it is one,
// and else a fraction, so that nothing finer is lost. Fractions are exact to
// the nanosecond up to 99 days.
func milliseconds(d time.Duration) any {
	whole, rest := d.Milliseconds(), d%time.Millisecond
	if rest == 0 {
		return whole
	}
	return float64(whole) + float64(rest)/1e6
}

// params reads a fault's parameters, whether a fault has made them or a decoder
// of JSON. The first thing that is wrong with them is kept.
type params struct {
	values map[string]any
	known  []string // what was asked for
	err    error
}

func (p *params) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

// get returns what is said for key; ok is false if that is nothing.
func (p *params) get(key string) (value any, ok bool) {
	p.known = append(p.known, key)
	value, ok = p.values[key]
	return value, ok
}

// number is a finite number that must be there. such is an example of one, for
// the error.
func (p *params) number(key, such string) float64 {
	value, ok := p.get(key)
	if !ok {
		p.fail("%s is missing: give %s", key, such)
		return 0
	}
	f, ok := float(value)
	if !ok || math.IsNaN(f) || math.IsInf(f, 0) {
		p.fail("%s is %s: give %s", key, text(value), such)
		return 0
	}
	return f
}

// duration is a number of milliseconds, rounded to the nanosecond, which is not
// below least.
func (p *params) duration(key string, least time.Duration) time.Duration {
	const such = "milliseconds, such as 40 or 0.25"
	ms := p.number(key, such)
	if math.Abs(ms) > float64(math.MaxInt64/int64(time.Millisecond)) {
		p.fail("%s is %v, which is more than 290 years: give %s", key, ms, such)
		return 0
	}
	whole, part := math.Modf(ms)
	d := time.Duration(whole)*time.Millisecond + time.Duration(math.Round(part*1e6))
	if d < least {
		p.fail("%s is %v: give %s, not below %v", key, ms, such, least)
	}
	return d
}

// implied is a parameter that the fault's name says already. It may be left
// out, but not say anything else.
func (p *params) implied(key string, value any) {
	if got, ok := p.get(key); ok && got != value {
		p.fail("%s is %s, which is another fault: leave it out, or give %s", key, text(got), text(value))
	}
}

// end returns what was wrong, parameters that nobody asked for included.
func (p *params) end() error {
	for _, key := range slices.Sorted(maps.Keys(p.values)) {
		switch {
		case slices.Contains(p.known, key):
		case len(p.known) == 0:
			p.fail("there is no parameter %q: it has none", key)
		default:
			p.fail("there is no parameter %q: give %s", key, strings.Join(p.known, ", "))
		}
	}
	return p.err
}

func float(value any) (float64, bool) {
	switch n := value.(type) {
	case float64:
		return n, true
	case int64:
		return float64(n), true
	case int:
		return float64(n), true
	case json.Number:
		f, err := n.Float64()
		return f, err == nil
	default:
		return 0, false
	}
}

// text shows a value as JSON does, in one line whatever it is.
func text(value any) string {
	b, err := json.Marshal(value)
	if err != nil { // not a number, say
		b = fmt.Appendf(nil, "%q", fmt.Sprint(value))
	}
	const most = 60
	if runes := []rune(string(b)); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return string(b)
}

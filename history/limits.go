package history

import (
	"fmt"
	"time"
)

// What a history can hold. Within these bounds no sum that a checker makes of a
// time and some durations overflows. No run is so long: a million hours are 114
// years, so that even times since the Unix epoch are within the bound.
const (
	MaxTime     = 1_000_000 * time.Hour // of At, Until and Since, which are not negative
	MaxDuration = 100_000 * time.Hour   // of every duration; none is negative, but Shorten may be
)

// Clip brings the times of an event that is about to be recorded within what a
// history can hold: each becomes the nearest that is, and an Until that is too late
// becomes none, for a belief that lasts until further notice.
func (e *Event) Clip() {
	e.At = min(max(e.At, 0), MaxTime)
	e.TTL = min(max(e.TTL, 0), MaxDuration)
	e.Shorten = min(max(e.Shorten, -MaxDuration), MaxDuration)
	if e.Since != nil && (*e.Since < 0 || *e.Since > MaxTime) {
		e.Since = At(min(max(*e.Since, 0), MaxTime))
	}
	switch {
	case e.Until == nil:
	case *e.Until > MaxTime:
		e.Until = nil
	case *e.Until < 0:
		e.Until = At(0)
	}
}

// outside says which field of the event is beyond what a history can hold, or "".
func (e *Event) outside() string {
	times := []struct {
		name string
		at   *time.Duration
	}{{"at", &e.At}, {"until", e.Until}, {"since", e.Since}}
	for _, t := range times {
		if t.at != nil {
			if text := beyond(t.name, int64(*t.at), 0, int64(MaxTime)); text != "" {
				return text
			}
		}
	}
	durations := []namedDuration{{"ttl_ns", e.TTL}}
	if p := e.Probe; p != nil {
		durations = append(durations, []namedDuration{{"latency_ns", p.Latency}, {"p50_ns", p.P50}, {"p99_ns", p.P99}, {"limit_ns", p.Limit}}...)
	}
	if text := outside(durations); text != "" {
		return text
	}
	return beyond("shorten_ns", int64(e.Shorten), -int64(MaxDuration), int64(MaxDuration))
}

// outside says which field of the header is beyond what a history can hold, or "".
func (h *Header) outside() string {
	if text := outside([]namedDuration{
		{"lease_ns", h.Lease}, {"clock_error_ns", h.ClockError}, {"renew_ns", h.Renew}, {"retry_ns", h.Retry},
		{"failover_bound_ns", h.FailoverBound}, {"return_bound_ns", h.ReturnBound}, {"margin_ns", h.Margin},
	}); text != "" {
		return text
	}
	return beyond("drift_ppm", h.DriftPPM, 0, maxDrift)
}

type namedDuration struct {
	name string
	is   time.Duration
}

// outside says which duration is beyond what a history can hold, or "".
func outside(all []namedDuration) string {
	for _, d := range all {
		if text := beyond(d.name, int64(d.is), 0, int64(MaxDuration)); text != "" {
			return text
		}
	}
	return ""
}

// maxDrift is the largest difference of clock rates, in millionths: by a whole one
// no deadline would ever come.
const maxDrift = 1_000_000 - 1

func beyond(field string, is, least, most int64) string {
	if is < least || is > most {
		return fmt.Sprintf("%s is %d, which is not between %d and %d", field, is, least, most)
	}
	return ""
}

// Package expiry is the arithmetic of when a lease is over, which all judges of
// leases share: how exactly that is known, and what faults do to it.
package expiry

import "time"

// Forever is later than every event.
const Forever = time.Duration(1<<63-1) / 4

// Tolerance is how far the true lifetime of a lease may be from its TTL: Redis
// counts whole milliseconds at both ends (2 ms), the server's clock may run
// 100 ppm off the recording one, and two nodes' times differ by the clock
// error. drift_ppm does not belong here: it is what the candidates' clocks may
// do, and no candidate's clock decides when a lease is over.
type Tolerance time.Duration

// NewTolerance is the tolerance where the times of two nodes differ by up to
// clockError.
func NewTolerance(clockError time.Duration) Tolerance {
	return Tolerance(2*time.Millisecond + 2*clockError)
}

// Of is the tolerance of a lease of that TTL.
func (t Tolerance) Of(ttl time.Duration) time.Duration { return time.Duration(t) + ttl/10_000 }

// Fault is what a fault may do to leases, at some time in [From, To].
type Fault struct {
	From, To time.Duration
	Void     bool          // they may vanish, and with them the count of tokens and the store's record
	Shorten  time.Duration // they lose so much of their time to live; below 0: they may gain up to so much
	Certain  bool          // Shorten certainly happened
}

// First is when a lease may be over at the earliest that was written at or after
// written and would last until end without the faults.
func First(faults []Fault, written, end time.Duration) time.Duration {
	for i := range faults {
		f := &faults[i]
		if f.To < written || f.From >= end {
			continue
		}
		if f.Void {
			end = f.From
		}
		if f.Shorten > 0 {
			end = max(f.From, end-f.Shorten)
		}
	}
	return end
}

// Last is when a lease is over at the latest that was written at or after written
// and would last until end at the latest without the faults.
func Last(faults []Fault, written, end time.Duration) time.Duration {
	for i := range faults {
		if f := &faults[i]; f.Shorten < 0 && f.To >= written && f.From <= end {
			end -= f.Shorten
		}
	}
	return end
}

// Lengthened reports whether a fault may have made leases last longer at some time
// in [from, to].
func Lengthened(faults []Fault, from, to time.Duration) bool {
	for i := range faults {
		if f := &faults[i]; f.Shorten < 0 && f.From <= to && f.To >= from {
			return true
		}
	}
	return false
}

// Lost reports whether a fault may have removed leases, and with them the store's
// records and its count of tokens, by t.
func Lost(faults []Fault, t time.Duration) bool { return LostIn(faults, -Forever, t) }

// LostIn reports whether a fault may have done so in [from, to].
func LostIn(faults []Fault, from, to time.Duration) bool {
	for i := range faults {
		if f := &faults[i]; f.Void && f.From <= to && f.To >= from {
			return true
		}
	}
	return false
}

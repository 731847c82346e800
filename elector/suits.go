package elector

import "time"

// Bounded is a Store that not every Config suits. New asks it, also if it is wrapped in
// stores that have a method Unwrap() Store.
type Bounded interface {
	// Suits returns an error, a *ConfigError as a rule, if no election can go well on the
	// store with these times. The error names the setting of both sides and the mend. It
	// reaches out to nothing.
	Suits(t Times) error
}

// Times are what an elector asks of its store.
type Times struct {
	Lease          time.Duration // the longest for which the lease is asked for
	LongestLease   time.Duration // Config.LongestLease; no shorter than Lease
	RequestTimeout time.Duration // Config.RequestTimeout
}

// Suits asks the store, or the one that it wraps, whether the times suit it. A store that
// is not Bounded takes any.
func Suits(store Store, t Times) error {
	if b, ok := unwrapped[Bounded](store); ok {
		return b.Suits(t)
	}
	return nil
}

// unwrapped is the outermost store that can do something, of one and those that it wraps.
func unwrapped[T any](store Store) (able T, ok bool) {
	for {
		if able, ok = any(store).(T); ok {
			return able, true
		}
		w, wraps := any(store).(wrapper)
		if !wraps {
			return able, false
		}
		store = w.Unwrap()
	}
}

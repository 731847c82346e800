package elector

import "time"

// Presets are durations that fit together, for a Config to begin with: set
// Election and whatever else differs.

// Fast replaces a crashed leader within about 3 s. It wants a store that
// answers within some hundred milliseconds, and renews once a second.
func Fast() Config { return preset(3 * time.Second) }

// Balanced is what a Config without durations is: a lease of 15 s, renewed each
// 5 s. A store may be away for some seconds without an effect.
func Balanced() Config { return preset(15 * time.Second) }

// Quiet costs two commands a minute and replaces a crashed leader within a
// minute. A failover of the store goes by unnoticed.
func Quiet() Config {
	c := preset(time.Minute)
	c.Renew, c.RequestTimeout, c.Retry = 30*time.Second, 5*time.Second, 2*time.Second
	return c
}

func preset(lease time.Duration) Config {
	m := Config{Lease: lease}.machine().WithDefaults()
	return Config{
		Lease: m.Lease, Renew: m.Renew, Retry: m.Retry, RequestTimeout: m.RequestTimeout, DrainTimeout: m.DrainTimeout,
		Drift: DefaultDrift,
	}
}

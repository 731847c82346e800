package elector

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/machine"
)

// Config is how an Elector competes. Only Election must be set.
//
// The durations depend on each other. After a renewal is sent, the elector
// leads for Lease × (1 − Drift) − 1 ms; within that time the next renewal
// must be sent (Renew), may fail (RequestTimeout) and must be repeated (Retry):
//
//	Renew + RequestTimeout + Retry ≤ Lease × (1 − Drift) − 1 ms
//
// All candidates of an election should have the same Lease and Drift. A
// failover after a crash takes the rest of the lease; a shorter Lease makes it
// faster and less patient with a slow store. To change Lease while candidates run,
// see LongestLease.
type Config struct {
	// Election is the name of what is to be led. ID is the human part of the
	// candidate's identity, the host's name by default; New adds a random part,
	// so two replicas with one ID are two candidates. store.CheckName says what both may hold.
	Election string
	ID       string

	Lease          time.Duration // how long the store keeps a lease that is not renewed; whole milliseconds; 15 s by default
	Renew          time.Duration // from one renewal to the next; Lease / 3 by default
	Retry          time.Duration // pause after a request that failed, or a term that was given up; Renew / 5 by default
	RequestTimeout time.Duration // after which a request is given up; Renew / 2 by default
	DrainTimeout   time.Duration // how long a resigning leader's work may take to end; 2 × Lease by default

	// LongestLease is the longest Lease that any candidate of the election has, or
	// had a lease ago, as this one counts on: Lease by default. A store that may have
	// forgotten a lease grants none for so long.
	//
	// Lease may be changed while candidates run. A candidate learns from the store if
	// others have a longer one. One whose own is longer than others count on is
	// refused the lease (HeldError.Withheld says why) until those are gone, or were
	// not heard of for two of their leases. So a rolling change to a longer Lease
	// leaves the old candidates in charge as long as there are any, and then nobody
	// for up to two of the old leases. Two steps leave no such pause: give all
	// candidates the new Lease as LongestLease, and when all have it, as Lease.
	//
	// redisstore and quorumstore teach this. A candidate that has learned of a longer
	// lease returns to its own LongestLease when nobody was heard of with that lease for
	// two of it. A candidate that asks for the first time when the store has just
	// forgotten everything learns nothing: where that matters, set LongestLease for
	// changes to a shorter Lease too.
	LongestLease time.Duration

	// Drift is by how much the rates of this machine's clock and the store's
	// may differ, as a share: DefaultDrift if it is 0.
	Drift float64

	// Priority says how much this candidate is preferred as the leader, 0 by
	// default. It does not decide who is elected when the lease is free, which
	// would make failovers slower; see Failback.
	Priority int

	// Failback makes a leader look so often, at least a Lease apart, whether a
	// candidate of a higher priority competes, and hand over to it (as with
	// Term.Transfer). Never if it is 0. The store must be a store.CandidateLister, or New refuses it.
	Failback time.Duration

	// Value is what the leader publishes from the beginning of each of its terms on,
	// its address, say: any bytes, at most 4096 of them (store.MaxValue). Leader and Observe tell
	// it to everybody who may read from the store, so it is no place for secrets. After
	// a hand-over it may be empty for a round trip. See Term.Publish.
	Value string

	// Once makes Run and Terms end after one term.
	Once bool

	// Clock is by default what SystemClock returns where New is called: in a bubble of
	// testing/synctest, the bubble's time.
	Clock Clock

	// Logger is slog.Default by default. One that hangs or panics hinders nothing,
	// but Run waits for it at its end; what it panicked at is lost. One that does not
	// want lines of LevelDebug may be told of every tenth renewal only.
	Logger *slog.Logger

	// OnStarted is the work of Run: it is called once for each term, on a
	// goroutine of its own, and must return soon after ctx, the term's
	// context, is done. The term ends when it returns. A panic in it ends the
	// term and makes Run return a *PanicError.
	//
	// As long as it has not returned this candidate does not compete again, and
	// Run does not return. If that is so a Lease after the term's end, an
	// event.Trouble with ErrCallbackHangs says so, once.
	OnStarted func(ctx context.Context, t *Term)

	// OnStopped is called once for each term of Run after its work has ended
	// and the term is over, never before OnStarted has returned. The lease is
	// given back before that, so that another candidate may lead meanwhile; this
	// one does not compete again before OnStopped has returned, and tells of one
	// that hangs as of OnStarted. A panic in it is logged.
	OnStopped func(t *Term, why Reason)

	// OnLeader tells who leads, whenever somebody is seen to lead who was not
	// before, this elector included. OnEvent gets every transition, in order.
	// Both are called on one goroutine, one call at a time. They may be slow:
	// the election does not wait for them (but Run waits for them at its end).
	// A panic in them is logged.
	OnLeader func(l Leader)
	OnEvent  func(Event)

	_ struct{}
}

// checkValue refuses a value that is too long.
func checkValue(value string) error {
	if len(value) > store.MaxValue {
		return fmt.Errorf("elector: the value has %d bytes, and a leader publishes at most %d: publish where to find the rest", len(value), store.MaxValue)
	}
	return nil
}

// ConfigError says which relation a Config breaks.
type ConfigError struct {
	Field string // the field to change
	Rule  string // what is wrong, with the values
}

func (e *ConfigError) Error() string { return "elector: Config." + e.Field + ": " + e.Rule }

// DefaultDrift is the tolerated difference of clock rates: far more than
// quartz and NTP's slewing (0.05 %) together.
const DefaultDrift = 0.01

func (c Config) withDefaults() Config {
	m := c.machine().WithDefaults()
	c.Lease, c.Renew, c.Retry = m.Lease, m.Renew, m.Retry
	c.RequestTimeout, c.DrainTimeout, c.LongestLease = m.RequestTimeout, m.DrainTimeout, m.LongestLease
	if c.Drift == 0 {
		c.Drift = DefaultDrift
	}
	if c.ID == "" {
		c.ID = hostName()
	}
	if c.Clock == nil {
		c.Clock = SystemClock()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

func hostName() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "candidate"
	}
	return name
}

// machine is the part of the settings that the machine decides by.
func (c Config) machine() machine.Config {
	return machine.Config{
		Lease: c.Lease, LongestLease: c.LongestLease, Renew: c.Renew, Retry: c.Retry,
		RequestTimeout: c.RequestTimeout, DrainTimeout: c.DrainTimeout,
		Drift: c.Drift, Once: c.Once, Value: c.Value,
	}
}

// validate judges a Config whose defaults are set, and that was given without them.
func (c Config) validate(given Config) error {
	if err := store.CheckName(c.Election); err != nil {
		return &ConfigError{"Election", err.Error()}
	}
	if err := store.CheckName(c.ID); err != nil {
		return &ConfigError{"ID", err.Error()}
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"Lease", c.Lease}, {"Renew", c.Renew}, {"Retry", c.Retry},
		{"RequestTimeout", c.RequestTimeout}, {"DrainTimeout", c.DrainTimeout}, {"Failback", c.Failback}, {"LongestLease", c.LongestLease},
	} {
		if d.value < 0 {
			return &ConfigError{d.field, fmt.Sprintf("is %v; it must be positive, or zero for the default", d.value)}
		}
		if d.value > maxDuration {
			return &ConfigError{d.field, fmt.Sprintf("is %v; it may be %v at the most", d.value, maxDuration)}
		}
	}
	if len(c.Value) > store.MaxValue {
		return &ConfigError{"Value", fmt.Sprintf("has %d bytes; a leader publishes at most %d: publish where to find the rest", len(c.Value), store.MaxValue)}
	}
	if !(c.Drift >= 0 && c.Drift < 1) {
		return &ConfigError{"Drift", fmt.Sprintf("is %v; it is a share of time and must be at least 0 and below 1 (1 %% is 0.01)", c.Drift)}
	}
	return c.validateRelations(given)
}

// shortest is the shortest lease. A request gets a sixth of it, within which it has to get to
// the store and back, on machines that have other things to do.
const shortest = 10 * time.Millisecond

// origin is a duration as complaints name it: who has not set it learns where it comes from.
func origin(given, value time.Duration, rule string) string {
	if given != 0 {
		return value.String()
	}
	return fmt.Sprintf("%v (by default %s)", value, rule)
}

func (c Config) validateRelations(given Config) error {
	usable := c.machine().Usable()
	renew, retry := origin(given.Renew, c.Renew, "Lease / 3"), origin(given.Retry, c.Retry, "Renew / 5")
	request := origin(given.RequestTimeout, c.RequestTimeout, "Renew / 2")
	lease := origin(given.Lease, c.Lease, "that long")
	switch {
	case c.Lease%time.Millisecond != 0:
		return &ConfigError{"Lease", fmt.Sprintf("is %v; stores count whole milliseconds, so it must be a multiple of 1ms", c.Lease)}
	case c.Lease < shortest:
		return &ConfigError{"Lease", fmt.Sprintf("is %v; a request has a sixth of it to get to the store and back: at least %v, and some hundred milliseconds over a network", c.Lease, shortest)}
	case c.LongestLease < c.Lease || c.LongestLease%time.Millisecond != 0:
		return &ConfigError{"LongestLease", fmt.Sprintf("is %v and Lease is %s; it is the longest of all candidates' leases, in whole milliseconds: LongestLease ≥ Lease", c.LongestLease, lease)}
	case c.Failback > 0 && c.Failback < c.Lease:
		return &ConfigError{"Failback", fmt.Sprintf("is %v and Lease is %s; candidates are heard of once a lease, so looking more often tells nothing new: Failback ≥ Lease, or 0", c.Failback, lease)}
	case c.Renew >= c.Lease:
		return &ConfigError{"Renew", fmt.Sprintf("is %v and Lease is %s; a lease must be renewed before it ends: Renew < Lease", c.Renew, lease)}
	case c.Retry >= c.Lease:
		return &ConfigError{"Retry", fmt.Sprintf("is %s and Lease is %s; a failed request must be repeated before the lease ends: Retry < Lease", retry, lease)}
	case c.Renew+c.RequestTimeout > usable:
		return &ConfigError{"RequestTimeout", fmt.Sprintf("is %s and Renew is %s; a renewal must be answered within Lease × (1 − Drift) − 1ms = %v: Renew + RequestTimeout ≤ %[3]v", request, renew, usable)}
	case c.Renew+c.RequestTimeout+c.Retry > usable:
		return &ConfigError{"Retry", fmt.Sprintf("is %s, Renew is %s and RequestTimeout is %s; one failed renewal must not end a term, so a second one must fit into Lease × (1 − Drift) − 1ms = %v: Renew + RequestTimeout + Retry ≤ %[4]v", retry, renew, request, usable)}
	}
	return nil
}

// maxDuration is longer than any process lives. Moments that lie so far in the future can
// be computed with; beyond, they would wrap around to the past.
const maxDuration = 10 * 365 * 24 * time.Hour

// Package elector elects one leader among processes, with a lease in Redis: a key with a
// time to live that its holder renews.
package elector

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// Config is what New needs.
type Config struct {
	Redis *redis.Options
	Key   string // every key in Redis begins with it
	ID    string // of this process, for people
	Lease time.Duration

	// They are called in this order, one at a time; until is when the elector stops to
	// lead by itself. The token is larger in each term: send it with every write.
	OnElected  func(token uint64, until time.Time)
	OnExtended func(until time.Time)
	OnDeposed  func()
}

// Elector competes for the lease.
type Elector struct {
	Config
	client *redis.Client
}

// New returns an elector that does not compete yet.
func New(c Config) *Elector {
	c.Redis.ContextTimeoutEnabled, c.Redis.MaxRetries = true, -1 // a late request is of no use
	return &Elector{c, redis.NewClient(c.Redis)}
}

// The scripts touch the key only while its value is that of the caller's own term.
var (
	renew = redis.NewScript(`
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("PEXPIRE", KEYS[1], ARGV[2])
end
return 0`)
	release = redis.NewScript(`
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("DEL", KEYS[1])
end
return 0`)
)

// errLost says that somebody else holds the lease, or nobody.
var errLost = errors.New("elector: the lease is lost")

// Run competes until ctx is done, and then gives the lease back.
func (e *Elector) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		e.campaign(ctx)
		wait(ctx, e.Lease/20)
	}
	return e.client.Close()
}

// until is the end of a lease that was asked for then. A hundredth is for clocks that
// run at different rates.
func (e *Elector) until(sent time.Time) time.Time { return sent.Add(e.Lease * 99 / 100) }

// campaign tries to get the lease, and leads while it has it.
func (e *Elector) campaign(ctx context.Context) {
	value := e.ID + " " + rand.Text() // of this term alone
	sent := time.Now()
	asking, cancel := context.WithDeadline(ctx, sent.Add(e.Lease/3))
	defer cancel()
	got, err := e.client.SetNX(asking, e.Key+":lock", value, e.Lease).Result()
	if err == nil && !got {
		return
	}
	defer e.giveBack(value) // also if nobody knows whether it was granted
	if err != nil {
		return
	}
	token, err := e.client.Incr(asking, e.Key+":token").Uint64()
	if err == nil && time.Now().Before(e.until(sent)) {
		e.lead(ctx, value, token, e.until(sent))
	}
}

// lead leads until the lease is lost or over, or ctx is done.
func (e *Elector) lead(ctx context.Context, value string, token uint64, until time.Time) {
	e.OnElected(token, until)
	defer e.OnDeposed()
	for pause := e.Lease / 3; ; {
		wait(ctx, min(pause, time.Until(until)))
		if ctx.Err() != nil || !time.Now().Before(until) {
			return
		}
		sent := time.Now()
		switch err := e.renew(ctx, value, until); {
		case errors.Is(err, errLost):
			return
		case err != nil: // nobody knows: the lease lasts as long as it did
			pause = e.Lease / 20
		default:
			until, pause = e.until(sent), e.Lease/3
			e.OnExtended(until)
		}
	}
}

// renew prolongs the lease.
func (e *Elector) renew(ctx context.Context, value string, until time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, earlier(time.Now().Add(e.Lease/6), until))
	defer cancel()
	held, err := renew.Run(ctx, e.client, []string{e.Key + ":lock"}, value, e.Lease.Milliseconds()).Int()
	if err == nil && held == 0 {
		return errLost
	}
	return err
}

// giveBack releases the lease, if it is still held. If that fails, it ends by itself.
func (e *Elector) giveBack(value string) {
	ctx, cancel := context.WithTimeout(context.Background(), e.Lease/3)
	defer cancel()
	_ = release.Run(ctx, e.client, []string{e.Key + ":lock"}, value).Err()
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// wait waits for d, or until ctx is done.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

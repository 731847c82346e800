package chaostest_test

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/scenarios/chaostest"
)

// simple is an elector with a token, and with bugs if so asked.
type simple struct {
	*chaostest.Candidate
	client *redis.Client
	bugs
}

// bugs are what may be wrong with it.
type bugs struct {
	endless bool // it believes until it is told otherwise, and is told nothing
	silent  bool // it reports nothing
	bare    bool // it has no tokens
	writes  bool // it makes its writes itself
	clocked bool // it takes its time from the candidate's clock
	quiet   bool // it ends its terms without a word
	json    bool // its values are JSON, and its scripts look into them
	watches bool // it renews and gives back by transactions in place of scripts
}

// sound and its like are electors for Run.
func sound(ctx context.Context, c *chaostest.Candidate) error { return bugs{}.compete(ctx, c) }

func (b bugs) compete(ctx context.Context, c *chaostest.Candidate) error {
	options := c.RedisOptions()
	options.ContextTimeoutEnabled, options.MaxRetries = true, -1
	e := &simple{Candidate: c, client: redis.NewClient(options), bugs: b}
	for ctx.Err() == nil {
		e.campaign(ctx)
		e.wait(ctx, c.Retry)
	}
	return e.client.Close()
}

var (
	renewJSON = redis.NewScript(`local v = redis.call("GET", KEYS[1]) if v and cjson.decode(v).id == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) end return 0`)
	giveJSON  = redis.NewScript(`local v = redis.call("GET", KEYS[1]) if v and cjson.decode(v).id == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

	renew   = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) end return 0`)
	release = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)
)

func (e *simple) now() time.Time {
	if e.clocked {
		return e.Clock.Now()
	}
	return time.Now()
}

func (e *simple) wait(ctx context.Context, d time.Duration) {
	if e.clocked {
		_ = e.Clock.Sleep(ctx, d)
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (e *simple) end(sent time.Time) time.Time {
	if e.endless {
		return time.Time{}
	}
	return sent.Add(time.Duration(float64(e.Lease)*(1-e.Drift)) - e.Lease/100)
}

func (e *simple) campaign(ctx context.Context) {
	id, sent := e.ID+rand.Text(), e.now()
	value := id
	if e.json {
		value = `{"id":"` + id + `"}`
	}
	asking, cancel := context.WithTimeout(ctx, e.Lease/3)
	defer cancel()
	got, err := e.client.SetNX(asking, e.Election+":lock", value, e.Lease).Result()
	if err == nil && !got {
		return
	}
	defer func() {
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.Lease/3)
		defer cancel()
		_, _ = e.own(leaving, id, 0) // it ends by itself
	}()
	var token uint64
	if err == nil && !e.bare {
		token, err = e.client.Incr(asking, e.Election+":token").Uint64()
	}
	if until := e.end(sent); err == nil && (e.endless || e.now().Before(until)) {
		e.lead(ctx, id, token, until)
	}
}

// own prolongs its own lease, or gives it back if it is to last no longer. It returns 0 if
// the lease is not its own.
func (e *simple) own(ctx context.Context, id string, lasts time.Duration) (int, error) {
	key := e.Election + ":lock"
	prolong, give := renew, release
	switch {
	case e.json:
		prolong, give = renewJSON, giveJSON
	case e.watches:
		return e.transact(ctx, key, id, lasts)
	}
	if lasts > 0 {
		return prolong.Run(ctx, e.client, []string{key}, id, lasts.Milliseconds()).Int()
	}
	return give.Run(ctx, e.client, []string{key}, id).Int()
}

// transact is own without scripts.
func (e *simple) transact(ctx context.Context, key, id string, lasts time.Duration) (held int, err error) {
	err = e.client.Watch(ctx, func(tx *redis.Tx) error {
		if value, err := tx.Get(ctx, key).Result(); err != nil || value != id {
			if errors.Is(err, redis.Nil) {
				err = nil
			}
			return err
		}
		_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			if lasts > 0 {
				p.PExpire(ctx, key, lasts)
			} else {
				p.Del(ctx, key)
			}
			return nil
		})
		if err == nil {
			held = 1
		}
		return err
	}, key)
	if errors.Is(err, redis.TxFailedErr) {
		return 0, nil
	}
	return held, err
}

func (e *simple) lead(ctx context.Context, id string, token uint64, until time.Time) {
	if !e.silent {
		e.Elected(token, until)
		if !e.quiet {
			defer e.Deposed()
		}
	}
	for ctx.Err() == nil && (e.endless || e.now().Before(until)) {
		if e.writes {
			e.Write()
		}
		e.wait(ctx, e.Renew/8)
		sent := e.now()
		asking, cancel := context.WithTimeout(ctx, e.Lease/6)
		held, err := e.own(asking, id, e.Lease)
		cancel()
		switch {
		case err == nil && held == 0:
			return
		case err == nil:
			if until = e.end(sent); !e.silent {
				e.Extended(until)
			}
		}
	}
}

// Electors that are none.
func returnsError(context.Context, *chaostest.Candidate) error { return errors.New("no way to lead") }
func returnsNil(context.Context, *chaostest.Candidate) error   { return nil }
func panics(context.Context, *chaostest.Candidate) error       { panic("out of order") }

func panicsElsewhere(ctx context.Context, c *chaostest.Candidate) error {
	if c.ID == "n2" {
		go func() { panic("out of order elsewhere") }()
	}
	return sound(ctx, c)
}

func neverReturns(ctx context.Context, c *chaostest.Candidate) error {
	_ = sound(ctx, c)
	select {}
}

func dialsItself(ctx context.Context, c *chaostest.Candidate) error {
	client := redis.NewClient(&redis.Options{Addr: c.Addr, MaxRetries: -1})
	for ctx.Err() == nil {
		_ = client.Ping(ctx).Err()
		select {
		case <-time.After(10 * c.Lease):
		case <-ctx.Done():
		}
	}
	return client.Close()
}

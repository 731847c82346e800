package main

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	syncpool "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/store"
)

// call is one operation that can be repeated without end.
type call struct {
	name string
	base string // the call that it is measured against
	do   func(ctx context.Context) error
}

const (
	callsLease = 30 * time.Second
	turnOfOurs = "recount, acquire and release"
)

// What the server may work for the elector's scripts.
var goalScripts = map[string]time.Duration{
	"recount, renew": 5 * time.Microsecond,
	turnOfOurs:       20 * time.Microsecond,
}

// callsOf are the calls, and what closes what they use. What go-redis alone
// costs is measured by sending the very command that the elector's store sends,
// as MONITOR saw it, with the arguments made for each call as a caller must.
func callsOf(ctx context.Context, s *server) (list []call, closeAll func(), err error) {
	st, err := redisstore.New(&redis.UniversalOptions{Addrs: []string{s.addr}}, redisstore.Options{})
	if err != nil {
		return nil, nil, err
	}
	bare := redis.NewClient(&redis.Options{Addr: s.addr, Protocol: 2, MaxRetries: -1, DisableIdentity: true, ContextTimeoutEnabled: true})
	closeAll = func() {
		_ = bare.Close()
		_ = st.Close()
	}
	if err := st.Vouch(ctx, "calls"); err != nil {
		return nil, closeAll, err
	}
	attempt := store.Attempt{Election: "calls", ID: "bench/1", Nonce: "nonce", TTL: callsLease}
	grant, err := st.Acquire(ctx, attempt)
	if err != nil {
		return nil, closeAll, err
	}
	lease := store.Lease{Election: "calls", ID: attempt.ID, Nonce: attempt.Nonce, Token: grant.Token, TTL: callsLease}
	acquire := func(ctx context.Context) error { _, err := st.Acquire(ctx, attempt); return err }
	renew := func(ctx context.Context) error { return st.Renew(ctx, lease) }
	bareAcquire, err := replay(ctx, s, bare, acquire)
	if err != nil {
		return nil, closeAll, err
	}
	bareRenew, err := replay(ctx, s, bare, renew)
	if err != nil {
		return nil, closeAll, err
	}
	lock, err := redislock.New(bare).Obtain(ctx, "calls-redislock", callsLease, nil)
	if err != nil {
		return nil, closeAll, err
	}
	mutex := redsync.New(syncpool.NewPool(bare)).NewMutex("calls-redsync", redsync.WithExpiry(callsLease))
	if err := mutex.LockContext(ctx); err != nil {
		return nil, closeAll, err
	}
	turns, err := turnsOf(ctx, st)
	if err != nil {
		return nil, closeAll, err
	}
	const a, r = "go-redis, the script of recount's acquire", "go-redis, the script of recount's renew"
	return []call{
		{a, a, bareAcquire},
		{"recount, acquire", a, acquire},
		{"redislock, Obtain", a, func(ctx context.Context) error {
			_, err := redislock.New(bare).Obtain(ctx, "calls-redislock", callsLease, &redislock.Options{Token: lock.Token()})
			return err
		}},
		{r, r, bareRenew},
		{"recount, renew", r, renew},
		{"redislock, Refresh", r, func(ctx context.Context) error { return lock.Refresh(ctx, callsLease, nil) }},
		{"redsync, Extend", r, func(ctx context.Context) error { _, err := mutex.ExtendContext(ctx); return err }},
		{turnOfOurs, turnOfOurs, turns},
		{"redislock, Obtain and Release", turnOfOurs, func(ctx context.Context) error {
			lock, err := redislock.New(bare).Obtain(ctx, "calls-turns-redislock", callsLease, nil)
			if err != nil {
				return err
			}
			return lock.Release(ctx)
		}},
	}, closeAll, nil
}

// turnsOf makes a call of a grant and its release, each time by another attempt.
func turnsOf(ctx context.Context, st *redisstore.Store) (func(context.Context) error, error) {
	a := store.Attempt{Election: "calls-turns", ID: "bench/1", TTL: callsLease}
	turn := 0
	err := st.Vouch(ctx, a.Election)
	return func(ctx context.Context) error {
		turn++
		a.Nonce = strconv.Itoa(turn)
		grant, err := st.Acquire(ctx, a)
		if err != nil {
			return err
		}
		return st.Release(ctx, store.Lease{Election: a.Election, ID: a.ID, Nonce: a.Nonce, Token: grant.Token, TTL: a.TTL})
	}, err
}

// replay makes a call of go-redis alone of what a call of the store sends.
func replay(ctx context.Context, s *server, bare *redis.Client, do func(context.Context) error) (func(context.Context) error, error) {
	if err := do(ctx); err != nil { // now the server knows the script
		return nil, err
	}
	sent := make(chan command, 100)
	stop, err := s.watchCommands(func(c command) {
		if c.name == "evalsha" {
			sent <- c
		}
	})
	if err != nil {
		return nil, err
	}
	err = do(ctx)
	if err != nil {
		stop()
		return nil, err
	}
	var c command
	select {
	case c = <-sent:
	case <-time.After(patience):
		stop()
		return nil, fmt.Errorf("no script was seen within %v", patience)
	}
	stop()
	var n int
	if _, err := fmt.Sscan(c.args[2], &n); err != nil {
		return nil, err
	}
	digest, keys, values := c.args[1], c.args[3:3+n], c.args[3+n:]
	return func(ctx context.Context) error {
		args := make([]any, len(values))
		for i, v := range values {
			args[i] = v
		}
		return bare.EvalSha(ctx, digest, append([]string(nil), keys...), args...).Err()
	}, nil
}

// cost is what one call takes.
type cost struct {
	allocs float64
	best   time.Duration // of a batch
	script time.Duration // at the server, of the best batch's scripts
}

func calls(ctx context.Context, s *server, e effort) (string, error) {
	ctx = context.WithoutCancel(ctx) // as an elector's own requests, which nobody calls off
	list, closeAll, err := callsOf(ctx, s)
	if closeAll != nil {
		defer closeAll()
	}
	if err != nil {
		return "", err
	}
	const size = 100
	costs := map[string]*cost{}
	for _, c := range list {
		costs[c.name] = &cost{best: math.MaxInt64, script: math.MaxInt64}
	}
	for range e.batches {
		for _, c := range list { // in turn: the machine's other work meets all alike
			scripts, err := s.scriptTime(ctx)
			if err != nil {
				return "", err
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			for range size {
				if err := c.do(ctx); err != nil {
					return "", fmt.Errorf("%s: %w", c.name, err)
				}
			}
			took := time.Since(began)
			runtime.ReadMemStats(&after)
			x := costs[c.name]
			x.best = min(x.best, took)
			x.allocs += float64(after.Mallocs-before.Mallocs) / size / float64(e.batches)
			now, err := s.scriptTime(ctx)
			if err != nil {
				return "", err
			}
			x.script = min(x.script, (now-scripts)/size)
		}
	}
	var t table
	t.head("Acquire and renew", fmt.Sprintf("Of %d batches of %d calls each, in turn: the best batch's time to that of go-redis sending the same command (for redislock and redsync: recount's; of an acquire and a release: recount's own), allocations a call, and how long the server executes scripts for a call, in the best batch, to recount's renew.", e.batches, size),
		"call", "time", "allocations", "more than go-redis alone", "script time")
	unit := float64(costs["recount, renew"].script)
	for _, c := range list {
		x, base := costs[c.name], costs[c.base]
		progress("  %s: %v, %.1f allocations, scripts %v", c.name, x.best/size, x.allocs, x.script)
		more := "–"
		if c.base != turnOfOurs { // two calls, of which go-redis alone sends none here
			more = fmt.Sprintf("%+.0f", x.allocs-base.allocs)
		}
		t.row(c.name, ratio(float64(x.best), float64(base.best)), fmt.Sprintf("%.0f", x.allocs), more, ratio(float64(x.script), unit))
		if goal, ok := goalScripts[c.name]; ok {
			t.goal("The server executes scripts for %v at most for %s: %s.", goal, c.name, verdict(float64(x.script), float64(goal)))
		}
	}
	for _, name := range []string{"recount, acquire", "recount, renew"} {
		base := costs[list[slices.IndexFunc(list, func(c call) bool { return c.name == name })].base]
		t.goal("At most five allocations more than go-redis alone for %s: %s.", name, verdict(costs[name].allocs-base.allocs, 5))
	}
	return t.String(), nil
}

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	syncpool "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/redisstore"
)

// library is one way to elect a leader.
type library struct {
	name  string
	polls bool // learns of a release by asking again and again
	renew func(lease time.Duration) time.Duration
	key   func(election string) string
	open  func(s *server, l *link, lease time.Duration) (client, error)
}

// client is what the candidates of one process share: its connections.
type client interface {
	candidate(election string) (candidate, error)
	close()
}

// candidate competes in one election.
type candidate interface {
	// lead returns when this candidate leads, or with ctx's error.
	lead(ctx context.Context) (term, error)
}

// term is renewed in the background until it is released.
type term interface{ release() }

// libraries have the settings that their own documentation gives for a single
// Redis, but for one that is better. What polls does so at the pace of its
// defaults (redsync: 50 to 250 ms) or of its README (redislock: 100 ms).
var libraries = []*library{
	{
		name: "recount", renew: third, open: openRecount,
		key: func(election string) string { return redisstore.DefaultPrefix + "{" + election + "}:lease" },
	},
	{
		name: "rueidislock", renew: func(d time.Duration) time.Duration { return d / 2 }, open: openRueidis,
		key: func(election string) string { return "rueidislock:0:" + election },
	},
	{name: "redislock", polls: true, renew: third, open: openRedislock, key: func(election string) string { return "redislock:" + election }},
	{name: "redsync", polls: true, renew: third, open: openRedsync, key: func(election string) string { return "redsync:" + election }},
}

// third is the elector's own pace. Who has no renewal of its own is renewed so.
func third(d time.Duration) time.Duration { return d / 3 }

func notified() []*library { return libraries[:2] }
func pollers() []*library  { return libraries[2:] }

// versions are those that were linked.
func versions() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "built without modules"
	}
	var list []string
	for _, m := range info.Deps {
		for _, name := range []string{"bsm/redislock", "go-redsync/redsync/v4", "redis/rueidis", "redis/go-redis/v9"} {
			if m.Path == "github.com/"+name {
				list = append(list, name+" "+m.Version)
			}
		}
	}
	return strings.Join(list, ", ") + ", " + info.GoVersion
}

type recount struct {
	store *redisstore.Store
	lease time.Duration
	s     *server
}

func openRecount(s *server, l *link, lease time.Duration) (client, error) {
	store, err := redisstore.New(&redis.UniversalOptions{Addrs: []string{s.addr}, Dialer: l.dial}, redisstore.Options{})
	return recount{store, lease, s}, err
}

func (c recount) candidate(election string) (candidate, error) {
	// The first lease of an election that the server knows nothing of is withheld,
	// unless somebody says that it is new.
	if c.s.isNew(election) {
		if err := c.store.Vouch(context.Background(), election); err != nil {
			return nil, err
		}
	}
	e, err := elector.New(c.store, elector.Config{
		Election: election, Lease: c.lease, Logger: slog.New(slog.DiscardHandler),
	})
	return recountCandidate{e}, err
}

func (c recount) close() { _ = c.store.Close() } // it may be cut off

type recountCandidate struct{ *elector.Elector }

func (c recountCandidate) lead(ctx context.Context) (term, error) {
	t, err := c.Campaign(ctx)
	return recountTerm{t}, err
}

type recountTerm struct{ *elector.Term }

func (t recountTerm) release() { _ = t.Resign(context.Background()) } // the next one shows whether it worked

type rueidisClient struct{ rueidislock.Locker }

func openRueidis(s *server, l *link, lease time.Duration) (client, error) {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{
			InitAddress: []string{s.addr},
			DialCtxFn: func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
				return l.dial(ctx, "tcp", addr)
			},
		},
		KeyMajority: 1, NoLoopTracking: true, KeyValidity: lease,
		// Its default is 20 ms. There is no next key here, so it is a
		// request's time-out, and who runs into it (on a busy machine, or with
		// a thousand elections) waits for somebody else to change the lease.
		TryNextAfter: time.Second,
	})
	return rueidisClient{locker}, err
}

func (c rueidisClient) candidate(election string) (candidate, error) {
	return rueidisCandidate{c.Locker, election}, nil
}

func (c rueidisClient) close() { c.Close() }

type rueidisCandidate struct {
	locker   rueidislock.Locker
	election string
}

type rueidisTerm context.CancelFunc

func (t rueidisTerm) release() { t() }

func (c rueidisCandidate) lead(ctx context.Context) (term, error) {
	_, cancel, err := c.locker.WithContext(ctx, c.election)
	return rueidisTerm(cancel), err
}

// goredis is a client for those that bring none.
type goredis struct {
	*redis.Client
	lease time.Duration
	lock  func(c goredis, election string) locker
}

// locker is a library that leaves the renewing to its user. lock repeats itself
// as the library does, and may give up.
type locker interface {
	lock(ctx context.Context) error
	extend(ctx context.Context) error
	unlock(ctx context.Context) error
}

func openGoredis(s *server, l *link, lease time.Duration, lock func(goredis, string) locker) (client, error) {
	return goredis{redis.NewClient(&redis.Options{Addr: s.addr, Dialer: l.dial, PoolSize: 4}), lease, lock}, nil
}

func openRedislock(s *server, l *link, lease time.Duration) (client, error) {
	return openGoredis(s, l, lease, func(c goredis, election string) locker {
		return &redislockLocker{client: redislock.New(c), key: "redislock:" + election, lease: lease}
	})
}

func openRedsync(s *server, l *link, lease time.Duration) (client, error) {
	return openGoredis(s, l, lease, func(c goredis, election string) locker {
		return redsyncLocker{redsync.New(syncpool.NewPool(c.Client)).NewMutex("redsync:"+election, redsync.WithExpiry(lease))}
	})
}

func (c goredis) candidate(election string) (candidate, error) {
	return renewed{c.lock(c, election), c.lease}, nil
}

func (c goredis) close() { _ = c.Close() } // it may be cut off

type renewed struct {
	locker
	lease time.Duration
}

func (r renewed) lead(ctx context.Context) (term, error) {
	for r.lock(ctx) != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	t := &renewedTerm{locker: r.locker, stop: make(chan struct{})}
	t.renewals.Go(func() { t.renew(third(r.lease)) })
	return t, nil
}

type renewedTerm struct {
	locker
	stop     chan struct{}
	renewals sync.WaitGroup
}

func (t *renewedTerm) renew(every time.Duration) {
	due := time.NewTicker(every)
	defer due.Stop()
	for {
		select {
		case <-due.C:
			if t.extend(context.Background()) != nil {
				return // lost
			}
		case <-t.stop:
			return
		}
	}
}

func (t *renewedTerm) release() {
	close(t.stop)
	t.renewals.Wait()
	_ = t.unlock(context.Background()) // the next one shows whether it worked
}

type redislockLocker struct {
	client *redislock.Client
	key    string
	lease  time.Duration
	held   *redislock.Lock
}

func (l *redislockLocker) lock(ctx context.Context) (err error) {
	l.held, err = l.client.Obtain(ctx, l.key, l.lease, &redislock.Options{RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)})
	return err
}

func (l *redislockLocker) extend(ctx context.Context) error { return l.held.Refresh(ctx, l.lease, nil) }
func (l *redislockLocker) unlock(ctx context.Context) error { return l.held.Release(ctx) }

type redsyncLocker struct{ *redsync.Mutex }

func (l redsyncLocker) lock(ctx context.Context) error { return l.LockContext(ctx) }

func (l redsyncLocker) extend(ctx context.Context) error {
	if ok, err := l.ExtendContext(ctx); err != nil || !ok {
		return errors.Join(err, redsync.ErrExtendFailed)
	}
	return nil
}

func (l redsyncLocker) unlock(ctx context.Context) error {
	_, err := l.UnlockContext(ctx)
	return err
}

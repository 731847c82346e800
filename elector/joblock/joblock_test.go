package joblock_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/joblock"
	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/topology"
)

// What no test in a bubble can show: with real clocks, too, nothing is left
// behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	lease = 15 * time.Second
	least = 5 * time.Minute
)

var errAway = errors.New("no route to host")

// quiet is a log that nobody reads.
var quiet = slog.New(slog.DiscardHandler)

// clock is the one of a bubble, and may run too fast.
type clock struct {
	began time.Time
	fast  float64 // by what share
}

func (c clock) Now() time.Duration {
	passed := time.Since(c.began)
	return passed + time.Duration(float64(passed)*c.fast)
}

func (c clock) AfterFunc(d time.Duration, f func()) elector.Timer {
	return time.AfterFunc(time.Duration(float64(d)/(1+c.fast))+1, f) // not too early by a rounding
}

// rig is a store with the bubble's clock, and the way of one host to it.
type rig struct {
	*memstore.Store // the store itself, as the other hosts reach it
	clock           clock
	away            atomic.Bool   // the host does not reach it
	slow            time.Duration // the host's grants come so much later
	releases        atomic.Int64
	shortest        atomic.Int64 // how long any lock may last, as the store was told
}

func newRig() *rig {
	r := &rig{clock: clock{began: time.Now()}}
	r.shortest.Store(math.MaxInt64)
	r.Store = memstore.New(memstore.Options{Now: r.clock.Now})
	return r
}

// host is the store as the host reaches it.
type host struct {
	elector.Store
	*rig
}

func (r *rig) host() elector.Store { return &host{r.Store, r} }

// Leader is of no interest here, but both parts have it.
func (h *host) Leader(ctx context.Context, election string) (elector.Leader, error) {
	return h.Store.Leader(ctx, election)
}

// Watch as well.
func (h *host) Watch(ctx context.Context, election string, hint func(store.Hint), ended func(error)) {
	h.Store.Watch(ctx, election, hint, ended)
}

// Acquire fails while the store is away, and answers late if it is slow.
func (h *host) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	if h.away.Load() {
		return store.Grant{}, errAway
	}
	h.note(a.Longest)
	g, err := h.Store.Acquire(ctx, a)
	time.Sleep(h.slow)
	return g, err
}

// Renew fails while the store is away.
func (h *host) Renew(ctx context.Context, l store.Lease) error {
	if h.away.Load() {
		return errAway
	}
	h.note(l.Longest)
	return h.Store.Renew(ctx, l)
}

// note notes how long any lock may last.
func (h *host) note(longest time.Duration) {
	h.shortest.Store(min(h.shortest.Load(), int64(longest)))
}

// Release fails while the store is away.
func (h *host) Release(ctx context.Context, l store.Lease) error {
	if h.away.Load() {
		return errAway
	}
	h.releases.Add(1)
	return h.Store.Release(ctx, l)
}

func config(c elector.Clock) elector.Config {
	return elector.Config{Election: "nightly", ID: "host", Lease: lease, Clock: c, Logger: quiet}
}

// held is for how long nobody else gets the lock; 0 if anybody does.
func (r *rig) held(t *testing.T) time.Duration {
	t.Helper()
	l, err := r.Store.Leader(t.Context(), "nightly")
	if err != nil {
		t.Fatal(err)
	}
	return l.Remaining
}

func nothing(context.Context, *elector.Term) error { return nil }

// within runs a test in a bubble.
func within(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newRig()) })
}

// A job that is done in a second keeps the lock for its least time, to the
// moment, although nobody renews it any more; then another host gets it, with a
// larger token. A job without a least time gives it back at once.
func TestAtLeast(t *testing.T) {
	within(t, func(t *testing.T, r *rig) {
		var tokens []uint64
		job := func(_ context.Context, term *elector.Term) error {
			tokens = append(tokens, term.Token())
			time.Sleep(time.Second)
			return nil
		}
		run := func() error {
			return joblock.Run(t.Context(), r.host(), config(r.clock), joblock.Options{AtLeast: least}, job)
		}
		if err := run(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(least - time.Second - time.Millisecond)
		var held *elector.HeldError
		if err := run(); !errors.As(err, &held) || held.Remaining <= 0 {
			t.Errorf("just before the least time is over: %v", err)
		}
		if n := len(tokens); n != 1 {
			t.Errorf("%d runs", n)
		}
		time.Sleep(time.Second) // the share by which the store's clock may be slower is 10 ms
		if err := run(); err != nil || len(tokens) != 2 || tokens[1] <= tokens[0] {
			t.Errorf("after it: %v, tokens %v", err, tokens)
		}
		time.Sleep(2 * least)
		if err := joblock.Run(t.Context(), r.host(), config(r.clock), joblock.Options{}, nothing); err != nil || r.held(t) != 0 {
			t.Errorf("without a least time: %v, held for %v", err, r.held(t))
		}
	})
}

// A job that takes longer than the least time has the lock all the while, and
// gives it back when it is done.
func TestLongJob(t *testing.T) {
	within(t, func(t *testing.T, r *rig) {
		err := joblock.Run(t.Context(), r.host(), config(r.clock), joblock.Options{AtLeast: least}, func(ctx context.Context, _ *elector.Term) error {
			for range 10 {
				time.Sleep(least / 5)
				if ctx.Err() != nil || r.held(t) < lease/2 {
					t.Errorf("after %v: %v, held for %v", r.clock.Now(), ctx.Err(), r.held(t))
				}
			}
			return nil
		})
		if err != nil || r.held(t) != 0 {
			t.Errorf("%v, held for %v", err, r.held(t))
		}
	})
}

// A host that is cut off as soon as it has the lock, as if it had crashed, keeps
// it for the least time all the same, also after it has renewed it, and no
// longer than that and a lease.
func TestCrash(t *testing.T) {
	for _, after := range []time.Duration{0, time.Minute, least - time.Second, 2 * least} {
		within(t, func(t *testing.T, r *rig) {
			var granted time.Duration
			err := joblock.Run(t.Context(), r.host(), config(r.clock), joblock.Options{AtLeast: least}, func(ctx context.Context, _ *elector.Term) error {
				granted = r.clock.Now()
				time.Sleep(after)
				r.away.Store(true)
				left := r.held(t)
				if end := r.clock.Now() + left - granted; end < least || end > max(least, after)+lease {
					t.Errorf("cut off after %v: the lock ends %v after the grant", after, end)
				}
				<-ctx.Done()
				if passed := r.clock.Now() - granted; passed > after+lease {
					t.Errorf("cut off after %v, it learned that after another %v", after, passed-after)
				}
				return ctx.Err()
			})
			if !errors.Is(err, joblock.ErrLost) || !errors.Is(err, elector.ErrTermOver) || !errors.Is(err, context.Canceled) {
				t.Errorf("cut off after %v: %v", after, err)
			}
		})
	}
}

// A host whose clock is too fast by as much as is tolerated does not end the
// least time too early.
func TestDrift(t *testing.T) {
	within(t, func(t *testing.T, r *rig) {
		c := clock{began: time.Now(), fast: elector.DefaultDrift}
		job := func(context.Context, *elector.Term) error { time.Sleep(least / 2); return nil }
		if err := joblock.Run(t.Context(), r.host(), config(c), joblock.Options{AtLeast: least}, job); err != nil {
			t.Fatal(err)
		}
		if end := r.clock.Now() + r.held(t); end < least || end > least+least/50 {
			t.Errorf("the lock ends after %v", end)
		}
	})
}

// When the longest time is over the job's context is done and the lock is free,
// even though the job goes on; and Run says so.
func TestAtMost(t *testing.T) {
	within(t, func(t *testing.T, r *rig) {
		err := joblock.Run(t.Context(), r.host(), config(r.clock), joblock.Options{AtLeast: time.Minute, AtMost: least}, func(ctx context.Context, term *elector.Term) error {
			began := r.clock.Now()
			<-ctx.Done()
			if passed := r.clock.Now() - began; passed < least || passed > least+time.Microsecond {
				t.Errorf("its context was done after %v", passed)
			}
			if cause := context.Cause(ctx); !errors.Is(cause, joblock.ErrTooLong) {
				t.Errorf("because of %v", cause)
			}
			synctest.Wait()
			if left := r.held(t); left != 0 {
				t.Errorf("the lock is held for another %v", left)
			}
			return nil
		})
		if !errors.Is(err, joblock.ErrTooLong) {
			t.Errorf("%v", err)
		}
	})
}

// A lock that somebody has deleted is lost: the job is told by the next renewal,
// and nothing is made of it again.
func TestLost(t *testing.T) {
	within(t, func(t *testing.T, r *rig) {
		own := errors.New("stopped half-way")
		err := joblock.Run(t.Context(), r.host(), config(r.clock), joblock.Options{AtLeast: least}, func(ctx context.Context, _ *elector.Term) error {
			r.Delete("nightly")
			<-ctx.Done()
			return own
		})
		if !errors.Is(err, joblock.ErrLost) || !errors.Is(err, own) || r.held(t) != 0 {
			t.Errorf("%v, held for %v", err, r.held(t))
		}
	})
}

// Who gives up before the answer comes has not run the job: the lock that was
// granted all the same goes to the others at once.
func TestNotBegun(t *testing.T) {
	within(t, func(t *testing.T, r *rig) {
		r.slow = 2 * time.Second
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := joblock.Run(ctx, r.host(), config(r.clock), joblock.Options{AtLeast: least}, func(context.Context, *elector.Term) error {
			t.Error("the job ran")
			return nil
		})
		time.Sleep(lease)
		if !errors.Is(err, context.DeadlineExceeded) || r.held(t) != 0 || r.releases.Load() == 0 {
			t.Errorf("%v, held for %v, %d releases", err, r.held(t), r.releases.Load())
		}
	})
}

// The caller's context ends the job and does not make the lock a lost one; a job
// that panics has it for the least time, too.
func TestJobEnds(t *testing.T) {
	within(t, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancel(t.Context())
		err := joblock.Run(ctx, r.host(), config(r.clock), joblock.Options{AtLeast: least}, func(ctx context.Context, _ *elector.Term) error {
			cancel()
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, context.Canceled) || errors.Is(err, joblock.ErrLost) || r.held(t) < least-time.Second {
			t.Errorf("cancelled: %v, held for %v", err, r.held(t))
		}
		time.Sleep(least)
		func() {
			defer func() {
				if recover() == nil {
					t.Error("its panic was swallowed")
				}
			}()
			_ = joblock.Run(t.Context(), r.host(), config(r.clock), joblock.Options{AtLeast: least}, func(context.Context, *elector.Term) error { panic("no") })
		}()
		if left := r.held(t); left < least-time.Second || r.releases.Load() != 0 {
			t.Errorf("after a panic it is held for %v, %d releases", left, r.releases.Load())
		}
	})
}

// Each request tells the store how long a lock lasts at the most, so that all
// hosts count on the same, and it waits for long enough if it has lost one.
func TestLongest(t *testing.T) {
	within(t, func(t *testing.T, r *rig) {
		for _, takes := range []time.Duration{time.Second, 2 * least} {
			job := func(context.Context, *elector.Term) error { time.Sleep(takes); return nil }
			if err := joblock.Run(t.Context(), r.host(), config(r.clock), joblock.Options{AtLeast: least}, job); err != nil {
				t.Fatal(err)
			}
			if named := time.Duration(r.shortest.Load()); named != least {
				t.Errorf("a job of %v: the request said that no lock lasts for longer than %v", takes, named)
			}
			time.Sleep(least)
		}
	})
}

// What cannot be is refused, with both values.
func TestOptions(t *testing.T) {
	store := memstore.New(memstore.Options{})
	for want, o := range map[string]joblock.Options{
		"AtLeast is -1s":                   {AtLeast: -time.Second},
		"AtMost is -1s":                    {AtMost: -time.Second},
		"AtLeast is 1h0m0s and AtMost is ": {AtLeast: time.Hour, AtMost: time.Minute},
	} {
		if err := joblock.Run(t.Context(), store, config(nil), o, nothing); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	var wrong *elector.ConfigError
	if err := joblock.Run(t.Context(), store, elector.Config{}, joblock.Options{}, nothing); !errors.As(err, &wrong) {
		t.Errorf("no name: %v", err)
	}
	if err := joblock.Run(t.Context(), nil, config(nil), joblock.Options{}, nothing); err == nil {
		t.Error("no store")
	}
}

// onRedis is a store on a Redis server of the test's own, which knows the job.
func onRedis(t *testing.T) *redisstore.Store {
	t.Helper()
	server := topology.Single(t)
	options, err := redisstore.ParseURL("redis://" + server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	store, err := redisstore.New(options, redisstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() }) // of no use any more
	if err := store.Vouch(t.Context(), "nightly"); err != nil {
		t.Fatal(err)
	}
	return store
}

// Who stands by, as elect run --once --standby does, and gets the lock when a job is
// done that took longer than the least time, has it for the least time as well.
func TestStandby(t *testing.T) {
	store := onRedis(t)
	const least = time.Second
	cfg := config(nil)
	cfg.Lease = time.Second
	ended := make(chan error, 1)
	standBy := func() {
		lock := joblock.New(store, least, 0, nil)
		next := cfg
		next.Once = true
		next.OnStarted = func(context.Context, *elector.Term) { lock.Begin() }
		e, err := elector.New(lock, next)
		if err != nil {
			ended <- err
			return
		}
		ended <- e.Run(t.Context())
	}
	err := joblock.Run(t.Context(), store, cfg, joblock.Options{AtLeast: least}, func(ctx context.Context, _ *elector.Term) error {
		go standBy()
		longer := time.NewTimer(least + least/4)
		<-longer.C
		return ctx.Err()
	})
	if err := errors.Join(err, <-ended); err != nil {
		t.Fatal(err)
	}
	if l, err := store.Leader(t.Context(), "nightly"); err != nil || l.Remaining < least/2 {
		t.Errorf("the job of who stood by is done, and the lock is held for %v, %v", l.Remaining, err)
	}
}

// The same on a real Redis: the lock of a job that is done is there until its
// least time is over, and then it is gone.
func TestRedis(t *testing.T) {
	store := onRedis(t)
	const least = 3 * time.Second
	cfg := config(nil)
	cfg.Lease = time.Second
	var runs []uint64
	run := func() error {
		return joblock.Run(t.Context(), store, cfg, joblock.Options{AtLeast: least}, func(_ context.Context, term *elector.Term) error {
			runs = append(runs, term.Token())
			return nil
		})
	}
	began := time.Now()
	err := run()
	if err != nil {
		t.Fatal(err)
	}
	var held *elector.HeldError
	for time.Since(began) < 10*least {
		if err = run(); !errors.As(err, &held) {
			break
		}
		wait := time.NewTimer(held.Remaining/2 + time.Millisecond)
		<-wait.C
	}
	if passed := time.Since(began); err != nil || passed < least || len(runs) != 2 || runs[1] <= runs[0] {
		t.Errorf("the second run: %v after %v, tokens %v", err, passed, runs)
	}
}

// ending is a store whose leases end with a session.
type ending struct{ elector.Store }

func (ending) EndsWithSession() bool { return true }

// wrapped is a store around another one.
type wrapped struct{ elector.Store }

func (w wrapped) Unwrap() elector.Store { return w.Store }

// A store that forgets a lease when its process ends keeps no least time, and says so
// before anything runs.
func TestLeastTimeWantsALease(t *testing.T) {
	store := ending{memstore.New(memstore.Options{})}
	ran := 0
	job := func(context.Context, *elector.Term) error { ran++; return nil }
	cfg := elector.Config{Election: "nightly", ID: "a"}
	err := joblock.Run(t.Context(), store, cfg, joblock.Options{AtLeast: time.Minute}, job)
	if err == nil || !strings.Contains(err.Error(), "TakeOverDeadSessions") || ran != 0 {
		t.Errorf("it ran %d times: %v", ran, err)
	}
	if err := joblock.Run(t.Context(), wrapped{store}, cfg, joblock.Options{AtLeast: time.Minute}, job); err == nil || ran != 0 {
		t.Errorf("wrapped it ran %d times: %v", ran, err)
	}
	if err := joblock.Run(t.Context(), store, cfg, joblock.Options{}, job); err != nil || ran != 1 {
		t.Errorf("without one it ran %d times: %v", ran, err)
	}
}

package kubelock_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/internal/workbench"
	"github.com/recount-io/recount/elector/kubelock"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/store"
)

// Nothing is left behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	lease    = 15 * time.Second
	election = "controller"
)

// within runs a test in a bubble with a store in memory.
func within(t *testing.T, f func(t *testing.T, b *workbench.Bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := workbench.New(t)
		defer b.Free()
		f(t, b)
	})
}

func newLock(t *testing.T, store elector.Store, clock elector.Clock, id string) *kubelock.Lock {
	t.Helper()
	l, err := kubelock.New(store, kubelock.Options{Election: election, ID: id, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// record is what client-go writes for the holder.
func record(holder string) resourcelock.LeaderElectionRecord {
	now := metav1.Now()
	return resourcelock.LeaderElectionRecord{HolderIdentity: holder, LeaseDurationSeconds: int(lease / time.Second), AcquireTime: now, RenewTime: now}
}

// get is what Get returns as the holder and the count of transitions.
func get(t *testing.T, l *kubelock.Lock) (holder string, transitions int) {
	t.Helper()
	r, raw, err := l.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var same resourcelock.LeaderElectionRecord
	if err := json.Unmarshal(raw, &same); err != nil || same.HolderIdentity != r.HolderIdentity || same.LeaderTransitions != r.LeaderTransitions {
		t.Errorf("Get returns %+v and %s, %v", r, raw, err)
	}
	return r.HolderIdentity, r.LeaderTransitions
}

// must fails the test unless all went well.
func must(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// A lease is created, renewed, refused to another lock and released as a Lease object of
// Kubernetes is, with the errors that client-go asks for.
func TestLockIsALease(t *testing.T) {
	within(t, func(t *testing.T, b *workbench.Bench) {
		ctx, one, two := t.Context(), newLock(t, b.Store, b.Clock, "one"), newLock(t, b.Store, b.Clock, "two")
		if _, _, err := one.Get(ctx); !apierrors.IsNotFound(err) {
			t.Errorf("nobody leads: %v, want a NotFound", err)
		}
		must(t, "Create", one.Create(ctx, record(one.Identity())))
		if holder, n := get(t, two); holder != one.Identity() || n != 0 || one.Token() != 1 || two.Token() != 0 {
			t.Errorf("%s leads after %d transitions; tokens %d and %d", holder, n, one.Token(), two.Token())
		}
		for what, err := range map[string]error{"Create": two.Create(ctx, record(two.Identity())), "Update": two.Update(ctx, record(two.Identity()))} {
			held := new(elector.HeldError)
			if !apierrors.IsConflict(err) || !errors.As(err, &held) || held.Holder != one.Identity() {
				t.Errorf("%s of who does not lead: %v, want a Conflict that names the holder", what, err)
			}
		}
		must(t, "release of who does not lead", two.Update(ctx, record("")))
		time.Sleep(lease - time.Second)
		_, before, _ := one.Get(ctx)
		must(t, "renewal", one.Update(ctx, record(one.Identity())))
		if _, after, _ := two.Get(ctx); string(before) == string(after) {
			t.Error("the record of a lease that was renewed is the same as before")
		}
		time.Sleep(lease - time.Second)
		if holder, _ := get(t, two); holder != one.Identity() || one.Token() != 1 {
			t.Errorf("the lease was not renewed: %s leads, token %d", holder, one.Token())
		}
		must(t, "release", one.Update(ctx, record("")))
		if _, _, err := two.Get(ctx); !apierrors.IsNotFound(err) || one.Token() != 0 {
			t.Errorf("after the release: %v, token %d", err, one.Token())
		}
		must(t, "Create of the next one", two.Create(ctx, record(two.Identity())))
		if holder, n := get(t, one); holder != two.Identity() || n != 1 || two.Token() != 2 {
			t.Errorf("%s leads after %d transitions, with token %d", holder, n, two.Token())
		}
		time.Sleep(lease)
		if err := two.Update(ctx, record(two.Identity())); !apierrors.IsConflict(err) || !errors.Is(err, store.ErrNotHeld) {
			t.Errorf("renewal of a lease that is over: %v, want a Conflict", err)
		}
		must(t, "Create of the former one", one.Create(ctx, record(one.Identity())))
		must(t, "renewal with client-go's own count", one.Update(ctx, record(one.Identity())))
		if _, n := get(t, two); n != 2 || one.Token() != 3 {
			t.Errorf("%d transitions, and token %d", n, one.Token())
		}
		time.Sleep(lease)
		must(t, "release of a lease that has ended unnoticed", one.Update(ctx, record("")))
	})
}

// A lease whose grant was not heard of is nobody's in the record. Who asks again has it, with the
// token that the store has given to it, and nobody else gets it.
func TestGrantIsNotHeardOf(t *testing.T) {
	within(t, func(t *testing.T, b *workbench.Bench) {
		ctx, one, two := t.Context(), newLock(t, deaf{b.Store}, b.Clock, "one"), newLock(t, b.Store, b.Clock, "two")
		if err := one.Create(ctx, record(one.Identity())); !errors.Is(err, errDeaf) || apierrors.IsConflict(err) || one.Token() != 0 {
			t.Errorf("Create: %v, token %d", err, one.Token())
		}
		if holder, _ := get(t, one); holder != "" {
			t.Errorf("%s leads, and does not know it", holder)
		}
		if err := two.Update(ctx, record(two.Identity())); !apierrors.IsConflict(err) {
			t.Errorf("the lease is not held: %v", err)
		}
		must(t, "Update", one.Update(ctx, record(one.Identity())))
		if holder, _ := get(t, one); holder != one.Identity() || one.Token() != 1 {
			t.Errorf("%s leads with token %d", holder, one.Token())
		}
	})
}

var errDeaf = errors.New("connection reset")

// deaf is a store whose answer to a candidate's first request is lost.
type deaf struct{ *workbench.Store }

func (d deaf) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	g, err := d.Store.Acquire(ctx, a)
	if err == nil && a.Request == 1 {
		return store.Grant{}, errDeaf
	}
	return g, err
}

// The lease counts from the request, by a clock that goes on while the machine is suspended. An
// answer that comes later than the lease may last is none.
func TestTokenEndsWithTheLease(t *testing.T) {
	within(t, func(t *testing.T, b *workbench.Bench) {
		ctx, one := t.Context(), newLock(t, b.Store, b.Clock, "one")
		usable := lease - lease/100 - time.Millisecond
		b.Store.Takes.Store(int64(2 * time.Second))
		must(t, "Create", one.Create(ctx, record(one.Identity())))
		time.Sleep(usable - 2*time.Second - 1)
		if one.Token() != 1 {
			t.Error("there is no token although the lease lasts")
		}
		if time.Sleep(time.Nanosecond); one.Token() != 0 {
			t.Error("there is a token although the lease may be over")
		}
		must(t, "renewal", one.Update(ctx, record(one.Identity())))
		if one.Token() != 1 {
			t.Errorf("token %d after a renewal", one.Token())
		}
		if b.Clock.Suspended.Add(int64(lease)); one.Token() != 0 {
			t.Error("there is a token after a suspension for a lease")
		}
		two := newLock(t, suspended{b.Store, b.Clock}, b.Clock, "two")
		must(t, "Create", two.Create(ctx, record(two.Identity())))
		if err := two.Update(ctx, record(two.Identity())); err == nil || !strings.Contains(err.Error(), "took 15s") || two.Token() != 0 {
			t.Errorf("an answer that is late: %v, token %d", err, two.Token())
		}
	})
}

// suspended is a store whose answer to a renewal finds the machine suspended for a lease.
type suspended struct {
	*workbench.Store
	clock *workbench.Clock
}

func (s suspended) Renew(ctx context.Context, l store.Lease) error {
	err := s.Store.Store.Renew(ctx, l)
	s.clock.Suspended.Add(int64(lease))
	return err
}

// A leader that publishes something else, or nothing, is a leader all the same, and is told from
// one that does not renew.
func TestElectorsCompeteWithLocks(t *testing.T) {
	within(t, func(t *testing.T, b *workbench.Bench) {
		ctx, one := t.Context(), newLock(t, b.Store, b.Clock, "one")
		e := b.Elector(election, "elector", func(c *elector.Config) { c.Value = "http://elector:8080" })
		term, err := e.Campaign(ctx)
		must(t, "Campaign", err)
		r, before, err := one.Get(ctx)
		must(t, "Get", err)
		if r.HolderIdentity != e.ID() || r.LeaseDurationSeconds != int(lease/time.Second) {
			t.Errorf("the record of an elector: %+v", r)
		}
		time.Sleep(2 * lease)
		if _, after, err := one.Get(ctx); err != nil || string(before) == string(after) {
			t.Errorf("the record of an elector that renews is the same as before, %v", err)
		}
		if err := one.Update(ctx, record(one.Identity())); !apierrors.IsConflict(err) {
			t.Errorf("the lease of an elector: %v", err)
		}
		must(t, "Resign", term.Resign(ctx))
		must(t, "Create", one.Create(ctx, record(one.Identity())))
		held := new(elector.HeldError)
		if _, err := e.TryAcquire(ctx); !errors.As(err, &held) || held.Holder != one.Identity() || one.Token() != 2 {
			t.Errorf("the elector gets the lease of a lock: %v, token %d", err, one.Token())
		}
	})
}

// What cannot work is refused with the reason, and an error of the store is handed on.
func TestErrorsSayWhy(t *testing.T) {
	within(t, func(t *testing.T, b *workbench.Bench) {
		ctx, one := t.Context(), newLock(t, b.Store, b.Clock, "one")
		short, wrong := record(one.Identity()), record("somebody")
		short.LeaseDurationSeconds = 0
		for says, err := range map[string]error{"at least one": one.Create(ctx, short), `"somebody"`: one.Update(ctx, wrong)} {
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%v, want it to say %s", err, says)
			}
		}
		for _, o := range []kubelock.Options{{}, {Election: "a b"}, {Election: "a", ID: "a b"}} {
			if _, err := kubelock.New(b.Store, o); err == nil || !strings.Contains(err.Error(), "kubelock: Options.") {
				t.Errorf("%+v: %v", o, err)
			}
		}
		if _, err := kubelock.New(nil, kubelock.Options{Election: "a"}); err == nil {
			t.Error("a Lock without a store")
		}
		b.Store.Takes.Store(int64(lease/6 + 1))
		if err := one.Create(ctx, record(one.Identity())); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an answer takes more than a sixth of the lease: %v", err)
		}
		b.Store.Takes.Store(0)
		fatal := error(&elector.FatalError{Err: errors.New("wrong password"), Fix: "give the right one"})
		b.Store.Fails.Store(&fatal)
		if err := one.Create(ctx, record(one.Identity())); !errors.Is(err, fatal) || apierrors.IsConflict(err) {
			t.Errorf("a fatal error: %v", err)
		}
	})
}

// A lease that the store's settings rule out is refused before anything is sent.
func TestLeaseMustSuitTheStore(t *testing.T) {
	store, err := redisstore.New(&redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}}, redisstore.Options{Expire: time.Minute})
	must(t, "redisstore", err)
	defer func() { must(t, "Close", store.Close()) }()
	one, wrong := newLock(t, store, nil, "one"), new(elector.ConfigError)
	long := record(one.Identity())
	long.LeaseDurationSeconds = 40
	if err := one.Create(t.Context(), long); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "Expire") {
		t.Errorf("%v, want an error that names Expire", err)
	}
}

// strict is a store that has lost its count of tokens, and first refuses because a candidate has
// a longer lease.
type strict struct {
	elector.Store
	attempts []store.Attempt
}

func (s *strict) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	if s.attempts = append(s.attempts, a); len(s.attempts) == 1 {
		return store.Grant{}, &elector.HeldError{Holder: "somebody", Token: 41, Longest: 2 * lease}
	}
	return s.Store.Acquire(ctx, a)
}

// What the store says of tokens and of longer leases goes along with the next request.
func TestLockLearnsFromTheStore(t *testing.T) {
	within(t, func(t *testing.T, b *workbench.Bench) {
		s := &strict{Store: b.Store}
		one := newLock(t, s, b.Clock, "one")
		if err := one.Create(t.Context(), record(one.Identity())); !apierrors.IsConflict(err) {
			t.Errorf("Create: %v", err)
		}
		must(t, "Create", one.Create(t.Context(), record(one.Identity())))
		first, second := s.attempts[0], s.attempts[1]
		if one.Token() != 42 || first.Longest != lease || second.Longest != 2*lease || second.Configured != lease || second.Floor != 41 {
			t.Errorf("token %d after %+v", one.Token(), s.attempts)
		}
		if second.Request <= first.Request || second.Nonce == first.Nonce {
			t.Errorf("an attempt after a refusal is another one: %+v", s.attempts)
		}
	})
}

// Two locks of one host are two candidates.
func TestIdentitiesDiffer(t *testing.T) {
	within(t, func(t *testing.T, b *workbench.Bench) {
		one, two := newLock(t, b.Store, b.Clock, ""), newLock(t, b.Store, b.Clock, "")
		if one.Identity() == two.Identity() || !strings.Contains(one.Identity(), "/") || one.Describe() != election {
			t.Errorf("%s and %s of %s", one.Identity(), two.Identity(), one.Describe())
		}
	})
}

package kubelock

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/machine"
)

// Options are what a Lock must know besides its store. Only Election must be set.
type Options struct {
	// Election and ID are those of elector.Config: what is to be led, and the human part of
	// the candidate's identity, the host's name by default.
	Election string
	ID       string

	Clock elector.Clock // by which Token knows the lease's end; elector.SystemClock by default

	_ struct{}
}

// Lock is one candidate's way to the lease of an election. It implements
// resourcelock.Interface, and serves one LeaderElector at a time. It is safe for concurrent
// use; requests wait for each other.
type Lock struct {
	store   elector.Store
	clock   elector.Clock
	holding atomic.Pointer[holding] // nil: no lease is held

	mu          sync.Mutex    // held during each request
	lease       store.Lease   // held if it has a token; else what is asked for
	floor       uint64        // the highest token that is known
	longest     time.Duration // that any lease of the election may last, if the store has said so
	transitions int           // what the next leader's record has at least
}

var _ resourcelock.Interface = (*Lock)(nil)

// holding is a lease that is held.
type holding struct {
	token uint64
	until time.Duration // on the lock's clock
}

// usual is the lease's time as long as no record has said it: client-go's default.
const usual = 15 * time.Second

// requests is how many requests, one after the other, a lease leaves time for. An
// elector.Elector gives requests up after as long.
const requests = 6

// leases is how errors name what is locked.
var leases = schema.GroupResource{Group: "recount", Resource: "leases"}

// New returns a Lock that holds nothing. The store stays the caller's.
func New(s elector.Store, o Options) (*Lock, error) {
	if err := store.Suits(s, store.Times{Lease: usual, LongestLease: usual, RequestTimeout: usual}); err != nil {
		return nil, fmt.Errorf("kubelock: %w", err)
	}
	if o.ID == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("kubelock: Options.ID is empty, and the host has no name: %w", err)
		}
		o.ID = host
	}
	for field, name := range map[string]string{"Election": o.Election, "ID": o.ID} {
		if err := store.CheckName(name); err != nil {
			return nil, fmt.Errorf("kubelock: Options.%s: %w", field, err)
		}
	}
	l := &Lock{store: s, clock: o.Clock}
	if l.clock == nil {
		l.clock = elector.SystemClock()
	}
	l.lease = store.Lease{Election: o.Election, ID: o.ID + "/" + strings.ToLower(rand.Text()[:12]), TTL: usual}
	l.begin()
	return l, nil
}

// begin makes the lease one that is to be asked for.
func (l *Lock) begin() {
	l.lease.Token, l.lease.Nonce = 0, rand.Text()
	l.holding.Store(nil)
}

// Token returns the fencing token of the lease that is held at this moment, by the clock, or 0
// if none is known to be held. It costs one reading of the clock. A lease that was lost and
// granted again has a larger token, also while one LeaderElector goes on to lead.
func (l *Lock) Token() uint64 {
	if b := l.holding.Load(); b != nil && l.clock.Now() < b.until {
		return b.token
	}
	return 0
}

// Identity implements resourcelock.Interface: Options.ID, a slash and a random part of this
// Lock's own, so that two candidates with one ID are two.
func (l *Lock) Identity() string { return l.lease.ID }

// Describe implements resourcelock.Interface: it returns the election's name.
func (l *Lock) Describe() string { return l.lease.Election }

// RecordEvent implements resourcelock.Interface. It does nothing: stores keep no events.
func (l *Lock) RecordEvent(string) {}

// Get implements resourcelock.Interface: it returns what the leader has published as its
// record. If nobody holds the lease the error is one of apierrors.IsNotFound. Of a leader that
// publishes no record, such as an elector.Elector, the record has the identity, and for how
// long the lease lasts from now on.
//
// A lease that was granted to this Lock without its knowledge, because the answer was lost, has
// no holder in the record. Then client-go asks for it once more, and the store repeats its answer.
func (l *Lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, l.lease.TTL/requests)
	defer cancel()
	leader, err := l.store.Leader(ctx, l.lease.Election)
	if err != nil {
		return nil, nil, err
	}
	if leader.ID == "" {
		return nil, nil, apierrors.NewNotFound(leases, l.lease.Election)
	}
	l.learn(leader.Token)
	record := recordOf(leader)
	switch {
	case leader.ID != l.lease.ID:
		l.transitions = record.LeaderTransitions + 1
	case leader.Token != l.lease.Token:
		record.HolderIdentity = ""
	}
	raw, err := json.Marshal(record)
	return record, raw, err
}

// recordOf is the record that the leader publishes, or one of what the store knows.
func recordOf(leader elector.Leader) *resourcelock.LeaderElectionRecord {
	record := new(resourcelock.LeaderElectionRecord)
	if err := json.Unmarshal([]byte(leader.Value), record); err == nil && record.HolderIdentity == leader.ID {
		return record
	}
	// The time makes it differ from the record before: client-go takes a record that stays the
	// same for one that nobody renews.
	now := metav1.Now()
	seconds := int((leader.Remaining + time.Second - 1) / time.Second)
	return &resourcelock.LeaderElectionRecord{HolderIdentity: leader.ID, LeaseDurationSeconds: seconds, AcquireTime: now, RenewTime: now}
}

// Create implements resourcelock.Interface: it asks for the lease, which nobody held when Get
// was called. See Update for the errors.
func (l *Lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lease.Token != 0 { // it has ended
		l.begin()
	}
	return l.update(ctx, record)
}

// Update implements resourcelock.Interface. With this Lock's identity in the record it renews
// the lease and publishes the record, or asks for the lease if this Lock does not hold it. With
// no identity it releases the lease, or does nothing if this Lock does not hold it.
//
// If another candidate holds the lease, if the store grants it to nobody yet, or if this Lock
// has lost it, the error is one of apierrors.IsConflict. All other errors are the store's own; after
// them it is not known whether the lease was granted or renewed, unless they are an
// *elector.FatalError.
func (l *Lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.update(ctx, record)
}

func (l *Lock) update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	switch record.HolderIdentity {
	case "":
		return l.release(ctx)
	case l.lease.ID:
	default:
		return fmt.Errorf("kubelock: the record names %q as the holder; this lock's identity is %q", record.HolderIdentity, l.lease.ID)
	}
	ttl := time.Duration(record.LeaseDurationSeconds) * time.Second
	if ttl <= 0 {
		return fmt.Errorf("kubelock: the record's lease lasts %d seconds: LeaseDuration must be whole seconds, and at least one", record.LeaseDurationSeconds)
	}
	if err := store.Suits(l.store, store.Times{Lease: ttl, LongestLease: max(ttl, l.longest), RequestTimeout: ttl / requests}); err != nil {
		return err
	}
	record.LeaderTransitions = max(record.LeaderTransitions, l.transitions)
	value, err := json.Marshal(record)
	if err != nil {
		return err
	}
	l.lease.TTL, l.lease.Longest, l.lease.Configured = ttl, max(ttl, l.longest), ttl
	l.lease.Request++
	l.lease.Value, l.lease.Version = string(value), l.lease.Request
	sent := l.clock.Now()
	ctx, cancel := context.WithTimeout(ctx, ttl/requests)
	defer cancel()
	if l.lease.Token != 0 {
		err = l.store.Renew(ctx, l.lease)
	} else {
		err = l.acquire(ctx)
	}
	if err != nil {
		return l.judge(err)
	}
	return l.hold(sent)
}

// acquire asks for the lease. A repetition has the nonce of the request before if it is not
// known what became of that.
func (l *Lock) acquire(ctx context.Context) error {
	g, err := l.store.Acquire(ctx, store.Attempt{
		Election: l.lease.Election, ID: l.lease.ID, Nonce: l.lease.Nonce, Request: l.lease.Request,
		TTL: l.lease.TTL, Longest: l.lease.Longest, Configured: l.lease.Configured, Floor: l.floor,
		Value: l.lease.Value, Version: l.lease.Version,
	})
	if err != nil {
		return err
	}
	l.lease.Token, l.longest = g.Token, cmp.Or(g.Longest, l.longest)
	l.learn(g.Token)
	return nil
}

// release gives the lease back. Whatever comes of it, the token is not used any more: who
// leads again does so in another term.
func (l *Lock) release(ctx context.Context) error {
	lease := l.lease
	if lease.Token == 0 {
		return nil
	}
	l.begin()
	l.lease.Request++
	lease.Request, lease.TTL = l.lease.Request, 0
	ctx, cancel := context.WithTimeout(ctx, l.lease.TTL/requests)
	defer cancel()
	if err := l.store.Release(ctx, lease); !errors.Is(err, store.ErrNotHeld) {
		return err
	}
	return nil // after a Conflict client-go would try again at once, and again
}

// hold notes that a request was granted that was sent at that time. client-go counts from
// the answer, so one that came too late is none.
func (l *Lock) hold(sent time.Duration) error {
	usable := l.lease.TTL - time.Duration(float64(l.lease.TTL)*elector.DefaultDrift) - time.Millisecond
	l.holding.Store(&holding{l.lease.Token, sent + usable})
	if took := l.clock.Now() - sent; took >= usable {
		return fmt.Errorf("kubelock: the store's answer took %v, and the lease of %v may have ended before it came", took, l.lease.TTL)
	}
	return nil
}

// judge takes in what the error says of the lease, and returns it as client-go knows it.
func (l *Lock) judge(err error) error {
	held := new(elector.HeldError)
	switch {
	case errors.As(err, &held):
		l.learn(held.Token)
		l.longest = cmp.Or(held.Longest, l.longest)
	case !errors.Is(err, store.ErrNotHeld):
		return err
	}
	l.begin()
	return refusal{apierrors.NewConflict(leases, l.lease.Election, err), err}
}

// refusal is a Conflict that wraps the store's own error.
type refusal struct {
	*apierrors.StatusError
	err error
}

func (r refusal) Unwrap() error { return r.err }

// learn notes a token.
func (l *Lock) learn(token uint64) {
	if machine.Credible(token, l.floor) {
		l.floor = max(l.floor, token)
	}
}

package redisstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector"
)

// Options are the settings of a Store beyond those of the connection.
type Options struct {
	// Prefix is what every key and channel begins with; DefaultPrefix if
	// empty. Stores with different prefixes never see each other's elections.
	// It must not contain braces.
	Prefix string

	// Unprotected switches the protection against lost data off. Protected, a
	// server that may have forgotten a lease (it was restarted, flushed,
	// replaced by a replica, or evicted keys) grants none for as long as that
	// one may have lasted, and the tokens go on from the server's time in
	// microseconds, which is larger than any before. Unprotected, such a server
	// grants at once, and may hand out a token a second time: two candidates may
	// lead for up to one lease.
	Unprotected bool

	// Replicas is how many replicas must have confirmed each grant and renewal
	// (WAIT) within Confirm before the elector believes in it; none by default.
	// With at least half of them, a primary that is cut off from the others
	// cannot keep its leader, and a failover to a replica that confirmed loses
	// no lease. Nobody is granted the lease within one of the moment in which a
	// replica came: what it confirmed to another primary is over then. So a
	// failover takes until the other replicas follow, and a lease more, unless its
	// leader goes on; and while a replica synchronises again and again, more often
	// than once a lease, nobody new is elected. The server must have so many
	// replicas, or nobody can lead.
	Replicas int

	// Fsynced asks that each grant and renewal is on the server's disk before the
	// elector believes in it (WAITAOF): no crash of the server loses a lease that
	// anybody believes in. It needs Redis 7.2 or newer with "appendonly yes", best
	// with "appendfsync always": with everysec a renewal waits for up to two
	// seconds, and Confirm must be longer; with no, nobody can lead.
	Fsynced bool

	// FsyncedReplicas is on how many replicas' disks each grant and renewal must
	// be as well. Replicas say once a second what they have on disk, so each
	// confirmation takes about a second. Those that Replicas counts need it in
	// memory only, which takes a round trip.
	FsyncedReplicas int

	// Confirm is how long the confirmations are waited for: 100 ms by default,
	// 2 s with FsyncedReplicas, which need as much; in whole milliseconds. It must
	// be well below the electors' RequestTimeout and the client's ReadTimeout.
	Confirm time.Duration

	// Audit makes every acquire, renew and release leave a line in a list,
	// whether it was applied or not, in the order of execution. The list grows
	// until [Store.DrainAudit] is called: it is for tests and investigations.
	Audit bool

	// Expire is how long the keys outlive their last use, in whole milliseconds: a
	// minute or longer, and longer than any lease. By default they stay for good,
	// but for the lease. It is for elections whose names are made up as the program
	// runs, and for tests on a server that others use.
	//
	// What has expired is forgotten, as if the server had lost it: protected, the
	// next lease is granted one lease later, with a token that goes on from the
	// server's time. Unprotected, tokens begin with 1 again; only who asks for a lease
	// uses the counter, and not who renews one. Give all stores of an election the
	// same Expire.
	Expire time.Duration

	_ struct{}
}

// Store keeps the leases of elections in Redis. It is safe for concurrent use.
type Store struct {
	prefix  string
	witness string // see witnessOf
	protect string // as the scripts take it
	audit   bool
	confirm confirming
	foreign bool // the client is somebody else's

	scripts   scripts
	opts      redis.UniversalOptions
	pingEvery time.Duration // of Watch; a connection silent for twice as long is given up

	live    atomic.Pointer[client] // nil once the store is closed
	batches batcher

	known   sync.Map // of names, by election
	knownOf atomic.Int32
	epoch   atomic.Uint64 // counts what may have brought another server behind the address
	lonely  atomic.Bool   // elections have no witness in common: see witness

	mu       sync.Mutex       // guards changes of live, and the rest
	replaced map[*client]bool // and still used
	retired  sync.WaitGroup
	hub      hub // of Watch
}

// What protects an election, as the scripts take it.
const (
	unprotected         = "0"
	protected           = "1"
	protectedByReplicas = "2"
)

var _ elector.Store = (*Store)(nil)

// New returns a Store with a client of its own, made from a copy of opts. It
// does not connect: a server that is away is no reason not to start.
//
// The copy is changed where an elector needs it: no retries (only the elector
// knows how long a request is still worth something, and a repeated release
// would hide that the first one took effect), deadlines of contexts are kept,
// reads go to masters only, no maintenance notifications and no client
// library names sent. A connection that takes long to open is tried beside itself, so
// Dialer may be called several times for one of them. Where opts leave them zero: time-outs of 2 s (dial) and
// 3 s (read, write), a pool of 4, RESP2.
//
// The caller closes the store when all electors that use it have ended.
func New(opts *redis.UniversalOptions, o Options) (*Store, error) {
	if opts == nil {
		return nil, errors.New("redisstore: no options for the connection: give &redis.UniversalOptions{Addrs: …} or use ParseURL")
	}
	s, err := newStore(clientOptions(*opts), o)
	if err != nil {
		return nil, err
	}
	dial := s.opts.Dialer
	s.opts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		s.epoch.Add(1)
		return dial(ctx, network, addr)
	}
	s.live.Store(s.open())
	return s, nil
}

// newStore is a Store that has no client yet.
func newStore(opts redis.UniversalOptions, o Options) (*Store, error) {
	if strings.ContainsAny(o.Prefix, "{}") {
		return nil, fmt.Errorf("redisstore: prefix %q: braces would move the hash tag that keeps an election's keys together: choose a prefix without them", o.Prefix)
	}
	if o.Expire != 0 && (o.Expire < time.Minute || o.Expire%time.Millisecond != 0) {
		return nil, fmt.Errorf("redisstore: keys cannot expire after %v: choose a minute or longer, in whole milliseconds, or 0 for keys that stay", o.Expire)
	}
	confirm, err := confirmingOf(o)
	if err != nil {
		return nil, err
	}
	s := &Store{
		prefix:    o.Prefix,
		protect:   protected,
		audit:     o.Audit,
		confirm:   confirm,
		scripts:   newScripts(o.Expire),
		opts:      opts,
		replaced:  map[*client]bool{},
		pingEvery: 10 * time.Minute, // TCP notices a dead peer before, and electors have doubts of their own
	}
	if s.prefix == "" {
		s.prefix = DefaultPrefix
	}
	s.witness = s.prefix + "witness"
	s.lonely.Store(len(opts.Addrs) > 1 && opts.MasterName == "" || opts.IsClusterMode)
	switch {
	case o.Unprotected:
		s.protect = unprotected
	case confirm.most() > 0:
		s.protect = protectedByReplicas
	}
	s.batches.store, s.batches.lanes = s, max(1, s.opts.PoolSize)
	s.batches.opening = max(0, s.opts.DialTimeout) + max(0, s.opts.ReadTimeout)
	return s, nil
}

// Acquire is [elector.Store.Acquire]. HeldError.Remaining is exact to the
// millisecond; HeldError.Holder of a lease that no elector wrote is its value,
// with token 0.
func (s *Store) Acquire(ctx context.Context, a elector.Attempt) (elector.Grant, error) {
	if err := checkNames(a.Election, a.ID, a.Nonce); err != nil {
		return elector.Grant{}, err
	}
	ttl, err := millis(a.Election, a.TTL)
	if err != nil {
		return elector.Grant{}, err
	}
	if a.Floor >= math.MaxInt64 {
		return elector.Grant{}, &elector.FatalError{
			Err: fmt.Errorf("redisstore: election %q: no token of Redis is larger than %d", a.Election, a.Floor),
			Fix: "find out where that token came from: elections count from 1",
		}
	}
	longest, err := millis(a.Election, max(a.Longest, a.TTL))
	if err != nil {
		return elector.Grant{}, err
	}
	for {
		n := s.names(a.Election)
		beacon := ""
		if a.Stands && !s.confirm.any() { // nobody confirms what is passed on
			beacon = s.hub.beacon(n.channel)
		}
		args := []any{a.ID, escape(a.Nonce), ttl, strconv.FormatUint(a.Floor, 10), n.channel, a.Request, s.protect, a.Priority, longest, beacon}
		if a.Version > 0 {
			args = append(args, a.Version, a.Value)
		}
		reply, err := s.write(ctx, &s.scripts.acquire, n.guard, n.acquire, args...)
		if s.parted(err, n.acquire[5] != n.guard) {
			continue
		}
		if err != nil {
			return elector.Grant{}, judge("acquire", a.Election, err)
		}
		return grantOf(a.Election, reply, beacon != "")
	}
}

// Renew is [elector.Store.Renew]: one command, followed by WAIT and WAITAOF as
// far as Options ask for confirmations. A value that the server has acknowledged goes
// along again only when the renewal looks whether its server is another one.
func (s *Store) Renew(ctx context.Context, l elector.Lease) error {
	if err := checkNames(l.Election, l.ID, l.Nonce); err != nil {
		return err
	}
	ttl, err := millis(l.Election, l.TTL)
	if err != nil {
		return err
	}
	longest, err := millis(l.Election, max(l.Longest, l.TTL))
	if err != nil {
		return err
	}
	nonce := escape(l.Nonce)
	n, epoch := s.names(l.Election), s.epoch.Load()
	looked, protect := n.looked(epoch, l.TTL), s.protect
	if protect != protectedByReplicas && looked && !s.foreign { // whose connections are not known
		protect = ""
	}
	args, publishes := []any{leaseValue(l, nonce), ttl, nonce, l.Request}, l.Version > 0 && !(l.Shown && looked)
	if protect != "" || publishes || s.audit { // else the script looks at none of this
		args = append(args, strconv.FormatUint(l.Token, 10), protect, longest)
	}
	if publishes {
		args = append(args, l.Version, l.Value, n.channel)
	}
	reply, err := s.write(ctx, &s.scripts.renew, n.guard, n.renew, args...)
	if err != nil {
		s.epoch.Add(1)
		return judge("renew", l.Election, err)
	}
	if !looked {
		n.look(epoch)
	}
	return appliedOf("renew", l.Election, reply)
}

// Release is [elector.Store.Release].
func (s *Store) Release(ctx context.Context, l elector.Lease) error {
	if err := checkNames(l.Election, l.ID, l.Nonce); err != nil {
		return err
	}
	n, nonce := s.names(l.Election), escape(l.Nonce)
	if l.Token == 0 {
		return s.withdraw(ctx, n, l, nonce)
	}
	reply, err := s.run(ctx, &s.scripts.release, n.release,
		leaseValue(l, nonce), n.channel, nonce, l.Request, strconv.FormatUint(l.Token, 10), l.To, l.Reserve.Milliseconds(), l.ID,
		l.TTL.Milliseconds(), l.Priority, max(l.Longest, l.TTL).Milliseconds(), s.protect)
	if err != nil {
		return judge("release", l.Election, err)
	}
	return appliedOf("release", l.Election, reply)
}

// withdraw takes a bid back.
func (s *Store) withdraw(ctx context.Context, n *names, l elector.Lease, nonce string) error {
	reply, err := s.run(ctx, &s.scripts.withdraw, n.withdraw, l.ID, nonce)
	if err != nil {
		return judge("withdraw", l.Election, err)
	}
	switch token, ok := tokenOf(reply); {
	case !ok:
		return shapeError("withdraw", l.Election, reply)
	case token > 0:
		return &elector.HeldError{Holder: l.ID, Token: token}
	default:
		return elector.ErrNotHeld
	}
}

// Leader is [elector.Store.Leader]. Remaining is 0 for a lease without a time
// to live; the next candidate to try will give it one.
func (s *Store) Leader(ctx context.Context, election string) (elector.Leader, error) {
	if err := checkNames(election, "-", "-"); err != nil {
		return elector.Leader{}, err
	}
	k := s.keys(election)
	reply, err := s.run(ctx, &s.scripts.leader, []string{k.lease(), k.guard()})
	if err != nil {
		return elector.Leader{}, judge("observe", election, err)
	}
	return leaderOf("observe", election, reply)
}

// Create says that the election is new, so that its first leader need not be
// waited for: a server that knows nothing of an election may have forgotten it,
// so without Create nobody is granted the first lease for as long as one lasts,
// and tokens begin with the server's time rather than with 1. It does nothing,
// and says so, if the server knows the election.
//
// Call it once, when the election is set up and nobody competes yet; never from
// the candidates' own start, where it would defeat the protection.
func (s *Store) Create(ctx context.Context, election string) (created bool, err error) {
	if err := checkNames(election, "-", "-"); err != nil {
		return false, err
	}
	k := s.keys(election)
	witness := s.witnessOf(k)
	reply, err := s.run(ctx, &s.scripts.create, []string{k.lease(), k.counter(), k.guard(), witness}, s.protect)
	if s.parted(err, witness != k.guard()) {
		return s.Create(ctx, election)
	}
	if err != nil {
		return false, judge("create", election, err)
	}
	n, ok := integer(reply)
	if !ok {
		return false, shapeError("create", election, reply)
	}
	return n == 1, nil
}

// Retire removes everything of an election from Redis. While somebody holds the
// lease, or may believe in one as far as this server knows, it does nothing and returns a
// *HeldError. A server that was promoted, or has lost data, may know less: wait for a
// lease then.
//
// Tokens start again afterwards, so a resource that remembers the highest one
// would refuse every later leader: retire an election only together with the
// resource that it protects, and when no candidate competes in it any more.
func (s *Store) Retire(ctx context.Context, election string) error {
	if err := checkNames(election, "-", "-"); err != nil {
		return err
	}
	k := s.keys(election)
	witness := s.witnessOf(k)
	keys := append([]string{k.lease(), k.guard(), witness}, k.others()...)
	reply, err := s.run(ctx, &s.scripts.retire, keys)
	if s.parted(err, witness != k.guard()) {
		return s.Retire(ctx, election)
	}
	if err != nil {
		return judge("retire", election, err)
	}
	switch l, err := leaderOf("retire", election, reply); {
	case err != nil:
		return err
	case l.ID != "":
		return &elector.HeldError{Holder: l.ID, Token: l.Token, Remaining: l.Remaining}
	case l.Remaining > 0:
		return heldFor(l.Remaining, remarkLost)
	}
	return nil
}

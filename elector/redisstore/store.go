package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/store"
)

// Options are the settings of a Store beyond those of the connection.
type Options struct {
	// Prefix is what every key and channel begins with; DefaultPrefix if
	// empty. Stores with different prefixes never see each other's elections.
	// It is a name as [store.CheckName] wants it: without spaces and braces, for example.
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
	// (WAIT) within Confirm before the elector counts on it; none by default.
	// With at least half of them, a primary that is cut off from the others
	// cannot keep its leader, and a failover to a replica that confirmed loses
	// no lease. A replica counts for a grant only when it has followed the server
	// for as long as a lease lasts: what it confirmed to another primary is over
	// then. So a failover takes until the other replicas follow, and a lease more,
	// unless its leader goes on. The server must have so many replicas, or nobody
	// can lead. All candidates need not have the same Replicas: each protects the
	// terms of those that have it.
	Replicas int

	// Fsynced asks that each grant and renewal is on the server's disk before the
	// elector counts on it (WAITAOF): no crash of the server loses a lease that
	// a leader counts on. It needs Redis 7.2 or newer with "appendonly yes", best
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
	// be well below the electors' RequestTimeout and the client's ReadTimeout: elector.New
	// and New refuse a Confirm that is not below.
	Confirm time.Duration

	// Audit makes every acquire, renew and release leave a line in a list,
	// whether it was applied or not, in the order of execution. The list grows
	// until [Store.DrainAudit] is called: it is for tests and investigations.
	Audit bool

	// Expire is how long the keys outlive their last use, in whole milliseconds: from half
	// of it to all of it. It is a minute or longer, and at least twice as long as any lease
	// of the elections, their LongestLease and joblock's AtLeast: elector.New and
	// joblock.Run refuse what is longer, and Acquire and Renew such a lease. A job with a lock needs
	// twice the time from one start to the next as well, or the server has forgotten the job
	// each time, and it never runs. By default they stay for good,
	// but for the lease. It is for elections whose names are made up as the program
	// runs, and for tests on a server that others use.
	//
	// What has expired is forgotten, as if the server had lost it: protected, the
	// next lease is granted one lease later, with a token that goes on from the
	// server's time. Unprotected, tokens begin with 1 again; only who asks for a lease
	// uses the counter, and not who renews one. All stores of an
	// election should have the same Expire: keys that only stores without it use expire all
	// the same, and are lost then.
	Expire time.Duration

	_ struct{}
}

// Store keeps the leases of elections in Redis. It is safe for concurrent use.
type Store struct {
	prefix  string
	witness string // see witnessOf
	protect string // as the scripts take it
	audit   bool
	expire  time.Duration
	confirm confirming
	foreign bool // the client is somebody else's

	followers followers

	scripts   scripts
	opts      redis.UniversalOptions
	pingEvery time.Duration // of Watch; a connection silent for twice as long is given up

	live    atomic.Pointer[client] // nil once the store is closed
	batches batcher

	known   sync.Map // of names, by election
	knownOf atomic.Int32
	epoch   atomic.Uint64 // counts what may have brought another server behind the address
	lonely  atomic.Bool   // elections have no witness in common: see witness

	doubt  doubt
	served atomic.Bool // a request has succeeded

	mu       sync.Mutex       // guards changes of live, and the rest
	replaced map[*client]bool // and still used
	retired  sync.WaitGroup
	hub      hub // of Watch
}

// What protects an election, as the scripts take it.
const (
	unprotected      = "0"
	protected        = "1"
	protectedSeveral = "2" // one of several servers
)

var (
	_ store.Store   = (*Store)(nil)
	_ store.Bounded = (*Store)(nil)
	_ store.Carrier = (*Store)(nil)
)

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
	if err := checkAddrs(opts.Addrs); err != nil {
		return nil, err
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
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	if err := store.CheckName(o.Prefix); err != nil { // braces would move the hash tag that keeps an election's keys together
		return nil, fmt.Errorf("redisstore: Options.Prefix: %w", err)
	}
	if o.Expire != 0 && (o.Expire < time.Minute || o.Expire%time.Millisecond != 0) {
		return nil, fmt.Errorf("redisstore: keys cannot expire after %v: choose a minute or longer, in whole milliseconds, or 0 for keys that stay", o.Expire)
	}
	confirm, err := confirmingOf(o)
	if err != nil {
		return nil, err
	}
	if confirm.any() && opts.ReadTimeout > 0 && confirm.within >= opts.ReadTimeout {
		return nil, fmt.Errorf("redisstore: Confirm is %v and the client's ReadTimeout is %v; the client would give up before the server has waited for the confirmations: Confirm < ReadTimeout: shorten Confirm or lengthen ReadTimeout", confirm.within, opts.ReadTimeout)
	}
	s := &Store{
		prefix:    o.Prefix,
		protect:   protected,
		audit:     o.Audit,
		expire:    o.Expire,
		confirm:   confirm,
		scripts:   newScripts(o.Expire),
		opts:      opts,
		replaced:  map[*client]bool{},
		pingEvery: 10 * time.Minute, // TCP notices a dead peer before, and electors have doubts of their own
	}
	s.witness = s.prefix + "witness"
	s.lonely.Store(len(opts.Addrs) > 1 && opts.MasterName == "" || opts.IsClusterMode)
	if o.Unprotected {
		s.protect = unprotected
	}
	s.batches.store, s.batches.lanes = s, max(1, s.opts.PoolSize)
	s.batches.pause = openingPause
	s.batches.opening = max(0, s.opts.DialTimeout) + max(0, s.opts.ReadTimeout)
	return s, nil
}

// Suits implements [store.Bounded]: keys outlive every lease (Options.Expire), and
// each request waits for longer than the confirmations may take (Options.Confirm).
func (s *Store) Suits(t store.Times) error {
	if s.prefix == "" {
		return errors.New("redisstore: this Store is empty: make it with New")
	}
	wrong := func(field, format string, args ...any) error {
		return &elector.ConfigError{Field: field, Rule: fmt.Sprintf(format, args...)}
	}
	const outlive = "is %v and Options.Expire of redisstore is %v; the keys of an election must outlive its lease, and get more time only when half of theirs is over: set Expire to %v or more, or leave it out"
	switch {
	case s.expire > 0 && t.Lease > s.expire/2:
		return wrong("Lease", outlive, t.Lease, s.expire, 2*t.Lease)
	case s.expire > 0 && t.LongestLease > s.expire/2:
		return wrong("LongestLease", outlive, t.LongestLease, s.expire, 2*t.LongestLease)
	case s.confirm.any() && t.RequestTimeout <= s.confirm.within:
		return wrong("RequestTimeout", "is %v and Options.Confirm of redisstore is %v; a request must outlast the wait for its confirmations: Confirm < RequestTimeout: shorten Confirm, or lengthen RequestTimeout or Lease", t.RequestTimeout, s.confirm.within)
	}
	return nil
}

// Carries implements [store.Carrier]. As many requests as there are connections are
// sent at once, each by itself. Those that come meanwhile wait for a round trip, and then
// go together, up to 100 on each connection. In a cluster each goes by itself.
func (s *Store) Carries(timeout, roundTrip time.Duration) int {
	trips := int(timeout / max(roundTrip, 1))
	if trips < 2 || s.clustered() {
		return s.batches.lanes * max(1, trips)
	}
	return s.batches.lanes * maxBatch * (trips - 1)
}

// millis is a time to live as Redis takes it. One that outlives the election's keys is
// refused here as well: the caller may not have asked Suits.
func (s *Store) millis(election string, ttl time.Duration) (int64, error) {
	if s.expire > 0 && ttl > s.expire/2 {
		return 0, &store.FatalError{
			Err: fmt.Errorf("redisstore: election %q: a lease cannot last %v, because Options.Expire is %v and keys may expire after half of it", election, ttl, s.expire),
			Fix: fmt.Sprintf("set Expire to %v or more, or leave it out", 2*ttl),
		}
	}
	return millis(election, ttl)
}

// Acquire is [store.Store.Acquire]. HeldError.Remaining is exact to the
// millisecond; HeldError.Holder of a lease that no elector wrote is its value,
// with token 0.
func (s *Store) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	if err := checkNames(a.Election, a.ID, a.Nonce); err != nil {
		return store.Grant{}, err
	}
	ttl, err := s.millis(a.Election, a.TTL)
	if err != nil {
		return store.Grant{}, err
	}
	if a.Floor >= math.MaxInt64 {
		return store.Grant{}, &store.FatalError{
			Err: fmt.Errorf("redisstore: election %q: no token of Redis is larger than %d", a.Election, a.Floor),
			Fix: "find out where that token came from: elections count from 1",
		}
	}
	longest, err := millis(a.Election, max(a.Longest, a.TTL))
	if err != nil {
		return store.Grant{}, err
	}
	configured := ""
	if a.Configured > 0 && a.Configured < a.Longest {
		configured = strconv.FormatInt(max(a.Configured, a.TTL).Milliseconds(), 10)
	}
	protect := s.protect
	if a.Several && protect == protected {
		protect = protectedSeveral
	}
	for {
		n := s.names(a.Election)
		beacon := ""
		if a.Stands && !s.confirm.any() { // nobody confirms what is passed on
			beacon = s.hub.beacon(n.channel)
		}
		args := []any{a.ID, escape(a.Nonce), ttl, strconv.FormatUint(a.Floor, 10), n.channel, a.Request, protect, a.Priority, longest, configured, beacon}
		if a.Version > 0 {
			args = append(args, a.Version, a.Value)
		}
		reply, err := s.write(ctx, &s.scripts.acquire, n.guard, max(a.Longest, a.TTL), n.acquire, args...)
		if s.parted(err, n.acquire[5] != n.guard) {
			continue
		}
		if s.heeds(a.TTL, err) != nil {
			return store.Grant{}, s.judge("acquire", a.Election, err)
		}
		return n.granted(grantOf(a.Election, reply, beacon != ""))
	}
}

// Renew is [store.Store.Renew]: one command, followed by WAIT and WAITAOF as
// far as Options ask for confirmations. A value that the server has acknowledged goes
// along again only when the renewal looks whether its server is another one.
func (s *Store) Renew(ctx context.Context, l store.Lease) error {
	if err := checkNames(l.Election, l.ID, l.Nonce); err != nil {
		return err
	}
	ttl, err := s.millis(l.Election, l.TTL)
	if err != nil {
		return err
	}
	nonce := escape(l.Nonce)
	n, epoch := s.names(l.Election), s.epoch.Load()
	looked, look := n.looked(epoch, l.TTL), ""
	if s.protect == protected && (!looked || s.foreign) { // of a foreign client the connections are not known
		look = "1"
	}
	args, publishes := []any{leaseValue(l, nonce), ttl, nonce, l.Request}, l.Version > 0 && !(l.Shown && looked)
	if look != "" || publishes || s.audit { // else the script needs none of this
		args = append(args, strconv.FormatUint(l.Token, 10), look)
	}
	if publishes {
		args = append(args, l.Version, l.Value, n.channel)
	}
	reply, err := s.write(ctx, &s.scripts.renew, n.guard, 0, n.renew, args...)
	if s.parted(err, n.renew[2] != n.guard) {
		return s.Renew(ctx, l)
	}
	if s.heeds(l.TTL, err) != nil {
		s.epoch.Add(1)
		return s.judge("renew", l.Election, err)
	}
	if !looked {
		n.look(epoch)
	}
	return appliedOf("renew", l.Election, reply)
}

// Release is [store.Store.Release].
func (s *Store) Release(ctx context.Context, l store.Lease) error {
	if err := checkNames(l.Election, l.ID, l.Nonce); err != nil {
		return err
	}
	n, nonce := s.names(l.Election), escape(l.Nonce)
	if l.Token == 0 {
		return s.withdraw(ctx, n, l, nonce)
	}
	longest := cmp.Or(l.Configured, l.Longest)
	reply, err := s.run(ctx, &s.scripts.release, n.release,
		leaseValue(l, nonce), n.channel, nonce, l.Request, strconv.FormatUint(l.Token, 10), l.To, l.Reserve.Milliseconds(), l.ID,
		l.TTL.Milliseconds(), l.Priority, max(longest, l.TTL).Milliseconds(), s.protect)
	if s.parted(err, n.release[5] != n.guard) {
		return s.Release(ctx, l)
	}
	if s.heeds(l.TTL, err) != nil {
		return s.judge("release", l.Election, err)
	}
	return appliedOf("release", l.Election, reply)
}

// withdraw takes a bid back.
func (s *Store) withdraw(ctx context.Context, n *names, l store.Lease, nonce string) error {
	reply, err := s.run(ctx, &s.scripts.withdraw, n.withdraw, l.ID, nonce)
	if err != nil {
		return s.judge("withdraw", l.Election, err)
	}
	switch token, ok := tokenOf(reply); {
	case !ok:
		return shapeError("withdraw", l.Election, reply)
	case token > 0:
		return &store.HeldError{Holder: l.ID, Token: token}
	default:
		return store.ErrNotHeld
	}
}

// Leader is [store.Store.Leader]. Remaining is 0 for a lease without a time
// to live; the next candidate to try will give it one.
func (s *Store) Leader(ctx context.Context, election string) (store.Leader, error) {
	if err := checkNames(election, "-", "-"); err != nil {
		return store.Leader{}, err
	}
	n := s.names(election)
	reply, err := s.run(ctx, &s.scripts.leader, n.renew[:2])
	if s.heeds(cmp.Or(time.Duration(n.lasts.Load()), usual), err) != nil {
		return store.Leader{}, s.judge("observe", election, err)
	}
	leader, err := leaderOf("observe", election, reply)
	if err == nil {
		n.seen(s, leader)
	}
	return leader, err
}

// Create makes the server know of the election. A server that does not know for a
// lease's time that it has forgotten nothing grants nobody a lease; that time begins
// with the first call of any kind. So Create, once and a lease before the first
// candidates start, spares the first leader the wait. It reports whether the election was
// unknown. It never makes a server grant a lease sooner than it would have: it may be
// called at any time, again, and after any loss.
func (s *Store) Create(ctx context.Context, election string) (created bool, err error) {
	k := s.keys(election)
	return s.tell(ctx, "create", election, &s.scripts.create, []string{k.lease(), k.counter(), k.guard()})
}

// Vouch says that nobody leads in the store's elections: this Redis is new,
// or all their candidates have been stopped for longer than any lease. Then the first
// leader need not be waited for. In a cluster it says so of this election only. A store
// with Replicas or FsyncedReplicas says it of the server's replicas, too.
//
// It fails if somebody holds the lease. Beyond that the store cannot check it: if it is
// not true, two candidates may lead at one time.
// Call it by hand, or for a server that the same program has just made; never in a
// candidate, nor in anything that runs again by itself.
func (s *Store) Vouch(ctx context.Context, election string) error {
	k := s.keys(election)
	list, err := s.with(ctx, func(c *client) (any, error) {
		if s.confirm.most() == 0 {
			return "", nil // the user need not have the right to ask
		}
		node, err := c.primary(ctx, k.guard())
		if err != nil {
			return nil, err
		}
		return listFollowers(ctx, node).Text()
	})
	if err != nil && !isReply(err) { // without the right to ask it vouches for no replica
		return s.judge("vouch for", election, plain(err))
	}
	text, _ := list.(string)
	var numbers []string
	for _, f := range followersOf(text) {
		numbers = append(numbers, f.number)
	}
	done, err := s.tell(ctx, "vouch for", election, &s.scripts.vouch, []string{k.lease(), k.counter()}, strings.Join(numbers, ","))
	if err == nil && !done {
		return fmt.Errorf("redisstore: vouch for %q: somebody holds the lease: stop all candidates first", election)
	}
	return err
}

// tell runs a script whose last key is the witness and which returns 1 or 0.
func (s *Store) tell(ctx context.Context, call, election string, sc *script, keys []string, args ...any) (bool, error) {
	if err := checkNames(election, "-", "-"); err != nil {
		return false, err
	}
	guard := s.keys(election).guard()
	for {
		witness := s.witnessOf(guard)
		reply, err := s.run(ctx, sc, append(slices.Clip(keys), witness), args...)
		if s.parted(err, witness != guard) {
			continue
		}
		if err != nil {
			return false, s.judge(call, election, err)
		}
		n, ok := integer(reply)
		if !ok {
			return false, shapeError(call, election, reply)
		}
		return n == 1, nil
	}
}

// Retire removes everything of an election from Redis. While somebody holds the
// lease, or may lead by one that this server has forgotten, it does nothing and
// returns a *HeldError. Retire an election when no candidate competes in it any more.
//
// Tokens go on from the server's time afterwards. With Unprotected they start again, so
// a resource that remembers the highest one would refuse every later leader.
func (s *Store) Retire(ctx context.Context, election string) error {
	if err := checkNames(election, "-", "-"); err != nil {
		return err
	}
	k := s.keys(election)
	witness := s.witnessOf(k.guard())
	keys := append([]string{k.lease(), k.guard(), witness}, k.others()...)
	reply, err := s.run(ctx, &s.scripts.retire, keys, s.protect)
	if s.parted(err, witness != k.guard()) {
		return s.Retire(ctx, election)
	}
	if err != nil {
		return s.judge("retire", election, err)
	}
	switch l, err := leaderOf("retire", election, reply); {
	case err != nil:
		return err
	case l.ID != "":
		return &store.HeldError{Holder: l.ID, Token: l.Token, Remaining: l.Remaining}
	case l.Remaining > 0:
		return heldFor(l.Remaining, remarkLost)
	}
	return nil
}

package pgstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recount-io/recount/elector/store"
)

// Options are the settings of a store beyond those of the connection. The zero
// value is fine.
type Options struct {
	// Table is the name of the table of leases, with its schema if the search
	// path is not to decide; DefaultTable if empty. The names of the two
	// others are made from it. Stores with different tables never see each
	// other's elections.
	Table string

	// History is how many terms of each election are remembered; 100 if 0.
	History int

	// TakeOverDeadSessions makes leases of NewSession end as soon as their
	// session does, whether or not they are over by time. A crashed leader is
	// then replaced within a moment (or, if its whole machine is gone, in the
	// time that the server's TCP needs to notice). The price is the promise: a
	// leader whose connection broke leads on until it next hears from the
	// server, up to one lease, beside its successor. Choose it only if the
	// protected resource refuses old tokens. A lock for a job with a least time
	// refuses such a store: the lease would end with the process. All candidates
	// of an election must agree.
	TakeOverDeadSessions bool

	_ struct{}
}

// Store keeps the leases of elections in rows of a table. It is safe for
// concurrent use.
type Store struct {
	pool      *pgxpool.Pool
	sql       *statements
	history   int
	oldest    int64         // version of the server that will do
	pingEvery time.Duration // of silent watches
	patience  time.Duration // of theirs with the answer
	verified  atomic.Bool
	nameless  atomic.Bool // the role may not ask what names the server
}

// The ways of pgstore to be asked.
var (
	_ store.Store           = (*Store)(nil)
	_ store.CandidateLister = (*Store)(nil)
	_ store.TermLister      = (*Store)(nil)
	_ store.Preflighter     = (*Store)(nil)
	_ store.Bounded         = (*Store)(nil)
)

// Suits implements [store.Bounded]: a Store that New has not made suits nobody.
func (s *Store) Suits(store.Times) error {
	if s.pool == nil {
		return errors.New("pgstore: this Store is empty: make it with New")
	}
	return nil
}

// New returns a Store that uses the pool, which remains the caller's to close
// when all electors that use the store have ended. It does not connect: a
// server that is away is no reason not to start.
//
// The pool should be the store's own. Each Watch (one for each elector)
// besides has a connection of its own, made from the pool's configuration.
func New(pool *pgxpool.Pool, o Options) (*Store, error) {
	if pool == nil {
		return nil, errors.New("pgstore: no pool: make one with pgxpool.New")
	}
	if o.TakeOverDeadSessions {
		return nil, errors.New("pgstore: Options.TakeOverDeadSessions: is set, but leases of New are tied to no session: leave it out, or use NewSession")
	}
	return newStore(pool, o)
}

func newStore(pool *pgxpool.Pool, o Options) (*Store, error) {
	if o.History < 0 {
		return nil, fmt.Errorf("pgstore: Options.History: is %d; it must be positive, or zero for the default", o.History)
	}
	sql, err := newStatements(o.Table)
	if err != nil {
		return nil, err
	}
	s := &Store{pool: pool, sql: sql, history: o.History, oldest: 120000, pingEvery: 10 * time.Second, patience: patience}
	if s.history == 0 {
		s.history = 100
	}
	return s, nil
}

// querier is a connection, or a pool of them.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// plain keeps statements from being prepared: prepared ones cost a second
// round trip on every new connection, and fail behind poolers.
const plain = pgx.QueryExecModeExec

// Acquire is [store.Store.Acquire]. HeldError.Remaining is exact to the
// microsecond. Waiters counts the candidates of the last two leases.
func (s *Store) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	if err := s.ready(ctx, "acquire", a.Election); err != nil {
		return store.Grant{}, err
	}
	answer, err := s.acquire(ctx, s.pool, a, terms{grant: true})
	if err != nil {
		return store.Grant{}, err
	}
	return answer.outcome()
}

// Renew is [store.Store.Renew]: one statement.
func (s *Store) Renew(ctx context.Context, l store.Lease) error {
	if err := s.ready(ctx, "renew", l.Election); err != nil {
		return err
	}
	if err := checkLease(l); err != nil {
		return err
	}
	return s.renew(ctx, s.pool, l, nil)
}

// Release is [store.Store.Release]. It can hand over (store.Lease.To).
func (s *Store) Release(ctx context.Context, l store.Lease) error {
	if err := s.ready(ctx, "release", l.Election); err != nil {
		return err
	}
	return s.release(ctx, s.pool, l, false)
}

// Leader is [store.Store.Leader].
func (s *Store) Leader(ctx context.Context, election string) (store.Leader, error) {
	if err := s.ready(ctx, "observe", election); err != nil {
		return store.Leader{}, err
	}
	var l store.Leader
	var token, micros, version int64
	var value []byte
	err := s.pool.QueryRow(ctx, s.sql.leader, plain, election).Scan(&l.ID, &token, &micros, &value, &version)
	if errors.Is(err, pgx.ErrNoRows) {
		return store.Leader{}, nil
	}
	if err != nil {
		return store.Leader{}, judge("observe", election, err)
	}
	l.Token, l.Remaining = uint64(token), time.Duration(micros)*time.Microsecond
	l.Value, l.Version = string(value), uint64(version)
	return l, nil
}

// Retire removes everything of an election: its row, terms and candidates.
// While somebody holds the lease it does nothing and returns a *HeldError.
//
// Tokens start again afterwards, so a resource that remembers the highest one
// would refuse every later leader: retire an election only together with the
// resource that it protects, and when no candidate competes in it any more.
func (s *Store) Retire(ctx context.Context, election string) error {
	if err := s.ready(ctx, "retire", election); err != nil {
		return err
	}
	var gone bool
	if err := s.pool.QueryRow(ctx, s.sql.retire, plain, election).Scan(&gone); err != nil {
		return judge("retire", election, err)
	}
	if gone {
		return nil
	}
	l, err := s.Leader(ctx, election)
	if err != nil {
		return err
	}
	return &store.HeldError{Holder: l.ID, Token: l.Token, Remaining: l.Remaining}
}

// terms are the conditions of an attempt that are none of the elector's.
type terms struct {
	grant   bool    // or only look
	session *string // that the lease is to end with
	orphans bool    // leases of other sessions are over
}

// answer is what the acquire statement returns.
type answer struct {
	granted  *int64
	state    string
	holder   string
	token    int64
	tied     bool
	micros   int64
	waiters  int
	repaired bool
}

// attempts is how often an attempt is made that somebody else was quicker
// than, between its look and its insert. The next look sees who it was.
const attempts = 4

// errRestless says that each time somebody else was quicker. The next attempt may do
// better.
var errRestless = errors.New("the lease changed hands while it was looked at")

func (s *Store) acquire(ctx context.Context, q querier, a store.Attempt, t terms) (*answer, error) {
	if err := checkAttempt(a); err != nil {
		return nil, err
	}
	text := s.sql.acquire
	if s.nameless.Load() {
		text = s.sql.nameless.acquire
	}
	longest := max(a.Longest, a.TTL)
	var r answer
	value, version := published(a.Value, a.Version)
	for range attempts {
		r = answer{}
		var announced int64
		err := q.QueryRow(ctx, text, plain,
			a.Election, a.ID, a.Nonce, a.TTL.Milliseconds(), int64(a.Floor), int64(a.Priority),
			int64(s.history), t.grant, t.session, t.orphans, channelOf(a.Election), value, version, longest.Milliseconds(),
		).Scan(&r.granted, &r.state, &r.holder, &r.token, &r.tied, &r.micros, &r.waiters, &r.repaired, &announced)
		if err != nil {
			return nil, judge("acquire", a.Election, err)
		}
		if r.granted != nil || r.refused() || !t.grant {
			return &r, nil
		}
	}
	return nil, fmt.Errorf("pgstore: acquire %q: %w, %d times", a.Election, errRestless, attempts)
}

// The states of a lease that is not granted.
const (
	held     = "held"
	unsure   = "unsure"
	reserved = "reserved"
	own      = "own"
)

// refused reports whether the row forbids a grant.
func (r *answer) refused() bool { return r.state == held || r.state == unsure || r.state == reserved }

// outcome is the answer in the words of elector.Store.
func (r *answer) outcome() (store.Grant, error) {
	if r.granted != nil {
		return store.Grant{Token: uint64(*r.granted), Waiters: r.waiters}, nil
	}
	refusal := &store.HeldError{
		Holder: r.holder, Token: uint64(r.token), Remaining: time.Duration(r.micros) * time.Microsecond, Waiters: r.waiters,
	}
	switch r.state {
	case unsure:
		refusal.Holder, refusal.Token = "", 0
		refusal.Withheld = fmt.Sprintf("this server does not remember the election, or another one granted the last lease: it was promoted, or its tables were emptied, restored, rewritten or are new. A lease that it does not know of may last for another %v, so nobody is granted one before", refusal.Remaining)
	case reserved:
		refusal.Holder, refusal.Token = "", 0
		refusal.Withheld = fmt.Sprintf("the last leader has handed over to another candidate, which has %v to take the lease", refusal.Remaining)
	}
	if r.repaired {
		refusal.Repaired = fmt.Sprintf("it lasted longer than any lease, as it does when the server's clock was set back or somebody edited the row, and would have blocked the election; it now ends in %v unless it is renewed", refusal.Remaining)
	}
	return store.Grant{}, refusal
}

// published are a value and its version as parameters.
func published(value string, version uint64) ([]byte, *int64) {
	if version == 0 {
		return nil, nil
	}
	n := int64(version)
	return []byte(value), &n
}

func (s *Store) renew(ctx context.Context, q querier, l store.Lease, session *string) error {
	token, ok := tokenOf(l)
	if !ok {
		return store.ErrNotHeld
	}
	value, version := published(l.Value, l.Version)
	var applied bool
	var announced int64
	var silence *string
	err := q.QueryRow(ctx, s.sql.renew, plain,
		l.Election, l.ID, l.Nonce, token, l.TTL.Milliseconds(), session, value, version, channelOf(l.Election),
	).Scan(&applied, &announced, &silence)
	if err != nil {
		return judge("renew", l.Election, err)
	}
	if !applied {
		return store.ErrNotHeld
	}
	return nil
}

func (s *Store) release(ctx context.Context, q querier, l store.Lease, unlock bool) error {
	token, ok := tokenOf(l)
	if !ok {
		return store.ErrNotHeld
	}
	var applied bool
	var announced int64
	var unlocked *bool
	err := q.QueryRow(ctx, s.sql.release, plain,
		l.Election, l.ID, l.Nonce, token, l.To, l.Reserve.Milliseconds(), channelOf(l.Election), unlock,
	).Scan(&applied, &announced, &unlocked)
	if err != nil {
		return judge("release", l.Election, err)
	}
	if !applied {
		return store.ErrNotHeld
	}
	return nil
}

// channelOf is the name of the election's channel, but for the number of the
// table: any election's name must fit into the 63 bytes of an identifier.
func channelOf(election string) string {
	sum := sha256.Sum256([]byte(election))
	return hex.EncodeToString(sum[:12])
}

// tokenOf is a token as the server counts. No lease has a larger one.
func tokenOf(l store.Lease) (int64, bool) {
	return int64(l.Token), l.Token <= math.MaxInt64
}

func checkAttempt(a store.Attempt) error {
	if err := checkNames(a.Election, a.ID, a.Nonce); err != nil {
		return err
	}
	if a.Floor >= math.MaxInt64 {
		return &store.FatalError{
			Err: fmt.Errorf("pgstore: election %q: no token of PostgreSQL is larger than %d", a.Election, a.Floor),
			Fix: "find out where that token came from: elections count from 1",
		}
	}
	if err := checkTTL(a.Election, max(a.Longest, a.TTL)); err != nil {
		return err
	}
	return checkTTL(a.Election, a.TTL)
}

func checkLease(l store.Lease) error {
	if err := checkNames(l.Election, l.ID, l.Nonce); err != nil {
		return err
	}
	return checkTTL(l.Election, l.TTL)
}

// checkNames refuses what the server cannot keep or tell apart.
func checkNames(election, id, nonce string) error {
	for _, n := range []struct{ what, name string }{{"name", election}, {"candidate's id", id}, {"nonce", nonce}} {
		if n.name == "" || !utf8.ValidString(n.name) || strings.ContainsRune(n.name, 0) {
			return &store.FatalError{
				Err: fmt.Errorf("pgstore: election %q: the %s is %q", election, n.what, n.name),
				Fix: "give it one of valid UTF-8 that is not empty and holds no zero byte",
			}
		}
	}
	return nil
}

func checkTTL(election string, ttl time.Duration) error {
	if ttl < time.Millisecond || ttl%time.Millisecond != 0 {
		return &store.FatalError{
			Err: fmt.Errorf("pgstore: election %q: a lease cannot last %v", election, ttl),
			Fix: "choose a lease of whole milliseconds, 1ms or longer",
		}
	}
	return nil
}

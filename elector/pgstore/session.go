package pgstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/recount-io/recount/elector/store"
)

// SessionStore keeps the leases of elections in rows, like [Store], and ties
// each to a session: its holder has the election's advisory lock on a
// connection of its own, and loses the term when that session ends.
//
// The session ends with the connection, by pg_terminate_backend, by a restart
// or failover of the server, and, by the server's own timer
// (idle_session_timeout), when it was not renewed for the time of the lease: a
// holder that is cut off does not hold the lock for ever. The term is over for
// its holder at the next renewal. Others are granted the lease when the row is
// over as well, since the holder may lead until then: at its end by time, or
// when the holder, having heard, gives it back. See
// [Options].TakeOverDeadSessions for the other choice.
//
// Each lease that is held costs the server a connection, as each Watch does. It
// is safe for concurrent use.
type SessionStore struct {
	rows    *Store
	orphans bool

	mu       sync.Mutex
	closed   bool
	holdings map[attempt]*holding
}

// attempt names a lease before there is a token.
type attempt struct{ election, id, nonce string }

// The ways of pgstore to be asked.
var (
	_ store.Store           = (*SessionStore)(nil)
	_ store.CandidateLister = (*SessionStore)(nil)
	_ store.TermLister      = (*SessionStore)(nil)
	_ store.Preflighter     = (*SessionStore)(nil)
	_ store.Bounded         = (*SessionStore)(nil)
)

// Suits implements [store.Bounded], like Store's.
func (s *SessionStore) Suits(store.Times) error {
	if s.rows == nil {
		return errors.New("pgstore: this SessionStore is empty: make it with NewSession")
	}
	return nil
}

// NewSession returns a SessionStore with connections of its own, to the server
// itself and not to a pooler. The string is a URL or keywords, as for psql. It
// does not connect. The caller closes the store when all electors that use it
// have ended.
func NewSession(connString string, o Options) (*SessionStore, error) {
	cfg, err := pgxpool.ParseConfig(connString)
	if err != nil {
		return nil, fmt.Errorf("pgstore: the connection string: %w", err)
	}
	return newSession(cfg, o)
}

// NewSessionConfig is NewSession with a configuration from [pgx.ParseConfig],
// which is copied.
func NewSessionConfig(to *pgx.ConnConfig, o Options) (*SessionStore, error) {
	if to == nil {
		return nil, errors.New("pgstore: no configuration of the connection: make one with pgx.ParseConfig")
	}
	cfg, err := pgxpool.ParseConfig("")
	if err != nil {
		return nil, fmt.Errorf("pgstore: the environment (PGHOST, PGSSLMODE and so on): %w", err)
	}
	cfg.ConnConfig = to.Copy()
	return newSession(cfg, o)
}

func newSession(cfg *pgxpool.Config, o Options) (*SessionStore, error) {
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		return nil, fmt.Errorf("pgstore: the pool of connections: %w", err)
	}
	rows, err := newStore(pool, o)
	if err != nil {
		pool.Close()
		return nil, err
	}
	rows.oldest = 140000 // idle_session_timeout
	return &SessionStore{rows: rows, orphans: o.TakeOverDeadSessions, holdings: make(map[attempt]*holding)}, nil
}

// Close ends all sessions, and with them the terms of their holders. No other
// method may be called afterwards.
func (s *SessionStore) Close() {
	s.mu.Lock()
	s.closed = true
	all := s.holdings
	s.holdings = nil
	s.mu.Unlock()
	for _, h := range all {
		h.cut()
	}
	s.rows.pool.Close()
}

// settle is how long an attempt waits for a session to end whose lease is over.
// The server's timer starts a moment after the lease does, and needs another
// one to end a process.
const settle = 300 * time.Millisecond

// again is when a candidate is to come again if the session did not end.
const again = 100 * time.Millisecond

// Acquire is [store.Store.Acquire]. It first looks at the row, and asks for
// the lock only if the row allows a grant. What is said of Store.Acquire holds.
func (s *SessionStore) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	if err := s.rows.ready(ctx, "acquire", a.Election); err != nil {
		return store.Grant{}, err
	}
	if err := checkAttempt(a); err != nil {
		return store.Grant{}, err
	}
	if h := s.holding(attempt{a.Election, a.ID, a.Nonce}); h != nil {
		grant, err := s.repeat(ctx, h, a)
		if !errors.Is(err, errSessionOver) {
			return grant, err
		}
		s.end(h)
	}
	for range 2 {
		look, err := s.rows.acquire(ctx, s.rows.pool, a, terms{})
		if err != nil {
			return store.Grant{}, err
		}
		if look.refused() && !(s.orphans && look.state == held && look.tied) {
			return look.outcome()
		}
		grant, err := s.admit(ctx, a, look)
		if !errors.Is(err, errLocked) {
			return grant, err
		}
		switch look.state {
		case held: // and its session lives
			return look.outcome()
		case own:
			return store.Grant{}, fmt.Errorf("pgstore: acquire %q: the session of an earlier request of this attempt still has the lock", a.Election)
		}
		// A quicker request has the row by now: look again.
	}
	return store.Grant{}, &store.HeldError{
		Remaining: again,
		Withheld:  "the row says that the lease is over, but a session has the election's lock: that of a holder that the server has not ended yet (it does after one lease of silence), or the server's clock was set ahead",
	}
}

// errLocked says that another session has the election's lock.
var errLocked = errors.New("pgstore: another session has the lock")

// admit asks for the lock, and then for the row.
func (s *SessionStore) admit(ctx context.Context, a store.Attempt, look *answer) (store.Grant, error) {
	conn, err := s.rows.pool.Acquire(ctx)
	if err != nil {
		return store.Grant{}, judge("acquire", a.Election, err)
	}
	locked := false
	defer func() {
		if conn == nil {
			return // it is the session now
		}
		if locked {
			s.unlock(ctx, conn, a.Election)
		}
		conn.Release()
	}()
	if locked, err = s.lock(ctx, conn.Conn(), a, !look.refused()); err != nil {
		return store.Grant{}, judge("acquire", a.Election, err)
	}
	if !locked {
		return store.Grant{}, errLocked
	}
	session := sessionName(conn.Conn())
	r, err := s.rows.acquire(ctx, conn, a, terms{grant: true, session: &session, orphans: s.orphans})
	if err != nil {
		// Granted or not: without its session the row is worth nothing.
		drop(conn.Conn())
		locked = false
		return store.Grant{}, err
	}
	if r.granted == nil {
		return r.outcome()
	}
	h := &holding{
		of: attempt{a.Election, a.ID, a.Nonce}, name: session,
		conn: conn.Hijack(), busy: make(chan struct{}, 1),
	}
	h.token.Store(uint64(*r.granted))
	conn = nil
	if err := s.keep(h, a.TTL); err != nil {
		h.cut()
		return store.Grant{}, err
	}
	return r.outcome()
}

// lock takes the election's lock if it is free, or, if the row is free, soon
// will be.
func (s *SessionStore) lock(ctx context.Context, conn *pgx.Conn, a store.Attempt, wait bool) (bool, error) {
	for {
		var taken bool
		var process int64
		var settings string
		err := conn.QueryRow(ctx, s.rows.sql.lock, plain, a.Election, min(a.TTL.Milliseconds(), math.MaxInt32)).Scan(&taken, &process, &settings)
		if err != nil {
			return false, err
		}
		if process != int64(conn.PgConn().PID()) {
			drop(conn)
			return false, &store.FatalError{
				Err: fmt.Errorf("a pooler stands between us and the server: it promised process %d, and process %d answered. It would keep a dead holder's lock", conn.PgConn().PID(), process),
				Fix: "connect to the server itself, or use pgstore.New",
			}
		}
		if taken || !wait {
			return taken, nil
		}
		wait = false
		_, err = conn.Exec(ctx, s.rows.sql.wait, plain, a.Election, min(settle, a.TTL/10).Milliseconds()+1)
		if err != nil && codeOf(err) != "55P03" {
			return false, err
		}
	}
}

// unlock makes a connection fit for the pool again.
func (s *SessionStore) unlock(ctx context.Context, conn *pgxpool.Conn, election string) {
	if _, err := conn.Exec(ctx, s.rows.sql.unlock, plain, election); err != nil {
		drop(conn.Conn())
	}
}

// repeat is an attempt that was granted already, and whose session may live.
func (s *SessionStore) repeat(ctx context.Context, h *holding, a store.Attempt) (store.Grant, error) {
	var grant store.Grant
	err := h.do(ctx, a.TTL, func(ctx context.Context, conn *pgx.Conn) error {
		var holds bool
		if err := conn.QueryRow(ctx, s.rows.sql.prove, plain, a.Election).Scan(&holds); err != nil {
			return judge("acquire", a.Election, err)
		}
		if !holds {
			return errSessionOver
		}
		r, err := s.rows.acquire(ctx, conn, a, terms{grant: true, session: &h.name, orphans: s.orphans})
		if err != nil {
			return err
		}
		if r.granted != nil {
			h.token.Store(uint64(*r.granted))
			h.extend(a.TTL)
		}
		grant, err = r.outcome()
		return err
	})
	if err != nil {
		return store.Grant{}, err
	}
	return grant, nil
}

// Renew is [store.Store.Renew]. It is sent through the session that holds the
// lock, and the server looks whether it still does; if the session is over, the
// error is ErrNotHeld, though others may have to wait for the row.
func (s *SessionStore) Renew(ctx context.Context, l store.Lease) error {
	if err := checkLease(l); err != nil {
		return err
	}
	h := s.holding(attempt{l.Election, l.ID, l.Nonce})
	if h == nil {
		return store.ErrNotHeld
	}
	err := h.do(ctx, l.TTL, func(ctx context.Context, conn *pgx.Conn) error {
		err := s.rows.renew(ctx, conn, l, &h.name)
		if err == nil {
			h.extend(l.TTL)
		}
		return err
	})
	if errors.Is(err, errSessionOver) {
		s.end(h)
		return store.ErrNotHeld
	}
	if errors.Is(err, store.ErrNotHeld) && l.Token == h.token.Load() {
		s.end(h) // or its lock would keep others out of a lease that is over
	}
	return err
}

// Release is [store.Store.Release]. The row and the lock are given back in
// one statement. Where the session is over, the row still is given back.
func (s *SessionStore) Release(ctx context.Context, l store.Lease) error {
	if err := checkNames(l.Election, l.ID, l.Nonce); err != nil {
		return err
	}
	h := s.holding(attempt{l.Election, l.ID, l.Nonce})
	if h == nil || l.Token != h.token.Load() {
		return s.rows.Release(ctx, l)
	}
	err := h.do(ctx, patience, func(ctx context.Context, conn *pgx.Conn) error {
		return s.rows.release(ctx, conn, l, true)
	})
	s.end(h)
	if errors.Is(err, errSessionOver) {
		return s.rows.Release(ctx, l)
	}
	return err
}

// Watch is [store.Store.Watch], like Store's. With TakeOverDeadSessions it
// looks four times a second besides whether the holder's session is over.
func (s *SessionStore) Watch(ctx context.Context, election string, hint func(store.Hint), ended func(error)) {
	if !s.orphans {
		s.rows.Watch(ctx, election, hint, ended)
		return
	}
	look := func(ctx context.Context, conn *pgx.Conn) error {
		var token int64
		err := conn.QueryRow(ctx, s.rows.sql.orphan, plain, election).Scan(&token)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return nil
		case err == nil:
			hint(store.Hint{Kind: store.HintReleased, Token: uint64(token)})
		}
		return err
	}
	go func() { ended(s.rows.watch(ctx, election, orphanEvery, look, hint)) }()
}

// EndsWithSession reports whether a lease ends as soon as its session does, so that no
// time for which it was granted outlives the process.
func (s *SessionStore) EndsWithSession() bool { return s.orphans }

// Migrate is like Store.Migrate: the tables are the same.
func (s *SessionStore) Migrate(ctx context.Context) error { return s.rows.Migrate(ctx) }

// Leader is [store.Store.Leader]: what the row says.
func (s *SessionStore) Leader(ctx context.Context, election string) (store.Leader, error) {
	return s.rows.Leader(ctx, election)
}

// Candidates is [store.CandidateLister.Candidates].
func (s *SessionStore) Candidates(ctx context.Context, election string) ([]store.Candidate, error) {
	return s.rows.Candidates(ctx, election)
}

// History is [store.TermLister.History].
func (s *SessionStore) History(ctx context.Context, election string, n int) ([]store.PastTerm, error) {
	return s.rows.History(ctx, election, n)
}

// Retire is like Store.Retire.
func (s *SessionStore) Retire(ctx context.Context, election string) error {
	return s.rows.Retire(ctx, election)
}

func (s *SessionStore) holding(a attempt) *holding {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holdings[a]
}

// keep makes the session known. It ends by itself if it is not extended.
func (s *SessionStore) keep(h *holding, ttl time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("pgstore: acquire %q: the store was closed meanwhile", h.of.election)
	}
	h.timer = time.AfterFunc(ttl, func() { s.end(h) })
	s.holdings[h.of] = h
	return nil
}

// end ends the session and forgets it.
func (s *SessionStore) end(h *holding) {
	s.mu.Lock()
	if s.holdings[h.of] == h {
		delete(s.holdings, h.of)
	}
	s.mu.Unlock()
	h.cut()
}

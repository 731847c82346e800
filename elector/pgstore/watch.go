package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recount-io/recount/elector/store"
)

// patience is how long a watch waits for a server that should answer at once.
const patience = 10 * time.Second

// orphanEvery is how often a watch looks for leases that outlive their session.
// Nobody announces the end of a session, and a connection that waited for its
// lock would keep the server from cleaning up (VACUUM) for as long.
const orphanEvery = 250 * time.Millisecond

// Watch is [store.Store.Watch], by LISTEN on a connection of its own. One
// that is silent for ten seconds is asked for a sign of life, and given up if
// none comes within another ten.
func (s *Store) Watch(ctx context.Context, election string, hint func(store.Hint), ended func(error)) {
	go func() { ended(s.watch(ctx, election, s.pingEvery, ping, hint)) }()
}

// probe is what a watch does when nothing was announced for a while.
type probe func(ctx context.Context, conn *pgx.Conn) error

func ping(ctx context.Context, conn *pgx.Conn) error { return conn.Ping(ctx) }

func (s *Store) watch(ctx context.Context, election string, every time.Duration, probe probe, hint func(store.Hint)) error {
	err := s.listen(ctx, election, every, probe, hint)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return judge("watch", election, err)
}

func (s *Store) listen(ctx context.Context, election string, every time.Duration, probe probe, hint func(store.Hint)) error {
	if err := s.readySoon(ctx, election); err != nil {
		return err
	}
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer drop(conn)
	if err := s.subscribe(ctx, conn, election); err != nil {
		return err
	}
	hint(store.Hint{Kind: store.HintListening})
	for ctx.Err() == nil {
		// A deadline that passes while nothing comes leaves the connection whole.
		silence, cancel := context.WithTimeout(ctx, every)
		n, err := conn.WaitForNotification(silence)
		cancel()
		switch {
		case err == nil:
			if h, ok := parseHint(n.Payload, election); ok {
				hint(h)
			}
		case ctx.Err() != nil || conn.IsClosed():
			return err
		case silence.Err() == nil:
			return err
		default:
			limit, cancel := context.WithTimeout(ctx, s.patience)
			err := probe(limit, conn)
			cancel()
			if err != nil {
				return fmt.Errorf("the connection is silent, and the server does not answer: %w", err)
			}
		}
	}
	return ctx.Err()
}

// readySoon is ready for a caller who sets no deadline.
func (s *Store) readySoon(ctx context.Context, election string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return s.ready(ctx, "watch", election)
}

// connect opens a connection as the pool would, but not one of the pool's: a
// watch holds it for long, and would leave a small pool without any.
func (s *Store) connect(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cfg := s.pool.Config()
	to := cfg.ConnConfig.Copy()
	to.OnNotification = nil // somebody else's would take ours away
	if cfg.BeforeConnect != nil {
		if err := cfg.BeforeConnect(ctx, to); err != nil {
			return nil, err
		}
	}
	conn, err := pgx.ConnectConfig(ctx, to)
	if err != nil {
		return nil, err
	}
	if cfg.AfterConnect != nil {
		if err := cfg.AfterConnect(ctx, conn); err != nil {
			drop(conn)
			return nil, err
		}
	}
	return conn, nil
}

// drop closes a connection without waiting for a server that may be gone.
func drop(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_ = conn.Close(ctx) // it is not used any more, whatever became of it
}

func (s *Store) subscribe(ctx context.Context, conn *pgx.Conn, election string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var channel string
	if err := conn.QueryRow(ctx, s.sql.channel, plain, channelOf(election)).Scan(&channel); err != nil {
		return err
	}
	_, err := conn.Exec(ctx, "listen "+pgx.Identifier{channel}.Sanitize(), plain)
	return err
}

// parseHint reads what the statements announce: "granted TOKEN MILLISECONDS
// WAITERS ELECTION", "released TOKEN MILLISECONDS WAITERS ELECTION SUCCESSOR" or "published
// TOKEN 0 0 ELECTION". Anything else is somebody else's, or of an election with the same hash.
func parseHint(text, election string) (store.Hint, bool) {
	fields := strings.SplitN(text, " ", 5)
	if len(fields) != 5 {
		return store.Hint{}, false
	}
	token, err := strconv.ParseUint(fields[1], 10, 64)
	millis, err2 := strconv.ParseInt(fields[2], 10, 64)
	waiters, err3 := strconv.Atoi(fields[3])
	if errors.Join(err, err2, err3) != nil {
		return store.Hint{}, false
	}
	h := store.Hint{Token: token, Remaining: time.Duration(millis) * time.Millisecond, Waiters: waiters}
	switch {
	case fields[0] == "granted" && fields[4] == election:
		h.Kind = store.HintGranted
		return h, true
	case fields[0] == "published" && fields[4] == election:
		h.Kind = store.HintPublished
		return h, true
	case fields[0] == "released" && strings.HasPrefix(fields[4], election+" "):
		h.Kind, h.To = store.HintReleased, strings.TrimPrefix(fields[4], election+" ")
		return h, true
	default:
		return store.Hint{}, false
	}
}

package pgstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// errSessionOver says that a session has ended: what was asked through it had
// certainly no effect.
var errSessionOver = errors.New("pgstore: the session that the lease was tied to is over")

// holding is the session of one lease that is held.
type holding struct {
	of    attempt
	name  string // of the session, as the row has it
	token atomic.Uint64
	conn  *pgx.Conn
	busy  chan struct{} // holds one element while the connection is used
	timer *time.Timer
}

// sessionName tells sessions apart, and which of the server's processes it is.
func sessionName(conn *pgx.Conn) string {
	return fmt.Sprintf("%d-%s", conn.PgConn().PID(), rand.Text())
}

// do uses the connection for at most limit. A caller whose context is done
// leaves, but the question stays: pgx closes a connection on which a question
// is given up, and that would end the term because of one slow answer.
func (h *holding) do(ctx context.Context, limit time.Duration, f func(context.Context, *pgx.Conn) error) error {
	select {
	case h.busy <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	done := make(chan error, 1)
	go func() {
		defer func() { <-h.busy }()
		if h.conn.IsClosed() {
			done <- errSessionOver
			return
		}
		stay, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		defer cancel()
		err := f(stay, h.conn)
		if h.ended(err) {
			err = errSessionOver
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ended reports whether the session has ended before the server did what it was
// asked for: the server said so, or the question was never sent.
func (h *holding) ended(err error) bool {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return answer.SeverityUnlocalized == "FATAL" || answer.Severity == "FATAL"
	}
	return err != nil && h.conn.IsClosed() && pgconn.SafeToRetry(err)
}

// extend puts the session's end off.
func (h *holding) extend(ttl time.Duration) { h.timer.Reset(ttl) }

// cut ends the session at once, even under a question that is being asked: the
// server sees the end of the connection, and gives the lock back.
func (h *holding) cut() {
	if h.timer != nil {
		h.timer.Stop()
	}
	_ = h.conn.PgConn().Conn().Close() // it may be closed already
}

package pgstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recount-io/recount/elector/store"
)

// Preflight is [store.Preflighter.Preflight]: the settings of the server, the
// tables, and what stands between us and them.
func (s *Store) Preflight(ctx context.Context) (store.Preflight, error) {
	return s.preflight(ctx, false, false)
}

// Preflight is [store.Preflighter.Preflight], like Store's. Poolers are an
// error here.
func (s *SessionStore) Preflight(ctx context.Context) (store.Preflight, error) {
	return s.rows.preflight(ctx, true, s.orphans)
}

// settings are what the guarantee hangs on.
var settings = []string{
	"fsync", "full_page_writes", "synchronous_commit", "synchronous_standby_names", "default_transaction_read_only",
	"default_transaction_isolation", "statement_timeout", "idle_in_transaction_session_timeout", "idle_session_timeout",
	"lock_timeout", "max_connections",
}

// state is what the server says of itself.
type state struct {
	standby bool
	version string
	number  int64
	process int64 // that answered
	pid     int64 // that was promised when the connection was opened
	queue   float64
	clock   time.Time
	ahead   time.Duration // of our wall clock
	unnamed bool          // the role may not ask what names the server
	values  map[string]string
}

func (s *Store) preflight(ctx context.Context, session, orphans bool) (store.Preflight, error) {
	st, err := s.state(ctx)
	if err != nil {
		return store.Preflight{}, judge("preflight", s.sql.names[0], err)
	}
	complaints, err := s.complaints(ctx)
	if err != nil {
		return store.Preflight{}, judge("preflight", s.sql.names[0], err)
	}
	if len(complaints) == 0 {
		if _, err := s.place(ctx); err != nil {
			return store.Preflight{}, judge("preflight", s.sql.names[0], err)
		}
		st.unnamed = s.nameless.Load()
	}
	var list []store.Finding
	for _, c := range complaints {
		list = append(list, store.Finding{Severity: store.SeverityError, Subject: c.subject, Text: c.err.Error(), Fix: c.fix})
	}
	list = append(list, st.durability()...)
	list = append(list, st.failover()...)
	list = append(list, st.access(session)...)
	list = append(list, st.limits(session)...)
	if most := s.pool.Config().MaxConns; !session && most < 2 {
		list = append(list, store.Finding{
			Severity: store.SeverityWarning, Subject: "pool_max_conns",
			Text: fmt.Sprintf("the pool has %d connection: a renewal waits while anything else uses it", most), Fix: "let the pool have two or more",
		})
	}
	return store.Preflight{Guarantee: guarantee(st, list, session, orphans), Findings: list}, nil
}

func (s *Store) state(ctx context.Context) (*state, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	st := &state{pid: int64(conn.Conn().PgConn().PID()), values: make(map[string]string)}
	var names, values []string
	began := time.Now()
	err = conn.QueryRow(ctx, s.sql.preflight, plain, settings).Scan(
		&st.standby, &st.version, &st.number, &st.process, &st.queue, &st.clock, &names, &values)
	if err != nil {
		return nil, err
	}
	middle := began.Add(time.Since(began) / 2)
	st.ahead = st.clock.Sub(middle)
	for i, name := range names {
		st.values[name] = values[i]
	}
	return st, nil
}

// durability is what a crash of the server can cost.
func (st *state) durability() []store.Finding {
	var list []store.Finding
	for _, name := range []string{"fsync", "full_page_writes"} {
		if st.values[name] == "off" {
			list = append(list, store.Finding{
				Severity: store.SeverityError, Subject: name,
				Text: "is off: a crash of the server's machine can lose or ruin any row, so two candidates may hold a lease afterwards",
				Fix:  "set " + name + " = on",
			})
		}
	}
	switch value := st.values["synchronous_commit"]; value {
	case "off":
		list = append(list, store.Finding{
			Severity: store.SeverityError, Subject: "synchronous_commit",
			Text: "is off: a crash of the server forgets the last leases, although they were confirmed, and nothing shows that it did: it begins no new timeline. Two candidates may hold a lease afterwards",
			Fix:  "set synchronous_commit = on, for this role at least",
		})
	case "local":
		if st.values["synchronous_standby_names"] != "" {
			list = append(list, store.Finding{
				Severity: store.SeverityNote, Subject: "synchronous_commit",
				Text: "is local: the synchronous standby is not waited for, and a failover may forget the last leases. " + st.forgotten(),
				Fix:  "set synchronous_commit = on, for this role at least",
			})
		}
	case "remote_write":
		list = append(list, store.Finding{
			Severity: store.SeverityNote, Subject: "synchronous_commit",
			Text: "is remote_write: a standby whose machine crashes together with the server may forget the last leases. " + st.forgotten(),
			Fix:  "set synchronous_commit = on",
		})
	}
	return list
}

// failover is what a change of the server can cost.
func (st *state) failover() []store.Finding {
	var list []store.Finding
	if st.standby {
		list = append(list, store.Finding{
			Severity: store.SeverityError, Subject: "pg_is_in_recovery",
			Text: "this server is a standby and takes no writes: elections fail",
			Fix:  "connect to the primary: target_session_attrs=read-write and all hosts in the connection string",
		})
	}
	if st.unnamed {
		list = append(list, store.Finding{
			Severity: store.SeverityWarning, Subject: "timeline",
			Text: "this role may not ask for it, or the server does not tell: nobody notices when a standby takes over that does not know the last leases, or when the tables are emptied or restored. Two candidates may lead then, for up to one lease",
			Fix:  "GRANT EXECUTE ON FUNCTION pg_control_system(), pg_current_wal_lsn(), pg_walfile_name(pg_lsn) TO the role",
		})
	}
	if st.values["synchronous_standby_names"] == "" {
		f := store.Finding{
			Severity: store.SeverityNote, Subject: "synchronous_standby_names",
			Text: "is empty: if a standby takes over, it may not know the last leases. " + st.forgotten() + ". Without standbys this does not matter",
			Fix:  "name a synchronous standby, and let only that one take over",
		}
		if st.unnamed {
			f.Severity = store.SeverityWarning
		}
		list = append(list, f)
	}
	return list
}

// forgotten is what it costs when a standby that takes over does not know the last
// leases.
func (st *state) forgotten() string {
	if st.unnamed {
		return "Nobody notices, and two candidates may lead for up to one lease"
	}
	return "It grants nothing for one lease then, so nobody leads for up to that much longer"
}

// synchronous reports whether a confirmed lease is on the disk of a standby.
func (st *state) synchronous() bool {
	commit := st.values["synchronous_commit"]
	return st.values["synchronous_standby_names"] != "" && commit != "local" && commit != "remote_write"
}

// access is what stands between us and the server.
func (st *state) access(session bool) []store.Finding {
	var list []store.Finding
	if st.process != st.pid {
		f := store.Finding{
			Severity: store.SeverityWarning, Subject: "pooler",
			Text: "a pooler stands between us and the server. If it shares connections between transactions, LISTEN does not work, and nobody is woken by a release: failovers take as long as after a crash",
			Fix:  "connect to the server itself, or let the pooler keep sessions",
		}
		if session {
			f.Severity = store.SeverityError
			f.Text = "a pooler stands between us and the server. It keeps the session of a dead holder, or shares it with others, so advisory locks mean nothing: elections fail"
			f.Fix = "connect to the server itself, or use pgstore.New"
		}
		list = append(list, f)
	}
	if st.values["default_transaction_read_only"] == "on" {
		list = append(list, store.Finding{
			Severity: store.SeverityError, Subject: "default_transaction_read_only",
			Text: "is on: every write is refused, and elections fail", Fix: "ALTER ROLE … SET default_transaction_read_only = off",
		})
	}
	if value := st.values["default_transaction_isolation"]; value != "read committed" {
		list = append(list, store.Finding{
			Severity: store.SeverityNote, Subject: "default_transaction_isolation",
			Text: "is " + value + ": attempts that meet fail and are repeated, instead of waiting for each other",
			Fix:  "ALTER ROLE … SET default_transaction_isolation = 'read committed'",
		})
	}
	if off := st.ahead.Abs(); off > time.Second {
		list = append(list, store.Finding{
			Severity: store.SeverityNote, Subject: "clock",
			Text: fmt.Sprintf("the server's clock and ours differ by %v. Leases live by the server's alone, so this does no harm; but one of them is not kept right, and a server's clock that is set ahead ends leases early", off.Round(time.Millisecond)),
			Fix:  "let both machines keep time by NTP or PTP, slewing and not stepping",
		})
	}
	return list
}

// limits are what can end a statement, a session or a notification.
func (st *state) limits(session bool) []store.Finding {
	var list []store.Finding
	// 0 is none. A statement of ours that waits for a row's lock is given up
	// by the elector in any case.
	for _, name := range []string{"statement_timeout", "lock_timeout"} {
		if d := st.duration(name); d > 0 && d < time.Second {
			list = append(list, store.Finding{
				Severity: store.SeverityWarning, Subject: name,
				Text: fmt.Sprintf("is %v: a renewal on a busy server is cut off, and a term with it", d), Fix: "ALTER ROLE … SET " + name + " = '5s'",
			})
		}
	}
	if d := st.duration("idle_session_timeout"); d > 0 && d <= 2*patience {
		list = append(list, store.Finding{
			Severity: store.SeverityWarning, Subject: "idle_session_timeout",
			Text: fmt.Sprintf("is %v: the connections of watches, and of the pool, are ended while nothing happens", d), Fix: "ALTER ROLE … SET idle_session_timeout = 0",
		})
	}
	if d := st.duration("idle_in_transaction_session_timeout"); d > 0 {
		list = append(list, store.Finding{
			Severity: store.SeverityNote, Subject: "idle_in_transaction_session_timeout",
			Text: fmt.Sprintf("is %v. It does not concern us: we hold no transaction open, and nobody else's can block our rows for longer", d),
		})
	}
	if st.queue > 0.5 {
		list = append(list, store.Finding{
			Severity: store.SeverityWarning, Subject: "pg_notification_queue_usage",
			Text: fmt.Sprintf("is %.0f %%: somebody listens inside a transaction that does not end. When the queue is full, grants and releases fail", 100*st.queue),
			Fix:  "end that session: the server's log names it",
		})
	}
	if most, err := strconv.Atoi(st.values["max_connections"]); err == nil && session && most < 50 {
		list = append(list, store.Finding{
			Severity: store.SeverityNote, Subject: "max_connections",
			Text: fmt.Sprintf("is %d, and each elector needs up to three connections", most),
		})
	}
	return list
}

// duration is a setting of time, as the server shows it: "0", "500ms", "5s",
// "2min", "1h", "1d".
func (st *state) duration(name string) time.Duration {
	text := strings.NewReplacer("min", "m", "d", "*").Replace(st.values[name])
	if days, ok := strings.CutSuffix(text, "*"); ok {
		n, err := strconv.Atoi(days)
		if err != nil {
			return 0
		}
		return time.Duration(n) * 24 * time.Hour
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return d
}

// guarantee puts into words what all of that is worth.
func guarantee(st *state, list []store.Finding, session, orphans bool) string {
	var b strings.Builder
	bad := slices.ContainsFunc(list, func(f store.Finding) bool { return f.Severity == store.SeverityError })
	switch {
	case bad:
		b.WriteString("Nothing, until the errors below are corrected")
	case orphans:
		b.WriteString("Tokens grow, and a resource that compares them is written to by one leader at a time. Two candidates may lead at one time, for up to one lease, whenever the session of a leader breaks")
	case session:
		b.WriteString("At most one candidate is in a term at any time, even if the server's clock jumps ahead: a lease is given to another when its time and its session are both over")
	default:
		b.WriteString("At most one candidate is in a term at any time, as long as the server's clock does not jump ahead")
	}
	fmt.Fprintf(&b, " (PostgreSQL %s).", st.version)
	if bad {
		return b.String()
	}
	switch {
	case st.synchronous():
		fmt.Fprintf(&b, " This outlives a crash of the server, and a failover to a synchronous standby (%s), with the leases that were confirmed.", st.values["synchronous_standby_names"])
	case st.unnamed:
		b.WriteString(" This outlives a crash of the server, but not a failover to a standby, which may not have seen the last leases.")
	default:
		b.WriteString(" This outlives a crash of the server, and a failover to any standby, which grants nothing for one lease, as long as the old primary takes no more writes.")
	}
	return b.String()
}

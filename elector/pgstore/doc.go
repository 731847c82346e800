// Package pgstore keeps the leases of elections in PostgreSQL (12 or newer; 14
// or newer for leases that are tied to a session).
//
// # What it guarantees
//
// While the database keeps what it has committed, at most one candidate holds
// the lease of an election, and every grant has a larger token than all grants
// before it. Every operation is one statement that decides on a locked row, by
// the server's clock at that moment and never by a client's. Acquiring is
// idempotent by nonce; a renewal never creates or revives a lease; a late
// renewal or release of an earlier term does nothing.
//
// There are two stores on the same tables. With [New] a lease is a row that
// ends at a time. With [NewSession] its holder must, besides, have the
// election's advisory lock, so a lease is given to another only if the row says
// that it is over and the holder's session has ended: a server's clock that
// jumps ahead can deceive the first of these two witnesses only. Both share
// tokens, and both say who leads.
//
// A standby that was promoted without the last commits, a backup that was restored
// as another server, and tables that were emptied or made again do not know the last
// leases. The tables name the server that granted last, and its timeline: on another
// one nobody is granted a lease for as long as one lasts, and tokens go on from the
// server's time in microseconds. A leader whose row is there goes on.
//
// # What it does not guarantee
//
// A server with fsync or synchronous_commit off that crashes, and a backup of rows
// alone that is loaded into the tables as they are, lose the last leases and counts,
// and nothing shows it: two candidates may then hold a lease at one time. So they may
// while an old primary goes on taking writes beside a promoted standby, and where the
// role may not ask which server it is on. Store.Preflight says in words what the
// server's settings are worth. With New, a server's clock that jumps ahead ends leases
// early. With [Options].TakeOverDeadSessions two candidates may lead at one time
// whenever a session breaks; only the protected resource, which refuses tokens smaller
// than one it has seen, keeps the old one out then.
//
// # The caller's duty
//
// Create the tables with Store.Migrate before the first use. Give the store a
// pool of its own, or one in which a connection is always free: a renewal that
// waits for a connection is a renewal that comes too late. Give the context of
// every call a deadline, and do not repeat a call whose outcome is unknown,
// except an Acquire with the same nonce. Through a pooler that shares
// connections between transactions (PgBouncer in its transaction mode) LISTEN
// and advisory locks do not work: New then elects, but nobody is woken by a
// release, and NewSession refuses to.
//
// The role needs SELECT, INSERT, UPDATE and DELETE on the three tables, and
// USAGE on their schema; docs/stores.md has the statements.
package pgstore

package pgstore

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/elector/store"
)

// withheld demands that nobody is granted the lease because the server is not
// known to be the one that granted last.
func (d *database) withheld(t *testing.T, s store.Store, a store.Attempt) {
	t.Helper()
	held := d.refused(t, s, a)
	if held.Holder != "" || held.Token != 0 || !strings.Contains(held.Withheld, "does not remember") || held.Remaining <= 0 || held.Remaining > a.TTL {
		t.Fatalf("%s in %s is refused with %+v, want a lease withheld for up to %v", a.ID, a.Election, held, a.TTL)
	}
}

// in is the attempt in another election.
func in(election string, a store.Attempt) store.Attempt {
	a.Election = election
	return a
}

// promoted is the database on a standby that took over without anything that was
// done on the primary in lost.
func promoted(t *testing.T, d *database, primary *server, lost func()) *database {
	t.Helper()
	standby, err := primary.newStandby()
	need(t, err)
	t.Cleanup(func() {
		standby.stop()
		_ = os.RemoveAll(standby.folder)
	})
	standby.stop()
	lost()
	primary.crash()
	need(t, standby.start())
	there := &database{server: standby, name: d.name, url: standby.url("postgres", d.name), ctx: d.ctx}
	there.admin = there.pool(t, "postgres")
	there.do(t, "select pg_promote()")
	return there
}

// A standby that is promoted without the last grants, releases and renewals
// grants nothing for a lease, whatever its rows and its clock say; and tokens go
// on above those that it never heard of, for candidates that know of none.
func TestFailoverToAsynchronousStandby(t *testing.T) {
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			primary := startOwn(t)
			d := primary.database(t)
			s := v.open(t, d)
			one, two := attemptOf("n1", "1"), attemptOf("n2", "2")
			d.acquire(t, s, in("held", one))
			d.acquire(t, s, in("over", one))
			free := d.acquire(t, s, in("free", one))
			need(t, s.Release(d.ctx, free))
			lost := map[string]store.Lease{}
			there := promoted(t, d, primary, func() {
				for _, election := range []string{"free", "new"} {
					lost[election] = d.acquire(t, s, in(election, attemptOf("n3", "3")))
				}
			})
			s = v.open(t, there)
			there.do(t, "update recount_lease set until = clock_timestamp() where election = 'over'") // a clock that is ahead
			for _, election := range []string{"free", "over", "new"} {
				there.withheld(t, s, in(election, two))
			}
			// Without its session a lease that must have one waits as well.
			if held := there.refused(t, s, in("held", two)); held.Holder != "n1" && held.Withheld == "" {
				t.Errorf("refused with %+v, want held by n1, or withheld", held)
			}
			// The attempt may be one that was answered "held" since.
			there.withheld(t, s, in("held", one))
			const margin = 30 * time.Second // a busy machine may take some for the above
			there.advance(t, time.Minute-margin)
			there.withheld(t, s, in("free", two))
			there.advance(t, margin)
			for election, l := range lost {
				if got := there.acquire(t, s, in(election, two)); got.Token <= l.Token {
					t.Errorf("%s: token %d after %d", election, got.Token, l.Token)
				}
			}
			there.acquire(t, s, in("later", two)) // the server is known by now
		})
	}
}

// A renewal goes on where a standby was promoted. It may be a late one, of a
// lease that another candidate was granted after: so its release makes nobody
// else the leader before time does.
func TestRenewalOnPromotedStandbyClearsNothing(t *testing.T) {
	primary := startOwn(t)
	d := primary.database(t)
	s := d.store(t, Options{})
	l := d.acquire(t, s, attemptOf("n1", "1"))
	there := promoted(t, d, primary, func() {
		need(t, s.Release(d.ctx, l))
		d.acquire(t, s, attemptOf("n2", "2"))
	})
	s = there.store(t, Options{})
	need(t, s.Renew(there.ctx, l))
	need(t, s.Release(there.ctx, l))
	there.withheld(t, s, attemptOf("n3", "3"))
	there.advance(t, time.Minute)
	there.acquire(t, s, attemptOf("n3", "3"))
}

// A table that was emptied, replaced, or made elsewhere is one that does not
// remember; one that a server had before it crashed is not.
func TestTableThatWasReplaced(t *testing.T) {
	for name, replace := range map[string]string{
		"emptied": "delete from recount_lease; delete from recount_lease_term", "truncated": "truncate recount_lease, recount_lease_term",
		"restored":               "create table old as table recount_lease; truncate recount_lease; insert into recount_lease select * from old",
		"elsewhere":              "update recount_lease set id = regexp_replace(id, '^[0-9]+', '1') where election = ''",
		"a clock that went back": "update recount_lease set renewed = clock_timestamp() + interval '1 hour' where election = ''",
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			s := d.store(t, Options{})
			l := d.acquire(t, s, attemptOf("n1", "1"))
			need(t, s.Release(d.ctx, l))
			for _, statement := range strings.Split(replace, ";") {
				d.do(t, statement)
			}
			d.withheld(t, s, attemptOf("n2", "2"))
			d.advance(t, time.Minute)
			if got := d.acquire(t, s, attemptOf("n2", "2")); got.Token <= l.Token {
				t.Errorf("token %d after %d", got.Token, l.Token)
			}
		})
	}
	own := startOwn(t)
	d := own.database(t)
	s := d.store(t, Options{})
	l := d.acquire(t, s, attemptOf("n1", "1"))
	own.crash()
	need(t, own.start())
	s.pool.Reset()
	d.admin.Reset()
	need(t, s.Release(d.ctx, l))
	if got := d.acquire(t, s, attemptOf("n2", "2")); got.Token != l.Token+1 {
		t.Errorf("token %d after %d", got.Token, l.Token)
	}
}

// Tables of the version before are taken over as they are: their leases and
// counts go on, and the first grant waits for a lease.
func TestTablesOfTheVersionBefore(t *testing.T) {
	d := open(t)
	s := d.store(t, Options{})
	l := d.acquire(t, s, attemptOf("n1", "1"))
	d.do(t, "delete from recount_lease where election = ''")
	need(t, s.Migrate(d.ctx))
	need(t, s.Renew(d.ctx, l))
	if held := d.refused(t, s, attemptOf("n2", "2")); held.Holder != "n1" {
		t.Errorf("refused with %+v, want held by n1", held)
	}
	need(t, s.Release(d.ctx, l))
	d.withheld(t, s, attemptOf("n2", "2"))
	d.advance(t, time.Minute)
	d.acquire(t, s, attemptOf("n2", "2"))
}

// Where the role may not ask which server it is on, elections go on as if it
// never changed, and a preflight says so. Who may ask is not misled by those.
func TestServerThatMayNotBeNamed(t *testing.T) {
	own := startOwn(t)
	d := own.database(t)
	s := d.store(t, Options{})
	d.do(t, "revoke execute on function pg_walfile_name(pg_lsn) from public")
	d.do(t, "create role worker login")
	d.do(t, "grant select, insert, update, delete on recount_lease, recount_lease_candidate, recount_lease_term to worker")
	blind, err := New(d.pool(t, "worker"), Options{})
	need(t, err)
	l := d.acquire(t, s, attemptOf("n1", "1"))
	need(t, s.Release(d.ctx, l))
	l = d.acquire(t, blind, attemptOf("n2", "2"))
	need(t, blind.Release(d.ctx, l))
	d.acquire(t, s, attemptOf("n1", "3"))
	if f := found(d.preflight(t, blind), "timeline"); f.Severity != store.SeverityWarning || !strings.Contains(f.Fix, "GRANT EXECUTE") {
		t.Errorf("%+v", f)
	}
	if f := found(d.preflight(t, s), "timeline"); f.Subject != "" {
		t.Errorf("%+v", f)
	}
	var held *store.HeldError
	if _, err := blind.Acquire(d.ctx, attemptOf("n2", "4")); !errors.As(err, &held) || held.Holder != "n1" {
		t.Errorf("%v, want held by n1", err)
	}
}

// Who has a short lease waits out the longest one that any candidate may have been
// granted, as it counts on: the standby may not know of that lease.
func TestFailoverWithLeasesOfTwoLengths(t *testing.T) {
	primary := startOwn(t)
	d := primary.database(t)
	s := variants[0].open(t, d)
	short := attemptOf("n1", "1")
	long := attemptOf("n2", "2")
	long.TTL = 4 * short.TTL
	short.Longest, long.Longest = long.TTL, long.TTL
	d.acquire(t, s, in("other", short))
	there := promoted(t, d, primary, func() { d.acquire(t, s, long) })
	s = variants[0].open(t, there)
	held := there.refused(t, s, short)
	if held.Withheld == "" || held.Remaining <= long.TTL-short.TTL {
		t.Errorf("who has a lease of %v beside leases of %v is refused for %v only: %+v", short.TTL, long.TTL, held.Remaining, held)
	}
}

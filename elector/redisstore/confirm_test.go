package redisstore

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/elector/storetest"
	"github.com/recount-io/recount/internal/topology"
)

// newerVariable names the folder that ".ci/install newer-redis" prints.
const newerVariable = "RECOUNT_REDIS_NEWER"

// bothKinds are the newer servers.
var bothKinds = []string{"redis", "valkey"}

// onNewer runs the test with each of these newer servers in place of the one on
// PATH.
func onNewer(t *testing.T, kinds []string, test func(t *testing.T)) {
	t.Helper()
	folder := os.Getenv(newerVariable)
	if folder == "" {
		t.Skipf("%s is not set to the folder that \".ci/install newer-redis\" prints: newer servers are not tested here", newerVariable)
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Setenv("PATH", filepath.Join(folder, kind)+string(os.PathListSeparator)+os.Getenv("PATH"))
			test(t)
		})
	}
}

// The store keeps the contract of every store on newer servers, also where
// every grant has to be on disk, and what a preflight finds there is the same.
func TestNewerServers(t *testing.T) {
	onNewer(t, bothKinds, func(t *testing.T) {
		r := startOwn(t, &redis.Options{}, durable...)
		for name, o := range map[string]Options{
			"protected": {}, "unprotected": {Audit: true, Unprotected: true}, "fsynced": {Fsynced: true, Confirm: 5 * time.Second},
		} {
			for _, c := range storetest.Cases() {
				t.Run(name+"/"+c.Name, func(t *testing.T) {
					r.do(t, "FLUSHALL")
					c.Run(t, r.open(t, o), func(d time.Duration) { r.advance(t, d) })
				})
			}
		}
		t.Run("settings", TestPreflightOfSettings)
		t.Run("memory", TestPreflightOfScarceMemory)
		t.Run("replicas", TestPreflightOfReplicas)
		t.Run("rights", TestPreflightOfRights)
		t.Run("documented rights", TestPreflightOfTheDocumentedRights)
		t.Run("cluster", TestPreflightOfACluster)
	})
}

// patient is for confirmations that will come; hasty for those that will not.
const patient, hasty = 10 * time.Second, 50 * time.Millisecond

// unconfirmed wants that nobody may lead by what was renewed.
func unconfirmed(t *testing.T, err error, text string) {
	t.Helper()
	var fatal *store.FatalError
	if !errors.Is(err, ErrUnconfirmed) || errors.As(err, &fatal) || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, want ErrUnconfirmed with %q", err, text)
	}
}

// With Fsynced a grant or renewal counts once the server has it on disk. Where
// that is not known in time it is unconfirmed, until it is known again.
func TestFsynced(t *testing.T) {
	onNewer(t, bothKinds, func(t *testing.T) {
		r := startOwn(t, &redis.Options{}, durable...)
		s, quick := r.open(t, Options{Fsynced: true, Confirm: patient}), r.open(t, Options{Fsynced: true, Confirm: hasty})
		a, b := attempt("n1", "a"), attempt("n2", "b")
		l := lease(a, mustAcquire(t, r, s, a).Token)
		renew := func(s *Store) error { return s.Renew(r.ctx, l) }
		if err := renew(s); err != nil {
			t.Fatal(err)
		}
		_ = mustRefuse(t, r, s, b)

		r.do(t, "CONFIG", "SET", "appendfsync", "no")
		unconfirmed(t, renew(quick), "0 of 1 disk of the server's own within 50ms")
		if err := renew(r.open(t, Options{})); err != nil {
			t.Errorf("without Fsynced: %v", err)
		}
		r.do(t, "CONFIG", "SET", "appendfsync", "always")
		if err := renew(s); err != nil {
			t.Errorf("on disk again: %v", err)
		}

		mustRelease(t, r, s, l)
		r.do(t, "CONFIG", "SET", "appendfsync", "no")
		_, err := quick.Acquire(r.ctx, b)
		unconfirmed(t, err, "0 of 1 disk")

		r.do(t, "CONFIG", "SET", "appendonly", "no")
		var fatal *store.FatalError
		if _, err := quick.Acquire(r.ctx, b); err == nil || errors.As(err, &fatal) || !strings.Contains(err.Error(), "appendonly is disabled") {
			t.Errorf("without a file: %v, want an error that passes and says it", err)
		}
	})
}

// With FsyncedReplicas a replica counts that has the lease on disk. One that has
// it in memory only is enough for Replicas, and not for this.
func TestFsyncedReplica(t *testing.T) {
	onNewer(t, bothKinds[:1], func(t *testing.T) {
		ctx, l := topology.For(t, topology.ServerProgram)
		servers := topology.Must[*topology.Replicated](t)(l.Replicated(ctx, 1, topology.Config{Settings: durable}))
		r := newServer(t, "redis-server", &redis.Options{Addr: servers.Primary.Addr})
		open := func(o Options) *Store {
			return openAt(t, &redis.UniversalOptions{Addrs: []string{r.addr}, ReadTimeout: 2 * patient}, o)
		}
		all := Options{Fsynced: true, FsyncedReplicas: 1}
		quick := open(all) // so quick as it may be
		all.Confirm = patient
		s := open(all)
		if err := s.Vouch(r.ctx, "billing"); err != nil {
			t.Fatal(err)
		}
		a := attempt("n1", "a")
		held := lease(a, mustAcquire(t, r, s, a).Token) // the replica has to write its file first
		if err := s.Renew(r.ctx, held); err != nil {
			t.Fatal(err)
		}
		p := inspect(t, r.ctx, s)
		if refuse(t, p, "fsync", "rights", "appendfsync", "persistence"); !strings.Contains(p.Guarantee, "on the server's disk and on a replica's disk") {
			t.Errorf("the guarantee is %s", p.Guarantee)
		}

		if err := servers.Replicas[0].Client().ConfigSet(ctx, "appendonly", "no").Err(); err != nil {
			t.Fatal(err)
		}
		all.Replicas, all.FsyncedReplicas = 1, 0
		if err := open(all).Renew(r.ctx, held); err != nil {
			t.Errorf("the replica has it in memory: %v", err)
		}
		unconfirmed(t, quick.Renew(r.ctx, held), "0 of 1 disk of replicas within 2s")
		finding{store.SeverityError, "fsync", "0 of 1 disk of replicas within 2s", "replicas too"}.demand(t, inspect(t, r.ctx, quick))

		if err := servers.Replicas[0].Pause(ctx); err != nil {
			t.Fatal(err)
		}
		all.Confirm = hasty
		unconfirmed(t, open(all).Renew(r.ctx, held), "0 of 1 replica, 1 of 1 disk of the server's own within 50ms")
	})
}

// Confirmations that can never come in time are refused by New.
func TestConfirmOptions(t *testing.T) {
	for _, c := range []struct {
		o      Options
		within time.Duration // 0: refused
	}{
		{Options{}, 100 * time.Millisecond},
		{Options{Replicas: 2, Fsynced: true, Confirm: time.Second}, time.Second},
		{Options{FsyncedReplicas: 1}, 2 * time.Second},
		{Options{FsyncedReplicas: 1, Confirm: 1999 * time.Millisecond}, 0},
		{Options{Replicas: -1}, 0},
		{Options{FsyncedReplicas: -1}, 0},
		{Options{Confirm: -time.Second}, 0},
		{Options{Confirm: time.Microsecond}, 0},
	} {
		s, err := New(&redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}}, c.o)
		switch {
		case c.within == 0 && (err == nil || !strings.Contains(err.Error(), "Confirm is ")):
			t.Errorf("%+v: %v", c.o, err)
		case c.within > 0 && (err != nil || s.confirm.within != c.within):
			t.Errorf("%+v: %v", c.o, err)
		}
		if s != nil {
			_ = s.Close() // nothing was connected
		}
	}
}

// A leader whose renewals do not get to the disk any more is no leader any more.
func TestFsyncedLeaderSteps(t *testing.T) {
	onNewer(t, bothKinds, func(t *testing.T) {
		r := startOwn(t, &redis.Options{}, durable...)
		events := make(chan elector.Event, 1000)
		e, err := elector.New(r.open(t, Options{Fsynced: true}), elector.Config{
			Election: "billing", ID: "n1", Lease: time.Second,
			Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), OnEvent: func(ev elector.Event) { events <- ev },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(r.ctx)
		done := make(chan error, 1)
		go func() { done <- e.Run(ctx) }()
		defer func() {
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}()
		await := func(kind event.Kind) {
			t.Helper()
			for {
				select {
				case ev := <-events:
					if ev.Kind == kind {
						return
					}
				case <-r.ctx.Done():
					t.Fatalf("%s did not come", kind)
				}
			}
		}
		await(event.Elected)
		await(event.Extended)
		r.do(t, "CONFIG", "SET", "appendfsync", "no")
		await(event.Deposed)
		r.do(t, "CONFIG", "SET", "appendfsync", "always")
		await(event.Elected)
	})
}

// What keeps leases off the disk, or from being known to be there, is found.
func TestPreflightOfFsynced(t *testing.T) {
	onNewer(t, bothKinds, func(t *testing.T) {
		r := startOwn(t, &redis.Options{}, durable...)
		for _, c := range []struct {
			appendonly, appendfsync string
			confirm                 time.Duration
			subject, text, fix      string
		}{
			{"yes", "always", patient, "", "", ""},
			{"yes", "everysec", patient, "", "", ""},
			{"yes", "everysec", 0, "appendfsync", "is everysec: a lease may be on disk after two seconds only, and Options.Confirm is 100ms", "Options.Confirm to 2s or more"},
			{"yes", "no", 0, "appendfsync", "so the server itself does not know", "appendfsync always"},
			{"no", "always", 0, "appendonly", "nobody can lead", "appendonly yes"},
		} {
			r.do(t, "CONFIG", "SET", "appendonly", c.appendonly, "appendfsync", c.appendfsync)
			p := inspect(t, r.ctx, openAt(t, &redis.UniversalOptions{Addrs: []string{r.addr}, ReadTimeout: 2 * patient}, Options{Fsynced: true, Confirm: c.confirm}))
			if c.subject == "" {
				refuse(t, p, "appendonly", "appendfsync", "persistence", "fsync", "rights")
			} else {
				finding{store.SeverityError, c.subject, c.text, c.fix}.demand(t, p)
				refuse(t, p, "fsync", "persistence") // one reason is enough
			}
		}
		r.do(t, "CONFIG", "SET", "appendonly", "yes", "appendfsync", "always")
		r.do(t, "ACL", "SETUSER", "some", "reset", "on", ">"+secret, "~*", "&*", "+@all", "-waitaof")
		s := openAt(t, &redis.UniversalOptions{Addrs: []string{r.addr}, Username: "some", Password: secret}, Options{Fsynced: true})
		finding{store.SeverityError, "rights", "Fsynced", "+waitaof"}.demand(t, inspect(t, r.ctx, s))
		if keys := r.admin.Keys(r.ctx, "*preflight*").Val(); len(keys) != 0 {
			t.Errorf("%q are left", keys)
		}
	})
}

// A server that is too old for WAITAOF is named by preflight, and at the latest
// by the first attempt, as what no repetition will change.
func TestFsyncedOnAnOldServer(t *testing.T) {
	r := startOwn(t, &redis.Options{}, durable...)
	info, err := r.admin.InfoMap(r.ctx, "server").Result()
	if err != nil {
		t.Fatal(err)
	}
	version := info["Server"]["redis_version"]
	if n := (node{info: map[string]string{"redis_version": version}}); !n.olderThan(7, 2) {
		t.Skipf("the redis-server on PATH is %s: no old one is tested here", version)
	}
	s := r.open(t, Options{Fsynced: true})
	p := inspect(t, r.ctx, s)
	finding{store.SeverityError, "redis_version", "is " + version + ", and Options.Fsynced and FsyncedReplicas need WAITAOF, which came with version 7.2", "7.2 or newer"}.demand(t, p)
	refuse(t, p, "rights", "fsync", "appendfsync", "persistence")
	_, err = s.Acquire(r.ctx, attempt("n1", "a"))
	var fatal *store.FatalError
	if !errors.As(err, &fatal) || !strings.Contains(fatal.Fix, "7.2") || strings.Contains(err.Error(), "\n") {
		t.Errorf("acquire: %v", err)
	}
}

// Versions are compared by their numbers; a server that names none is not old.
func TestOlderThan(t *testing.T) {
	for version, want := range map[string]bool{"": false, "x": false, "7.2.0": false, "7.10.1": false, "8.0.2": false, "7.0.15": true, "6.9": true, "4.0": true} {
		if n := (node{info: map[string]string{"redis_version": version}}); n.olderThan(7, 2) != want {
			t.Errorf("%q older than 7.2: %v", version, !want)
		}
	}
}

// Another node is reached at the address that the redirection names, or at the
// host that sent there if it names a port only, and as the same user.
func TestElsewhere(t *testing.T) {
	s := openAt(t, &redis.UniversalOptions{Addrs: []string{"a:1", "b:2"}, Username: "some", Password: secret}, Options{})
	for _, c := range [][3]string{{"a:1", "c:3", "c:3"}, {"a:1", ":3", "a:3"}, {"[::1]:1", ":3", "[::1]:3"}, {"a:1", "[::2]:3", "[::2]:3"}} {
		o := s.elsewhere(c[0], c[1])
		if o.Addr != c[2] || o.Username != "some" || o.Password != secret || o.MaxRetries != -1 {
			t.Errorf("from %s to %s: %+v", c[0], c[1], o)
		}
	}
	if !slices.Equal(s.opts.Addrs, []string{"a:1", "b:2"}) {
		t.Errorf("the store's own addresses are %q", s.opts.Addrs)
	}
}

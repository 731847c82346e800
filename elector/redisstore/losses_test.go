package redisstore

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/store"
)

// loss is what may befall a server's data while a leader renews its lease.
type loss struct {
	what   string
	befall func(t *testing.T, r *server, s *Store)
	// goesBack: older data is there afterwards, and nothing in the server tells it. Then
	// two may lead until the next renewal, and tokens grow all the same.
	goesBack bool
}

func shortly(id, nonce string) store.Attempt {
	a := attempt(id, nonce)
	a.TTL, a.Longest = lossLease, lossLease
	return a
}

func do(commands ...string) func(*testing.T, *server, *Store) {
	return func(t *testing.T, r *server, s *Store) {
		t.Helper()
		for _, command := range commands {
			var args []any
			for _, word := range strings.Fields(command) {
				args = append(args, strings.ReplaceAll(word, "E:", "recount:{billing}:"))
			}
			r.do(t, args...)
		}
	}
}

// remade has the witness made anew by somebody who asks for another election, and a lease
// pass while the leader renews.
func remade(lose string) func(*testing.T, *server, *Store) {
	return func(t *testing.T, r *server, s *Store) {
		t.Helper()
		do(lose)(t, r, s)
		other := shortly("n9", "o")
		other.Election = "other"
		_, _ = s.Acquire(r.ctx, other)
		<-time.After(lossLease + lossLease/5)
	}
}

func then(steps ...func(*testing.T, *server, *Store)) func(*testing.T, *server, *Store) {
	return func(t *testing.T, r *server, s *Store) {
		t.Helper()
		for _, step := range steps {
			step(t, r, s)
		}
	}
}

func create(t *testing.T, r *server, s *Store) {
	t.Helper()
	if _, err := s.Create(r.ctx, "billing"); err != nil {
		t.Error(err)
	}
}

func retire(t *testing.T, r *server, s *Store) {
	t.Helper()
	if err := s.Retire(r.ctx, "billing"); err != nil && !errors.As(err, new(*store.HeldError)) {
		t.Error(err)
	}
}

const (
	lossLease = 700 * time.Millisecond
	gone      = "DEL E:lease E:token E:guard E:candidates E:terms"
)

var losses = []loss{
	{"FLUSHALL", do("FLUSHALL"), false},
	{"FLUSHALL, and create", then(do("FLUSHALL"), create), false},
	{"FLUSHALL, and retire", then(do("FLUSHALL"), retire), false},
	{"the lease is deleted", do("DEL E:lease"), false},
	{"the lease and the guard are deleted", do("DEL E:lease E:guard"), false},
	{"all keys of the election are deleted", do(gone), false},
	{"they are deleted, and create", then(do(gone), create), false},
	{"they are deleted, and retire", then(do(gone), retire), false},
	{"all keys and the witness are deleted", do(gone + " recount:witness"), false},
	{"the witness is deleted, and a lease later the election's keys", then(remade("DEL recount:witness"), do(gone)), false},
	{"the witness is deleted, and a lease later the lease", then(remade("DEL recount:witness"), do("DEL E:lease")), false},
	{"the witness, then the election's keys, and create", then(remade("DEL recount:witness"), do(gone), create), false},
	{"the guard, a lease later the witness, then the rest", then(remade("DEL E:guard"), remade("DEL recount:witness"), do(gone)), false},
	{"statistics are reset, and the election's keys are deleted", then(do("CONFIG RESETSTAT"), remade("DEL recount:witness"), do("CONFIG RESETSTAT", gone)), false},
	{"another database takes the place", do("SWAPDB 0 1"), false},
	{"another database, and back", swappedBack, true},
	{"a backup is restored", restored, true},
}

// swappedBack puts another database in the place, in which somebody is elected, and then
// the first one again.
func swappedBack(t *testing.T, r *server, s *Store) {
	t.Helper()
	do("SWAPDB 0 1")(t, r, s)
	c := shortly("n8", "swapped")
	for _, err := s.Acquire(r.ctx, c); err != nil; _, err = s.Acquire(r.ctx, c) {
		<-time.After(lossLease / 50)
	}
	do("SWAPDB 0 1")(t, r, s)
}

// restored restores what the server held before the leader was elected.
func restored(t *testing.T, r *server, _ *Store) {
	t.Helper()
	for key, dump := range r.kept {
		r.do(t, "RESTORE", key, 0, dump, "REPLACE")
	}
	r.do(t, "DEL", leaseKey)
}

// keep keeps what the server holds.
func (r *server) keep(t *testing.T) {
	t.Helper()
	r.kept = map[string]string{}
	for _, key := range r.admin.Keys(r.ctx, "*").Val() {
		r.kept[key] = r.admin.Dump(r.ctx, key).Val()
	}
}

// leading is a leader that renews its lease until that is refused.
type leading struct {
	mu    sync.Mutex
	until time.Time // it leads so long
	over  bool
}

func (l *leading) leads(at time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.over && at.Before(l.until)
}

func (l *leading) renew(r *server, s *Store, of store.Lease, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(lossLease / 3):
		}
		sent := time.Now()
		err := s.Renew(r.ctx, of)
		l.mu.Lock()
		switch {
		case errors.Is(err, store.ErrNotHeld) || !sent.Before(l.until):
			l.over = true
		case err == nil:
			l.until = sent.Add(lossLease * 99 / 100)
		}
		over := l.over
		l.mu.Unlock()
		if over {
			return
		}
	}
}

// Whatever befalls the data of a server that goes on, nobody is granted the lease while
// its holder leads, and the next token is larger. Where older data is there
// afterwards, tokens grow.
func TestLosses(t *testing.T) {
	for _, test := range losses {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			r := startOwn(t, &redis.Options{})
			s := r.open(t, Options{})
			early := shortly("n0", "early") // whose term is over
			mustRelease(t, r, s, lease(early, mustAcquire(t, r, s, early).Token))
			r.keep(t)
			a := shortly("n1", "a")
			sent := time.Now()
			l := lease(a, mustAcquire(t, r, s, a).Token)
			leader, stop := &leading{until: sent.Add(lossLease * 99 / 100)}, make(chan struct{})
			var renewing sync.WaitGroup
			renewing.Go(func() { leader.renew(r, s, l, stop) })
			defer renewing.Wait()
			defer close(stop)
			test.befall(t, r, s)
			granted, token := r.next(t, s)
			if token <= l.Token {
				t.Errorf("token %d after %d", token, l.Token)
			}
			if !test.goesBack && leader.leads(granted) {
				t.Error("somebody was granted the lease, and its holder still leads")
			}
		})
	}
}

// next asks for the lease, each time by somebody who has not asked before, until it is
// granted, and returns when that was at the latest.
func (r *server) next(t *testing.T, s *Store) (granted time.Time, token uint64) {
	t.Helper()
	for ; ; <-time.After(lossLease / 50) {
		g, err := s.Acquire(r.ctx, shortly("n2", "b"+time.Now().String()))
		if err == nil {
			return time.Now(), g.Token
		}
		if held := new(store.HeldError); !errors.As(err, &held) {
			t.Fatal(err)
		}
	}
}

// A candidate that may not use INFO waits for a lease before a grant, beside others that
// may. It need not wait again when it repeats the request, because its answer was lost.
func TestRepeatedRequestWithoutInfo(t *testing.T) {
	t.Parallel()
	r := startOwn(t, &redis.Options{}, "--user", "few", "on", "nopass", "~*", "&*", "+@all", "-info")
	_ = r.open(t, Options{})
	s := openAt(t, &redis.UniversalOptions{Addrs: []string{r.addr}, Username: "few", Password: "any"}, Options{})
	a := shortly("n1", "a")
	_ = mustRefuse(t, r, s, a)
	<-time.After(lossLease)
	if first, second := mustAcquire(t, r, s, a).Token, mustAcquire(t, r, s, a).Token; second != first {
		t.Errorf("token %d, want %d", second, first)
	}
}

package redisstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/loopback"
)

// Real servers in states that pass: the answers, as their scripts wrap them,
// are not fatal, and nothing is left behind.
func TestPassingStates(t *testing.T) {
	for _, c := range []struct {
		name, text string
		settings   []string
	}{
		{"replica", "READONLY", []string{"--replicaof", "127.0.0.1 1"}},
		{"replica without its master", "MASTERDOWN", []string{"--replicaof", "127.0.0.1 1", "--replica-serve-stale-data", "no"}},
		{"no replica", "NOREPLICAS", []string{"--min-replicas-to-write", "1"}},
		{"no memory", "OOM", []string{"--maxmemory", "1"}},
		{"cluster without slots", "CLUSTERDOWN", clusterSettings(t)},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := startOwn(t, &redis.Options{}, c.settings...)
			s := r.open(t, Options{Audit: true})
			_, err := s.Acquire(r.ctx, attempt("n1", "a"))
			var fatal *store.FatalError
			var held *store.HeldError
			if err == nil || errors.As(err, &fatal) || errors.As(err, &held) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("acquire: %v, want a passing error with %s", err, c.text)
			}
			if n, err := r.admin.DBSize(r.ctx).Result(); err == nil && n != 0 { // one of them answers nothing
				t.Errorf("%d keys are left", n)
			}
		})
	}
}

// A master that becomes a replica while its client is connected: the term's
// renewals fail without being fatal, and go on when it is a master again.
func TestFailoverAndBack(t *testing.T) {
	r := startOwn(t, &redis.Options{})
	s := r.open(t, Options{})
	a := attempt("n1", "a")
	l := lease(a, mustAcquire(t, r, s, a).Token)
	r.do(t, "REPLICAOF", "127.0.0.1", "1")
	err := s.Renew(r.ctx, l)
	var fatal *store.FatalError
	if err == nil || errors.As(err, &fatal) || errors.Is(err, store.ErrNotHeld) {
		t.Errorf("renew on a replica: %v", err)
	}
	r.do(t, "REPLICAOF", "NO", "ONE")
	if err := s.Renew(r.ctx, l); err != nil {
		t.Errorf("renew on the master: %v", err)
	}
}

// A server that is busy with somebody's endless script is not fatal, and is
// used again when the script has been killed.
func TestBusyServer(t *testing.T) {
	r := startOwn(t, &redis.Options{MaxRetries: -1}, "--lua-time-limit", "1")
	s := r.open(t, Options{})
	a := attempt("n1", "a")
	l := lease(a, mustAcquire(t, r, s, a).Token)
	ended := make(chan error, 1)
	go func() { ended <- r.admin.Eval(r.ctx, "while true do end", nil).Err() }()
	for {
		err := s.Renew(r.ctx, l)
		var fatal *store.FatalError
		if errors.As(err, &fatal) || errors.Is(err, store.ErrNotHeld) {
			t.Fatalf("renew: %v", err)
		}
		if err != nil && strings.Contains(err.Error(), "BUSY") {
			break
		}
	}
	r.do(t, "SCRIPT", "KILL")
	_ = receive(t, "end of the script", ended)
	if err := s.Renew(r.ctx, l); err != nil {
		t.Errorf("renew afterwards: %v", err)
	}
}

// Scripts that the server has forgotten, and connections that it has closed,
// do not lose a term.
func TestScriptFlushAndClientKill(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{})
		a := attempt("n1", "a")
		l := lease(a, mustAcquire(t, r, s, a).Token)
		r.do(t, "SCRIPT", "FLUSH")
		if err := s.Renew(r.ctx, l); err != nil {
			t.Fatalf("renew after SCRIPT FLUSH: %v", err)
		}
		if r.mini != nil {
			return // it has no CLIENT KILL
		}
		r.do(t, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		err := s.Renew(r.ctx, l)
		var fatal *store.FatalError
		if errors.As(err, &fatal) || errors.Is(err, store.ErrNotHeld) {
			t.Fatalf("renew after CLIENT KILL: %v", err)
		}
		if err := s.Renew(r.ctx, l); err != nil {
			t.Fatalf("second renew after CLIENT KILL: %v", err)
		}
		r.do(t, "SCRIPT", "FLUSH")
		if err := s.Release(r.ctx, l); err != nil {
			t.Fatalf("release after SCRIPT FLUSH: %v", err)
		}
	})
}

// A server that ends and starts again without its data: the holder is told.
func TestRestartWithoutData(t *testing.T) {
	needRedis(t)
	stop, server, err := launch(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	r := newServer(t, "redis-server", &redis.Options{Addr: server.Addr})
	s := r.open(t, Options{})
	a := attempt("n1", "a")
	l := lease(a, mustAcquire(t, r, s, a).Token)
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.Renew(r.ctx, l); err == nil || errors.Is(err, store.ErrNotHeld) {
		t.Errorf("renew without a server: %v", err)
	}
	if err := server.Start(r.ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Renew(r.ctx, l); !errors.Is(err, store.ErrNotHeld) {
		t.Errorf("renew after the restart: %v", err)
	}
	b := attempt("n2", "b")
	b.Floor = l.Token
	mustWithhold(t, r, s, b, "started")
	r.advance(t, b.TTL)
	if g := mustAcquire(t, r, s, b); g.Token <= l.Token {
		t.Errorf("token %d after the restart, with floor %d", g.Token, l.Token)
	}
}

// clusterSettings make a server a node of a cluster of its own.
func clusterSettings(t *testing.T) []string {
	t.Helper()
	bus, err := loopback.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(bus), "--cluster-announce-ip", "127.0.0.1"}
}

// serveSlots makes the server a cluster of its own, and waits until it is one.
func (r *server) serveSlots(t *testing.T) {
	t.Helper()
	r.do(t, "CLUSTER", "ADDSLOTSRANGE", 0, 16383)
	for {
		info, err := r.admin.ClusterInfo(r.ctx).Result()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(info, "cluster_state:ok") {
			return
		}
	}
}

// A cluster's node is used by its address alone, as if it were a single server: the
// first answer tells that elections have no key in common there. Then names that are
// new wait for a lease, all calls work, and what is forgotten is waited for.
func TestClusterByOneAddress(t *testing.T) {
	r := startOwn(t, &redis.Options{}, clusterSettings(t)...)
	r.serveSlots(t)
	for first, call := range map[string]func(t *testing.T, s *Store, a store.Attempt) error{
		"vouch":  func(_ *testing.T, s *Store, a store.Attempt) error { return s.Vouch(r.ctx, a.Election) },
		"retire": func(_ *testing.T, s *Store, a store.Attempt) error { return s.Retire(r.ctx, a.Election) },
		"acquire": func(t *testing.T, s *Store, a store.Attempt) error {
			mustWithhold(t, r, s, a, "started")
			r.advance(t, a.TTL)
			return nil
		},
	} {
		t.Run(first, func(t *testing.T) {
			r.do(t, "FLUSHALL")
			s := openAt(t, &redis.UniversalOptions{Addrs: []string{r.addr}}, Options{})
			a := attempt("n1", "a")
			a.Election = first
			if err := call(t, s, a); err != nil {
				t.Fatal(err)
			}
			if w := s.Witness(); w != "" {
				t.Errorf("the witness is %q, want none", w)
			}
			if first == "retire" {
				mustWithhold(t, r, s, a, "started")
				r.advance(t, a.TTL)
			}
			g := mustAcquire(t, r, s, a)
			if err := s.Renew(r.ctx, lease(a, g.Token)); err != nil {
				t.Error(err)
			}
			r.do(t, "DEL", s.Keys(first)[0])
			b := a
			b.ID, b.Nonce = "n2", "b"
			mustWithhold(t, r, s, b, "before its time")
			r.do(t, "FLUSHALL")
			mustWithhold(t, r, s, b, "started")
			r.advance(t, b.TTL)
			l := lease(b, mustAcquire(t, r, s, b).Token)
			if l.Token <= g.Token {
				t.Errorf("token %d after %d", l.Token, g.Token)
			}
			mustRelease(t, r, s, l)
			if err := s.Retire(r.ctx, first); err != nil {
				t.Error(err)
			}
			if n := r.do(t, "DBSIZE"); n != int64(0) {
				t.Errorf("%v keys are left", n)
			}
		})
	}
}

// The witness of a server on which elections come and go does not grow for ever: leases
// that are over are forgotten, and others are not.
func TestWitnessIsBounded(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{})
		const jobs = 3000
		args := []any{"HSET", s.Witness(), "of live", 1 << 52}
		for k := range jobs {
			args = append(args, fmt.Sprint("of job", k), 1)
		}
		r.do(t, args...)
		for i := range jobs {
			a := attempt("n1", strconv.Itoa(i))
			mustRelease(t, r, s, lease(a, mustAcquire(t, r, s, a).Token))
			if n := r.do(t, "HLEN", s.Witness()); n.(int64) < 1000 {
				break
			}
		}
		if n := r.do(t, "HLEN", s.Witness()); n.(int64) >= 1000 {
			t.Errorf("the witness has %v fields", n)
		}
		if r.do(t, "HEXISTS", s.Witness(), "of live") != int64(1) {
			t.Error("a lease that is not over is forgotten")
		}
	})
}

// The witness is the one key that a store's elections share, and nobody else's.
func TestWitness(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		for prefix, want := range map[string]string{"": "recount:witness", "app:": "app:witness"} {
			s := openAt(t, &redis.UniversalOptions{Addrs: []string{r.addr}}, Options{Prefix: prefix})
			if s.Witness() != want {
				t.Errorf("prefix %q: the witness is %q, want %q", prefix, s.Witness(), want)
			}
			if _, err := s.Create(r.ctx, "billing"); err != nil {
				t.Fatal(err)
			}
			if kind := r.do(t, "TYPE", s.Witness()); kind != "hash" {
				t.Errorf("the key is a %v", kind)
			}
			if slices.Contains(s.Keys("witness"), want) || slices.Contains(s.Keys(""), want) {
				t.Errorf("an election has the key %q", want)
			}
		}
	})
	for name, opts := range map[string]*redis.UniversalOptions{
		"several": {Addrs: []string{"127.0.0.1:1", "127.0.0.1:2"}},
		"said":    {Addrs: []string{"127.0.0.1:1"}, IsClusterMode: true},
	} {
		if s := openAt(t, opts, Options{}); s.Witness() != "" {
			t.Errorf("%s addresses of a cluster: the witness is %q", name, s.Witness())
		}
	}
}

// A term in a real cluster, with hints: all keys of an election are on one
// node.
func TestCluster(t *testing.T) {
	r := startOwn(t, &redis.Options{}, clusterSettings(t)...)
	r.serveSlots(t)
	s := openAt(t, &redis.UniversalOptions{Addrs: []string{r.addr}, IsClusterMode: true}, Options{Audit: true, Unprotected: true})
	hints, _, _ := watching(t, r, s, 1)
	a := attempt("n1", "a")
	g := mustAcquire(t, r, s, a)
	if err := s.Renew(r.ctx, lease(a, g.Token)); err != nil {
		t.Error(err)
	}
	if held := mustRefuse(t, r, s, attempt("n2", "b")); held.Holder != "n1" {
		t.Errorf("refused with %+v", held)
	}
	if l, err := s.Leader(r.ctx, "billing"); err != nil || l.ID != "n1" {
		t.Errorf("leader %+v, %v", l, err)
	}
	if err := s.Release(r.ctx, lease(a, g.Token)); err != nil {
		t.Error(err)
	}
	if h := receive(t, "hint", hints); h.Kind != store.HintGranted {
		t.Errorf("hint %+v", h)
	}
	if h := receive(t, "hint", hints); h.Kind != store.HintReleased {
		t.Errorf("hint %+v", h)
	}
	if entries, err := s.DrainAudit(r.ctx, "billing"); err != nil || len(entries) != 4 {
		t.Errorf("audit %+v, %v", entries, err)
	}
	for _, name := range oddNames {
		for _, key := range s.Keys(name) {
			want, err := r.admin.ClusterKeySlot(r.ctx, key).Result()
			if err != nil || int64(slot(key)) != want {
				t.Errorf("the test puts %q in slot %d, the server in %d (%v)", key, slot(key), want, err)
			}
		}
	}
}

var oddNames = []string{"billing", "a b", "{a}", "}{", "{}", "{", "}", "a}:lease", "\n", "%7B", "ä", strings.Repeat("x", 300)}

// All keys of an election are in one slot of a cluster, whatever its name, and
// different elections are in different ones.
func TestKeysShareASlot(t *testing.T) {
	for _, prefix := range []string{"", "app:", "a*b"} {
		s := openAt(t, &redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}}, Options{Prefix: prefix, Audit: true})
		slots := map[int]bool{}
		for _, name := range oddNames {
			keys := append(s.Keys(name), s.names(name).channel)
			for _, key := range keys {
				if slot(key) != slot(keys[0]) {
					t.Errorf("election %q: %q is in slot %d, %q in %d", name, keys[0], slot(keys[0]), key, slot(key))
				}
			}
			slots[slot(keys[0])] = true
		}
		if len(slots) < len(oddNames)-1 {
			t.Errorf("%d elections are in %d slots", len(oddNames), len(slots))
		}
	}
}

// slot is the cluster's slot of a key, as the cluster specification has it:
// CRC16 (XMODEM) of what stands in the first braces, if anything does.
func slot(key string) int {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			key = tag
		}
	}
	crc := uint16(0)
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc % 16384)
}

var calledOften = regexp.MustCompile(`cmdstat_([^:]+):calls=(\d+)`)

// commands counts the commands that the server executed since reset, those of
// scripts among them.
func commands(t testing.TB, r *server) map[string]int {
	t.Helper()
	info, err := r.admin.Info(r.ctx, "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, m := range calledOften.FindAllStringSubmatch(info, -1) {
		n, _ := strconv.Atoi(m[2])
		if m[1] != "info" && m[1] != "config|resetstat" {
			counts[m[1]] = n
		}
	}
	return counts
}

// A renewal is one command, which executes four more on the server; a refused
// attempt is one command too, and an audit costs nothing when it is off.
func TestCommandsPerCall(t *testing.T) {
	r := startReal(t)
	for _, audit := range []bool{false, true} {
		t.Run(fmt.Sprintf("audit=%v", audit), func(t *testing.T) {
			r.do(t, "FLUSHALL")
			s := r.open(t, Options{Audit: audit})
			a, b := attempt("n1", "a"), attempt("n2", "b")
			l := lease(a, mustAcquire(t, r, s, a).Token)
			if err := s.Renew(r.ctx, l); err != nil { // from here on the server knows the script
				t.Fatal(err)
			}
			r.do(t, "CONFIG", "RESETSTAT")
			for range 10 {
				if err := s.Renew(r.ctx, l); err != nil {
					t.Fatal(err)
				}
			}
			for range 5 {
				_ = mustRefuse(t, r, s, b)
			}
			want := map[string]int{
				"evalsha": 15, "get": 15, "time": 15, "hset": 15,
				"pexpireat": 10,                               // the renewals
				"pttl":      5, "pubsub|numsub": 5, "hget": 5, // the attempts
			}
			if audit {
				want["time"], want["rpush"] = 30, 15
			}
			got := commands(t, r)
			delete(got, "hlen") // in one millisecond of some, who is gone is forgotten
			if !maps.Equal(got, want) {
				t.Errorf("ten renewals and five refused attempts executed %v, want %v", got, want)
			}
		})
	}
}

// A renewal looks for another server at its address once a lease, and after whatever
// may have brought one: a connection that was lost, an error. Else it does not.
func TestRenewalLooksWhenItHasTo(t *testing.T) {
	r := startReal(t)
	s := r.open(t, Options{})
	a := attempt("n1", "a")
	l := lease(a, mustAcquire(t, r, s, a).Token)
	gone, give := context.WithCancel(r.ctx)
	give()
	pass := func(d time.Duration) { s.names("billing").at.Add(int64(-d)) }
	for _, c := range []struct {
		after  string
		happen func()
		looks  int
	}{
		{"the grant", func() {}, 1},
		{"a renewal that looked", func() {}, 0},
		{"an error", func() {
			if err := s.Renew(gone, l); err == nil {
				t.Fatal("renewed although nobody waits for it")
			}
		}, 1},
		{"half a lease", func() { pass(l.TTL / 2) }, 0},
		{"a lease", func() { pass(l.TTL / 2) }, 1},
		{"a lost connection", func() { r.do(t, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes") }, 1},
		{"all that", func() {}, 0},
	} {
		c.happen()
		r.do(t, "CONFIG", "RESETSTAT")
		for done := 0; done < 5; {
			err := s.Renew(r.ctx, l)
			switch {
			case err == nil:
				done++
			case c.after != "a lost connection": // which a request may be the first to notice
				t.Fatal(err)
			}
		}
		if n := r.calls(t, "info"); n != c.looks {
			t.Errorf("five renewals after %s looked %d times, want %d", c.after, n, c.looks)
		}
	}
}

// How long a lease still lasts is never told as less than the millisecond in
// which the server still honours it.
func TestRemainingIsRoundedUp(t *testing.T) {
	for ms, want := range map[int64]time.Duration{0: time.Millisecond, 1: time.Millisecond, 2: 2 * time.Millisecond} {
		if got := remainingOf(ms); got != want {
			t.Errorf("%d ms remain: %v, want %v", ms, got, want)
		}
	}
}

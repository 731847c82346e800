//go:build linux || darwin

package redisserver

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// attended is a server that is attended to.
func attended(t *testing.T) Attended {
	t.Helper()
	needProcess(t)
	return open(t, "process").(Attended)
}

// pinned is one connection of a candidate, by these options.
func pinned(t *testing.T, o *redis.Options) *redis.Conn {
	t.Helper()
	client := redis.NewClient(plain(*o))
	conn := client.Conn()
	t.Cleanup(func() { _, _ = conn.Close(), client.Close() })
	return conn
}

// TestMove shows that new connections reach a primary that has all that the server had,
// while those that are open go on with the server before, which refuses writes in the words
// that were asked for; and that this can be done again, and leaves nothing behind.
func TestMove(t *testing.T) {
	s := attended(t)
	ctx := t.Context()
	ok(t, connect(t, s).Set(ctx, "key", "early", 0).Err())
	for i, code := range []string{"READONLY", "NOREPLICAS", "MASTERDOWN"} {
		lingers := pinned(t, &redis.Options{Addr: s.Addr()})
		ok(t, lingers.Set(ctx, "last", code, 0).Err())
		left, said, err := s.Move(ctx, code)
		if err != nil || left != 1 || !strings.HasPrefix(said, code) {
			t.Fatalf("%s: %d connections are left, it says %q, %v", code, left, said, err)
		}
		if err := lingers.Eval(ctx, "return redis.call('SET', KEYS[1], 1)", []string{"late"}).Err(); err == nil || !strings.HasPrefix(err.Error(), code) {
			t.Errorf("%s: a write over the old connection is answered by %v", code, err)
		}
		c := connect(t, s)
		ok(t, c.Set(ctx, "key", code, 0).Err())
		got := must[[]any](t)(c.MGet(ctx, "key", "last", "late").Result())
		if got[0] != code || got[1] != code || got[2] != nil {
			t.Errorf("%s: the new primary has %v", code, got)
		}
		if former := len(s.(*process).former); former != i+1 {
			t.Errorf("%s: %d servers before", code, former)
		}
	}
	former := s.(*process).former
	ok(t, s.Settle(ctx))
	for _, r := range former {
		<-r.child.Done()
		if _, err := os.Stat(r.dir); err == nil {
			t.Errorf("the folder %s of a server before is still there", r.dir)
		}
	}
	ok(t, s.Crash(ctx))
	ok(t, s.Restart(ctx, true))
	if got := must[string](t)(connect(t, s).Get(ctx, "key").Result()); got != "MASTERDOWN" {
		t.Errorf("after a restart it has %q", got)
	}
}

// TestMoveNeedsACode shows that a code that no server answers is refused.
func TestMoveNeedsACode(t *testing.T) {
	if _, _, err := attended(t).Move(t.Context(), "WHATEVER"); err == nil || !strings.Contains(err.Error(), "NOREPLICAS") {
		t.Errorf("the error is %v", err)
	}
}

// TestAdmit shows that a candidate gets in by the URL and the file, is refused while the
// passwords differ or without the rights, and that connections which are open outlive a
// change of the password until they are closed.
func TestAdmit(t *testing.T) {
	s := attended(t)
	ctx := t.Context()
	if s.Allow(ctx, true) == nil || s.SetPassword(ctx, true, 1) == nil || s.Login(ctx) == nil {
		t.Error("there is no user, and something is done to it")
	}
	file := must[string](t)(s.Admit(ctx))
	o, err := redis.ParseURL(s.CandidateURL(s.Addr()))
	ok(t, err)
	if text := must[[]byte](t)(os.ReadFile(file)); strings.TrimSpace(string(text)) != o.Password || o.Username == "" {
		t.Errorf("the file has %q, the URL %q", text, o.Password)
	}
	c := pinned(t, o)
	run := func() error { return c.Eval(ctx, "return 1", nil).Err() }
	ok(t, run())
	ok(t, s.Allow(ctx, false))
	for what, err := range map[string]error{"a connection": run(), "a new one": s.Login(ctx)} {
		if err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
			t.Errorf("without the right, %s is answered %v", what, err)
		}
	}
	ok(t, s.Allow(ctx, true))
	ok(t, run())
	for _, inFile := range []bool{false, true} {
		ok(t, s.SetPassword(ctx, inFile, s.Password(inFile)+1))
		if err := s.Login(ctx); err == nil || !strings.HasPrefix(err.Error(), "WRONGPASS") {
			t.Errorf("with another password: %v", err)
		}
		ok(t, run())
		ok(t, s.SetPassword(ctx, !inFile, s.Password(inFile)))
		ok(t, s.Login(ctx))
	}
	ok(t, s.Crash(ctx))
	ok(t, s.Restart(ctx, true))
	ok(t, s.Login(ctx))
	_, _, err = s.Move(ctx, "READONLY")
	ok(t, err)
	ok(t, s.Login(ctx))
	connected := pinned(t, &redis.Options{Addr: s.Addr()})
	ok(t, connected.Ping(ctx).Err())
	if n, err := s.Kick(ctx); n != 1 || err != nil || connected.Ping(context.WithoutCancel(ctx)).Err() == nil {
		t.Errorf("%d connections were closed, %v", n, err)
	}
	ok(t, s.Settle(ctx))
	if _, err := os.Stat(file); err == nil {
		t.Error("the file is still there")
	}
	if users := must[[]string](t)(connect(t, s).ACLList(ctx).Result()); len(users) != 1 {
		t.Errorf("the server still knows %v", users)
	}
}

//go:build linux || darwin

package redisserver

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func forgetful(t *testing.T) Forgetful {
	t.Helper()
	needProcess(t)
	f, why := Explain(open(t, "process"))
	if f == nil {
		t.Fatal(why)
	}
	return f
}

// A server that is set back has what it had at the mark, scripts and all, and
// neither what it confirmed later nor the keys that it is to be without. It
// can be set back again.
func TestCrashBack(t *testing.T) {
	s := forgetful(t)
	ctx := t.Context()
	for range 2 {
		c := connect(t, s)
		script := redis.NewScript("redis.call('SET', KEYS[1], ARGV[1]); redis.call('INCR', KEYS[2]); return 1")
		ok(t, c.Set(ctx, "counter", "41", 0).Err())
		ok(t, c.Del(ctx, "late").Err())
		ok(t, script.Run(ctx, c, []string{"key", "counter"}, "early").Err())
		ok(t, c.RPush(ctx, "list", "a").Err())
		timed(t, "mark", func() error { return s.Mark(ctx) })
		ok(t, script.Run(ctx, c, []string{"late", "counter"}, "late").Err())
		ok(t, c.Del(ctx, "key").Err())
		lost, err := s.CrashBack(ctx, "list", "none")
		if err != nil || lost < 100 || lost > 1000 {
			t.Errorf("lost %d bytes, %v", lost, err)
		}
		ok(t, s.Restart(ctx, true))
		c = connect(t, s)
		got := must[[]any](t)(c.MGet(ctx, "key", "counter", "late").Result())
		if got[0] != "early" || got[1] != "42" || got[2] != nil {
			t.Errorf("after it was set back: %v", got)
		}
		if n := must[int64](t)(c.Exists(ctx, "list").Result()); n != 0 {
			t.Error("it still has the key that it was to be without")
		}
		ok(t, s.Mark(ctx))
		if lost, err := s.CrashBack(ctx); lost != 0 || err != nil {
			t.Errorf("nothing was written, and %d bytes were lost, %v", lost, err)
		}
		ok(t, s.Restart(ctx, true))
	}
}

// A replica has what was there when it was made. It is reached at an address
// of its own, beside the server, and then at the server's, alone; it keeps what
// is written to it, and can be crashed, restarted and replaced in turn.
func TestReplicateAndPromote(t *testing.T) {
	for _, crash := range []bool{true, false} {
		s := forgetful(t)
		ctx, addr := t.Context(), s.Addr()
		for _, round := range []string{"1", "2"} {
			c := connect(t, s)
			ok(t, c.Set(ctx, "key", "early"+round, 0).Err())
			ok(t, c.RPush(ctx, "list", "a").Err())
			var aside string
			timed(t, "replicate", func() (err error) {
				aside, err = s.Replicate(ctx, "list")
				return err
			})
			if n, err := s.Lacks(ctx); n != 0 || err != nil {
				t.Errorf("a new replica lacks %d, %v", n, err)
			}
			ok(t, c.Set(ctx, "key", "late", 0).Err())
			if n, err := s.Lacks(ctx); n < 20 || n > 200 || err != nil {
				t.Errorf("the replica lacks %d, %v", n, err)
			}
			beside := redis.NewClient(plain(redis.Options{Addr: aside}))
			defer func() { _ = beside.Close() }() // nothing is under way
			both := must[string](t)(c.Get(ctx, "key").Result()) + " " + must[string](t)(beside.Get(ctx, "key").Result())
			if both != "late early"+round || must[int64](t)(beside.Exists(ctx, "list").Result()) != 0 {
				t.Errorf("the server and its replica have %q", both)
			}
			ok(t, beside.Set(ctx, "more", round, 0).Err())
			if _, err := s.Replicate(ctx); err == nil {
				t.Error("a second replica was made")
			}
			if crash {
				ok(t, s.Crash(ctx))
			}
			timed(t, "promote", func() error { return s.Promote(ctx) })
			if err := s.Promote(ctx); err == nil {
				t.Error("nobody was promoted, without an error")
			}
			c = connect(t, s)
			if got := must[string](t)(c.Get(ctx, "key").Result()); s.Addr() != addr || got != "early"+round {
				t.Errorf("at %s is %q", s.Addr(), got)
			}
			ok(t, s.Crash(ctx))
			ok(t, s.Restart(ctx, true))
			if got := must[string](t)(connect(t, s).Get(ctx, "more").Result()); got != round {
				t.Errorf("after a restart, the replica has %q", got)
			}
		}
	}
}

// A server that is closed takes its replica with it, and their files.
func TestCloseWithReplica(t *testing.T) {
	s := forgetful(t)
	addr, err := s.Replicate(t.Context())
	ok(t, err)
	p := s.(*process)
	dirs := []string{p.dir, p.replica.dir}
	ok(t, s.Close())
	if _, err := answer(t.Context(), addr, nil); err == nil {
		t.Error("the replica still answers")
	}
	for _, dir := range dirs {
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", dir, err)
		}
	}
}

// What cannot be set back says so; what makes no sense is refused.
func TestExplain(t *testing.T) {
	embedded := open(t, "embedded")
	if f, why := Explain(embedded); f != nil || !strings.Contains(why, "embedded") || !strings.Contains(why, "--redis process") {
		t.Errorf("%v, %q", f, why)
	}
	s := forgetful(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := s.Lacks(ctx); err == nil {
		t.Error("no replica lacks something")
	}
	ok(t, s.Crash(ctx))
	if err := s.Mark(ctx); err == nil {
		t.Error("a crashed server was marked")
	}
	if _, err := s.Replicate(ctx); err == nil {
		t.Error("a crashed server was replicated")
	}
	if _, err := s.CrashBack(ctx); err == nil {
		t.Error("a crashed server was crashed")
	}
}

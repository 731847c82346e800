package settings

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/internal/topology"
)

// A password that stands in a file is read again for each new connection. It may change on
// the server first or in the file first, and connections may be closed meanwhile, while others
// use the server: no candidate ends, at most one term does, and somebody leads afterwards.
func TestPasswordsRotate(t *testing.T) {
	ctx, l := topology.For(t, topology.ServerProgram)
	for name, c := range map[string]struct{ fileFirst, closed bool }{
		"server first": {}, "file first": {fileFirst: true}, "server first, closed": {closed: true}, "file first, closed": {fileFirst: true, closed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := topology.Must[*topology.Server](t)(l.Server(ctx, topology.Config{}))
			do := func(args ...any) {
				t.Helper()
				if err := server.Client().Do(ctx, args...).Err(); err != nil {
					t.Fatal(err)
				}
			}
			file := filepath.Join(t.TempDir(), "password")
			write := func(password string) {
				t.Helper()
				if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write("first %/?#")
			do("ACL", "SETUSER", "app", "on", ">first %/?#", "~*", "&*", "+@all")
			s, err := Load(Sources{Flags: map[string][]string{
				"store": {"redis://app:${file:" + file + "}@" + server.Addr}, "name": {"billing"}, "lease": {"1s"},
			}})
			if err != nil {
				t.Fatal(err)
			}
			load(t, ctx, server)
			stop, terms := candidates(t, ctx, s, 2)
			<-terms
			if c.fileFirst {
				write("second")
			}
			do("ACL", "SETUSER", "app", "resetpass", ">second")
			if c.closed {
				do("CLIENT", "KILL", "USER", "app")
			}
			<-time.After(300 * time.Millisecond) // the file is late, as files that are mounted are
			write("second")
			do("CLIENT", "KILL", "USER", "app")
			<-time.After(3 * time.Second) // three leases
			if lost := len(terms); lost > 1 {
				t.Errorf("%d terms were lost", lost)
			} else if lost == 1 {
				<-terms
			}
			stop(func() { <-terms }) // the leader resigns: the other one is elected
		})
	}
}

// load has others use the server until the test ends.
func load(t *testing.T, ctx context.Context, server *topology.Server) {
	ctx, cancel := context.WithCancel(ctx)
	var users sync.WaitGroup
	t.Cleanup(func() { cancel(); users.Wait() })
	for range 4 {
		users.Go(func() {
			for ctx.Err() == nil {
				_ = server.Client().Eval(ctx, "for i = 1, 100 do redis.call('SET', KEYS[1], ARGV[1]) end", []string{"load"}, strings.Repeat("x", 10_000)).Err() // it may be called off
				<-time.After(time.Millisecond)
			}
		})
	}
}

// candidates run so many candidates, each with a store of its own. The channel gets a value
// for each term. stop has the leader resign, calls next, and ends them all.
func candidates(t *testing.T, ctx context.Context, s Settings, n int) (stop func(next func()), terms <-chan uint64) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	began := make(chan uint64, 100)
	ended := make(chan error, n)
	var last atomic.Pointer[elector.Term]
	for range n {
		store, closer, err := s.Open(ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = closer.Close() })
		config := s.Config()
		config.OnStarted = func(ctx context.Context, term *elector.Term) {
			last.Store(term)
			began <- term.Token()
			<-ctx.Done()
		}
		e, err := elector.New(store, config)
		if err != nil {
			t.Fatal(err)
		}
		go func() { ended <- e.Run(ctx) }()
	}
	return func(next func()) {
		_ = last.Load().Resign(ctx) // it may be over already
		next()
		cancel()
		for range n {
			if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("a candidate has ended: %v", err)
			}
		}
	}, began
}

// What a URL mentions is read again only where that is possible, and what cannot be read
// any more is an error of the connection.
func TestMentionedFilesAreReadAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("a b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Load(Sources{Flags: map[string][]string{"store": {"redis://:${file:" + file + "}@db", "redis://:${PW}@db", "redis://db"}}, Environ: []string{"PW=x"}})
	if err != nil || len(s.renewed) != 3 || s.renewed[1] != nil || s.renewed[2] != nil {
		t.Fatalf("%v, %d URLs are read again", err, len(s.renewed))
	}
	if err := os.WriteFile(file, []byte("c d"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := s.renewed[0]()
	if u, bad := url.Parse(text); err != nil || bad != nil || u.User.String() != ":c%20d" {
		t.Errorf("%q, %v, %v", text, err, bad)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := s.renewed[0](); err == nil {
		t.Error("a file that is gone is no error")
	}
}

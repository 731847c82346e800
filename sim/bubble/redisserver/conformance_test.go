package redisserver_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/storetest"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble/bubbletest"
	"github.com/recount-io/recount/sim/bubble/network"
	"github.com/recount-io/recount/sim/bubble/redisserver"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

type modelServer = redismodel.Server

func wall() time.Duration { return time.Duration(time.Now().UnixNano()) }

// ours is the server under test.
func ours(*testing.T) network.Target {
	return redisserver.New(redisserver.Options{Clock: wall, Databases: 2})
}

// second is miniredis, which gives a second opinion.
func second(t *testing.T) network.Target {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	first, err := m.Dial() // this serves without a listener
	if err != nil {
		t.Fatal(err)
	}
	_ = first.Close() // nobody uses it
	m.Server().SetPreHook(func(c *server.Peer, command string, args ...string) bool {
		if command != "INFO" {
			return false
		}
		c.WriteBulk("# Server\r\nrun_id:second\r\n")
		return true
	})
	return miniTarget{m}
}

type miniTarget struct{ *miniredis.Miniredis }

func (m miniTarget) Open() bool { return true }

func (m miniTarget) Serve(conn net.Conn) { m.Server().ServeConn(conn) }

// inBubble calls f in a bubble with a server and a way to it.
func inBubble(t *testing.T, makes func(*testing.T) network.Target, f func(t *testing.T, l *network.Link)) {
	t.Helper()
	bubbletest.Run(t, 1, func(t *testing.T) {
		l := network.NewLink(1, sim.DefaultNetwork(), makes(t))
		f(t, l)
		l.Close()
		time.Sleep(10 * time.Second) // clients notice within seconds that they were closed
	})
}

// open opens a store in a database of the server.
func open(t *testing.T, l *network.Link, db int, o redisstore.Options) *redisstore.Store {
	t.Helper()
	e := l.Endpoint()
	s, err := redisstore.New(&redis.UniversalOptions{
		Addrs: []string{"127.0.0.1:6379"}, DB: db,
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) { return e.Dial(ctx) },
	}, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The shipped store keeps the contract of every store on this server, with the text
// of its scripts, as on any other; and so it does on miniredis.
func TestConformance(t *testing.T) {
	for name, makes := range map[string]func(*testing.T) network.Target{"ours": ours, "second": second} {
		for _, o := range []redisstore.Options{{}, {Audit: true, Unprotected: true}} {
			for _, c := range storetest.Cases() {
				t.Run(fmt.Sprintf("%s/%v/%s", name, o.Audit, c.Name), func(t *testing.T) {
					inBubble(t, makes, func(t *testing.T, l *network.Link) {
						s := open(t, l, 0, o)
						defer func() { _ = s.Close() }() // it was for the case
						if !o.Unprotected {
							for _, election := range []string{"storetest", "storetest-2"} {
								if err := s.Vouch(t.Context(), election); err != nil {
									t.Fatal(err)
								}
							}
						}
						c.Run(t, s, time.Sleep)
					})
				})
			}
		}
	}
}

// Databases are worlds apart, channels are not.
func TestDatabases(t *testing.T) {
	inBubble(t, ours, func(t *testing.T, l *network.Link) {
		ask := func(db int, args ...any) any {
			e := l.Endpoint()
			c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", DB: db, Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) { return e.Dial(ctx) }})
			defer func() { _ = c.Close() }() // it was for one question
			reply, err := c.Do(t.Context(), args...).Result()
			if err != nil {
				return err.Error()
			}
			return reply
		}
		ask(0, "SET", "k", "zero")
		ask(1, "SET", "k", "one")
		for db, want := range []string{"zero", "one"} {
			if got := ask(db, "GET", "k"); got != want {
				t.Errorf("database %d has %v, want %s", db, got, want)
			}
		}
		if got, _ := ask(2, "GET", "k").(string); !strings.Contains(got, "out of range") {
			t.Errorf("database 2 has %v", got)
		}
		e := l.Endpoint()
		c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) { return e.Dial(ctx) }})
		sub := c.Subscribe(t.Context(), "channel")
		if _, err := sub.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := ask(1, "PUBLISH", "channel", "hello"); got != int64(1) {
			t.Errorf("the message reached %v, want 1", got)
		}
		if got, err := sub.ReceiveMessage(t.Context()); err != nil || got.Payload != "hello" {
			t.Errorf("heard %v, %v", got, err)
		}
		if err := sub.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := sub.Receive(t.Context()); err != nil {
			t.Errorf("a ping while listening: %v", err)
		}
		if err := sub.Unsubscribe(t.Context(), "channel"); err != nil {
			t.Error(err)
		}
		if got, err := sub.ReceiveTimeout(t.Context(), time.Second); err != nil || fmt.Sprint(got) != "unsubscribe: channel" {
			t.Errorf("an unsubscription is answered by %v, %v", got, err)
		}
		_, _ = sub.Close(), c.Close() // they have served
		time.Sleep(time.Second)
		if got := ask(0, "PUBLISH", "channel", "hello"); got != int64(0) {
			t.Errorf("a message reached %v after everybody had left", got)
		}
	})
}

// A server that crashed comes back with its data or without it, knows none of its
// scripts, and is called otherwise; a replica that is promoted has what it had when
// it was cut off.
func TestCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := redisserver.New(redisserver.Options{Clock: wall})
		do := func(args ...string) (text string) {
			s.With(func(dbs []*modelServer, now time.Duration) { text = dbs[0].Do(now, args...).String() })
			return text
		}
		do("SET", "k", "v")
		sha := strings.Trim(do("SCRIPT", "LOAD", "return 1"), `"`)
		before := do("INFO", "server")
		if !s.Crash() || s.Crash() || s.Open() {
			t.Error("it does not crash once")
		}
		if !s.Restart(true) || s.Restart(true) || !s.Open() {
			t.Error("it does not restart once")
		}
		if do("GET", "k") != `"v"` || do("SCRIPT", "EXISTS", sha) != "[(integer) 0]" || do("INFO", "server") == before {
			t.Errorf("after a restart with its data: %s, %s, %s", do("GET", "k"), do("SCRIPT", "EXISTS", sha), do("INFO", "server"))
		}
		replica := s.Fork("replica")
		do("SET", "k", "later")
		replica.Promote()
		replica.With(func(dbs []*modelServer, now time.Duration) {
			if got := dbs[0].Do(now, "GET", "k").Text; got != "v" {
				t.Errorf("the replica has %q", got)
			}
		})
		s.Crash()
		s.Restart(false)
		if do("GET", "k") != "(nil)" {
			t.Errorf("after a restart without its data: %s", do("GET", "k"))
		}
		if !s.Freeze() || s.Freeze() {
			t.Error("it does not freeze once")
		}
		s.Thaw()
	})
}

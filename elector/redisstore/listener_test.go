package redisstore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/recount-io/recount/elector/store"
)

// watches is many watches of one store, two of each election.
type watches struct {
	r     *server
	names []string
	hints []chan store.Hint // two for each name
	ended chan error
}

func newWatches(t *testing.T, ctx context.Context, r *server, s *Store, elections int) *watches {
	t.Helper()
	c := &watches{r: r, ended: make(chan error, 2*elections)}
	for i := range elections {
		name := fmt.Sprint("election-", i)
		c.names = append(c.names, name)
		for range 2 {
			hints := make(chan store.Hint, 10)
			c.hints = append(c.hints, hints)
			s.Watch(ctx, name, noting(hints), func(err error) { c.ended <- err })
		}
	}
	return c
}

func (c *watches) channel(i int) string { return "recount:{" + c.names[i] + "}:wake" }

// awaitSubscribed waits until the server counts one connection for each name,
// or none.
func (c *watches) awaitSubscribed(t *testing.T, want int64) {
	t.Helper()
	channels := make([]string, len(c.names))
	for i := range channels {
		channels[i] = c.channel(i)
	}
	for settled := false; !settled; {
		counts, err := c.r.admin.PubSubNumSub(c.r.ctx, channels...).Result()
		if err != nil {
			t.Fatal(err)
		}
		settled = true
		for _, n := range counts {
			settled = settled && n == want
		}
	}
}

// listening is how many connections of the server subscribe to something.
func (r *server) listening(t *testing.T) int {
	t.Helper()
	list, err := r.admin.Do(r.ctx, "CLIENT", "LIST", "TYPE", "pubsub").Text()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(list, "addr=") - strings.Count(list, "laddr=")
}

// Two hundred watches share one connection, and each hears of its own election
// only. Each costs the goroutine that called it, and the connection costs one.
func TestWatchesShareAConnection(t *testing.T) {
	r := startOwn(t, &redis.Options{})
	s := r.open(t, Options{})
	r.do(t, "PING")
	before := goleak.IgnoreCurrent()
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	c := newWatches(t, ctx, r, s, 100)
	c.awaitSubscribed(t, 1)
	if n := r.listening(t); n != 1 {
		t.Errorf("%d connections listen", n)
	}
	for i := range c.names {
		r.do(t, "PUBLISH", c.channel(i), fmt.Sprintf("released %d", i+1))
	}
	for i, hints := range c.hints {
		want := store.Hint{Kind: store.HintReleased, Token: uint64(i/2 + 1)}
		if h := receive(t, "hint", hints); h != want {
			t.Errorf("%s got the hint %+v, want %+v", c.names[i/2], h, want)
		}
	}
	for i, hints := range c.hints {
		if len(hints) > 0 {
			t.Errorf("%s got a second hint: %+v", c.names[i/2], <-hints)
		}
	}
	// The watches are the callers' own goroutines; besides them there is the reader.
	if got := listenerGoroutines(); got != 1 {
		t.Errorf("%d goroutines serve the watches", got)
	}
	cancel()
	for range c.hints {
		if err := receive(t, "end", c.ended); !errors.Is(err, context.Canceled) {
			t.Errorf("a watch ended with %v", err)
		}
	}
	_ = s.Close() // it would listen on for some seconds
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

// A connection that is killed ends all its watches, with an error that may
// pass. The next ones open one connection again.
func TestKilledConnectionEndsAllWatches(t *testing.T) {
	r := startOwn(t, &redis.Options{})
	s := r.open(t, Options{})
	for range 3 {
		ctx, cancel := context.WithCancel(r.ctx)
		c := newWatches(t, ctx, r, s, 50)
		c.awaitSubscribed(t, 1)
		if n := r.listening(t); n != 1 {
			t.Errorf("%d connections listen", n)
		}
		r.do(t, "CLIENT", "KILL", "TYPE", "pubsub")
		for range c.hints {
			err := receive(t, "end", c.ended)
			var fatal *store.FatalError
			if errors.As(err, &fatal) || errors.Is(err, context.Canceled) {
				t.Errorf("a watch ended with %v", err)
			}
		}
		cancel()
	}
}

// hurry makes the listener stay nowhere for longer than it is needed.
func (l *listener) hurry() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lingers = 0
}

// A channel is kept for a while when its last watch has ended. Who comes back meanwhile
// can be told of a grant at once, which the server knows by the beacon.
func TestChannelIsKeptForAWhile(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{})
		_, _, cancel := watching(t, r, s, 1)
		channel := s.names("billing").channel
		for s.hub.beacon(channel) == "" {
			runtime.Gosched()
		}
		cancel()
		for l := s.hub.listener; ; runtime.Gosched() {
			l.mu.Lock()
			gone := len(l.watches) == 0
			l.mu.Unlock()
			if gone {
				break
			}
		}
		if s.hub.beacon(channel) != "" {
			t.Error("nobody listens, and there is a beacon")
		}
		ctx, leave := context.WithCancel(r.ctx)
		defer leave()
		s.Watch(ctx, "billing", func(store.Hint) {}, func(error) {})
		if s.hub.beacon(channel) == "" {
			t.Error("who comes back has to wait for its beacon")
		}
	})
}

// A watch that ends leaves its channel and disturbs nobody; another one of the
// same election goes on, and one that comes back hears again.
func TestWatchesComeAndGo(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{})
		numSub := func(name string, want int64) {
			t.Helper()
			c := watches{r: r, names: []string{name}}
			c.awaitSubscribed(t, want)
		}
		begin := func(name string) (chan store.Hint, func()) {
			ctx, cancel := context.WithCancel(r.ctx)
			hints, ended := make(chan store.Hint, 10), make(chan error, 1)
			s.Watch(ctx, name, noting(hints), func(err error) { ended <- err })
			return hints, func() {
				cancel()
				_ = receive(t, "end", ended)
			}
		}
		stays, stop := begin("stays")
		defer stop()
		s.hub.listener.hurry()
		numSub("stays", 1)
		_, leave := begin("stays")
		_, leaveOther := begin("goes")
		numSub("goes", 1)
		leave()
		leaveOther()
		numSub("goes", 0)
		numSub("stays", 1)
		back, stopBack := begin("goes")
		defer stopBack()
		numSub("goes", 1)
		r.do(t, "PUBLISH", "recount:{goes}:wake", "released 5")
		if h := receive(t, "hint", back); h.Token != 5 {
			t.Errorf("hint %+v", h)
		}
		r.do(t, "PUBLISH", "recount:{stays}:wake", "released 6")
		if h := receive(t, "hint", stays); h.Token != 6 {
			t.Errorf("hint %+v", h)
		}
	})
}

// A channel that the user may not hear fails its own watch for good, and no
// other. A user who may not unsubscribe leaves all the same.
func TestForbiddenChannelFailsAlone(t *testing.T) {
	r := startOwn(t, &redis.Options{})
	r.do(t, "ACL", "SETUSER", "half", "on", ">"+secret, "~*", "resetchannels", "&recount:{billing}:*", "&recount:{goes}:*", "+subscribe", "+ping")
	s := openAt(t, &redis.UniversalOptions{Addrs: []string{r.addr}, Username: "half", Password: secret}, Options{})
	hints, ended, cancel := watching(t, r, s, 1)
	s.hub.listener.hurry()
	var fatal *store.FatalError
	if err := watchEnd(r.ctx, s, "other"); !errors.As(err, &fatal) {
		t.Errorf("the forbidden watch ended with %v", err)
	}
	for range 2 { // the second one subscribes after the first one's refused farewell
		ctx, leave := context.WithCancel(r.ctx)
		gone, heard := make(chan error, 1), make(chan store.Hint, 10)
		s.Watch(ctx, "goes", noting(heard), func(err error) { gone <- err })
		r.tellUntil(t, "recount:{goes}:wake", heard)
		leave()
		if err := receive(t, "end", gone); !errors.Is(err, context.Canceled) {
			t.Errorf("the watch that left ended with %v", err)
		}
	}
	if n := r.listening(t); n != 1 {
		t.Errorf("%d connections listen", n)
	}
	r.tellUntil(t, "recount:{billing}:wake", hints)
	cancel()
	if err := receive(t, "end", ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the watch that stayed ended with %v", err)
	}
	for r.listening(t) != 0 {
	}
}

// noting passes hints of changes on as long as there is room for them: it must not block.
func noting(hints chan store.Hint) func(store.Hint) {
	return func(h store.Hint) {
		if h.Kind == store.HintListening {
			return
		}
		select {
		case hints <- h:
		default:
		}
	}
}

// tellUntil publishes until somebody has heard it, who may be told often.
func (r *server) tellUntil(t *testing.T, channel string, heard chan store.Hint) {
	t.Helper()
	for {
		r.do(t, "PUBLISH", channel, "released 9")
		select {
		case <-heard:
			return
		default:
		}
	}
}

// A subscription that is never confirmed ends its watch with an error, also on
// a connection that others use already.
func TestUnconfirmedSubscription(t *testing.T) {
	f := startFake(t, func(args []string) string {
		if args[0] == "subscribe" && !strings.Contains(args[1], "other") {
			return array(bulk("subscribe"), bulk(args[1]), number(1))
		}
		return silence
	})
	s := f.open(t, func(o *redis.UniversalOptions) { o.ReadTimeout = 100 * time.Millisecond })
	s.pingEvery = time.Second
	ended := make(chan error, 2)
	s.Watch(t.Context(), "billing", func(store.Hint) {}, func(err error) { ended <- err })
	for f.count("subscribe") != 2 { // with the beacon
	}
	s.Watch(t.Context(), "other", func(store.Hint) {}, func(err error) { ended <- err })
	for range 2 {
		var fatal *store.FatalError
		if err := receive(t, "end", ended); err == nil || errors.As(err, &fatal) || !strings.Contains(err.Error(), "subscribe has had no answer") {
			t.Errorf("a watch ended with %v", err)
		}
	}
}

// listenerGoroutines is how many goroutines serve watches, besides the callers.
func listenerGoroutines() int {
	text := make([]byte, 1<<22)
	text = text[:runtime.Stack(text, true)]
	return strings.Count(string(text), "created by github.com/recount-io/recount/elector/redisstore.(*hub)") +
		strings.Count(string(text), "created by github.com/recount-io/recount/elector/redisstore.(*listener)")
}

// Watches that come and go all the time, some before they are confirmed, get
// nothing but their own ends: the answers are told apart.
func TestWatchesInDisorder(t *testing.T) {
	eachServer(t, func(t *testing.T, r *server) {
		s := r.open(t, Options{})
		_, ended, cancel := watching(t, r, s, 1)
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				for round := range 20 {
					ctx, leave := context.WithCancel(r.ctx)
					gone := make(chan error, 1)
					name := fmt.Sprint("election-", (i+round)%7)
					s.Watch(ctx, name, func(store.Hint) { leave() }, func(err error) { gone <- err })
					if round%2 == 0 {
						leave()
					}
					for ctx.Err() == nil {
						if err := r.admin.Publish(r.ctx, "recount:{"+name+"}:wake", "released 1").Err(); err != nil {
							t.Error(err)
							leave()
						}
					}
					if err := <-gone; !errors.Is(err, context.Canceled) {
						t.Errorf("a watch ended with %v", err)
					}
				}
			})
		}
		all.Wait()
		cancel()
		if err := receive(t, "end", ended); !errors.Is(err, context.Canceled) {
			t.Errorf("the watch that stayed ended with %v", err)
		}
	})
}

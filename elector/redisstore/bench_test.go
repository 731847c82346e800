package redisstore

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/processor"
)

func eachServerB(b *testing.B, bench func(b *testing.B, r *server)) {
	b.Run("miniredis", func(b *testing.B) { bench(b, startMini(b)) })
	b.Run("redis-server", func(b *testing.B) { bench(b, startReal(b)) })
}

// BenchmarkRenew is what a leader costs: one round trip.
func BenchmarkRenew(b *testing.B) {
	eachServerB(b, func(b *testing.B, r *server) {
		s := r.open(b, Options{})
		a := attempt("n1", "a")
		l := lease(a, mustAcquire(b, r, s, a).Token)
		ctx := context.WithoutCancel(b.Context()) // as an elector's own requests, which nobody calls off
		b.ReportAllocs()
		began := used(b, r)
		for b.Loop() {
			if err := s.Renew(ctx, l); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(used(b, r)-began)/float64(b.N), "cpu-ns/op")
		report(b, r, l)
	})
}

// BenchmarkAcquire is a term of no length: a grant and a release.
func BenchmarkAcquire(b *testing.B) {
	eachServerB(b, func(b *testing.B, r *server) {
		s := r.open(b, Options{})
		a := attempt("n1", "a")
		ctx := context.WithoutCancel(b.Context()) // as an elector's own requests, which nobody calls off
		b.ReportAllocs()
		began := used(b, r)
		for i := 0; b.Loop(); i++ {
			a.Nonce = strconv.Itoa(i)
			g, err := s.Acquire(ctx, a)
			if err != nil {
				b.Fatal(err)
			}
			if err := s.Release(ctx, lease(a, g.Token)); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(used(b, r)-began)/float64(b.N), "cpu-ns/op")
	})
}

// used is what this process and the server have used of the processors. It says more than
// the clock about what a change costs: where machines are shared, a round trip takes the
// longer the busier others are.
func used(b *testing.B, r *server) time.Duration {
	all := processor.Time()
	text, err := r.admin.Info(b.Context(), "cpu").Result()
	if err != nil {
		return all // miniredis has no such section, and is part of this process
	}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if seconds, err := strconv.ParseFloat(value, 64); err == nil && (name == "used_cpu_sys" || name == "used_cpu_user") {
			all += time.Duration(seconds * float64(time.Second))
		}
	}
	return all
}

// BenchmarkRefused is what a waiting candidate's try costs.
func BenchmarkRefused(b *testing.B) {
	eachServerB(b, func(b *testing.B, r *server) {
		s := r.open(b, Options{})
		mustAcquire(b, r, s, attempt("n1", "a"))
		other := store.Attempt{Election: "billing", ID: "n2", Nonce: "b", TTL: attempt("", "").TTL}
		ctx := context.WithoutCancel(b.Context()) // as an elector's own requests, which nobody calls off
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Acquire(ctx, other); err == nil {
				b.Fatal("two holders")
			}
		}
	})
}

// report reports how many commands the server receives and executes for one renewal of the
// lease.
func report(b *testing.B, r *server, l store.Lease) {
	if r.mini != nil {
		return // it keeps no such count
	}
	r.admin.ConfigResetStat(r.ctx)
	s := r.open(b, Options{})
	const n = 100
	for range n {
		if err := s.Renew(r.ctx, l); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(commands(b, r)["evalsha"])/n, "cmds/renewal")
}

// slow is a connection whose peer is half a round trip away in each direction, as far as
// who waits for an answer can tell.
type slow struct {
	net.Conn
	away time.Duration
}

// Read implements net.Conn.
func (c slow) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	<-time.After(c.away)
	return n, err
}

// BenchmarkElections is what many elections of one process cost that nobody disturbs,
// with a lease of 15 s: a share of a core, and memory (heap and stacks) for each.
func BenchmarkElections(b *testing.B) {
	for _, as := range []string{"leader", "follower"} {
		for _, n := range []int{1000, 10000} {
			away := time.Duration(0)
			if n > 1000 {
				away = time.Millisecond
			}
			b.Run(fmt.Sprintf("%d/%s", n, as), func(b *testing.B) { benchElections(b, n, as == "leader", away) })
		}
	}
}

func benchElections(b *testing.B, n int, leads bool, away time.Duration) {
	r := startReal(b)
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil || away == 0 {
			return conn, err
		}
		return slow{conn, away}, nil
	}
	s := openAt(b, &redis.UniversalOptions{Addrs: []string{r.addr}, Dialer: dial}, Options{Unprotected: true})
	ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute)
	defer cancel()
	var electing, competing sync.WaitGroup
	before := footprint()
	for i := range n {
		name := fmt.Sprint("many-", i)
		if !leads {
			electing.Add(1)
			go func() {
				defer electing.Done()
				_, err := s.Acquire(ctx, store.Attempt{Election: name, ID: "other", Nonce: name, TTL: time.Hour})
				if err != nil {
					b.Error(err)
				}
			}()
		}
	}
	electing.Wait()
	for i := range n {
		started := make(chan struct{})
		cfg := elector.Config{Election: fmt.Sprint("many-", i), Logger: slog.New(slog.DiscardHandler)}
		var once sync.Once
		electing.Add(1)
		cfg.OnEvent = func(ev elector.Event) {
			if ev.Kind == event.LeaderSeen {
				once.Do(electing.Done)
			}
			if ev.Kind == event.Deposed && ctx.Err() == nil {
				b.Errorf("a term ended: %s", ev.Reason)
			}
		}
		e, err := elector.New(s, cfg)
		if err != nil {
			b.Fatal(err)
		}
		competing.Go(func() { close(started); _ = e.Run(ctx) })
		<-started
	}
	electing.Wait()
	after := footprint()
	began, busy := time.Now(), processor.Time()
	for b.Loop() {
		<-time.After(15 * time.Second)
	}
	b.ReportMetric(100*float64(processor.Time()-busy)/float64(time.Since(began)), "%core")
	b.ReportMetric((after-before)/1024/float64(n), "KiB/election")
	b.ReportMetric(0, "ns/op")
	cancel()
	competing.Wait()
}

// footprint is what of the memory lives.
func footprint() float64 {
	var m runtime.MemStats
	for range 8 { // a stack shrinks by half each time
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

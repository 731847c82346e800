package redisstore

import (
	"strconv"
	"testing"

	"github.com/recount-io/recount/elector"
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
		ctx := b.Context()
		b.ReportAllocs()
		for b.Loop() {
			if err := s.Renew(ctx, l); err != nil {
				b.Fatal(err)
			}
		}
		report(b, r)
	})
}

// BenchmarkAcquire is a term of no length: a grant and a release.
func BenchmarkAcquire(b *testing.B) {
	eachServerB(b, func(b *testing.B, r *server) {
		s := r.open(b, Options{})
		a := attempt("n1", "a")
		ctx := b.Context()
		b.ReportAllocs()
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
	})
}

// BenchmarkRefused is what a waiting candidate's try costs.
func BenchmarkRefused(b *testing.B) {
	eachServerB(b, func(b *testing.B, r *server) {
		s := r.open(b, Options{})
		mustAcquire(b, r, s, attempt("n1", "a"))
		other := elector.Attempt{Election: "billing", ID: "n2", Nonce: "b", TTL: attempt("", "").TTL}
		ctx := b.Context()
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Acquire(ctx, other); err == nil {
				b.Fatal("two holders")
			}
		}
	})
}

// report tells how many commands the server received and executed per renewal.
func report(b *testing.B, r *server) {
	if r.mini != nil {
		return // it keeps no such count
	}
	r.admin.ConfigResetStat(r.ctx)
	s := r.open(b, Options{})
	l := lease(attempt("n1", "a"), 1)
	const n = 100
	for range n {
		if err := s.Renew(r.ctx, l); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(commands(b, r)["evalsha"])/n, "cmds/renewal")
}

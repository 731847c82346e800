package pgstore

import (
	"strconv"
	"testing"

	"github.com/recount-io/recount/elector/store"
)

func eachVariantB(b *testing.B, bench func(b *testing.B, d *database, s store.Store)) {
	for _, v := range variants {
		b.Run(v.name, func(b *testing.B) {
			d := open(b)
			bench(b, d, v.open(b, d))
		})
	}
}

// BenchmarkRenew is what a leader costs: one round trip.
func BenchmarkRenew(b *testing.B) {
	eachVariantB(b, func(b *testing.B, d *database, s store.Store) {
		l := d.acquire(b, s, attemptOf("n1", "1"))
		ctx := b.Context()
		b.ReportAllocs()
		for b.Loop() {
			if err := s.Renew(ctx, l); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkAcquire is a term of no length: a grant and a release. One that is
// tied to a session opens and closes a connection as well.
func BenchmarkAcquire(b *testing.B) {
	eachVariantB(b, func(b *testing.B, d *database, s store.Store) {
		a := attemptOf("n1", "1")
		ctx := b.Context()
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			a.Nonce = strconv.Itoa(i)
			g, err := s.Acquire(ctx, a)
			if err != nil {
				b.Fatal(err)
			}
			if err := s.Release(ctx, leaseOf(a, g.Token)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkRefused is what a waiting candidate's try costs.
func BenchmarkRefused(b *testing.B) {
	eachVariantB(b, func(b *testing.B, d *database, s store.Store) {
		d.acquire(b, s, attemptOf("n1", "1"))
		other := attemptOf("n2", "2")
		ctx := b.Context()
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Acquire(ctx, other); err == nil {
				b.Fatal("two holders")
			}
		}
	})
}

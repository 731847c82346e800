package quorumstore_test

import (
	"strconv"
	"testing"

	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/quorumstore"
	"github.com/recount-io/recount/elector/store"
)

func benchStore(b *testing.B) *quorumstore.Store {
	b.Helper()
	var nodes []store.Store
	for range 3 {
		nodes = append(nodes, memstore.New(memstore.Options{}))
	}
	s, err := quorumstore.New(nodes, quorumstore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkRenew is what a majority costs a leader beside the nodes' own time.
func BenchmarkRenew(b *testing.B) {
	s := benchStore(b)
	g, err := s.Acquire(b.Context(), attempt("a", "a/1"))
	if err != nil {
		b.Fatal(err)
	}
	l := store.Lease{Election: election, ID: "a", Nonce: "a/1", Token: g.Token, TTL: ttl}
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Renew(b.Context(), l); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAcquireRelease is a whole term, each with a nonce of its own.
func BenchmarkAcquireRelease(b *testing.B) {
	s := benchStore(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		a := attempt("a", "a/"+strconv.Itoa(i))
		g, err := s.Acquire(b.Context(), a)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Release(b.Context(), store.Lease{Election: election, ID: "a", Nonce: a.Nonce, Token: g.Token, TTL: ttl}); err != nil {
			b.Fatal(err)
		}
	}
}

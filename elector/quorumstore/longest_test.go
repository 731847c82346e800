package quorumstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/quorumstore"
	"github.com/recount-io/recount/elector/store"
)

// refuses refuses every attempt, and says what to count on.
type refuses struct {
	store.Store
	longest time.Duration
}

func (r refuses) Acquire(context.Context, store.Attempt) (store.Grant, error) {
	return store.Grant{}, &store.HeldError{Holder: "n1", Token: 1, Remaining: time.Second, Longest: r.longest}
}

// A candidate counts on shorter leases only if a majority of the nodes says so, and on
// longer ones as soon as one does.
func TestMajorityUnlearns(t *testing.T) {
	const short, long = 4 * time.Second, 20 * time.Second
	for _, test := range []struct {
		nodes [3]time.Duration
		want  time.Duration
	}{
		{[3]time.Duration{short, 0, 0}, 0},
		{[3]time.Duration{short, short, short}, short},
		{[3]time.Duration{long, long, long}, long},
		{[3]time.Duration{2 * long, 2 * long, 0}, 2 * long},
	} {
		var nodes []store.Store
		for _, longest := range test.nodes {
			nodes = append(nodes, refuses{memstore.New(memstore.Options{}), longest})
		}
		s, err := quorumstore.New(nodes, quorumstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Acquire(t.Context(), store.Attempt{Election: "e", ID: "n2", Nonce: "x", TTL: short, Longest: long, Configured: short})
		var held *store.HeldError
		if !errors.As(err, &held) || held.Longest != test.want {
			t.Errorf("nodes say %v: %+v, want %v", test.nodes, held, test.want)
		}
	}
}

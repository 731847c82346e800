package memstore_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/storetest"
)

// The store in memory keeps the contract of every store.
func TestConformance(t *testing.T) {
	for _, c := range storetest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				store := memstore.New(memstore.Options{Now: func() time.Duration { return time.Since(start) }})
				c.Run(t, store, time.Sleep)
			})
		})
	}
}

// Without options the store lives by the machine's own clock.
func TestDefaultClock(t *testing.T) {
	store := memstore.New(memstore.Options{})
	attempt := elector.Attempt{Election: "e", ID: "a", Nonce: "1", TTL: time.Hour}
	if _, err := store.Acquire(t.Context(), attempt); err != nil {
		t.Fatal(err)
	}
	store.Delete("e")
	if l, err := store.Leader(t.Context(), "e"); err != nil || l.ID != "" {
		t.Errorf("%+v leads after Delete, error %v", l, err)
	}
}

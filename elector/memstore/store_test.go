package memstore_test

import (
	"context"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/elector/storetest"
)

// The store in memory keeps the contract of every store.
func TestConformance(t *testing.T) {
	for _, c := range storetest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.Run(t, memstore.New(memstore.Options{}), time.Sleep)
			})
		})
	}
}

// Without options the store lives by the machine's own clock.
func TestDefaultClock(t *testing.T) {
	st := memstore.New(memstore.Options{})
	attempt := store.Attempt{Election: "e", ID: "a", Nonce: "1", TTL: time.Hour}
	if _, err := st.Acquire(t.Context(), attempt); err != nil {
		t.Fatal(err)
	}
	st.Delete("e")
	if l, err := st.Leader(t.Context(), "e"); err != nil || l.ID != "" {
		t.Errorf("%+v leads after Delete, error %v", l, err)
	}
}

// Candidates that come and go leave nothing behind, though none is ever refused.
func TestCandidatesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memstore.New(memstore.Options{})
		before := heap()
		for i := range 20_000 {
			id := strconv.Itoa(i) + strings.Repeat(" ", 1000)
			g, err := st.Acquire(t.Context(), store.Attempt{Election: "e", ID: id, Nonce: "1", TTL: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if err := st.Release(t.Context(), store.Lease{Election: "e", ID: id, Nonce: "1", Token: g.Token}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if more := int64(heap()) - int64(before); more > 5<<20 {
			t.Errorf("%d bytes are left of candidates that are gone", more)
		}
		runtime.KeepAlive(st)
	})
}

// heap is how many bytes of the heap are in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A watch that has ended hears nothing more, also of a change that is being told
// just then, and does not count as one that waits.
func TestEndedWatchHearsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memstore.New(memstore.Options{})
		var cancels [2]context.CancelFunc
		var ended [2]chan struct{}
		notified := 0
		for n := range cancels {
			var ctx context.Context
			ctx, cancels[n] = context.WithCancel(t.Context())
			defer cancels[n]()
			ended[n] = make(chan struct{})
			st.Watch(ctx, "e", func(h store.Hint) { // who is notified first ends the other one
				if h.Kind == store.HintListening {
					return
				}
				notified++
				cancels[1-n]()
				<-ended[1-n]
			}, func(error) { close(ended[n]) })
		}
		for _, want := range []int{2, 1} {
			lease := store.Attempt{Election: "e", ID: "a", Nonce: "1", TTL: time.Hour}
			g, err := st.Acquire(t.Context(), lease)
			if err != nil || g.Waiters != want || notified != 1 {
				t.Fatalf("%d waited and %d were notified, error %v; want %d and 1", g.Waiters, notified, err, want)
			}
		}
	})
}

// A watch is told one thing at a time, however many calls change the lease at
// once.
func TestHintsComeOneAtATime(t *testing.T) {
	st := memstore.New(memstore.Options{})
	var telling atomic.Bool
	st.Watch(t.Context(), "e", func(store.Hint) {
		if !telling.CompareAndSwap(false, true) {
			t.Error("two hints at once")
		}
		for range 10 {
			runtime.Gosched() // so that another one could come meanwhile
		}
		telling.Store(false)
	}, func(error) {})
	var all sync.WaitGroup
	for _, id := range []string{"a", "b", "c", "d"} {
		all.Go(func() {
			for range 500 {
				g, err := st.Acquire(t.Context(), store.Attempt{Election: "e", ID: id, Nonce: id, TTL: time.Hour})
				if err != nil {
					continue // somebody else's
				}
				if err := st.Release(t.Context(), store.Lease{Election: "e", ID: id, Nonce: id, Token: g.Token}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

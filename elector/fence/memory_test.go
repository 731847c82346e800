package fence

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

// A larger token waits for the writes of a smaller one, refuses it meanwhile,
// and is itself refused if a still larger one came; equal ones go on beside one
// another, and other resources take no notice.
func TestMemoryHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Memory
		first, err := m.Hold(t.Context(), 1, "r")
		if err != nil {
			t.Fatal(err)
		}
		beside, err := m.Hold(t.Context(), 1, "r")
		if err != nil {
			t.Fatal(err)
		}
		answers := map[uint64]error{}
		var mu sync.Mutex
		for _, token := range []uint64{2, 3} {
			go func() {
				err := m.Check(t.Context(), token, "r")
				mu.Lock()
				defer mu.Unlock()
				answers[token] = err
			}()
			synctest.Wait()
		}
		_, err = m.Hold(t.Context(), 1, "r")
		wantStale(t, err, 1, 3)
		if err := m.Check(t.Context(), 1, "another"); err != nil {
			t.Error(err)
		}
		first()
		first() // the second time does nothing
		synctest.Wait()
		mu.Lock()
		if len(answers) > 0 {
			t.Errorf("a larger token was admitted during a write: %v", answers)
		}
		mu.Unlock()
		beside()
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		wantStale(t, answers[2], 2, 3)
		if err, ok := answers[3]; !ok || err != nil {
			t.Errorf("token 3: %v, %v", ok, err)
		}
	})
}

// Who stops waiting has made its token known.
func TestMemoryHoldGivesUp(t *testing.T) {
	var m Memory
	release, err := m.Hold(t.Context(), 1, "r")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Hold(ctx, 2, "r"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	release()
	wantStale(t, m.Check(t.Context(), 1, "r"), 1, 2)
	if m.Highest("r") != 2 || m.Highest("never named") != 0 {
		t.Errorf("the highest tokens are %d and %d", m.Highest("r"), m.Highest("never named"))
	}
}

// Writes of many leaders at once never come after one of a larger token.
func TestMemoryKeepsWritesInOrder(t *testing.T) {
	var (
		m    Memory
		mu   sync.Mutex
		last uint64
		wg   sync.WaitGroup
	)
	for token := uint64(1); token <= 8; token++ {
		wg.Go(func() {
			for range 200 {
				release, err := m.Hold(t.Context(), token, "r")
				if err != nil {
					wantStale(t, err, token, max(token+1, err.(*StaleError).Highest))
					return
				}
				mu.Lock()
				if last > token {
					t.Errorf("token %d wrote after token %d", token, last)
				}
				last = token
				mu.Unlock()
				release()
			}
		})
	}
	wg.Wait()
	if last != 8 {
		t.Errorf("the last token is %d", last)
	}
}

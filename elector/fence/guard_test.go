package fence

import (
	"errors"
	"math"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// A guard admits what is not smaller than what it has admitted, refuses the
// rest with both tokens, and refuses no token at all.
func TestGuard(t *testing.T) {
	var g Guard
	for _, c := range []struct {
		token   uint64
		admit   bool
		highest uint64
	}{
		{3, true, 3}, {3, true, 3}, {2, false, 3}, {4, true, 4}, {1, false, 4},
		{1 << 53, true, 1 << 53}, {1<<53 + 1, true, 1<<53 + 1}, {1 << 53, false, 1<<53 + 1}, {math.MaxUint64, true, math.MaxUint64},
	} {
		err := g.Admit(c.token)
		var stale *StaleError
		if c.admit != (err == nil) || (err != nil && (!errors.As(err, &stale) || *stale != StaleError{c.token, c.highest})) {
			t.Errorf("token %d: %v", c.token, err)
		}
		if g.Highest() != c.highest {
			t.Errorf("after token %d the highest is %d", c.token, g.Highest())
		}
	}
	if err := new(Guard).Admit(0); !errors.Is(err, ErrNoToken) {
		t.Errorf("token 0: %v", err)
	}
	if err := new(Guard).Do(0, func() error { t.Error("written without a token"); return nil }); !errors.Is(err, ErrNoToken) {
		t.Errorf("token 0: %v", err)
	}
}

// Whatever the sequence of tokens, those admitted never decrease, and a token
// is refused only if a larger one was admitted before.
func TestGuardProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var g Guard
		highest := uint64(0)
		for _, token := range rapid.SliceOf(rapid.Uint64Range(1, 9)).Draw(t, "tokens") {
			admitted := g.Admit(token) == nil
			if admitted != (token >= highest) {
				t.Fatalf("token %d after %d: admitted %v", token, highest, admitted)
			}
			highest = max(highest, token)
		}
	})
}

// Writes of many leaders at once: the token that the resource holds never
// decreases, because look and write are one step; and a write's error is
// returned.
func TestGuardDoIsOneStep(t *testing.T) {
	var (
		g    Guard
		last uint64 // what the resource holds; the guard is its only lock
		wg   sync.WaitGroup
	)
	for token := uint64(1); token <= 8; token++ {
		wg.Go(func() {
			for range 200 {
				err := g.Do(token, func() error {
					if last > token {
						t.Errorf("token %d wrote after token %d", token, last)
					}
					last = token
					return nil
				})
				var stale *StaleError
				if err != nil && !errors.As(err, &stale) {
					t.Errorf("token %d: %v", token, err)
				}
			}
		})
	}
	wg.Wait()
	if last != 8 {
		t.Errorf("the last token is %d", last)
	}
	if err := g.Do(8, func() error {
		if g.mu.TryLock() {
			t.Error("another token could pass during the write")
			g.mu.Unlock()
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	failure := errors.New("disk full")
	if err := g.Do(9, func() error { return failure }); !errors.Is(err, failure) {
		t.Errorf("the write's error became %v", err)
	}
}

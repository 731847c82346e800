package elector_test

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
)

// An election costs one goroutine at the most: that of a caller who waits. A term
// that somebody holds costs none. A program may have a thousand of them.
func TestOneGoroutineForEachElection(t *testing.T) {
	inBubble(t, func(b *bench) {
		term := b.campaign(b.elector("leader"))
		const followers = 20
		for range followers {
			defer b.run(b.elector("follower"))() //nolint:errcheck // it has no fatal error
		}
		synctest.Wait()
		if n := goroutines(); n != followers {
			t.Errorf("%d goroutines for %d elections that are followed, and one that is led", n, followers)
		}
		b.resign(term)
	})
}

// goroutines counts those of the test's bubble in which the elector's own code is. One
// of a test before may still be on its way out.
func goroutines() int {
	text := make([]byte, 1<<22)
	text = text[:runtime.Stack(text, true)]
	n := 0
	for one := range strings.SplitSeq(string(text), "\n\n") {
		if strings.Contains(one, "synctest bubble") && strings.Contains(one, "recount/elector.") {
			n++
		}
	}
	return n
}

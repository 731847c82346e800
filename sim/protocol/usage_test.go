package protocol

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// A process reports what it consumes once in every period, and no longer than it
// should.
func TestUsages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 3*UsagePeriod+UsagePeriod/2)
		defer stop()
		begin := time.Now()
		reports := 0
		Usages(ctx, func(goroutines, _ int64) {
			reports++
			if at := time.Since(begin); at != time.Duration(reports)*UsagePeriod || goroutines < 1 {
				t.Errorf("at %v: %d goroutines", at, goroutines)
			}
		})
		if reports != 3 {
			t.Errorf("reported %d times in 3.5 periods", reports)
		}
	})
}

// What a process holds is seen, and nothing that it has let go: goroutines at
// once, memory when the garbage has been collected.
func TestOwnUsage(t *testing.T) {
	runtime.GC()
	goroutines, heap := OwnUsage()
	end := make(chan struct{})
	defer close(end)
	for range 100 {
		go func() { <-end }()
	}
	held := make([]byte, 64<<20)
	garbage := make([]byte, 64<<20)
	runtime.KeepAlive(garbage)
	runtime.GC()
	moreGoroutines, moreHeap := OwnUsage()
	runtime.KeepAlive(held)
	if more := moreGoroutines - goroutines; more < 90 {
		t.Errorf("100 goroutines more are seen as %d", more)
	}
	if more := moreHeap - heap; more < 60<<20 || more > 70<<20 {
		t.Errorf("64 MiB more are seen as %d bytes", more)
	}
}

package elector

import (
	"testing"
	"time"
)

// On this machine, too, the answer is the kernel's, and costs no allocation.
func TestBootTimeIsTheKernels(t *testing.T) {
	var kernel kernelClocks
	trusted := 0
	for range 100_000 {
		earliest := kernel.boot()
		now := int64(bootTime())
		latest := kernel.boot()
		if now < earliest-2*noise-narrow || now > latest {
			t.Fatalf("%v; the kernel says %v before and %v after", time.Duration(now), time.Duration(earliest), time.Duration(latest))
		}
		if r, ok := kernel.read(); ok {
			if _, ok := machineClock.at(r); ok {
				trusted++
			}
		}
	}
	if trusted < 50_000 {
		t.Errorf("only %d of 100000 readings were trusted: most answers cost a system call", trusted)
	}
	if n := testing.AllocsPerRun(10_000, func() { bootTime() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// The first year for which package time keeps a monotonic reading is the one
// that it is taken for, and so is the last.
func TestFirstMonotonic(t *testing.T) {
	if got := time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix(); got != firstMonotonic {
		t.Errorf("1885 begins at %d, not at %d", got, int64(firstMonotonic))
	}
	if end := time.Unix(firstMonotonic+1<<33, 0).UTC(); end.Year() != 2157 {
		t.Errorf("monotonic readings end in %d", end.Year())
	}
}

package redismodel

import (
	"testing"
	"time"
)

const benchNow = 1_700_000_000 * time.Second

// BenchmarkDo is what single commands cost.
func BenchmarkDo(b *testing.B) {
	for _, bench := range []struct {
		name string
		args []string
	}{
		{"GET", []string{"GET", "lease"}},
		{"SET", []string{"SET", "lease", "value"}},
		{"SET-NX-PX", []string{"SET", "lease", "value", "NX", "PX", "3000"}},
		{"SET-PX", []string{"SET", "other", "value", "PX", "3000"}},
		{"PEXPIRE", []string{"PEXPIRE", "lease", "3000"}},
		{"INCR", []string{"INCR", "counter"}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s := New(Options{})
			s.Do(benchNow, "SET", "lease", "value")
			b.ReportAllocs()
			now := benchNow
			for b.Loop() {
				now += time.Millisecond
				if s.Do(now, bench.args...).Failed() {
					b.Fatal("it failed")
				}
			}
		})
	}
	b.Run("literals", func(b *testing.B) {
		s := New(Options{})
		b.ReportAllocs()
		for b.Loop() {
			s.Do(benchNow, "GET", "lease")
		}
	})
}

// BenchmarkRun is what the election's scripts cost.
func BenchmarkRun(b *testing.B) {
	lease, value := "{billing}:lease", "r1 1 a n1"
	for _, bench := range []struct {
		name   string
		script *Script
		keys   []string
		args   []string
		want   int64
	}{
		{"Acquire-refused", Acquire, []string{lease, "counter", "guard", "candidates", "terms", "witness"}, []string{"n2", "b", "3000", "0", "wake", "1", "1", "0", "3000", "", ""}, 0},
		{"Acquire-refused-audit", Acquire, []string{lease, "counter", "guard", "candidates", "terms", "witness", "audit"}, []string{"n2", "b", "3000", "0", "wake", "1", "1", "0", "3000", "", ""}, 0},
		{"Renew", Renew, []string{lease, "guard", "witness"}, []string{value, "3000", "a", "1", "1", ""}, 1},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s := New(Options{})
			s.Do(benchNow, "SET", lease, value, "PX", "3000")
			s.Load(bench.script)
			b.ReportAllocs()
			for b.Loop() {
				r := s.Run(benchNow, bench.script, bench.keys, bench.args)
				if r.Kind == Array {
					r = r.Items[0]
				}
				if r.Kind != Int || r.Int != bench.want {
					b.Fatal(r)
				}
			}
		})
	}
}

package live

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestVigil shows when a server is taken to be hurt: when answers have been late, or
// errors, for long enough at a stretch, or for most of a longer time; and not before.
func TestVigil(t *testing.T) {
	const ms = time.Millisecond
	limits := Limits{Factor: 10, Floor: 100 * ms, After: time.Second}
	var before []time.Duration
	for range steadyAnswers {
		before = append(before, ms)
	}
	steady := limits.steadyOf(before)
	if steady.P50 != ms || steady.P99 != ms || steady.Limit != 110*ms {
		t.Fatalf("the steady state is %+v", steady)
	}
	broken := errors.New("connection refused")
	fast := func(n int) []any {
		var all []any
		for range n {
			all = append(all, ms)
		}
		return all
	}
	repeat := func(n int, of ...any) (all []any) {
		for range n {
			all = append(all, of...)
		}
		return all
	}
	for _, test := range []struct {
		name string
		seen []any // a time that an answer took, or an error
		want string
	}{
		{"as before", fast(1000), ""},
		{"at the limit", repeat(1000, 110*ms), ""},
		{"one late answer", append(fast(9), 900*ms), ""},
		{"late now and then", repeat(20, append(fast(30), 200*ms)...), ""},
		{"three in a row", repeat(30, append(fast(60), 200*ms, 200*ms, 200*ms)...), ""},
		{"four in a row", repeat(4, 200*ms), "each answer of the Redis was later than 110ms for 1s at a stretch, the last by 90ms; before the run 99% of its answers took at most 1ms"},
		{"silence", []any{1100 * ms}, "each answer of the Redis was later than 110ms for 1.1s"},
		{"errors in a row", repeat(4, broken), "the Redis gave no answer for 1s (connection refused)"},
		{"an error now and then", repeat(20, append(fast(30), broken)...), ""},
		{"every other answer", repeat(10, ms, 200*ms), "for 2s of 10s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := &vigil{limits: limits, steady: steady}
			why, at := "", time.Duration(0)
			for _, one := range test.seen {
				took, late := one.(time.Duration)
				var err error
				if !late {
					err = one.(error)
				}
				at += max(probeEvery, took)
				if why = v.see(at, took, err); why != "" {
					break
				}
			}
			if (why == "") != (test.want == "") || !strings.Contains(why, test.want) {
				t.Errorf("it says %q, want %q", why, test.want)
			}
		})
	}
}

// TestLimitsThatMakeNoSense shows that limits that would stop every run, or none, are
// refused.
func TestLimitsThatMakeNoSense(t *testing.T) {
	for want, change := range map[string]func(*Limits){
		"factor": func(l *Limits) { l.Factor = 0.5 },
		"floor":  func(l *Limits) { l.Floor = -1 },
		"after":  func(l *Limits) { l.After = 10 * time.Millisecond },
	} {
		l := DefaultLimits()
		change(&l)
		if err := l.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want a word on %s", l, err, want)
		}
	}
	if err := DefaultLimits().Validate(); err != nil {
		t.Error(err)
	}
}

package redismodel

import (
	"testing"
	"time"
)

// A lease is acquired, refused to another, renewed and released, as the
// scripts do it.
func TestLease(t *testing.T) {
	s := New(Options{})
	keys := electionKeys[:6]
	now := 1_700_000_000 * time.Second
	if r := s.Run(now, Acquire, keys, []string{"n1", "a", "3000", "0", "wake", "1", "0", "0", "3000", "", ""}); r.String() != "(error) "+errNoScript {
		t.Error(r)
	}
	for _, test := range []struct {
		at     time.Duration
		script *Script
		args   []string
		want   string
	}{
		{0, Acquire, []string{"n1", "a", "3000", "0", "wake", "1", "0", "0", "3000", "", ""}, `[(integer) 1 "1" (integer) 0 "" (integer) 0]`},
		{time.Second, Acquire, []string{"n2", "b", "3000", "0", "wake", "1", "0", "0", "3000", "", ""}, `[(integer) 0 "1" "n1" (integer) 2000 (integer) 0 (integer) 0 (integer) 0]`},
		{2 * time.Second, Renew, []string{"r1 1 a n1", "3000", "a", "2", "1", "0"}, `(integer) 1`},
		{2 * time.Second, Leader, nil, `["1" "n1" (integer) 3000 "" (integer) 0]`},
		{5 * time.Second, Leader, nil, `["1" "n1" (integer) 0 "" (integer) 0]`},
		{5*time.Second + time.Millisecond, Renew, []string{"r1 1 a n1", "3000", "a", "2", "1", "0"}, `(integer) 0`},
		{6 * time.Second, Acquire, []string{"n2", "b", "3000", "9", "wake", "1", "0", "0", "3000", "", ""}, `[(integer) 1 "10" (integer) 0 "" (integer) 0]`},
		{6 * time.Second, Release, []string{"r1 10 b n2", "wake", "b", "2", "10", "", "0", "n2", "3000", "0", "3000", "0"}, `(integer) 1`},
		{6 * time.Second, Leader, nil, `[]`},
	} {
		keys := keys
		if test.script != Acquire {
			keys = []string{leaseKey, guardKey, candidatesKey, termsKey, counterKey, witnessKey}
		}
		if test.script == Renew {
			keys = []string{leaseKey, guardKey, witnessKey}
		}
		if got := s.Eval(now+test.at, test.script, keys, test.args).String(); got != test.want {
			t.Errorf("%v %s: %s, want %s", test.at, test.script.Name, got, test.want)
		}
	}
}

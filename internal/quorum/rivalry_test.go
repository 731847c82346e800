package quorum_test

import (
	"testing"
	"time"

	"github.com/recount-io/recount/internal/quorum"
)

const second = time.Second

// refused is what came of an attempt on five nodes: each holds "a" or "b" for
// ten seconds, withholds the lease ("-"), had granted it and is freed ("f"), or
// said nothing (".").
func refused(nodes string) *quorum.Refused {
	r := &quorum.Refused{Denials: make([]*quorum.Denial, len(nodes)), Freed: make([]bool, len(nodes))}
	for n, c := range nodes {
		switch c {
		case 'f':
			r.Freed[n] = true
		case '-':
			r.Denials[n] = &quorum.Denial{Withheld: true, Remaining: 20 * second}
		case '.':
		default:
			r.Denials[n] = &quorum.Denial{Holder: string(c), Token: uint64(c), Remaining: time.Duration(10+n) * second}
		}
	}
	return r
}

// TestStrongest shows who counts as the strongest rival: who holds the most
// nodes, unless most of them are nobody's.
func TestStrongest(t *testing.T) {
	for nodes, want := range map[string]quorum.Rival{
		"aabff": {Holder: "a", Token: 'a', Nodes: 2},
		"abbff": {Holder: "b", Token: 'b', Nodes: 2},
		"abfff": {Holder: "a", Token: 'a', Nodes: 1},
		"fff..": {},
		"-----": {},
		"---aa": {}, // most of the nodes are nobody's
		"--aaa": {Holder: "a", Token: 'a', Nodes: 3},
	} {
		if got := refused(nodes).Strongest(); got != want {
			t.Errorf("%s: %+v, want %+v", nodes, got, want)
		}
	}
}

// TestNext shows how long an attempt that was refused waits: for a leader until
// most nodes can be free, and for other triers not at all, but for a pause that
// is longer each time.
func TestNext(t *testing.T) {
	type step struct {
		nodes  string
		now    time.Duration
		wait   time.Duration
		splits int
	}
	for name, steps := range map[string][]step{
		"a leader":                            {{"aaaaa", 0, 12 * second, 0}, {"aaaaa", 5 * second, 7 * second, 0}, {"aaaaa", 20 * second, 0, 0}},
		"a leader of a bare majority":         {{"aaaff", 0, 10 * second, 0}},
		"triers":                              {{"aabbf", 0, 0, 1}, {"aabbf", 0, 0, 2}, {"aabff", 0, 0, 3}},
		"a leader ends a row of splits":       {{"aabbf", 0, 0, 1}, {"aaaaa", 0, 12 * second, 0}, {"aabbf", 0, 0, 1}},
		"perhaps a leader, if it is so twice": {{"aa..f", 0, 0, 1}, {"aa..f", 0, 11 * second, 0}},
		"perhaps two triers":                  {{"aa..f", 0, 0, 1}, {"bb..f", 0, 0, 2}},
		"nodes that grant nothing":            {{"---ff", 0, 20 * second, 1}},
	} {
		var v quorum.Rivalry
		for i, s := range steps {
			r := refused(s.nodes)
			if wait, splits := v.Next(r, s.now); wait != s.wait || splits != s.splits {
				t.Errorf("%s, attempt %d, %s: wait %v, %d splits; want %v, %d", name, i, s.nodes, wait, splits, s.wait, s.splits)
			}
		}
	}
}

// TestWindow shows that the window of the pause doubles with each split, and
// stays between a nanosecond and a quarter of the lease.
func TestWindow(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		splits            int
		took, lease, want time.Duration
	}{
		{1, 0, second, 2 * ms}, {1, ms, second, 4 * ms}, {3, ms, second, 16 * ms}, {9, ms, second, 250 * ms}, {1000, ms, time.Hour, 4096 * ms}, {1, ms, 0, 1},
	} {
		if got := quorum.Window(c.splits, c.took, c.lease); got != c.want {
			t.Errorf("after %d splits of %v, lease %v: %v, want %v", c.splits, c.took, c.lease, got, c.want)
		}
	}
}

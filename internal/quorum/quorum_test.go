package quorum_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/recount-io/recount/internal/quorum"
)

// What so many agreements, denials, silences and fatal errors of five nodes mean.
func TestOutcomes(t *testing.T) {
	const o, d, n, l, u = quorum.Open, quorum.Done, quorum.Denied, quorum.Lost, quorum.Undecided
	for verdicts, want := range map[string]struct{ renewed, released quorum.Outcome }{
		".....": {o, o}, "yy...": {o, o}, "yyy..": {d, d}, "nn...": {o, o}, "nnn..": {n, n}, "yynnn": {n, n},
		"hhh..": {l, l}, "yyhh.": {o, o}, "yyhhs": {u, u}, "yynss": {u, d}, "yyn..": {o, o}, "ynsss": {u, u}, "yysss": {u, u},
	} {
		var list []quorum.Verdict
		for _, v := range verdicts {
			list = append(list, map[rune]quorum.Verdict{
				'.': quorum.Waiting, 'y': quorum.Yes, 'n': quorum.No, 's': quorum.Silent, 'h': quorum.Hopeless,
			}[v])
		}
		renewed, released := quorum.Renewed(list), quorum.Released(list)
		if renewed != want.renewed || released != want.released {
			t.Errorf("%s: renewed %d, released %d; want %+v", verdicts, renewed, released, want)
		}
	}
}

// What an attempt does next when nodes have granted these tokens: 0 has not
// answered, -1 is held by somebody else.
func TestDecide(t *testing.T) {
	for _, test := range []struct {
		granted [5]int
		late    bool
		step    quorum.Step
		token   uint64
	}{
		{[5]int{0, 0, 0, 0, 0}, false, quorum.Wait, 0},
		{[5]int{4, 4, 0, 0, 0}, false, quorum.Wait, 0},
		{[5]int{4, 4, 4, 0, 0}, false, quorum.Win, 4},
		{[5]int{4, 4, 7, 0, 0}, false, quorum.Hurry, 0},
		{[5]int{4, 4, 7, 0, 0}, true, quorum.Align, 7},
		{[5]int{4, 4, 7, -1, -1}, false, quorum.Align, 7},
		{[5]int{4, 5, 6, 7, 0}, false, quorum.Align, 7},
		{[5]int{4, 4, -1, -1, -1}, false, quorum.Fail, 0},
		{[5]int{4, 4, -1, -1, 0}, true, quorum.Wait, 0},
	} {
		c := quorum.NewClaim(5)
		a := &quorum.Attempt{Verdicts: make([]quorum.Verdict, 5), Tokens: make([]uint64, 5), Late: test.late}
		for n, token := range test.granted {
			switch {
			case token > 0:
				c.Granted(n, uint64(token), 0)
				a.Verdicts[n], a.Tokens[n] = quorum.Yes, uint64(token)
			case token < 0:
				a.Verdicts[n] = quorum.No
			}
		}
		if step, token := c.Decide(a); step != test.step || token != test.token {
			t.Errorf("%v, late %v: step %d, token %d; want %d, %d", test.granted, test.late, step, token, test.step, test.token)
		}
	}
}

// Which nodes count for a term, and what a renewal asks of each: those that
// granted the token; those that hold a larger one only if a majority held the
// lease all the while.
func TestClaim(t *testing.T) {
	const ttl = 10 * time.Second
	c := quorum.NewClaim(5)
	c.TTL = ttl
	for n := range 3 {
		c.Granted(n, 4, 0)
	}
	c.Granted(3, 9, 0)
	c.Won(4, 0, 0)
	moves := func(now time.Duration) (text string) {
		for n := range c.Nodes {
			text += [...]string{"renew ", "mend ", "remend ", "pass "}[c.Move(n, now)]
		}
		return text
	}
	for _, test := range []struct {
		do   func()
		now  time.Duration
		want string
	}{
		{func() {}, ttl / 2, "renew renew renew renew mend "},
		{func() {}, ttl, "renew renew renew renew pass "}, // nobody knows who led meanwhile
		{func() { c.Lost(0, 4, ttl/2) }, ttl / 2, "pass renew renew renew mend "},
		{func() { c.Sent = ttl / 2 }, ttl / 2, "mend renew renew renew mend "},
		{func() { c.Granted(0, 12, ttl/2) }, ttl / 2, "renew renew renew renew mend "},
		{func() { c.Granted(4, 2, ttl/2) }, ttl / 2, "renew renew renew renew remend "},
		{func() { c.Drop(4); c.Granted(4, 2, ttl/2) }, ttl / 2, "renew renew renew renew mend "},
	} {
		test.do()
		if got := moves(test.now); got != test.want {
			t.Errorf("at %v: %s; want %s", test.now, got, test.want)
		}
	}
}

// A grant is news when a majority has announced it, a release when a majority is
// free; each of them once.
func TestAnnounced(t *testing.T) {
	a := quorum.NewAnnounced(3)
	var heard []string
	granted := func(n int, token uint64) { heard = append(heard, fmt.Sprint(a.Granted(n, token))) }
	released := func(n int, token uint64) {
		usual, news := a.Released(n, token)
		heard = append(heard, fmt.Sprint(usual, news))
	}
	granted(0, 5)
	granted(0, 5)
	granted(1, 5)
	granted(2, 5)
	released(0, 5)
	released(1, 5)
	released(2, 6)
	a.Forget(0)
	a.Forget(1)
	granted(2, 7)
	released(0, 7)
	released(2, 7)
	want := "[false false true false 0 false 5 true 0 false false 0 false 7 true]"
	if got := fmt.Sprint(heard); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

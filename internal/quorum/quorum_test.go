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
	for verdicts, want := range map[string]quorum.Outcome{
		".....": o, "yy...": o, "yyy..": d, "nn...": o, "nnn..": n, "yynnn": n,
		"hhh..": l, "yyhh.": o, "yyhhs": u, "yynss": u, "yyn..": o, "ynsss": u, "yysss": u,
	} {
		var list []quorum.Verdict
		for _, v := range verdicts {
			list = append(list, map[rune]quorum.Verdict{
				'.': quorum.Waiting, 'y': quorum.Yes, 'n': quorum.No, 's': quorum.Silent, 'h': quorum.Hopeless,
			}[v])
		}
		if got := quorum.Renewed(list); got != want {
			t.Errorf("%s: outcome %d, want %d", verdicts, got, want)
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
		{func() { c.Drop(4, 2); c.Granted(4, 2, ttl/2) }, ttl / 2, "renew renew renew renew mend "},
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

// More than half are a majority, of an even number too; and two majorities of the
// same nodes have one in common.
func TestSize(t *testing.T) {
	for nodes, want := range map[int]int{1: 1, 2: 2, 3: 2, 4: 3, 5: 3, 6: 4, 7: 4} {
		if size, rest := quorum.Size(nodes), quorum.Minority(nodes); size != want || size+rest != nodes {
			t.Errorf("of %d nodes %d are a majority and %d may be lost; want %d", nodes, size, rest, want)
		}
	}
}

// The usual token is that of the most nodes, and of a tie the smallest.
func TestUsual(t *testing.T) {
	for _, test := range []struct {
		tokens []uint64
		want   uint64
	}{{[]uint64{9, 4, 9}, 9}, {[]uint64{4, 9, 4}, 4}, {[]uint64{9, 4}, 4}, {[]uint64{9, 9, 4, 4, 1}, 4}} {
		name := fmt.Sprint(test.tokens)
		if token := quorum.Usual(test.tokens); token != test.want {
			t.Errorf("%s: %d, want %d", name, token, test.want)
		}
	}
}

// What is done for a nonce that has a term already: it is won again by the nodes
// that count, whatever their tokens, and never given back.
func TestDecideForATerm(t *testing.T) {
	const y, n, w = quorum.Yes, quorum.No, quorum.Waiting
	for _, test := range []struct {
		verdicts []quorum.Verdict
		late     bool
		step     quorum.Step
		token    uint64
	}{
		{[]quorum.Verdict{y, y, w, y, w}, false, quorum.Win, 4}, // node 3 holds 9, and counts
		{[]quorum.Verdict{y, w, w, w, w}, true, quorum.Wait, 0},
		{[]quorum.Verdict{y, n, n, n, w}, false, quorum.Hurry, 0},
		{[]quorum.Verdict{y, n, n, n, w}, true, quorum.Refuse, 0},
		{[]quorum.Verdict{y, n, n, n, n}, false, quorum.Refuse, 0},
	} {
		c := term(10 * time.Second)
		c.Granted(3, 9, 0)
		a := &quorum.Attempt{Verdicts: test.verdicts, Tokens: []uint64{4, 4, 4, 9, 4}, Late: test.late}
		if step, token := c.Decide(a); step != test.step || token != test.token {
			t.Errorf("%v, late %v: step %d, token %d; want %d, %d", test.verdicts, test.late, step, token, test.step, test.token)
		}
	}
}

// term is a claim that was won with token 4 on the nodes 0, 1 and 2 of five.
func term(ttl time.Duration) quorum.Claim {
	c := quorum.NewClaim(5)
	c.TTL = ttl
	for n := range 3 {
		c.Granted(n, 4, 0)
	}
	c.Won(4, 0, 0)
	return c
}

// What a node has lost is the token that it was asked for; another term's nodes
// do not count.
func TestWhatCounts(t *testing.T) {
	c := term(10 * time.Second)
	if c.Lost(0, 3, 0); !c.Counts(0, 4) {
		t.Error("a node has lost what it was not asked for")
	}
	c.Granted(1, 9, 0)
	c.Won(9, time.Second, time.Second)
	for n, want := range []bool{false, true, false} {
		if got := c.Counts(n, 4) || c.Counts(n, 9); got != want {
			t.Errorf("node %d counts for the next term: %v, want %v", n, got, want)
		}
	}
}

// With which token a node is to release, and whether the node counts: a release that may
// have been lost is repeated, a grant that counts for a term is spared unless the term is
// meant, and a larger token that was granted too late does not count.
func TestTokenOfARelease(t *testing.T) {
	c := term(10 * time.Second)
	if _, owed, _ := c.Release(0, 4, false, false); owed || !c.Counts(0, 4) {
		t.Error("a node of the term was released for another lease")
	}
	if token, _, counts := c.Release(0, 4, true, false); token != 4 || !counts || c.Counts(0, 4) {
		t.Errorf("token %d, counts %v; want 4, true, and that it does not count afterwards", token, counts)
	}
	c.Granted(3, 9, time.Second)
	if token, _, counts := c.Release(3, 4, true, false); token != 9 || !counts {
		t.Errorf("token %d, counts %v for a node that was mended in time; want 9, true", token, counts)
	}
	c.Granted(4, 9, time.Minute)
	if token, _, counts := c.Release(4, 4, true, false); token != 9 || counts {
		t.Errorf("token %d, counts %v for a node that was mended too late; want 9, false", token, counts)
	}
	c = quorum.NewClaim(5)
	c.Granted(0, 7, 0)
	if first, again := c.Drop(0, 7), c.Drop(0, 7); first != 7 || again != 7 {
		t.Errorf("dropped with %d and %d, want 7 both times", first, again)
	}
	if token, _, counts := c.Release(0, 4, false, false); token != 7 || counts {
		t.Errorf("released with token %d, counts %v; want 7, whose release may have been lost, and false", token, counts)
	}
	if token, _, counts := c.Release(0, 4, false, true); token != 4 || !counts {
		t.Errorf("released with token %d, counts %v while an attempt is under way; want 4, true", token, counts)
	}
}

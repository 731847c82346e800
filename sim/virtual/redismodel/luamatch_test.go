package redismodel

import (
	"testing"

	"pgregory.net/rapid"
)

// matching returns all that string.match does.
const matching = `
local out = {string.match(ARGV[1], ARGV[2])}
for i = 1, #out do out[i] = out[i] or 'nothing' end
return out`

var (
	someItems  = []string{"a", "1", " ", "x", "%d", "%S", "%w", "%a", "%s", "%p", "%x", "%u", "%l", "%c", "%D", "%.", "%%", ".", "[ab]", "[^ab]", "[%d-x]", "[1-3]", "[]a]", "[a-]", "[^%s]", "$", "]", "-"}
	someCounts = []string{"", "", "", "*", "+", "?", "-"}
	someWords  = []string{"", "a", "1", "abc 123", "r1 17 nonce/1 n1", "a1b2c3", "xxxx", "  x", "A-Z.%", "\x00a\xff]", "run_id:abc\r\nx", "$1-", "aab]b"}
)

// drawPattern draws a pattern, of which a few are wrong.
func drawPattern(t *rapid.T) string {
	text := pick(t, []string{"", "", "^"})
	for range rapid.IntRange(0, 4).Draw(t, "items") {
		item := pick(t, someItems) + pick(t, someCounts)
		switch pick(t, []string{"plain", "plain", "capture", "two", "odd"}) {
		case "capture":
			item = "(" + item + ")"
		case "two":
			item = "(" + item + pick(t, someItems) + pick(t, someCounts) + ")"
		case "odd":
			item += pick(t, []string{"", "()", "(", ")", "%", "%b()", "%1", "[", "((a)b)"})
		}
		text += item
	}
	return text + pick(t, []string{"", "", "$"})
}

// string.match finds what it finds on a real server, with every pattern that is
// not left to the interpreter.
func TestLuaMatch(t *testing.T) {
	real := startReal(t)
	server, common, found := New(Options{}), 0, 0
	rapid.Check(t, func(t *rapid.T) {
		word, pattern := pick(t, someWords)+pick(t, someWords), drawPattern(t)
		want, got := real.do(t, "EVAL", matching, "0", word, pattern), server.Do(benchNow, "EVAL", matching, "0", word, pattern)
		if !commonPattern(pattern) {
			return // what is rare or wrong is the interpreter's
		}
		common++
		if len(want.Items) > 0 && want.Items[0].Text != "nothing" {
			found++
		}
		if got.String() != want.String() {
			t.Errorf("%q in %q: %v, on a real server %v", pattern, word, got, want)
		}
	})
	if common == 0 || found == 0 {
		t.Errorf("%d common patterns were drawn, of which %d match: nothing was compared", common, found)
	}
}

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/sim/live/inspection"
)

// allow makes a user of a server by a rule as chaos acl prints it.
func allow(t *testing.T, admin *redis.Client, rule string) {
	t.Helper()
	do(t, admin, strings.Replace(rule, "PASSWORD", secret, 1))
}

// With the rule that chaos acl prints, and nothing else, scenarios run: with the elector
// of this project, and with those of others. The server never had to refuse anything.
func TestRuleIsEnough(t *testing.T) {
	withoutRace(t)
	t.Parallel()
	address := startRedis(t)
	admin := client(t, address)
	printed := chaos(t, t.Context(), nil, "acl", "--user", "tester", "--prefix", "mine:")
	if printed.status != statusKept || !strings.HasPrefix(printed.out, "ACL SETUSER tester reset on >PASSWORD ~mine:run-* &mine:run-* +info ") {
		t.Fatalf("status %d: %s%s", printed.status, printed.out, printed.errors)
	}
	allow(t, admin, printed.out)
	for _, args := range [][]string{{"partition-leader", "crash-leader"}, {"resign-leader", "--subject", "titan"}, {"resign-leader", "--subject", "honua"}} {
		args = append(append([]string{"run"}, args...), "--prefix", "mine:", "--redis", "redis://tester:"+secret+"@"+address+"/1")
		r := chaos(t, t.Context(), nil, append(args, small(t.TempDir())...)...)
		if r.status == statusUsage || r.status == statusFailed {
			t.Errorf("%v: status %d\n%s%s", args, r.status, r.out, r.errors)
		}
	}
	if denied := do(t, admin, "ACL LOG"); len(denied.([]any)) > 0 {
		t.Errorf("the server refused %v", denied)
	}
	if keys := do(t, admin, "INFO keyspace"); strings.Contains(fmt.Sprint(keys), "db1") {
		t.Errorf("keys are left: %v", keys)
	}
}

// Without any part of the rule a user is refused before anything is started.
func TestRuleIsNeeded(t *testing.T) {
	withoutRace(t)
	t.Parallel()
	address := startRedis(t)
	admin := client(t, address)
	words := strings.Fields(inspection.Rule("tester", "recount:", false))
	parts := 0
	for i, word := range words {
		if !strings.ContainsAny(word[:1], "+~&") {
			continue
		}
		parts++
		allow(t, admin, strings.Join(slices.Delete(slices.Clone(words), i, i+1), " "))
		r := chaos(t, t.Context(), nil, "run", "steady", "--redis", "redis://tester:"+secret+"@"+address+"/1", "--out", t.TempDir())
		want := strings.ToUpper(strings.ReplaceAll(word[1:], "|", " "))
		switch word[0] {
		case '~':
			want = "keys that begin with recount:run-"
		case '&':
			want = "channels that begin with recount:run-"
		}
		t.Run(word, func(t *testing.T) { refused(t, r, want) })
	}
	if parts < 30 {
		t.Errorf("the rule has %d parts: %v", parts, words)
	}
}

// What cannot stand in a rule is refused.
func TestRuleOfNobody(t *testing.T) {
	for _, args := range [][]string{{"--user", ""}, {"--user", "a b"}, {"--prefix", ""}, {"--prefix", "it's"}} {
		refused(t, chaos(t, t.Context(), nil, append([]string{"acl"}, args...)...), "blanks and quotes")
	}
}

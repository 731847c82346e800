package tamper_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim/virtual/redismodel"
	"github.com/recount-io/recount/sim/virtual/tamper"
)

const now = 1000 * time.Hour

// newElection is an election whose lease, if it has one, lasts for 2 s more.
func newElection(led bool) tamper.Election {
	s := redismodel.New(redismodel.Options{})
	e := tamper.Election{
		Do:    func(args ...string) redismodel.Reply { return s.Do(now, args...) },
		Lease: "lease", Counter: "token", Guard: "guard", Witness: "witness",
	}
	if led {
		e.Do("SET", "lease", "r1 7 nonce n1", "PX", "2000")
		e.Do("SET", "token", "7")
		e.Do("HSET", "witness", "of guard", "3600002000")
	}
	return e
}

// What is done is there to see, and said; where there is nothing to do it to, that
// is no effect.
func TestElection(t *testing.T) {
	for name, test := range map[string]struct {
		act   func(tamper.Election) (string, error)
		says  string
		ask   []string
		after string
	}{
		"shorten":     {func(e tamper.Election) (string, error) { return e.Shorten(500 * time.Millisecond) }, "lost 500", []string{"PTTL", "lease"}, "(integer) 1500"},
		"the witness": {func(e tamper.Election) (string, error) { return e.Shorten(500 * time.Millisecond) }, "2000 ms", []string{"HGET", "witness", "of guard"}, `"3600001500"`},
		"leap":        {func(e tamper.Election) (string, error) { return e.Shorten(time.Hour) }, "lost 2000", []string{"EXISTS", "lease"}, "(integer) 0"},
		"lengthen":    {func(e tamper.Election) (string, error) { return e.Shorten(-time.Second) }, "gained 1000", []string{"PTTL", "lease"}, "(integer) 3000"},
		"persist":     {tamper.Election.Persist, "no time to live", []string{"PTTL", "lease"}, "(integer) -1"},
		"delete":      {tamper.Election.Delete, "deleted", []string{"EXISTS", "lease"}, "(integer) 0"},
		"overwrite":   {tamper.Election.Overwrite, "overwritten", []string{"GET", "lease"}, `"` + faults.ForeignValue + `"`},
		"counter":     {tamper.Election.DeleteCounter, "counter's key was deleted", []string{"EXISTS", "token", "lease"}, "(integer) 1"},
		"flush":       {tamper.Election.Flush, "every key", []string{"DBSIZE"}, "(integer) 0"},
		"evict":       {tamper.Election.Evict, "evicted", []string{"EXISTS", "lease", "token"}, "(integer) 1"},
	} {
		e := newElection(true)
		evidence, err := test.act(e)
		if got := e.Do(test.ask...).String(); got != test.after || err != nil || !strings.Contains(evidence, test.says) {
			t.Errorf("%s: %q, %v, and then %v is %s, want %q and %s", name, evidence, err, test.ask, got, test.says, test.after)
		}
		if evidence, err := test.act(newElection(false)); !errors.Is(err, faults.ErrNoEffect) {
			t.Errorf("%s without an election: %q, %v", name, evidence, err)
		}
	}
}

// What a server has that an older one lacks is said, and nothing else.
func TestContent(t *testing.T) {
	for want, change := range map[string][]string{
		"":                                      {"PING"},
		"the lease lasts 1000 ms less":          {"PEXPIRE", "lease", "3000"},
		"the counter stood at 8 and is 7 again": {"SET", "token", "8"},
		"the lease was r1 8 nonce n2 and is r1 7 nonce n1 again": {"SET", "lease", "r1 8 nonce n2", "KEEPTTL"},
		"the counter stood at nothing and is 7 again":            {"DEL", "token"},
	} {
		e := newElection(true)
		older := e.Content()
		e.Do(change...)
		if got := e.Content().Lacks(older); got != want {
			t.Errorf("after %v: %q, want %q", change, got, want)
		}
	}
}

package crosscheck

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
)

// stories are small histories that were misjudged once, with what is right.
var stories = []struct {
	file string
	want truth
	why  string
}{
	{"nameless-attempts-pending", legal, "an acquire without a nonce that is under way stays its own node's"},
	{"nameless-attempts-and-an-observation", legal, "the same, with somebody who asks who leads"},
	{"no-tokens-no-nonces-pending", legal, "the same, without tokens"},
	{"release-by-nonce-then-grant", legal, "a release may name its attempt, and not its token"},
	{"release-by-nonce-then-nobody", legal, "the same: after it nobody leads"},
	{"release-by-nonce-in-a-record-that-ends", legal, "the same, and the record ends before it"},
	{"record-ends-before-a-lost-reply", legal, "what the record lacks may have come after its end"},
	{"record-ends-acquire", legal, "a record may end before the run does"},
	{"record-ends-release", legal, "the same"},
	{"record-ends-renew", legal, "the same"},
	{"two-grants-at-one-time", illegal, "whichever of the two came first, its lease was not over when the other one came"},
	{"refused-for-somebody-who-never-asked", illegal, "nobody holds a lease that was not asked for"},
	{"refused-for-another-unknown", illegal, "one lease is held at a time, whatever became of the lost replies"},
	{"released-then-seen", illegal, "a fault later on does not bring back what was released"},
	{"nameless-attempts-of-two", illegal, "what another node asked for without a nonce does not make its own lease last"},
	{"repeated-without-token-for-less", legal, "a repeated attempt may ask for less time, with tokens and without"},
	{"record-and-an-answer-between", badRecord, "the grant came so early, by the next entry, that the lease was held when nobody was said to lead"},
	{"record-invents", badRecord, "an entry is about a request that somebody sent"},
	{"record-loses", badRecord, "an entry is missing between others"},
	{"record-refuses-the-holder", badRecord, "by the record the lease was held"},
	{"record-turns", badRecord, "the record has an entry before one that was over when its request was sent"},
	{"two-ways-to-the-same", legal, "of two ways to the same end one is followed, and not neither"},
	{"asks-again-without-tokens", legal, "an attempt that asks again may have got a lease of its own: the first one was over"},
	{"asks-again-for-less", legal, "an attempt that asks again may get less time than it had"},
	{"asks-again-late", legal, "of two requests at one time the one that was sent first may come second"},
	{"lost-acquire-and-lost-release", legal, "a lost release may be of the lease that a lost acquire brought"},
	{"lost-renewal-for-less", legal, "a lost renewal may have given the lease less time"},
	{"lost-attempts-that-go-on", legal, "an attempt made twice brings a lease that lasts twice as long"},
	{"lost-attempts-that-go-on-too-long", illegal, "no answer names a lease that is over, whatever another attempt brought"},
	{"record-loses-the-first", badRecord, "a later token is in the record, so the record went on"},
	{"record-loses-without-tokens", badRecord, "after its last entry the lease was another's"},
	{"record-of-a-lost-reply", badRecord, "what the record says of a lost reply leaves no room for an answer"},
	{"record-grants-to-two", badRecord, "the same, and both are in the record"},
	{"refused-for-another-reason", legal, "an answer that says nothing of the lease says nothing of when it was written"},
	{"record-and-an-answer-that-moves-it", badRecord, "a lost acquire came after an answer that nobody leads, so the next grant came late"},
	{"record-ends-before-a-late-attempt", badRecord, "what the record lacks came after its end, so that its lease was not over yet"},
	{"record-contradicts-an-answer", badRecord, "the record says refused, and the answer was ok"},
}

// What was misjudged once is judged rightly, and the oracle knows what is right.
func TestStories(t *testing.T) {
	for _, s := range stories {
		t.Run(s.file, func(t *testing.T) {
			h := story(t, s.file)
			if got := truthOf(h, 20*budget); got != s.want {
				t.Errorf("the oracle says %v, right is %v: %s", got, s.want, s.why)
			}
			r := checker.Check(h, checker.Options{PorcupineCap: searchCap})
			f := found(r, checker.LeaseLinearizable)
			var good bool
			switch s.want {
			case legal:
				good = f.Verdict == checker.Pass
			case illegal:
				good = f.Verdict == checker.Fail
			default:
				good = f.Verdict != checker.Pass
			}
			if !good {
				t.Errorf("%v, it is %v (%s): %s\n%s", f.Verdict, s.want, s.why, f.Reason, partsOf(r))
			}
		})
	}
}

// The time that a check takes is bounded, however many outcomes are unknown.
func TestSlowIsCutOff(t *testing.T) {
	for _, name := range []string{"slow", "slow-too"} {
		if _, ok := check(story(t, name)); !ok {
			t.Errorf("%s took longer than %v + %v", name, searchCap, patience)
		}
	}
	for seed := range uint64(6) {
		d := &drawn{
			seed: seed + 1, size: large, clients: 3 + int(seed), elections: 1, ops: 600, ttl: 2 * time.Second, unknown: 0.35, lag: 100 * ms, slow: 0.1,
			think: time.Second, tokens: true, nonces: true, cut: 1,
		}
		h, _ := d.generate()
		r, ok := check(h)
		if !ok {
			t.Fatalf("%v took longer than %v + %v", d, searchCap, patience)
		}
		if w := judgeLease(r, mostlyGood); w != nil && !strings.HasPrefix(w.kind, "cut off") {
			t.Errorf("%v: %s (%s): %s", d, w.kind, w.parts, w.reason)
		}
	}
}

func story(t *testing.T, name string) *history.History {
	f, err := os.Open(filepath.Join("testdata", "stories", strings.TrimSuffix(name, ".jsonl")+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // it was only read
	h, err := history.Load(f)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

package wire_test

import (
	"testing"

	"github.com/recount-io/recount/sim/wire"
)

// queued is the answer within a transaction.
var queued = wire.Value{Kind: wire.Status, Text: "QUEUED"}

// A transaction that depends on what was seen before takes the lock only if it
// was free, and only then it is the lock. One that nothing depends on takes it
// from any holder.
func TestWatchedTransactions(t *testing.T) {
	type step struct {
		line  string
		reply wire.Value
	}
	take := []step{{"MULTI", okay}, {"SET lock a PX 2000", queued}, {"EXEC", list(okay)}}
	hashed := []step{{"MULTI", okay}, {"HSET lock owner a", queued}, {"PEXPIRE lock 2000", queued}, {"EXEC", list(number(1), number(1))}}
	refused := []step{{"MULTI", okay}, {"SET lock a PX 2000", queued}, {"EXEC", nothing}}
	for _, test := range []struct {
		name  string
		steps []step
		lock  string
		want  string
	}{
		{"free", append([]step{{"WATCH lock", okay}, {"GET lock", nothing}}, take...), "lock", "n1 acquire ok 2s"},
		{"free, as a hash", []step{{"WATCH lock", okay}, {"EXISTS lock", number(0)}, {"MULTI", okay}, {"HSET lock owner a", queued}, {"PEXPIRE lock 2000", queued}, {"EXEC", list(number(1), number(1))}},
			"lock", "n1 acquire ok 2s"},
		{"free, as a hash whose field is not there", append([]step{{"WATCH lock", okay}, {"HGET lock owner", nothing}}, hashed...), "lock", "n1 acquire ok 2s"},
		{"free, as a hash of which one other field is there", []step{{"WATCH lock", okay}, {"HGET lock owner", nothing}, {"MULTI", okay}, {"HSET lock owner a token 7", queued},
			{"PEXPIRE lock 2000", queued}, {"EXEC", list(number(1), number(1))}}, "lock", "n1 acquire ok 2s"},
		{"free, as a hash whose field is not there, and set alone", []step{{"WATCH lock", okay}, {"HEXISTS lock owner", number(0)}, {"MULTI", okay}, {"HSETNX lock owner a", queued},
			{"PEXPIRE lock 2000", queued}, {"EXEC", list(number(1), number(1))}}, "lock", "n1 renew fail 2s: the command did something else\nn1 acquire ok 2s"},
		{"free, as a hash of whose fields none is there", append([]step{{"WATCH lock", okay}, {"HMGET lock token owner", list(nothing, nothing)}}, hashed...), "lock", "n1 acquire ok 2s"},
		{"free, as an empty hash", append([]step{{"WATCH lock", okay}, {"HGETALL lock", list()}}, hashed...), "lock", "n1 acquire ok 2s"},
		{"taken, as a hash", append([]step{{"WATCH lock", okay}, {"HGET lock owner", bulk("b")}}, hashed...), "", ""},
		{"taken, as a hash of which all is asked", append([]step{{"WATCH lock", okay}, {"HGETALL lock", list(bulk("owner"), bulk("b"))}}, hashed...), "", ""},
		{"another field of a hash", append([]step{{"WATCH lock", okay}, {"HGET lock token", nothing}}, hashed...), "", ""},
		{"a hash of holders in which one is not", []step{{"WATCH lock", okay}, {"HGET lock n1", nothing}, {"MULTI", okay}, {"HSET lock n1 1", queued},
			{"PEXPIRE lock 2000", queued}, {"EXEC", list(number(1), number(1))}}, "", ""},
		{"taken meanwhile", append([]step{{"WATCH lock", okay}, {"GET lock", nothing}}, refused...), "lock", "n1 acquire fail 2s: the transaction was aborted"},
		{"taken", []step{{"WATCH lock", okay}, {"GET lock", bulk("b")}, {"UNWATCH", okay}}, "", ""},
		{"by force", append([]step{{"WATCH lock", okay}, {"GET lock", bulk("b")}}, take...), "", ""},
		{"watched no more", append([]step{{"WATCH lock", okay}, {"GET lock", nothing}, {"UNWATCH", okay}}, take...), "", ""},
		{"another key", append([]step{{"WATCH other", okay}, {"GET other", nothing}}, take...), "", ""},
		{"another database", []step{{"WATCH lock", okay}, {"GET lock", nothing}, {"MULTI", okay}, {"SELECT 1", queued}, {"SET lock a PX 2000", queued}, {"EXEC", list(okay, okay)}}, "", ""},
	} {
		p := newTape(wire.Options{})
		for _, s := range test.steps {
			p.do("n1", s.line, s.reply)
		}
		if got := p.ends(); got != test.want || p.lock.Key() != test.lock {
			t.Errorf("%s: the lock is %q, and there was %s\nwant %q and %s", test.name, p.lock.Key(), got, test.lock, test.want)
		}
	}
}

// Its holder's transaction that follows a look at the lock is a renewal, or a
// release.
func TestWatchedRenewal(t *testing.T) {
	p := newTape(wire.Options{Key: "lock"})
	p.do("n1", "SET lock a NX PX 2000", okay)
	p.ends()
	for line, want := range map[string]string{"PEXPIRE lock 3000": "n1 observe ok holder n1\nn1 renew ok 3s", "SET lock a PX 3000": "n1 observe ok holder n1\nn1 renew ok 3s"} {
		p.do("n1", "WATCH lock", okay)
		p.do("n1", "GET lock", bulk("a"))
		p.do("n1", "MULTI", okay)
		p.do("n1", line, queued)
		reply := list(okay)
		if line[0] == 'P' {
			reply = list(number(1))
		}
		p.do("n1", "EXEC", reply)
		if got := p.ends(); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// A lock that is a hash, of which each transaction looks at one field first, is read
// from its first grant on: what takes it, keeps it, is refused and gives it up.
func TestWatchedHash(t *testing.T) {
	p := newTape(wire.Options{})
	transaction := func(node string, owner, reply wire.Value, lines ...string) string {
		p.do(node, "WATCH lock", okay)
		p.do(node, "HGET lock owner", owner)
		p.do(node, "MULTI", okay)
		for _, line := range lines {
			p.do(node, line, queued)
		}
		p.do(node, "EXEC", reply)
		return p.ends()
	}
	for i, step := range []struct{ got, want string }{
		{transaction("n1", nothing, list(number(1), number(1)), "HSET lock owner a", "PEXPIRE lock 2000"), "n1 acquire ok 2s"},
		{transaction("n2", bulk("a"), list(number(0))), "n2 observe ok holder n1"},
		{transaction("n1", bulk("a"), list(number(1)), "PEXPIRE lock 3000"), "n1 observe ok holder n1\nn1 renew ok 3s"},
		{transaction("n1", bulk("a"), list(number(1)), "DEL lock"), "n1 observe ok holder n1\nn1 release ok"},
		{transaction("n2", nothing, list(number(1), number(1)), "HSET lock owner b", "PEXPIRE lock 2000"), "n2 observe ok\nn2 acquire ok 2s"},
		{transaction("n1", nothing, nothing, "HSET lock owner a", "PEXPIRE lock 2000"), "n1 observe ok\nn1 acquire fail 2s: the transaction was aborted"},
	} {
		if step.got != step.want {
			t.Errorf("step %d: %s\nwant %s", i+1, step.got, step.want)
		}
	}
	if e := p.lock.Understanding(); e.Wire.Understood != e.Wire.Operations {
		t.Error(e.Text)
	}
}

// The database that a transaction chooses is that of its next commands, and of
// what follows it, unless it was aborted.
func TestTransactionChoosesADatabase(t *testing.T) {
	for _, aborted := range []bool{false, true} {
		p := newTape(wire.Options{Key: "lock"})
		p.do("n1", "SET lock a NX PX 2000", okay) // in database 0
		p.do("n1", "MULTI", okay)
		p.do("n1", "SELECT 1", queued)
		p.do("n1", "DEL lock", queued)
		p.ends()
		reply, want := list(okay, number(1)), ""
		if aborted {
			reply, want = nothing, "n1 release ok"
		}
		p.do("n1", "EXEC", reply)
		p.do("n1", "DEL lock", number(1))
		if got := p.ends(); got != want {
			t.Errorf("aborted %v: %s, want %s", aborted, got, want)
		}
	}
}

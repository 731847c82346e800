package redismodel

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// named is a server of a name: those that replicate each other have different names.
func named(name string) *Server { return New(Options{Name: name}) }

// A replica has what its primary had executed a lag before; what it had not
// got when it is promoted is lost, though it was acknowledged.
func TestPromote(t *testing.T) {
	lag := 10 * time.Millisecond
	primary, replica := named("a"), named("b")
	a := acquireBy("n1", "x", "0", "0")
	primary.Eval(benchNow, a.script, a.keys, a.args)
	replica.Follow(primary, lag)
	if got := replica.Do(benchNow, "GET", leaseKey).Text; got != "r1 1 x n1" {
		t.Errorf("a new replica has no copy of the data: the lease is %q", got)
	}
	primary.Do(benchNow+time.Millisecond, "SET", "k", "1")
	primary.Do(benchNow+2*time.Millisecond, "SET", "k", "2")
	if got := primary.Do(benchNow+3*time.Millisecond, "WAIT", "1", "0"); got.Int != 0 {
		t.Errorf("WAIT counts a replica that has not got everything: %v", got)
	}
	if got := primary.Do(benchNow+12*time.Millisecond, "WAIT", "1", "0"); got.Int != 1 {
		t.Errorf("WAIT does not count a replica that has got everything: %v", got)
	}
	for _, test := range []struct {
		at   time.Duration
		want string
	}{{0, "(nil)"}, {11*time.Millisecond - 1, "(nil)"}, {11 * time.Millisecond, `"1"`}} {
		replica.Receive(benchNow + test.at)
		if got := replica.got(benchNow+test.at, "k"); got != test.want {
			t.Errorf("after %v the replica's key is %s, want %s", test.at, got, test.want)
		}
	}
	if got := replica.Do(benchNow, "SET", "k", "3").Text; got != errReadOnly {
		t.Errorf("a replica takes a write: %q", got)
	}
	replica.Promote()
	replica.Receive(math.MaxInt64)
	if got := replica.got(benchNow, "k"); got != `"1"` {
		t.Errorf("after the promotion the key is %s, want what had arrived", got)
	}
	// The old primary goes on, and gives out the token that the new one gives out too.
	release := releaseOf("r1 1 x n1")
	b, c := acquireBy("n2", "y", "0", "0"), acquireBy("n3", "z", "0", "0")
	for _, s := range []*Server{primary, replica} {
		s.Eval(benchNow, release.script, release.keys, release.args)
	}
	if got := outcome(primary.Eval(benchNow, b.script, b.keys, b.args)); got != `[1 "2" 0]` {
		t.Errorf("the isolated primary says %s", got)
	}
	if got := outcome(replica.Eval(benchNow, c.script, c.keys, c.args)); got != `[1 "2" 0]` {
		t.Errorf("the promoted replica says %s", got)
	}
	// When it comes back it loses what it acknowledged alone.
	primary.Follow(replica, lag)
	if got := primary.Do(benchNow, "GET", leaseKey).Text; got != "r1 2 z n3" {
		t.Errorf("the old primary follows, and its lease is %q", got)
	}
	if !primary.Replica() || replica.Replica() {
		t.Error("Replica is wrong about who follows whom")
	}
}

// A replica that is severed keeps what it has, and gets the rest when it
// follows again.
func TestSever(t *testing.T) {
	primary, replica := named("a"), named("b")
	replica.Follow(primary, time.Millisecond)
	primary.Do(benchNow, "SET", "k", "1")
	replica.Receive(benchNow + time.Second)
	primary.Do(benchNow+time.Second, "SET", "k", "2")
	replica.Sever()
	primary.Do(benchNow+2*time.Second, "SET", "k", "3")
	replica.Receive(benchNow + time.Hour)
	if got := replica.got(benchNow, "k"); got != `"1"` || !replica.Replica() {
		t.Errorf("severed, it has %s; a replica: %v", got, replica.Replica())
	}
	if got := primary.Do(benchNow+time.Hour, "WAIT", "1", "0"); got.Int != 0 {
		t.Errorf("WAIT counts a severed replica: %v", got)
	}
	replica.Follow(primary, time.Millisecond)
	replica.Receive(benchNow + time.Hour)
	if got := replica.got(benchNow, "k"); got != `"3"` {
		t.Errorf("following again, it has %s", got)
	}
	primary.Crash()
	primary.Restart(benchNow, true)
	if got := replica.got(benchNow, "k"); got != `"3"` {
		t.Errorf("its primary crashed, and it has %s", got)
	}
	primary.Do(benchNow, "SET", "k", "4")
	replica.Receive(math.MaxInt64)
	if got := replica.got(benchNow, "k"); got != `"3"` {
		t.Errorf("its primary came back, it does not follow it again, and has %s", got)
	}
	primary.Do(benchNow, "DEL", "k")
	replica.Follow(primary, time.Millisecond)
	if got := replica.got(benchNow, "k"); got != "(nil)" {
		t.Errorf("its primary came back empty, and it has %s", got)
	}
}

// A replica's replica follows it to another primary.
func TestChain(t *testing.T) {
	first, other, replica, second := named("a"), named("b"), named("c"), named("d")
	first.Do(benchNow, "SET", "k", "1")
	other.Do(benchNow, "SET", "k", "2")
	replica.Follow(first, 0)
	second.Follow(replica, 0)
	if got := second.got(benchNow, "k"); got != `"1"` {
		t.Errorf("the replica's replica has %s", got)
	}
	replica.Follow(other, 0)
	if got := second.got(benchNow, "k"); got != `"2"` {
		t.Errorf("the replica follows another primary, and its replica has %s", got)
	}
	other.Do(benchNow, "SET", "k", "3")
	replica.Receive(benchNow)
	second.Receive(benchNow)
	if got := second.got(benchNow, "k"); got != `"3"` {
		t.Errorf("what came later got to the replica's replica as %s", got)
	}
}

// A replica does not delete what has expired: it says that it is gone, until
// its primary tells it so, or the clock goes back.
func TestReplicaExpiry(t *testing.T) {
	primary, replica := named("a"), named("b")
	replica.Follow(primary, 0)
	primary.Do(benchNow, "SET", "k", "1", "PX", "1000")
	replica.Receive(benchNow)
	if got := replica.got(benchNow+time.Minute, "k"); got != "(nil)" {
		t.Errorf("a minute later the replica has %s", got)
	}
	if got := replica.Do(benchNow+time.Minute, "DBSIZE"); got.Int != 1 {
		t.Errorf("the replica deleted it by itself: %v", got)
	}
	if got := replica.got(benchNow, "k"); got != `"1"` {
		t.Errorf("when the replica's clock goes back it has %s", got)
	}
	primary.Do(benchNow+time.Minute, "PING")
	replica.Receive(benchNow + time.Minute)
	if got := replica.Do(benchNow, "DBSIZE"); got.Int != 0 {
		t.Errorf("the primary deleted it, and the replica has %v keys", got)
	}
}

// Whatever is done to a primary, a replica that has received all of it, and
// what is on disk after a sync, hold the same.
func TestReplicaHoldsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		primary := New(Options{Name: "a", Persistence: EverySecond})
		replica, second := named("b"), named("c")
		replica.Follow(primary, time.Millisecond)
		second.Follow(replica, time.Millisecond)
		now := benchNow
		for _, s := range append(drawSteps(t, true), drawScripts(t, true)...) {
			now += s.jump + time.Microsecond
			switch args := resolve(s.args, now.Milliseconds()); {
			case s.script != nil:
				primary.Eval(now, s.script, s.keys, args)
			case s.jump == 0:
				primary.Do(now, args...)
			}
		}
		replica.Receive(math.MaxInt64)
		second.Receive(math.MaxInt64)
		primary.disk.sync()
		for what, got := range map[string]keyspace{"the replica": replica.data, "the replica's replica": second.data, "the disk": primary.disk.image} {
			if got, want := dump(got), dump(primary.data); got != want {
				t.Fatalf("%s holds %s, the primary %s", what, got, want)
			}
		}
	})
}

// A replica refuses what a real one refuses, in the same words.
func TestReplicaAsReal(t *testing.T) {
	real := startReal(t)
	real.do(t, "SET", leaseKey, "r1 1 x n1")
	real.do(t, "REPLICAOF", "127.0.0.1", "1") // nobody is there, so it keeps what it has
	t.Cleanup(func() { real.do(t, "REPLICAOF", "NO", "ONE") })
	primary, replica := named("a"), named("b")
	primary.Do(benchNow, "SET", leaseKey, "r1 1 x n1")
	replica.Follow(primary, 0)
	for _, s := range []step{
		sent("SET", "k", "v"), sent("GET", leaseKey), sent("DEL", "k"), sent("PEXPIRE", leaseKey, "1"), sent("INCR"), sent("WAIT", "0", "0"), sent("PUBLISH", channel, "x"),
		whoLeads, acquireBy("n1", "x", "0", "0"), acquireBy("n2", "y", "0", "0"), renewOf("r1 1 x n1"), releaseOf("r1 1 x n1"), {script: Renew, keys: []string{leaseKey, guardKey, witnessKey}, args: []string{"other", "1", "x", "1", "1", "0"}},
	} {
		want := real.do(t, s.command(t, s.args)...)
		if got := (modelSubject{replica}).step(t, benchNow, s, s.args); !s.equal(got, want, 0, false) {
			t.Errorf("%v: the model says %v, the server %v", s, got, want)
		}
	}
}

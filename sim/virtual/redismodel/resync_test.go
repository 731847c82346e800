package redismodel

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/internal/topology"
)

// pairs are some servers, each as a model and as a real server. Whatever is done
// to one kind is done to the other.
type pairs struct {
	t     *testing.T
	ctx   context.Context
	now   time.Duration
	model []*Server
	real  []*topology.Server
}

// silent are the settings of servers that send their replicas nothing but what is
// written: a ping counts in their history as a write does, and who is pinged after
// another one was promoted has more than that one.
var silent = []string{"--repl-ping-replica-period", "3600", "--repl-timeout", "7200"}

func newPairs(t *testing.T, n int) *pairs {
	t.Helper()
	ctx, l := topology.For(t, topology.ServerProgram)
	p := &pairs{t: t, ctx: ctx, now: benchNow, real: topology.Must[[]*topology.Server](t)(l.Independent(ctx, n, topology.Config{Settings: silent}))}
	for i := range n {
		p.model = append(p.model, named(fmt.Sprint("server", i)))
	}
	return p
}

// do executes a command on both servers of that number.
func (p *pairs) do(i int, args ...string) {
	p.t.Helper()
	p.now += time.Second
	got := p.model[i].Do(p.now, args...)
	if err := p.real[i].Client().Do(p.ctx, asked(args)...).Err(); err != nil || got.Failed() {
		p.t.Fatalf("%v: the model says %v, the server %v", args, got, err)
	}
}

func asked(args []string) []any {
	all := make([]any, len(args))
	for i, arg := range args {
		all[i] = arg
	}
	return all
}

// follow makes one server a replica of another one, and reports whether either
// kind went on from where it was.
func (p *pairs) follow(i, primary int) (model, real bool) {
	p.t.Helper()
	before := p.partials(primary)
	p.model[i].ReplicaOf(p.model[primary], 0)
	model = p.model[i].Sync()
	p.ok(p.real[i].Client().Do(p.ctx, "REPLICAOF", "127.0.0.1", p.real[primary].Port()).Err())
	p.await("a replica is not linked", func() bool { return p.info(i)["master_link_status"] == "up" })
	return model, p.partials(primary) > before
}

// promote makes a replica a primary.
func (p *pairs) promote(i int) {
	p.t.Helper()
	p.receive()
	p.model[i].Promote()
	p.ok(p.real[i].Client().Do(p.ctx, "REPLICAOF", "NO", "ONE").Err())
}

// inStep waits until so many replicas have what a server has.
func (p *pairs) inStep(i, replicas int) {
	p.t.Helper()
	p.receive()
	p.ok(p.real[i].InStep(p.ctx, replicas))
	p.await("replicas are not counted", func() bool { return p.info(i)["connected_slaves"] == fmt.Sprint(replicas) })
	p.await("replicas lack something", func() bool { return p.level(i) == replicas })
}

// level is how many replicas of a real server have all that it sent. What is asked of
// them, WAIT's question too, is sent as writes are: who has answered it may have done
// so before it came.
func (p *pairs) level(i int) (n int) {
	p.t.Helper()
	sent := p.info(i)["master_repl_offset"]
	for j := range p.real {
		if fields := p.info(j); j != i && fields["master_port"] == fmt.Sprint(p.real[i].Port()) && fields["slave_repl_offset"] == sent {
			n++
		}
	}
	return n
}

func (p *pairs) receive() {
	for _, s := range p.model {
		s.Receive(p.now)
	}
}

func (p *pairs) ok(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *pairs) await(what string, is func() bool) {
	p.t.Helper()
	for !is() {
		select {
		case <-p.ctx.Done():
			p.t.Fatal(what)
		case <-time.After(time.Millisecond):
		}
	}
}

func (p *pairs) info(i int) map[string]string {
	p.t.Helper()
	return topology.Must[map[string]string](p.t)(p.real[i].Info(p.ctx, "replication"))
}

// partials is how often a real server let a replica go on from where it was.
func (p *pairs) partials(i int) int {
	p.t.Helper()
	n := 0
	_, err := fmt.Sscan(topology.Must[map[string]string](p.t)(p.real[i].Info(p.ctx, "stats"))["sync_partial_ok"], &n)
	p.ok(err)
	return n
}

// place is what a server says of its place: its role, its replicas, its link, and
// which names of histories are whose. Offsets are bytes there, effects here, so
// place says only whether there is one.
func place(fields map[string]string, names map[string]int) string {
	name := func(id string) string {
		if id == unknownHistory {
			return "none"
		}
		if len(id) != len(unknownHistory) {
			return "not a name: " + id
		}
		if _, known := names[id]; !known {
			names[id] = len(names)
		}
		return fmt.Sprint(names[id])
	}
	second := fields["second_repl_offset"]
	if second != "-1" {
		second = "some"
	}
	return fmt.Sprintf("%s, link %s, %s replicas, history %s, before %s, %s", fields["role"], fields["master_link_status"],
		fields["connected_slaves"], name(fields["master_replid"]), name(fields["master_replid2"]), second)
}

func fieldsOf(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			fields[key] = value
		}
	}
	return fields
}

// compare compares what all servers say of their places, and what they hold. The
// names of histories that nobody has ever asked for are left to each kind.
func (p *pairs) compare(when string) {
	p.t.Helper()
	p.receive()
	models, reals := map[string]int{}, map[string]int{}
	for i := range p.model {
		got := place(fieldsOf(p.model[i].Do(p.now, "INFO", "replication").Text), models)
		want := place(p.info(i), reals)
		if got != want {
			p.t.Errorf("%s: server %d is, as a model, %s; and in truth %s", when, i, got, want)
		}
		var has []string
		for _, key := range topology.Must[[]string](p.t)(p.real[i].Client().Keys(p.ctx, "*").Result()) {
			has = append(has, key+"="+p.real[i].Client().Get(p.ctx, key).Val())
		}
		slices.Sort(has)
		var holds []string
		for _, key := range slices.Sorted(maps.Keys(p.model[i].data.entries)) {
			holds = append(holds, key+"="+p.model[i].data.entries[key].text)
		}
		if !slices.Equal(holds, has) {
			p.t.Errorf("%s: server %d holds %q as a model, %q in truth", when, i, holds, has)
		}
	}
}

// rejoins makes a server follow another one, and demands that it goes on from
// where it was, or does not, in both kinds.
func (p *pairs) rejoins(when string, i, primary int, partial bool) {
	p.t.Helper()
	if model, real := p.follow(i, primary); model != partial || real != partial {
		p.t.Errorf("%s: a partial resynchronisation: %v as a model, %v in truth, want %v", when, model, real, partial)
	}
}

// Through promotions, demotions and synchronisations, a server says of its place
// what a real one says, holds the same, and copies all data just when that does.
func TestResyncAsReal(t *testing.T) {
	p := newPairs(t, 3)
	p.do(0, "SET", "k", "1")
	p.compare("unrelated servers")
	p.rejoins("the first replica", 1, 0, false)
	p.rejoins("the second one", 2, 0, false)
	p.do(0, "SET", "k", "2")
	p.inStep(0, 2)
	p.compare("one primary")

	p.promote(1)
	p.await("the old primary counts a replica that was promoted", func() bool { return p.info(0)["connected_slaves"] == "1" })
	p.compare("two primaries")
	p.do(1, "SET", "new", "1")
	p.rejoins("a replica that moves with nothing more than the new primary has", 2, 1, true)
	p.rejoins("a primary that wrote nothing since", 0, 1, true)
	p.inStep(1, 2)
	p.compare("all follow the second")

	p.promote(0) // and never hears of the second again
	p.do(0, "SET", "alone", "1")
	p.do(1, "SET", "new", "2")
	p.inStep(1, 1)
	p.compare("two primaries that both wrote")
	p.rejoins("a primary that wrote alone", 0, 1, false)
	p.inStep(1, 2)
	p.compare("what was written alone is gone")

	p.promote(2)
	p.do(2, "SET", "third", "1")
	p.rejoins("a primary that was promoted and wrote nothing since", 1, 2, true)
	p.inStep(2, 1)
	p.rejoins("a replica whose primary follows another one by now", 0, 2, true)
	p.inStep(2, 2)
	p.compare("all follow the third")
}

// A primary that never heard that it was replaced, and has written since, copies
// everything when it hears of it, also if the new one has written as much.
func TestIsolatedPrimaryAsReal(t *testing.T) {
	p := newPairs(t, 2)
	p.rejoins("the replica", 1, 0, false)
	p.do(0, "SET", "k", "1")
	p.inStep(0, 1)
	p.promote(1)
	p.do(0, "SET", "alone", "1")
	p.do(1, "SET", "other", "1")
	p.do(1, "SET", "other", "2")
	p.rejoins("the old primary", 0, 1, false)
	p.inStep(1, 1)
	p.compare("it follows")
}

// Who forgets what its history is called has its replicas copy everything, as a
// real server on command (DEBUG CHANGE-REPL-ID).
func TestForget(t *testing.T) {
	primary, replica := named("a"), named("b")
	replica.Follow(primary, 0)
	primary.Do(benchNow, "SET", "k", "1")
	replica.Sever()
	primary.Forget()
	if replica.ReplicaOf(primary, 0); replica.Sync() {
		t.Error("a replica went on with a history that nobody knows any more")
	}
	if got := replica.got(benchNow, "k"); got != `"1"` {
		t.Errorf("it has %s", got)
	}
}

// A replica that was made to follow a primary keeps and serves what it has, also
// nothing, until it synchronises; WAIT does not count it, and promoted it goes on
// with what it has.
func TestSyncHasNotBegun(t *testing.T) {
	primary, replica := named("a"), named("b")
	replica.Do(benchNow, "SET", "old", "1")
	primary.Do(benchNow, "SET", "k", "1")
	replica.ReplicaOf(primary, 0)
	primary.Do(benchNow, "SET", "k", "2")
	replica.Receive(benchNow + time.Hour)
	if a, b := replica.got(benchNow, "old"), replica.got(benchNow, "k"); a != `"1"` || b != "(nil)" || replica.Linked() {
		t.Errorf("it has old %s, k %s, linked: %v", a, b, replica.Linked())
	}
	if got := primary.Do(benchNow+time.Hour, "WAIT", "1", "0"); got.Int != 0 {
		t.Errorf("WAIT counts it: %v", got)
	}
	replica.Promote()
	if got := replica.Do(benchNow, "SET", "k", "3"); got.Failed() || replica.got(benchNow, "old") != `"1"` {
		t.Errorf("promoted, it says %v, and has %s", got, replica.got(benchNow, "old"))
	}
}

// A primary keeps what a replica lacks only up to a limit: who comes back later
// than that copies everything.
func TestBacklog(t *testing.T) {
	if race.Enabled {
		t.Skip("the same without the race detector")
	}
	primary, one, other := named("a"), named("b"), named("c")
	one.Follow(primary, 0)
	other.Follow(primary, time.Hour)
	for i := range 3 * backlogs {
		primary.Do(benchNow+time.Duration(i)*time.Millisecond, "SET", "k", fmt.Sprint(i))
	}
	one.Receive(benchNow + time.Hour)
	other.Receive(benchNow + 2*time.Hour)
	if a, b := one.got(benchNow, "k"), other.got(benchNow, "k"); a != b || b == "(nil)" {
		t.Errorf("linked replicas have %s and %s", a, b)
	}
	one.Sever()
	for i := range 3 * backlogs {
		primary.Do(benchNow+time.Hour, "SET", "k", fmt.Sprint(i))
		other.Receive(benchNow + 4*time.Hour)
	}
	one.ReplicaOf(primary, 0)
	if one.Sync() || len(primary.stream.backlog) > 2*backlogs {
		t.Errorf("%d effects are kept", len(primary.stream.backlog))
	}
}

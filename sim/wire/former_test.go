package wire_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/virtual/redismodel"
	"github.com/recount-io/recount/sim/wire"
)

// said is one request of a node with its reply, and what is reported of it.
type said struct {
	node  string
	args  []string
	reply wire.Value
	want  string
}

// say plays the requests, and fails where the reported operations are not the expected ones.
func say(t *testing.T, name string, o wire.Options, list []said) *tape {
	t.Helper()
	p := newTape(o)
	for i, s := range list {
		p.conn(s.node).Send(s.args).Answer(s.reply)
		if got := p.ends(); got != s.want {
			t.Errorf("%s, step %d: %s %q -> %v:\n%s, want\n%s", name, i+1, s.node, s.args, s.reply, got, s.want)
		}
	}
	return p
}

const (
	otherwise = ": the command did something else"
	several   = ": the reply has several explanations"
)

// A node that writes the value that the lock holds, and learns so, renews its own lease.
// It takes the lock if the reply says that nobody had it.
func TestHolderThatFindsItsOwnValueRenews(t *testing.T) {
	const (
		renewed = "n1 renew ok 2s\nn1 acquire fail 2s" + otherwise
		endless = "n1 renew ok 240h0m0s\nn1 acquire fail 240h0m0s" + otherwise
		idle    = "n1 acquire fail 240h0m0s: nothing was written\nn1 renew fail 240h0m0s: nothing was written\nn1 release fail: nothing was written"
	)
	begin := func(list ...said) []said {
		return append([]said{
			{"n1", strings.Fields("SET lock a NX PX 2000"), okay, "n1 acquire ok 2s"},
			{"n2", strings.Fields("SET lock b NX PX 2000"), nothing, "n2 acquire fail 2s"},
		}, list...)
	}
	keep := func(line string, reply wire.Value, want string) said {
		return said{"n1", strings.Fields(line), reply, want}
	}
	give := said{"n1", strings.Fields("DEL lock"), number(1), "n1 release ok"}
	for name, list := range map[string][]said{
		"GETSET":                  begin(keep("GETSET lock a", bulk("a"), endless), keep("GETSET lock a", bulk("a"), endless), give),
		"GETSET of a new value":   begin(keep("GETSET lock a2", bulk("a"), endless), keep("GETSET lock a3", bulk("a2"), endless), give),
		"GETSET of a new time":    begin(keep("GETSET lock a:1792", bulk("a"), endless), keep("GETSET lock a:1794", bulk("a:1792"), endless), give),
		"SET GET":                 begin(keep("SET lock a GET PX 2000", bulk("a"), renewed), keep("SET lock a GET EX 2", bulk("a"), renewed), give),
		"SET XX GET":              begin(keep("SET lock a XX GET PX 2000", bulk("a"), "n1 renew ok 2s"), keep("SET lock a XX GET EX 2", bulk("a"), "n1 renew ok 2s"), give),
		"SET XX GET of nothing":   begin(keep("SET lock a XX GET PX 2000", nothing, "n1 renew fail 2s")),
		"SET GET KEEPTTL":         begin(keep("SET lock a KEEPTTL GET", bulk("a"), idle), give),
		"GETEX":                   begin(keep("GETEX lock PX 2000", bulk("a"), "n1 renew ok 2s"), give),
		"SET GET after its end":   begin(keep("SET lock a GET PX 2000", nothing, "n1 renew fail 2s"+otherwise+"\nn1 acquire ok 2s"), give),
		"GETSET in a transaction": begin(keep("MULTI", okay, ""), keep("GETSET lock a", queued, ""), keep("PEXPIRE lock 2000", queued, ""), keep("EXEC", list(bulk("a"), number(1)), renewed), give),
		"GET and SET in a transaction": begin(keep("MULTI", okay, ""), keep("GET lock", queued, ""), keep("SET lock a PX 2000", queued, ""),
			keep("EXEC", list(bulk("a"), okay), "n1 acquire ok 2s"), give),
		"a script that tells": begin(said{"n1", []string{"EVAL", `return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'GET')`, "1", "lock", "a", "2000"}, bulk("a"), "n1 acquire ok 2s"}, give),
	} {
		p := say(t, name, wire.Options{Key: "lock"}, list)
		if e := p.lock.Understanding(); e.Wire.Understood != e.Wire.Operations {
			t.Errorf("%s: %s", name, e.Text)
		}
	}
}

// A lock with one value for all candidates is taken by the node that finds nothing there.
// A node that finds the value there has changed nothing, and was refused.
func TestWriteThatChangesNothingTakesNothing(t *testing.T) {
	const (
		took    = "acquire ok 240h0m0s"
		refused = "acquire fail 240h0m0s"
		swap    = `if redis.call('GETSET', KEYS[1], ARGV[1]) then return 0 end return 1`
		tell    = `return redis.call('GETSET', KEYS[1], ARGV[1])`
	)
	for name, try := range map[string]struct {
		args     []string
		free     wire.Value
		held     wire.Value
		inScript bool
	}{
		"GETSET":                   {strings.Fields("GETSET lock 1"), nothing, bulk("1"), false},
		"SET GET":                  {strings.Fields("SET lock 1 GET"), nothing, bulk("1"), false},
		"SET GET KEEPTTL":          {strings.Fields("SET lock 1 GET KEEPTTL"), nothing, bulk("1"), false},
		"a script":                 {[]string{"EVAL", swap, "1", "lock", "1"}, number(1), number(0), true},
		"a script that tells":      {[]string{"EVAL", tell, "1", "lock", "1"}, nothing, bulk("1"), true},
		"a value of the script":    {[]string{"EVAL", strings.ReplaceAll(swap, "ARGV[1]", "'1'"), "1", "lock"}, number(1), number(0), true},
		"a value that is restored": {[]string{"EVAL", `local v = redis.call('GETSET', KEYS[1], ARGV[1]) if v then redis.call('SET', KEYS[1], v) return 0 end return 1`, "1", "lock", "1"}, number(1), number(0), true},
	} {
		p := newTape(wire.Options{Key: "lock"})
		do := func(node string, args []string, reply wire.Value, want string) {
			p.conn(node).Send(args).Answer(reply)
			if got := p.ends(); !strings.Contains("\n"+got+"\n", "\n"+node+" "+want+"\n") {
				t.Errorf("%s: %s %q -> %v:\n%s, want\n%s %s", name, node, args, reply, got, node, want)
			}
		}
		for range 2 {
			do("n1", try.args, try.free, took)
			do("n2", try.args, try.held, refused)
			do("n3", try.args, try.held, refused)
			do("n1", strings.Fields("DEL lock"), number(1), "release ok")
			do("n2", try.args, try.free, took)
			do("n1", try.args, try.held, refused)
			do("n2", strings.Fields("DEL lock"), number(1), "release ok")
		}
		if e := p.lock.Understanding(); e.Wire.Understood != e.Wire.Operations {
			t.Errorf("%s: %s", name, e.Text)
		}
	}
}

// So it is in a transaction.
func TestTransactionThatChangesNothing(t *testing.T) {
	p := newTape(wire.Options{Key: "lock"})
	try := func(node string, reply wire.Value) string {
		p.do(node, "MULTI", okay)
		p.do(node, "GETSET lock 1", queued)
		p.do(node, "EXEC", list(reply))
		return p.ends()
	}
	for _, s := range []struct {
		node  string
		reply wire.Value
		want  string
	}{{"n1", nothing, "n1 acquire ok 240h0m0s"}, {"n2", bulk("1"), "n2 acquire fail 240h0m0s"}} {
		if got := try(s.node, s.reply); !strings.HasPrefix(got, s.want) {
			t.Errorf("%s, want %s", got, s.want)
		}
	}
}

// A node that wrote over another one's value and learns so may take the lock by that, or
// may see that it is held: nobody is accused, until the lock is seen to be free.
func TestWriteOverAnotherValueIsNotJudged(t *testing.T) {
	for name, s := range map[string]struct {
		args  []string
		reply wire.Value
	}{
		"SET GET":              {strings.Fields("SET lock b PX 2000 GET"), bulk("a")},
		"SET XX GET":           {strings.Fields("SET lock b XX PX 2000 GET"), bulk("a")},
		"SET GET of one value": {strings.Fields("SET lock a PX 2000 GET"), bulk("a")},
		"GETSET":               {strings.Fields("GETSET lock b"), bulk("a")},
		"GETEX":                {strings.Fields("GETEX lock PX 2000"), bulk("a")},
		"a script that tells":  {[]string{"EVAL", `return redis.call('SET', KEYS[1], ARGV[1], 'PX', 2000, 'GET')`, "1", "lock", "b"}, bulk("a")},
		"a look and a write":   {[]string{"EVAL", `local v = redis.call('GET', KEYS[1]) redis.call('SET', KEYS[1], ARGV[1], 'PX', 2000) return v`, "1", "lock", "b"}, bulk("a")},
	} {
		p := newTape(wire.Options{Key: "lock"})
		p.do("n1", "SET lock a NX PX 2000", okay)
		if got := p.ends(); got != "n1 acquire ok 2s" {
			t.Errorf("%s: %s", name, got)
		}
		p.conn("n2").Send(s.args).Answer(s.reply)
		p.do("n3", "GET lock", bulk("b"))
		p.conn("n1").Send([]string{"EVAL", renewOwn, "1", "lock", "a", "2000"}).Answer(number(0))
		for _, e := range p.events {
			if e.Kind == history.Ok || e.Kind == history.Fail && e.Error == "" {
				t.Errorf("%s: %s %s %s is taken to be certain", name, e.Node, e.Call, e.Kind)
			}
		}
		if e := p.lock.Understanding(); !strings.Contains(e.Text, "wrote over the lock of another one and was told so") {
			t.Errorf("%s: %s", name, e.Text)
		}
		p.ends()
		p.do("n1", "GET lock", nothing)
		p.do("n3", "SET lock c NX PX 2000", okay)
		p.do("n2", "SET lock b NX PX 2000", nothing)
		if got, want := p.ends(), "n1 observe ok\nn3 acquire ok 2s\nn2 acquire fail 2s"; got != want {
			t.Errorf("%s, when it was free again: %s, want %s", name, got, want)
		}
	}
}

// As long as such a write is under way, or has no reply, its value names no holder.
func TestWriteOverAnotherValueUnderWay(t *testing.T) {
	p := newTape(wire.Options{Key: "lock"})
	p.do("n1", "SET lock a NX PX 2000", okay)
	p.ends()
	x := p.send("n2", "SET lock b PX 2000 GET")
	p.do("n3", "GET lock", bulk("b"))
	x.Lose("timeout")
	p.do("n3", "GET lock", bulk("b"))
	for _, e := range p.events {
		if e.Kind == history.Ok {
			t.Errorf("%s %s is taken to be certain", e.Node, e.Call)
		}
	}
}

var (
	isNil   = func(r redismodel.Reply) bool { return r.Kind == redismodel.Nil }
	always  = func(redismodel.Reply) bool { return true }
	setFree = []string{"GETSET", "lock", "taken"}
	look    = []string{"GET", "lock"}
	drop    = []string{"DEL", "lock"}
)

// Programs that take the lock by a write that tells what was there, and lead only if
// nothing was, are never accused.
func TestTestAndSetIsNotAccused(t *testing.T) {
	swap := []string{"EVAL", `if redis.call('GETSET', KEYS[1], ARGV[1]) then return 0 end return 1`, "1", "lock", "taken"}
	force := []string{"SET", "lock", "VALUE", "PX", "LEASE", "GET"}
	for _, h := range []habit{
		{name: "one value", take: setFree, keep: look, give: drop, taken: isNil, kept: always, keepsEvenIfTooLate: true},
		{name: "one value, refreshed", take: setFree, keep: setFree, give: drop, looks: true, taken: isNil, kept: always, keepsEvenIfTooLate: true},
		{name: "a script", take: swap, keep: look, give: drop, taken: isOne, kept: always, keepsEvenIfTooLate: true},
		{name: "a value for each, with a time to live", take: force, keep: look, give: look, looks: true, taken: isNil, kept: always},
	} {
		decided := 0
		for seed := range uint64(60) {
			run := newTrial(seed, h).run()
			lease, form, _ := judge(run)
			if lease.Verdict == checker.Fail || form.Verdict != checker.Pass || strings.Contains(lease.Reason, "disagree") {
				t.Fatalf("%s, seed %d: %v %s; form %v %s\n%s", h.name, seed, lease.Verdict, lease.Reason, form.Verdict, form.Reason, listing(run))
			}
			if lease.Verdict == checker.Pass {
				decided++
			}
		}
		t.Log(h.name + ": decided in " + strconv.Itoa(decided) + " of 60 runs")
	}
}

package wire_test

import (
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/wire"
)

// Scripts that answer their holder yes and do nothing, and that make the value of a counter.
const (
	takeOnce = `local v = redis.call('GET', KEYS[1])
if not v then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1 end
if v == ARGV[1] then return 1 end return 0`
	takeCounted = `if redis.call('GET', KEYS[1]) then return 0 end
local g = redis.call('INCR', KEYS[2]) redis.call('SET', KEYS[1], ARGV[1] .. '|' .. g, 'PX', ARGV[2]) return g`
)

// scripted is one call of a script by a node, and what is reported of it.
type scripted struct {
	node  string
	args  []string
	reply int64
	want  string
}

func (s scripted) test(t *testing.T, p *tape, i int) {
	p.conn(s.node).Send(append([]string{"EVAL"}, s.args...)).Answer(number(s.reply))
	if got := p.ends(); got != s.want {
		t.Errorf("step %d: %s, want %s", i+1, got, s.want)
	}
}

// A yes to who cannot have held the lock is a grant: its value was seen not to be there, and
// whatever it was granted since is over. From before the run the value may be there, and who
// held the lock a moment ago may hold it still.
func TestYesThatMayMeanNothing(t *testing.T) {
	const unsure, older = ": the reply has several explanations", ": the key may be older than the run"
	take := func(value string) []string { return []string{takeOnce, "1", "lock", value, "2000"} }
	give := func(value string) []string { return []string{releaseOwn, "1", "lock", value} }
	p := newTape(wire.Options{Key: "lock"})
	for i, s := range []scripted{
		{"n1", take("a"), 1, "n1 acquire info 2s" + unsure},
		{"n2", take("b"), 0, "n2 acquire fail 2s" + older},
		{"n1", give("a"), 1, "n1 release info" + older},
		{"n2", take("b"), 1, "n2 acquire ok 2s"},
		{"n1", take("a"), 0, "n1 acquire fail 2s"},
		{"n2", give("b"), 1, "n2 release ok"},
		{"n1", take("a"), 1, "n1 acquire ok 2s"},
		{"n1", take("a"), 1, "n1 acquire info 2s" + unsure},
		{"n2", take("b"), 1, "n2 acquire ok 2s"},
		{"n2", give("b"), 1, "n2 release ok"},
		{"n1", take("a"), 1, "n1 acquire ok 2s"},
		{"n1", []string{renewOwn, "1", "lock", "a", "2000"}, 0, "n1 renew fail 2s"},
	} {
		s.test(t, p, i)
	}
}

// What is not understood may have written the value, and so may what is under way.
func TestYesAfterWhatIsNotUnderstood(t *testing.T) {
	for name, lose := range map[string]func(p *tape){
		"not understood": func(p *tape) { p.do("n1", "APPEND lock a", number(1)) },
		"without a reply": func(p *tape) {
			p.conn("n1").Send([]string{"EVAL", takeOnce, "1", "lock", "a", "2000"}).Lose("timeout")
		},
		"under way": func(p *tape) { p.conn("n1").Send([]string{"EVAL", takeOnce, "1", "lock", "a", "2000"}) },
	} {
		p := newTape(wire.Options{Key: "lock"})
		p.do("n2", "SET lock b NX PX 2000", okay)
		p.do("n2", "DEL lock", number(1))
		lose(p)
		p.ends()
		p.conn("n1").Send([]string{"EVAL", takeOnce, "1", "lock", "a", "2000"}).Answer(number(1))
		if got, want := p.ends(), "n1 acquire info 2s: the reply has several explanations"; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// Another connection of the node may have taken the lock while the request was under way.
func TestYesThatWasUnderWay(t *testing.T) {
	p := newTape(wire.Options{Key: "lock"})
	p.do("n2", "SET lock b NX PX 2000", okay)
	p.do("n2", "DEL lock", number(1))
	p.ends()
	x := p.conn("n1").Send([]string{"EVAL", takeOnce, "1", "lock", "a", "2000"})
	p.do("n1", "SET lock a NX PX 2000", okay)
	x.Answer(number(1))
	if got, want := p.ends(), "n1 acquire ok 2s\nn1 acquire info 2s: the reply has several explanations"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A value that a script makes of a counter is known by the number that it answers.
func TestValuesMadeOfACounter(t *testing.T) {
	p := newTape(wire.Options{Key: "lock"})
	take := func(name string) []string { return []string{takeCounted, "2", "lock", "count", name, "2000"} }
	for i, s := range []scripted{
		{"n1", take("n1"), 42, "n1 acquire ok 2s"},
		{"n2", take("n2"), 0, "n2 acquire fail 2s"},
		{"n1", []string{renewOwn, "1", "lock", "n1|42", "2000"}, 1, "n1 renew ok 2s"},
		{"n1", []string{renewOwn, "1", "lock", "n1|42", "2000"}, 0, "n1 renew fail 2s"},
		{"n2", take("n2"), 43, "n2 acquire ok 2s"},
	} {
		s.test(t, p, i)
	}
	p.do("n1", "GET lock", bulk("n2|43"))
	if got, want := p.ends(), "n1 observe ok holder n2"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Where beliefs are inferred and there is none, or none that may come of an acquire of which
// nobody knows what it did, nobody is accused of not leading.
func TestTermsThatWereNotUnderstood(t *testing.T) {
	const second = time.Second
	op := int64(0)
	acquire := func(at time.Duration, kind history.Kind, why string) []history.Event {
		op++
		e := history.Event{Kind: history.Invoke, At: at, Node: "n1", Call: history.Acquire, Op: op, Nonce: "n1", TTL: 2 * second, Evidence: history.FromWire}
		end := e
		end.Kind, end.At, end.Error = kind, at+ms, why
		return []history.Event{e, end}
	}
	led := append(acquire(second, history.Ok, ""), history.Event{Kind: history.Elected, At: second + ms, Node: "n1", Until: history.At(3 * second), Evidence: history.FromWire})
	for name, test := range map[string]struct {
		events []history.Event
		want   checker.Verdict
	}{
		"nobody leads":              {acquire(second, history.Info, "timeout"), checker.Unknown},
		"nobody is seen to lead":    {acquire(second, history.Info, history.Ambiguous), checker.Unknown},
		"nobody leads any more":     {led, checker.Fail},
		"somebody may have gone on": {append(led[:3:3], acquire(10*second, history.Info, history.Ambiguous)...), checker.Unknown},
		"that was before the term":  {append(acquire(second/2, history.Info, history.Ambiguous), led...), checker.Fail},
	} {
		r := history.NewRecorder(func() time.Duration { return 0 })
		r.Record(history.Event{Kind: history.Healed, At: ms})
		for _, e := range test.events {
			r.Record(e)
		}
		r.Record(history.Event{Kind: history.Note, At: 60 * second, Text: "read", Wire: &history.Wire{Lock: "lock", Operations: 100, Understood: 99}})
		_, _, result := judge(r.History(history.Header{Nodes: []string{"n1", "n2", "n3"}, Lease: 2 * second, Retry: 200 * ms, World: "virtual"}))
		for _, f := range result.Asked {
			if f.Promise == checker.LeaderReturns && f.Verdict != test.want {
				t.Errorf("%s: %v, want %v: %s", name, f.Verdict, test.want, f.Reason)
			}
		}
	}
}

package wire_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/recount-io/recount/sim/wire"
)

// unforeseen is what is reported of n1's script that nobody can foresee.
const unforeseen = "n1 acquire info 240h0m0s: the reply has several explanations\nn1 release info: the reply has several explanations"

// A script may compare the lock with what is not among its arguments: a key, its own text,
// or what it makes of them; or ask another key. What it did is found all the same; and where
// nobody knows with what it compares, it is not taken to have done nothing.
func TestScriptsWithTokensElsewhere(t *testing.T) {
	const (
		inKey    = `if redis.call('get', KEYS[1]) == KEYS[2] then return redis.call('del', KEYS[1]) else return 0 end`
		inText   = `if redis.call('get', 'lock') == 'mine' then return redis.call('del', 'lock') end return 0`
		inArg    = `if redis.call('get', ARGV[1]) == ARGV[2] then return redis.call('del', ARGV[1]) end return 0`
		inOther  = `if redis.call('get', KEYS[2]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`
		made     = `if redis.call('get', KEYS[1]) == ARGV[1] .. ':' .. KEYS[2] then return redis.call('del', KEYS[1]) end return 0`
		byPrefix = `local v = redis.call('get', KEYS[1]) if v and string.sub(v, 1, 3) == 'n1:' then return redis.call('del', KEYS[1]) end return 0`
		unknown  = `if redis.call('get', KEYS[1]) == 'from long ago' then return redis.call('del', KEYS[1]) end return 0`
		unnamed  = `if redis.call('get', 'lock') == 'from long ago' then return redis.call('del', 'lock') end return 0`
	)
	for _, test := range []struct {
		value string
		args  []string
		reply int64
		want  string
	}{
		{"mine", []string{inKey, "2", "lock", "mine"}, 1, "n1 release ok"},
		{"mine", []string{inKey, "2", "lock", "mine"}, 0, "n1 release fail"},
		{"mine", []string{inKey, "2", "lock", "of long ago"}, 0, "n1 release fail: nothing was written"},
		{"mine", []string{inText, "0"}, 1, "n1 release ok"},
		{"mine", []string{inText, "0"}, 0, "n1 release fail"},
		{"mine", []string{inArg, "0", "lock", "mine"}, 1, "n1 release ok"},
		{"7", []string{inOther, "2", "lock", "fence", "7"}, 1, "n1 release ok"},
		{"7", []string{inOther, "2", "lock", "fence", "7"}, 0, "n1 release fail: nothing was written"},
		{"n1:9", []string{made, "2", "lock", "9", "n1"}, 1, "n1 release ok"},
		{"n1:9", []string{made, "2", "lock", "9", "n1"}, 0, "n1 release fail"},
		{"n1:9", []string{byPrefix, "1", "lock"}, 1, "n1 release ok"},
		{"n1:9", []string{byPrefix, "1", "lock"}, 0, "n1 release fail"},
		{"mine", []string{unknown, "1", "lock"}, 0, unforeseen},
		{"mine", []string{unnamed, "0"}, 0, unforeseen},
	} {
		p := newTape(wire.Options{Key: "lock"})
		p.do("n2", "SET lock theirs NX PX 2000", okay)
		p.do("n1", "SET lock "+test.value+" NX PX 2000", okay)
		p.ends()
		p.conn("n1").Send(append([]string{"EVAL"}, test.args...)).Answer(number(test.reply))
		if got := p.ends(); got != test.want {
			t.Errorf("%q -> %d:\n%s, want\n%s", test.args, test.reply, got, test.want)
		}
	}
}

// A value in a script's text is known however long ago it was sent.
func TestScriptWithAnOldValue(t *testing.T) {
	p := newTape(wire.Options{Key: "lock"})
	p.do("n1", "SET lock mine NX PX 2000", okay)
	for i := range 20 {
		p.do("n1", "SET lock v"+strconv.Itoa(i)+" NX PX 2000", nothing)
	}
	p.ends()
	p.conn("n1").Send([]string{"EVAL", `if redis.call('get', KEYS[1]) == 'mine' then return redis.call('del', KEYS[1]) end return 0`, "1", "lock"}).Answer(number(1))
	if got := p.ends(); got != "n1 release ok" {
		t.Error(got)
	}
}

// What a script does is not known if its text was not when it was called, although another
// candidate made it known before the reply: no operation was reported that it may have been.
func TestScriptThatIsKnownTooLate(t *testing.T) {
	p := newTape(wire.Options{Key: "lock"})
	p.do("n1", "SET lock mine NX PX 2000", okay)
	p.ends()
	x := p.send("n1", "EVALSHA "+sha(renewOwn)+" 1 lock mine 2000")
	p.conn("n2").Send([]string{"SCRIPT", "LOAD", renewOwn})
	x.Answer(number(1))
	if got := p.ends(); got != unforeseen {
		t.Error(got)
	}
}

// A script that does what an argument says does not do all that it names in one call.
func TestScriptsOfSeveralUses(t *testing.T) {
	const text = `if ARGV[1] == 'take' then
  if redis.call('set', KEYS[1], ARGV[2], 'NX', 'PX', ARGV[3]) then return 1 end
elseif redis.call('get', KEYS[1]) == ARGV[2] then
  if ARGV[1] == 'keep' then return redis.call('pexpire', KEYS[1], ARGV[3]) end
  return redis.call('del', KEYS[1])
end
return 0`
	p := newTape(wire.Options{})
	for _, step := range []struct {
		node, line string
		reply      int64
		want       string
	}{
		{"n1", "take a 2000", 1, "n1 acquire ok 2s"},
		{"n2", "take b 2000", 0, "n2 acquire fail 2s"},
		{"n1", "keep a 3000", 1, "n1 renew ok 3s"},
		{"n2", "keep b 3000", 0, "n2 renew fail 3s"},
		{"n2", "give b", 0, "n2 release fail"},
		{"n1", "give a", 1, "n1 release ok"},
	} {
		p.conn(step.node).Send(append([]string{"EVAL", text, "1", "lock"}, strings.Fields(step.line)...)).Answer(number(step.reply))
		if got := p.ends(); got != step.want {
			t.Errorf("%s %s: %s, want %s", step.node, step.line, got, step.want)
		}
	}
	if e := p.lock.Understanding(); e.Wire.Understood != e.Wire.Operations {
		t.Error(e.Text)
	}
}

// A reply that fits no execution shows that the script does what nobody can foresee: it may
// have been any operation, then and whenever it is called again.
func TestScriptThatAnswersElsewise(t *testing.T) {
	p := newTape(wire.Options{Key: "lock"})
	p.do("n1", "SET lock mine NX PX 2000", okay)
	p.ends()
	const why = "the reply shows that the script did what nobody can foresee"
	call := func(reply wire.Value, want string) {
		p.conn("n1").Send([]string{"EVAL", who, "1", "lock"}).Answer(reply)
		if got := p.ends(); got != want {
			t.Errorf("%v: %s, want %s", reply, got, want)
		}
	}
	call(failure("ERR odd"), "n1 observe info: the reply has several explanations") // which may come of anything
	call(bulk("mine"), "n1 observe ok holder n1")
	anything := func(why string) string {
		return "n1 acquire info 240h0m0s: " + why + "\nn1 renew info 240h0m0s: " + why + "\nn1 release info: " + why
	}
	call(number(5), "n1 observe info: the reply has several explanations\n"+anything(why))
	call(bulk("mine"), anything("the reply has several explanations"))
	if e := p.lock.Understanding(); e.Wire.Operations != 5 || e.Wire.Understood != 2 {
		t.Errorf("%+v: %s", e.Wire, e.Text)
	}
}

package wire_test

import (
	"strings"
	"testing"

	"github.com/recount-io/recount/sim/wire"
)

// library is one as it is written for leases.
const library = `#!lua name=leases
local function own(keys, args) return redis.call('GET', keys[1]) == args[1] end
local function take(keys, args)
  if redis.call('SET', keys[1], args[1], 'NX', 'PX', args[2]) then return 1 end
  return 0
end
redis.register_function('take', take)
redis.register_function{function_name='keep', callback=function(keys, args)
  if own(keys, args) then return redis.call('PEXPIRE', keys[1], args[2]) end
  return 0
end, flags={'allow-stale'}}
redis.register_function('strange', function(keys, args) return redis.call('BITFIELD', keys[1]) end)
`

// What a function did is found from its library's text, as for a script; of a
// library that nobody saw nothing is known, and a note says so.
func TestFunctionsAreOperations(t *testing.T) {
	for _, seen := range []bool{true, false} {
		shared := wire.NewScripts()
		if seen { // in an earlier run
			newTape(wire.Options{Scripts: shared}).conn("n1").Send([]string{"function", "load", "REPLACE", library}).Answer(bulk("leases"))
		}
		o := wire.Options{Scripts: shared}
		if !seen {
			o.Key = "lock"
		}
		p := newTape(o)
		p.do("n1", "FCALL take 1 lock a 2000", number(1))
		p.do("n2", "fcall take 1 lock b 2000", number(0))
		p.do("n1", "FCALL keep 1 lock a 2000", number(1))
		p.do("n2", "FCALL keep 1 lock b 2000", number(0))
		got, e := p.ends(), p.lock.Understanding()
		if want := "n1 acquire ok 2s\nn2 acquire fail 2s\nn1 renew ok 2s\nn2 renew fail 2s"; seen && got != want || !seen && (strings.Contains(got, "ok") || strings.Contains(got, "fail")) {
			t.Errorf("seen %v: %s", seen, got)
		}
		if seen != (e.Wire.Understood == 4) || !seen && !strings.Contains(e.Text, "2 × FCALL of take, a function whose library was never seen") {
			t.Errorf("seen %v: %s", seen, e.Text)
		}
		p.do("n1", "FCALL strange 1 lock", number(1))
		if e := p.lock.Understanding(); e.Wire.Operations != 5 || !strings.Contains(e.Text, "FCALL of strange") {
			t.Errorf("seen %v: %s", seen, e.Text)
		}
	}
}

package wire_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/wire"
)

// noon is what the store's clock shows in these tests.
var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func atNoon() time.Time { return noon }

func unix(after time.Duration) string   { return fmt.Sprint(noon.Add(after).Unix()) }
func millis(after time.Duration) string { return fmt.Sprint(noon.Add(after).UnixMilli()) }

// A lock that ends when its value says so, and not when its key goes away, is
// none whose requests are understood: nobody is accused of taking what is over.
func TestLockThatEndsByItsValue(t *testing.T) {
	for name, values := range map[string][2]string{
		"seconds":             {unix(10 * time.Second), unix(40 * time.Second)},
		"seconds with a part": {unix(10*time.Second) + ".25", unix(40*time.Second) + ".75"},
		"milliseconds":        {millis(10 * time.Second), millis(40 * time.Second)},
		"owner and end":       {"n1:" + millis(10*time.Second), "n2:" + millis(40*time.Second)},
		"JSON":                {`{"owner":"n1","expires":` + unix(10*time.Second) + "}", `{"owner":"n2","expires":` + unix(40*time.Second) + "}"},
		"date":                {`{"owner":"n1","until":"2026-11-22T12:00:10Z"}`, `{"owner":"n2","until":"2026-11-22T12:00:40Z"}`},
		"date without a zone": {"n1 2026-11-22 12:00:10", "n2 2026-11-22 12:00:40"},
		"date of some zone":   {"n1 2026-11-22T17:45:10.5", "n2 2026-11-22T04:00:40"},
		"since when":          {"n1 " + unix(-time.Second), "n2 " + unix(0)},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTape(wire.Options{Wall: atNoon})
			do := func(node string, reply wire.Value, args ...string) { p.conn(node).Send(args).Answer(reply) }
			do("n1", number(1), "SETNX", "lock", values[0])
			do("n2", number(0), "SETNX", "lock", values[1])
			do("n2", bulk(values[0]), "GET", "lock")
			do("n2", bulk(values[0]), "GETSET", "lock", values[1])
			do("n1", number(1), "DEL", "lock")
			for _, e := range p.events {
				if e.Kind == history.Ok {
					t.Errorf("%s %s is taken to be understood, with a time to live of %v", e.Node, e.Call, e.TTL)
				}
			}
			if e := p.lock.Understanding(); e.Wire.Lock != "lock" || e.Wire.Operations != 5 || e.Wire.Understood > 1 || !strings.Contains(e.Text, "a lock ") {
				t.Errorf("%+v: %s", e.Wire, e.Text)
			}
		})
	}
}

// A value may tell a time and mean nothing by it: that of its making, if the key
// has a time to live, or the end that the key has anyway.
func TestTimesInNames(t *testing.T) {
	for name, sends := range map[string][][]string{
		"made at, with a time to live": {{"SET", "lock", "n1-" + millis(0), "NX", "PX", "2000"}},
		"ends with the key":            {{"SET", "lock", `{"expires":` + millis(2*time.Second) + "}", "NX", "PX", "2000"}},
		"made at, by a local clock":    {{"SET", "lock", "n1 2026-11-22T13:59:59.877", "NX", "PX", "2000"}},
		"made at, years ago":           {{"SETNX", "lock", "n1 2019-01-01 12:00:05"}},
		"hexadecimal":                  {{"SETNX", "lock", "ab" + millis(2*time.Second) + "cd"}},
		"another year":                 {{"SETNX", "lock", "n1-1234567890"}},
	} {
		p := newTape(wire.Options{Wall: atNoon})
		for _, args := range sends {
			p.conn("n1").Send(args).Answer(map[string]wire.Value{"SET": okay, "SETNX": number(1)}[args[0]])
		}
		if got := p.ends(); !strings.HasPrefix(got, "n1 acquire ok ") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// SETNX and then EXPIRE: from there on the key ends by itself, and a time that
// is a part of the value is part of a name.
func TestTimeToLiveComesAfter(t *testing.T) {
	p := newTape(wire.Options{Wall: atNoon})
	value := "n1-" + unix(0)
	p.do("n1", "SETNX lock "+value, number(1))
	p.ends()
	p.do("n1", "EXPIRE lock 2", number(1))
	p.do("n1", "GET lock", bulk(value))
	p.do("n1", "DEL lock", number(1))
	p.do("n2", "SETNX lock n2-"+unix(0), number(1))
	if got, want := p.ends(), "n1 renew ok 2s\nn1 observe ok holder n1\nn1 release ok\nn2 acquire ok 240h0m0s"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// A lock that never gets a time to live, and is taken away from its holder, ends when
// something else does that is not known: nobody is accused of that.
func TestLockThatEndsElsewhere(t *testing.T) {
	const script = `if redis.call('EXISTS', KEYS[2]) == 0 then redis.call('DEL', KEYS[1]) return redis.call('SETNX', KEYS[1], ARGV[1]) end return 0`
	type step struct {
		line  string
		reply wire.Value
	}
	for name, steps := range map[string][]step{
		"a transaction": {
			{"WATCH lock beat", okay}, {"GET lock", bulk("n1")}, {"GET beat", nothing}, {"MULTI", okay}, {"SET lock n2", queued}, {"SETEX beat 5 n2", queued}, {"EXEC", list(okay, okay)},
		},
		"step by step": {{"EXISTS beat", number(0)}, {"DEL lock", number(1)}, {"SETNX lock n2", number(1)}},
		"at once":      {{"GETSET lock n2", bulk("n1")}},
		"a script":     {{"EVAL script 2 lock beat n2", number(1)}},
	} {
		p := newTape(wire.Options{Key: "lock"})
		p.do("n1", "SETNX lock n1", number(1))
		p.do("n2", "SETNX lock n2", number(0))
		if got, want := p.ends(), "n1 acquire ok 240h0m0s\nn2 acquire fail 240h0m0s"; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		for _, s := range append(steps, step{"GET lock", bulk("n2")}, step{"SETNX lock n2", number(0)}, step{"DEL lock", number(1)}) {
			args := strings.Fields(s.line)
			if args[0] == "EVAL" {
				args[1] = script
			}
			p.conn("n2").Send(args).Answer(s.reply)
		}
		got := strings.ReplaceAll(p.ends(), "observe ok holder n1", "")
		if strings.Contains(got, " ok") || strings.Contains(got, " fail") {
			t.Errorf("%s: %s", name, got)
		}
		if e := p.lock.Understanding(); !strings.Contains(e.Text, "a lock without a time to live that another one than its holder takes away") {
			t.Errorf("%s: %s", name, e.Text)
		}
	}
}

// So it may be where no reply comes that tells.
func TestLockThatMayEndElsewhere(t *testing.T) {
	p := newTape(wire.Options{Key: "lock"})
	p.do("n1", "SETNX lock n1", number(1))
	p.send("n2", "GETSET lock n2").Lose("timeout")
	if e := p.lock.Understanding(); e.Wire.Operations != 2 || e.Wire.Understood != 1 {
		t.Error(e.Text)
	}
}

// A lock whose key gets a time to live ends by that. A holder may delete its own; the
// deletion of another one's lock is reported.
func TestLockThatEndsByItself(t *testing.T) {
	p := newTape(wire.Options{Key: "lock"})
	p.do("n1", "SETNX lock n1", number(1))
	p.do("n1", "DEL lock", number(1))
	p.do("n1", "SETNX lock n1", number(1))
	p.do("n1", "EXPIRE lock 2", number(1))
	p.do("n2", "DEL lock", number(1))
	p.do("n2", "SETNX lock n2", number(1))
	want := "n1 acquire ok 240h0m0s\nn1 release ok\nn1 acquire ok 240h0m0s\nn1 renew ok 2s\nn2 release ok\nn2 acquire ok 240h0m0s"
	if got := p.ends(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// No time to live is reported that cannot be one.
func TestAbsurdTimesToLive(t *testing.T) {
	const (
		byClock  = `local t = redis.call('TIME') if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'EXAT', t[1] + 2) then return 1 end return 0`
		elseOver = `local t = redis.call('TIME') local over = redis.call('GET', KEYS[2])
if over and tonumber(over) > tonumber(t[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1]) redis.call('SET', KEYS[2], t[1] + 2) return 1`
		ofAnother = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIREAT', KEYS[1], redis.call('GET', KEYS[2])) end return 0`
		forSoLong = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], redis.call('GET', KEYS[2])) end return 0`
		longer    = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], redis.call('PTTL', KEYS[1]) + 1000) end return 0`
	)
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"by the store's clock": {[]string{"EVAL", byClock, "1", "lock", "v"}, "n1 acquire ok 2s"},
		"end in another key":   {[]string{"EVAL", ofAnother, "2", "lock", "end", "a"}, "info"},
		"time in another key":  {[]string{"EVAL", forSoLong, "2", "lock", "time", "a"}, "info"},
		"longer than it was":   {[]string{"EVAL", longer, "1", "lock", "a"}, "info"},
		"compares with it":     {[]string{"EVAL", elseOver, "2", "lock", "end", "v"}, "info"},
		"end that is past":     {[]string{"SET", "lock", "v", "PXAT", millis(-time.Hour)}, "info"},
		"end of long ago":      {[]string{"PEXPIREAT", "lock", "982451653000"}, "info"},
		"a century":            {[]string{"EXPIRE", "lock", "3200000000"}, "info"},
		"a year":               {[]string{"EXPIRE", "lock", "31536000"}, "n1 renew ok 240h0m0s"},
		"deleted by its end":   {[]string{"PEXPIREAT", "lock", "1"}, "n1 release ok"},
	} {
		p := newTape(wire.Options{Key: "lock", Wall: atNoon})
		p.do("n1", "SET lock a NX PX 1000", okay)
		p.ends()
		reply := number(1)
		if test.args[0] == "SET" {
			reply = okay
		}
		p.conn("n1").Send(test.args).Answer(reply)
		for _, e := range p.events {
			if e.TTL < 0 || e.TTL > wire.Endless {
				t.Errorf("%s: a time to live of %v", name, e.TTL)
			}
		}
		got := p.ends()
		if test.want == "info" && (strings.Contains(got, " ok") || !strings.Contains(got, "acquire info")) || test.want != "info" && got != test.want {
			t.Errorf("%s: %s\nwant %s", name, got, test.want)
		}
	}
}

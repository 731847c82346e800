package redismodel

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A sequence of commands is run on a real server, whose clock cannot be set,
// in one go. In between each command it is asked for the time, so that the
// model can be given the very millisecond in which the server executed it. That
// time passes is done to the server by making all its keys expire so much
// earlier, or later; from then on the model's clock is so much ahead of the
// server's, or behind it.

// step is a command, or a script, or that the clock is set.
type step struct {
	args   []string
	script *Script
	keys   []string      // of the script
	jump   time.Duration // in whole seconds, so that times in seconds stay what they are
}

// now in an argument stands for the time, in milliseconds or seconds, of the
// beginning; a number to be added may follow, and text after a space.
const (
	nowMS = "@ms"
	nowS  = "@s"
)

func resolve(args []string, base int64) []string {
	resolved := make([]string, len(args))
	for i, arg := range args {
		resolved[i] = arg
		if plus, found := strings.CutPrefix(arg, nowMS); found {
			plus, rest, more := strings.Cut(plus, " ")
			n, _ := strconv.ParseInt(cmp.Or(plus, "0"), 10, 64)
			resolved[i] = strconv.FormatInt(base+n, 10)
			if more {
				resolved[i] += " " + rest
			}
		} else if plus, found := strings.CutPrefix(arg, nowS); found {
			n, _ := strconv.ParseInt(cmp.Or(plus, "0"), 10, 64)
			resolved[i] = strconv.FormatInt(base/1000+n, 10)
		}
	}
	return resolved
}

// shift makes every key of a real server expire so many milliseconds earlier,
// and the times that the scripts wrote be as much earlier.
const shift = `
local function sooner(key, field)
  if redis.call('TYPE', key).ok ~= 'hash' then return end
  local at = tonumber(redis.call('HGET', key, field) or 0)
  if at and at > 1000000000 and at < 2000000000000 then redis.call('HINCRBY', key, field, -ARGV[1]) end
end
for _, key in ipairs(redis.call('KEYS', '*')) do
  local at = redis.call('PEXPIRETIME', key)
  if at >= 0 then redis.call('PEXPIREAT', key, at - tonumber(ARGV[1])) end
end
sooner('{e}:guard', 'unsure')
sooner('{e}:guard', 'reserved')
for _, key in ipairs({'{e}:guard', 'witness'}) do
  sooner(key, 'since')
  sooner(key, 'of {e}:guard')
  sooner(key, 'of {f}:guard')
end
local candidates = '{e}:candidates'
if redis.call('TYPE', candidates).ok == 'hash' then
  local all = redis.call('HGETALL', candidates)
  for i = 1, #all, 2 do
    local at, rest = string.match(all[i + 1], '^(%d%d%d%d%d%d%d%d%d%d%d%d%d)( .*)$')
    if at and at < '2' then redis.call('HSET', candidates, all[i], string.format('%.0f', at - ARGV[1]) .. rest) end
  end
end`

// luaText is the text of a script whose port is here.
func luaText(t tester, script *Script) string {
	t.Helper()
	if script.Source != "" {
		return script.Source
	}
	for _, text := range []*Script{AcquireText, RenewText, ReleaseText, WithdrawText, LeaderText, CandidatesText} {
		if text.Name == script.Name {
			return text.Source
		}
	}
	t.Fatalf("the text of %s is not here", script.Name)
	return ""
}

// command is the step as a server gets it.
func (s step) command(t tester, args []string) []string {
	t.Helper()
	if s.script == nil {
		return args
	}
	return append(append([]string{"EVAL", luaText(t, s.script), strconv.Itoa(len(s.keys))}, s.keys...), args...)
}

func (s step) String() string {
	switch {
	case s.jump != 0:
		return "the clock is set by " + s.jump.String()
	case s.script != nil:
		return fmt.Sprintf("%s %q %q", s.script.Name, s.keys, s.args)
	default:
		return fmt.Sprintf("%q", s.args)
	}
}

// observed is what the server did: when by its own clock, and its reply.
type observed struct {
	at    time.Duration
	reply Reply
}

// early waits on the server until a millisecond has just begun, and returns the
// time: what comes next is then over before that millisecond is.
const early = `
local now
repeat now = redis.call('TIME') until now[2] % 1000 < 400
return now`

// observe runs the steps on a real server. It begins again when the server's
// clock went on during a command, for then nobody knows at which time it was
// executed, or when all took so long that keys may have expired in between.
func observe(t tester, w *wire, steps []step) (base int64, seen []observed) {
	t.Helper()
	for range 5000 {
		base = int64(microseconds(w.do(t, "EVAL", early, "0")) / time.Millisecond)
		commands := [][]string{{"FLUSHALL"}}
		for _, s := range steps {
			command := s.command(t, resolve(s.args, base))
			if s.jump != 0 {
				command = []string{"EVAL", shift, "0", strconv.FormatInt(s.jump.Milliseconds(), 10)}
			}
			commands = append(commands, []string{"EVAL", early, "0"}, command, []string{"TIME"})
		}
		replies, err := w.pipeline(commands)
		if err != nil {
			t.Fatal(err)
		}
		seen = seen[:0]
		exact := true
		for i := 1; i < len(replies); i += 3 {
			before, after := microseconds(replies[i]), microseconds(replies[i+2])
			exact = exact && before/time.Millisecond == after/time.Millisecond
			exact = exact && after < time.Duration(base+40)*time.Millisecond
			seen = append(seen, observed{at: before, reply: replies[i+1]})
		}
		if exact {
			return base, seen
		}
	}
	t.Fatal("the machine is too slow: the clock went on during some command, 5000 times in a row")
	return 0, nil
}

// microseconds reads the reply to TIME.
func microseconds(r Reply) time.Duration {
	sec, _ := strconv.ParseInt(r.Items[0].Text, 10, 64)
	micros, _ := strconv.ParseInt(r.Items[1].Text, 10, 64)
	return time.Duration(sec)*time.Second + time.Duration(micros)*time.Microsecond
}

// subject is what is compared with the real server: its time can be set.
type subject interface {
	// pass sets the clock. What has expired stays so, even if the clock goes
	// back, for the server's keys that have expired cannot be changed; what
	// would expire in this very millisecond is over.
	pass(now time.Duration)
	step(t tester, now time.Duration, s step, args []string) Reply
}

type modelSubject struct{ *Server }

// listening is a model on which somebody listens to the beacon.
func listening() modelSubject {
	s := New(Options{})
	s.Subscribe(beacon)
	s.Subscribe(channel)
	return modelSubject{s}
}

func (m modelSubject) pass(now time.Duration) {
	m.sweep()
	m.Do(now, "PING")
	for key, e := range m.data.entries {
		if e.expires == m.ms {
			m.Evict(key)
		}
	}
	m.evicted = 0 // nothing is: it is how keys end on time
}

func (m modelSubject) step(_ tester, now time.Duration, s step, args []string) Reply {
	if s.script != nil {
		return m.Eval(now, s.script, s.keys, args)
	}
	return m.Do(now, args...)
}

func (m *mini) pass(now time.Duration) { m.server.SetTime(time.Unix(0, int64(now))) }

func (m *mini) step(t tester, now time.Duration, s step, args []string) Reply {
	t.Helper()
	m.pass(now.Truncate(time.Millisecond))
	return m.do(t, s.command(t, args)...)
}

// same runs the steps on the subject at the times of the server's, and fails
// at the first reply that is not the server's.
func same(t tester, name string, subject subject, base int64, steps []step, seen []observed, loose bool) {
	t.Helper()
	var ahead time.Duration
	for i, s := range steps {
		if s.jump != 0 {
			ahead += s.jump
			subject.pass(seen[i].at + ahead)
			continue
		}
		got := subject.step(t, seen[i].at+ahead, s, resolve(s.args, base+ahead.Milliseconds()))
		if !s.equal(got, seen[i].reply, ahead, loose) {
			for _, s := range steps[:i] {
				t.Log(s)
			}
			t.Fatalf("%v at %v after the beginning: %s says %v; the server, %v behind, says %v",
				s, seen[i].at+ahead-time.Duration(base)*time.Millisecond, name, got, ahead, seen[i].reply)
		}
	}
}

var (
	scriptPlace = regexp.MustCompile(` script: [0-9a-f]{40}, on @user_script:\d+\.$`)
	microsecond = regexp.MustCompile(`1\d{15}`)
	historyID   = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// equal compares the subject's reply with that of a server whose clock is
// behind. What was made from a time in microseconds may differ by less than a
// millisecond, for the server's clock went on while it executed the command,
// and by whole seconds, for it may be older than the last step of the clock.
// Loose compares errors by their code only.
func (s step) equal(got, want Reply, behind time.Duration, loose bool) bool {
	switch {
	case got.Kind != want.Kind || len(got.Items) != len(want.Items):
		return false
	case got.Kind == Error && loose && (s.script != nil || s.args[0] == "EVAL"):
		return true // the other says that the script could not be compiled
	case got.Kind == Error && loose:
		code, _, _ := strings.Cut(want.Text, " ")
		return strings.HasPrefix(got.Text, code+" ")
	case got.Kind == Error: // in a script the server says where
		return got.Text == scriptPlace.ReplaceAllString(want.Text, "")
	case s.script == nil && s.args[0] == "TIME":
		return near(microseconds(got), microseconds(want)+behind)
	case s.script == nil && want.Int >= 0 && s.args[0] == "PEXPIRETIME":
		return got.Int == want.Int+behind.Milliseconds()
	case s.script == nil && want.Int >= 0 && s.args[0] == "EXPIRETIME":
		return got.Int == want.Int+behind.Milliseconds()/1000
	case got.Int != want.Int:
		return sameMicros(got.Int, want.Int)
	}
	switch {
	case s.script == Candidates: // a hash with a long value has no order
		got, want = byField(got, 3), byField(want, 3)
	case s.script == nil && s.args[0] == "HGETALL" && (loose && (s.args[1] == guardKey || s.args[1] == witnessKey) || s.args[1] == candidatesKey):
		got, want = byField(got, 2), byField(want, 2)
	}
	if s.script == nil && s.args[0] == "KEYS" { // in any order
		want.Items = slices.SortedFunc(slices.Values(want.Items), func(a, b Reply) int { return cmp.Compare(a.Text, b.Text) })
	}
	for i := range got.Items {
		if !s.equal(got.Items[i], want.Items[i], behind, loose) {
			return false
		}
	}
	return got.Text == want.Text || equalTexts(got.Text, want.Text) || equalGuards(got.Text, want.Text, behind)
}

// byField sorts what a reply says of the fields of a hash, so many items of each:
// miniredis has an order of its own.
func byField(r Reply, of int) Reply {
	parts := slices.Collect(slices.Chunk(slices.Clone(r.Items), of))
	slices.SortFunc(parts, func(a, b []Reply) int { return cmp.Compare(a[0].Text, b[0].Text) })
	r.Items = slices.Concat(parts...)
	return r
}

// equalGuards compares what scripts wrote in the election's guard: a moment in
// milliseconds, or the server's history; or of its candidates: such a moment, and
// more.
func equalGuards(got, want string, behind time.Duration) bool {
	got, more, _ := strings.Cut(got, " ")
	want, wantMore, _ := strings.Cut(want, " ")
	if more != wantMore {
		return false
	}
	g, err := strconv.ParseInt(got, 10, 64)
	w, err2 := strconv.ParseInt(want, 10, 64)
	if err != nil || err2 != nil {
		return (got == "" || historyID.MatchString(got)) && historyID.MatchString(want) // miniredis has no name
	}
	return w > 1e12 && w < 2e12 && g == w+behind.Milliseconds()
}

// equalTexts compares texts that have a time in microseconds in them.
func equalTexts(got, want string) bool {
	g, w := microsecond.FindString(got), microsecond.FindString(want)
	if g == "" || microsecond.ReplaceAllString(got, "") != microsecond.ReplaceAllString(want, "") {
		return false
	}
	a, _ := strconv.ParseInt(g, 10, 64)
	b, _ := strconv.ParseInt(w, 10, 64)
	return sameMicros(a, b)
}

func sameMicros(a, b int64) bool {
	apart := time.Duration(a-b) * time.Microsecond
	return b > 1e15 && b < 2e15 && near(apart, apart.Round(time.Second))
}

func near(a, b time.Duration) bool { return (a - b).Abs() < time.Millisecond }

package redismodel

import (
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// boundary sets keys that expire in the milliseconds around the present one,
// within which a script sees no time pass, and tells which of them are there.
const boundary = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local there = {}
for i = -3, 3 do
  redis.call('SET', 'k', 'v', 'PXAT', now + i)
  there[#there + 1] = redis.call('EXISTS', 'k')
end
return there`

// A key is still there in the very millisecond that is its expiry time, and
// gone in the next one. A real server takes the time of a script shortly before
// the script asks for it, so now and then it sees an older millisecond, in
// which more keys are there; it must never see fewer.
func TestExpiryBoundary(t *testing.T) {
	s := New(Options{})
	model := ""
	for i := range 7 {
		s.Do(benchNow, "SET", "k", "v", "PXAT", strconv.FormatInt(int64(benchNow/time.Millisecond)+int64(i)-3, 10))
		model += strconv.FormatInt(s.Do(benchNow, "EXISTS", "k").Int, 10)
	}
	if model != "0001111" {
		t.Errorf("around now, the model's keys are there: %s", model)
	}
	real := startReal(t)
	seen := map[string]int{}
	for range 300 {
		text := ""
		for _, item := range real.do(t, "EVAL", boundary, "0").Items {
			text += strconv.FormatInt(item.Int, 10)
		}
		seen[text]++
	}
	if seen[model] == 0 {
		t.Errorf("the real server never has the same keys: %v", seen)
	}
	for text := range seen {
		if text < model {
			t.Errorf("the real server has only the keys %s", text)
		}
	}
}

// All that tells or sets a time is right to the millisecond, up to the last
// one: what is left is 0 then, and seconds round half up.
func TestLastMillisecond(t *testing.T) {
	s := New(Options{})
	s.Do(benchNow, "SET", "k", "v", "PX", "1500")
	for _, test := range []struct {
		after time.Duration
		want  string
	}{
		{0, "[(integer) 1500 (integer) 2]"},
		{time.Microsecond, "[(integer) 1500 (integer) 2]"},
		{time.Millisecond, "[(integer) 1499 (integer) 1]"},
		{1000 * time.Millisecond, "[(integer) 500 (integer) 1]"},
		{1001 * time.Millisecond, "[(integer) 499 (integer) 0]"},
		{1500 * time.Millisecond, "[(integer) 0 (integer) 0]"},
		{1501*time.Millisecond - 1, "[(integer) 0 (integer) 0]"},
		{1501 * time.Millisecond, "[(integer) -2 (integer) -2]"},
	} {
		left := s.Do(benchNow+test.after, "PTTL", "k")
		got := Reply{Kind: Array, Items: []Reply{left, s.Do(benchNow+test.after, "TTL", "k")}}
		if got.String() != test.want {
			t.Errorf("%v later: PTTL and TTL are %v, want %s", test.after, got, test.want)
		}
	}
}

// A key is deleted at once if it is to expire in the present millisecond,
// but one that is SET so is there for the rest of it. A real server is asked for
// each in one go, few commands at a time, for all of a go has to fit into one
// millisecond; if the clock went on in between it is asked again.
func TestExpireNow(t *testing.T) {
	real := startReal(t)
	for name, steps := range map[string][]step{
		"SET PXAT now":    {{args: []string{"SET", "a", "1", "PXAT", nowMS}}, {args: []string{"GET", "a"}}, {args: []string{"PTTL", "a"}}},
		"SET, TTL":        {{args: []string{"SET", "a", "1", "PXAT", nowMS}}, {args: []string{"TTL", "a"}}},
		"PEXPIREAT now":   {{args: []string{"SET", "a", "1"}}, {args: []string{"PEXPIREAT", "a", nowMS}}, {args: []string{"GET", "a"}}},
		"PEXPIREAT later": {{args: []string{"SET", "a", "1"}}, {args: []string{"PEXPIREAT", "a", nowMS + "1"}}, {args: []string{"PTTL", "a"}}},
		"PEXPIRE 0":       {{args: []string{"SET", "a", "1"}}, {args: []string{"PEXPIRE", "a", "0"}}, {args: []string{"GET", "a"}}},
		"PEXPIRE 1":       {{args: []string{"SET", "a", "1"}}, {args: []string{"PEXPIRE", "a", "1"}}, {args: []string{"PTTL", "a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			seen := expireNow(t, real, steps)
			if got := seen[1].reply.String(); name == "SET PXAT now" && got != `"1"` {
				t.Errorf("the key that expires now is %s", got)
			}
		})
	}
}

// expireNow has the model and the real server take the steps in the very
// millisecond that the steps name.
func expireNow(t *testing.T, real *wire, steps []step) []observed {
	for range 5000 {
		base, seen := observe(t, real, steps)
		if seen[len(seen)-1].at < time.Duration(base+1)*time.Millisecond {
			same(t, "the model", modelSubject{New(Options{})}, base, steps, seen, false)
			return seen
		}
	}
	t.Fatal("the machine is too slow: the clock always went on in between")
	return nil
}

// Numbers at the ends of what an integer can be, and times that far away, are
// as in a real server.
func TestExtremes(t *testing.T) {
	numbers := []string{"9223372036854775807", "9223372036854775806", "9223372036854775", "9223372036854776", "-9223372036854775808", "-9223372036854775807", "-9223372036854775", "-9223372036854776", "0", "-0", "-1", "92233720368547758070", "1 ", "\x00"}
	var steps []step
	for _, n := range numbers {
		for _, command := range [][]string{
			{"SET", "k", "1", "PX", n}, {"SET", "k", "1", "EX", n}, {"SET", "k", "1", "PXAT", n}, {"SET", "k", "1", "EXAT", n}, {"SETEX", "k", n, "1"}, {"PSETEX", "k", n, "1"},
			{"EXPIRE", "k", n}, {"PEXPIRE", "k", n}, {"EXPIREAT", "k", n}, {"PEXPIREAT", "k", n}, {"EXPIRE", "k", n, "LT"}, {"PEXPIREAT", "k", n, "GT"},
			{"INCRBY", "k", n}, {"DECRBY", "k", n}, {"SET", "k", n, "KEEPTTL"}, {"INCR", "k"}, {"DECR", "k"}, {"HINCRBY", "h", "f", n}, {"HINCRBY", "h", "f", "-1"}, {"HINCRBY", "h", "f", "1"},
			{"LRANGE", "l", n, "1"}, {"LRANGE", "l", "0", n},
		} {
			for _, prepare := range [][]string{{"SET", "k", "0", "PX", "100000"}, {"RPUSH", "l", "1"}, {"HSET", "h", "f", n}} {
				steps = append(steps, step{args: prepare})
			}
			steps = append(steps, step{args: command}, step{args: []string{"GET", "k"}}, step{args: []string{"PTTL", "k"}}, step{args: []string{"TTL", "k"}}, step{args: []string{"PEXPIRETIME", "k"}}, step{args: []string{"EXPIRETIME", "k"}})
		}
	}
	real := startReal(t)
	for len(steps) > 0 {
		n := min(len(steps), 9)
		base, seen := observe(t, real, steps[:n])
		same(t, "the model", modelSubject{New(Options{})}, base, steps[:n], seen, false)
		steps = steps[n:]
	}
}

// The model reads integers exactly as strconv would write them.
func TestParseInt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64().Draw(t, "n")
		if got, fine := parseInt(strconv.FormatInt(n, 10)); !fine || got != n {
			t.Errorf("%d is read as %d, %v", n, got, fine)
		}
		text := rapid.StringMatching(`-?[0-9]{0,20}[ x+]?`).Draw(t, "text")
		n, err := strconv.ParseInt(text, 10, 64)
		got, fine := parseInt(text)
		if want := err == nil && strconv.FormatInt(n, 10) == text; fine != want || fine && got != n {
			t.Errorf("%q is read as %d, %v", text, got, fine)
		}
	})
}

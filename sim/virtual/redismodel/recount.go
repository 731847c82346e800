package redismodel

import (
	"strconv"
	"strings"

	"github.com/recount-io/recount/elector/redisstore/scripts"
)

// The scripts of elector/redisstore, by the names of their files: the text of
// each, with shared.lua in front, is there, as is what its keys and arguments
// are. The last key, the audit's list, may be left out. The terms, which the
// scripts note for those who look, and no answer depends on, the ports leave out.
var (
	Acquire    = &Script{Name: "acquire", Run: acquire}
	Renew      = &Script{Name: "renew", Run: renew}
	Release    = &Script{Name: "release", Run: release}
	Leader     = &Script{Name: "leader", Run: leader}
	Candidates = &Script{Name: "candidates", Run: candidates}
)

// The same scripts by their text, word for word as the store sends it.
var (
	AcquireText    = compiled("acquire", scripts.Acquire())
	RenewText      = compiled("renew", scripts.Renew())
	ReleaseText    = compiled("release", scripts.Release())
	LeaderText     = compiled("leader", scripts.Leader())
	CandidatesText = compiled("candidates", scripts.Candidates())
)

// compiled is Compile for a text that is known to be right.
func compiled(name, text string) *Script {
	script, err := Compile(name, text)
	if err != nil {
		panic(err)
	}
	return script
}

func acquire(c *Call) Reply {
	lease, guard, id, nonce, ttl, channel := c.Keys[0], c.Keys[2], c.Args[0], c.Args[1], c.Int(c.Args[2]), c.Args[4]
	now := milliTime(c)
	listening := c.Subscribers(channel)
	value, found := c.Get(lease)
	var own string
	if found {
		token, held, holder, ours := parseLease(value)
		if !ours {
			return occupied(c, "0", value, false)
		}
		if held != nonce || holder != id {
			return occupied(c, token, holder, true)
		}
		own = token
	}
	known, primary := c.Knowledge(c.Args[6])
	if !primary {
		return notPrimary
	}
	if rest, remark := withheld(c, known, found, now, ttl); rest > 0 {
		return refuseAcquire(c, "0", "", rest, remark)
	}
	if found {
		c.PExpireAt(lease, now+ttl)
		c.HSet(guard, "until", number(now+ttl))
		auditCall(c, 5, "acquire", nonce, c.Args[5], own, true)
		return c.Array(Integer(1), Text(own), Integer(listening))
	}
	token, failure := nextToken(c)
	if failure.Failed() || c.Failed() {
		return failure
	}
	value = "r1 " + token + " " + nonce + " " + id
	c.SetPX(lease, value, ttl)
	hold(c, lease, guard, value, known, now+ttl, ttl)
	c.HDel(guard, "unsure", "seed", "to", "reserved")
	heard(c, c.Keys[3], id, now, c.Args[2], c.Args[7])
	auditCall(c, 5, "acquire", nonce, c.Args[5], token, true)
	if listening > 0 { // else nobody would get it
		c.Publish(channel, "granted "+token+" "+c.Args[2]+" "+number(listening))
	}
	return c.Array(Integer(1), Text(token), Integer(listening))
}

// notPrimary is the answer to who asks a replica for what only a primary can give.
var notPrimary = Fail("READONLY this server is a replica")

// Knowledge names what the server knows, as history in shared.lua does, and tells
// whether it is a primary.
func (s *Server) Knowledge(protect string) (name string, primary bool) {
	switch {
	case s.primary != nil:
		return "", false
	case protect != "2":
		return s.stream.id, true
	}
	return s.stream.id + " " + strconv.Itoa(s.copies) + " " + strconv.Itoa(s.goneOn), true
}

// occupied refuses because of what the lease's key holds.
func occupied(c *Call, token, holder string, ours bool) Reply {
	lease, repaired, usual := c.Keys[0], int64(0), c.Int(c.Args[2])
	remaining := c.PTTL(lease)
	if remaining > usual {
		text, _ := c.HGet(c.Keys[2], "longest")
		if longest, known := parseInt(text); known {
			usual = max(usual, longest)
		} else if ours {
			usual = remaining
		}
	}
	if remaining < 0 || remaining > usual {
		remaining, repaired = usual, 1
		c.PExpire(lease, remaining)
	}
	return refuseAcquire(c, token, holder, remaining, repaired)
}

func refuseAcquire(c *Call, token, holder string, remaining, remark int64) Reply {
	auditCall(c, 5, "acquire", c.Args[1], c.Args[5], token, false)
	roster, now, listening := c.Keys[3], milliTime(c), c.Subscribers(c.Args[4])
	heard(c, roster, c.Args[0], now, c.Args[2], c.Args[7])
	forget(c, roster, now, listening)
	return c.Array(Integer(0), Text(token), Text(holder), Integer(remaining), Integer(listening), Integer(remark))
}

// withheld is for how long nobody may be granted the lease, and why.
func withheld(c *Call, known string, own bool, now, ttl int64) (rest, remark int64) {
	guard := c.Keys[2]
	longest := max(field(c, guard, "longest"), ttl)
	if c.Args[6] != "0" {
		if history, found := c.HGet(guard, "history"); !found || history != known {
			c.HSet(guard, "history", known, "until", "0", "unsure", number(now+longest), "longest", number(longest), "value", "", "seed", "1")
			return longest, 2
		}
		unsure, ends := field(c, guard, "unsure"), field(c, guard, "until")
		if own {
			ends = 0
		}
		if rest = max(unsure, ends) - now; rest > longest { // the server's clock went back
			rest = longest
			c.HSet(guard, "until", number(min(ends, now+rest)), "unsure", number(min(unsure, now+rest)))
		}
		switch {
		case rest > 0 && unsure > ends:
			return rest, 2
		case rest > 0:
			return rest, 3
		}
	}
	if own {
		return 0, 0
	}
	rest = min(field(c, guard, "reserved")-now, longest)
	if to, found := c.HGet(guard, "to"); found && to != c.Args[0] && rest > 0 {
		return rest, 4
	}
	return 0, 0
}

// hold makes the lease and the guard last until then.
func hold(c *Call, lease, guard, value, known string, ends, ttl int64) {
	c.PExpireAt(lease, ends)
	c.HSet(guard, "history", known, "until", number(ends), "longest", number(ttl), "value", value)
}

// field is a number of the guard, 0 if there is none.
func field(c *Call, guard, name string) int64 {
	text, _ := c.HGet(guard, name)
	n, _ := parseInt(text) // as tonumber, for what the scripts write
	return n
}

// milliTime is the server's time in milliseconds.
func milliTime(c *Call) int64 {
	sec, micros := c.Time()
	return sec*1000 + micros/1000
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func nextToken(c *Call) (string, Reply) {
	counter, floor := c.Keys[1], c.Args[3]
	last, found := c.Get(counter)
	if found && last != "0" && !decimal(last) {
		return "", Fail("COUNTER the key " + counter + " holds no decimal number")
	}
	if !found {
		last = "0"
	}
	if seed, _ := c.HGet(c.Keys[2], "seed"); c.Args[6] != "0" && (!found || seed == "1") {
		if micros := string(appendMicroTime(c, nil)); less(last, micros) {
			last = micros
		}
		c.Set(counter, last)
	}
	if less(last, floor) {
		c.Set(counter, floor)
	}
	c.Incr(counter)
	token, _ := c.Get(counter)
	return token, Reply{}
}

func renew(c *Call) Reply {
	lease, guard := c.Keys[0], c.Keys[1]
	value, found := c.Get(lease)
	held := found && value == c.Args[0]
	if held {
		known, primary := c.Knowledge(c.Args[7])
		if !primary {
			return notPrimary
		}
		now, ttl := milliTime(c), c.Int(c.Args[1])
		if history, _ := c.HGet(guard, "history"); history == known {
			c.PExpireAt(lease, now+ttl)
			c.HSet(guard, "until", number(now+ttl))
		} else {
			longest := max(field(c, guard, "longest"), ttl)
			hold(c, lease, guard, value, known, now+ttl, ttl)
			c.HSet(guard, "unsure", number(now+longest), "seed", "1")
		}
		heard(c, c.Keys[2], c.Args[5], now, c.Args[1], c.Args[6])
	}
	auditCall(c, 3, "renew", c.Args[2], c.Args[3], c.Args[4], held)
	return truth(held)
}

func release(c *Call) Reply {
	lease, guard, channel, to := c.Keys[0], c.Keys[1], c.Args[1], c.Args[5]
	value, found := c.Get(lease)
	held := found && value == c.Args[0]
	known, _ := c.HGet(guard, "value")
	over := known == c.Args[0] && (held || !found && field(c, guard, "until") > milliTime(c))
	if held {
		c.Del(lease)
	}
	if over {
		c.HSet(guard, "until", "0")
	}
	if held && to != "" {
		c.HSet(guard, "to", to, "reserved", number(milliTime(c)+c.Int(c.Args[6])))
	}
	auditCall(c, 3, "release", c.Args[2], c.Args[3], c.Args[4], held)
	if n := c.Subscribers(channel); (held || over) && n > 0 { // else nobody would get it
		text := "released " + c.Args[4] + " " + number(n)
		if to != "" {
			text += " " + c.Args[6] + " " + to
		}
		c.Publish(channel, text)
	}
	return truth(held)
}

func leader(c *Call) Reply {
	value, found := c.Get(c.Keys[0])
	if !found {
		return c.Array()
	}
	token, _, id, ours := parseLease(value)
	if !ours {
		token, id = "0", value
	}
	return c.Array(Text(token), Text(id), Integer(c.PTTL(c.Keys[0])))
}

// auditCall appends a line to the list that is the key of this number, if the
// script was given that many.
func auditCall(c *Call, key int, call, nonce, request, token string, applied bool) {
	if len(c.Keys) <= key || c.Failed() {
		return
	}
	b := appendMicroTime(c, make([]byte, 0, 128))
	for _, field := range [...]string{call, nonce, request, token} {
		b = append(append(b, ' '), field...)
	}
	if applied {
		b = append(b, " 1"...)
	} else {
		b = append(b, " 0"...)
	}
	c.RPush(c.Keys[key], string(b))
}

// appendMicroTime appends the server's time in microseconds, put together as
// in Lua.
func appendMicroTime(c *Call, b []byte) []byte {
	sec, micros := c.Time()
	b = strconv.AppendInt(b, sec, 10)
	for unit := int64(100_000); unit > 0; unit /= 10 {
		b = append(b, byte('0'+micros/unit%10))
	}
	return b
}

// parseLease is Lua's '^r1 (%d+) (%S+) (.*)$'.
func parseLease(value string) (token, nonce, id string, matches bool) {
	rest, matches := strings.CutPrefix(value, "r1 ")
	if !matches {
		return "", "", "", false
	}
	token, rest, matches = strings.Cut(rest, " ")
	if !matches || token == "" || !digits(token) {
		return "", "", "", false
	}
	nonce, id, matches = strings.Cut(rest, " ")
	if !matches || nonce == "" || strings.ContainsAny(nonce, "\t\n\v\f\r") {
		return "", "", "", false
	}
	return token, nonce, id, true
}

// decimal is Lua's '^[1-9]%d*$'.
func decimal(text string) bool { return text != "" && text[0] != '0' && digits(text) }

func digits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}

// less compares decimal numbers of any length.
func less(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

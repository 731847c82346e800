package redismodel

import (
	"strconv"
	"strings"
)

// The scripts of elector/redisstore, by the names of their files: the text of
// each, with shared.lua in front, is there, as is what its keys and arguments
// are. The last key, the audit's list, may be left out.
var (
	Acquire = &Script{Name: "acquire", Run: acquire}
	Renew   = &Script{Name: "renew", Run: renew}
	Release = &Script{Name: "release", Run: release}
	Leader  = &Script{Name: "leader", Run: leader}
)

func acquire(c *Call) Reply {
	id, nonce, channel := c.Args[0], c.Args[1], c.Args[4]
	if value, found := c.Get(c.Keys[0]); found {
		token, held, holder, ours := parseLease(value)
		if !ours {
			return refuseAcquire(c, "0", value)
		}
		if held != nonce || holder != id {
			return refuseAcquire(c, token, holder)
		}
		c.PExpire(c.Keys[0], c.Int(c.Args[2]))
		auditCall(c, 2, "acquire", nonce, c.Args[5], token, true)
		return c.Array(Integer(1), Text(token), Integer(c.Subscribers(channel)))
	}
	token, failure := nextToken(c)
	if failure.Failed() || c.Failed() {
		return failure
	}
	c.SetPX(c.Keys[0], "r1 "+token+" "+nonce+" "+id, c.Int(c.Args[2]))
	auditCall(c, 2, "acquire", nonce, c.Args[5], token, true)
	listening := c.Subscribers(channel)
	if listening > 0 { // else nobody would get it
		c.Publish(channel, "granted "+token+" "+c.Args[2]+" "+strconv.FormatInt(listening, 10))
	}
	return c.Array(Integer(1), Text(token), Integer(listening))
}

func refuseAcquire(c *Call, token, holder string) Reply {
	lease, repaired := c.Keys[0], false
	remaining := c.PTTL(lease)
	if remaining < 0 {
		remaining, repaired = c.Int(c.Args[2]), true
		c.PExpire(lease, remaining)
	}
	auditCall(c, 2, "acquire", c.Args[1], c.Args[5], token, false)
	return c.Array(Integer(0), Text(token), Text(holder), Integer(remaining), Integer(c.Subscribers(c.Args[4])), truth(repaired))
}

func nextToken(c *Call) (string, Reply) {
	counter, floor := c.Keys[1], c.Args[3]
	last, found := c.Get(counter)
	if found && last != "0" && !decimal(last) {
		return "", Fail("COUNTER the key " + counter + " holds no decimal number")
	}
	if !found && len(c.Args) > 6 && c.Args[6] == "1" {
		last = string(appendMicroTime(c, nil))
		c.Set(counter, last)
		found = true
	}
	if !found {
		last = "0"
	}
	if less(last, floor) {
		c.Set(counter, floor)
	}
	c.Incr(counter)
	token, _ := c.Get(counter)
	return token, Reply{}
}

func renew(c *Call) Reply {
	value, found := c.Get(c.Keys[0])
	held := found && value == c.Args[0]
	if held {
		c.PExpire(c.Keys[0], c.Int(c.Args[1]))
	}
	auditCall(c, 1, "renew", c.Args[2], c.Args[3], c.Args[4], held)
	return truth(held)
}

func release(c *Call) Reply {
	value, found := c.Get(c.Keys[0])
	held := found && value == c.Args[0]
	if held {
		c.Del(c.Keys[0])
	}
	auditCall(c, 1, "release", c.Args[2], c.Args[3], c.Args[4], held)
	if n := c.Subscribers(c.Args[1]); held && n > 0 { // else nobody would get it
		c.Publish(c.Args[1], "released "+c.Args[4]+" "+strconv.FormatInt(n, 10))
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

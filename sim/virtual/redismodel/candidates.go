package redismodel

import (
	"strconv"
	"strings"
)

// heard notes that a candidate lives, as far as the server lets it. With more fields
// it notes these as well.
func heard(c *Call, candidates, id string, now int64, ttl, priority, longest, request string, more ...string) {
	note := number(now) + " " + ttl + " " + priority + " " + longest + " " + request
	c.pcall(func() { c.HSet(candidates, append([]string{id, note}, more...)...) })
}

// bid is the attempt that was refused last.
type bid struct {
	at, ttl                            int64
	longest, floor, request, nonce, id string
	beacon                             string // "-": it does not stand
}

// refusedLast is Lua's '^(%d+) (%d+) (%d+) (%d+) (%d+) (%S+) (%S+) (.*)$', of what the
// candidates say of the attempt that was refused last.
func refusedLast(c *Call, candidates string) (b bid, known bool) {
	text := ""
	c.pcall(func() { text, _ = c.HGet(candidates, "") })
	parts := strings.SplitN(text, " ", 8)
	if len(parts) < 8 || parts[5] == "" || parts[6] == "" || strings.ContainsAny(parts[5]+parts[6], "\t\n\v\f\r") {
		return b, false
	}
	for _, n := range parts[:5] {
		if !natural(n) {
			return b, false
		}
	}
	b = bid{longest: parts[2], floor: parts[3], request: parts[4], beacon: parts[5], nonce: parts[6], id: parts[7]}
	b.at, _ = strconv.ParseInt(parts[0], 10, 64)  // they are digits
	b.ttl, _ = strconv.ParseInt(parts[1], 10, 64) // likewise
	return b, true
}

// forget removes the candidates that were not heard of for long, if there are many
// more than listen.
func forget(c *Call, candidates string, now, listening int64) {
	if now%16 != 0 {
		return
	}
	c.pcall(func() {
		if known := c.Do("HLEN", candidates); known.Kind != Int || known.Int <= 2*listening+32 {
			return
		}
		for id, text := range c.fields(candidates) {
			if n, ours := parseNote(text); id != "" && (!ours || n.at+4*n.lasts < now) {
				c.HDel(candidates, id)
			}
		}
	})
}

func candidates(c *Call) Reply {
	if _, primary := c.History(); !primary {
		return notPrimary
	}
	var live []Reply
	now := milliTime(c)
	value, _ := c.HGet(c.Keys[1], "value")
	_, _, holder, _ := parseLease(value)
	renewed := field(c, c.Keys[2], "of "+c.Keys[1]) - field(c, c.Keys[1], "lasts")
	for id, text := range c.fields(c.Keys[0]) {
		n, ours := parseNote(text)
		if ours && id == holder {
			n.at = max(n.at, renewed)
		}
		if ours && now-n.at <= 2*n.lasts {
			live = append(live, Text(id), Integer(max(now-n.at, 0)), Text(n.priority))
		}
	}
	return c.Array(live...)
}

// fields yields the fields of the hash that the key holds, as they are now.
func (c *Call) fields(key string) func(yield func(field, value string) bool) {
	all := append([]Reply(nil), c.Do("HGETALL", key).Items...)
	return func(yield func(field, value string) bool) {
		for i := 0; i+1 < len(all) && yield(all[i].Text, all[i+1].Text); i += 2 {
			continue
		}
	}
}

// note is what heard writes of a candidate.
type note struct {
	at, lasts, longest, request int64
	priority                    string
}

// parseNote is Lua's '^(%d+) (%d+) (-?%d+) (%d+) (%d+)$', for what the scripts write.
func parseNote(text string) (n note, matches bool) {
	parts := strings.Split(text, " ")
	if len(parts) != 5 || !natural(parts[0]) || !natural(parts[1]) || !natural(strings.TrimPrefix(parts[2], "-")) || !natural(parts[3]) || !natural(parts[4]) {
		return note{}, false
	}
	n.at, _ = strconv.ParseInt(parts[0], 10, 64)    // they are digits
	n.lasts, _ = strconv.ParseInt(parts[1], 10, 64) // likewise
	n.longest, _ = strconv.ParseInt(parts[3], 10, 64)
	n.request, _ = strconv.ParseInt(parts[4], 10, 64)
	n.priority = parts[2]
	return n, true
}

func natural(text string) bool { return text != "" && digits(text) }

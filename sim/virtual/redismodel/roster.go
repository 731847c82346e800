package redismodel

import (
	"strconv"
	"strings"
)

// heard notes that a candidate lives, as far as the server lets it.
func heard(c *Call, roster, id string, now int64, ttl, priority string) {
	c.pcall(func() { c.HSet(roster, id, number(now)+" "+ttl+" "+priority) })
}

// forget removes the candidates that were not heard of for long, if there are many
// more than listen.
func forget(c *Call, roster string, now, listening int64) {
	c.pcall(func() {
		if known := c.Do("HLEN", roster); known.Kind != Int || known.Int <= 2*listening+32 {
			return
		}
		for id, note := range c.fields(roster) {
			if at, lasts, _, ours := parseHeard(note); !ours || at+4*lasts < now {
				c.HDel(roster, id)
			}
		}
	})
}

func candidates(c *Call) Reply {
	var live []Reply
	now := milliTime(c)
	for id, note := range c.fields(c.Keys[0]) {
		if at, lasts, priority, ours := parseHeard(note); ours && now-at <= 2*lasts {
			live = append(live, Text(id), Integer(max(now-at, 0)), Text(priority))
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

// parseHeard is Lua's '^(%d+) (%d+) (-?%d+)$', for what the scripts write.
func parseHeard(note string) (at, lasts int64, priority string, matches bool) {
	parts := strings.Split(note, " ")
	if len(parts) != 3 || !natural(parts[0]) || !natural(parts[1]) || !natural(strings.TrimPrefix(parts[2], "-")) {
		return 0, 0, "", false
	}
	at, _ = strconv.ParseInt(parts[0], 10, 64)    // they are digits
	lasts, _ = strconv.ParseInt(parts[1], 10, 64) // likewise
	return at, lasts, parts[2], true
}

func natural(text string) bool { return text != "" && digits(text) }

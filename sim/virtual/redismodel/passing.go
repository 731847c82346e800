package redismodel

import "strings"

func release(c *Call) Reply {
	lease, guard, roster, channel, to, reserved := c.Keys[0], c.Keys[1], c.Keys[2], c.Args[1], c.Args[5], c.Args[6]
	value, found := c.Get(lease)
	held := found && value == c.Args[0]
	known, _ := c.HGet(guard, "value")
	now := milliTime(c)
	over := known == c.Args[0] && (held || !found && field(c, guard, "until") > now)
	next := ""
	if held || over {
		if b, stands := refusedLast(c, roster); stands && b.id != c.Args[7] {
			if next = b.id; held && over && passed(c, b, now) {
				return truth(true)
			}
		}
	}
	if held {
		c.Del(lease)
	}
	if over {
		c.HSet(guard, "until", number(now))
	}
	if held && to != "" {
		c.HSet(guard, "to", to, "reserved", number(now+c.Int(reserved)))
	}
	auditCall(c, 5, "release", c.Args[2], c.Args[3], c.Args[4], held)
	if held && c.Args[8] != "0" {
		heard(c, roster, c.Args[7], now, c.Args[8], c.Args[9], c.Args[10])
	}
	if (held || over) && c.Subscribers(channel) > 0 { // else nobody would get it
		if to == "" {
			to, reserved = next, "0"
		}
		text := "released " + c.Args[4]
		if to != "" {
			text += " " + reserved + " " + to
		}
		c.Publish(channel, text)
	}
	return truth(held)
}

// passed grants the lease to who was refused last, if that is sure to be no less safe
// than a grant that it asks for.
func passed(c *Call, b bid, now int64) bool {
	lease, guard, roster, to, protect := c.Keys[0], c.Keys[1], c.Keys[2], c.Args[5], c.Args[11]
	longest, _ := c.HGet(guard, "longest")
	seed, _ := c.HGet(guard, "seed")
	_, unsure := c.HGet(guard, "unsure")
	_, reserved := c.HGet(guard, "reserved")
	age := now - b.at
	switch {
	case b.beacon == "-" || protect == "2" || to != "" && to != b.id:
		return false
	case age < 0 || 4*age > 3*b.ttl || b.longest != longest || seed == "1":
		return false
	case field(c, guard, "unsure") > now || field(c, guard, "reserved") > now:
		return false
	}
	history, _ := c.HGet(guard, "history")
	if protect != "0" {
		if known, primary := c.Knowledge(protect); !primary || known != history {
			return false
		}
	}
	if c.Subscribers(b.beacon) == 0 {
		return false
	}
	token, failure := nextToken(c, c.Keys[4], protect, b.floor, false)
	if failure.Failed() {
		return false
	}
	value := "r1 " + token + " " + b.nonce + " " + b.id
	c.SetPXAt(lease, value, now+b.ttl)
	hold(c, guard, value, history, now+b.ttl, number(b.ttl), b.longest, "")
	if unsure || reserved {
		c.HDel(guard, "unsure", "to", "reserved")
	}
	c.pcall(func() { c.HDel(roster, "") })
	auditCall(c, 5, "release", c.Args[2], c.Args[3], c.Args[4], true)
	auditCall(c, 5, "acquire", b.nonce, b.request, token, true)
	if c.Args[8] != "0" {
		heard(c, roster, c.Args[7], now, c.Args[8], c.Args[9], c.Args[10])
	}
	c.Publish(c.Args[1], strings.Join([]string{"granted", token, number(b.ttl), b.request, b.nonce, b.id}, " "))
	return true
}

func withdraw(c *Call) Reply {
	value, _ := c.Get(c.Keys[0])
	if token, nonce, id, _ := parseLease(value); nonce == c.Args[1] && id == c.Args[0] {
		return Text(token)
	}
	if b, known := refusedLast(c, c.Keys[1]); known && b.nonce == c.Args[1] && b.id == c.Args[0] {
		c.pcall(func() { c.HDel(c.Keys[1], "") })
	}
	return Text("0")
}

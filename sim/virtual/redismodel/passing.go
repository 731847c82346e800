package redismodel

import "strings"

func release(c *Call) Reply {
	lease, guard, candidates, witness, channel, to, reserved := c.Keys[0], c.Keys[1], c.Keys[2], c.Keys[5], c.Args[1], c.Args[5], c.Args[6]
	value, found := c.Get(lease)
	held := found && value == c.Args[0]
	known, noted := c.HGet(guard, "value")
	now := milliTime(c)
	over := noted && known == c.Args[0] && (held || !found && field(c, witness, "of "+guard) > now)
	next := ""
	if held || over {
		if b, stands := refusedLast(c, candidates); stands && b.id != c.Args[7] {
			if next = b.id; held && over && passed(c, b, now) {
				return truth(true)
			}
		}
	}
	if held {
		c.Del(lease)
	}
	if over {
		c.HSet(witness, "of "+guard, number(now))
	}
	if held && to != "" {
		c.HSet(guard, "to", to, "reserved", number(now+c.Int(reserved)))
	}
	auditCall(c, 6, "release", c.Args[2], c.Args[3], c.Args[4], held)
	if held && c.Args[8] != "0" {
		heard(c, candidates, c.Args[7], now, c.Args[8], c.Args[9], c.Args[10], c.Args[3])
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
	lease, guard, candidates, to, protect := c.Keys[0], c.Keys[1], c.Keys[2], c.Args[5], c.Args[11]
	longest, _ := c.HGet(guard, "longest")
	_, unsure := c.HGet(guard, "unsure")
	_, reserved := c.HGet(guard, "reserved")
	age := now - b.at
	switch {
	case b.beacon == "-" || to != "" && to != b.id:
		return false
	case age < 0 || 4*age > 3*b.ttl || b.longest != longest || field(c, guard, "reserved") > now:
		return false
	case protect != "0" && forgot(c, c.Int(longest), now):
		return false
	}
	if c.Subscribers(b.beacon) == 0 {
		return false
	}
	token, failure := nextToken(c, c.Keys[4], lastOf(c, c.Keys[4]), protect, b.floor, false)
	if failure.Failed() {
		return false
	}
	if c.Publish(c.Args[1], strings.Join([]string{"granted", token, number(b.ttl), b.request, b.nonce, b.id}, " ")) == 0 {
		return false
	}
	value := "r1 " + token + " " + b.nonce + " " + b.id
	c.SetPXAt(lease, value, now+b.ttl)
	c.HSet(c.Keys[5], "of "+guard, number(now+b.ttl))
	hold(c, guard, value, number(b.ttl), b.longest, "")
	if unsure || reserved {
		c.HDel(guard, "unsure", "to", "reserved")
	}
	c.pcall(func() { c.HDel(candidates, "") })
	auditCall(c, 6, "release", c.Args[2], c.Args[3], c.Args[4], true)
	auditCall(c, 6, "acquire", b.nonce, b.request, token, true)
	if c.Args[8] != "0" {
		heard(c, candidates, c.Args[7], now, c.Args[8], c.Args[9], c.Args[10], c.Args[3])
	}
	return true
}

// forgot reports whether the server may have forgotten a lease that is believed in.
func forgot(c *Call, most, now int64) bool {
	guard, witness := c.Keys[1], c.Keys[5]
	text, _ := c.HGet(witness, "since")
	since, fine := parseInt(text)
	history, _ := c.HGet(witness, "history")
	known, primary := c.History()
	return !fine || since+most > now || field(c, guard, "unsure") > now || !primary || known != history
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

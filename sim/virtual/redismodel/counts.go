package redismodel

import "cmp"

// On leases of which length candidates count.

// countedOn is how long any lease may last, as the last candidate that was granted it
// counts on.
func (c *Call) countedOn() (longest int64, known bool) {
	text, _ := c.HGet(c.Keys[2], "longest")
	return parseInt(text)
}

// lastsFor is how long leases may last as the holder of one counts on, 0 if nobody
// knows.
func (c *Call) lastsFor(holder string) (most int64) {
	c.pcall(func() {
		text, _ := c.HGet(c.Keys[3], holder)
		if n, fine := parseNote(text); fine {
			most = n.longest
		}
	})
	return most
}

// disagreed is for how long somebody may live who counts on a shorter lease than the
// caller's, or has a longer one than the caller counts on; that longer one; and what
// everybody counts on at least.
func disagreed(c *Call, counted, lasted, ended int64, value string, now int64) (rest, most, least int64) {
	ttl, longest := c.Int(c.Args[2]), c.Int(c.Args[8])
	most, least = longest, longest
	alive(c, counted, lasted, ended, value, now, func(theirs, lasts, left int64) {
		least = min(least, theirs)
		if theirs < ttl {
			rest = max(rest, left)
		}
		if lasts > most {
			rest, most = max(rest, 1), lasts
		}
	})
	return rest, most, least
}

// alive calls f for every other candidate that may live. It returns what the caller is
// known to count on at least, 0 if that holds nobody back, and with which request it has
// said so.
func alive(c *Call, counted, lasted, ended int64, value string, now int64, f func(theirs, lasts, left int64)) (known, said int64) {
	if _, _, holder, _ := parseLease(value); counted > 0 && holder != c.Args[0] && ended+2*counted > now {
		f(counted, cmp.Or(lasted, counted), ended+2*counted-now)
	}
	said = -1
	c.pcall(func() {
		for other, text := range c.fields(c.Keys[3]) {
			n, fine := parseNote(text)
			left := min(n.at, now) + 2*n.longest - now
			switch {
			case other == c.Args[0]:
				if fine {
					said = n.request
				}
				if fine && left > 0 {
					known = n.longest
				}
			case fine && left > 0:
				f(n.longest, n.lasts, left)
			}
		}
	})
	return known, said
}

// relearn is what the caller counts on from now on, and what others are to know of that,
// by which request.
func relearn(c *Call, counted, now int64) (most int64, note, said string) {
	guard, longest := c.Keys[2], c.Int(c.Args[8])
	if most = longest; c.Args[9] != "" {
		most = c.Int(c.Args[9])
	}
	value, _ := c.HGet(guard, "value")
	before, last := alive(c, counted, field(c, guard, "lasts"), field(c, c.Keys[5], "of "+guard), value, now, func(_, lasts, _ int64) {
		most = max(most, lasts)
	})
	if last >= c.Int(c.Args[5]) {
		answer := most
		if most <= longest {
			answer = 0
		}
		return answer, number(min(cmp.Or(before, most), longest)), number(last)
	}
	remembered := false
	if known, primary := c.History(); primary && c.Args[6] != "0" {
		since := remembers(c, c.Keys[5], guard, known, now).since
		remembered = max(since+max(counted, longest), field(c, guard, "unsure")) <= now
	}
	if !remembered {
		return max(most, counted, longest), c.Args[8], c.Args[5]
	}
	if most < counted {
		c.HSet(guard, "longest", number(most))
	}
	switch {
	case most >= longest:
		return most, c.Args[8], c.Args[5]
	case before > 0 && before <= most:
		return most, number(most), c.Args[5]
	default:
		return longest, number(most), c.Args[5]
	}
}

package redismodel

import (
	"strconv"
	"strings"

	"github.com/recount-io/recount/elector/redisstore/scripts"
)

// The scripts of elector/redisstore, by the names of their files: the text of
// each, with the functions that it uses in front, is there, as is what its keys and arguments
// are. The last key, the audit's list, may be left out. The terms, which the
// scripts note for those who look, and no answer depends on, the ports leave out.
var (
	Acquire    = &Script{Name: "acquire", Run: acquire}
	Renew      = &Script{Name: "renew", Run: renew}
	Release    = &Script{Name: "release", Run: release}
	Withdraw   = &Script{Name: "withdraw", Run: withdraw}
	Leader     = &Script{Name: "leader", Run: leader}
	Candidates = &Script{Name: "candidates", Run: candidates}
)

// The same scripts by their text, word for word as the store sends it.
var (
	AcquireText    = compiled("acquire", scripts.Acquire())
	RenewText      = compiled("renew", scripts.Renew())
	ReleaseText    = compiled("release", scripts.Release())
	WithdrawText   = compiled("withdraw", scripts.Withdraw())
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
	w := withheld(c, known, found, now)
	if w.rest > 0 {
		return refuseAcquire(c, "0", "", w.rest, w.remark, w.most)
	}
	if found {
		c.PExpireAt(lease, now+ttl)
		c.HSet(guard, "until", number(now+ttl))
		auditCall(c, 6, "acquire", nonce, c.Args[5], own, true)
		return c.Array(Integer(1), Text(own), Integer(c.Subscribers(channel)))
	}
	forget(c, c.Keys[3], now, 0)
	token, failure := nextToken(c, c.Keys[1], c.Args[6], c.Args[3], w.seed)
	if failure.Failed() || c.Failed() {
		return failure
	}
	value = "r1 " + token + " " + nonce + " " + id
	c.SetPXAt(lease, value, now+ttl)
	note := ""
	if len(c.Args) > 10 {
		note = publication(token, nonce, c.Args[10], c.Args[11])
	}
	hold(c, guard, value, known, now+ttl, c.Args[2], c.Args[8], note)
	if w.noted {
		c.HDel(guard, "unsure", "seed", "to", "reserved")
	}
	heard(c, c.Keys[3], id, now, c.Args[2], c.Args[7], c.Args[8])
	auditCall(c, 6, "acquire", nonce, c.Args[5], token, true)
	listening := c.Subscribers(channel)
	if listening > 0 { // else nobody would get it
		c.Publish(channel, "granted "+token+" "+c.Args[2])
	}
	return c.Array(Integer(1), Text(token), Integer(listening))
}

// notPrimary is the answer to who asks a replica for what only a primary can give.
var notPrimary = Fail("READONLY this server is a replica")

// Knowledge names what the server knows, as history.lua does, and tells
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
	lease, repaired, most := c.Keys[0], int64(0), c.Int(c.Args[8])
	remaining := c.PTTL(lease)
	if remaining < 0 || remaining > most {
		if longest, known := c.countedOn(); known {
			most = max(most, longest)
		} else if ours {
			most = max(most, c.lastsFor(holder))
		}
	}
	if remaining < 0 || remaining > most {
		remaining, repaired = most, 1
		c.PExpire(lease, remaining)
	}
	return refuseAcquire(c, token, holder, remaining, repaired, 0)
}

func refuseAcquire(c *Call, token, holder string, remaining, remark, most int64) Reply {
	auditCall(c, 6, "acquire", c.Args[1], c.Args[5], token, false)
	roster, now, listening := c.Keys[3], milliTime(c), c.Subscribers(c.Args[4])
	stands := "-"
	if remark == 0 && token != "0" && c.Args[9] != "" {
		stands = c.Args[9]
	}
	last := strings.Join([]string{number(now), c.Args[2], c.Args[8], c.Args[3], c.Args[5], stands, c.Args[1], c.Args[0]}, " ")
	heard(c, roster, c.Args[0], now, c.Args[2], c.Args[7], c.Args[8], "", last)
	forget(c, roster, now, listening)
	if remark != 5 {
		c.pcall(func() { most, _ = c.countedOn() })
	}
	return c.Array(Integer(0), Text(token), Text(holder), Integer(remaining), Integer(listening), Integer(remark), Integer(most))
}

// witnessed is since when the server has provably forgotten nothing of what it knows
// by this history, and whether it did forget this election since.
func witnessed(c *Call, known string, now int64) (since int64, forgot bool) {
	witness, guard := c.Keys[5], c.Keys[2]
	if witness == guard {
		return now, false
	}
	history, _ := c.HGet(witness, "history")
	evicted, _ := c.HGet(witness, "evicted")
	_, forgot = c.HGet(witness, "of "+guard)
	text, found := c.HGet(witness, "since")
	since, fine := parseInt(text)
	many := false
	c.pcall(func() { many = c.Do("HLEN", witness).Int > 100_000 })
	if many {
		c.Del(witness)
	}
	if count := number(c.s.evicted); many || history != known || evicted != count || !found || !fine || since > now {
		c.HSet(witness, "history", known, "since", number(now), "evicted", count)
		since = now
	}
	return since, forgot
}

// withholding is what the guard says: for how long nobody is granted the lease and
// why, or how to grant it.
type withholding struct {
	rest, remark int64
	most         int64 // that the caller should count on, where leases differ
	seed, noted  bool
}

func withheld(c *Call, known string, own bool, now int64) withholding {
	guard, protected := c.Keys[2], c.Args[6] != "0"
	counted, remembered := c.HGet(guard, "longest")
	_, reserved := c.HGet(guard, "to")
	unsureText, noted := c.HGet(guard, "unsure")
	seedText, seeded := c.HGet(guard, "seed")
	w := withholding{seed: seedText == "1", noted: noted || reserved || seeded}
	longest := c.Int(c.Args[8])
	most := max(field(c, guard, "longest"), longest)
	unsure, _ := parseInt(unsureText)
	until := field(c, guard, "until")
	lasted, value := field(c, guard, "lasts"), ""
	if text, found := c.HGet(guard, "value"); found {
		value = text
	}
	ends := until
	if own {
		ends = 0
	}
	if protected {
		if history, found := c.HGet(guard, "history"); !found || history != known {
			since, forgot := witnessed(c, known, now)
			if own || forgot && !found {
				since = now
			}
			unsure, ends, w.seed, w.noted = since+most, 0, true, true
			c.HSet(guard, "history", known, "until", "0", "unsure", number(unsure), "longest", number(most), "value", "", "seed", "1")
			if c.Keys[5] != guard {
				c.HSet(c.Keys[5], "of "+guard, "1")
			}
			if unsure > now {
				w.rest, w.remark = unsure-now, 6
				if found || forgot {
					w.remark = 2
				}
				return w
			}
		}
		rest := max(unsure, ends) - now
		if rest > most { // the server's clock went back
			rest = most
			c.HSet(guard, "until", number(min(ends, now+rest)), "unsure", number(min(unsure, now+rest)))
		}
		if rest > 0 {
			w.rest, w.remark = rest, 3
			if unsure > ends {
				w.remark = 2
			}
			return w
		}
	}
	if own {
		return w
	}
	if rest := reservedFor(c, guard, now, most); reserved && rest > 0 {
		w.rest, w.remark = rest, 4
		return w
	}
	if n, fine := parseInt(counted); protected && remembered && fine && n != longest {
		if lasted == 0 {
			lasted = n
		}
		if rest, most := disagreed(c, n, lasted, until, value, now); rest > 0 {
			w.rest, w.remark, w.most = rest, 5, most
		}
	}
	return w
}

// reservedFor is for how long the lease is reserved for another one: for no longer than
// one may last.
func reservedFor(c *Call, guard string, now, most int64) int64 {
	left := field(c, guard, "reserved") - now
	if to, _ := c.HGet(guard, "to"); to == c.Args[0] {
		return 0
	}
	if left > most { // the server's clock went back
		c.HSet(guard, "reserved", number(now+most))
	}
	return min(left, most)
}

// countedOn is how long any lease may last, as whoever was granted it last counts on.
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
// caller's, or has a longer one than the caller counts on, and that one's.
func disagreed(c *Call, counted, lasted, ended int64, value string, now int64) (rest, most int64) {
	id, ttl, longest := c.Args[0], c.Int(c.Args[2]), c.Int(c.Args[8])
	most = counted
	clash := func(theirs, lasts, at int64) {
		if at+2*theirs <= now {
			return
		}
		if theirs < ttl {
			rest = max(rest, at+2*theirs-now)
		}
		if lasts > longest {
			rest, most = max(rest, 1), max(most, lasts)
		}
	}
	if _, _, holder, _ := parseLease(value); holder != id {
		clash(counted, lasted, ended)
	}
	c.pcall(func() {
		for other, text := range c.fields(c.Keys[3]) {
			if n, fine := parseNote(text); fine && other != id {
				clash(n.longest, n.lasts, min(n.at, now))
			}
		}
	})
	return rest, most
}

// hold makes the guard say that the lease lasts until then, and perhaps what its holder
// publishes.
func hold(c *Call, guard, value, known string, ends int64, ttl, longest, note string) {
	fields := append(make([]string, 0, 12), "history", known, "until", number(ends), "longest", longest, "lasts", ttl, "value", value)
	if note != "" {
		fields = append(fields, "published", note)
	}
	c.HSet(guard, fields...)
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

// largest is the largest number that a counter may hold.
const largest = "9223372036854775807"

func nextToken(c *Call, counter, protect, floor string, seed bool) (string, Reply) {
	last, found := c.Get(counter)
	if found && last != "0" && !decimal(last) {
		return "", Fail("COUNTER the key " + counter + " holds no decimal number")
	}
	if !found {
		last = "0"
	}
	if protect != "0" && (!found || seed) {
		if micros := string(appendMicroTime(c, nil)); less(last, micros) {
			last = micros
		}
	}
	if less(last, floor) {
		last = floor
	}
	if last != "0" && !decimal(last) || !less(last, largest) {
		return "", Fail("COUNTER the key " + counter + " cannot be counted on: it would overflow")
	}
	n, _ := strconv.ParseUint(last, 10, 64) // decimal, and smaller than the largest
	token := strconv.FormatUint(n+1, 10)
	c.Set(counter, token)
	return token, Reply{}
}

func renew(c *Call) Reply {
	lease, guard, protect := c.Keys[0], c.Keys[1], ""
	if len(c.Args) > 5 {
		protect = c.Args[5]
	}
	value, found := c.Get(lease)
	held := found && value == c.Args[0]
	if held {
		var known string
		if protect != "" {
			var primary bool
			if known, primary = c.Knowledge(protect); !primary {
				return notPrimary
			}
		}
		now, ttl := milliTime(c), c.Int(c.Args[1])
		c.PExpireAt(lease, now+ttl)
		note := news(c)
		switch history, _ := c.HGet(guard, "history"); {
		case protect != "" && history != known:
			longest := max(field(c, guard, "longest"), c.Int(c.Args[6]))
			hold(c, guard, value, known, now+ttl, c.Args[1], number(longest), note)
			c.HSet(guard, "unsure", number(now+longest), "seed", "1")
		case note != "":
			c.HSet(guard, "until", number(now+ttl), "published", note)
		default:
			c.HSet(guard, "until", number(now+ttl))
		}
		if note != "" && c.Subscribers(c.Args[9]) > 0 { // else nobody would get it
			c.Publish(c.Args[9], "published "+c.Args[4])
		}
	}
	if len(c.Args) > 4 {
		auditCall(c, 2, "renew", c.Args[2], c.Args[3], c.Args[4], held)
	}
	return truth(held)
}

func leader(c *Call) Reply {
	value, found := c.Get(c.Keys[0])
	if !found {
		return c.Array()
	}
	token, nonce, id, ours := parseLease(value)
	if !ours {
		return c.Array(Text("0"), Text(value), Integer(c.PTTL(c.Keys[0])), Text(""), Integer(0))
	}
	note := ""
	c.pcall(func() { note, _ = c.HGet(c.Keys[1], "published") })
	version, text, _ := published(note, token, nonce)
	return c.Array(Text(token), Text(id), Integer(c.PTTL(c.Keys[0])), Text(text), Integer(int64(version)))
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

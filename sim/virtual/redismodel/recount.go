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
	AcquireText    = MustCompile("acquire", scripts.Acquire())
	RenewText      = MustCompile("renew", scripts.Renew())
	ReleaseText    = MustCompile("release", scripts.Release())
	WithdrawText   = MustCompile("withdraw", scripts.Withdraw())
	LeaderText     = MustCompile("leader", scripts.Leader())
	CandidatesText = MustCompile("candidates", scripts.Candidates())
)

func acquire(c *Call) Reply {
	lease, guard, witness, id, nonce, ttl, channel := c.Keys[0], c.Keys[2], c.Keys[5], c.Args[0], c.Args[1], c.Int(c.Args[2]), c.Args[4]
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
	known, primary := c.History()
	if !primary {
		return notPrimary
	}
	last := lastOf(c, c.Keys[1])
	w := withheld(c, known, found, last, now)
	if w.rest > 0 {
		return refuseAcquire(c, "0", "", w.rest, w.remark, w.most)
	}
	most, longest, said := int64(0), c.Args[8], c.Args[5]
	if c.Args[9] != "" && !found {
		most, longest, said = relearn(c, c.Int(c.Args[8]), now)
	}
	c.HSet(witness, "of "+guard, number(now+ttl))
	if found {
		c.PExpireAt(lease, now+ttl)
		auditCall(c, 6, "acquire", nonce, c.Args[5], own, true)
		return c.Array(Integer(1), Text(own), Integer(c.Subscribers(channel)), Text(w.replicas), Integer(0))
	}
	forget(c, c.Keys[3], now, 0)
	token, failure := nextToken(c, c.Keys[1], last, c.Args[6], c.Args[3], w.older)
	if failure.Failed() || c.Failed() {
		return failure
	}
	value = "r1 " + token + " " + nonce + " " + id
	c.SetPXAt(lease, value, now+ttl)
	note := ""
	if len(c.Args) > 11 {
		note = publication(token, nonce, c.Args[11], c.Args[12])
	}
	hold(c, guard, value, c.Args[2], w.least, note)
	if w.noted {
		c.HDel(guard, "unsure", "to", "reserved")
	}
	prune(c, now)
	heard(c, c.Keys[3], id, now, c.Args[2], c.Args[7], longest, said)
	auditCall(c, 6, "acquire", nonce, c.Args[5], token, true)
	listening := c.Subscribers(channel)
	if listening > 0 { // else nobody would get it
		c.Publish(channel, "granted "+token+" "+c.Args[2])
	}
	return c.Array(Integer(1), Text(token), Integer(listening), Text(w.replicas), Integer(most))
}

// notPrimary is the answer to who asks a replica for what only a primary can give.
var notPrimary = Fail("READONLY this server is a replica")

// History names what the server remembers, as history.lua does, and reports whether it
// is a primary.
func (s *Server) History() (name string, primary bool) {
	return s.stream.id, s.primary == nil
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
	candidates, now, listening := c.Keys[3], milliTime(c), c.Subscribers(c.Args[4])
	longest, said := c.Args[8], c.Args[5]
	if remark != 5 {
		counted, known := int64(0), false
		c.pcall(func() { counted, known = c.countedOn() })
		if known && (counted > c.Int(c.Args[8]) || c.Args[9] != "") {
			most, longest, said = relearn(c, counted, now)
		}
	}
	stands := "-"
	if remark == 0 && token != "0" && c.Args[10] != "" {
		stands = c.Args[10]
	}
	last := strings.Join([]string{number(now), c.Args[2], c.Args[8], c.Args[3], c.Args[5], stands, c.Args[1], c.Args[0]}, " ")
	heard(c, candidates, c.Args[0], now, c.Args[2], c.Args[7], longest, said, "", last)
	if _, primary := c.History(); !primary {
		return notPrimary
	}
	forget(c, candidates, now, listening)
	return c.Array(Integer(0), Text(token), Text(holder), Integer(remaining), Integer(listening), Integer(remark), Integer(most))
}

// memory is what the witness says, as remembers in witness.lua has it.
type memory struct {
	since, ends int64
	replicas    string
}

func remembers(c *Call, witness, guard, known string, now int64) (r memory) {
	history, named := c.HGet(witness, "history")
	since, found := c.HGet(witness, "since")
	ends, _ := c.HGet(witness, "of "+guard)
	r.replicas, _ = c.HGet(witness, "replicas")
	r.ends, _ = parseInt(ends)
	from, fine := parseInt(since)
	r.since = from
	if !named || history != known || !found || !fine || from > now {
		r.since, r.replicas = now, ""
		c.HSet(witness, "history", known, "since", number(now), "replicas", "")
	}
	return r
}

// withholding is for how long nobody is granted the lease and why, or how to grant it.
type withholding struct {
	rest, remark int64
	most         int64  // that the caller should count on, where leases differ
	least        string // that everybody counts on, if the lease is granted
	replicas     string
	older        bool // the last token was counted before the server's memory begins
	noted        bool
}

// unknown is for how long a lease may last that the server does not know, or whose key is
// gone, and why. The model lets everybody ask for its history.
func (w *withholding) unknown(c *Call, known string, own bool, last counted, most, unsure, now int64) {
	witness, guard := c.Keys[5], c.Keys[2]
	r := remembers(c, witness, guard, known, now)
	w.replicas = r.replicas
	doubt, ends := unsure, r.ends
	w.remark = 2
	w.older = ends-field(c, guard, "lasts") < r.since
	if c.Args[6] == "1" && last.found && less(last.last, c.Args[3]) && (c.Args[3] == "0" || decimal(c.Args[3])) {
		c.Set(c.Keys[1], c.Args[3])
		if doubt <= now {
			doubt = now + most
		}
	}
	if own {
		ends = 0
	}
	w.rest = max(r.since+most, doubt, ends) - now
	if w.rest > most { // the server's clock went back
		w.rest = most
		if ends > now+most {
			c.HSet(witness, "of "+guard, number(now+most))
		}
		doubt = min(doubt, now+most)
	}
	if doubt > now && doubt != unsure {
		c.HSet(guard, "unsure", number(doubt))
	}
	if doubt > r.since+most {
		w.remark = 6
	}
	if ends >= r.since+most && ends >= doubt {
		w.remark = 3
	}
}

func withheld(c *Call, known string, own bool, last counted, now int64) (w withholding) {
	guard, protected, longest := c.Keys[2], c.Args[6] != "0", c.Int(c.Args[8])
	counted, remembered := c.HGet(guard, "longest")
	_, reserved := c.HGet(guard, "to")
	unsureText, noted := c.HGet(guard, "unsure")
	unsure, _ := parseInt(unsureText)
	most := max(field(c, guard, "longest"), longest)
	lasted, value := field(c, guard, "lasts"), ""
	if text, found := c.HGet(guard, "value"); found {
		value = text
	}
	w.noted = noted || reserved
	if protected {
		if w.unknown(c, known, own, last, most, unsure, now); w.rest > 0 {
			return w
		}
	}
	w.rest, w.remark, w.least = 0, 0, c.Args[8]
	if own {
		return w
	}
	if rest := reservedFor(c, guard, now, most); reserved && rest > 0 {
		w.rest, w.remark = rest, 4
		return w
	}
	if n, fine := parseInt(counted); protected && (!remembered || !fine || n != longest) {
		if !remembered || !fine {
			n, lasted = 0, 0 // nobody has led since the guard was lost
		}
		if lasted == 0 {
			lasted = n
		}
		ended := field(c, c.Keys[5], "of "+guard)
		rest, most, least := disagreed(c, n, lasted, ended, value, now)
		if w.least = number(least); rest > 0 {
			w.rest, w.remark, w.most = rest, 5, most
		}
	}
	return w
}

// prune forgets ends of leases that are over.
func prune(c *Call, now int64) {
	if now%16 != 0 {
		return
	}
	witness := c.Keys[5]
	c.pcall(func() {
		if names := c.Do("HLEN", witness); names.Kind != Int || names.Int < 1000 {
			return
		}
		for name, text := range c.fields(witness) {
			if ends, fine := parseInt(text); fine && strings.HasPrefix(name, "of ") && ends < now {
				c.HDel(witness, name)
			}
		}
		c.HSet(witness, "cursor", "0")
	})
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

// hold notes who holds the lease, and perhaps what its holder publishes.
func hold(c *Call, guard, value, ttl, longest, note string) {
	fields := append(make([]string, 0, 8), "longest", longest, "lasts", ttl, "value", value)
	if note != "" {
		fields = append(fields, "published", note)
	}
	c.HSet(guard, fields...)
}

// field is a number of a hash, 0 if there is none.
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

// counted is the last token, as the counter has it.
type counted struct {
	last  string
	found bool
}

func lastOf(c *Call, counter string) (last counted) {
	last.last, last.found = c.Get(counter)
	return last
}

// largest is the largest number that a counter may hold.
const largest = "9223372036854775807"

func nextToken(c *Call, counter string, before counted, protect, floor string, older bool) (string, Reply) {
	last, found := before.last, before.found
	if found && last != "0" && !decimal(last) {
		return "", Fail("COUNTER the key " + counter + " holds no decimal number")
	}
	if !found {
		last = "0"
	}
	if protect == "1" || protect == "2" && (!found || older) {
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
	lease, guard, witness := c.Keys[0], c.Keys[1], c.Keys[2]
	value, found := c.Get(lease)
	held := found && value == c.Args[0]
	if held {
		known, primary := c.History()
		look := len(c.Args) > 5 && c.Args[5] == "1"
		if look && !primary {
			return notPrimary
		}
		now, ttl := milliTime(c), c.Int(c.Args[1])
		c.PExpireAt(lease, now+ttl)
		_, named := c.HGet(witness, "of "+guard)
		c.HSet(witness, "of "+guard, number(now+ttl))
		if look || !named {
			if !primary {
				known = ""
			}
			remembers(c, witness, guard, known, now)
			if noted, there := c.HGet(guard, "value"); !there || noted != value {
				hold(c, guard, value, c.Args[1], c.Args[1], "")
			}
		}
		if note := news(c); note != "" {
			c.HSet(guard, "published", note)
			if c.Subscribers(c.Args[8]) > 0 { // else nobody would get it
				c.Publish(c.Args[8], "published "+c.Args[4])
			}
		}
	}
	if len(c.Args) > 4 {
		auditCall(c, 3, "renew", c.Args[2], c.Args[3], c.Args[4], held)
	}
	return truth(held)
}

func leader(c *Call) Reply {
	if _, primary := c.History(); !primary {
		return notPrimary
	}
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

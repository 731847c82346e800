package redisserver

import (
	"slices"
	"strconv"
	"strings"

	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// What a connection may say while it listens.
var whileListening = []string{"SUBSCRIBE", "UNSUBSCRIBE", "PING", "QUIT"}

// answer appends to the output what answers the command.
func (c *session) answer(args []string) (goesOn bool) {
	name := strings.ToUpper(args[0])
	if len(c.subs) > 0 && !slices.Contains(whileListening, name) {
		c.out = appendError(c.out, "ERR Can't execute '"+strings.ToLower(name)+"': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context")
		return true
	}
	if refuse := c.server.o.Refuse; refuse != nil {
		if text := refuse(name); text != "" {
			c.out = appendError(c.out, text)
			return true
		}
	}
	switch name {
	case "HELLO":
		c.hello(args)
	case "SELECT":
		c.choose(args)
	case "SUBSCRIBE":
		c.subscribe(args[1:])
	case "UNSUBSCRIBE":
		c.unsubscribeAll(args[1:])
	case "QUIT":
		c.out = append(c.out, "+OK\r\n"...)
		return false
	case "PING":
		if len(c.subs) > 0 {
			c.out = appendBulk(appendBulk(appendHead(c.out, '*', 2), "pong"), strings.Join(args[1:], " "))
			return true
		}
		c.ask(name, args)
	default:
		c.ask(name, args)
	}
	return true
}

// ask has the command executed by the connection's database.
func (c *session) ask(name string, args []string) {
	s := c.server
	db := s.databases[c.db]
	args[0] = name
	reply := db.Do(s.now(), args...)
	c.out = appendReply(c.out, reply)
	if s.o.Executed != nil {
		s.o.Executed(s, db, args, reply)
	}
}

// hello answers in the old protocol, which it is mostly asked for.
func (c *session) hello(args []string) {
	if len(args) > 1 && args[1] != "2" {
		c.out = appendError(c.out, "NOPROTO unsupported protocol version")
		return
	}
	c.out = appendHead(c.out, '*', 14)
	for _, pair := range [][2]string{{"server", "redis"}, {"version", redismodel.Version}} {
		c.out = appendBulk(appendBulk(c.out, pair[0]), pair[1])
	}
	c.out = appendHead(appendBulk(c.out, "proto"), ':', 2)
	c.out = appendHead(appendBulk(c.out, "id"), ':', c.number())
	for _, pair := range [][2]string{{"mode", "standalone"}, {"role", "master"}} {
		c.out = appendBulk(appendBulk(c.out, pair[0]), pair[1])
	}
	c.out = appendHead(appendBulk(c.out, "modules"), '*', 0)
}

// number is the client's number.
func (c *session) number() int64 {
	if c.id == 0 {
		c.server.clients++
		c.id = c.server.clients
	}
	return c.id
}

// choose changes the database.
func (c *session) choose(args []string) {
	if len(args) != 2 {
		c.out = appendError(c.out, "ERR wrong number of arguments for 'select' command")
		return
	}
	n, err := strconv.Atoi(args[1])
	switch {
	case err != nil:
		c.out = appendError(c.out, "ERR invalid DB index")
	case n < 0 || n >= len(c.server.databases):
		c.out = appendError(c.out, "ERR DB index is out of range")
	default:
		c.db = n
		c.out = append(c.out, "+OK\r\n"...)
	}
}

// subscribe makes the connection listen. Channels know no databases.
func (c *session) subscribe(channels []string) {
	s := c.server
	for _, channel := range channels {
		if !slices.Contains(c.subs, channel) {
			c.subs = append(c.subs, channel)
			s.channels[channel] = append(s.channels[channel], c)
			for _, db := range s.databases {
				db.Subscribe(channel)
			}
		}
		c.confirm("subscribe", channel)
	}
}

func (c *session) unsubscribeAll(channels []string) {
	if len(channels) == 0 {
		channels = slices.Clone(c.subs)
	}
	for _, channel := range channels {
		c.unsubscribe(channel)
		c.confirm("unsubscribe", channel)
	}
}

func (c *session) unsubscribe(channel string) {
	i := slices.Index(c.subs, channel)
	if i < 0 {
		return
	}
	c.subs = slices.Delete(c.subs, i, i+1)
	s := c.server
	j := slices.Index(s.channels[channel], c)
	if j < 0 {
		return // the server was restarted
	}
	s.channels[channel] = slices.Delete(s.channels[channel], j, j+1)
	for _, db := range s.databases {
		db.Unsubscribe(channel)
	}
}

func (c *session) confirm(kind, channel string) {
	c.out = appendHead(appendBulk(appendBulk(appendHead(c.out, '*', 3), kind), channel), ':', int64(len(c.subs)))
}

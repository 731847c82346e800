package redismodel

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (s *Server) doServer(n name, args []string) Reply {
	switch n {
	case cmdPublish:
		return Integer(s.publish(args[1], args[2]))
	case cmdPubSub:
		return s.doPubSub(args)
	case cmdScript:
		return s.doScript(args)
	case cmdEval, cmdEvalSHA:
		return s.doEval(args, n == cmdEval)
	case cmdTime:
		sec, micros := s.clock()
		return s.array(Text(strconv.FormatInt(sec, 10)), Text(strconv.FormatInt(micros, 10)))
	case cmdPing:
		return ping(args)
	case cmdDBSize:
		return Integer(int64(len(s.data.entries)))
	case cmdFlushAll:
		return s.flushAll(args)
	case cmdInfo:
		return s.doInfo(args)
	default: // cmdWait
		return s.doWait(args)
	}
}

// clock is what TIME tells: seconds, and microseconds.
func (s *Server) clock() (sec, micros int64) {
	return int64(s.now / time.Second), int64(s.now % time.Second / time.Microsecond)
}

// Followers is the reply to CLIENT LIST TYPE REPLICA: of each, the number of its
// connection, its address, and for how many seconds it has been there.
func (s *Server) Followers(now time.Duration) string {
	s.now = max(s.now, now)
	return s.followers()
}

// doInfo knows three sections, of which it tells what a script may want to know.
func (s *Server) doInfo(args []string) Reply {
	var sections []string
	if wanted(args, "SERVER") {
		sections = append(sections, "# Server\r\nredis_version:"+Version+"\r\nredis_mode:standalone\r\nrun_id:"+s.id+"\r\n")
	}
	if wanted(args, "REPLICATION") {
		sections = append(sections, "# Replication\r\n"+s.replication())
	}
	if wanted(args, "STATS") {
		sections = append(sections, fmt.Sprintf("# Stats\r\nsync_full:%d\r\nsync_partial_ok:%d\r\nevicted_keys:%d\r\n", s.copies, s.goneOn, s.evicted))
	}
	return Text(strings.Join(sections, "\r\n"))
}

// wanted reports whether a section is among those that INFO is asked for.
func wanted(args []string, section string) bool {
	return len(args) == 1 || slices.ContainsFunc(args[1:], func(arg string) bool {
		name := upper(arg)
		return name == section || name == "DEFAULT" || name == "ALL" || name == "EVERYTHING"
	})
}

// unknownHistory is what INFO calls a history that there is none of.
const unknownHistory = "0000000000000000000000000000000000000000"

// replication is what a server says of its place among others. Where they are, a
// model does not know.
func (s *Server) replication() string {
	var b strings.Builder
	h := &s.stream
	former, second := unknownHistory, int64(-1)
	if h.former != "" {
		former, second = h.former, h.forked+1
	}
	if s.primary == nil {
		b.WriteString("role:master\r\n")
	} else {
		link := "down"
		if s.Linked() {
			link = "up"
		}
		fmt.Fprintf(&b, "role:slave\r\nmaster_link_status:%s\r\nslave_repl_offset:%d\r\nslave_read_only:1\r\n", link, h.offset)
	}
	fmt.Fprintf(&b, "connected_slaves:%d\r\nmaster_failover_state:no-failover\r\n", len(s.replicas))
	fmt.Fprintf(&b, "master_replid:%s\r\nmaster_replid2:%s\r\nmaster_repl_offset:%d\r\nsecond_repl_offset:%d\r\n", h.id, former, h.offset, second)
	return b.String()
}

// Version is that of the server that the model is compared with.
const Version = "7.0.15"

func ping(args []string) Reply {
	switch len(args) {
	case 1:
		return Reply{Kind: Status, Text: "PONG"}
	case 2:
		return Text(args[1])
	default:
		return wrongNumber(args[0])
	}
}

func (s *Server) flushAll(args []string) Reply {
	if len(args) > 2 || len(args) == 2 && upper(args[1]) != "SYNC" && upper(args[1]) != "ASYNC" {
		return Fail(errSyntax)
	}
	s.change(nil, effect{op: opClear})
	return okay
}

func (s *Server) doPubSub(args []string) Reply {
	if upper(args[1]) != "NUMSUB" {
		return Fail("ERR unknown subcommand '" + args[1] + "'. Try PUBSUB HELP.")
	}
	s.items = s.items[:0]
	for _, channel := range args[2:] {
		s.items = append(s.items, Text(channel), Integer(int64(s.channels[channel])))
	}
	return Reply{Kind: Array, Items: s.items}
}

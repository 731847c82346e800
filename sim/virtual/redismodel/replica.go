package redismodel

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Replication is asynchronous: a primary answers its clients without waiting
// for anybody, and what its replicas have not got when it fails is lost, though
// it was acknowledged. A real replica gets the stream of commands as fast as
// the network and both servers allow, usually in less than a millisecond; here
// there is a fixed lag. Offsets count effects, where Redis counts bytes.

// late is an effect on its way to a replica.
type late struct {
	at time.Duration // when the primary executed it, by the primary's clock
	effect
}

// stream is the history of writes of which a server's data is the sum. It has a
// name, and goes on under another one when a replica is promoted.
type stream struct {
	id     string // of the history
	former string // of the one that it goes on from; "" if none is known
	forked int64  // how many writes of the former one it has
	offset int64  // how many writes the server has

	kept    bool   // the last ones are kept, for replicas that come back
	backlog []late // the last ones
}

// backlogs bounds how many effects are kept for replicas that come back; those
// that a replica is about to get are kept in any case.
const backlogs = 1 << 12

// start begins a history that nobody knows.
func (s *Server) start() {
	s.streams++
	s.stream = stream{id: digest(s.o.Name + " history " + strconv.Itoa(s.streams)), offset: s.stream.offset}
}

// first is how many writes were made before those in the backlog.
func (h *stream) first() int64 { return h.offset - int64(len(h.backlog)) }

// since are the writes after the first n.
func (h *stream) since(n int64) []late { return h.backlog[n-h.first():] }

// continues reports whether who has n writes of the history of that name lacks
// nothing but what the backlog holds.
func (h *stream) continues(id string, n int64) bool {
	same := id == h.id || id == h.former && n <= h.forked
	return same && h.kept && h.first() <= n && n <= h.offset
}

// rename makes the history go on under another name.
func (h *stream) rename(id string) {
	if h.id != id {
		h.former, h.forked, h.id = h.id, h.offset, id
	}
}

// Follow makes the server a replica of the primary, and synchronises it at once.
func (s *Server) Follow(primary *Server, lag time.Duration) {
	s.ReplicaOf(primary, lag)
	s.Sync()
}

// ReplicaOf tells the server to follow a primary, lag behind. Until Sync it keeps
// and serves the data that it has, as long as that may take: a real server's
// synchronisation may not begin for a while.
func (s *Server) ReplicaOf(primary *Server, lag time.Duration) {
	if s.down || s == primary {
		panic("redismodel: a replica needs to be up, and a primary that is another server")
	}
	s.Sever()
	s.primary, s.lag = primary, lag
}

// Sync connects a replica to its primary and reports whether it went on from where
// it was (a partial resynchronisation). It does if its data is what the primary's
// own was at some time, and the primary has kept what came after that. Else its
// data is replaced by a copy of the primary's (a full one): whatever a primary
// acknowledged alone while it was isolated is gone then.
func (s *Server) Sync() (partial bool) {
	p := s.primary
	if s.down || p == nil || p.down {
		panic("redismodel: a replica needs two servers that are up")
	}
	s.Sever()
	if partial = p.stream.continues(s.stream.id, s.stream.offset); partial {
		s.stream.rename(p.stream.id)
		p.goneOn++
	} else {
		s.copy(p)
		p.copies++
	}
	p.replicas = append(p.replicas, s)
	s.link = link{number: p.copies + p.goneOn}
	s.reconnect()
	return partial
}

// copy replaces the server's data by the primary's.
func (s *Server) copy(p *Server) {
	if !p.stream.kept && !p.o.Replicated {
		p.start() // who keeps nothing for replicas may have written more than its offset says
	}
	p.stream.kept = true
	s.data = p.data.clone()
	s.disk.reset(s.disk.on, s.data.clone())
	s.stream = stream{id: p.stream.id, offset: p.stream.offset, kept: true}
}

// reconnect lets the server's own replicas synchronise with what it has now.
func (s *Server) reconnect() {
	for _, replica := range slices.Clone(s.replicas) {
		replica.Sync()
	}
}

// Receive brings a replica up to what its primary had executed a lag before
// now, by the primary's clock. The caller calls it before it looks at the
// replica or promotes it; nothing else depends on when it is called. A step
// back of the primary's clock holds up what comes after it.
func (s *Server) Receive(now time.Duration) {
	if !s.Linked() {
		return
	}
	if s.link.since == 0 {
		s.link.since = now
	}
	for _, f := range s.primary.stream.since(s.stream.offset) {
		if f.at > now-s.lag {
			return
		}
		s.now = f.at + s.lag
		s.change(s.data.entries[f.key], f.effect)
	}
}

// link is the connection of a replica to its primary.
type link struct {
	number int           // among those that the primary has had
	since  time.Duration // by the primary's clock; 0: nobody has looked since it began
}

// followers is what CLIENT LIST says of the replicas. It tells no age that is too great.
func (s *Server) followers() string {
	var b strings.Builder
	for _, r := range s.replicas {
		if r.link.since == 0 {
			r.link.since = s.now
		}
		fmt.Fprintf(&b, "id=%d addr=127.0.0.1:%d age=%d flags=S\n", r.link.number, 30_000+r.link.number, (s.now-r.link.since)/time.Second)
	}
	return b.String()
}

// Linked reports whether the server is a replica that gets what its primary writes.
func (s *Server) Linked() bool { return s.primary != nil && slices.Contains(s.primary.replicas, s) }

// Delay changes the replica's lag.
func (s *Server) Delay(lag time.Duration) { s.lag = lag }

// Sever cuts the link between a replica and its primary: what is on its way is
// lost. Both go on: the primary as before, the replica with what it has, and
// it still refuses to write. Sync mends the link.
func (s *Server) Sever() {
	if s.primary != nil {
		s.primary.replicas = slices.DeleteFunc(s.primary.replicas, func(r *Server) bool { return r == s })
	}
}

// Promote makes a replica a primary, with what it has received. Its former
// primary does not learn it: isolated, it serves all that still reach it.
func (s *Server) Promote() {
	if s.primary == nil {
		return
	}
	s.Sever()
	s.primary = nil
	before := s.stream
	s.start()
	s.stream.kept, s.stream.backlog = before.kept, before.backlog
	s.stream.former, s.stream.forked = before.id, before.offset
	s.reconnect()
}

// Forget makes the server forget what its history is called, and what it has kept
// of it: its replicas copy all of its data when they synchronise the next time.
func (s *Server) Forget() {
	kept := s.stream.kept
	s.start()
	s.stream.kept = kept
	s.reconnect()
}

// Replica reports whether the server is a replica, severed or not.
func (s *Server) Replica() bool { return s.primary != nil }

// tell passes an effect on to the disk and the replicas.
func (s *Server) tell(f effect) {
	if s.disk.on {
		s.disk.pending = append(s.disk.pending, f)
	}
	h := &s.stream
	if !h.kept {
		return
	}
	h.offset++
	if h.backlog = append(h.backlog, late{s.now, f}); len(h.backlog) > 2*backlogs {
		s.trim()
	}
}

// trim forgets the oldest effects that no replica is about to get.
func (s *Server) trim() {
	h := &s.stream
	lost := h.offset - backlogs
	for _, r := range s.replicas {
		lost = min(lost, r.stream.offset)
	}
	h.backlog = slices.Clone(h.since(lost))
}

// Offset is how many writes the server has made, since it has had replicas.
func (s *Server) Offset() int64 { return s.stream.offset }

// Confirmed is how many replicas have got the first offset writes by now.
func (s *Server) Confirmed(now time.Duration, offset int64) int64 {
	var n int64
	for _, r := range s.replicas {
		if missing := s.stream.since(r.stream.offset); r.stream.offset >= offset || missing[offset-r.stream.offset-1].at <= now-r.lag {
			n++
		}
	}
	return n
}

// doWait answers at once how many replicas have everything. A real server
// waits until they are as many as asked for, or the time is over: a
// caller that models this asks again later.
func (s *Server) doWait(args []string) Reply {
	if _, _, fault := s.Wait(args); fault.Failed() {
		return fault
	}
	return Integer(s.Confirmed(s.now, s.stream.offset))
}

// Wait reads the arguments of WAIT: how many replicas are wanted, and for how long
// they are waited for; 0: for any time. The fault is what Redis says if something is
// wrong with them, or with who is asked.
func (s *Server) Wait(args []string) (replicas int64, within time.Duration, fault Reply) {
	if len(args) != 3 {
		return 0, 0, wrongNumber("WAIT")
	}
	if s.primary != nil {
		return 0, 0, Fail("ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is configured to be writable (which is not the default) writes to replicas are just local and are not propagated.")
	}
	replicas, fine := parseInt(args[1])
	if !fine {
		return 0, 0, Fail(errNotInteger)
	}
	timeout, fine := parseInt(args[2])
	switch {
	case !fine:
		return 0, 0, Fail("ERR timeout is not an integer or out of range")
	case timeout < 0:
		return 0, 0, Fail("ERR timeout is negative")
	default:
		return replicas, time.Duration(timeout) * time.Millisecond, Reply{}
	}
}

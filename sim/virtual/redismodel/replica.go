package redismodel

import (
	"slices"
	"time"
)

// Replication is asynchronous: a primary answers its clients without waiting
// for anybody, and what its replicas have not got when it fails is lost, though
// it was acknowledged. A real replica gets the stream of commands as fast as
// the network and both servers allow, usually in less than a millisecond, and
// asks for what it missed when a link was broken for a short time; here there
// is a fixed lag, and a link that was severed starts with a full copy.

// late is an effect on its way to a replica.
type late struct {
	at time.Duration // when the primary executed it, by the primary's clock
	effect
}

// inbox is what a replica has not applied yet.
type inbox struct {
	lag   time.Duration
	queue []late
	next  int // of the queue
}

// Follow makes the server a replica of the primary: its own data is replaced
// by a copy of the primary's, and then follows it, lag behind. This is what a
// primary that was isolated comes back to: whatever it acknowledged alone is
// gone. And it is what happens to all data when a primary restarts empty and
// its replicas are connected to it again.
func (s *Server) Follow(primary *Server, lag time.Duration) {
	if s.down || primary.down || s == primary {
		panic("redismodel: a replica needs two servers that are up")
	}
	s.Sever()
	s.data = primary.data.clone()
	s.disk.reset(s.disk.on, s.data.clone())
	s.primary, s.inbox = primary, inbox{lag: lag}
	primary.replicas = append(primary.replicas, s)
	for _, replica := range slices.Clone(s.replicas) {
		replica.Follow(s, replica.inbox.lag)
	}
}

// Receive brings a replica up to what its primary had executed a lag before
// now, by the primary's clock. The caller calls it before it looks at the
// replica or promotes it; nothing else depends on when it is called. A step
// back of the primary's clock holds up what comes after it.
func (s *Server) Receive(now time.Duration) {
	in := &s.inbox
	for in.next < len(in.queue) && in.queue[in.next].at <= now-in.lag {
		f := &in.queue[in.next]
		s.change(s.data.entries[f.key], f.effect)
		*f = late{}
		in.next++
	}
	if in.next == len(in.queue) {
		in.queue, in.next = in.queue[:0], 0
	}
}

// Sever cuts the link between a replica and its primary: what is on its way is
// lost. Both go on: the primary as before, the replica with what it has, and
// it still refuses to write.
func (s *Server) Sever() {
	if s.primary != nil {
		s.primary.replicas = slices.DeleteFunc(s.primary.replicas, func(r *Server) bool { return r == s })
	}
	s.inbox = inbox{}
}

// Promote makes a replica a primary, with what it has received. Its former
// primary is not told: isolated, it goes on serving whoever still reaches it.
func (s *Server) Promote() {
	s.Sever()
	s.primary = nil
}

// Replica tells whether the server is a replica, severed or not.
func (s *Server) Replica() bool { return s.primary != nil }

// tell passes an effect on to the disk and the replicas.
func (s *Server) tell(f effect) {
	if s.disk.on {
		s.disk.pending = append(s.disk.pending, f)
	}
	for _, r := range s.replicas {
		r.inbox.queue = append(r.inbox.queue, late{s.now, f})
	}
}

// doWait answers at once how many replicas have everything. A real server
// waits until they are as many as asked for, or the time is over: whoever
// models this asks again later.
func (s *Server) doWait(args []string) Reply {
	if s.primary != nil {
		return Fail("ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is configured to be writable (which is not the default) writes to replicas are just local and are not propagated.")
	}
	if _, fine := parseInt(args[1]); !fine {
		return Fail(errNotInteger)
	}
	timeout, fine := parseInt(args[2])
	switch {
	case !fine:
		return Fail("ERR timeout is not an integer or out of range")
	case timeout < 0:
		return Fail("ERR timeout is negative")
	}
	var n int64
	for _, r := range s.replicas {
		in := &r.inbox
		if in.next == len(in.queue) || in.queue[len(in.queue)-1].at <= s.now-in.lag {
			n++
		}
	}
	return Integer(n)
}

package redisserver

import (
	"time"

	"github.com/recount-io/recount/sim/virtual/redismodel"
	"github.com/recount-io/recount/sim/virtual/session"
)

// Beside returns another server, which may replicate this one, or be replicated by
// it. It holds nothing. Its name is letters and digits, and no other server's.
func (s *Server) Beside(name string) *Server { return newServer(name, s.o, s.group) }

// Fork returns a replica of the server that gets nothing any more from now on.
// It serves nobody until Promote. Its name is letters and digits, and no other
// server's.
func (s *Server) Fork(name string) *Server {
	fork := s.Beside(name)
	fork.Follow(s, 0)
	fork.Sever()
	s.mu.Lock()
	defer s.mu.Unlock()
	fork.down = true
	return fork
}

// Follow tells the server to be a replica of another one, lag behind. While the way
// between them is cut, or the other one is down, it keeps and serves what it has,
// but refuses to write. A server that follows this one, also by way of others, cannot
// be followed.
func (s *Server) Follow(primary *Server, lag time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := primary; p != nil; p = p.primary {
		if p == s {
			panic("redisserver: a server cannot follow itself")
		}
	}
	s.receive()
	s.primary = primary
	s.turned++
	for i, db := range s.databases {
		db.ReplicaOf(primary.databases[i], lag)
	}
	s.receive()
}

// Sever cuts the way from the server to whatever primary it follows, until Mend.
func (s *Server) Sever() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.receive()
	s.severed = true
	for _, db := range s.databases {
		db.Sever()
	}
}

// Mend mends what Sever cut: the server synchronises with its primary.
func (s *Server) Mend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.severed = false
	s.receive()
}

// Delay changes by how much a replica lags.
func (s *Server) Delay(lag time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.receive()
	for _, db := range s.databases {
		db.Delay(lag)
	}
}

// Forget makes the server forget what its replicas would go on from: each copies
// everything when it synchronises the next time.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.receive()
	for _, db := range s.databases {
		db.Forget()
	}
}

// Promote makes a replica serve, without a restart.
func (s *Server) Promote() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.receive()
	s.down = false
	s.primary = nil
	s.turned++
	for _, db := range s.databases {
		db.Promote()
	}
}

// Replica reports whether the server follows another one.
func (s *Server) Replica() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.primary != nil
}

// Answers reports whether the server is up and does not stand still.
func (s *Server) Answers() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs()
}

// StepClock sets the server's clock ahead, or back.
func (s *Server) StepClock(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.receive()
	s.ahead += by
}

// now is what the server's clock shows.
func (s *Server) now() time.Duration { return s.o.Clock() + s.ahead }

// receive brings all servers up to what has reached them.
func (g *group) receive() {
	for _, s := range g.members {
		s.link()
	}
	for _, s := range g.members {
		s.take()
	}
}

// link connects a replica to its primary if nothing keeps them apart.
func (s *Server) link() {
	p := s.primary
	if p == nil || s.severed || !s.runs() || !p.runs() {
		return
	}
	for i, db := range s.databases {
		if of := p.databases[i]; !db.Linked() && (!of.Replica() || of.Linked()) {
			p.take()
			db.Sync()
		}
	}
}

// take takes in what has reached a replica.
func (s *Server) take() {
	if s.primary == nil || s.down {
		return
	}
	s.primary.take()
	for _, db := range s.databases {
		db.Receive(s.primary.now())
	}
}

func (s *Server) runs() bool { return !s.down && s.thawed == nil }

// asks is how often a server looks whether its replicas have confirmed.
const asks = 500 * time.Microsecond

// errTurned is what a client is told that waits when its server becomes a replica.
const errTurned = "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)"

// wait answers WAIT: how many replicas have what the connection's last command left
// behind, as soon as they are as many as asked for, or when the time is over. It
// reports whether the connection goes on.
func (c *connection) wait(args []string) bool {
	began := time.Now()
	s := c.server
	s.mu.Lock()
	turned := s.turned
	s.mu.Unlock()
	for {
		reply, more := c.confirmed(args, turned, began)
		if !more {
			return c.reply(reply)
		}
		time.Sleep(asks)
		s.awaitThaw()
	}
}

// confirmed is what WAIT would answer now, and whether to go on waiting.
func (c *connection) confirmed(args []string, turned int, began time.Time) (reply redismodel.Reply, more bool) {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turned != turned {
		return redismodel.Fail(errTurned), false
	}
	s.receive()
	db := c.Database()
	wanted, within, fault := db.Wait(args)
	if fault.Failed() {
		return fault, false
	}
	n := db.Confirmed(s.now(), c.written)
	over := within > 0 && time.Since(began) >= within
	return redismodel.Integer(n), n < wanted && !over
}

// reply sends an answer, and reports whether the connection goes on.
func (c *connection) reply(r redismodel.Reply) bool {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return false
	}
	c.send(session.AppendReply(nil, r))
	return r.Text != errTurned
}

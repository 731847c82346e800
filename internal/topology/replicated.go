package topology

import (
	"context"
	"strconv"
)

// Replicated is a primary with its replicas, as they were started: after a
// failover, roles are what the servers say (INFO replication).
type Replicated struct {
	Primary  *Server
	Replicas []*Server
}

// Servers are the primary and the replicas.
func (r *Replicated) Servers() []*Server {
	return append([]*Server{r.Primary}, r.Replicas...)
}

// Replicated starts a primary with so many replicas, and waits until they have
// what it has and it counts them. The settings are those of all of them.
func (l *Launcher) Replicated(ctx context.Context, replicas int, c Config) (*Replicated, error) {
	r := &Replicated{Replicas: make([]*Server, replicas)}
	var err error
	if r.Primary, err = l.Server(ctx, c); err != nil {
		return nil, err
	}
	c.Settings = append([]string{"--replicaof", r.Primary.host + " " + strconv.Itoa(r.Primary.Port())}, c.Settings...)
	err = each(r.Replicas, func(i int, _ *Server) (err error) {
		if r.Replicas[i], err = l.Server(ctx, c); err != nil {
			return err
		}
		return r.Replicas[i].awaitReplication(ctx, "master_link_status", "up")
	})
	if err != nil {
		return nil, err
	}
	return r, r.Primary.awaitReplication(ctx, "connected_slaves", strconv.Itoa(replicas))
}

// InStep waits until so many replicas have all that the server has executed so
// far. It makes the server send them something to confirm: WAIT counts from the
// last write of its own connection on.
func (s *Server) InStep(ctx context.Context, replicas int) error {
	conn := s.client.Conn()
	defer func() { _ = conn.Close() }() // back to the pool
	return until(ctx, "the replicas of "+s.Addr+" do not catch up", func() (bool, error) {
		if err := conn.Publish(ctx, "topology", "step").Err(); err != nil {
			return false, err
		}
		n, err := conn.Do(ctx, "WAIT", replicas, 100).Int()
		return n >= replicas, err
	})
}

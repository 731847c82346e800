package bubble

import (
	"fmt"
	"slices"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim/bubble/network"
	"github.com/recount-io/recount/sim/bubble/redisserver"
	"github.com/recount-io/recount/sim/stage"
)

// Operators do to the servers of a run, one by one, what people and programs do who
// look after a Redis: beyond what every world can be asked for. Servers are counted
// from 0: a primary and its replicas, in the order in which they were started, or the
// stores that know nothing of each other.
type Operators struct{ run *run }

// OperatorsOf are those of the world that a fault is put on, which is a run in a
// bubble.
func OperatorsOf(w faults.World) Operators {
	if driver, is := w.(*stage.Driver); is {
		w = driver.World
	}
	return Operators{w.(*world).run} //nolint:forcetypeassert // faults that ask for operators are for this world alone
}

// server is the one of that number, and the store that it belongs to.
func (o Operators) server(i int) (*store, Server) {
	o.touches()
	if len(o.run.stores) > 1 {
		s := o.run.stores[i]
		return s, s.server
	}
	return o.run.store, o.run.store.members[i]
}

// touches notes that servers are changed now.
func (o Operators) touches() { o.run.touched.Store(int64(o.run.recorder.Now())) }

func numbered(i int) string { return fmt.Sprintf("server %d", i+1) }

// fate is what becomes of the connections of a candidate whose address leads elsewhere.
type fate int

const (
	end  fate = iota // the server closes them
	hang             // nothing passes on them any more
	live             // the server before goes on serving them
)

// Promote makes a server the primary. Nobody tells the one before, nor the replicas;
// and of the candidates only those who are not in stay. Their connections to the one
// before end, but hang for ever if they are in silent, and go on if they are in linger:
// then only new connections lead to the new primary.
func (o Operators) Promote(i int, stay, silent, linger []string) (string, error) {
	s, m := o.server(i)
	switch {
	case !m.Answers():
		return "", faults.NoEffect("%s does not answer", numbered(i))
	case s.server == m && !m.Replica():
		return "", faults.NoEffect("%s is the primary", numbered(i))
	}
	m.Refuse(redisserver.Unfitness{})
	o.run.onlooker.forgets() // what had not reached it
	m.Promote()
	s.server = m
	o.run.onlooker.follow(s)
	for _, n := range o.run.nodes {
		switch {
		case slices.Contains(stay, n.name):
		case slices.Contains(silent, n.name):
			s.guide(n, hang)
		case slices.Contains(linger, n.name):
			s.guide(n, live)
		default:
			s.guide(n, end)
		}
	}
	return numbered(i) + " is the primary", nil
}

// guide leads a node to the primary, unless new connections lead there.
func (s *store) guide(n *node, before fate) {
	way := s.wayOf(n)
	if way.Target() == s.server {
		return
	}
	switch before {
	case hang:
		way.Strand()
	case end:
		way.Break()
	}
	way.Retarget(s.server)
}

// Refuse makes a server answer that it cannot serve, as one of redisserver.Unfit, until it
// is made the primary.
func (o Operators) Refuse(i, how int) (string, error) {
	_, m := o.server(i)
	if !m.Answers() {
		return "", faults.NoEffect("%s does not answer", numbered(i))
	}
	u := redisserver.Unfit[how%len(redisserver.Unfit)]
	m.Refuse(u)
	return fmt.Sprintf("%s answers %q", numbered(i), u.Text), nil
}

// Follow tells a server to follow the primary.
func (o Operators) Follow(i int) (string, error) {
	s, m := o.server(i)
	switch {
	case !m.Answers() || !s.server.Open():
		return "", faults.NoEffect("%s does not answer, or its primary is down", numbered(i))
	case m == s.server:
		return "", faults.NoEffect("%s is the primary", numbered(i))
	}
	m.Follow(s.server)
	return numbered(i) + " follows the primary", nil
}

// Lead tells a candidate where the primary is.
func (o Operators) Lead(node string) (string, error) {
	o.touches()
	s := o.run.store
	s.guide(o.run.byName[node], end)
	return node + " knows the primary", nil
}

// Sever cuts a server off from its primary, or mends that.
func (o Operators) Sever(i int, severed bool) {
	_, m := o.server(i)
	switch {
	case !m.Answers():
	case severed:
		m.Sever()
	default:
		m.Mend()
	}
}

// Forget makes the replicas of the server copy all of its data.
func (o Operators) Forget(i int) {
	if _, m := o.server(i); m.Answers() {
		m.Forget()
	}
}

// Lag makes what its primary has written reach a server so much later.
func (o Operators) Lag(i int, by time.Duration) {
	_, m := o.server(i)
	m.Lag(by)
}

// StepClock sets a server's clock ahead, or back.
func (o Operators) StepClock(i int, by time.Duration) {
	_, m := o.server(i)
	m.StepClock(by)
}

// Freeze makes a server stand still, or lets it go on.
func (o Operators) Freeze(i int, frozen bool) (string, error) {
	_, m := o.server(i)
	if !frozen {
		m.Thaw()
		return "", nil
	}
	if !m.Freeze() {
		return "", faults.NoEffect("%s is down, or stands still already", numbered(i))
	}
	return numbered(i) + " stands still", nil
}

// Crash ends a server without warning.
func (o Operators) Crash(i int) (string, error) {
	s, m := o.server(i)
	if !m.Crash() {
		return "", faults.NoEffect("%s is down already", numbered(i))
	}
	for _, n := range o.run.nodes {
		if way := s.wayOf(n); way.Target() == m {
			way.Break()
		}
	}
	return numbered(i) + " is gone", nil
}

// Restart starts a server again that crashed, which follows the primary unless it
// is the primary.
func (o Operators) Restart(i int, keepData bool) (string, error) {
	s, m := o.server(i)
	if !keepData {
		o.run.onlooker.forgets()
	}
	if !m.Restart(keepData) {
		return "", nil
	}
	if m != s.server && s.server.Open() {
		m.Follow(s.server)
	}
	return numbered(i) + " is back", nil
}

// Cut cuts a candidate's way to one store of several.
func (o Operators) Cut(node string, i int, how faults.Cut) { o.way(node, i).Cut(how) }

// Mend mends it.
func (o Operators) Mend(node string, i int) { o.way(node, i).Mend() }

func (o Operators) way(node string, i int) *network.Link { return o.run.byName[node].links[i] }

// Slow adds latency to everybody's way to one store of several.
func (o Operators) Slow(i int, by time.Duration) {
	for _, n := range o.run.nodes {
		n.links[i].Delay(by, by/4)
	}
}

// Gather undoes whatever was done to the servers: all run, follow the primary, and
// everybody knows which that is.
func (o Operators) Gather() {
	o.touches()
	for _, s := range o.run.stores {
		s.server.Thaw()
		s.server.Restart(true)
		s.server.Refuse(redisserver.Unfitness{})
		for _, m := range s.members {
			m.Thaw()
			m.Restart(true)
			m.Mend()
			m.Lag(0)
			if m != s.server {
				m.Follow(s.server)
			}
		}
		o.run.onlooker.follow(s)
		for _, n := range o.run.nodes {
			s.guide(n, end)
		}
	}
}

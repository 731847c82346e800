package virtual

import (
	"time"

	"github.com/recount-io/recount/sim/virtual/redismodel"
	"github.com/recount-io/recount/sim/wire"
)

// newLock is what reads the commands of a run's candidates, nil if they tell
// themselves what they do.
func (r *run) newLock() *wire.Lock {
	options := wire.Options{
		Wall: func() time.Time { return time.Unix(0, int64(r.store.now())) }, Lease: r.spec.Timings.Lease, Drift: r.spec.Drift,
	}
	switch {
	case r.subject.Program != nil:
		options.Prefix = programElection
	case r.subject.Tapped:
		options.Key = r.store.keys.lease
	default:
		return nil
	}
	return wire.NewLock(options)
}

// tap is the reader of a process's commands, nil if nobody reads them.
func (n *node) tap() *wire.Conn {
	if n.run.lock == nil {
		return nil
	}
	return n.run.lock.Conn(n.name, n.run.add, n.run.nextOp)
}

// sent notes that a command is sent.
func (h *host) sent(args []string) *wire.Exchange {
	if h.tap == nil {
		return nil
	}
	return h.tap.Send(args)
}

// came notes what became of it.
func (o *outcome) came(x *wire.Exchange) {
	switch {
	case x == nil:
	case o.reply != nil:
		x.Answer(*o.reply)
	default:
		x.Lose(o.input.Err.Error())
	}
}

// wired is a reply as it goes over the wire.
func wired(r redismodel.Reply) *wire.Value {
	v := &wire.Value{Int: r.Int, Text: r.Text}
	switch r.Kind {
	case redismodel.Status:
		v.Kind = wire.Status
	case redismodel.Error:
		v.Kind = wire.Error
	case redismodel.Int:
		v.Kind = wire.Int
	case redismodel.Bulk:
		v.Kind = wire.Bulk
	case redismodel.Array:
		v.Kind = wire.Array
		for _, item := range r.Items {
			v.Items = append(v.Items, *wired(item))
		}
	default:
		v.Kind = wire.Nil
	}
	return v
}

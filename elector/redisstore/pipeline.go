package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// order is one use of a script. One that writes a lease may have to be confirmed, and
// a node that takes a slot over executes it only right after ASKING.
type order struct {
	script  *script
	words   []any  // the command, with the script's name
	confirm bool   // it waits until those have its effect who have to confirm
	guard   string // its key; with confirm
	asking  bool
	// for how long a replica must have followed the server to count; 0: it need not
	followed time.Duration
	sent     func() bool // whether it is wanted when it is sent; nil: it is
}

func (o *order) queue() int {
	if o.confirm {
		return queueConfirmed
	}
	return queuePlain
}

// naming is how scripts are sent.
type naming int

const (
	byName naming = iota // which a server may not know
	byText               // those that it did not: the first of each kind teaches it the others
)

// pipeliner is a client, or one connection of it.
type pipeliner interface{ Pipeline() redis.Pipeliner }

// pipelined has the orders carried out over one connection, one after the other, in
// one round trip. All of them are to be confirmed, or none.
func (s *Store) pipelined(ctx context.Context, client pipeliner, orders []*order, as naming) (outcomes []outcome) {
	outcomes = make([]outcome, len(orders))
	defer func() {
		if v := recover(); v != nil { // nobody else would take it: the goroutine is the store's own
			for i := range outcomes {
				outcomes[i] = outcome{err: fmt.Errorf("redisstore: the Redis client panicked: %v", v)}
			}
		}
	}()
	pipe := client.Pipeline()
	replies := queueAll(ctx, pipe, orders, as)
	asked := s.ask(ctx, pipe, orders)
	sent, err := pipe.Exec(ctx)
	if slices.ContainsFunc(sent, func(c redis.Cmder) bool { return c.Err() != nil }) {
		err = nil // each command has its own; if none has, there was no connection to send them on
	}
	for i, reply := range replies {
		o := &outcomes[i]
		if o.err = plain(cmp.Or(reply.Err(), err)); o.err != nil {
			continue
		}
		o.reply = reply.Val()
		if orders[i].confirm {
			o.got, o.err = asked.answer(s, orders[i], o.reply) // the script was executed; how many have it, perhaps nobody said
		}
	}
	return outcomes
}

// queueAll adds the orders to the pipeline, and returns where their replies will be.
func queueAll(ctx context.Context, pipe redis.Pipeliner, orders []*order, as naming) []*redis.Cmd {
	replies := make([]*redis.Cmd, len(orders))
	var taught map[*script]bool
	if as == byText {
		taught = map[*script]bool{}
	}
	for i, o := range orders {
		if o.asking {
			pipe.Do(ctx, "ASKING")
		}
		text := as == byText && !taught[o.script]
		if text {
			taught[o.script] = true
		}
		replies[i] = o.command(ctx, text)
		_ = pipe.Process(ctx, timely{replies[i], o.sent}) // it is only queued
	}
	return replies
}

// command is the order as a command.
func (o *order) command(ctx context.Context, text bool) *redis.Cmd {
	words := o.words
	if text {
		words = append([]any{"eval", o.script.text}, words[2:]...)
	}
	return redis.NewCmd(ctx, words...)
}

// alone has the order carried out as a command of its own.
func (o *order) alone(ctx context.Context, c *client, text bool) (any, error) {
	cmd := o.command(ctx, text)
	err := c.Process(ctx, timely{Cmd: cmd})
	return cmd.Val(), plain(cmp.Or(cmd.Err(), err))
}

// timely is a command that is not sent if nobody waits for it any more when the
// connection is there, which may take its time to open. Then the connection is tried
// with something harmless.
type timely struct {
	*redis.Cmd
	sent func() bool
}

// Args implements redis.Cmder. It is called once, when the command is written.
func (c timely) Args() []any {
	if c.sent != nil && !c.sent() {
		return []any{"ping"}
	}
	return c.Cmd.Args()
}

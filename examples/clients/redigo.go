package clients

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/recount-io/recount/elector/redisstore/anyclient"
)

// Redigo carries elections over a pool of github.com/gomodule/redigo, which repeats nothing.
// The pool's connections need a DialConnectTimeout and a DialWriteTimeout: redigo looks at a
// context only while it waits for a reply.
type Redigo struct{ Pool *redis.Pool }

var _ anyclient.Pipeliner = Redigo{}

// Do implements anyclient.Client.
func (c Redigo) Do(ctx context.Context, command ...string) (any, error) {
	replies, err := c.Pipeline(ctx, [][]string{command})
	if err != nil {
		return nil, err
	}
	return replies[0], nil
}

// Pipeline implements anyclient.Pipeliner.
func (c Redigo) Pipeline(ctx context.Context, commands [][]string) ([]any, error) {
	conn, err := c.Pool.GetContext(ctx)
	if err != nil {
		return nil, redigoError(err)
	}
	defer func() { _ = conn.Close() }() // it goes back to the pool
	for _, command := range commands {
		if err := conn.Send(command[0], redis.Args{}.AddFlat(command[1:])...); err != nil {
			return nil, err
		}
	}
	replies, err := redis.Values(redis.DoContext(conn, ctx, "")) // flushes, and waits for all
	for i, reply := range replies {
		if said, is := reply.(redis.Error); is {
			replies[i] = anyclient.Error(said)
		}
	}
	return replies, err
}

func redigoError(err error) error {
	if said := redis.Error(""); errors.As(err, &said) {
		return anyclient.Error(said)
	}
	return err
}

// pingEvery is how often a subscription is asked whether it lives.
const pingEvery = 15 * time.Second

// Subscribe implements anyclient.Client.
func (c Redigo) Subscribe(ctx context.Context, channel string, subscribed func(), message func(string)) error {
	conn, err := c.Pool.GetContext(ctx)
	if err != nil {
		return redigoError(err)
	}
	defer func() { _ = conn.Close() }() // it goes back to the pool
	sub := redis.PubSubConn{Conn: conn}
	if err := sub.Subscribe(channel); err != nil {
		return err
	}
	var asking sync.WaitGroup
	defer asking.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	asking.Go(func() {
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
				_ = sub.Unsubscribe(channel) // ends the loop below
			case <-time.After(pingEvery):
				_ = sub.Ping("") // its answer is missed below
			}
		}
	})
	for {
		switch event := sub.ReceiveWithTimeout(2 * pingEvery).(type) {
		case error:
			return redigoError(event)
		case redis.Message:
			message(string(event.Data))
		case redis.Subscription:
			if event.Kind != "subscribe" {
				return ctx.Err()
			}
			subscribed()
		}
	}
}

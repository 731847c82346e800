package anyclient

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/store"
)

// scripted is a client whose server is a function.
type scripted struct {
	do        func(ctx context.Context, command []string) (any, error)
	subscribe func(ctx context.Context, channel string, subscribed func(), message func(string)) error
}

func (s scripted) Do(ctx context.Context, command ...string) (any, error) {
	return s.do(ctx, command)
}

func (s scripted) Subscribe(ctx context.Context, channel string, subscribed func(), message func(string)) error {
	return s.subscribe(ctx, channel, subscribed, message)
}

// batching is a scripted client that takes several commands at once.
type batching struct {
	scripted
	pipeline func(ctx context.Context, commands [][]string) ([]any, error)
}

func (b batching) Pipeline(ctx context.Context, commands [][]string) ([]any, error) {
	return b.pipeline(ctx, commands)
}

// through is a client of go-redis whose connections lead into c.
func through(t *testing.T, c Client) *redis.Client {
	t.Helper()
	r := redis.NewClient(&redis.Options{
		Addr: address, Dialer: dialer(c), Protocol: 2, MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true,
	})
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func open(t *testing.T, c Client, o redisstore.Options) *redisstore.Store {
	t.Helper()
	s, err := New(c, 0, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func attempt(id, nonce string) store.Attempt {
	return store.Attempt{Election: "billing", ID: id, Nonce: nonce, Request: 1, TTL: time.Minute}
}

// answered reports whether the error is the server's own answer, as electors see it.
func answered(err error) bool {
	var a interface{ Answered() bool }
	return errors.As(err, &a) && a.Answered()
}

// theirs is go-redis as a client of somebody else's.
type theirs struct{ *redis.Client }

func (c theirs) Do(ctx context.Context, command ...string) (any, error) {
	reply, err := c.Client.Do(ctx, words(command)...).Result()
	return reply, said(err)
}

func (c theirs) Subscribe(ctx context.Context, channel string, subscribed func(), message func(string)) error {
	sub := c.Client.Subscribe(ctx)
	defer context.AfterFunc(ctx, func() { _ = sub.Close() })()
	defer func() { _ = sub.Close() }()
	if err := sub.Subscribe(ctx, channel); err != nil {
		return said(err)
	}
	for {
		event, err := sub.Receive(ctx)
		switch e := event.(type) {
		case nil:
			return said(err)
		case *redis.Subscription:
			subscribed()
		case *redis.Message:
			message(e.Payload)
		}
	}
}

// piped is one that sends several commands at once.
type piped struct{ theirs }

func (c piped) Pipeline(ctx context.Context, commands [][]string) ([]any, error) {
	sent, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, command := range commands {
			p.Do(ctx, words(command)...)
		}
		return nil
	})
	var replies []any
	for _, cmd := range sent {
		reply, err := cmd.(*redis.Cmd).Result()
		if err = said(err); err != nil {
			if _, is := err.(Error); !is {
				return replies, err
			}
			reply = err
		}
		replies = append(replies, reply)
	}
	if len(replies) == len(commands) {
		return replies, nil
	}
	return replies, err
}

func words(command []string) []any {
	args := make([]any, len(command))
	for i, word := range command {
		args[i] = word
	}
	return args
}

// said is an error of go-redis as a Client has it.
func said(err error) error {
	var reply redis.Error
	switch {
	case err == nil, errors.Is(err, redis.Nil):
		return nil
	case errors.As(err, &reply):
		return Error(reply.Error())
	default:
		return err
	}
}

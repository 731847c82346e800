package clients

import (
	"context"
	"errors"

	"github.com/redis/rueidis"

	"github.com/recount-io/recount/elector/redisstore/anyclient"
)

// Rueidis carries elections over a client of github.com/redis/rueidis, of one server or
// behind Sentinels. Nothing has to be set: rueidis repeats only commands that are marked
// for that, and none of these is.
type Rueidis struct{ Client rueidis.Client }

var _ anyclient.Pipeliner = Rueidis{}

// Do implements anyclient.Client.
func (c Rueidis) Do(ctx context.Context, command ...string) (any, error) {
	return rueidisReply(c.Client.Do(ctx, c.Client.B().Arbitrary(command...).Build()))
}

func rueidisReply(r rueidis.RedisResult) (any, error) {
	reply, err := r.ToAny()
	if said, is := rueidis.IsRedisErr(err); is {
		return nil, anyclient.Error(said.Error())
	}
	if rueidis.IsRedisNil(err) {
		return nil, nil
	}
	return reply, err
}

// Pipeline implements anyclient.Pipeliner. Blocking commands have one connection together,
// and to themselves: WAIT would hold up others.
func (c Rueidis) Pipeline(ctx context.Context, commands [][]string) ([]any, error) {
	built := make([]rueidis.Completed, len(commands))
	for i, command := range commands {
		built[i] = c.Client.B().Arbitrary(command...).Blocking()
	}
	replies := make([]any, len(commands))
	for i, r := range c.Client.DoMulti(ctx, built...) {
		reply, err := rueidisReply(r)
		var said anyclient.Error
		if errors.As(err, &said) {
			reply, err = said, nil
		}
		if err != nil {
			return nil, err
		}
		replies[i] = reply
	}
	return replies, nil
}

// Subscribe implements anyclient.Client, on a connection of its own: a shared one would stay
// subscribed after the end of the call.
func (c Rueidis) Subscribe(ctx context.Context, channel string, subscribed func(), message func(string)) error {
	one, release := c.Client.Dedicate()
	defer release()
	ctx = rueidis.WithOnSubscriptionHook(ctx, func(s rueidis.PubSubSubscription) {
		if s.Kind == "subscribe" {
			subscribed()
		}
	})
	err := one.Receive(ctx, one.B().Subscribe().Channel(channel).Build(), func(m rueidis.PubSubMessage) { message(m.Message) })
	if said, is := rueidis.IsRedisErr(err); is {
		return anyclient.Error(said.Error())
	}
	return err
}

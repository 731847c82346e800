package clients

import (
	"context"
	"errors"

	"github.com/valkey-io/valkey-go"

	"github.com/recount-io/recount/elector/redisstore/anyclient"
)

// Valkey carries elections over a client of github.com/valkey-io/valkey-go, of one server or
// behind Sentinels. Nothing has to be set: valkey-go repeats only commands that are marked
// for that, and none of these is.
type Valkey struct{ Client valkey.Client }

var _ anyclient.Pipeliner = Valkey{}

// Do implements anyclient.Client.
func (c Valkey) Do(ctx context.Context, command ...string) (any, error) {
	return valkeyReply(c.Client.Do(ctx, c.Client.B().Arbitrary(command...).Build()))
}

func valkeyReply(r valkey.ValkeyResult) (any, error) {
	reply, err := r.ToAny()
	if said, is := valkey.IsValkeyErr(err); is {
		return nil, anyclient.Error(said.Error())
	}
	if valkey.IsValkeyNil(err) {
		return nil, nil
	}
	return reply, err
}

// Pipeline implements anyclient.Pipeliner. Blocking commands have one connection together,
// and to themselves: WAIT would hold up others.
func (c Valkey) Pipeline(ctx context.Context, commands [][]string) ([]any, error) {
	built := make([]valkey.Completed, len(commands))
	for i, command := range commands {
		built[i] = c.Client.B().Arbitrary(command...).Blocking()
	}
	replies := make([]any, len(commands))
	for i, r := range c.Client.DoMulti(ctx, built...) {
		reply, err := valkeyReply(r)
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
func (c Valkey) Subscribe(ctx context.Context, channel string, subscribed func(), message func(string)) error {
	one, release := c.Client.Dedicate()
	defer release()
	ctx = valkey.WithOnSubscriptionHook(ctx, func(s valkey.PubSubSubscription) {
		if s.Kind == "subscribe" {
			subscribed()
		}
	})
	err := one.Receive(ctx, one.B().Subscribe().Channel(channel).Build(), func(m valkey.PubSubMessage) { message(m.Message) })
	if said, is := valkey.IsValkeyErr(err); is {
		return anyclient.Error(said.Error())
	}
	return err
}

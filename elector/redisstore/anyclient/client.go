package anyclient

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/recount-io/recount/elector/redisstore"
)

// Client is what a store needs of a Redis client. Its methods are called from several
// goroutines at one time.
type Client interface {
	// Do sends one command to the primary, once, and returns the reply: nil, a string
	// (also for a status as OK), an int64, a []any of these, or an [Error]. A bool, a
	// float64, a []byte, a map[string]any and a map[any]any are taken as well, so a client
	// may speak RESP3.
	//
	// An error that is an Error, or wraps one, is the server's own answer. With every other
	// error it is unknown whether the command took effect. Do returns soon after ctx is done.
	Do(ctx context.Context, command ...string) (any, error)

	// Subscribe subscribes to a channel, calls subscribed when the server has confirmed
	// that, and message with what is published there from then on. It returns an Error if
	// the server refuses, the reason if the subscription is lost, and any error soon after
	// ctx is done. It calls neither function after it has returned.
	//
	// Calls for different channels go on at one time, and at moments two for one channel:
	// the end of one of them must not end the other.
	Subscribe(ctx context.Context, channel string, subscribed func(), message func(payload string)) error
}

// Pipeliner is a [Client] that sends several commands in one round trip. Without it they
// are sent one after the other, and Options.Replicas, Fsynced and FsyncedReplicas are
// refused.
type Pipeliner interface {
	Client

	// Pipeline sends the commands in this order over one connection, once, and returns
	// their replies in the same order, with an Error for each that the server refused. That
	// it is one connection is a promise: the server confirms what came over the connection
	// that asks. With an error it is unknown which of them took effect.
	Pipeline(ctx context.Context, commands [][]string) ([]any, error)
}

// Error is an error that the server has answered with, in its words and with their code:
// "NOSCRIPT No matching script.".
type Error string

func (e Error) Error() string { return string(e) }

// address is where go-redis takes the server to be. A name would be looked up.
const address = "127.0.0.1:0"

// readTimeout is how long a reply is waited for at the most.
const readTimeout = 3 * time.Second

// New returns a store on the client. The client stays the caller's: it must live until the
// electors that use the store have ended and Close has returned. Db is the number of the
// database that the client has selected, 0 if it has selected none: elections of different
// databases have different channels. New does no I/O.
func New(c Client, db int, o redisstore.Options) (*redisstore.Store, error) {
	if c == nil {
		return nil, errors.New("anyclient: there is no client: give one with the methods Do and Subscribe")
	}
	if _, ok := c.(Pipeliner); !ok && (o.Replicas > 0 || o.Fsynced || o.FsyncedReplicas > 0) {
		return nil, errors.New("anyclient: Options.Replicas, Fsynced and FsyncedReplicas need commands that follow each other on one connection: give the client the method Pipeline, or use redisstore.New")
	}
	return redisstore.FromClient(redis.NewClient(&redis.Options{
		Addr:                     address,
		Dialer:                   dialer(c),
		DB:                       db,
		Protocol:                 2,
		MaxRetries:               -1,
		ReadTimeout:              max(readTimeout, 2*o.Confirm),
		ReadBufferSize:           4096,
		WriteBufferSize:          4096,
		ContextTimeoutEnabled:    true,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}), o)
}

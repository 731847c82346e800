package live

import (
	"context"
	"errors"

	"github.com/recount-io/recount/sim/live/inspection"
	"github.com/recount-io/recount/sim/live/redisserver"
)

// inspect looks at a Redis that others use, before anything else is started. What it
// learnt is in s.inspected.
func (s *Session) inspect(ctx context.Context) error {
	o := s.options
	if !redisserver.IsURL(o.Redis) {
		if o.Own {
			return &redisserver.Error{Kind: redisserver.BadSpec, Text: "--own-this-redis means nothing for a private Redis, which may be disturbed anyway: leave it out, or give the URL of a Redis"}
		}
		return nil
	}
	server, err := redisserver.Open(ctx, o.Redis, redisserver.Options{})
	if err != nil {
		return err
	}
	s.inspected, err = inspection.Inspect(ctx, server.Options(), inspection.Need{Prefix: o.Prefix, Connections: o.Connections, Own: o.Own, Scripts: !o.strange()})
	return errors.Join(err, server.Close())
}

// Notes are what a person should know of a Redis that others use, a sentence each.
func (s *Session) Notes() []string {
	if s.inspected == nil {
		return nil
	}
	return s.inspected.Notes
}

// Owned reports whether the Redis is one that others use and whose owner allows faults on
// the server itself: those that a client can carry out.
func (s *Session) Owned() bool { return s.options.Own }

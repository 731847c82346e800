package virtual

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// StopStore implements faults.World.
func (s *stage) StopStore(context.Context, []string) (string, error) {
	if s.store.down {
		return "", errDown
	}
	s.store.paused = true
	return "the store answers nothing", nil
}

// ContinueStore implements faults.World.
func (s *stage) ContinueStore(context.Context, []string) error {
	if !s.store.down {
		s.store.resume()
	}
	return nil
}

// CrashStore implements faults.World.
func (s *stage) CrashStore(context.Context, []string) (string, error) {
	if s.store.down {
		return "", errDown
	}
	s.store.crash()
	return "the store is gone: connections are refused", nil
}

// errDown is what a fault learns that has come too late for the store.
var errDown = faults.NoEffect("the store is down already")

// crash ends the store. Its model stays as it is until the store comes back.
func (s *store) crash() {
	s.down, s.paused, s.queue = true, false, nil
	for _, n := range s.run.nodes {
		n.closeConnections()
	}
	s.old = nil
}

// LaunchStore implements faults.World.
func (s *stage) LaunchStore(_ context.Context, _ []string, keepData bool) (string, error) {
	if s.store.down {
		s.store.down = false
		s.store.model.Crash()
		s.store.model.Restart(s.store.now(), keepData)
	}
	return "", nil
}

// ShortenLeases implements faults.World.
func (s *stage) ShortenLeases(_ context.Context, by time.Duration) (string, error) {
	if s.store.down {
		return "", errDown
	}
	left := s.store.do("PTTL", s.store.keys.lease).Int
	if left < 0 {
		return "", faults.NoEffect("there was no lease to shorten")
	}
	rest := max(left-by.Milliseconds(), 0)
	s.store.do("PEXPIRE", s.store.keys.lease, strconv.FormatInt(rest, 10))
	// A clock that jumps does so for the times that the scripts wrote, too.
	if until, err := strconv.ParseInt(s.store.do("HGET", s.store.keys.guard, "until").Text, 10, 64); err == nil && until > 0 {
		s.store.do("HSET", s.store.keys.guard, "until", strconv.FormatInt(until-left+rest, 10))
	}
	if rest > left {
		return fmt.Sprintf("the lease had %d ms to live and gained %d", left, rest-left), nil
	}
	return fmt.Sprintf("the lease had %d ms to live and lost %d", left, left-rest), nil
}

// do is a command of the harness's own.
func (s *store) do(args ...string) redismodel.Reply { return s.model.Do(s.now(), args...) }

// PersistLeases implements faults.World.
func (s *stage) PersistLeases(context.Context) (string, error) {
	return s.wants("lease with a time to live", "the lease has no time to live any more", "PERSIST", s.store.keys.lease)
}

// DeleteLeases implements faults.World.
func (s *stage) DeleteLeases(context.Context) (string, error) {
	return s.wants("lease to delete", "the lease's key was deleted", "DEL", s.store.keys.lease)
}

// OverwriteLeases implements faults.World.
func (s *stage) OverwriteLeases(context.Context) (string, error) {
	return s.wants("lease to overwrite", "the lease's key was overwritten", "SET", s.store.keys.lease, faults.Stranger, "XX")
}

// DeleteCounters implements faults.World.
func (s *stage) DeleteCounters(context.Context) (string, error) {
	return s.wants("counter to delete", "the counter's key was deleted", "DEL", s.store.keys.counter)
}

// wants carries out a command that changes a key, if there is one.
func (s *stage) wants(key, done string, command ...string) (string, error) {
	if s.store.down {
		return "", errDown
	}
	r := s.store.do(command...)
	if r.Kind == redismodel.Nil || r.Kind == redismodel.Int && r.Int == 0 {
		return "", faults.NoEffect("there was no %s", key)
	}
	return done, nil
}

// FlushScripts implements faults.World.
func (s *stage) FlushScripts(context.Context) (string, error) {
	if s.store.down {
		return "", errDown
	}
	s.store.model.FlushScripts()
	r := s.store.model.Run(s.store.now(), redismodel.Leader, s.store.keys.leader, nil)
	if !r.Failed() {
		return "", faults.NoEffect("the store still knows its scripts")
	}
	return "the store knows none of its scripts any more", nil
}

package virtual

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// meant calls act for each store that the targets mean, and joins the evidence.
func (s *stage) meant(targets []string, act func(*store) (string, error)) (evidence string, err error) {
	which, err := faults.StoreNodes(targets, len(s.stores))
	for _, i := range which {
		seen, failed := act(s.stores[i])
		if evidence != "" && seen != "" {
			evidence += "; "
		}
		evidence, err = evidence+seen, errors.Join(err, failed)
	}
	return evidence, err
}

// StopStore implements faults.World.
func (s *stage) StopStore(_ context.Context, targets []string) (string, error) {
	return s.meant(targets, func(v *store) (string, error) {
		if v.down {
			return "", errDown
		}
		v.paused = true
		return v.name + " answers nothing", nil
	})
}

// ContinueStore implements faults.World.
func (s *stage) ContinueStore(_ context.Context, targets []string) error {
	_, err := s.meant(targets, func(v *store) (string, error) {
		if !v.down {
			v.resume()
		}
		return "", nil
	})
	return err
}

// CrashStore implements faults.World.
func (s *stage) CrashStore(_ context.Context, targets []string) (string, error) {
	return s.meant(targets, func(v *store) (string, error) {
		if v.down {
			return "", errDown
		}
		v.lost = v.do("GET", v.keys.lease).Text
		v.crash()
		return v.name + " is gone: connections are refused", nil
	})
}

// errDown is what a fault learns that has come too late for the store.
var errDown = faults.NoEffect("the store is down already")

// crash ends the store. Its model stays as it is until the store comes back.
func (s *store) crash() {
	s.down, s.paused, s.queue = true, false, nil
	for _, n := range s.run.nodes {
		n.closeConnectionsTo(s.index)
	}
	s.old = nil
}

// LaunchStore implements faults.World.
func (s *stage) LaunchStore(_ context.Context, targets []string, keepData bool) (string, error) {
	return s.meant(targets, func(v *store) (string, error) {
		if !v.down {
			return "", nil
		}
		v.down = false
		v.model.Crash()
		v.model.Restart(v.now(), keepData)
		switch {
		case v.alone:
			return "", nil
		case keepData:
			return v.name + " is back", nil
		case v.lost == "":
			return "", faults.NoEffect("%s had no lease to forget", v.name)
		default:
			return v.name + " is back and has forgotten the lease " + v.lost, nil
		}
	})
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

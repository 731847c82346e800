package virtual

import (
	"context"
	"errors"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim/virtual/redismodel"
	"github.com/recount-io/recount/sim/virtual/tamper"
)

// meant calls act for each store that the targets mean, and joins the evidence.
func (s *stage) meant(targets []string, act func(*serverStore) (string, error)) (evidence string, err error) {
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
	return s.meant(targets, func(v *serverStore) (string, error) {
		if v.down {
			return "", errDown
		}
		v.paused = true
		return v.name + " answers nothing", nil
	})
}

// ContinueStore implements faults.World.
func (s *stage) ContinueStore(_ context.Context, targets []string) error {
	_, err := s.meant(targets, func(v *serverStore) (string, error) {
		if !v.down {
			v.resume()
		}
		return "", nil
	})
	return err
}

// CrashStore implements faults.World.
func (s *stage) CrashStore(_ context.Context, targets []string) (string, error) {
	return s.meant(targets, func(v *serverStore) (string, error) {
		if v.down {
			return "", errDown
		}
		v.lost = v.do("GET", v.leaseKey()).Text
		v.crash()
		return v.name + " is gone: connections are refused", nil
	})
}

// errDown is what a fault learns that has come too late for the store.
var errDown = faults.NoEffect("the store is down already")

// crash ends the store. Its model stays as it is until the store comes back.
func (s *serverStore) crash() {
	s.down, s.paused, s.queue, s.frozen = true, false, nil, nil
	for _, n := range s.run.nodes {
		n.closeConnectionsTo(s.index)
	}
	s.old = nil
}

// LaunchStore implements faults.World.
func (s *stage) LaunchStore(_ context.Context, targets []string, keepData bool) (string, error) {
	return s.meant(targets, func(v *serverStore) (string, error) {
		if !v.down {
			return "", nil
		}
		v.down = false
		v.model.Crash()
		v.sessions.Forget()
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
	return s.tampers(func(e tamper.Election) (string, error) { return e.Shorten(by) })
}

// do is a command of the harness's own.
func (s *serverStore) do(args ...string) redismodel.Reply { return s.model.Do(s.now(), args...) }

// election is what faults on data change.
func (s *serverStore) election() tamper.Election {
	return tamper.Election{Do: s.do, Lease: s.leaseKey(), Counter: s.keys.counter, Guard: s.keys.guard, Witness: s.keys.witness}
}

// tampers does something to the data of a store that is up.
func (s *stage) tampers(what func(tamper.Election) (string, error)) (string, error) {
	if s.store.down {
		return "", errDown
	}
	return what(s.store.election())
}

// PersistLeases implements faults.World.
func (s *stage) PersistLeases(context.Context) (string, error) {
	return s.tampers(tamper.Election.Persist)
}

// DeleteLeases implements faults.World.
func (s *stage) DeleteLeases(context.Context) (string, error) {
	return s.tampers(tamper.Election.Delete)
}

// OverwriteLeases implements faults.World.
func (s *stage) OverwriteLeases(context.Context) (string, error) {
	return s.tampers(tamper.Election.Overwrite)
}

// DeleteCounters implements faults.World.
func (s *stage) DeleteCounters(context.Context) (string, error) {
	return s.tampers(tamper.Election.DeleteCounter)
}

// FlushStore implements faults.World.
func (s *stage) FlushStore(context.Context) (string, error) {
	return s.tampers(tamper.Election.Flush)
}

// EvictKeys implements faults.World. Of the keys that are modelled, the lease's
// alone has a time to live.
func (s *stage) EvictKeys(context.Context) (string, error) {
	return s.tampers(tamper.Election.Evict)
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

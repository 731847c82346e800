package bubble

import (
	"context"
	"errors"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim/virtual/tamper"
)

// meant calls act for each store that the targets mean, and joins the evidence.
func (w *world) meant(targets []string, act func(*store) (string, error)) (evidence string, err error) {
	which, err := faults.StoreNodes(targets, len(w.stores))
	for _, i := range which {
		seen, failed := act(w.stores[i])
		if evidence != "" && seen != "" {
			evidence += "; "
		}
		evidence, err = evidence+seen, errors.Join(err, failed)
	}
	return evidence, err
}

// called is what evidence calls the store.
func (s *store) called() string {
	if s.alone {
		return "the store"
	}
	return s.name
}

// StopStore implements faults.World.
func (w *world) StopStore(_ context.Context, targets []string) (string, error) {
	return w.meant(targets, func(s *store) (string, error) {
		if !s.server.Freeze() {
			return "", errDown
		}
		return s.called() + " answers nothing", nil
	})
}

// ContinueStore implements faults.World.
func (w *world) ContinueStore(_ context.Context, targets []string) error {
	_, err := w.meant(targets, func(s *store) (string, error) {
		s.server.Thaw()
		return "", nil
	})
	return err
}

// CrashStore implements faults.World.
func (w *world) CrashStore(_ context.Context, targets []string) (string, error) {
	return w.meant(targets, func(s *store) (string, error) {
		if !s.server.Open() {
			return "", errDown
		}
		s.of(s.server, func(e tamper.Election) { s.lost = e.Do("GET", e.Lease).Text })
		s.crash()
		return s.called() + " is gone: connections are refused", nil
	})
}

// LaunchStore implements faults.World.
func (w *world) LaunchStore(_ context.Context, targets []string, keepData bool) (string, error) {
	return w.meant(targets, func(s *store) (string, error) {
		if !s.server.Restart(keepData) {
			return "", nil
		}
		s.lead()
		switch {
		case s.alone:
			return "", nil
		case keepData:
			return s.name + " is back", nil
		case s.lost == "":
			return "", faults.NoEffect("%s had no lease to forget", s.name)
		default:
			return s.name + " is back and has forgotten the lease " + s.lost, nil
		}
	})
}

// ShortenLeases implements faults.World.
func (w *world) ShortenLeases(_ context.Context, by time.Duration) (string, error) {
	return w.store.tampers(func(e tamper.Election) (string, error) { return e.Shorten(by) })
}

// PersistLeases implements faults.World.
func (w *world) PersistLeases(context.Context) (string, error) {
	return w.store.tampers(tamper.Election.Persist)
}

// DeleteLeases implements faults.World.
func (w *world) DeleteLeases(context.Context) (string, error) {
	return w.store.tampers(tamper.Election.Delete)
}

// OverwriteLeases implements faults.World.
func (w *world) OverwriteLeases(context.Context) (string, error) {
	return w.store.tampers(tamper.Election.Overwrite)
}

// DeleteCounters implements faults.World.
func (w *world) DeleteCounters(context.Context) (string, error) {
	return w.store.tampers(tamper.Election.DeleteCounter)
}

// FlushStore implements faults.World.
func (w *world) FlushStore(context.Context) (string, error) {
	return w.store.tampers(tamper.Election.Flush)
}

// EvictKeys implements faults.World.
func (w *world) EvictKeys(context.Context) (string, error) {
	return w.store.tampers(tamper.Election.Evict)
}

// FlushScripts implements faults.World.
func (w *world) FlushScripts(context.Context) (evidence string, err error) {
	if !w.store.server.Open() {
		return "", errDown
	}
	w.store.server.With(func(do Do) {
		witness := do("SCRIPT", "LOAD", "return 'witness'").Text
		do("SCRIPT", "FLUSH")
		known := do("SCRIPT", "EXISTS", witness)
		if evidence = "the store knows none of its scripts any more"; known.Items[0].Int == 1 {
			evidence, err = "", faults.NoEffect("the store still knows its scripts")
		}
	})
	return evidence, err
}

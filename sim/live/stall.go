package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/protocol"
	"github.com/recount-io/recount/sim/stage"
)

// stalls collects the times in which the machine held up the run: on a busy
// one, that a leader loses its lease is no fault of the elector's.
type stalls struct {
	least    time.Duration
	recorder *history.Recorder

	mu  sync.Mutex
	all []stall
}

type stall struct {
	target   string
	from, to time.Duration
	machine  bool // everything was held up
}

// add notes that target was held up for so long until now.
func (s *stalls) add(target string, lasted time.Duration) {
	s.note(stall{target: target}, lasted)
}

// machine notes that everything was held up, target too, for so long until now.
func (s *stalls) machine(target string, lasted time.Duration) {
	s.note(stall{target: target, machine: true}, lasted)
}

func (s *stalls) note(st stall, lasted time.Duration) {
	now := s.recorder.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	st.from, st.to = max(now-lasted, 0), now
	s.all = append(s.all, st)
}

// watchStore looks whether the store answers the harness, which is near to it,
// until ctx is done.
func (s *stalls) watchStore(ctx context.Context, ping func(context.Context) error) {
	for stage.Sleep(ctx, s.least) {
		began := s.recorder.Now()
		asking, cancel := context.WithTimeout(ctx, actTime)
		_ = ping(asking) // late or not at all: the time tells
		cancel()
		if took := s.recorder.Now() - began; took >= s.least { // cut short by the end of the run, too
			s.add(history.StoreTarget, took)
		}
	}
}

// record puts the stalls into the history, but for what a fault of the schedule
// explains: a suspended process is held up too.
func (s *stalls) record(injected []history.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	over := windows(injected)
	var all []stall
	for _, st := range s.all {
		switch {
		case st.machine:
			all = append(all, st)
		case st.target == history.StoreTarget: // it may take its time to recover, too
			if !slices.ContainsFunc(over[st.target], st.explained) {
				all = append(all, st)
			}
		default:
			all = append(all, st.beside(over[st.target], s.least)...)
		}
	}
	for i, st := range all {
		for _, e := range stage.Uninjected(fmt.Sprintf("s%d", i+1), history.StallFault, []string{st.target}, st.from, st.to,
			history.Effect{Holds: true}, "the machine did not let "+st.target+" go on") {
			s.recorder.Record(e)
		}
	}
}

// window is the time in which a fault of the schedule was on.
type window struct{ from, to time.Duration }

// windows are those of the faults on each target; what hits one of the store's
// servers hits the store.
func windows(injected []history.Event) map[string][]window {
	ends := map[string]time.Duration{}
	for _, off := range injected {
		if off.Phase == history.Off {
			ends[off.ID] = off.At
		}
	}
	all := map[string][]window{}
	for _, on := range injected {
		if on.Phase != history.On {
			continue
		}
		w := window{on.At, 1<<63 - 1}
		if end, over := ends[on.ID]; over {
			w.to = end
		}
		for _, target := range on.Targets {
			all[target] = append(all[target], w)
			if faults.IsStoreNode(target) {
				all[history.StoreTarget] = append(all[history.StoreTarget], w)
			}
		}
	}
	return all
}

// explained reports whether the stall began while the fault was on.
func (st stall) explained(w window) bool { return st.from < w.to && w.from < st.to }

// beside are the parts of the stall in which none of the faults was on, but for those
// that are not worth a word.
func (st stall) beside(over []window, least time.Duration) (parts []stall) {
	slices.SortFunc(over, func(a, b window) int { return cmp.Compare(a.from, b.from) })
	part := func(from, to time.Duration) {
		if to > from && to-from >= least {
			parts = append(parts, stall{target: st.target, from: from, to: to})
		}
	}
	from := st.from
	for _, w := range over {
		part(from, min(w.from, st.to))
		from = max(from, w.to)
	}
	part(from, st.to)
	return parts
}

// overruns notes what held up a process, or cut it off, for longer than the schedule
// wanted: the rest was the machine's.
func (s *stalls) overruns(injected []history.Event, planned func(id string) (time.Duration, bool)) {
	put := map[string]history.Event{}
	for _, e := range injected {
		if e.Phase == history.On {
			put[e.ID] = e
			continue
		}
		on := put[e.ID]
		length, known := planned(e.ID)
		if !known || on.Effect == nil || !on.Effect.Holds && !on.Effect.Cuts {
			continue
		}
		began := on.At
		// What holds a write waits for one. Other faults may have acted since they
		// were put on, long before the harness saw that they did.
		if e.Since != nil && !on.Effect.Cuts {
			began = *e.Since
		}
		if rest := e.At - began - length; rest >= s.least {
			s.mu.Lock()
			for _, target := range on.Targets {
				s.all = append(s.all, stall{target: target, from: e.At - rest, to: e.At, machine: true})
			}
			s.mu.Unlock()
		}
	}
}

// watchSelf looks whether the harness itself is held up, until ctx is done.
func (s *stalls) watchSelf(ctx context.Context, nodes []string) {
	protocol.Stalls(ctx, s.least, func(lasted time.Duration) {
		for _, node := range append(slices.Clone(nodes), history.StoreTarget) {
			s.machine(node, lasted)
		}
	})
}

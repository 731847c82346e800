package explore

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Options bound a search.
type Options struct {
	Depth    int                     // actions from the beginning; 0: no bound
	States   int                     // that are visited; 0: as many as an index holds
	Plant    *Plant                  // a bug around the machine; nil: none
	Stop     func() bool             // asked now and then; true ends the search; nil: never
	Progress func(states, depth int) // told after each depth; nil: nobody
}

// Report is what a search has found.
type Report struct {
	Settings *Settings
	States   int
	Edges    int  // actions that were tried, each outcome of the dice for itself
	Depth    int  // of the deepest state visited
	Finished bool // no state is left that was not visited
	Waiting  int  // states that were found and not gone on from

	Taken  [kinds]int    // how often each action was
	Seen   map[Sight]int // the least depth at which each sight was
	Broken string        // what was broken, "" if nothing
	Path   *Path         // the shortest one to it; nil if nothing was broken
}

// Missing is what had to be seen and was not.
func (r *Report) Missing() []string {
	var list []string
	for _, s := range r.Settings.Sights {
		if _, seen := r.Seen[s]; !seen {
			list = append(list, s.Names()...)
		}
	}
	return list
}

// search is a search under way: breadth first, level by level.
type search struct {
	set     *Settings
	o       Options
	w       *world
	codec   codec
	index   *index
	level   []byte // the states that are gone on from, each with its length and its phase
	next    []byte
	at      uint32
	actions []Action
	state   []byte
	report  *Report
	calm    *reach
	broken  bool
}

// Search visits the states of a world, those first that take the fewest actions.
// It ends where nothing is left, where the options say, or with the first thing
// that is broken: then no shorter way leads to any.
func Search(set *Settings, o Options) (*Report, error) {
	if err := set.Validate(); err != nil {
		return nil, err
	}
	if o.Plant == nil {
		o.Plant = &Plant{}
	}
	if o.States <= 0 || o.States > most {
		o.States = most
	}
	if set.Stores > 0 {
		return searchMajority(set, o)
	}
	s := &search{set: set, o: o, index: newIndex(), report: &Report{Settings: set, Seen: map[Sight]int{}}}
	s.w = newWorld(set, o.Plant)
	if set.Leads {
		s.calm = &reach{}
	}
	s.state = s.codec.append(s.state[:0], s.w)
	s.visit(0)
	s.swap()
	s.run()
	s.report.States = len(s.index.hashes)
	return s.report, s.conclude()
}

func (s *search) run() {
	first := uint32(0)
	for depth := 1; len(s.level) > 0; depth++ {
		if s.o.Depth > 0 && depth > s.o.Depth {
			s.report.Waiting = len(s.index.hashes) - int(first)
			return
		}
		s.at = first
		first = uint32(len(s.index.hashes))
		for level := s.level; len(level) > 0; s.at++ {
			size := int(binary.LittleEndian.Uint16(level))
			s.expand(level[3:3+size], phase(level[2]), depth)
			level = level[3+size:]
			if s.broken || s.full() {
				s.report.Waiting = len(s.index.hashes) - int(s.at) - 1
				s.report.Depth = depth
				return
			}
		}
		if len(s.next) > 0 {
			s.report.Depth = depth
		}
		s.swap()
		if s.o.Progress != nil {
			s.o.Progress(len(s.index.hashes), depth)
		}
	}
	s.report.Finished = true
}

func (s *search) full() bool {
	return len(s.index.hashes) >= s.o.States || s.at%4096 == 0 && s.o.Stop != nil && s.o.Stop()
}

func (s *search) swap() { s.level, s.next = s.next, s.level[:0] }

// expand visits all that may come next after a state.
func (s *search) expand(state []byte, p phase, depth int) {
	s.w.load(state)
	s.actions = s.w.actions(s.actions[:0])
	leads := s.calm != nil && s.w.leads()
	fresh := true
	for _, a := range s.actions {
		for more := true; more; {
			if !fresh {
				s.w.load(state)
			}
			fresh = false
			s.w.phase = p
			s.w.random.faces = s.w.random.faces[:0]
			s.w.apply(a)
			if s.take(a, depth) {
				return
			}
			more = s.w.random.next()
		}
	}
	if s.calm != nil {
		s.calm.close(leads)
	}
}

// take deals with the state after an action; true ends the search.
func (s *search) take(a Action, depth int) bool {
	w := s.w
	s.report.Edges++
	s.report.Taken[a.Kind]++
	for sight := w.sights; sight != 0; sight &= sight - 1 {
		if one := sight & -sight; s.report.Seen[one] == 0 {
			s.report.Seen[one] = depth
		}
	}
	if w.broken != "" {
		s.fail(w.broken)
		return true
	}
	s.state = s.codec.append(s.state[:0], w)
	place := s.visit(s.at)
	if s.calm != nil && a.Kind.calm() {
		s.calm.edge(place)
	}
	return false
}

// visit notes the state, if it is new.
func (s *search) visit(from uint32) uint32 {
	place, added := s.index.add(hash(s.state), from)
	if added {
		s.next = binary.LittleEndian.AppendUint16(s.next, uint16(len(s.state)))
		s.next = append(s.next, byte(s.codec.phase(s.w)))
		s.next = append(s.next, s.state...)
	}
	return place
}

func (s *search) fail(what string) {
	s.broken = true
	s.report.Broken = what
	s.report.Path = &Path{Settings: s.set, Broken: what, plant: s.o.Plant, way: s.index.way(s.at)}
}

// conclude finds the path to what was broken, and asks whether a leader stays
// reachable.
func (s *search) conclude() error {
	if s.report.Path != nil {
		err := s.report.Path.find()
		s.report.Broken = s.report.Path.Broken
		return err
	}
	if s.calm == nil || !s.report.Finished {
		return nil
	}
	if place, stuck := s.calm.stuck(); stuck {
		way := s.index.way(place)
		s.report.Broken = brokenStuck
		s.report.Path = &Path{Settings: s.set, Broken: s.report.Broken, plant: s.o.Plant, way: way, ends: true}
		return s.report.Path.find()
	}
	return nil
}

var errLostWay = errors.New("explore: the path cannot be walked in the concrete world: the fold is wrong")

func lostWay(step int) error { return fmt.Errorf("%w (step %d)", errLostWay, step) }

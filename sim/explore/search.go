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
	plant    *plant                  // a bug around the machine; nil: none
	Stop     func() bool             // asked now and then; true ends the search; nil: never
	Progress func(states, depth int) // called after each depth; nil: never
}

// Report is what a search has found.
type Report struct {
	Settings *Settings
	States   int
	Edges    int  // actions that were tried, each outcome of the dice for itself
	Depth    int  // of the deepest state visited
	Finished bool // no state is left that was not visited
	Waiting  int  // states that were found and not gone on from

	Taken  [kinds]int          // how often each action was
	Seen   map[Observation]int // the least depth at which each observation was
	Broken string              // what was broken, "" if nothing
	Path   *Path               // the shortest one to it; nil if nothing was broken
}

// Missing is what had to be seen and was not.
func (r *Report) Missing() []string {
	var list []string
	for _, s := range r.Settings.Observations {
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
	w       model
	index   *index
	level   []byte // the states that are gone on from, each with its length and its phase
	next    []byte
	at      uint32
	actions []Action
	found   []found // of the state at hand
	states  []byte  // theirs
	fetched uint32
	report  *Report
	calm    *reach // nil: nobody has to stay reachable
	broken  bool
}

// found is a state that an action led to, and that has not been looked up yet.
type found struct {
	hash  uint64
	end   int // in states; it begins where the one before ends
	phase phase
	calm  bool // the action is one of a world in which nothing goes wrong
}

// Search visits the states of a world, those first that take the fewest actions.
// It ends where nothing is left, where the options say, or with the first thing
// that is broken: then no shorter way leads to any.
func Search(set *Settings, o Options) (*Report, error) {
	if err := set.Validate(); err != nil {
		return nil, err
	}
	if o.plant == nil {
		o.plant = &plant{}
	}
	if o.States <= 0 || o.States > most {
		o.States = most
	}
	s := &search{set: set, o: o, w: newModel(set, o.plant), index: newIndex(), report: &Report{Settings: set, Seen: map[Observation]int{}}}
	if set.Leads {
		s.calm = &reach{}
	}
	s.find(false)
	s.visit()
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
	return len(s.index.hashes) >= s.o.States || s.at%1024 == 0 && s.o.Stop != nil && s.o.Stop()
}

func (s *search) swap() { s.level, s.next = s.next, s.level[:0] }

// expand visits all that may come next after a state.
func (s *search) expand(state []byte, p phase, depth int) {
	s.w.load(state)
	c := s.w.shared()
	s.actions = s.w.actions(s.actions[:0])
	leads := s.calm != nil && s.w.leads()
	var last *Action
	for i := range s.actions {
		a := &s.actions[i]
		for more := true; more; more = c.random.next() {
			if last != nil {
				s.w.again(*last)
			}
			last = a
			c.phase = p
			c.random.faces = c.random.faces[:0]
			s.w.apply(*a)
			if s.take(*a, depth) {
				s.visit()
				return
			}
		}
	}
	s.visit()
	if s.calm != nil {
		s.calm.close(leads)
	}
}

// take deals with the state after an action; true ends the search.
func (s *search) take(a Action, depth int) bool {
	c := s.w.shared()
	s.report.Edges++
	s.report.Taken[a.Kind]++
	for observation := c.observations; observation != 0; observation &= observation - 1 {
		if one := observation & -observation; s.report.Seen[one] == 0 {
			s.report.Seen[one] = depth
		}
	}
	if c.broken != "" {
		s.fail(c.broken)
		return true
	}
	s.find(a.Kind.calm())
	return false
}

// find notes the state at hand, to be visited.
func (s *search) find(calm bool) {
	from := len(s.states)
	s.states = s.w.append(s.states)
	s.found = append(s.found, found{hash(s.states[from:]), len(s.states), s.w.written(), calm})
}

// visit visits the states that were found, those that are new. They are looked up
// all at once, for the index is large: so one waits for the memory while others do.
func (s *search) visit() {
	for i := range s.found {
		s.fetched += s.index.fetch(s.found[i].hash)
	}
	from := 0
	for i := range s.found {
		f := &s.found[i]
		place, added := s.index.add(f.hash, s.at)
		if added {
			s.next = binary.LittleEndian.AppendUint16(s.next, uint16(f.end-from))
			s.next = append(s.next, byte(f.phase))
			s.next = append(s.next, s.states[from:f.end]...)
		}
		if s.calm != nil && f.calm {
			s.calm.edge(place)
		}
		from = f.end
	}
	s.found, s.states = s.found[:0], s.states[:0]
}

func (s *search) fail(what string) {
	s.broken = true
	s.report.Broken = what
	s.report.Path = &Path{Settings: s.set, Broken: what, plant: s.o.plant, way: s.index.way(s.at)}
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
		s.report.Path = &Path{Settings: s.set, Broken: s.report.Broken, plant: s.o.plant, way: way, ends: true}
		return s.report.Path.find()
	}
	return nil
}

var errLostWay = errors.New("explore: the path cannot be walked in the concrete world: the fold is wrong")

func lostWay(step int) error { return fmt.Errorf("%w (step %d)", errLostWay, step) }

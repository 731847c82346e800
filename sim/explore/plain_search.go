package explore

import "encoding/binary"

// plainSearch is a search of a world in which no dice are thrown and nobody has to stay
// reachable: breadth first, level by level, as search is.
type plainSearch struct {
	set     *Settings
	o       Options
	w       plain
	index   *index
	level   []byte // the states that are gone on from, each with its length and its phase
	next    []byte
	at      uint32
	actions []Action
	state   []byte
	report  *Report
}

// plain is a world that plainSearch goes through.
type plain interface {
	walked
	load(state []byte)      // makes it the one that was written
	again(a Action)         // makes it the one that was read last, after an action
	append(b []byte) []byte // writes its plainest form
	follow(p phase)         // says how far a failover has come on the way to it
	followed() phase
}

// plain reports whether the world is one that plainSearch goes through.
func (s *Settings) plain() bool { return s.Stores+s.Elections > 0 }

func newPlain(set *Settings, plant *plant) plain {
	if set.Stores > 0 {
		return &writtenMajority{newMajority(set, plant), newMajorityCodec()}
	}
	return newWitnessed(set, plant)
}

// searchPlain is Search for such a world.
func searchPlain(set *Settings, o Options) (*Report, error) {
	s := &plainSearch{set: set, o: o, w: newPlain(set, o.plant), index: newIndex(), report: &Report{Settings: set, Seen: map[Sight]int{}}}
	s.visit()
	s.level, s.next = s.next, nil
	s.run()
	s.report.States = len(s.index.hashes)
	if s.report.Path == nil {
		return s.report, nil
	}
	err := s.report.Path.find()
	s.report.Broken = s.report.Path.Broken
	return s.report, err
}

func (s *plainSearch) run() {
	r := s.report
	for depth, first := 1, 0; len(s.level) > 0; depth++ {
		if s.o.Depth > 0 && depth > s.o.Depth {
			r.Waiting = len(s.index.hashes) - first
			return
		}
		first = len(s.index.hashes)
		for level := s.level; len(level) > 0; s.at++ {
			size := int(binary.LittleEndian.Uint16(level))
			s.expand(level[3:3+size], phase(level[2]), depth)
			level = level[3+size:]
			if r.Broken != "" || s.full() {
				r.Waiting, r.Depth = len(s.index.hashes)-int(s.at)-1, depth
				return
			}
		}
		if len(s.next) > 0 {
			r.Depth = depth
		}
		s.level, s.next = s.next, s.level[:0]
		if s.o.Progress != nil {
			s.o.Progress(len(s.index.hashes), depth)
		}
	}
	r.Finished = true
}

func (s *plainSearch) full() bool {
	return len(s.index.hashes) >= s.o.States || s.at%1024 == 0 && s.o.Stop != nil && s.o.Stop()
}

// expand visits all that may come next after a state.
func (s *plainSearch) expand(state []byte, p phase, depth int) {
	w := s.w
	w.load(state)
	s.actions = w.actions(s.actions[:0])
	for i, a := range s.actions {
		if i > 0 {
			w.again(s.actions[i-1])
		}
		w.follow(p)
		w.apply(a)
		news := w.news()
		s.report.Edges++
		s.report.Taken[a.Kind]++
		s.report.see(news.sights, depth)
		if news.broken != "" {
			s.report.Broken = news.broken
			s.report.Path = &Path{Settings: s.set, Broken: news.broken, plant: s.o.plant, way: s.index.way(s.at)}
			return
		}
		s.visit()
	}
}

// visit notes the state, if it is new.
func (s *plainSearch) visit() {
	s.state = s.w.append(s.state[:0])
	if _, added := s.index.add(hash(s.state), s.at); added {
		s.next = binary.LittleEndian.AppendUint16(s.next, uint16(len(s.state)))
		s.next = append(s.next, byte(s.w.followed()))
		s.next = append(s.next, s.state...)
	}
}

// see notes the least depth at which each sight was.
func (r *Report) see(sights Sight, depth int) {
	for ; sights != 0; sights &= sights - 1 {
		if one := sights & -sights; r.Seen[one] == 0 {
			r.Seen[one] = depth
		}
	}
}

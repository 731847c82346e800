package explore

import "encoding/binary"

// majoritySearch is a search of a world of several stores, breadth first, level by
// level, as search is.
type majoritySearch struct {
	set     *Settings
	o       Options
	w       *majority
	codec   *majorityCodec
	index   *index
	level   []byte // the states that are gone on from, each with its length and its phase
	next    []byte
	at      uint32
	actions []Action
	state   []byte
	report  *Report
}

// searchMajority is Search for a world of several stores.
func searchMajority(set *Settings, o Options) (*Report, error) {
	s := &majoritySearch{
		set: set, o: o, w: newMajority(set, o.Plant), codec: newMajorityCodec(), index: newIndex(),
		report: &Report{Settings: set, Seen: map[Sight]int{}},
	}
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

func (s *majoritySearch) run() {
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

func (s *majoritySearch) full() bool {
	return len(s.index.hashes) >= s.o.States || s.at%1024 == 0 && s.o.Stop != nil && s.o.Stop()
}

// expand visits all that may come next after a state.
func (s *majoritySearch) expand(state []byte, p phase, depth int) {
	w := s.w
	w.load(state, s.codec)
	s.actions = w.actions(s.actions[:0])
	for i, a := range s.actions {
		if i > 0 {
			w.again(s.actions[i-1], s.codec)
		}
		w.phase = p
		w.apply(a)
		s.report.Edges++
		s.report.Taken[a.Kind]++
		s.report.see(w.sights, depth)
		if w.broken != "" {
			s.report.Broken = w.broken
			s.report.Path = &Path{Settings: s.set, Broken: w.broken, plant: s.o.Plant, way: s.index.way(s.at)}
			return
		}
		s.visit()
	}
}

// visit notes the state, if it is new.
func (s *majoritySearch) visit() {
	s.state = s.codec.append(s.state[:0], s.w)
	if _, added := s.index.add(hash(s.state), s.at); added {
		s.next = binary.LittleEndian.AppendUint16(s.next, uint16(len(s.state)))
		s.next = append(s.next, byte(s.codec.phase(s.w)))
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

package machine

import "time"

// splitmix is the generator SplitMix64 of Steele, Lea and Flood ("Fast
// Splittable Pseudorandom Number Generators", 2014): one word of state, and
// the same sequence everywhere for the same seed.
type splitmix uint64

func (s *splitmix) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// jitter is a random time from 0 to most.
func (m *Machine) jitter(most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	if m.choose != nil {
		return m.choose(most)
	}
	return time.Duration(m.random.next() % (uint64(most) + 1))
}

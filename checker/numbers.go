package checker

import "slices"

// numbers is a set of numbers, most of which follow each other.
type numbers struct {
	spans []numberSpan // in order, disjoint, and not touching
}

type numberSpan struct{ first, last int64 }

// after is the index of the first span that does not end before n.
func (s *numbers) after(n int64) int {
	i := len(s.spans)
	if i > 0 && s.spans[i-1].last < n { // mostly
		return i
	}
	i, _ = slices.BinarySearchFunc(s.spans, n, func(x numberSpan, n int64) int {
		if x.last < n {
			return -1
		}
		return 1
	})
	return i
}

func (s *numbers) has(n int64) bool {
	i := s.after(n)
	return i < len(s.spans) && s.spans[i].first <= n
}

func (s *numbers) add(n int64) {
	i := s.after(n)
	if i < len(s.spans) && s.spans[i].first <= n {
		return
	}
	before := i > 0 && s.spans[i-1].last == n-1
	behind := i < len(s.spans) && s.spans[i].first == n+1
	switch {
	case before && behind:
		s.spans[i-1].last = s.spans[i].last
		s.spans = slices.Delete(s.spans, i, i+1)
	case before:
		s.spans[i-1].last = n
	case behind:
		s.spans[i].first = n
	default:
		s.spans = slices.Insert(s.spans, i, numberSpan{n, n})
	}
}

// limit forgets the smallest numbers where there are too many spans.
func (s *numbers) limit(spans int) {
	if n := len(s.spans) - spans; n > 0 {
		s.spans = slices.Delete(s.spans, 0, n)
	}
}

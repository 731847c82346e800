package search

import (
	"testing"

	"github.com/recount-io/recount/sim/space"
)

// Test tries n cases of a space, those of a search with the seed 0, in the process of a
// test. It fails the test for every broken obligation, and returns what had an effect in
// how many cases.
func Test(t *testing.T, name string, n int) (effects map[string]int) {
	t.Helper()
	s, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	effects = map[string]int{}
	coverage := NewCoverage()
	for i := range n {
		c := s.Draw(coverage.Number(s, 0, uint64(i)))
		o := Try(t, c)
		coverage.Add(c.Features(), o.Effects)
		for feature, had := range o.Effects {
			if had {
				effects[feature]++
			}
		}
		s.fail(t, c, o.Findings)
	}
	t.Log(coverage)
	return effects
}

// Mended tries cases in which a fault was found that is mended, and fails the test for
// every broken obligation. Each case has the number that its fault says.
func Mended(t *testing.T, name string, faults map[string]uint64) {
	t.Helper()
	s, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	for fault, number := range faults {
		c := s.Draw(number)
		if findings := Try(t, c).Findings; len(findings) > 0 {
			t.Errorf("mended before: %s", fault)
			s.fail(t, c, findings)
		}
	}
}

// fail fails the test for what was found in a case.
func (s *Space) fail(t *testing.T, c Case, findings []space.Finding) {
	t.Helper()
	for _, f := range findings {
		t.Errorf("case %d: %s: %s", c.Number(), f.Obligation, f.Details)
		if says := s.Says(f.Obligation); says != "" {
			t.Logf("the documents say: %s", says)
		}
		t.Logf("again: chaos fuzz --in %s --seed %d --cases 1", s.Name, c.Number())
	}
}

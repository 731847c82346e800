package league

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/recount-io/recount/internal/raced"
	"github.com/recount-io/recount/sim/virtual"
)

// sound is what surrounds the mutant's bug, without it: the elector that the
// mutant differs from.
func (m *Mutant) sound() virtual.Subject {
	if m.Subject.Blocking != nil {
		return Plain()
	}
	s := virtual.Subject{Unprotected: m.Subject.Unprotected}
	s.ReadOnly, s.Client.Loads = m.Subject.ReadOnly, m.Subject.Client.Loads
	if m.Where == Machine {
		s.Work = m.Subject.Work
	}
	return s
}

// surroundings tells those apart that differ in anything but the bug: in the sound
// elector, and in how it is hunted.
func (m *Mutant) surroundings() string {
	s := m.sound()
	style := s.Blocking != nil
	s.Blocking = nil // all are the plain one
	return fmt.Sprintf("%t %+v %+v %s %v", style, s, m.Pins, m.Scenario, m.Topology)
}

// What surrounds a bug is none: the same without it raises no alarm, whether in
// the mutant's scenario or at random. What many bugs have in common is run once.
func TestNothingElseIsWrong(t *testing.T) {
	if testing.Short() || raced.Enabled {
		t.Skip("it takes a minute, and many times that with the race detector")
	}
	done := map[string]bool{}
	for _, m := range Mutants() {
		if done[m.surroundings()] {
			continue
		}
		done[m.surroundings()] = true
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			sound := m
			sound.Subject = m.sound()
			limit := 200
			if m.Scenario != "" {
				limit = 10
			}
			s, err := sound.Find(t.Context(), Hunt{Seed: 1, Limit: limit})
			if err != nil {
				t.Fatal(err)
			}
			if s.Found {
				t.Errorf("%s after %d schedules: %s", s.Failed.Promise, s.Schedules, s.Failed.Reason)
			}
			// A store without protection may have two leaders at one time.
			if !sound.Subject.Unprotected && len(s.Elsewhere)+len(s.Disputes) > 0 {
				t.Errorf("after %d schedules: %v, %v", s.Schedules, s.Elsewhere, s.Disputes)
			}
		})
	}
}

// A mutant that is hunted by a scenario behaves differently there.
func TestBehavesDifferently(t *testing.T) {
	const seeds = 60
	for _, m := range Mutants() {
		if m.Scenario == "" {
			continue // what breaks a promise at random does, and each of these does
		}
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			differs := func(seed uint64) bool {
				return !bytes.Equal(m.recorded(t, m.Subject, seed), m.recorded(t, m.sound(), seed))
			}
			for seed := uint64(1); seed <= seeds; seed++ {
				if differs(seed) {
					return
				}
			}
			t.Errorf("%d runs of %s are the same, to the byte, with the bug and without it", seeds, m.Scenario)
		})
	}
}

// recorded is the history of a run of the mutant's scenario with that subject
// in its place.
func (m *Mutant) recorded(t *testing.T, s virtual.Subject, seed uint64) []byte {
	t.Helper()
	plan, err := m.plan(m.Name, seed)
	if err != nil {
		t.Fatal(err)
	}
	world := virtual.World{Subjects: map[string]virtual.Subject{m.Name: s}}
	h, err := world.Run(t.Context(), plan, "")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := h.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

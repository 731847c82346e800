package machine

import (
	"strings"
	"testing"
)

// inRole returns a machine in a role, with a request under way where the role
// has one.
func inRole(t *testing.T, role Role) (*rig, Request) {
	r := newRig(t)
	if role == Stopped {
		r.step(Input{Kind: Stop})
		return r, Request{}
	}
	if role == Follower {
		r.answer(r.next(Acquire), Held, 3)
		return r, Request{}
	}
	if role == Candidate {
		return r, r.next(Acquire)
	}
	r.elect(7)
	q := r.next(Renew)
	if role == Draining {
		r.step(Input{Kind: Resign})
	}
	r.is(role)
	return r, q
}

// Every role meets every input; the letters are the roles that result. None of
// them may panic.
func TestEveryRoleMeetsEveryInput(t *testing.T) {
	inputs := []struct {
		name string
		in   Input
	}{
		{"wake", Input{Kind: Wake}},
		{"start", Input{Kind: Start}},
		{"unknown", Input{Kind: Answer, Result: Unknown, Err: errLost}},
		{"done", Input{Kind: Answer, Result: Done, Token: 7}},
		{"held", Input{Kind: Answer, Result: Held, Token: 6, Holder: "n2", Remaining: sec}},
		{"nothold", Input{Kind: Answer, Result: NotHeld}},
		{"fatal", Input{Kind: Answer, Result: Fatal, Err: errLost}},
		{"released", Input{Kind: HintReleased, Token: 9, Waiters: 1000}},
		{"granted", Input{Kind: HintGranted, Token: 9, Remaining: sec}},
		{"resign", Input{Kind: Resign}},
		{"worked", Input{Kind: WorkEnded, Token: 7}},
		{"panicked", Input{Kind: WorkEnded, Token: 7, Err: errLost}},
		{"calling", Input{Kind: WorkEnded, Token: 7, Calling: true}},
		{"returned", Input{Kind: Returned}},
		{"stop", Input{Kind: Stop}},
		{"late", Input{Kind: Wake}}, // a lease later
	}
	table := map[Role]string{
		//         wake start unknown done held nothold fatal released granted resign worked panicked calling returned stop late
		Follower:  "F F F F F F F F F F F F F F S C",
		Candidate: "C C C L F C S C C C C C C C C C",
		Leader:    "L L L L L F D L L D F S F L D F",
		Draining:  "D D D D D F D D D D F S F D D F",
		Stopped:   "S S S S S S S S S S S S S S S S",
	}
	letters := map[string]Role{"F": Follower, "C": Candidate, "L": Leader, "D": Draining, "S": Stopped}
	for role, row := range table {
		for i, letter := range strings.Fields(row) {
			t.Run(role.String()+"/"+inputs[i].name, func(t *testing.T) {
				r, q := inRole(t, role)
				in := inputs[i].in
				in.Request = q.Number
				if inputs[i].name == "late" {
					r.now += 15 * sec
				}
				r.step(in)
				r.is(letters[letter])
				r.wait(60 * sec) // and whatever follows is possible, too
			})
		}
	}
}

// The one place where the role changes panics where only a bug can lead.
func TestImpossibleRolesPanic(t *testing.T) {
	possible := map[Role][]Role{
		Follower:  {Candidate, Leader, Stopped},
		Candidate: {Follower, Leader, Stopped},
		Leader:    {Draining, Follower, Stopped},
		Draining:  {Follower, Stopped},
		Stopped:   {},
	}
	all := []Role{Follower, Candidate, Leader, Draining, Stopped}
	for _, from := range all {
		for _, to := range all {
			want := false
			for _, p := range possible[from] {
				want = want || p == to
			}
			if got := may(from, to); got != want {
				t.Errorf("%v to %v: possible is %t, want %t", from, to, got, want)
			}
		}
	}
	for name, spoil := range map[string]func(r *rig){
		"leader to candidate":          func(r *rig) { r.elect(1); r.m.become(Candidate) },
		"leader without a live term":   func(r *rig) { r.next(Acquire); r.m.attempt.nonce = ""; r.m.become(Leader) },
		"candidate without an attempt": func(r *rig) { r.m.become(Candidate) },
		"follower with a live term":    func(r *rig) { r.elect(1); r.m.become(Follower) },
		"draining past the deadline":   func(r *rig) { r.elect(1); r.m.now += 15 * sec; r.m.become(Draining) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			spoil(r)
		})
	}
}

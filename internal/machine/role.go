package machine

import "fmt"

// Role is what a machine is at a time.
type Role uint8

// The roles. A machine begins as a follower.
const (
	Follower  Role = iota // waits for the lease to end
	Candidate             // has asked for the lease; the outcome is open
	Leader                // leads
	Draining              // leads, but only until its work has ended
	Stopped               // has ended for good
)

func (r Role) String() string {
	switch r {
	case Follower:
		return "follower"
	case Candidate:
		return "candidate"
	case Leader:
		return "leader"
	case Draining:
		return "draining"
	case Stopped:
		return "stopped"
	default:
		return "impossible"
	}
}

// become is the one place where the role changes. It panics where only a bug
// can lead.
func (m *Machine) become(to Role) {
	if !may(m.role, to) {
		panic(fmt.Sprintf("machine: a %v cannot become a %v", m.role, to))
	}
	if leads(to) != m.term.live {
		panic(fmt.Sprintf("machine: a %v whose term is live: %t", to, m.term.live))
	}
	if leads(to) && m.now >= m.term.deadline {
		panic(fmt.Sprintf("machine: a %v past its deadline", to))
	}
	if (to == Candidate) != (m.attempt.nonce != "") {
		panic(fmt.Sprintf("machine: a %v with the open attempt %q", to, m.attempt.nonce))
	}
	m.role = to
	if to == Stopped {
		m.doneBy = m.now + m.cfg.RequestTimeout
		m.withdraw()
	}
	change := Transition{Kind: RoleChanged, Err: m.err}
	if to == Draining {
		change.Why = m.term.ending
	}
	m.emit(change)
}

func may(from, to Role) bool {
	switch from {
	case Follower:
		return to == Candidate || to == Leader || to == Stopped
	case Candidate:
		return to == Follower || to == Leader || to == Stopped
	case Leader:
		return to == Draining || to == Follower || to == Stopped
	case Draining:
		return to == Follower || to == Stopped
	default:
		return false
	}
}

func leads(r Role) bool { return r == Leader || r == Draining }

package explore

import "fmt"

var askNames = [...]string{"the lease", "the lease, to mend it", "a renewal", "a release", "the release of what it granted"}

var outcomeNames = [...]string{"", "done", "denied", "lost for good", "too few agreed", "repeated meanwhile", "given up"}

// describe says in words what an action was.
func (w *majority) describe(a Action) string {
	id := w.members[a.Node].id
	switch a.Kind {
	case Tick:
		return "time goes on"
	case Restart:
		return fmt.Sprintf("store %d loses its data, and grants nothing for a lease", a.Index+1)
	case Appear:
		return "a request that nobody waits for takes effect: " + w.leases()
	case Answered:
		return id + " gets an answer: " + w.leases()
	case Arrive:
		return id + "'s request takes effect: " + w.leases()
	case Repeat:
		return id + "'s request takes effect, and goes on: " + w.leases()
	default:
		return id + map[Kind]string{
			Wake: " is woken", Begin: " starts", Lose: "'s request or its answer is lost", Mute: "'s request takes effect, and the answer is lost",
			Silence: " has waited for an answer long enough", GiveUp: " waits for a call no more", Try: " asks for the lease",
			Prolong: " renews", Resign: " resigns", Crash: " crashes", CrashHaunt: " crashes, and one of its requests goes on",
		}[a.Kind]
	}
}

// leases says in words who holds what.
func (w *majority) leases() (text string) {
	for i := range w.stores {
		s := &w.stores[i]
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("store %d ", i+1)
		switch {
		case s.until > w.now:
			text += fmt.Sprintf("%s's, token %d, until t=%d", w.holder(s.nonce), s.token, tickOf(s.until))
		case s.withheld > w.now:
			text += fmt.Sprintf("nobody's until t=%d", tickOf(s.withheld))
		default:
			text += "free"
		}
	}
	return text
}

func (w *majority) holder(nonce string) string {
	for i := range w.members {
		if n := &w.members[i]; n.up && n.nonce == nonce {
			return n.id
		}
	}
	return "somebody gone"
}

package explore

import (
	"fmt"
	"time"

	"github.com/recount-io/recount/internal/machine"
)

// describe says in words what an action was.
func (w *world) describe(a Action) string {
	id := w.nodes[a.Node].id
	switch a.Kind {
	case Tick:
		if a.Index > 0 {
			return fmt.Sprintf("time goes on, and the clock of %s stands still", w.nodes[a.Index-1].id)
		}
		return "time goes on"
	case Wake:
		return id + " is woken"
	case Begin:
		return id + " starts"
	case Arrive, Repeat, Appear:
		return w.arrived(a)
	case Answered, Refuse, Lose, Haunt:
		return id + map[Kind]string{
			Answered: " gets an answer", Refuse: " is told that no repetition will help", Lose: "'s request or its answer is lost",
			Haunt: " is told that its request failed, which goes on",
		}[a.Kind]
	case Hear, Miss:
		return id + map[Kind]string{Hear: " hears an announcement", Miss: " misses an announcement"}[a.Kind]
	case Crash, CrashHaunt:
		return id + map[Kind]string{Crash: " crashes", CrashHaunt: " crashes, and its requests go on"}[a.Kind]
	case HandOver:
		return fmt.Sprintf("%s is told to hand over to %s", id, w.nodes[a.Index].id)
	case Echo:
		return id + " hears an announcement that will come once more"
	case Jump:
		return "the store's clock is set " + []string{"forth", "back"}[a.Index]
	case Save:
		return "what the store has now is what it may go back to"
	case Rewind:
		return "the store goes back to what it had"
	case Restart:
		return "the store loses its data, and grants nothing for a lease"
	case Forget:
		return "the store loses its data, and does not notice"
	default:
		return id + map[Kind]string{
			Finish: "'s work ends", End: "'s work ends by itself", Resign: " is told to resign", Stop: " is told to stop",
			Fence: "'s token is refused by the protected resource",
		}[a.Kind]
	}
}

func (w *world) arrived(a Action) string {
	s := &w.store
	lease := "the lease is free"
	if s.held(w.now) {
		lease = fmt.Sprintf("the lease is %s's, token %d, until t=%d", s.holder, s.token, tickOf(s.until))
	}
	switch a.Kind {
	case Appear:
		return "a request that nobody waits for takes effect: " + lease
	case Repeat:
		return w.nodes[a.Node].id + "'s request takes effect, and goes on: " + lease
	default:
		return w.nodes[a.Node].id + "'s request takes effect: " + lease
	}
}

func tickOf(t time.Duration) int { return int((t - epoch) / machine.Tick) }

var callNames = [...]string{"nothing", "the lease", "a renewal", "a release", "its bid back"}

// tell notes what a machine has said.
func (w *world) tell(n *node, out *machine.Output) {
	say := func(format string, args ...any) {
		w.events = append(w.events, event(n.id+" "+fmt.Sprintf(format, args...)))
	}
	for i := range out.Transitions {
		switch t := &out.Transitions[i]; t.Kind {
		case machine.Elected:
			say("is elected with token %d and believes until t=%d", t.Token, tickOf(t.Until))
		case machine.Extended:
			say("believes until t=%d", tickOf(t.Until))
		case machine.Deposed:
			say("believes no more: %v", t.Why)
		case machine.RoleChanged:
			if t.Role == machine.Draining {
				say("waits for its work to end")
			}
		case machine.Trouble:
			say("reports: %v", t.Err)
		}
	}
	for i := range out.Requests {
		say("asks for %s", callNames[out.Requests[i].Call])
	}
}

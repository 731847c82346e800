package machine

import (
	"fmt"
	"slices"
	"strings"
)

// step takes an input and prints what comes out: the time, what the machine is
// then and when it wants to be woken; and below it the transitions and the
// requests, in the order in which the shell has to apply them.
func (s *script) step(in Input) {
	s.rig.step(in)
	m, out := s.rig.m, s.rig.out
	s.print(m.now-epoch, " ", m.Role())
	switch {
	case out.Done:
		s.print(", done")
	case out.Wake == Never:
		s.print(", waits")
	default:
		s.print(", wake at ", out.Wake-epoch)
	}
	if m.Err() != nil {
		s.print(", failed with ", errorText(m.Err()))
	}
	s.print("\n")
	for _, t := range out.Transitions {
		if t.At != m.now {
			s.Fatalf("a transition at %v is stamped %v", m.now-epoch, t.At-epoch)
		}
		s.print("  ", transitionText(t), "\n")
	}
	for _, q := range out.Requests {
		s.print("  send ", q.Number, " ", s.requestText(q), "\n")
	}
}

func (s *script) print(parts ...any) {
	for _, part := range parts {
		fmt.Fprint(&s.text, part)
	}
}

func transitionText(t Transition) string {
	var b strings.Builder
	switch t.Kind {
	case RoleChanged:
		fmt.Fprintf(&b, "role %v", t.Role)
		if t.Why != 0 {
			fmt.Fprintf(&b, " why=%v", t.Why)
		}
	case Elected:
		fmt.Fprintf(&b, "elected token=%d until=%v", t.Token, t.Until-epoch)
	case Extended:
		fmt.Fprintf(&b, "extended token=%d until=%v", t.Token, t.Until-epoch)
		if t.Late != 0 {
			fmt.Fprintf(&b, " late=%v", t.Late)
		}
	case Deposed:
		fmt.Fprintf(&b, "deposed token=%d until=%v why=%v", t.Token, t.Until-epoch, t.Why)
	case LeaderSeen:
		fmt.Fprintf(&b, "leader-seen %s token=%d remaining=%v", t.Holder, t.Token, t.Remaining)
	case Trouble:
		fmt.Fprintf(&b, "trouble %s", callText(t.Call))
	case Released:
		fmt.Fprintf(&b, "released token=%d", t.Token)
	case Unreachable:
		b.WriteString("unreachable")
	case Reachable:
		b.WriteString("reachable")
	case Shown:
		fmt.Fprintf(&b, "shown token=%d version=%d", t.Token, t.Version)
	default:
		fmt.Fprintf(&b, "unknown transition %d", t.Kind)
	}
	if t.Err != nil {
		fmt.Fprintf(&b, " err=%s", errorText(t.Err))
	}
	return b.String()
}

func (s *script) requestText(q Request) string {
	text := fmt.Sprintf("%s nonce=%s", callText(q.Call), s.letter(q.Nonce))
	if q.Call == Acquire {
		text += fmt.Sprintf(" floor=%d", q.Floor)
	} else {
		text += fmt.Sprintf(" token=%d", q.Token)
	}
	if q.Call != Release {
		text += fmt.Sprintf(" ttl=%v", q.TTL)
	}
	if q.To != "" {
		text += fmt.Sprintf(" to=%s reserve=%v", q.To, q.Reserve)
	}
	if q.Version != 0 && !q.Shown {
		text += fmt.Sprintf(" value=%s version=%d", q.Value, q.Version)
	}
	return text + fmt.Sprintf(" timeout=%v", q.Timeout)
}

// letter stands for a nonce, whose digits say nothing to a reader.
func (s *script) letter(nonce string) string {
	i := slices.Index(s.nonces, nonce)
	if i < 0 {
		i = len(s.nonces)
		s.nonces = append(s.nonces, nonce)
	}
	return string(rune('a' + i))
}

func callText(c Call) string {
	return [...]string{None: "none", Acquire: "acquire", Renew: "renew", Release: "release"}[c]
}

// errorText names the machine's own errors by their variables: their texts are
// for people, and may be put better one day.
func errorText(err error) string {
	for _, own := range []struct {
		err  error
		name string
	}{
		{ErrTimeout, "ErrTimeout"}, {ErrTooMany, "ErrTooMany"}, {ErrTokenSeen, "ErrTokenSeen"}, {ErrTooLate, "ErrTooLate"},
		{ErrStray, "ErrStray"}, {ErrNotReleased, "ErrNotReleased"}, {ErrDrainCapped, "ErrDrainCapped"}, {ErrCallbackHangs, "ErrCallbackHangs"},
	} {
		if err == own.err {
			return own.name
		}
	}
	return "(" + err.Error() + ")"
}

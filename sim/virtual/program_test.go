package virtual

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
)

// scripted is a program that does something each second by its own clock, and notes what
// comes.
type scripted struct {
	now  time.Duration
	does []Did // one a second
	came []string
	dead bool
}

// Live implements Program.
func (s *scripted) Live(until time.Duration, came []Came) (Lived, error) {
	for _, c := range came {
		s.came = append(s.came, strings.TrimSpace(fmt.Sprintf("%s %d %q", c.What, c.Conn, c.Data)))
	}
	next := s.now.Truncate(time.Second) + time.Second
	if len(s.does) == 0 || until < next {
		s.now = max(s.now, until)
		return Lived{Now: s.now}, nil
	}
	s.now = next
	did := s.does[0]
	s.does = s.does[1:]
	return Lived{Now: s.now, Did: []Did{did}}, nil
}

// Kill implements Program.
func (s *scripted) Kill() { s.dead = true }

func wiredCommand(args ...string) []byte {
	text := fmt.Sprintf("*%d\r\n", len(args))
	for _, arg := range args {
		text += fmt.Sprintf("$%d\r\n%s\r\n", len(arg), arg)
	}
	return []byte(text)
}

// play lets one scripted program live.
func play(t *testing.T, does ...Did) (rig, *scripted) {
	t.Helper()
	s := &scripted{does: does}
	r := launch(t, quick(1), Subject{Program: func(Seat) (Program, error) { return s, nil }})
	return r, s
}

// live lets the world go on to the time at, programs included.
func (r rig) live(at time.Duration) {
	r.until = at
	for r.accompany(); r.next(at); r.accompany() {
		continue
	}
	r.until = forever
}

// What a program sends is carried out by the store, what it asked of its lock is read
// along, and what others send reaches it.
func TestProgram(t *testing.T) {
	r, s := play(
		t, Did{What: Dials, Conn: 1}, Did{What: Sends, Conn: 1, Data: wiredCommand("SET", programElection, "me", "NX", "PX", "5000")},
		Did{What: Tells, Event: history.Event{Kind: history.Elected, Token: 1, Until: history.At(7 * time.Second)}},
		Did{What: Dials, Conn: 2}, Did{What: Sends, Conn: 2, Data: wiredCommand("SUBSCRIBE", "news")},
		Did{What: Sends, Conn: 1, Data: wiredCommand("PUBLISH", "news", "old")}, Did{What: Writes, Token: 1, Value: "v"},
		Did{What: Sends, Conn: 1, Data: append(wiredCommand("NONSENSE"), wiredCommand("NONSENSE")...)}, Did{What: Ends},
	)
	r.live(20 * time.Second)
	want := []string{
		`opened 1 ""`, `received 1 "+OK\r\n"`, `opened 2 ""`, `received 2 "*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n"`,
		`received 2 "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$3\r\nold\r\n"`, `received 1 ":1\r\n"`, `written 0 ""`,
		`received 1 "-ERR unknown command 'NONSENSE', with args beginning with: \r\n"`, `received 1 "-ERR unknown command 'NONSENSE', with args beginning with: \r\n"`,
	}
	got := slices.Clone(s.came)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("it got %q", s.came)
	}
	if r.did("n1", history.Ok, history.Acquire) != 1 || r.did("n1", history.Ok, history.Write) != 1 || r.did("n1", history.Elected, "") != 1 || r.did("n1", history.Exit, "") != 1 || !s.dead {
		t.Errorf("recorded: %+v", r.events)
	}
	if r.did("", history.Note, "") != 1 {
		t.Error("the command that the model does not know is not noted, or twice")
	}
}

// A program's clock runs at the rate of its candidate's, and so do its deadlines; while
// the machine is suspended, it stands still.
func TestProgramsClock(t *testing.T) {
	r, s := play(t, Did{What: Tells, Event: history.Event{Kind: history.Elected, Token: 1, Until: history.At(4 * time.Second)}}, Did{What: Sends, Conn: 1})
	s.does = s.does[:1]
	r.must(r.SetClockRate(t.Context(), "n1", 0.5))
	r.live(3 * time.Second)
	i := slices.IndexFunc(r.events, func(e history.Event) bool { return e.Kind == history.Elected })
	if i < 0 || r.events[i].At != 2*time.Second || *r.events[i].Until != 8*time.Second {
		t.Fatalf("recorded: %+v", r.events)
	}
	r.must(r.Suspend(t.Context(), "n1"))
	before := s.now
	r.live(5 * time.Second)
	if s.now > before+time.Second/windows*3 {
		t.Errorf("its clock went on from %v to %v", before, s.now)
	}
	r.must(r.Awaken(t.Context(), "n1"))
	r.live(7 * time.Second)
	if last := r.events[len(r.events)-1]; last.Kind != history.Extended || *last.Until != 10*time.Second || !slices.Contains(s.came, `halted 0 ""`) || s.came[len(s.came)-1] != `goes on 0 ""` {
		t.Errorf("after the suspension: %+v, %q", last, s.came)
	}
}

// What was sent before a crash takes effect; what a cut has swallowed does not, and ends
// the connection when it is mended; a store that stands still answers when it goes on.
func TestProgramsConnections(t *testing.T) {
	ask := func(conn int, key string) Did { return Did{What: Sends, Conn: conn, Data: wiredCommand("INCR", key)} }
	r, s := play(t, Did{What: Dials, Conn: 1}, ask(1, "cut"), Did{What: Dials, Conn: 2}, ask(2, "frozen"), ask(2, "sent"), Did{What: Dials, Conn: 3})
	r.live(1500 * ms)
	r.must(r.Cut(t.Context(), "n1", faults.CutBoth))
	r.live(2500 * ms)
	r.must("", r.Mend(t.Context(), "n1"))
	r.live(3500 * ms)
	r.must(r.StopStore(t.Context(), whole))
	r.live(4500 * ms)
	r.must("", r.ContinueStore(t.Context(), whole))
	r.live(5*time.Second + 5*ms)
	r.must(r.Kill(t.Context(), "n1"))
	r.live(6 * time.Second)
	if want := []string{`opened 1 ""`, `broken 1 ""`, `opened 2 ""`, `received 2 ":1\r\n"`}; !slices.Equal(s.came, want) {
		t.Errorf("it got %q", s.came)
	}
	for key, want := range map[string]string{"cut": "", "frozen": "1", "sent": "1"} {
		if got := r.store.do("GET", key).Text; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if !s.dead {
		t.Error("it was not killed")
	}
}

package live

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
)

// blackBox is a candidate that prints nothing: n1 takes a lock and keeps it, in
// a shell with redis-cli; the others only ask for it. What n1 says besides is
// given.
const blackBox = `
	url=${RECOUNT_REDIS_URL%%/0}; port=${url##*:}; key="$RECOUNT_ELECTION:lock"
	{
		[ "$RECOUNT_NODE" = n1 ] || sleep 0.2
		echo "SETEX $RECOUNT_ELECTION:heartbeat 5 x"
		echo "SET $key $RECOUNT_NODE NX PX 60000"
		SAYS
		echo "GET $key"
		sleep 60
	} | redis-cli -p "$port" >&2`

// tapped runs the black box and returns its history.
func tapped(t *testing.T, says string, change func(*Options)) *history.History {
	t.Helper()
	for _, tool := range []string{"redis-cli", "redis-server"} { // the former does not get on with the embedded one
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("no " + tool + " is on PATH")
		}
	}
	o := Options{Redis: "process", Command: []string{"sh", "-c", strings.ReplaceAll(blackBox, "SAYS", says)}}
	if change != nil {
		change(&o)
	}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	p := plan(2)
	p.Quiet = 6 * p.Timings.Lease // until the other one has asked
	h, err := s.Run(t.Context(), p, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// stories are the events of the history that are about the lock.
func stories(h *history.History) (operations, beliefs, notes string) {
	var ops, all, texts []string
	for _, e := range h.Events {
		switch {
		case e.Kind == history.Note && e.Usage == nil && e.Text != history.EndOfRunNote:
			texts = append(texts, e.Text)
		case e.Kind == history.Elected || e.Kind == history.Deposed || e.Kind == history.Extended:
			all = append(all, fmt.Sprint(e.Node, " ", e.Kind, " ", e.Evidence))
		case e.Call.OnLease() && e.Kind != history.Invoke:
			ops = append(ops, strings.TrimSpace(fmt.Sprint(e.Node, " ", e.Call, " ", e.Kind, " ", e.Holder)))
		}
	}
	slices.Sort(ops)
	return strings.Join(ops, "; "), strings.Join(all, "; "), strings.Join(texts, "; ")
}

// A program that prints nothing is judged by what it asks of its lock.
func TestBlackBoxIsRead(t *testing.T) {
	h := tapped(t, ":", nil)
	operations, beliefs, notes := stories(h)
	if want := "n1 acquire ok; n1 observe ok n1; n2 acquire fail; n2 observe ok n1"; operations != want {
		t.Errorf("operations: %s, want %s", operations, want)
	}
	if beliefs != "n1 elected wire" {
		t.Errorf("beliefs: %s", beliefs)
	}
	if !strings.Contains(notes, `:lock" `) && !strings.Contains(notes, ":lock") || !strings.Contains(notes, "do not tell when they believe") {
		t.Errorf("notes: %s", notes)
	}
	for _, f := range checker.Check(h, checker.Options{}).Asked {
		want := map[checker.Promise]checker.Verdict{checker.WellFormed: checker.Pass, checker.LeaseLinearizable: checker.Pass, checker.AtMostOneLeader: checker.Unknown}
		if v, asked := want[f.Promise]; asked && f.Verdict != v {
			t.Errorf("%s: %v: %s", f.Promise, f.Verdict, f.Reason)
		}
	}
}

// What a program says itself counts, and is not counted twice.
func TestWhatTheProgramSaysCounts(t *testing.T) {
	says := `echo '{"event":"invoke","op":1,"call":"observe"}' >&3; echo '{"event":"ok","op":1,"call":"observe"}' >&3; [ "$RECOUNT_NODE" = n2 ] || echo '{"event":"elected"}' >&3`
	h := tapped(t, says, func(o *Options) { o.Command[2] = "exec 3>&1\n" + o.Command[2] })
	operations, beliefs, notes := stories(h)
	if operations != "n1 observe ok; n2 observe ok" || beliefs != "n1 elected" && beliefs != "n1 elected " || !strings.Contains(notes, "left out") {
		t.Errorf("operations: %s; beliefs: %s; notes: %s", operations, beliefs, notes)
	}
}

// The lock can be named, and a name that no key has is reported.
func TestLockIsNamed(t *testing.T) {
	operations, _, _ := stories(tapped(t, ":", func(o *Options) { o.LockKey = ":heartbeat" }))
	if want := "n1 acquire ok; n2 acquire ok"; operations != want {
		t.Errorf("operations: %s, want %s", operations, want)
	}
	operations, _, notes := stories(tapped(t, ":", func(o *Options) { o.LockKey = "*none*" }))
	if operations != "" || !strings.Contains(notes, "no lock was found") {
		t.Errorf("operations: %s; notes: %s", operations, notes)
	}
}

// queueing is a candidate whose lock is a sorted set, which nobody understands.
const queueing = `
	exec 3>&1
	url=${RECOUNT_REDIS_URL%%/0}; port=${url##*:}
	{
		SAYS
		echo "ZADD $RECOUNT_ELECTION:queue NX 1 $RECOUNT_NODE"
		sleep 60
	} | redis-cli -p "$port" >&2`

// A run of which nothing can be understood ends early, and says what to do; not
// so if the candidates tell themselves when they lead.
func TestRunOfWhichNothingIsUnderstood(t *testing.T) {
	for says, early := range map[string]bool{":": true, `[ "$RECOUNT_NODE" = n2 ] || echo '{"event":"elected"}' >&3`: false} {
		t.Run(fmt.Sprint("early ", early), func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var advice []string
			h := tapped(t, says, func(o *Options) {
				o.Command[2] = strings.ReplaceAll(queueing, "SAYS", says)
				o.Progress = func(p Progress) {
					mu.Lock()
					defer mu.Unlock()
					if p.Advice != "" {
						advice = append(advice, p.Advice)
					}
				}
			})
			healed, noted := false, false
			var read *history.Wire
			for _, e := range h.Events {
				healed = healed || e.Kind == history.Healed
				noted = noted || strings.Contains(e.Text, "the run ends early")
				if e.Wire != nil {
					read = e.Wire
				}
			}
			if healed == early || noted != early {
				t.Errorf("healed %v, noted %v, to end early %v", healed, noted, early)
			}
			if read == nil || read.Lock != "" || read.Operations != 2 || read.Understood != 0 {
				t.Errorf("read off the wire: %+v", read)
			}
			if len(advice) != 1 || !strings.Contains(advice[0], "--lock-key") || !strings.Contains(advice[0], "2 × ZADD") || strings.Contains(advice[0], "\n") {
				t.Errorf("advice: %q", advice)
			}
		})
	}
}

// A user who named the lock is not asked to name it. A user who did not is asked only
// where no lock was found, or another one may be it.
func TestWhatToDo(t *testing.T) {
	for _, x := range []struct {
		lock  string
		named bool
		begin string
	}{
		{"", false, "Name the key with --lock-key, or let "},
		{"", true, "Name another key with --lock-key, or let "},
		{"e1:lock", false, "If another key is the lock, name it with --lock-key; or let "},
		{"e1:lock", true, "Let the candidates print "},
	} {
		if got := whatToDo(x.lock, x.named); !strings.HasPrefix(got, x.begin) {
			t.Errorf("lock %q, named %v: %s", x.lock, x.named, got)
		}
	}
}

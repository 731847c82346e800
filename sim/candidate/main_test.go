package candidate

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/protocol"
)

func TestMain(m *testing.M) {
	Main(map[string]Subject{
		"idle": func(ctx context.Context, h *Host) error {
			h.Elected(h.Clock.Now(), 7, sim.Forever)
			<-ctx.Done()
			return nil
		},
		"broken": func(context.Context, *Host) error { return errors.New("no way to lead") },
	})
	os.Exit(m.Run())
}

// child is this program as a candidate.
type child struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr strings.Builder
}

func start(t *testing.T, subject string, changes map[string]string) *child {
	t.Helper()
	environ(t, changes)
	t.Setenv(protocol.EnvSubject, subject)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: exec.CommandContext(t.Context(), self)}
	c.cmd.Stderr = &c.stderr
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.stdout = bufio.NewReader(stdout)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// line is the next line of the candidate, parsed. A busy machine may hold it
// up at any time; that it says so is no answer, nor what it consumes.
func (c *child) line(t *testing.T) protocol.Line {
	t.Helper()
	for {
		if l := c.next(t); l.Name != protocol.EventStall && l.Name != protocol.EventUsage {
			return l
		}
	}
}

// next is the candidate's next line, whatever it is.
func (c *child) next(t *testing.T) protocol.Line {
	t.Helper()
	text, err := c.stdout.ReadBytes('\n')
	if err != nil {
		t.Fatalf("the candidate says nothing: %v; its errors: %s", err, c.stderr.String())
	}
	l, ok := protocol.Parse(text)
	if !ok {
		t.Errorf("%q is no line of the protocol", text)
	}
	return l
}

func (c *child) say(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(c.stdin, text+"\n"); err != nil {
		t.Fatal(err)
	}
}

// status waits for the candidate's end.
func (c *child) status() int {
	_, _ = io.Copy(io.Discard, c.stdout) // to its end, which comes with that of the process
	_ = c.cmd.Wait()                     // the status says it
	return c.cmd.ProcessState.ExitCode()
}

// A candidate says that it is ready, begins when it is asked to, obeys, and
// resigns when asked to go.
func TestMainCompetes(t *testing.T) {
	c := start(t, "idle", map[string]string{protocol.EnvClockRate: "1", protocol.EnvEpoch: "5"})
	if l := c.line(t); l.Name != protocol.EventReady {
		t.Errorf("it begins with %+v", l)
	}
	c.say(t, `{"command":"clock","rate":0.5,"offset_ms":7}`)
	if l := c.line(t); l.Name != protocol.EventClock || l.Rate != 0.5 || l.OffsetMS != 7 {
		t.Errorf("its clocks: %+v", l)
	}
	c.say(t, `{"command":"go"}`)
	if l := c.line(t); l.Name != "elected" || l.Token != 7 || l.Node != "n1" || l.Until != nil || *l.At <= 0 || *l.At > protocol.Monotonic()-5 {
		t.Errorf("it says %+v", l)
	}
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := c.status(); status != 0 {
		t.Errorf("it ends with %d: %s", status, c.stderr.String())
	}
}

// A candidate without a harness ends at once, whether it competes or waits:
// nobody would record what it does.
func TestMainEndsWithTheHarness(t *testing.T) {
	for _, competes := range []bool{false, true} {
		c := start(t, "idle", nil)
		c.line(t)
		if competes {
			c.say(t, `{"command":"go"}`)
			c.line(t)
		}
		if err := c.stdin.Close(); err != nil {
			t.Fatal(err)
		}
		if status := c.status(); status != 3 {
			t.Errorf("competing %v, it ends with %d", competes, status)
		}
	}
}

// One that is asked to go before it was asked to begin, goes.
func TestMainGoesBeforeItBegins(t *testing.T) {
	c := start(t, "idle", nil)
	c.line(t)
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := c.status(); status != 0 {
		t.Errorf("it ends with %d", status)
	}
}

// What makes a candidate useless is its last word, and its status tells
// whether the command or the candidate is wrong.
func TestMainFails(t *testing.T) {
	for name, test := range map[string]struct {
		subject string
		changes map[string]string
		status  int
		says    string
	}{
		"unknown subject": {"nobody", nil, 64, `this program has no subject "nobody"`},
		"no node":         {"idle", map[string]string{protocol.EnvNode: ""}, 70, "must be set: start it through the harness"},
		"broken":          {"broken", nil, 70, "no way to lead"},
	} {
		c := start(t, test.subject, test.changes)
		if name == "broken" {
			c.line(t)
			c.say(t, `{"command":"go"}`)
		}
		if status := c.status(); status != test.status || !strings.Contains(c.stderr.String(), test.says) {
			t.Errorf("%s: status %d, %s", name, status, c.stderr.String())
		}
	}
}

package virtual

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/sim"
)

// What a process has sent before its end arrives; nothing more is sent for it:
// neither the request that waited for a new connection nor the text of a script
// that the server did not know.
func TestDeadSendNothing(t *testing.T) {
	for _, test := range []struct {
		killed   time.Duration // messages take 10 ms: greeting, welcome, request, NOSCRIPT, text
		acquired int
	}{{5 * ms, 0}, {15 * ms, 0}, {25 * ms, 0}, {35 * ms, 0}, {45 * ms, 1}, {55 * ms, 1}} {
		r := launch(t, quick(1), Subject{})
		r.to(test.killed)
		r.must(r.Kill(t.Context(), "n1"))
		r.to(time.Second)
		if got := r.did("", history.Audit, history.Acquire); got != test.acquired {
			t.Errorf("killed after %v: the store has carried out %d requests, want %d", test.killed, got, test.acquired)
		}
	}
}

// An answer that has reached a paused process's machine is there when it goes
// on, whatever became of the connection meanwhile.
func TestAnswerOutlivesItsConnection(t *testing.T) {
	plan := quick(1)
	r := launch(t, plan, Subject{})
	r.to(2005 * ms) // the second renewal, of a script that is known, is on its way
	r.must(r.Stop(t.Context(), "n1"))
	r.to(2100 * ms)
	r.must(r.Cut(t.Context(), "n1", faults.CutRefused))
	r.to(2200 * ms)
	r.must("", r.Continue(t.Context(), "n1"))
	r.to(2210 * ms)
	if r.did("n1", history.Ok, history.Renew) != 2 {
		t.Errorf("the answer is gone: %+v", r.events[len(r.events)-3:])
	}
	if n := r.nodes[0].client().idle; n != 0 {
		t.Errorf("%d connections are open", n)
	}
}

// A request whose time is over before its connection stands is not sent.
func TestRequestTooLateIsNotSent(t *testing.T) {
	r := launch(t, quick(1), Subject{})
	r.to(1500 * ms)
	r.nodes[0].closeConnections()
	r.to(2015 * ms) // the welcome of a renewal's connection is on its way
	r.must(r.Stop(t.Context(), "n1"))
	before := len(r.events)
	r.to(4 * time.Second)
	r.must("", r.Continue(t.Context(), "n1"))
	r.to(5 * time.Second)
	renewed := 0
	for _, e := range r.events[before:] {
		if e.Kind == history.Audit && e.Call == history.Renew {
			renewed++
		}
	}
	if renewed != 0 || r.did("n1", history.Invoke, history.Renew) != 2 {
		t.Errorf("a renewal of 2 s, with an end at 3 s, was sent at 4 s: %+v", r.events[before:])
	}
}

// asked is somebody who asks for INCRBY of a key of its own by a number of its
// own: an answer that is another number is another's, or the second one.
type asked struct {
	t       interface{ Fatalf(string, ...any) }
	run     *run
	number  int64
	by      time.Duration // answered by then, unless the process stood still
	dead    bool
	answers int
	done    bool
}

func (a *asked) called(k *call) {
	a.answers++
	in := &k.outcome.input
	switch {
	case a.dead:
		a.t.Fatalf("%d: answered after its end", a.number)
	case a.answers > 1:
		a.t.Fatalf("%d: answered twice", a.number)
	case a.run.now > a.by:
		a.t.Fatalf("%d: answered at %v, which is after %v", a.number, a.run.now, a.by)
	case in.Result == machine.Done && k.outcome.value != a.number:
		a.t.Fatalf("%d: was answered %v", a.number, k.outcome.value)
	case in.Result != machine.Done && in.Err == nil:
		a.t.Fatalf("%d: %+v", a.number, in)
	}
	a.done = in.Result == machine.Done
}

// chaos does something to a run of two candidates.
type chaos struct {
	*rapid.T
	rig
	asked []*asked
}

func (c *chaos) step(ctx context.Context) {
	i := rapid.IntRange(0, 1).Draw(c.T, "node")
	n := c.nodes[i]
	var err error
	switch rapid.SampledFrom([]string{
		"ask", "ask", "ask", "ask", "ask", "cut", "mend", "stop", "continue", "kill", "launch",
		"stop store", "continue store", "crash store", "launch store", "slow",
	}).Draw(c.T, "what") {
	case "ask":
		if n.process == nil || n.paused {
			return
		}
		timeout := time.Duration(rapid.IntRange(1, 80).Draw(c.T, "timeout")) * ms
		a := &asked{t: c.T, run: c.run, number: int64(len(c.asked) + 1), by: c.now + timeout}
		c.asked = append(c.asked, a)
		n.client().ask(a, command{args: []string{"INCRBY", a.key(), strconv.FormatInt(a.number, 10)}, quiet: true}, timeout)
	case "cut":
		_, err = c.Cut(ctx, n.name, rapid.SampledFrom(faults.Cuts).Draw(c.T, "how"))
	case "mend":
		err = c.Mend(ctx, n.name)
	case "slow":
		_, err = c.Delay(ctx, n.name, 30*ms, 30*ms)
	case "stop":
		_, err = c.Stop(ctx, n.name)
	case "continue":
		c.excuse(n)
		err = c.Continue(ctx, n.name)
	case "kill":
		for _, a := range c.asked {
			a.dead = a.dead || a.owner(n)
		}
		_, err = c.Kill(ctx, n.name)
	case "launch":
		err = c.Launch(ctx, n.name)
	case "stop store":
		if !c.store.down {
			_, err = c.StopStore(ctx, whole)
		}
	case "continue store":
		err = c.ContinueStore(ctx, whole)
	case "crash store":
		_, err = c.CrashStore(ctx, whole)
	case "launch store":
		_, err = c.LaunchStore(ctx, whole, true)
	}
	if err != nil && !errors.Is(err, faults.ErrNoEffect) {
		c.Fatal(err)
	}
}

func (a *asked) key() string { return "k" + strconv.FormatInt(a.number, 10) }

// owner reports whether n's process waits for the answer.
func (a *asked) owner(n *node) bool {
	return n.process != nil && slices.ContainsFunc(n.client().open, func(k *call) bool { return k.owner == a })
}

// excuse gives those of a process that stood still until now.
func (c *chaos) excuse(n *node) {
	for _, a := range c.asked {
		if a.owner(n) {
			a.by = max(a.by, c.now)
		}
	}
}

// Whatever happens to connections, processes and the store: a process that asks gets
// once, in time, the answer to its own question or none; nobody gets the answer to what
// another process has asked; and a command is carried out once at the most, and
// once if it was answered.
func TestCallsGetTheirOwnAnswers(t *testing.T) {
	idle := Subject{Blocking: func(h sim.Host) error {
		for !h.Stopping() {
			h.Sleep(time.Hour)
		}
		return nil
	}}
	rapid.Check(t, func(rt *rapid.T) {
		plan := quick(2)
		plan.Network.Jitter = 20 * ms
		c := &chaos{T: rt, rig: rig{t, &stage{run: (&World{}).newRun(plan, idle, how{})}}}
		defer c.end()
		for _, n := range c.nodes {
			n.launch(0)
		}
		for range rapid.IntRange(1, 80).Draw(rt, "steps") {
			c.step(t.Context())
			c.to(c.now + time.Duration(rapid.IntRange(0, 30).Draw(rt, "ms"))*ms)
		}
		for _, n := range c.nodes {
			c.excuse(n)
			if n.paused {
				n.resume()
			}
			_ = c.Mend(t.Context(), n.name)
		}
		_, _ = c.LaunchStore(t.Context(), whole, true)
		_ = c.ContinueStore(t.Context(), whole)
		c.to(c.now + 10*time.Second)
		for _, a := range c.asked {
			if a.answers != 1 && !a.dead {
				rt.Fatalf("%d was never answered", a.number)
			}
			switch got := c.store.model.Do(c.store.now(), "GET", a.key()).Text; {
			case got != "" && got != strconv.FormatInt(a.number, 10), got == "" && a.done:
				rt.Fatalf("%d: the store has %q, answered: %t", a.number, got, a.done)
			}
		}
		for _, n := range c.nodes {
			if n.process != nil && len(n.client().open) > 0 {
				rt.Fatalf("%d calls of %s are open", len(n.client().open), n.name)
			}
		}
	})
}

// A request that was sent takes effect, though its candidate has given up
// waiting for it; one that was swallowed on its way does not.
func TestOrphansTakeEffect(t *testing.T) {
	for _, test := range []struct {
		cut  faults.Cut
		want string
	}{{"", "OK"}, {faults.CutReplies, "OK"}, {faults.CutRequests, ""}} {
		plan := quick(1)
		plan.Network.Latency = 50 * ms
		r := launch(t, plan, Subject{Blocking: func(h sim.Host) error {
			_, _ = h.Do(time.Second, "PING")
			_, err := h.Do(30*ms, "SET", "a", "OK")
			if err == nil {
				t.Error("there is an answer before the request has arrived")
			}
			return nil
		}})
		r.to(210 * ms)
		if test.cut != "" {
			r.must(r.Cut(t.Context(), "n1", test.cut))
		}
		r.to(time.Second)
		if got := r.store.model.Do(r.store.now(), "GET", "a").Text; got != test.want {
			t.Errorf("%q: the store has %q, want %q", test.cut, got, test.want)
		}
	}
}

// A candidate learns of its connection's end once, when the first news of it
// arrives, whatever happens to the connection after its end.
func TestBreaksAreLearntOnce(t *testing.T) {
	r := launch(t, quick(1), Subject{})
	r.to(1500 * ms)
	c := r.nodes[0].client()
	if c.idle == 0 {
		t.Fatal("there is no connection to break")
	}
	a := &asked{t: t, run: r.run, by: 1510 * ms}
	c.ask(a, command{args: []string{"INCR", "a"}, quiet: true}, time.Second)
	for range 3 {
		r.nodes[0].closeConnections()
		r.to(r.now + 5*ms)
	}
	if a.answers != 1 || c.idle != 0 {
		t.Errorf("answered %d times, %d connections are open", a.answers, c.idle)
	}
}

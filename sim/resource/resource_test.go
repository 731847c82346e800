package resource_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/protocol"
	"github.com/recount-io/recount/sim/resource"
)

// No test may leave a goroutine of a resource behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a resource and what it records, on a clock that ticks at each look.
type rig struct {
	*resource.Resource
	t        *testing.T
	recorder *history.Recorder
	client   *http.Client
}

func start(t *testing.T) *rig {
	t.Helper()
	var clock atomic.Int64
	recorder := history.NewRecorder(func() time.Duration {
		for range 20 {
			runtime.Gosched() // another request that could come between a decision and its record may
		}
		return time.Duration(clock.Add(1))
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := resource.Serve(listener, recorder)
	g := &rig{Resource: r, t: t, recorder: recorder, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	t.Cleanup(func() {
		g.client.CloseIdleConnections()
		if err := r.Close(); err != nil && !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("close: %v", err)
		}
	})
	return g
}

// post sends a body and returns the answer's status and text.
func (g *rig) post(body string) (int, string, error) {
	reply, err := g.client.Post(g.URL()+"/write", "application/json", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	return reply.StatusCode, string(text), err
}

// write writes as a node and returns "yes", or the fence that refused.
func (g *rig) write(node, election string, token uint64, value string) string {
	g.t.Helper()
	body, err := json.Marshal(protocol.WriteRequest{Node: node, Election: election, Token: token, Value: value})
	if err != nil {
		g.t.Fatal(err)
	}
	status, text, err := g.post(string(body))
	if err != nil {
		g.t.Fatal(err)
	}
	var reply protocol.WriteReply
	if err := json.Unmarshal([]byte(text), &reply); err != nil {
		g.t.Fatalf("%q: %v", text, err)
	}
	switch {
	case status == http.StatusOK && reply.Accepted && reply.Fence == 0:
		return "yes"
	case status == http.StatusConflict && !reply.Accepted:
		return fmt.Sprint("fence ", reply.Fence)
	default:
		g.t.Fatalf("status %d with %q", status, text)
		return ""
	}
}

func (g *rig) read(query string) string {
	g.t.Helper()
	reply, err := g.client.Get(g.URL() + "/read?" + query)
	if err != nil {
		g.t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// recorded is the history in short, one event an entry.
func (g *rig) recorded() []string {
	var events []string
	for _, e := range g.recorder.History(history.Header{}).Events {
		events = append(events, fmt.Sprintf("%d %s %s %s t%d f%d %s", e.Op, e.Kind, e.Call, e.Node, e.Token, e.Fence, e.Value))
	}
	return events
}

// Tokens may grow and repeat; smaller ones are refused with the fence. Writes
// without a token pass and do not move the fence. Elections do not meet.
func TestWrites(t *testing.T) {
	g := start(t)
	for i, step := range []struct {
		election string
		token    uint64
		want     string
	}{
		{"a", 3, "yes"}, {"a", 3, "yes"}, {"a", 7, "yes"}, {"a", 3, "fence 7"}, {"a", 6, "fence 7"}, {"a", 7, "yes"},
		{"b", 1, "yes"}, {"", 2, "yes"}, // other elections
		{"a", 0, "yes"}, {"a", 6, "fence 7"}, // unfenced
		{"a", 1<<64 - 1, "yes"}, {"a", 1<<64 - 2, "fence 18446744073709551615"},
		{"b", 1, "yes"},
	} {
		if got := g.write("n1", step.election, step.token, fmt.Sprint("v", i)); got != step.want {
			t.Errorf("step %d: token %d in %q: %s, want %s", i, step.token, step.election, got, step.want)
		}
	}
}

// A read gives the last write that was accepted in its election; a refused one
// is not seen, one without a token is.
func TestReads(t *testing.T) {
	g := start(t)
	expect := func(want string) {
		t.Helper()
		if got := g.read("node=n1&election=a"); got != want {
			t.Errorf("read %s, want %s", got, want)
		}
	}
	expect(`{"value":"","token":0}`)
	g.write("n1", "a", 5, "five")
	g.write("n1", "b", 9, "other")
	g.write("n2", "a", 4, "late")
	expect(`{"value":"five","token":5}`)
	g.write("n2", "a", 0, "wild")
	expect(`{"value":"wild","token":0}`)
}

// Every write and read is recorded: its arrival, then its decision, with one
// operation's number, the writer as the node, and the fence where it refused.
func TestRecording(t *testing.T) {
	g := start(t)
	g.write("n1", "a", 5, "five")
	g.write("n2", "a", 4, "late")
	g.read("node=n1&election=a")
	g.write("n3", "", 0, "wild")
	want := []string{
		"1 invoke write n1 t5 f0 five", "1 ok write n1 t5 f0 five",
		"2 invoke write n2 t4 f0 late", "2 fail write n2 t4 f5 late",
		"3 invoke read n1 t0 f0 ", "3 ok read n1 t5 f0 five",
		"4 invoke write n3 t0 f0 wild", "4 ok write n3 t0 f0 wild",
	}
	if got := g.recorded(); !slices.Equal(got, want) {
		t.Errorf("recorded\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// What is no write is answered with what a write looks like, and is neither
// recorded nor decided.
func TestBadRequests(t *testing.T) {
	g := start(t)
	for _, body := range []string{
		"", "{", "null", "[]", `{"election":"a","token":7}`, `{"node":"n1","token":-1}`, `{"node":"n1","token":"seven"}`, `{"node":7}`,
		`{"node":"n1","token":7,"value":"` + strings.Repeat("x", 70<<10) + `"}`,
	} {
		status, text, err := g.post(body)
		if err != nil || status != http.StatusBadRequest || !strings.Contains(text, `{"node":"n1","election":"e1","token":7`) {
			t.Errorf("%.40q: %d %q, %v", body, status, text, err)
		}
	}
	for path, want := range map[string]int{"/write": http.StatusMethodNotAllowed, "/": http.StatusNotFound} {
		reply, err := g.client.Get(g.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = reply.Body.Close() // nothing was sent to it
		if reply.StatusCode != want {
			t.Errorf("GET %s: %s", path, reply.Status)
		}
	}
	if got := g.recorded(); len(got) != 0 {
		t.Errorf("recorded %v", got)
	}
}

// result is what a write that was sent in the background came to.
type result struct {
	status int
	text   string
	err    error
}

func (g *rig) send(body string) <-chan result {
	done := make(chan result, 1)
	go func() {
		status, text, err := g.post(body)
		done <- result{status, text, err}
	}()
	return done
}

// A held write is on its way and undecided until it is released; what it then
// comes to depends on what was written meanwhile. Only one write is held, and
// only of that node.
func TestHold(t *testing.T) {
	g := start(t)
	g.write("n1", "a", 3, "before")
	hold := g.Hold("n1")
	g.write("n2", "b", 1, "not of n1")
	select {
	case <-hold.Arrived():
		t.Fatal("a write of another node was held")
	default:
	}
	late := g.send(`{"node":"n1","election":"a","token":3,"value":"late"}`)
	<-hold.Arrived()
	g.write("n1", "a", 3, "not held")
	g.write("n2", "a", 4, "next leader")
	select {
	case r := <-late:
		t.Fatalf("the held write was decided: %+v", r)
	default:
	}
	reply, err := hold.Release(t.Context())
	if err != nil || reply.Accepted || reply.Fence != 4 {
		t.Errorf("released: %+v, %v", reply, err)
	}
	if r := <-late; r.err != nil || r.status != http.StatusConflict || !strings.Contains(r.text, `"fence":4`) {
		t.Errorf("the late write got %+v", r)
	}
	events := g.recorded()
	if n := len(events); events[4] != "3 invoke write n1 t3 f0 late" || events[n-1] != "3 fail write n1 t3 f4 late" {
		t.Errorf("recorded\n%s", strings.Join(events, "\n"))
	}
}

// A held write that nobody overtook is accepted.
func TestHoldAccepted(t *testing.T) {
	g := start(t)
	hold := g.Hold("n1")
	sent := g.send(`{"node":"n1","election":"a","token":3}`)
	<-hold.Arrived()
	if reply, err := hold.Release(t.Context()); err != nil || !reply.Accepted {
		t.Errorf("released: %+v, %v", reply, err)
	}
	if r := <-sent; r.err != nil || r.status != http.StatusOK {
		t.Errorf("the write got %+v", r)
	}
}

// A held write without a token is accepted, and the evidence names the last write before
// it: a write that overtook it did so in vain.
func TestHoldUnfenced(t *testing.T) {
	g := start(t)
	hold := g.Hold("n1")
	sent := g.send(`{"node":"n1","election":"a","value":"late"}`)
	<-hold.Arrived()
	g.write("n2", "a", 0, "next leader")
	g.write("n3", "b", 0, "elsewhere")
	if d, err := hold.Release(t.Context()); err != nil || !d.Accepted || d.Token != 0 || d.After != "n2" {
		t.Errorf("released: %+v, %v", d, err)
	}
	if r := <-sent; r.err != nil || r.status != http.StatusOK {
		t.Errorf("the write got %+v", r)
	}
}

// A hold that is released before anything was written waits no longer than its
// context, and then holds nothing any more.
func TestReleaseOfNothing(t *testing.T) {
	g := start(t)
	hold := g.Hold("n1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := hold.Release(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("released: %v", err)
	}
	if got := g.write("n1", "a", 3, ""); got != "yes" {
		t.Errorf("the next write: %s", got)
	}
	if reply, err := hold.Release(t.Context()); err != nil || !reply.Accepted {
		t.Errorf("released again: %+v, %v", reply, err)
	}
}

// Close decides a write that is still held before it ends the resource: the
// writer gets its answer, and the history has no write without an end.
func TestCloseDecidesHeldWrites(t *testing.T) {
	g := start(t)
	hold, unused := g.Hold("n1"), g.Hold("n2")
	sent := g.send(`{"node":"n1","election":"a","token":3}`)
	<-hold.Arrived()
	if err := g.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if r := <-sent; r.err != nil || r.status != http.StatusOK {
		t.Errorf("the held write got %+v", r)
	}
	if events := g.recorded(); len(events) != 2 || !strings.HasPrefix(events[1], "1 ok write") {
		t.Errorf("recorded %v", events)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := unused.Release(ctx); err == nil {
		t.Error("a hold that never held anything was decided")
	}
	if _, _, err := g.post("{}"); err == nil {
		t.Error("it answers after Close")
	}
}

// With many writers at once the rule holds in the order of recording, which is
// the order of deciding: nothing is accepted below what was accepted before,
// nothing is refused that was not below, and reads see the last write.
func TestConcurrentWriters(t *testing.T) {
	g := start(t)
	const writers, readers, each = 8, 8, 120
	var token atomic.Uint64
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			held := uint64(1)
			for i := range each {
				if i%6 == 0 {
					held = token.Add(1)
				}
				body := fmt.Sprintf(`{"node":"n%d","election":"e%d","token":%d,"value":"n%d/%d"}`, w, w%2, held, w, i)
				if status, text, err := g.post(body); err != nil || status != http.StatusOK && status != http.StatusConflict {
					t.Errorf("%s: %d %s %v", body, status, text, err)
				}
			}
		})
	}
	for r := range readers {
		all.Go(func() {
			for range each {
				g.read(fmt.Sprintf("node=n%d&election=e%d", r, r%2))
			}
		})
	}
	all.Wait()

	type state struct {
		fence uint64
		value string
		token uint64
	}
	states := map[byte]state{}
	count := map[history.Kind]int{}
	for _, e := range g.recorder.History(history.Header{}).Events {
		election := e.Node[len(e.Node)-1] % 2 // each node is in one
		s := states[election]
		switch {
		case e.Kind == history.Invoke:
			continue
		case e.Call == history.Read && (e.Value != s.value || e.Token != s.token):
			t.Errorf("event %d reads %q (token %d), the last write is %q (token %d)", e.Seq, e.Value, e.Token, s.value, s.token)
		case e.Call == history.Write && e.Kind == history.Ok && e.Token < s.fence,
			e.Call == history.Write && e.Kind == history.Fail && (e.Token >= s.fence || e.Fence != s.fence):
			t.Errorf("event %d: %s of token %d, the fence stands at %d, it says %d", e.Seq, e.Kind, e.Token, s.fence, e.Fence)
		case e.Call == history.Write && e.Kind == history.Ok:
			states[election] = state{e.Token, e.Value, e.Token}
		}
		count[e.Kind]++
	}
	if count[history.Ok]+count[history.Fail] != (writers+readers)*each || count[history.Fail] == 0 {
		t.Errorf("recorded %v", count)
	}
}

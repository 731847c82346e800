// Package resource is the protected resource of a run: the thing that only the
// leader may write to. It remembers the highest token that it has accepted,
// refuses smaller ones, and records every write and read in the history, since
// it alone knows what it decided and when.
package resource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/recount-io/recount/elector/fence"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/protocol"
)

// maxBody bounds a request; a write is a few hundred bytes.
const maxBody = 64 << 10

// Resource is a running protected resource.
type Resource struct {
	recorder *history.Recorder
	listener net.Listener // nil if it is not served, as are the next two
	server   *http.Server
	done     chan struct{}

	closing   chan struct{} // closed by Close: nothing is held any longer
	closeOnce sync.Once

	mu     sync.Mutex
	guards map[string]*fence.Guard
	last   map[string]protocol.ReadReply // by election
	writer map[string]string             // of the last accepted write, by election
	holds  map[string]*Hold              // by node
}

// New returns a protected resource that is not served, and records into recorder.
func New(recorder *history.Recorder) *Resource {
	return &Resource{
		recorder: recorder, closing: make(chan struct{}),
		guards: map[string]*fence.Guard{}, last: map[string]protocol.ReadReply{}, writer: map[string]string{}, holds: map[string]*Hold{},
	}
}

// Serve serves a protected resource at a listener, which Close closes, and records
// into recorder.
func Serve(listener net.Listener, recorder *history.Recorder) *Resource {
	r := New(recorder)
	r.listener, r.done = listener, make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /write", r.write)
	mux.HandleFunc("GET /read", r.read)
	r.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(r.done)
		_ = r.server.Serve(listener) // always ErrServerClosed, by Close
	}()
	return r
}

// URL is where candidates find the resource.
func (r *Resource) URL() string { return "http://" + r.listener.Addr().String() }

// Close ends the resource; writes that are still held are decided first.
func (r *Resource) Close() error {
	r.closeOnce.Do(func() { close(r.closing) })
	if r.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := r.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = r.server.Close()
	}
	<-r.done
	return err
}

// Hold keeps one write on its way: between the candidate that sent it and the
// resource's decision.
type Hold struct {
	arrived     chan struct{}
	release     chan struct{}
	releaseOnce sync.Once
	decided     chan Decision
}

// Decision is what the resource decided about a write that was held.
type Decision struct {
	protocol.WriteReply
	Token uint64 // of the write; 0: it had none
	After string // the node whose write was the last accepted one before, "" if there was none
}

// Hold makes the resource keep the node's next write waiting.
func (r *Resource) Hold(node string) *Hold {
	hold := &Hold{
		arrived: make(chan struct{}), release: make(chan struct{}),
		decided: make(chan Decision, 1),
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holds[node] = hold
	return hold
}

// Arrived is closed once a write is waiting.
func (h *Hold) Arrived() <-chan struct{} { return h.arrived }

// Release lets the write go on and returns what the resource decided.
func (h *Hold) Release(ctx context.Context) (Decision, error) {
	h.releaseOnce.Do(func() { close(h.release) })
	select {
	case decision := <-h.decided:
		return decision, nil
	case <-ctx.Done():
		return Decision{}, fmt.Errorf("resource: the held write was not decided: %w", ctx.Err())
	}
}

// Late lets the write go on, if one came, and tells what became of it, since it
// was late: by an error of faults.ErrNoEffect if it was not.
func (h *Hold) Late(ctx context.Context, node string) (evidence string, err error) {
	select {
	case <-h.arrived:
	default: // no write ever came: there is none to wait for, and the next one is not to be held
		h.releaseOnce.Do(func() { close(h.release) })
		return "", nil
	}
	decided, err := h.Release(ctx)
	switch {
	case err != nil:
		return "", err
	case decided.Accepted && decided.Token == 0 && decided.After != "" && decided.After != node:
		return fmt.Sprintf("the late write of %s was accepted after one of %s: it carries no token", node, decided.After), nil
	case decided.Accepted:
		return "", faults.NoEffect("the write of %s was accepted: nobody else had written meanwhile", node)
	default:
		return fmt.Sprintf("the late write of %s was refused: the fence stood at %d", node, decided.Fence), nil
	}
}

// takeHold returns the hold that waits for a write of node, at most once.
func (r *Resource) takeHold(node string) *Hold {
	r.mu.Lock()
	defer r.mu.Unlock()
	hold := r.holds[node]
	delete(r.holds, node)
	return hold
}

func (r *Resource) write(w http.ResponseWriter, req *http.Request) {
	var write protocol.WriteRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, req.Body, maxBody)).Decode(&write); err != nil || write.Node == "" {
		http.Error(w, `give {"node":"n1","election":"e1","token":7,"value":"…"}`, http.StatusBadRequest)
		return
	}
	reply := r.Write(write)
	status := http.StatusOK
	if !reply.Accepted {
		status = http.StatusConflict
	}
	respond(w, status, reply)
}

// Write makes a write, and returns when it is decided.
func (r *Resource) Write(write protocol.WriteRequest) protocol.WriteReply {
	op := history.Event{
		Node: write.Node, Kind: history.Invoke, Call: history.Write,
		Op: r.recorder.NextOp(), Value: write.Value, Token: write.Token,
	}
	r.recorder.Stamp(op)
	hold := r.takeHold(write.Node)
	if hold != nil {
		close(hold.arrived)
		select {
		case <-hold.release:
		case <-r.closing:
		}
	}
	reply, after := r.decide(write, op)
	if hold != nil {
		hold.decided <- Decision{WriteReply: reply, Token: write.Token, After: after}
	}
	return reply
}

// decide accepts or refuses a write and records the decision, in one step:
// decisions are recorded in the order in which they were taken. It returns also
// whose write was the last accepted one before.
func (r *Resource) decide(write protocol.WriteRequest, op history.Event) (reply protocol.WriteReply, after string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	after = r.writer[write.Election]
	if write.Token != 0 {
		var stale *fence.StaleError
		if err := r.guard(write.Election).Admit(write.Token); errors.As(err, &stale) {
			op.Kind, op.Fence = history.Fail, stale.Highest
			r.recorder.Stamp(op)
			return protocol.WriteReply{Fence: stale.Highest}, after
		}
	}
	r.last[write.Election] = protocol.ReadReply{Value: write.Value, Token: write.Token}
	op.Kind = history.Ok
	r.recorder.Stamp(op)
	r.writer[write.Election] = write.Node
	return protocol.WriteReply{Accepted: true}, after
}

func (r *Resource) guard(election string) *fence.Guard {
	if r.guards[election] == nil {
		r.guards[election] = &fence.Guard{}
	}
	return r.guards[election]
}

func (r *Resource) read(w http.ResponseWriter, req *http.Request) {
	query := req.URL.Query()
	respond(w, http.StatusOK, r.Read(query.Get("node"), query.Get("election")))
}

// Read reads what was written last.
func (r *Resource) Read(node, election string) protocol.ReadReply {
	op := history.Event{Node: node, Kind: history.Invoke, Call: history.Read, Op: r.recorder.NextOp()}
	r.recorder.Stamp(op)
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.last[election]
	op.Kind, op.Value, op.Token = history.Ok, last.Value, last.Token
	r.recorder.Stamp(op)
	return last
}

func respond(w http.ResponseWriter, status int, reply any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(reply) // the writer is gone: it will never know
}

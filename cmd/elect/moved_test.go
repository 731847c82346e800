package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recount-io/recount/internal/drawn"
	"github.com/recount-io/recount/internal/loopback"
	"github.com/recount-io/recount/internal/topology"
)

// moves is an address that leads to a server until it is moved. Connections of before are
// answered from then on that the server cannot serve, and new ones lead to the other server.
type moves struct {
	address string

	mu    sync.Mutex
	to    string
	words string // for connections of before; empty until the move
}

func movesFrom(t *testing.T, addr string) *moves {
	t.Helper()
	m := &moves{to: addr}
	var err error
	if m.address, err = loopback.Serve(t.Context(), m.serve); err != nil {
		t.Fatal(err)
	}
	return m
}

// move makes new connections lead to addr.
func (m *moves) move(addr, words string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.to, m.words = addr, words
}

func (m *moves) now() (to, words string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.to, m.words
}

// serve passes on what clients ask as long as the address leads where it led.
func (m *moves) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }() // nothing is left to say
	to, _ := m.now()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }() // likewise
	var write sync.Mutex
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(&locked{&write, conn}, server) // until either ends
		_ = conn.Close()
	})
	defer back.Wait()
	defer func() { _ = server.Close() }() // so that it ends
	for in := bufio.NewReader(conn); ; {
		args, err := loopback.ReadCommand(in)
		if err != nil {
			return
		}
		if now, words := m.now(); now != to {
			_, err = io.WriteString(&locked{&write, conn}, "-"+words+"\r\n")
		} else {
			err = loopback.WriteCommand(server, args)
		}
		if err != nil {
			return
		}
	}
}

// locked is a writer that several use.
type locked struct {
	mu *sync.Mutex
	io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Writer.Write(p)
}

// The address of the store moves to a promoted replica while candidates, and somebody who
// watches, are connected. Whatever the former server answers them, somebody leads on the
// new one within three leases, all candidates are listed there, who watches is told who
// leads, and the leader can hand over.
//
// RECOUNT_CASES says how often each answer is tried. Then the times are asked for, which
// takes a machine that has the time.
func TestAddressMoves(t *testing.T) {
	_, tries, err := drawn.Cases(1, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{
		"NOREPLICAS Not enough good replicas to write.",
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
		"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
		"LOADING Redis is loading the dataset in memory",
		"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
		"OOM command not allowed when used memory > 'maxmemory'.",
		"ERR no backend for this request",
	} {
		for i := range tries {
			code, _, _ := strings.Cut(words, " ")
			t.Run(fmt.Sprint(code, i+1), func(t *testing.T) {
				t.Parallel()
				addressMoves(t, words)
			})
		}
	}
}

func addressMoves(t *testing.T, words string) {
	const lease = 2 * time.Second
	ctx, l := topology.For(t, topology.ServerProgram)
	pair := topology.Must[*topology.Replicated](t)(l.Replicated(ctx, 1, topology.Config{}))
	primary, replica := pair.Servers()[0], pair.Servers()[1]
	address, dir := movesFrom(t, primary.Addr), t.TempDir()
	at := []string{"--store", "redis://" + address.address, "--name", "billing"}
	candidates := map[string]*process{}
	for _, id := range []string{"a", "b", "c"} {
		candidates[id] = launch(t, dir, append(append([]string{"run", "--lease", lease.String(), "--id", id, "--http", "127.0.0.1:0", "--allow-transfer"}, at...), theJob()...)...)
	}
	watch := launch(t, dir, append([]string{"watch", "--json"}, at...)...)
	await(t, dir, "began", 1)
	eventually(t, "somebody is said to lead", func() bool {
		return strings.Contains(watch.out.String(), `"leader":"`) || strings.Contains(watch.out.String(), `"id"`)
	})
	if err := primary.InStep(ctx, 1); err != nil {
		t.Fatal(err)
	}

	if err := replica.Client().Do(ctx, "REPLICAOF", "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}
	moved := time.Now()
	address.move(replica.Addr, words)
	lines := strings.Count(watch.out.String(), "\n")
	var status statusAnswer
	var served, notified time.Duration // from the move until then
	eventually(t, "somebody leads, all are listed, and who watches is told", func() bool {
		got := call(t, ctx, nil, "status", "--json", "--store", "redis://"+replica.Addr, "--name", "billing")
		status = statusAnswer{}
		switch since := time.Since(moved); {
		case json.Unmarshal([]byte(got.out), &status) != nil || status.Leader == nil || status.Candidates == nil || len(*status.Candidates) < len(candidates):
			served = 0
		case since > lease && served == 0: // what was replicated is over by then
			served = since
		}
		said := strings.Split(strings.TrimSpace(watch.out.String()), "\n")
		if notified == 0 && len(said) > lines && status.Leader != nil && strings.Contains(said[len(said)-1], status.Leader.ID) {
			notified = time.Since(moved)
		}
		return served > 0 && notified > 0
	})
	id, _, _ := strings.Cut(status.Leader.ID, "/")
	_, log, _ := strings.Cut(candidates[id].out.String(), "address=")
	place, _, _ := strings.Cut(log, "\n")
	successor := map[string]string{"a": "b", "b": "c", "c": "a"}[id]
	eventually(t, "the leader hands over", func() bool {
		return call(t, ctx, nil, "transfer", "--at", "http://"+place, "--to", successor).status == statusDone
	})
	handed := time.Since(moved)
	t.Logf("%s: a leader and all candidates after %v, who watches was told after %v, and the leader has handed over after %v, with a lease of %v",
		words, served.Round(time.Millisecond), notified.Round(time.Millisecond), handed.Round(time.Millisecond), lease)
	right := max(2*lease, served+lease/4)                                          // a leader is told when there is one
	if (served > 3*lease || notified > right || handed > right) && drawn.Asked() { // else the machine may be busy
		t.Errorf("that is too late")
	}
	if strings.Contains(watch.out.String(), "gave no answer") {
		t.Errorf("who watches is told that the store gave no answer, and it did:\n%s", watch.out.String())
	}
	for _, c := range candidates {
		select {
		case <-c.done:
			t.Errorf("a candidate has ended")
		default:
		}
	}
	inOrder(t, dir)
}

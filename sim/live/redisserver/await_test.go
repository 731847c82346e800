//go:build linux || darwin

package redisserver

import (
	"bufio"
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/recount-io/recount/internal/loopback"
	"github.com/recount-io/recount/sim/live/supervisor"
)

// A server that loads its data, or wants a password, does not answer yet, or
// never; one that has ended never will.
func TestAwait(t *testing.T) {
	replies := make(chan string, 3)
	replies <- "-LOADING Redis is loading the dataset in memory"
	replies <- "-LOADING Redis is loading the dataset in memory"
	replies <- "+PONG"
	asked := make(chan struct{}, 100)
	addr, err := loopback.Serve(t.Context(), func(conn net.Conn) {
		_, _ = bufio.NewReader(conn).ReadString('G') // of PING, or nothing
		asked <- struct{}{}
		select {
		case reply := <-replies:
			_, _ = conn.Write([]byte(reply + "\r\n")) // a client that is gone does not matter
		default:
		}
		_ = conn.Close() // one question, one answer
	})
	ok(t, err)
	ok(t, await(t.Context(), addr, nil))
	if len(asked) != 3 {
		t.Errorf("asked %d times, want 3", len(asked))
	}
	ended := make(chan struct{})
	close(ended)
	if err := await(t.Context(), addr, ended); err == nil || !strings.Contains(err.Error(), "ended") {
		t.Errorf("a server that has ended: %v", err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := await(stopped, addr, nil); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("no time left: %v", err)
	}
}

// With a supervisor that goes on, Close alone ends the process and its directory,
// and what the supervisor guards besides stays.
func TestCloseWithASharedSupervisor(t *testing.T) {
	needProcess(t)
	w, err := supervisor.Start()
	ok(t, err)
	defer func() { ok(t, w.Close()) }()
	var servers []Server
	for range 2 {
		s, err := Open(t.Context(), "process", Options{Supervisor: w})
		ok(t, err)
		servers = append(servers, s)
	}
	found := tracesOf(servers[0])
	ok(t, servers[0].Close())
	if _, err := answer(t.Context(), found.Addr, nil); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a closed Redis: %v, want refused", err)
	}
	if syscall.Kill(found.Process, 0) == nil {
		t.Errorf("process %d lives on", found.Process)
	}
	ok(t, connect(t, servers[1]).Ping(t.Context()).Err())
	ok(t, servers[1].Close())
}

package redisserver

import (
	"bufio"
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/internal/loopback"
)

// A server that loads its data for longer than is waited for is said to, also if it is a
// read or a write that ends the waiting: a connection may notice the deadline first.
func TestStillLoading(t *testing.T) {
	addr, err := loopback.Serve(t.Context(), func(conn net.Conn) {
		defer func() { _ = conn.Close() }() // the client is gone
		lines := bufio.NewScanner(conn)
		for lines.Scan() {
			if !strings.EqualFold(lines.Text(), "ping") && !strings.EqualFold(lines.Text(), "hello") {
				continue
			}
			if _, err := conn.Write([]byte("-LOADING Redis is loading the dataset in memory\r\n")); err != nil {
				return
			}
		}
	})
	ok(t, err)
	err = examineLogin(limited{t.Context(), time.Now().Add(300 * time.Millisecond)}, plain(redis.Options{Addr: addr}))
	if err == nil || !strings.Contains(err.Error(), "still loading its data") {
		t.Errorf("it is said to be unsuitable for another reason: %v", err)
	}
}

// limited is a context whose deadline the connections know before it is done.
type limited struct {
	context.Context
	deadline time.Time
}

// Deadline implements context.Context.
func (l limited) Deadline() (time.Time, bool) { return l.deadline, true }

package redisserver

import (
	"bufio"
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// A server that loads its data for longer than is waited for is said to, also if it is a
// read or a write that ends the waiting: a connection may notice the deadline first.
func TestStillLoading(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	defer func() { _ = l.Close() }() // ends the loop
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
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
			}()
		}
	}()
	err = examineLogin(limited{t.Context(), time.Now().Add(300 * time.Millisecond)}, plain(redis.Options{Addr: l.Addr().String()}))
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

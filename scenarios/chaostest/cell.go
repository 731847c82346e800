package chaostest

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble/bubbletest"
	"github.com/recount-io/recount/sim/bubble/gate"
	"github.com/recount-io/recount/sim/candidate"
	"github.com/recount-io/recount/sim/protocol"
	"github.com/recount-io/recount/sim/virtual"
)

// turn is what a program in virtual time is told: what has come to it, and until when it
// may live.
type turn struct {
	Until time.Duration
	Came  []virtual.Came
}

// cellReady is what such a program says first. What was printed before is no matter.
const cellReady = "\x00chaostest: ready\n"

// cell is one candidate in virtual time: a process with a bubble of fake time of its own,
// in which time passes only in its turns.
type cell struct {
	epoch  time.Duration
	gate   gate.Gate
	stop   context.CancelFunc
	active chan struct{}     // has room for one: something was done
	write  chan struct{}     // held by who writes to the resource
	wrote  chan virtual.Came // the answer
	mu     sync.Mutex        // never held while anything waits
	did    []virtual.Did
	conns  map[int]*cellConn
	ops    int64
}

// inCell is the process's side: it lives as it is told, until nobody tells it any more.
func (s *settings) inCell(private *os.File) {
	in, out := gob.NewDecoder(os.Stdin), gob.NewEncoder(private)
	_, _ = private.WriteString(cellReady) // who does not hear it is gone
	var seat virtual.Seat
	if in.Decode(&seat) != nil {
		os.Exit(statusFailed)
	}
	testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "Virtual", F: func(t *testing.T) {
		bubbletest.Run(t, seat.Seed, func(*testing.T) {
			c := s.newCell(seat)
			for {
				var next turn
				if in.Decode(&next) != nil { // no waiting in fake time: it stands still
					os.Exit(statusFailed)
				}
				for _, came := range next.Came {
					c.take(came)
				}
				if out.Encode(c.live(next.Until)) != nil {
					os.Exit(statusFailed)
				}
			}
		})
	}}})
	os.Exit(statusFailed)
}

// newCell lets the elector begin.
func (s *settings) newCell(seat virtual.Seat) *cell {
	c := &cell{
		epoch: seat.Epoch, active: make(chan struct{}, 1), write: make(chan struct{}, 1), wrote: make(chan virtual.Came, 1), conns: map[int]*cellConn{},
	}
	time.Sleep(time.Until(time.Unix(0, int64(seat.Epoch+seat.Began)))) // which takes no time
	set := seat.Settings
	h := candidate.NewHost(candidate.Settings{
		Election: seat.Election, Node: seat.Node, RedisURL: "redis://" + cellRedis + "/0",
		Lease: set.Lease, Renew: set.Renew, Retry: set.Retry, Drift: set.Drift, Writes: seat.Writes, ClockRate: 1,
	}, candidate.Surroundings{
		Real: c.now, Wait: c.gate.Wait, Record: c.record, NextOp: c.nextOp, Dial: c.dial, Resource: c,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	go func() {
		err := s.compete(ctx, h)
		time.Sleep(sim.Linger)
		end := virtual.Did{What: virtual.Ends}
		if err != nil {
			end.Text = err.Error()
		}
		var panicked *candidate.PanicError
		if errors.As(err, &panicked) {
			end.What = virtual.Panics
			fmt.Fprintf(os.Stderr, "panic: %s\n\n%s\n", panicked.Value, panicked.Stack)
		}
		c.does(end)
	}()
	return c
}

// cellRedis is where the store is.
const cellRedis = "redis.virtual:6379"

// now is what the candidate's clock shows.
func (c *cell) now() time.Duration { return time.Duration(time.Now().UnixNano()) - c.epoch }

// live lets time pass until then, or until something is done.
func (c *cell) live(until time.Duration) virtual.Lived {
	bubbletest.Settle()
	if left := until - c.now(); left > 0 && len(c.active) == 0 {
		timer := time.NewTimer(left)
		select {
		case <-c.active:
		case <-timer.C:
		}
		timer.Stop()
		bubbletest.Settle()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.active:
	default:
	}
	did := c.did
	c.did = nil
	return virtual.Lived{Now: c.now(), Did: did}
}

// does notes something that others notice.
func (c *cell) does(d virtual.Did) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.did = append(c.did, d)
	select {
	case c.active <- struct{}{}:
	default:
	}
}

// take takes in what has come.
func (c *cell) take(came virtual.Came) {
	switch came.What {
	case virtual.Stopping:
		c.stop()
	case virtual.Halted:
		c.gate.Close()
	case virtual.GoesOn:
		c.gate.Open()
	case virtual.Written:
		c.wrote <- came
	default:
		c.mu.Lock()
		conn := c.conns[came.Conn]
		c.mu.Unlock()
		conn.take(came)
	}
}

func (c *cell) record(e history.Event) { c.does(virtual.Did{What: virtual.Tells, Event: e}) }

func (c *cell) nextOp() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ops++
	return c.ops
}

// Write implements candidate.Resource.
func (c *cell) Write(w protocol.WriteRequest) (protocol.WriteReply, error) {
	c.gate.Wait()
	c.write <- struct{}{}
	defer func() { <-c.write }()
	c.does(virtual.Did{What: virtual.Writes, Token: w.Token, Value: w.Value})
	came := <-c.wrote
	return protocol.WriteReply{Accepted: came.Accepted, Fence: came.Fence}, nil
}

// Read implements candidate.Resource: nothing is read here.
func (c *cell) Read(string, string) {}

// dial opens a connection to the store.
func (c *cell) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	if addr != cellRedis {
		return nil, &net.AddrError{Err: "there is no such store", Addr: addr}
	}
	c.gate.Wait()
	near, far := net.Pipe()
	conn := &cellConn{Conn: near, far: far, cell: c, opened: make(chan bool, 1), more: make(chan struct{}, 1)}
	c.mu.Lock()
	conn.number = len(c.conns) + 1
	c.conns[conn.number] = conn
	c.mu.Unlock()
	c.does(virtual.Did{What: virtual.Dials, Conn: conn.number})
	select {
	case open := <-conn.opened:
		if !open {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errRefused}
		}
		go conn.sends()
		go conn.receives()
		return conn, nil
	case <-ctx.Done():
		c.does(virtual.Did{What: virtual.Closes, Conn: conn.number})
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: ctx.Err()}
	}
}

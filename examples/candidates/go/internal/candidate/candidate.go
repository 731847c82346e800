// Package candidate is what the candidates of this module share: the
// environment that the harness gives them, the lines that they print, and a
// leader's work. How they lead is their own, and each one's library's.
//
// docs/candidate-protocol.md describes the protocol.
package candidate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// Candidate is this process: its settings, and its voice.
type Candidate struct {
	Election, Node      string
	Redis               string // URL of this candidate's own way to the store
	Lease, Renew, Retry time.Duration

	resource string
	pace     time.Duration
	client   *http.Client
	writes   int

	mu       sync.Mutex
	believes bool
}

// Main runs a candidate until SIGTERM, which ends ctx: lead must then resign
// and return. What it returns is the process's last word.
func Main(lead func(ctx context.Context, c *Candidate) error) {
	log.SetFlags(log.Lmicroseconds)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := lead(ctx, fromEnvironment())
	stopped := ctx.Err() != nil
	stop()
	if err != nil && !stopped {
		log.Fatal(err)
	}
}

// fromEnvironment reads what the harness tells.
func fromEnvironment() *Candidate {
	c := &Candidate{
		Election: os.Getenv("RECOUNT_ELECTION"), Node: os.Getenv("RECOUNT_NODE"), Redis: os.Getenv("RECOUNT_REDIS_URL"),
		Lease: milliseconds("RECOUNT_LEASE_MS"), Renew: milliseconds("RECOUNT_RENEW_MS"), Retry: milliseconds("RECOUNT_RETRY_MS"),
		resource: os.Getenv("RECOUNT_RESOURCE_URL"), pace: milliseconds("RECOUNT_WRITE_MS"),
	}
	c.client = &http.Client{Timeout: c.Renew / 2}
	return c
}

// milliseconds reads a duration, which may have a fraction.
func milliseconds(variable string) time.Duration {
	value, err := strconv.ParseFloat(os.Getenv(variable), 64)
	if err != nil {
		log.Fatalf("%s=%q is no number: start this with chaos run --exec", variable, os.Getenv(variable))
	}
	return time.Duration(value * float64(time.Millisecond))
}

// Client is a go-redis client as its defaults make it, but for its time-outs:
// 3 s for an answer would be longer than the leases of most runs, and blaming a
// library for that would be unfair.
func (c *Candidate) Client() (*redis.Client, error) {
	options, err := redis.ParseURL(c.Redis)
	if err != nil {
		return nil, err
	}
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = c.Renew/2, c.Renew/2, c.Renew/2
	return redis.NewClient(options), nil
}

// line is one line of the protocol.
type line struct {
	Event string   `json:"event"`
	Until *float64 `json:"until_ms,omitempty"`
	Why   string   `json:"why,omitempty"`
}

// Leads tells that this candidate believes that it leads: until further notice
// if until is zero.
func (c *Candidate) Leads(until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := line{Event: "elected"}
	if c.believes {
		l.Event = "extended"
	}
	if !until.IsZero() {
		left := float64(time.Until(until)) / float64(time.Millisecond)
		l.Until = &left
	}
	c.believes = true
	say(l)
}

// Renewed tells that the lease was renewed, if this candidate believes that it
// leads, and goes on doing so until further notice.
func (c *Candidate) Renewed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.believes {
		say(line{Event: "extended"})
	}
}

// Lost tells that this candidate believes no longer. It may be called also if
// it did not.
func (c *Candidate) Lost(why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.believes {
		c.believes = false
		say(line{Event: "deposed", Why: why})
	}
}

// say prints a line. One write is one line also when goroutines meet.
func say(l line) {
	text, err := json.Marshal(l)
	if err != nil {
		panic("candidate: a line does not marshal: " + err.Error())
	}
	_, _ = os.Stdout.Write(append(text, '\n')) // without the harness nobody is left to be told
}

// Work writes to the protected resource, once, and waits as long as the harness
// asks leaders to wait between writes. It returns early when ctx ends, and at
// until unless that is zero. None of these libraries has a fencing token, so the
// write has none.
func (c *Candidate) Work(ctx context.Context, until time.Time) {
	if !until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	c.writes++
	body, err := json.Marshal(map[string]string{
		"node": c.Node, "election": c.Election, "value": fmt.Sprintf("%s/%d", c.Node, c.writes),
	})
	if err != nil {
		panic("candidate: a write does not marshal: " + err.Error())
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.resource+"/write", bytes.NewReader(body))
	if err != nil {
		panic("candidate: " + err.Error()) // the harness's URL is none
	}
	if reply, err := c.client.Do(request); err == nil {
		_, _ = io.Copy(io.Discard, reply.Body) // read to its end so that the connection is used again
		_ = reply.Body.Close()
	}
	Rest(ctx, c.pace)
}

// Rest waits until d has passed or ctx has ended.
func Rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

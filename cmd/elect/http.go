package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// server serves what is to be known about the candidate.
type server struct {
	listener net.Listener
	http     *http.Server
	done     chan struct{}
}

// listen takes the address, before anything else is begun. One that other
// machines can reach is taken only if public says so: a client that reaches it reads
// who leads and, with --allow-transfer, ends terms.
func listen(address string, public bool) (*server, error) {
	resolved, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, unservable(address, err)
	}
	if !public && !resolved.IP.IsLoopback() {
		return nil, fmt.Errorf("--http %s can be reached from other machines: give 127.0.0.1:%d, or --public too if that is meant", address, resolved.Port)
	}
	l, err := net.ListenTCP("tcp", resolved)
	if err != nil {
		return nil, unservable(address, err)
	}
	return &server{listener: l, done: make(chan struct{})}, nil
}

func unservable(address string, err error) error {
	return fmt.Errorf("--http %s cannot be served: %w; give HOST:PORT of a port that is free", address, err)
}

func (s *server) address() string { return s.listener.Addr().String() }

// replyTime is how long a reply may take from the end of the request's header,
// unless its handler needs longer.
const replyTime = 10 * time.Second

// newHTTP is a server that nobody can occupy by being slow.
func newHTTP(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      replyTime,
		IdleTimeout:       time.Minute,
	}
}

// serve begins to answer. If it breaks off, nobody can tell any more whether
// this candidate leads, so it stops.
func (s *server) serve(h http.Handler, log *slog.Logger, stop context.CancelFunc) {
	s.http = newHTTP(h)
	go func() {
		defer close(s.done)
		if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("HTTP is served no more: stopping", "error", err)
			stop()
		}
	}()
}

func (s *server) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close() // a client that still reads then reads no more
	}
	<-s.done
}

// leadership is the answer of /leader.
type leadership struct {
	Election    string `json:"election"`
	ID          string `json:"id"`
	IsLeader    bool   `json:"is_leader"`
	Token       uint64 `json:"token,omitempty,string"` // numbers are exact to 2^53 only in many a reader of JSON
	RemainingMS int64  `json:"remaining_ms,omitempty"` // of the term, unless it is renewed
	Leader      string `json:"leader,omitempty"`       // who leads, as far as is known here
}

// handler answers all paths.
func (c *candidacy) handler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(c.metrics, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /leader", c.answerLeader)
	mux.Handle("/healthz", c.monitor.LiveHandler())
	mux.Handle("/readyz", c.monitor.ReadyHandler())
	mux.Handle("/status", c.monitor.Handler())
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	if c.hand {
		mux.HandleFunc("POST /transfer", c.answerTransfer)
	}
	return mux
}

// answerLeader answers 200 (OK) only if this candidate leads and will do so for
// at least the grace period, even if the store never answers again. So who asks
// once in every grace period, and stops at the first other answer, has stopped
// before anybody else is elected.
func (c *candidacy) answerLeader(w http.ResponseWriter, _ *http.Request) {
	a := leadership{Election: c.settings.Election, ID: c.elector.ID()}
	for _, e := range c.monitor.Report().Elections {
		a.Leader = e.Leader
	}
	code := http.StatusServiceUnavailable
	// IsLeader comes last: a term that ends in between must not be announced.
	if t := c.term.Load(); t != nil && t.Check(c.timing.grace+c.timing.margin) == nil && c.elector.IsLeader() {
		a.IsLeader, a.Token, a.RemainingMS = true, t.Token(), t.Remaining().Milliseconds()
		code = http.StatusOK
	}
	body, err := json.Marshal(a)
	if err != nil { // strings and numbers only: never
		http.Error(w, "elect: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store") // yesterday's leader is nobody's answer
	w.WriteHeader(code)
	_, _ = w.Write(append(body, '\n')) // who does not read the answer needs none
}

// Package fenced is a service behind fence.Handler, and the way to it through
// fence.Transport, both as they ship, for the leader in a bubble of fake time. There
// is no network: a request takes as long as its caller says.
package fenced

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/recount-io/recount/elector/fence"
)

// Service guards any number of resources in memory. It is safe for concurrent use.
type Service struct {
	handler http.Handler
	guard   fence.Memory

	mu   sync.Mutex
	last map[string]uint64 // tokens of what was written, by resource
	odd  error             // the first write that must not have been
}

// New returns a service to which nobody has written.
func New() *Service {
	s := &Service{last: map[string]uint64{}}
	s.handler = fence.Handler(http.HandlerFunc(s.serve), &s.guard, fence.HandlerOptions{
		Resource: func(r *http.Request) (string, error) { return r.Header.Get("Resource"), nil },
	})
	return s
}

// serve writes.
func (s *Service) serve(_ http.ResponseWriter, r *http.Request) {
	resource, token := r.Header.Get("Resource"), fence.TokenFrom(r.Context())
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.last[resource]; token < last && s.odd == nil {
		s.odd = fmt.Errorf("a write to %s with token %d was let pass after one with %d", resource, token, last)
	}
	s.last[resource] = token
}

// Odd is the first write that was let pass and must not have been; nil if there is none.
func (s *Service) Odd() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.odd
}

// Write writes to a resource in a term, by a request that takes so long on its way, and
// is given up when ctx is done. It reports whether the request was sent. The error is that
// of fence.Transport, a *fence.StaleError, ctx's, or about a status that must not be.
func (s *Service) Write(ctx context.Context, term fence.Term, resource string, takes time.Duration) (sent bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://service/", http.NoBody)
	if err != nil {
		return false, err
	}
	r.Header.Set("Resource", resource)
	w := &way{service: s, takes: takes}
	answer, err := (&fence.Transport{Term: term, Base: w}).RoundTrip(r)
	if err != nil {
		return w.sent, err
	}
	defer answer.Body.Close()
	if err := fence.StaleFrom(answer); err != nil {
		return w.sent, err
	}
	if answer.StatusCode != http.StatusOK {
		return w.sent, fmt.Errorf("fenced: status %d", answer.StatusCode)
	}
	return w.sent, nil
}

// way leads one request to the service.
type way struct {
	service *Service
	takes   time.Duration
	sent    bool
}

// RoundTrip implements http.RoundTripper.
func (w *way) RoundTrip(r *http.Request) (*http.Response, error) {
	w.sent = true
	select {
	case <-time.After(w.takes):
	case <-r.Context().Done():
		return nil, context.Cause(r.Context()) // as http.Transport has it
	}
	a := &answer{header: http.Header{}, status: http.StatusOK}
	w.service.handler.ServeHTTP(a, r)
	return &http.Response{StatusCode: a.status, Header: a.header, Body: io.NopCloser(&a.body), Request: r}, nil
}

// answer is an http.ResponseWriter.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) { a.status = status }

// Write implements http.ResponseWriter.
func (a *answer) Write(text []byte) (int, error) { return a.body.Write(text) }

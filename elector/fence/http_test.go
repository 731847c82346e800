package fence

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/memstore"
)

var _ Term = (*elector.Term)(nil)

// fixed is a term that goes on for ever.
type fixed uint64

func (f fixed) Token() uint64               { return uint64(f) }
func (f fixed) Check(_ time.Duration) error { return nil }

// failing is a guard that cannot answer.
type failing struct{}

func (failing) Check(context.Context, uint64, string) error {
	return errors.New("dial 10.0.0.7: refused")
}

// Every kind of request gets the status that is documented, and only what is
// admitted reaches the handler, with its token in the context.
func TestHandler(t *testing.T) {
	var memory Memory
	if err := memory.Check(t.Context(), 34, "http"); err != nil {
		t.Fatal(err)
	}
	reads := func(r *http.Request) bool { return r.Method == http.MethodGet }
	unnamed := func(*http.Request) (string, error) { return "", errors.New("no such account") }
	for _, c := range []struct {
		name    string
		guard   Checker
		o       HandlerOptions
		method  string
		headers []string
		status  int
		body    string
		token   uint64
	}{
		{"no token", &memory, HandlerOptions{}, "POST", nil, 428, "no header", 0},
		{"no token to read", &memory, HandlerOptions{Open: reads}, "GET", nil, 200, "", 0},
		{"no token to write", &memory, HandlerOptions{Open: reads}, "POST", nil, 428, "no header", 0},
		{"a stale token to read", &memory, HandlerOptions{Open: reads}, "GET", []string{"33"}, 412, `"fence":"34"`, 0},
		{"stale", &memory, HandlerOptions{}, "POST", []string{"33"}, 412, `"token":"33","fence":"34"`, 0},
		{"the same term", &memory, HandlerOptions{}, "POST", []string{"34"}, 200, "", 34},
		{"empty", &memory, HandlerOptions{}, "POST", []string{""}, 400, "is no token", 0},
		{"zero", &memory, HandlerOptions{}, "POST", []string{"0"}, 400, "is no token", 0},
		{"signed", &memory, HandlerOptions{}, "POST", []string{"+35"}, 400, "is no token", 0},
		{"leading zero", &memory, HandlerOptions{}, "POST", []string{"035"}, 400, "is no token", 0},
		{"a list", &memory, HandlerOptions{}, "POST", []string{"35, 36"}, 400, "is no token", 0},
		{"too large", &memory, HandlerOptions{}, "POST", []string{"18446744073709551616"}, 400, "is no token", 0},
		{"two", &memory, HandlerOptions{}, "POST", []string{"35", "35"}, 400, "2 headers", 0},
		{"no resource", &memory, HandlerOptions{Resource: unnamed}, "POST", []string{"35"}, 400, "no such account", 0},
		{"the guard fails", failing{}, HandlerOptions{}, "POST", []string{"35"}, 503, "try again", 0},
		{"the guard fails, and nobody wants to hear of it", failing{}, HandlerOptions{}, "POST", []string{"35"}, 503, "try again", 0},
		{"the next term", &memory, HandlerOptions{}, "POST", []string{"35"}, 200, "", 35},
		{"the largest", &memory, HandlerOptions{}, "POST", []string{"18446744073709551615"}, 200, "", 1<<64 - 1},
	} {
		reached, failed := false, error(nil)
		if c.name != "the guard fails, and nobody wants to hear of it" {
			c.o.Failed = func(_ *http.Request, err error) { failed = err }
		}
		next := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			reached = true
			if got := TokenFrom(r.Context()); got != c.token {
				t.Errorf("%s: the context has token %d", c.name, got)
			}
		})
		r := httptest.NewRequestWithContext(t.Context(), c.method, "/", nil)
		r.Header[HeaderToken] = c.headers
		w := httptest.NewRecorder()
		Handler(next, c.guard, c.o).ServeHTTP(w, r)
		if w.Code != c.status || reached != (c.status == 200) || !strings.Contains(w.Body.String(), c.body) {
			t.Errorf("%s: status %d, reached %v: %s", c.name, w.Code, reached, w.Body)
		}
		if kind := w.Header(); c.status != 200 && (kind.Get("Content-Type") != "application/json" || kind.Get("Cache-Control") != "no-store") {
			t.Errorf("%s: the answer is of type %q and may be kept: %q", c.name, kind.Get("Content-Type"), kind.Get("Cache-Control"))
		}
		if c.status != 200 && !json.Valid(w.Body.Bytes()) || strings.Contains(w.Body.String(), "10.0.0.7") {
			t.Errorf("%s: the body is %s", c.name, w.Body)
		}
		if (failed != nil) != (c.status == 503 && c.o.Failed != nil) {
			t.Errorf("%s: failed with %v", c.name, failed)
		}
	}
}

// While a request of a former leader is worked on, one of the next leader
// waits; and a handler that panics keeps nobody waiting.
func TestHandlerHoldsTheFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan struct{})
		var order []string
		next := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if TokenFrom(r.Context()) == 1 {
				<-proceed
			}
			order = append(order, r.Header.Get(HeaderToken))
			panic(http.ErrAbortHandler)
		})
		handler := Handler(next, new(Memory), HandlerOptions{})
		for _, token := range []string{"1", "2"} {
			go func() {
				defer func() { _ = recover() }()
				r := httptest.NewRequestWithContext(t.Context(), "POST", "/", nil)
				r.Header.Set(HeaderToken, token)
				handler.ServeHTTP(httptest.NewRecorder(), r)
			}()
			synctest.Wait()
		}
		if len(order) > 0 {
			t.Errorf("%v was done while an older request was under way", order)
		}
		close(proceed)
		synctest.Wait()
		if strings.Join(order, " ") != "1 2" {
			t.Errorf("the order was %v", order)
		}
	})
}

// closable notes that a request's body was closed.
type closable struct {
	io.Reader
	closed bool
}

func (c *closable) Close() error {
	c.closed = true
	return nil
}

// A term's requests carry its token; when it has been resigned, or too little
// of it is left, or another term's token is already there, nothing is sent.
func TestTransport(t *testing.T) {
	sent := ""
	base := roundTrip(func(r *http.Request) (*http.Response, error) {
		sent = r.Header.Get(HeaderToken)
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
	})
	e, err := elector.New(memstore.New(memstore.Options{}), elector.Config{Election: "billing", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	term, err := e.Campaign(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	post := func(transport *Transport, token string) (*closable, error) {
		sent = ""
		body := &closable{Reader: strings.NewReader("x")}
		r := httptest.NewRequestWithContext(t.Context(), "POST", "http://user:secret@host/path", body)
		r.Header.Set("X-Other", "stays")
		if token != "" {
			r.Header.Set(HeaderToken, token)
		}
		answer, err := transport.RoundTrip(r)
		if err == nil {
			_ = answer.Body.Close() // it is empty
		}
		if r.Header.Get(HeaderToken) != token {
			t.Errorf("the caller's request was changed: %v", r.Header)
		}
		return body, err
	}
	transport := &Transport{Term: term, Base: base}
	for _, token := range []string{"", "1"} {
		if _, err := post(transport, token); err != nil || sent != "1" {
			t.Errorf("with token %q: sent %q, %v", token, sent, err)
		}
	}
	refused := func(transport *Transport, token string, want error, part string) {
		t.Helper()
		body, err := post(transport, token)
		if err == nil || want != nil && !errors.Is(err, want) || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v, want %v and %q", err, want, part)
		}
		if sent != "" || !body.closed {
			t.Errorf("sent %q, body closed: %v", sent, body.closed)
		}
	}
	refused(transport, "2", nil, "was not sent")
	refused(&Transport{Term: term, Base: base, Min: time.Hour}, "", elector.ErrTermShort, "POST")
	if err := term.Resign(t.Context()); err != nil {
		t.Fatal(err)
	}
	refused(transport, "", elector.ErrTermOver, "token 1")
	refused(&Transport{Term: fixed(0), Base: base}, "", ErrNoToken, "Term.Token")
}

// A request that was sent, and given up because its term ended, is no error that says
// that nothing was sent: it may have been executed.
func TestTransportOfATermThatEnds(t *testing.T) {
	arrived := make(chan struct{})
	served := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
	}))
	defer served.Close()
	e, err := elector.New(memstore.New(memstore.Options{}), elector.Config{Election: "billing", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	term, err := e.Campaign(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-arrived
		_ = term.Resign(t.Context()) // the test waits for its effect
	}()
	r, err := http.NewRequestWithContext(term.Context(), http.MethodPost, served.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := (&Transport{Term: term, Base: served.Client().Transport}).RoundTrip(r)
	if err == nil {
		_ = answer.Body.Close() // it is not wanted
	}
	if errors.Is(err, elector.ErrTermOver) || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "may have been executed") {
		t.Errorf("%v, want context.Canceled, and not ErrTermOver, since it was sent", err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Only the refusal of a stale token is taken for one.
func TestStaleFrom(t *testing.T) {
	for _, c := range []struct {
		status         int
		token, highest string
		stale          bool
	}{
		{412, "33", "34", true}, {409, "33", "34", false}, {412, "", "34", false}, {412, "33", "", false}, {412, "33", "x", false},
	} {
		header := http.Header{}
		header.Set(HeaderToken, c.token)
		header.Set(HeaderHighest, c.highest)
		err := StaleFrom(&http.Response{StatusCode: c.status, Header: header})
		if c.stale {
			wantStale(t, err, 33, 34)
		} else if err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

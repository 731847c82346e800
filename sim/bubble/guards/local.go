package guards

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/recount-io/recount/elector/fence"
)

// local are resources of one process, behind its guards.
type local struct {
	Case
	guards []fence.Guard // by resource
	memory fence.Memory
	server http.Handler

	mu   sync.Mutex
	last []content // by resource
}

// content is what was written last, and by what token.
type content struct {
	value string
	token uint64
}

var _ guarded = (*local)(nil)

func newLocal(c Case) *local {
	l := &local{Case: c, guards: make([]fence.Guard, c.Resources), last: make([]content, c.Resources)}
	l.server = fence.Handler(http.HandlerFunc(l.serve), &l.memory, fence.HandlerOptions{
		Resource: func(r *http.Request) (string, error) { return r.URL.Path, nil },
	})
	return l
}

// write implements guarded.
func (l *local) write(ctx context.Context, _, resource int, token uint64, value string, takes time.Duration) error {
	time.Sleep(l.RoundTrip / 2)
	defer time.Sleep(l.RoundTrip / 2)
	switch l.Guard {
	case InProcess:
		return l.guards[resource].Do(token, func() error {
			l.set(resource, token, value) // in no time: others wait for a lock, which stops fake time
			return nil
		})
	case InMemory:
		release, err := l.memory.Hold(ctx, token, resourceName(resource))
		if err != nil {
			return err
		}
		defer release()
		time.Sleep(takes)
		l.set(resource, token, value)
		return nil
	default:
		return l.send(ctx, resource, token, value, takes)
	}
}

func (l *local) set(resource int, token uint64, value string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last[resource] = content{value, token}
}

// read implements guarded.
func (l *local) read(resource int) (value string, token uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last[resource].value, l.last[resource].token
}

func (l *local) cut(int, bool) {}
func (l *local) mend(int)      {}
func (l *local) close()        {}

// term is one that goes on.
type term uint64

// Token implements fence.Term.
func (t term) Token() uint64 { return uint64(t) }

// Check implements fence.Term.
func (t term) Check(time.Duration) error { return nil }

// send makes a write by HTTP, as who leads does.
func (l *local) send(ctx context.Context, resource int, token uint64, value string, takes time.Duration) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://service/"+resourceName(resource), strings.NewReader(value))
	if err != nil {
		return err
	}
	request.Header.Set("Takes", takes.String())
	answer, err := (&fence.Transport{Term: term(token), Base: service{l.server}}).RoundTrip(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if err := fence.StaleFrom(answer); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(answer.Body) // of a buffer
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%s: %s", answer.Status, text)
	}
	return nil
}

// service is what is reached without a network.
type service struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (s service) RoundTrip(r *http.Request) (*http.Response, error) {
	a := &answer{header: http.Header{}, status: http.StatusOK}
	s.handler.ServeHTTP(a, r)
	return &http.Response{
		Status: http.StatusText(a.status), StatusCode: a.status, Header: a.header,
		Body: io.NopCloser(strings.NewReader(a.body.String())), Request: r,
	}, nil
}

// serve makes the write of a request that the guard has admitted.
func (l *local) serve(w http.ResponseWriter, r *http.Request) {
	value, err := io.ReadAll(r.Body)
	takes, err2 := time.ParseDuration(r.Header.Get("Takes"))
	if err := errors.Join(err, err2); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	time.Sleep(takes)
	for i := range l.Resources {
		if r.URL.Path == "/"+resourceName(i) {
			l.set(i, fence.TokenFrom(r.Context()), string(value))
		}
	}
}

// answer is an http.ResponseWriter.
type answer struct {
	header http.Header
	status int
	body   strings.Builder
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) { a.status = status }

// Write implements http.ResponseWriter.
func (a *answer) Write(text []byte) (int, error) { return a.body.Write(text) }

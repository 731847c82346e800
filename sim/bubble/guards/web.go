package guards

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/recount-io/recount/elector/fence"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble/network"
)

// web are resources of a service, which each writer asks over its own way.
type web struct {
	memory
	links   []*network.Link // by writer
	clients []*http.Transport
	remote  *remote  // that the service writes to; nil if it keeps its resources itself
	serving *service // nil while it is down
}

var _ guarded = (*web)(nil)

// errForeign is why a request was not sent.
var errForeign = errors.New("guards: the request has another term's token")

func newWeb(r *run) *web {
	w := &web{memory: memory{run: r, last: make([]content, r.Resources)}}
	if r.Guard == Relayed {
		w.remote = newRemote(r, writers+1) // the last way is the service's
	}
	w.replace(newService(w))
	for i := range writers {
		link := network.NewLink(r.Number<<8+uint64(i), sim.Network{Latency: r.RoundTrip / 2, Jitter: r.RoundTrip / 4}, target{w})
		endpoint := link.Endpoint()
		w.links = append(w.links, link)
		w.clients = append(w.clients, &http.Transport{
			DisableCompression: true,
			DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return endpoint.Dial(ctx) },
		})
	}
	return w
}

// do implements guarded.
func (w *web) do(ctx context.Context, c *call) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://service/"+resourceName(c.resource), strings.NewReader(c.value))
	if err != nil {
		return err
	}
	way := way{w.clients[c.writer], c}
	over := c.term.Check(0)
	var answer *http.Response
	switch c.odd {
	case regular, foreign, own:
		term := *c.term
		term.token = c.token
		switch c.odd {
		case foreign:
			request.Header.Set(fence.HeaderToken, strconv.FormatUint(c.token+1, 10))
		case own:
			request.Header.Set(fence.HeaderToken, strconv.FormatUint(c.token, 10))
		}
		answer, err = (&fence.Transport{Term: &term, Base: way}).RoundTrip(request)
	default:
		w.spoil(request, c)
		over = nil
		answer, err = way.RoundTrip(request)
	}
	if over != nil && c.sent.Load() {
		w.Find(notSent, "%v was sent, although its term was over", c)
	}
	if c.odd == foreign && !c.sent.Load() && err != nil {
		return errForeign
	}
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return w.answered(answer, c)
}

// spoil makes a request one that must be refused.
func (w *web) spoil(request *http.Request, c *call) {
	text := strconv.FormatUint(c.token, 10)
	switch c.odd {
	case twice:
		request.Header[fence.HeaderToken] = []string{text, text}
	case spelled:
		request.Header.Set(fence.HeaderToken, []string{"0" + text, "+" + text, text + "0000000000000000000000", "0", text + ".0"}[c.number%5])
	}
}

// answered is what an answer says.
func (w *web) answered(answer *http.Response, c *call) error {
	if err := fence.StaleFrom(answer); err != nil {
		return err
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	want := map[odd]int{tokenless: http.StatusPreconditionRequired, twice: http.StatusBadRequest, spelled: http.StatusBadRequest, foreign: -1}[c.odd]
	if want != 0 && answer.StatusCode != want {
		w.Find(statuses, "%v got status %d, want %d", c, answer.StatusCode, want)
	}
	switch status := answer.StatusCode; {
	case status == http.StatusOK:
		return nil
	case status == http.StatusInternalServerError && strings.HasPrefix(string(text), "NO"):
		return errWrite
	case status == http.StatusBadGateway: // the store behind the service is not heard
		return errors.New(string(text))
	case status == http.StatusConflict: // the guard at the store has refused
		stale := &fence.StaleError{}
		stale.Token, _ = strconv.ParseUint(answer.Header.Get("Token"), 10, 64)
		stale.Highest, _ = strconv.ParseUint(answer.Header.Get("Highest"), 10, 64)
		return stale
	default:
		return statusError{status, string(text)}
	}
}

// way sends requests.
type way struct {
	base http.RoundTripper
	call *call
}

// RoundTrip implements http.RoundTripper.
func (w way) RoundTrip(r *http.Request) (*http.Response, error) {
	w.call.sent.Store(true)
	return w.base.RoundTrip(r)
}

// highest implements guarded.
func (w *web) highest(ctx context.Context, resource int) (token uint64, ok bool) {
	if w.remote != nil {
		return w.remote.highest(ctx, resource)
	}
	s := w.running()
	if s == nil {
		return 0, false
	}
	return s.guard.Highest(resourceName(resource)), true
}

// read implements guarded.
func (w *web) read(resource int) (value string, token uint64, ok bool) {
	if w.remote != nil {
		return w.remote.read(resource)
	}
	return w.memory.read(resource)
}

// act implements guarded.
func (w *web) act(a Act) {
	switch {
	case a.Kind == Restart && (w.remote == nil || !a.Store):
		w.restart(a)
	case w.remote != nil && (a.Kind >= Restart || a.Way == writers):
		w.remote.act(a)
	case a.Way < writers:
		onWay(w.links[a.Way], a)
	}
}

// restart ends the service, and begins another one, which knows what it has stored.
func (w *web) restart(a Act) {
	w.replace(nil)
	for _, link := range w.links {
		link.Break()
	}
	time.Sleep(a.For)
	w.replace(newService(w))
}

// replace puts another service in the place of the one that serves. What that holds is
// forgotten, but for what is in Redis.
func (w *web) replace(by *service) {
	w.mu.Lock()
	was := w.serving
	w.serving = by
	if was != nil {
		w.life++
		for i := range w.Resources {
			w.record.to(i, died, 0)
			if w.remote == nil {
				w.record.to(i, forgot, 0)
			}
		}
	}
	if by != nil {
		by.life = w.life
	}
	w.mu.Unlock()
	if was != nil {
		was.end()
	}
}

// running is the service that serves; nil if none does.
func (w *web) running() *service {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.serving
}

func (w *web) close() {
	w.replace(nil)
	for i, c := range w.clients {
		c.CloseIdleConnections()
		w.links[i].Close()
	}
	if w.remote != nil {
		w.remote.close()
	}
	time.Sleep(settling)
}

package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	client "github.com/Shopify/toxiproxy/v2/client"

	"github.com/recount-io/recount/internal/loopback"
)

// Cut says what of a link is lost.
type Cut string

// The cuts. All but Refused leave the port open: a connection is accepted.
const (
	// Both: nothing passes in either direction. Connections stay open, old
	// and new ones, and are silent.
	Both Cut = "both"
	// Requests: what a client sends is lost, so nothing is executed.
	Requests Cut = "requests"
	// Replies: requests arrive and are executed; what the server answers is
	// lost.
	Replies Cut = "replies"
	// Refused: connections are closed, new ones are refused.
	Refused Cut = "refused"
	// Reset: connections are closed; new ones are accepted, and reset when
	// their first byte arrives. (toxiproxy can reset only connections that
	// were opened after it was asked to; the others end with an EOF.)
	Reset Cut = "reset"
)

// ErrCut says that there is no cut of that name.
var ErrCut = errors.New("network: unknown cut; use both, requests, replies, refused or reset")

// Link is a way to the store. Its methods may be called from several
// goroutines; calls on one link are done one after the other.
type Link struct {
	network  *Network
	name     string
	proxy    string // its name in toxiproxy
	upstream string
	addr     string // as seen from here
	listen   string // as seen from toxiproxy

	mu     sync.Mutex
	api    *client.Proxy
	shape  shape
	torn   bool // a change failed in the middle: shape is not what is there
	closed bool
}

// Addr is host:port, where the link accepts connections.
func (l *Link) Addr() string { return l.addr }

// Cut cuts the link. A delay and a bandwidth stay. Connections that are open
// stay so with Both, Requests and Replies, unless toxiproxy hangs (see the
// package); another cut before takes place first of all.
func (l *Link) Cut(c Cut) error {
	switch c {
	case Both, Requests, Replies, Refused, Reset:
		return l.change(func(s *shape) { s.cut = c })
	}
	return fmt.Errorf("%w, not %q", ErrCut, string(c))
}

// Delay holds what passes back for latency ± jitter (evenly distributed), in
// each direction: a round trip takes about twice the latency longer. Both are
// rounded up to milliseconds. Zero takes the delay off. Connections stay open.
func (l *Link) Delay(latency, jitter time.Duration) error {
	if latency < 0 || jitter < 0 || jitter > latency {
		return fmt.Errorf("network: delay of %s: latency %v ± %v goes below zero", l.name, latency, jitter)
	}
	return l.change(func(s *shape) { s.latency, s.jitter = milliseconds(latency), milliseconds(jitter) })
}

// Bandwidth lets so many kilobytes (1000 bytes) a second pass in each
// direction. Zero takes the limit off. Connections stay open.
func (l *Link) Bandwidth(kilobytes int) error {
	if kilobytes < 0 {
		return fmt.Errorf("network: bandwidth of %s: %d KB/s is below zero", l.name, kilobytes)
	}
	return l.change(func(s *shape) { s.rate = kilobytes })
}

// Heal takes everything off. When it returns, new connections pass unharmed.
// Connections that lived through a Both, Requests or Replies are closed, since
// bytes of theirs are lost; those that were only slowed live on.
func (l *Link) Heal() error {
	return l.change(func(s *shape) { *s = shape{} })
}

// Lead makes the link a way to another server, at upstream (host:port, as seen
// from toxiproxy). Connections are closed; whatever is on the link stays.
func (l *Link) Lead(upstream string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errClosed
	}
	if l.upstream == upstream {
		return nil
	}
	l.upstream = upstream
	if err := l.rebuild(l.shape, errElsewhere); err != nil {
		return fmt.Errorf("network: %s: %w", l.name, err)
	}
	return nil
}

// errElsewhere is why a link that leads elsewhere is made anew.
var errElsewhere = errors.New("another server needs a new proxy")

// change brings toxiproxy from one shape to the next: step by step, so that
// connections live on, or else by making the proxy again.
func (l *Link) change(edit func(*shape)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errClosed
	}
	next := l.shape
	edit(&next)
	if next == l.shape && !l.torn {
		return nil
	}
	err := errReset
	if l.torn {
		err = errTorn
	} else if next.cut != Reset {
		err = l.step(next)
	}
	if err != nil {
		err = l.rebuild(next, err)
	}
	if l.torn = err != nil; l.torn {
		return fmt.Errorf("network: %s: %w", l.name, err)
	}
	l.shape = next
	return nil
}

// errTorn is why a link is made anew after a change that failed.
var errTorn = errors.New("the change before it failed")

// errReset is why a Reset makes the proxy anew: only so do the connections that
// are open already end.
var errReset = errors.New("a reset needs a new proxy")

// errSilenced is why a link that lost bytes is made anew: its connections end.
var errSilenced = errors.New("connections that lost bytes need a new proxy")

// step changes only what differs.
func (l *Link) step(next shape) error {
	for _, d := range directions {
		if l.shape.silences(d) && !next.silences(d) {
			return errSilenced
		}
	}
	if !next.enabled() {
		if err := l.act(l.api.Disable); err != nil {
			return err
		}
	}
	for _, d := range directions {
		if l.shape.silences(d) {
			continue // nothing passes before the proxy is made anew
		}
		if err := l.replace(l.shape.toxics(d), next.toxics(d)); err != nil {
			return err
		}
	}
	if next.enabled() && !l.shape.enabled() {
		return l.act(l.api.Enable)
	}
	return nil
}

// replace takes off the last toxics, down to those that stay, and adds the new ones.
func (l *Link) replace(before, after []toxic) error {
	same := 0
	for same < len(before) && same < len(after) && before[same] == after[same] {
		same++
	}
	for _, t := range slices.Backward(before[same:]) {
		if err := l.act(func() error { return l.api.RemoveToxic(t.name()) }); err != nil {
			return err
		}
	}
	for _, t := range after[same:] {
		if err := l.add(t); err != nil {
			return err
		}
	}
	return nil
}

// rebuild deletes the proxy, which closes its connections, and makes it again
// at the same address: complete before it opens.
func (l *Link) rebuild(next shape, why error) error {
	if err := l.delete(); err != nil {
		return errors.Join(why, err)
	}
	if err := l.create(false); err != nil {
		return err
	}
	for _, d := range directions {
		if err := l.replace(nil, next.toxics(d)); err != nil {
			return err
		}
	}
	if !next.enabled() {
		return nil
	}
	return l.enable()
}

// open makes the proxy, at a port that it can close and open again.
func (l *Link) open() error {
	var err error
	for range 20 {
		port := strconv.Itoa(loopback.Candidate())
		l.addr, l.listen = net.JoinHostPort(l.network.host, port), net.JoinHostPort(l.network.listen, port)
		if err = l.create(true); err == nil {
			return l.verify()
		}
		if !taken(err) {
			break
		}
	}
	return fmt.Errorf("network: %s: cannot make a proxy: %w", l.name, err)
}

// verify finds an outside toxiproxy whose ports cannot be reached from here,
// as those of one in a container cannot.
func (l *Link) verify() error {
	conn, err := net.DialTimeout("tcp", l.addr, l.network.options.Timeout)
	if err != nil {
		err = fmt.Errorf("%w: it listens at %s, but that cannot be reached from here: %w; %s", ErrNoToxiproxy, l.addr, err, mend)
		return errors.Join(err, l.delete())
	}
	return conn.Close()
}

func (l *Link) create(enabled bool) error {
	proxy := l.network.api.NewProxy()
	proxy.Name, proxy.Listen, proxy.Upstream, proxy.Enabled = l.proxy, l.listen, l.upstream, enabled
	l.api = proxy
	return l.act(proxy.Save)
}

// enable opens the port again. Somebody else may hold it for a moment.
func (l *Link) enable() error {
	deadline := time.Now().Add(l.network.options.Timeout)
	for {
		err := l.act(l.api.Enable)
		if err == nil || !taken(err) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

func (l *Link) add(t toxic) error {
	return l.act(func() error {
		_, err := l.api.AddToxic(t.name(), t.kind, t.stream, 1, t.attributes())
		return err
	})
}

func (l *Link) delete() error {
	err := l.act(l.api.Delete)
	var answer *client.ApiError
	if errors.As(err, &answer) && answer.Status == 404 {
		return nil
	}
	return err
}

// Close deletes the link's proxy, which closes its connections. A link that is
// not closed is closed with its network. A second Close does nothing.
func (l *Link) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	if err := l.delete(); err != nil {
		return fmt.Errorf("cannot delete the proxy of %s: %w", l.name, err)
	}
	return nil
}

func (l *Link) act(f func() error) error {
	return act(context.Background(), l.network.options.Timeout, f)
}

// taken reports whether a port is in use. An error that came over HTTP is only
// text.
func taken(err error) bool {
	return err != nil && strings.Contains(err.Error(), syscall.EADDRINUSE.Error())
}

// milliseconds rounds up: toxiproxy knows nothing shorter.
func milliseconds(d time.Duration) time.Duration {
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}

package network

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	client "github.com/Shopify/toxiproxy/v2/client"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// Prefix begins the name of every proxy that a Network makes in a toxiproxy.
const Prefix = "recount-"

// ErrNoToxiproxy says that no toxiproxy can be used at the address given:
// wrong use, not a failure of the harness.
var ErrNoToxiproxy = errors.New("network: no toxiproxy to be used")

var errClosed = errors.New("network: closed already")

const (
	defaultTimeout = 2 * time.Second
	mend           = "start one there, or leave --toxiproxy out to use the one that is built in"
)

// Options of a Network.
type Options struct {
	// Addr is host:port of the HTTP interface of an outside toxiproxy. Empty:
	// one inside this process. An outside one must reach the store at the
	// address that Link is given, and its ports must be reachable from here.
	Addr string
	// TLS says that what stands behind the links speaks TLS. Probes then shake
	// hands first. The certificate is not verified: a probe asks whether
	// bytes pass, not whom they come from.
	TLS bool
	// TLSServerName is the name that probes ask for, if TLS.
	TLSServerName string
	// Timeout bounds each call to toxiproxy; 2 s if zero. A method makes
	// several calls, and ends within ten times this.
	Timeout time.Duration
	_       struct{}
}

// Network is a toxiproxy with the links that go through it. Its methods may be
// called from several goroutines.
type Network struct {
	options Options
	api     *client.Client
	addr    string // of the HTTP interface
	host    string // where the links listen, as seen from here
	listen  string // where the links listen, as seen from toxiproxy
	run     string // makes the names of this network's proxies its own

	server *http.Server // nil if toxiproxy is outside
	served chan error

	mu     sync.Mutex
	links  []*Link
	closed bool
}

// Start starts a toxiproxy in this process, or connects to an outside one; an
// error about the latter is an ErrNoToxiproxy. ctx bounds the start only. The
// caller calls Close.
func Start(ctx context.Context, o Options) (*Network, error) {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	n := &Network{options: o, host: "127.0.0.1", listen: "127.0.0.1", run: strings.ToLower(rand.Text()[:10])}
	n.addr = o.Addr
	if n.addr == "" {
		var err error
		if n.addr, err = n.serve(); err != nil {
			return nil, err
		}
	} else if err := n.place(n.addr); err != nil {
		return nil, err
	}
	n.api = client.NewClient(n.addr)
	said, err := call(ctx, o.Timeout, n.api.Version)
	if err == nil && !bytes.Contains(said, []byte(`"version"`)) {
		err = errors.New("something else answers")
	}
	if err != nil {
		err = fmt.Errorf("%w at %s: %w; %s", ErrNoToxiproxy, n.addr, err, mend)
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// serve starts toxiproxy's own HTTP interface with a server of ours: the
// library's Listen and Shutdown share a field without a lock.
func (n *Network) serve() (addr string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("network: toxiproxy cannot listen on a loopback port: %w", err)
	}
	// Some toxics log to standard error past the logger they are given.
	zerolog.SetGlobalLevel(zerolog.Disabled)
	inside := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	n.server = &http.Server{Handler: inside.Routes(), ReadHeaderTimeout: time.Minute}
	n.served = make(chan error, 1)
	go func() { n.served <- n.server.Serve(l) }()
	return l.Addr().String(), nil
}

// place finds out where the links of an outside toxiproxy listen.
func (n *Network) place(addr string) error {
	_, rest, found := strings.Cut(addr, "://")
	if !found {
		rest = addr
	}
	host, _, err := net.SplitHostPort(strings.TrimSuffix(rest, "/"))
	if err != nil {
		return fmt.Errorf("%w: %q is not host:port; %s", ErrNoToxiproxy, addr, mend)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		n.host, n.listen = host, "0.0.0.0"
	}
	return nil
}

// Link makes a new way to upstream (host:port, as seen from toxiproxy). name
// is for messages. The link keeps its address until the network is closed.
func (n *Network) Link(name, upstream string) (*Link, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, errClosed
	}
	l := &Link{network: n, name: name, proxy: fmt.Sprintf("%s%s-%d", Prefix, n.run, len(n.links)), upstream: upstream}
	n.links = append(n.links, l) // also one that fails: toxiproxy may make it later
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

// Close deletes every link, which closes its connections, and ends the
// toxiproxy if it is inside this process. A second Close does nothing.
func (n *Network) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil
	}
	n.closed = true
	var all []error
	for _, l := range n.links {
		all = append(all, l.Close())
	}
	if n.server != nil {
		all = append(all, n.server.Close())
		if err := <-n.served; !errors.Is(err, http.ErrServerClosed) {
			all = append(all, err)
		}
	}
	// The client of toxiproxy shares Go's default transport; it has no Close.
	http.DefaultClient.CloseIdleConnections()
	if err := errors.Join(all...); err != nil {
		return fmt.Errorf("network: %w", err)
	}
	return nil
}

// Sweep deletes from an outside toxiproxy every proxy that some Network made
// and, being killed, could not delete. It returns their number. Networks that
// are still in use lose their links: call it only when no run is going on.
func Sweep(ctx context.Context, addr string) (int, error) {
	api := client.NewClient(addr)
	proxies, err := call(ctx, defaultTimeout, api.Proxies)
	if err != nil {
		return 0, fmt.Errorf("%w at %s: %w", ErrNoToxiproxy, addr, err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	swept := 0
	for name, proxy := range proxies {
		if !strings.HasPrefix(name, Prefix) {
			continue
		}
		if err := act(ctx, defaultTimeout, proxy.Delete); err != nil {
			return swept, fmt.Errorf("network: cannot delete proxy %s: %w", name, err)
		}
		swept++
	}
	return swept, nil
}

// ErrHung says that toxiproxy did not answer in time. One that does not delete a proxy
// either hangs for good, and with it every link of its network: what is on them stays
// as it is. Close the network, and whatever still uses its links, and start another.
var ErrHung = errors.New("network: toxiproxy does not answer")

// call bounds one request to toxiproxy. The one that hangs ends by itself
// after half a minute, or with the server.
func call[T any](ctx context.Context, timeout time.Duration, f func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		value, err := f()
		answers <- answer{value, err}
	}()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	var none T
	select {
	case a := <-answers:
		return a.value, a.err
	case <-timer.C:
		return none, fmt.Errorf("%w for %v", ErrHung, timeout)
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}

// act is call for a request without a result.
func act(ctx context.Context, timeout time.Duration, f func() error) error {
	_, err := call(ctx, timeout, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

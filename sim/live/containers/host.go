package containers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/containerd/errdefs"

	"github.com/recount-io/recount/sim/live"
	"github.com/recount-io/recount/sim/live/docker"
	"github.com/recount-io/recount/sim/live/network"
)

// host is the container of one candidate.
type host struct {
	hosts *hosts
	name  string

	container *docker.Container // nil until the first start
	env       []string          // with which it was made

	mu    sync.Mutex
	links []*link
}

var _ live.Host = (*host)(nil)

// Host implements live.Hosts.
func (h *hosts) Host(_ context.Context, name string) (live.Host, error) {
	return &host{hosts: h, name: name}, nil
}

// Link implements live.Host. Servers that share a network share the link's ways, too.
func (h *host) Link(_ context.Context, server string) (live.Link, error) {
	n, addr, err := h.hosts.front(server)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.links {
		if l.network == n {
			return &way{link: l, addr: addr}, nil
		}
	}
	address, err := n.Reserve()
	if err != nil {
		return nil, err
	}
	l := &link{host: h, network: n, address: address}
	h.links = append(h.links, l)
	return &way{link: l, addr: addr}, nil
}

// Start implements live.Host. The container is the same as before, unless it is to
// have other variables.
func (h *host) Start(env []string, log *os.File) (live.Process, error) {
	ctx, cancel := context.WithTimeout(context.Background(), actTime)
	defer cancel()
	if h.container != nil && !slices.Equal(env, h.env) {
		if err := h.container.Remove(ctx); err != nil {
			return nil, err
		}
		h.container = nil
	}
	if h.container == nil {
		if err := h.create(ctx, env); err != nil {
			return nil, err
		}
	}
	return start(ctx, h.container, log)
}

// create makes the container, in all networks out of which no fault has taken it.
func (h *host) create(ctx context.Context, env []string) (err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.env = slices.Clone(env)
	if h.container, err = h.hosts.engine.Create(ctx, "candidate", docker.Spec{Image: h.hosts.image, Env: env, Network: h.hosts.outside, Attached: true}); err != nil {
		return err
	}
	for _, l := range h.links {
		if l.cut {
			continue
		}
		if err := l.network.Connect(ctx, h.container, l.address); err != nil {
			return err
		}
	}
	return nil
}

// Close implements live.Host.
func (h *host) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), actTime)
	defer cancel()
	var err error
	if h.container != nil {
		err = h.container.Remove(ctx)
	}
	for _, l := range h.links {
		l.network.Release(l.address)
	}
	return err
}

// link is a candidate's place in one network of the store.
type link struct {
	host    *host
	network *docker.Network
	address netip.Addr // of the candidate
	cut     bool       // guarded by the host
}

// way is a link as the way to one server.
type way struct {
	*link
	addr string // of the server
}

var _ live.Link = (*way)(nil)

// Addr implements live.Link.
func (w *way) Addr() string { return w.addr }

// Cut implements live.Link: docker network disconnect.
func (l *link) Cut(how network.Cut) error {
	if how != network.Both {
		return fmt.Errorf("containers: there is no cut %q: a container is in a network, or out of it", how)
	}
	return l.change(true, func(ctx context.Context) error { return l.network.Disconnect(ctx, l.host.container) })
}

// Heal implements live.Link: docker network connect, at the same address.
func (l *link) Heal() error {
	return l.change(false, func(ctx context.Context) error { return l.network.Connect(ctx, l.host.container, l.address) })
}

// change calls act unless the link is cut, or is not, already.
func (l *link) change(cut bool, act func(context.Context) error) error {
	l.host.mu.Lock()
	defer l.host.mu.Unlock()
	if l.cut == cut {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), actTime)
	defer cancel()
	if l.host.container != nil {
		if err := act(ctx); err != nil {
			return err
		}
	}
	l.cut = cut
	return nil
}

var errShape = errors.New("containers: Docker's networks cannot be made slow")

// Delay implements live.Link.
func (*link) Delay(time.Duration, time.Duration) error { return errShape }

// Bandwidth implements live.Link.
func (*link) Bandwidth(int) error { return errShape }

// Lead implements live.Link.
func (*link) Lead(string) error {
	return errors.New("containers: a network leads to one server only")
}

// nobody is a port at which no candidate listens.
const nobody = "1"

// Probe implements live.Link. It is asked from the other end: a candidate that is in the
// network refuses a connection at once, whether it is paused or not, and even an image
// with nothing but the candidate in it does.
func (l *link) Probe(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(l.address.String(), nobody))
	switch {
	case err == nil:
		return time.Since(began), conn.Close()
	case errors.Is(err, syscall.ECONNREFUSED):
		return time.Since(began), nil
	default:
		return 0, fmt.Errorf("containers: %s does not answer in network %s: %w", l.host.name, l.network.Name, err)
	}
}

// Close implements live.Link: the host closes it.
func (*link) Close() error { return nil }

// process is one start of a container.
type process struct {
	container *docker.Container
	pid       int
	streams   *docker.Streams
	stdout    *io.PipeReader
}

var _ live.Process = (*process)(nil)

// start starts the container.
func start(ctx context.Context, c *docker.Container, log *os.File) (live.Process, error) {
	own, err := os.OpenFile(log.Name(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	streams, err := c.Attach(ctx)
	if err != nil {
		return nil, errors.Join(err, own.Close())
	}
	read, write := io.Pipe()
	p := &process{container: c, streams: streams, stdout: read}
	go func() {
		_ = streams.Copy(write, own) // as far as it comes
		_ = own.Close()              // what could be written was
		_ = write.Close()            // never fails, by its documentation
	}()
	err = c.Start(ctx)
	if err == nil {
		var found docker.State
		found, err = c.State(ctx)
		p.pid = found.PID
	}
	if err != nil {
		streams.Close()
		return nil, err
	}
	return p, nil
}

// PID implements live.Process.
func (p *process) PID() int { return p.pid }

// Stdin implements live.Process.
func (p *process) Stdin() io.Writer { return p.streams.Input() }

// Stdout implements live.Process.
func (p *process) Stdout() io.Reader { return p.stdout }

// Kill implements live.Process: docker kill.
func (p *process) Kill() error { return p.send("SIGKILL") }

// Dismiss implements live.Process: docker kill --signal TERM.
func (p *process) Dismiss() error { return p.send("SIGTERM") }

func (p *process) send(signal string) error {
	ctx, cancel := context.WithTimeout(context.Background(), actTime)
	defer cancel()
	return ended(p.container.Kill(ctx, signal))
}

// Pause implements live.Process: docker pause.
func (p *process) Pause(ctx context.Context) error { return ended(p.container.Pause(ctx)) }

// Resume implements live.Process: docker unpause.
func (p *process) Resume(ctx context.Context) error { return ended(p.container.Unpause(ctx)) }

// ended makes an os.ErrProcessDone of what Docker says of a container that does not run.
func ended(err error) error {
	if errdefs.IsConflict(err) || errdefs.IsNotFound(err) {
		return fmt.Errorf("%w: %w", os.ErrProcessDone, err)
	}
	return err
}

// Wait implements live.Process.
func (p *process) Wait() (code int, how string) {
	p.streams.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := p.container.AwaitEnd(ctx); err != nil {
		return -1, err.Error()
	}
	found, err := p.container.State(ctx)
	if err != nil {
		return -1, err.Error()
	}
	code = found.ExitCode
	if code > signalled {
		return -1, "signal: " + syscall.Signal(code-signalled).String()
	}
	return code, fmt.Sprintf("exit status %d", code)
}

// signalled is what Docker adds to the number of the signal that ended a program.
const signalled = 128

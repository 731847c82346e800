package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/recount-io/recount/sim/live/network"
	"github.com/recount-io/recount/sim/live/redisserver"
	"github.com/recount-io/recount/sim/live/supervisor"
)

// processes are the hosts of the live world: candidates are processes of this machine,
// each with proxies of its own on its way to the store.
type processes struct {
	options    Options
	supervisor *supervisor.Supervisor

	mu      sync.Mutex
	network *network.Network // nil until there is a server
}

func openProcesses(o Options) (Hosts, error) {
	w, err := supervisor.Start(o.Self...)
	if err != nil {
		return nil, err
	}
	return &processes{options: o, supervisor: w}, nil
}

// World implements Hosts.
func (*processes) World() string { return "live" }

// Describe implements Hosts.
func (*processes) Describe(node string) (host, way string) {
	return "the process of " + node, "the proxy of " + node
}

// Server implements Hosts.
func (p *processes) Server(ctx context.Context) (redisserver.Server, error) {
	server, err := redisserver.Open(ctx, p.options.Redis, redisserver.Options{Supervisor: p.supervisor})
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.network == nil {
		p.network, err = network.Start(ctx, network.Options{
			Addr: p.options.Toxiproxy, TLS: server.Options().TLSConfig != nil, TLSServerName: server.TLSServerName(),
		})
	}
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return server, nil
}

// Arrange implements Hosts.
func (p *processes) Arrange(ctx context.Context, kind string) (redisserver.Arranged, error) {
	return redisserver.Arrange(ctx, kind, redisserver.Options{Supervisor: p.supervisor})
}

// Listen implements Hosts.
func (*processes) Listen() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }

// Host implements Hosts.
func (p *processes) Host(_ context.Context, name string) (Host, error) {
	h := &processHost{name: name, supervisor: p.supervisor, network: p.network, command: p.options.Command}
	if len(h.command) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("live: find this program: %w", err)
		}
		h.command = append([]string{self}, p.options.Self...)
	}
	if !p.options.strange() {
		return h, nil
	}
	marker, err := p.supervisor.Marker() // nobody knows what it starts
	h.marker = marker
	return h, err
}

// Close implements Hosts.
func (p *processes) Close() error {
	var err error
	if p.network != nil {
		err = p.network.Close()
	}
	return errors.Join(err, p.supervisor.Close())
}

// processHost is the host of one candidate.
type processHost struct {
	name       string
	command    []string
	supervisor *supervisor.Supervisor
	network    *network.Network
	links      []*network.Link
	marker     *supervisor.Marker // nil: the candidate starts nothing
}

// Link implements Host.
func (h *processHost) Link(_ context.Context, server string) (Link, error) {
	link, err := h.network.Link(fmt.Sprintf("%s-%d", h.name, len(h.links)), server)
	if err != nil {
		return nil, err
	}
	h.links = append(h.links, link)
	return link, nil
}

// Start implements Host. The program gets this one's environment besides, without
// what concerns the harness.
func (h *processHost) Start(env []string, log *os.File) (Process, error) {
	cmd := exec.Command(h.command[0], h.command[1:]...)
	own := slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "RECOUNT_") })
	cmd.Env = slices.Concat(own, env)
	if h.marker != nil {
		cmd.Env = append(cmd.Env, h.marker.Variable())
	}
	cmd.Stderr = log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, its, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = its
	started, err := h.supervisor.Start(cmd)
	_ = its.Close() // it has one of its own
	if err != nil {
		_ = stdout.Close() // nobody writes
		return nil, err
	}
	go func() {
		started.AwaitEnd()
		time.AfterFunc(lastWords, func() { _ = stdout.SetReadDeadline(time.Now()) }) // one that is closed is read no more
	}()
	return &process{Process: started, cmd: cmd, stdin: stdin, stdout: stdout}, nil
}

// lastWords is for how long what a candidate has printed is read after its end: what it
// has started may keep its standard output open for ever.
const lastWords = 2 * time.Second

// Close implements Host. The run has ended the candidate.
func (h *processHost) Close() error {
	var errs []error
	for _, link := range slices.Backward(h.links) {
		errs = append(errs, link.Close())
	}
	if h.marker != nil {
		errs = append(errs, h.marker.End())
	}
	return errors.Join(errs...)
}

// process is a candidate that is a process of this machine.
type process struct {
	*supervisor.Process
	cmd    *exec.Cmd
	stdin  io.Writer
	stdout *os.File
}

// Stdin implements Process.
func (p *process) Stdin() io.Writer { return p.stdin }

// Stdout implements Process.
func (p *process) Stdout() io.Reader { return p.stdout }

// Dismiss implements Process.
func (p *process) Dismiss() error { return p.Signal(syscall.SIGTERM) }

// Wait implements Process.
func (p *process) Wait() (code int, how string) {
	_ = p.Process.Wait() // its state says more than the error
	_ = p.stdout.Close() // it was read to its end
	return p.cmd.ProcessState.ExitCode(), p.cmd.ProcessState.String()
}

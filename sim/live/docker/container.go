package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/recount-io/recount/sim/live/supervisor"
)

// Spec is what a container is made of.
type Spec struct {
	Image      string
	Entrypoint []string // nil: the image's own
	Command    []string
	Env        []string
	Folder     string // of this machine, to be the same in the container, which works there; "" for none
	User       string // "" for the image's own

	// The container is in this network, at this address; or, without one, in
	// Docker's own, with one of its ports at a port of this machine's loopback
	// interface.
	Network  *Network
	Address  netip.Addr
	Port     int
	HostPort int

	Attached bool // somebody attaches before each start, writes to it, and ends with it

	_ struct{}
}

// Container is a container. Its methods may be called one after the other, but
// for Kill and State, which may be called at any time.
type Container struct {
	Name   string
	engine *Engine
}

// Create makes a container, which does not run yet. kind is a word for its name.
func (e *Engine) Create(ctx context.Context, kind string, s Spec) (*Container, error) {
	c := &Container{Name: supervisor.Name(kind), engine: e}
	if err := e.supervisor.Container(c.Name); err != nil {
		return nil, err
	}
	_, err := e.api().ContainerCreate(ctx, client.ContainerCreateOptions{
		Name: c.Name, HostConfig: s.host(), NetworkingConfig: s.networking(),
		Config: &container.Config{
			Image: s.Image, Entrypoint: s.Entrypoint, Cmd: s.Command, Env: s.Env, WorkingDir: s.Folder, User: s.User,
			ExposedPorts: s.exposed(), AttachStdin: s.Attached, AttachStdout: s.Attached, AttachStderr: s.Attached,
			OpenStdin: s.Attached, StdinOnce: s.Attached, Labels: labels(),
		},
	})
	if err != nil {
		err = fmt.Errorf("docker: cannot make a container of image %s: %w", s.Image, err)
		return nil, errors.Join(err, c.Remove(context.WithoutCancel(ctx)))
	}
	return c, nil
}

func (s *Spec) port() network.Port { return network.MustParsePort(strconv.Itoa(s.Port) + "/tcp") }

func (s *Spec) exposed() network.PortSet {
	if s.HostPort == 0 {
		return nil
	}
	return network.PortSet{s.port(): {}}
}

func (s *Spec) host() *container.HostConfig {
	h := &container.HostConfig{}
	if s.Folder != "" {
		h.Binds = []string{s.Folder + ":" + s.Folder}
	}
	if s.Network != nil {
		h.NetworkMode = container.NetworkMode(s.Network.Name)
	}
	if s.HostPort != 0 {
		// Only this machine reaches it, so it needs no password.
		here := netip.AddrFrom4([4]byte{127, 0, 0, 1})
		h.PortBindings = network.PortMap{s.port(): {{HostIP: here, HostPort: strconv.Itoa(s.HostPort)}}}
	}
	return h
}

func (s *Spec) networking() *network.NetworkingConfig {
	if s.Network == nil {
		return nil
	}
	return &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{s.Network.Name: at(s.Address)}}
}

// at is an endpoint with that address, or, if it is none, with one of Docker's choice.
func at(address netip.Addr) *network.EndpointSettings {
	if !address.IsValid() {
		return &network.EndpointSettings{}
	}
	return &network.EndpointSettings{IPAMConfig: &network.EndpointIPAMConfig{IPv4Address: address}}
}

// Start starts the container, at first or again after its end.
func (c *Container) Start(ctx context.Context) error {
	if _, err := c.engine.api().ContainerStart(ctx, c.Name, client.ContainerStartOptions{}); err != nil {
		return fmt.Errorf("docker: cannot start container %s: %w", c.Name, err)
	}
	return nil
}

// Streams are the standard streams of a container of Spec.Attached. What it says ends
// with it; if Input ends, or this process does, the container's input does.
type Streams struct {
	client.HijackedResponse
}

// Input is where the container reads.
func (s *Streams) Input() io.Writer { return s.Conn }

// Copy copies what the container says until its end.
func (s *Streams) Copy(out, err io.Writer) error {
	_, failed := stdcopy.StdCopy(out, err, s.Reader)
	return failed
}

// Attach attaches to a container that is about to be started. The caller closes the
// streams.
func (c *Container) Attach(ctx context.Context) (*Streams, error) {
	attached, err := c.engine.api().ContainerAttach(ctx, c.Name, client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return nil, fmt.Errorf("docker: cannot attach to container %s: %w", c.Name, err)
	}
	return &Streams{attached.HijackedResponse}, nil
}

// Pause stops all processes of the container (the freezer of its control group), and
// returns when Docker says so.
func (c *Container) Pause(ctx context.Context) error {
	if _, err := c.engine.api().ContainerPause(ctx, c.Name, client.ContainerPauseOptions{}); err != nil {
		return fmt.Errorf("docker: cannot pause container %s: %w", c.Name, err)
	}
	return c.expect(ctx, "paused", func(s State) bool { return s.Paused })
}

// Unpause lets a paused container go on.
func (c *Container) Unpause(ctx context.Context) error {
	if _, err := c.engine.api().ContainerUnpause(ctx, c.Name, client.ContainerUnpauseOptions{}); err != nil {
		return fmt.Errorf("docker: cannot unpause container %s: %w", c.Name, err)
	}
	return c.expect(ctx, "unpaused", func(s State) bool { return s.Running && !s.Paused })
}

// Kill sends a signal, such as "SIGKILL", to the container's first process, paused or
// not. It does not wait for what comes of it. The error is errdefs' conflict if the
// container does not run.
func (c *Container) Kill(ctx context.Context, signal string) error {
	if _, err := c.engine.api().ContainerKill(ctx, c.Name, client.ContainerKillOptions{Signal: signal}); err != nil {
		return fmt.Errorf("docker: cannot send %s to container %s: %w", signal, c.Name, err)
	}
	return nil
}

// AwaitEnd waits until the container does not run any more.
func (c *Container) AwaitEnd(ctx context.Context) error {
	return c.expect(ctx, "dead", func(s State) bool { return !s.Running })
}

// State is what Docker says of a container: docker inspect.
type State struct {
	Running, Paused bool
	PID             int // on this machine, while it runs
	ExitCode        int // of the last end
	Networks        []string
}

// State asks Docker.
func (c *Container) State(ctx context.Context) (State, error) {
	found, err := c.engine.api().ContainerInspect(ctx, c.Name, client.ContainerInspectOptions{})
	if err != nil {
		return State{}, fmt.Errorf("docker: cannot look at container %s: %w", c.Name, err)
	}
	var s State
	if is := found.Container.State; is != nil {
		s = State{Running: is.Running, Paused: is.Paused, PID: is.Pid, ExitCode: is.ExitCode}
	}
	if settings := found.Container.NetworkSettings; settings != nil {
		s.Networks = slices.Sorted(maps.Keys(settings.Networks))
	}
	return s, nil
}

// In reports whether the container is in the network.
func (s State) In(n *Network) bool { return slices.Contains(s.Networks, n.Name) }

// look is how often Docker is asked for a state that is to come.
const look = 10 * time.Millisecond

// expect waits until Docker says that the container is in a state.
func (c *Container) expect(ctx context.Context, what string, is func(State) bool) error {
	for {
		found, err := c.State(ctx)
		if err != nil {
			return err
		}
		if is(found) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("docker: container %s is not %s: %w", c.Name, what, context.Cause(ctx))
		case <-time.After(look):
		}
	}
}

// LastWords is the last line of the container's log, for an error; "" if there is none.
func (c *Container) LastWords(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	said, err := c.engine.api().ContainerLogs(ctx, c.Name, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Tail: "1"})
	if err != nil {
		return ""
	}
	defer func() { _ = said.Close() }() // only read
	var text strings.Builder
	_, _ = stdcopy.StdCopy(&text, &text, said) // as far as it comes
	return strings.TrimSpace(text.String())
}

// Remove removes the container, running or not, with its data.
func (c *Container) Remove(ctx context.Context) error {
	_, err := c.engine.api().ContainerRemove(ctx, c.Name, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("docker: cannot remove container %s: %w", c.Name, err)
	}
	return c.engine.supervisor.ForgetContainer(c.Name)
}

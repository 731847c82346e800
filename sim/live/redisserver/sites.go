package redisserver

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/containerd/errdefs"

	"github.com/recount-io/recount/internal/topology"
	"github.com/recount-io/recount/sim/live/docker"
)

// siteTime bounds what Docker does to one container, on a machine that has other
// things to do.
const siteTime = time.Minute

// sites are the containers of an arrangement. All of them are in one network in which
// they talk to each other, and each is besides in one in which clients reach it: what
// a client cannot reach is a matter of networks. The Sentinels share theirs.
type sites struct {
	engine *docker.Engine
	image  string
	back   *docker.Network

	mu        sync.Mutex
	all       []*site
	fronts    []*docker.Network
	sentinels *docker.Network
}

// arrangeContainers is Arrange in containers.
func arrangeContainers(ctx context.Context, kind string, o Options) (Arranged, error) {
	if kind != Sentinel {
		return nil, &Error{Kind: BadSpec, Text: fmt.Sprintf("there are no containers for a %s: use --world live for it", kind)}
	}
	s := &sites{engine: o.Engine, image: image()}
	if err := need(ctx, o.Engine, s.image); err != nil {
		return nil, err
	}
	a := &arranged{attendance: attendance{supervisor: o.Supervisor}, release: func() error { return nil }, kind: kind, sites: s}
	var err error
	if s.back, err = o.Engine.Network(ctx, "servers", true); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return arrange(ctx, a)
}

// Front implements Networked.
func (a *arranged) Front(addr string) (*docker.Network, string) {
	if a.sites == nil {
		return nil, ""
	}
	a.sites.mu.Lock()
	defer a.sites.mu.Unlock()
	for _, s := range a.sites.all {
		if fmt.Sprintf("%v:%d", s.inside, containerPort) == addr {
			return s.front, s.Outside()
		}
	}
	return nil, ""
}

// site finds a place for a server.
func (s *sites) site(ctx context.Context, program string) (topology.Site, error) {
	front, err := s.frontOf(ctx, program)
	if err != nil {
		return nil, err
	}
	one := &site{sites: s, program: program, front: front}
	if one.inside, err = s.back.Reserve(); err != nil {
		return nil, err
	}
	if one.outside, err = front.Reserve(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, one)
	return one, nil
}

// frontOf is the network for the clients of a server.
func (s *sites) frontOf(ctx context.Context, program string) (*docker.Network, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sentinel := program == topology.SentinelProgram
	if sentinel && s.sentinels != nil {
		return s.sentinels, nil
	}
	front, err := s.engine.Network(ctx, "redis", true)
	if err != nil {
		return nil, err
	}
	s.fronts = append(s.fronts, front)
	if sentinel {
		s.sentinels = front
	}
	return front, nil
}

// close removes the containers and the networks.
func (s *sites) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), siteTime)
	defer cancel()
	errs := each(s.all, func(one *site) error {
		if one.container == nil {
			return nil
		}
		return one.container.Remove(ctx)
	})
	networks := s.fronts
	if s.back != nil {
		networks = append(networks, s.back)
	}
	return errors.Join(append(errs, each(networks, func(n *docker.Network) error { return n.Remove(ctx) })...)...)
}

// each calls do for all at one time.
func each[V any](all []V, do func(V) error) []error {
	errs := make([]error, len(all))
	var waiting sync.WaitGroup
	for i, v := range all {
		waiting.Go(func() { errs[i] = do(v) })
	}
	waiting.Wait()
	return errs
}

// site is one container, made for the first start.
type site struct {
	sites           *sites
	program         string
	front           *docker.Network
	inside, outside netip.Addr
	container       *docker.Container
}

var _ topology.Site = (*site)(nil)

// Inside implements topology.Site.
func (s *site) Inside() string { return s.inside.String() }

// Outside implements topology.Site.
func (s *site) Outside() string { return fmt.Sprintf("%v:%d", s.outside, containerPort) }

// Port implements topology.Site.
func (s *site) Port() int { return containerPort }

// Start implements topology.Site.
func (s *site) Start(cmd *exec.Cmd) (topology.Process, error) {
	ctx, cancel := context.WithTimeout(context.Background(), siteTime)
	defer cancel()
	if s.container == nil {
		if err := s.create(ctx, cmd); err != nil {
			return nil, err
		}
	}
	streams, err := s.container.Attach(ctx)
	if err != nil {
		return nil, err
	}
	p := &contained{container: s.container, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		_ = streams.Copy(cmd.Stdout, cmd.Stderr) // as far as it comes
		streams.Close()
		ending, cancel := context.WithTimeout(context.Background(), siteTime)
		defer cancel()
		p.err = s.container.AwaitEnd(ending)
	}()
	if err := s.container.Start(ctx); err != nil {
		streams.Close()
		return nil, err
	}
	return p, nil
}

func (s *site) create(ctx context.Context, cmd *exec.Cmd) error {
	entry, command := []string{filepath.Base(s.program)}, cmd.Args[1:]
	if s.program == topology.SentinelProgram { // the same program, by another name
		entry, command = []string{topology.ServerProgram}, append(command, "--sentinel")
	}
	made, err := s.sites.engine.Create(ctx, "redis", docker.Spec{
		Image: s.sites.image, Entrypoint: entry, Command: command, Folder: cmd.Dir, Attached: true,
		User:    fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()), // or we could not remove what it writes there
		Network: s.sites.back, Address: s.inside,
	})
	if err != nil {
		return err
	}
	s.container = made
	return s.front.Connect(ctx, made, s.outside)
}

// Isolate implements topology.Site: clients still reach it.
func (s *site) Isolate(ctx context.Context) error { return s.sites.back.Disconnect(ctx, s.container) }

// Rejoin implements topology.Site.
func (s *site) Rejoin(ctx context.Context) error {
	found, err := s.container.State(ctx)
	if err != nil || found.In(s.sites.back) {
		return err
	}
	return s.sites.back.Connect(ctx, s.container, s.inside)
}

// contained is a server that runs in a container.
type contained struct {
	container *docker.Container
	ended     chan struct{}
	err       error // after ended
}

var _ topology.Process = (*contained)(nil)

// Name implements topology.Process.
func (p *contained) Name() string { return "container " + p.container.Name }

// Kill implements topology.Process.
func (p *contained) Kill() error {
	ctx, cancel := context.WithTimeout(context.Background(), siteTime)
	defer cancel()
	if err := p.container.Kill(ctx, "SIGKILL"); !errdefs.IsConflict(err) { // it has ended
		return err
	}
	return nil
}

// Pause implements topology.Process.
func (p *contained) Pause(ctx context.Context) error { return p.container.Pause(ctx) }

// Resume implements topology.Process.
func (p *contained) Resume(ctx context.Context) error { return p.container.Unpause(ctx) }

// Wait implements topology.Process.
func (p *contained) Wait() error {
	<-p.ended
	return p.err
}

// Done implements topology.Process.
func (p *contained) Done() <-chan struct{} { return p.ended }

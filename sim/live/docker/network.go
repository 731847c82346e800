package docker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/recount-io/recount/sim/live/supervisor"
)

// Network is a bridge network. A container that was disconnected gets its former address
// back. So its connections survive, as they survive a cable that is pulled.
type Network struct {
	Name    string
	Gateway netip.Addr // where this machine is in it

	engine *Engine
	subnet netip.Prefix

	mu    sync.Mutex
	taken map[netip.Addr]bool
}

// Network makes a network. kind is a word for its name. From one that is internal
// nothing but this machine is reached.
func (e *Engine) Network(ctx context.Context, kind string, internal bool) (*Network, error) {
	n := &Network{Name: supervisor.Name(kind), engine: e}
	if err := e.supervisor.Network(n.Name); err != nil {
		return nil, err
	}
	if err := e.places.settle(ctx, e, func(subnet netip.Prefix) error { return n.create(ctx, subnet, internal) }); err != nil {
		return nil, errors.Join(err, n.Remove(context.WithoutCancel(ctx)))
	}
	return n, nil
}

func (n *Network) create(ctx context.Context, subnet netip.Prefix, internal bool) error {
	n.subnet, n.Gateway = subnet, subnet.Addr().Next()
	n.taken = map[netip.Addr]bool{n.Gateway: true}
	_, err := n.engine.api().NetworkCreate(ctx, n.Name, client.NetworkCreateOptions{
		Driver: "bridge", Internal: internal, Labels: labels(),
		IPAM: &network.IPAM{Config: []network.IPAMConfig{{Subnet: subnet, Gateway: n.Gateway}}},
	})
	if err != nil {
		return fmt.Errorf("docker: cannot make a network: %w", err)
	}
	return nil
}

// Reserve returns an address for somebody in the network. Release gives it back.
func (n *Network) Reserve() (netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for a := n.Gateway.Next(); n.subnet.Contains(a.Next()); a = a.Next() { // the last one is for broadcasts
		if !n.taken[a] {
			n.taken[a] = true
			return a, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("docker: network %s has room for no more than %d containers", n.Name, len(n.taken)-1)
}

// Release gives an address back.
func (n *Network) Release(a netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.taken, a)
}

// Connect connects a container, running or not, at an address: docker network connect.
func (n *Network) Connect(ctx context.Context, c *Container, address netip.Addr) error {
	_, err := n.engine.api().NetworkConnect(ctx, n.Name, client.NetworkConnectOptions{Container: c.Name, EndpointConfig: at(address)})
	if err != nil {
		return fmt.Errorf("docker: cannot connect container %s to network %s: %w", c.Name, n.Name, err)
	}
	return nil
}

// Disconnect takes a container, running or not, out of the network, and returns when
// Docker does not list it there any more: docker network disconnect.
func (n *Network) Disconnect(ctx context.Context, c *Container) error {
	if _, err := n.engine.api().NetworkDisconnect(ctx, n.Name, client.NetworkDisconnectOptions{Container: c.Name}); err != nil {
		return fmt.Errorf("docker: cannot disconnect container %s from network %s: %w", c.Name, n.Name, err)
	}
	found, err := c.State(ctx)
	if err != nil {
		return err
	}
	if found.In(n) {
		return fmt.Errorf("docker: container %s is still in network %s", c.Name, n.Name)
	}
	return nil
}

// Remove removes the network, in which nobody is any more.
func (n *Network) Remove(ctx context.Context) error {
	_, err := n.engine.api().NetworkRemove(ctx, n.Name, client.NetworkRemoveOptions{})
	if err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("docker: cannot remove network %s: %w", n.Name, err)
	}
	return n.engine.supervisor.ForgetNetwork(n.Name)
}

// places are where networks can be: a container gets an address of ours only in a
// network whose addresses are ours to choose.
type places struct {
	mu   sync.Mutex
	pool netip.Prefix // of which Docker said that nobody needs it
	next netip.Prefix
}

const (
	// networkBits is the size of a network: for 61 containers.
	networkBits = 26
	// attempts is how many places are tried that others turn out to have.
	attempts = 300
)

// settle calls create with one place after the other until it is one that nobody has.
func (p *places) settle(ctx context.Context, e *Engine, create func(netip.Prefix) error) error {
	for range attempts {
		subnet, err := p.another(ctx, e)
		if err != nil {
			return err
		}
		if err = create(subnet); err == nil || !strings.Contains(strings.ToLower(err.Error()), "overlap") {
			return err
		}
	}
	return errors.New("docker: every place for a network is taken; remove networks that nobody needs: docker network prune")
}

// another is the next place, in a new pool after the last one of the old.
func (p *places) another(ctx context.Context, e *Engine) (netip.Prefix, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.pool.IsValid() || !p.pool.Contains(p.next.Addr()) {
		pool, err := e.pool(ctx)
		if err != nil {
			return netip.Prefix{}, err
		}
		p.pool, p.next = pool, netip.PrefixFrom(pool.Addr(), networkBits)
	}
	place := p.next
	p.next = netip.PrefixFrom(after(place), networkBits)
	return place, nil
}

// after is the first address behind a network.
func after(p netip.Prefix) netip.Addr {
	a := p.Addr().As4()
	n := uint32(a[0])<<24 | uint32(a[1])<<16 | uint32(a[2])<<8 | uint32(a[3])
	n += 1 << (32 - p.Bits())
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

// pool asks Docker for addresses that neither its networks nor this machine's routes
// have: it gives them to a network, which is removed again.
func (e *Engine) pool(ctx context.Context) (netip.Prefix, error) {
	n := &Network{Name: supervisor.Name("pool"), engine: e}
	if err := e.supervisor.Network(n.Name); err != nil {
		return netip.Prefix{}, err
	}
	_, err := e.api().NetworkCreate(ctx, n.Name, client.NetworkCreateOptions{Driver: "bridge", Internal: true, Labels: labels()})
	var found client.NetworkInspectResult
	if err == nil {
		found, err = e.api().NetworkInspect(ctx, n.Name, client.NetworkInspectOptions{})
	}
	if err = errors.Join(err, n.Remove(context.WithoutCancel(ctx))); err != nil {
		return netip.Prefix{}, fmt.Errorf("docker: find room for networks: %w", err)
	}
	for _, c := range found.Network.IPAM.Config {
		if c.Subnet.Addr().Is4() && c.Subnet.Bits() <= networkBits {
			return c.Subnet.Masked(), nil
		}
	}
	return netip.Prefix{}, fmt.Errorf("docker: the networks that this Docker makes are too small: a /%d is needed (default-address-pools in daemon.json)", networkBits)
}

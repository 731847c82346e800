package bubble

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/redisstore/scripts"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble/network"
	"github.com/recount-io/recount/sim/stage"
)

// onlooker is a program that only asks who leads. When the store's address leads to
// another server, its connections go on with the server before.
type onlooker struct {
	run   *run
	link  *network.Link
	store *redisstore.Store
	stop  context.CancelFunc
	done  sync.WaitGroup

	mu   sync.Mutex
	last string // who leads, as it was told last
}

// look starts an onlooker, where somebody wants to know whether it is told the truth.
func (r *run) look() {
	if r.untrue == nil || len(r.stores) > 1 || r.taps != nil {
		return
	}
	s := r.store
	o := &onlooker{run: r, link: network.NewLink(mix(r.plan.Seed, streamOf(drawLink, len(r.nodes), 0)), r.plan.Network, s.server)}
	way := o.link.Endpoint()
	store, err := redisstore.New(&redis.UniversalOptions{
		Addrs: []string{s.addr()}, Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) { return way.Dial(ctx) },
	}, redisstore.Options{Prefix: prefix})
	if err != nil {
		panic("bubble: " + err.Error()) // the options are constants
	}
	o.store = store
	ctx, stop := context.WithCancel(context.Background())
	o.stop = stop
	t := r.plan.Timings
	o.done.Go(func() {
		for leader, err := range elector.Observe(ctx, store, election, elector.ObserveOptions{Poll: t.Lease / 3, Retry: t.Lease / 15, RequestTimeout: max(t.Lease/6, 4*r.plan.Network.Latency)}) {
			o.mu.Lock()
			if o.last = leader.ID; err != nil {
				o.last = err.Error()
			}
			o.mu.Unlock()
		}
	})
	r.onlooker = o
}

// follow makes new connections lead to the store's primary.
func (o *onlooker) follow(s *store) {
	if o != nil {
		o.link.Retarget(s.server)
	}
}

// end ends the onlooker.
func (o *onlooker) end() {
	if o == nil {
		return
	}
	o.stop()
	o.done.Wait()
	_ = o.store.Close() // it has served
	o.link.Close()
}

// rest lets the candidates get on, and looks at the end whether a caller that asks hears
// the truth: who leads, and who competes.
func (r *run) rest(ctx context.Context) {
	if r.onlooker == nil {
		stage.Sleep(ctx, r.plan.Quiet)
		return
	}
	settles := 2 * r.plan.Timings.Lease
	stage.Sleep(ctx, r.plan.Quiet-settles)
	leads, lives := r.leader(), r.living()
	stage.Sleep(ctx, settles)
	if ctx.Err() != nil {
		return
	}
	if now := r.leader(); now == leads && now != "" {
		r.onlooker.mu.Lock()
		answer := r.onlooker.last
		r.onlooker.mu.Unlock()
		if answer != now {
			r.untrue(fmt.Sprintf("%s has led for two leases, and who asks is told %q", now, answer))
		}
	}
	listed := r.listed()
	for _, p := range lives {
		if p.node.running() == p && !slices.Contains(listed, p.node.name) {
			r.untrue(fmt.Sprintf("%s has competed for two leases, and is not among the candidates: %v", p.node.name, listed))
		}
	}
}

// leader is who has the lease on the primary.
func (r *run) leader() (id string) {
	r.store.server.With(func(do Do) {
		if parts := strings.SplitN(do("GET", r.store.keys.lease).Text, " ", 4); len(parts) == 4 {
			id = parts[3]
		}
	})
	return id
}

// listed are the nodes that the primary has heard of lately.
func (r *run) listed() (nodes []string) {
	k := r.store.keys
	r.store.server.With(func(do Do) {
		list := do("EVAL", scripts.Candidates(), "3", k.candidates, k.guard, prefix+"witness").Items
		for i := 0; i < len(list); i += 3 {
			nodes = append(nodes, sim.NodeOf(list[i].Text))
		}
	})
	return nodes
}

// living are the processes that run.
func (r *run) living() (all []*process) {
	for _, n := range r.nodes {
		if p := n.running(); p != nil {
			all = append(all, p)
		}
	}
	return all
}

package bubble

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/quorumstore"
	"github.com/recount-io/recount/elector/redisstore"
	api "github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble/network"
	"github.com/recount-io/recount/sim/stage"
)

// onlooker is a program that only asks: who leads, who competes, and which terms there
// were. When the address of a store leads to another server, its connections go on with the
// server before.
type onlooker struct {
	run   *run
	links []*network.Link // to each store
	nodes []*redisstore.Store
	store survey
	stop  context.CancelFunc
	done  sync.WaitGroup

	mu      sync.Mutex
	last    string            // who leads, as it was told last
	renewed map[uint64]string // nodes, by the tokens of leases that they have renewed
	tries   map[uint64]int    // attempts of all before that, by those tokens
	tried   int               // attempts of all
	forgot  bool              // a server may have lost what it knew
}

// survey is a store that can be asked for all of that.
type survey interface {
	api.Store
	api.CandidateLister
	api.TermLister
}

// look starts an onlooker, where somebody wants to know whether it is told the truth.
func (r *run) look() {
	if r.untrue == nil || r.taps != nil {
		return
	}
	o := &onlooker{run: r, renewed: map[uint64]string{}, tries: map[uint64]int{}}
	for i, s := range r.stores {
		link := network.NewLink(mix(r.plan.Seed, streamOf(drawLink, len(r.nodes), uint64(i))), r.plan.Network, s.server)
		way := link.Endpoint()
		node, err := redisstore.New(&redis.UniversalOptions{
			Addrs: []string{s.addr()}, Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) { return way.Dial(ctx) },
		}, redisstore.Options{Prefix: prefix})
		if err != nil {
			panic("bubble: " + err.Error()) // the options are constants
		}
		o.links, o.nodes = append(o.links, link), append(o.nodes, node)
	}
	o.store = o.nodes[0]
	if len(o.nodes) > 1 {
		var nodes []api.Store
		for _, node := range o.nodes {
			nodes = append(nodes, node)
		}
		q, err := quorumstore.New(nodes, quorumstore.Options{Now: r.recorder.Now})
		if err != nil {
			panic("bubble: " + err.Error())
		}
		o.store = q
	}
	ctx, stop := context.WithCancel(context.Background())
	o.stop = stop
	t := r.plan.Timings
	o.done.Go(func() {
		for leader, err := range elector.Observe(ctx, o.store, election, elector.ObserveOptions{Poll: t.Lease / 3, Retry: t.Lease / 15, RequestTimeout: max(t.Lease/6, 4*r.plan.Network.Latency)}) {
			o.mu.Lock()
			if o.last = leader.ID; err != nil {
				o.last = err.Error()
			}
			o.mu.Unlock()
		}
	})
	o.done.Go(func() {
		for stage.Sleep(ctx, t.Lease/2) {
			o.askForTerms(ctx)
		}
	})
	r.onlooker = o
}

// see notes who has renewed a lease: the nodes of a majority agree on its token by then.
func (o *onlooker) see(e history.Event) {
	if o == nil || e.Kind != history.Invoke && e.Kind != history.Ok {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case e.Call == history.Acquire && e.Kind == history.Invoke:
		o.tried++
	case e.Call == history.Renew && e.Kind == history.Ok && o.renewed[e.Token] == "":
		o.renewed[e.Token], o.tries[e.Token] = e.Node, o.tried
	}
}

// forgets notes that a server may have lost what it knew.
func (o *onlooker) forgets() {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.forgot = true
}

// remembered is after how many attempts a term must still be known. Each may leave a term on
// a node, and nodes remember a hundred.
const remembered = 50

// terms are those that the store has to know, by their tokens; nil if it may have
// forgotten some.
func (o *onlooker) terms() map[uint64]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.forgot {
		return nil
	}
	terms := maps.Clone(o.renewed)
	maps.DeleteFunc(terms, func(token uint64, _ string) bool { return o.tried-o.tries[token] > remembered })
	return terms
}

// askForTerms asks for past terms, and looks whether all are there of which a lease was
// renewed before, as long as no server has forgotten anything.
func (o *onlooker) askForTerms(ctx context.Context) {
	terms := o.terms()
	limited, cancel := context.WithTimeout(ctx, o.run.plan.Timings.Lease)
	defer cancel()
	past, err := o.store.History(limited, election, 100)
	if err != nil || o.terms() == nil {
		return
	}
	for _, p := range past {
		delete(terms, p.Token)
	}
	for _, token := range slices.Sorted(maps.Keys(terms)) {
		o.run.untrue(OfTerms, fmt.Sprintf("%s has renewed token %d, and the history has no such term: %v", terms[token], token, past))
	}
}

// follow makes new connections lead to the store's primary.
func (o *onlooker) follow(s *store) {
	if o != nil {
		o.links[s.index].Retarget(s.server)
	}
}

// end ends the onlooker.
func (o *onlooker) end() {
	if o == nil {
		return
	}
	o.stop()
	o.done.Wait()
	for i, node := range o.nodes {
		_ = node.Close() // it has served
		o.links[i].Close()
	}
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
			r.untrue(OfLeader, fmt.Sprintf("%s has led for two leases, and who asks is told %q", now, answer))
		}
	}
	listed, err := r.onlooker.store.Candidates(ctx, election)
	for range 2 { // connections may have to be opened first
		if err != nil {
			listed, err = r.onlooker.store.Candidates(ctx, election)
		}
	}
	if err != nil {
		r.untrue(OfCandidates, fmt.Sprintf("all is healed, and who asks for the candidates is told: %v", err))
		return
	}
	for _, p := range lives {
		is := func(c api.Candidate) bool { return sim.NodeOf(c.ID) == p.node.name }
		if p.node.running() == p && !slices.ContainsFunc(listed, is) {
			r.untrue(OfCandidates, fmt.Sprintf("%s has competed for two leases, and is not among the candidates: %v", p.node.name, listed))
		}
	}
}

// leader is who has the lease, on a majority of the stores.
func (r *run) leader() string {
	has := map[string]int{}
	for _, s := range r.stores {
		s.server.With(func(do Do) {
			if parts := strings.SplitN(do("GET", s.keys.lease).Text, " ", 4); len(parts) == 4 {
				has[parts[3]]++
			}
		})
	}
	for id, n := range has {
		if n > len(r.stores)/2 {
			return id
		}
	}
	return ""
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

package jobs

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/sim/bubble/clock"
	"github.com/recount-io/recount/sim/bubble/gate"
	"github.com/recount-io/recount/sim/bubble/network"
)

// host is a machine that starts the jobs.
type host struct {
	Host
	run   *run
	index int
	name  string
	link  *network.Link

	// Guarded by the run.
	lives []*life
	born  int
}

// life is a process of a host.
type life struct {
	host     *host
	gate     gate.Gate
	clock    clock.Clock
	endpoint *network.Endpoint
	store    *redisstore.Store
	calls    sync.WaitGroup
	ctx      context.Context // of all its calls
	stop     context.CancelFunc
	gone     chan struct{} // closed when it was killed

	// Guarded by the run.
	dead  bool
	still bool
	moved time.Duration // when it went on after it stood still
	stood int           // how often it has
}

// rate is that of the host's clock.
func (h *host) rate() float64 { return 1 + h.Skew*h.run.drift() }

// apart is by how much what happens to the locks of one host differs in time. What is due
// at one moment happens in an order that differs from run to run.
func (r *run) apart(l *lock) time.Duration {
	return time.Duration(slices.Index(r.locks, l)) * 13 * time.Microsecond
}

// starts makes the host start its jobs.
func (h *host) starts(tick int) {
	r := h.run
	var all sync.WaitGroup
	l := h.process()
	for job := range r.Jobs {
		time.Sleep(r.apart(r.locks[job]))
		c := newCall(l, r.locks[job], tick)
		l.calls.Add(1)
		all.Go(func() {
			defer l.calls.Done()
			c.make()
		})
	}
	if h.Fresh {
		go func() {
			all.Wait()
			l.close()
		}()
	}
}

// process is the one that makes the next calls.
func (h *host) process() *life {
	r := h.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(h.lives); n > 0 && !h.Fresh && !h.lives[n-1].dead {
		return h.lives[n-1]
	}
	h.born++
	l := &life{host: h, endpoint: h.link.Endpoint(), gone: make(chan struct{}), moved: notYet}
	l.clock = clock.New(func() time.Duration { return r.now() + h.Uptime }, h.rate(), &l.gate, r.Number+uint64(h.index)<<56+uint64(h.born)<<48) //nolint:gosec // a few hosts
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.store = r.storeOn(l.endpoint, h.Pool)
	h.lives = append(h.lives, l)
	return l
}

// alive are the processes of the host that live.
func (h *host) alive() (all []*life) {
	h.run.mu.Lock()
	defer h.run.mu.Unlock()
	for _, l := range h.lives {
		if !l.dead {
			all = append(all, l)
		}
	}
	return all
}

// close ends a process that has nothing more to do.
func (l *life) close() {
	l.calls.Wait()
	_ = l.store.Close() // nobody uses it any more
	l.stop()
}

// kill ends the host's processes without warning.
func (h *host) kill() (any bool) {
	for _, l := range h.alive() {
		any = true
		h.run.mu.Lock()
		l.dead = true
		h.run.mu.Unlock()
		close(l.gone)
		l.endpoint.Vanish()
		l.stop()
		l.gate.Open()
		if !h.Fresh {
			go l.close()
		}
	}
	return any
}

// stands makes the host stand still for a while.
func (h *host) stands(d time.Duration) (any bool) {
	all := h.alive()
	for _, l := range all {
		l.stand(true)
		l.gate.Close()
		l.endpoint.Stand()
	}
	time.Sleep(d)
	for _, l := range all {
		l.endpoint.GoOn()
		l.gate.Open()
		l.stand(false)
	}
	return len(all) > 0
}

// stand notes that the process stands still, or goes on.
func (l *life) stand(still bool) {
	r := l.host.run
	r.mu.Lock()
	defer r.mu.Unlock()
	l.still, l.moved = still, r.now()
	if still {
		l.stood++
	}
}

// cancels cancels the host's calls.
func (h *host) cancels() (any bool) {
	r := h.run
	r.mu.Lock()
	var all []*call
	for _, c := range r.calls {
		if c.life.host == h && c.returned == notYet {
			all = append(all, c)
		}
	}
	r.mu.Unlock()
	for _, c := range all {
		c.cancel()
	}
	return len(all) > 0
}

// closes ends the host's processes, in peace.
func (h *host) closes() {
	for _, l := range h.alive() {
		if !h.Fresh {
			l.close()
		}
	}
}

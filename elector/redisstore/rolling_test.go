package redisstore_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/drawn"
	"github.com/recount-io/recount/internal/topology"
)

// release is what a candidate runs. Its times are in percent of the test's lease; 0 is the
// default.
type release struct {
	redisstore.Options
	lacks                 string // a command that its user of Redis may not use
	foreign               bool   // the store uses a client of the program's own
	lease, renew, longest int
}

// rolling is a change from one release to another. Unprotected stores survive no loss of
// keys, and neither do leases that are longer than others were told: then none is deleted.
type rolling struct {
	what     string
	from, to release
	lossless bool
}

var rollings = []rolling{
	{"the right to INFO", release{}, release{lacks: "info"}, false},
	{"Replicas", release{}, release{Options: redisstore.Options{Replicas: 1, Confirm: 60 * time.Millisecond}}, false},
	{"Lease, told before", release{longest: 150}, release{lease: 150, longest: 150}, false},
	{"everything", release{longest: 150}, release{Options: redisstore.Options{Replicas: 1, Confirm: 60 * time.Millisecond, Expire: time.Minute, Audit: true}, lacks: "info", foreign: true, lease: 150, longest: 150, renew: 50}, false},
	{"the right to PUBSUB", release{}, release{lacks: "pubsub"}, false},
	{"Confirm", release{Options: redisstore.Options{Replicas: 1, Confirm: 60 * time.Millisecond}}, release{Options: redisstore.Options{Replicas: 1, Confirm: 20 * time.Millisecond}}, false},
	{"Fsynced", release{}, release{Options: redisstore.Options{Fsynced: true, Confirm: 60 * time.Millisecond}}, false},
	{"Expire", release{}, release{Options: redisstore.Options{Expire: time.Minute}}, false},
	{"Audit", release{}, release{Options: redisstore.Options{Audit: true}}, false},
	{"Unprotected", release{}, release{Options: redisstore.Options{Unprotected: true}}, true},
	{"the client", release{}, release{foreign: true}, false},
	{"Lease, not told", release{}, release{lease: 150}, true},
	{"LongestLease", release{}, release{longest: 200}, false},
	{"Renew", release{renew: 50}, release{renew: 12}, false},
}

// mortal is a candidate that can be killed: then none of its calls reaches the store any
// more, and it tells nothing.
type mortal struct {
	*redisstore.Store
	*elector.Elector
	stage *stage
	runs  release
	stop  context.CancelFunc
	ended chan struct{}

	mu   sync.Mutex
	dead bool
	last elector.Event // of its terms
}

// mortalStore is the store of a mortal.
type mortalStore struct {
	*redisstore.Store
	of *mortal
}

var errKilled = errors.New("the candidate was killed")

func (s mortalStore) alive() error {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if s.of.dead {
		return errKilled
	}
	return nil
}

func (s mortalStore) Acquire(ctx context.Context, a store.Attempt) (store.Grant, error) {
	if err := s.alive(); err != nil {
		return store.Grant{}, err
	}
	return s.Store.Acquire(ctx, a)
}

func (s mortalStore) Renew(ctx context.Context, l store.Lease) error {
	if err := s.alive(); err != nil {
		return err
	}
	return s.Store.Renew(ctx, l)
}

func (s mortalStore) Release(ctx context.Context, l store.Lease) error {
	if err := s.alive(); err != nil {
		return err
	}
	return s.Store.Release(ctx, l)
}

func (m *mortal) tell(ev elector.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return
	}
	if leads(ev) || ev.Kind == event.Deposed {
		m.last = ev
	}
	m.stage.add(ev)
}

// kill ends the candidate without a release. Its term is over then.
func (m *mortal) kill() {
	m.mu.Lock()
	m.dead = true
	if ev := m.last; leads(ev) {
		ev.Kind, ev.At = event.Deposed, elector.SystemClock().Now()
		m.stage.add(ev)
	}
	m.mu.Unlock()
	m.stop()
}

// run starts a candidate of a release.
func (s *stage) run(server *topology.Server, r release, lease time.Duration) *mortal {
	s.t.Helper()
	opts := redis.UniversalOptions{Addrs: []string{server.Addr}}
	if r.lacks != "" {
		opts.Username, opts.Password = "without-"+r.lacks, "any"
	}
	m := &mortal{stage: s, runs: r, ended: make(chan struct{})}
	if r.foreign {
		client := redis.NewClient(opts.Simple())
		s.t.Cleanup(func() { _ = client.Close() })
		m.Store = topology.Must[*redisstore.Store](s.t)(redisstore.FromClient(client, r.Options))
		s.t.Cleanup(func() { _ = m.Store.Close() })
	} else {
		m.Store = openStore(s.t, &opts, r.Options)
	}
	of := func(percent int) time.Duration { return lease * time.Duration(percent) / 100 }
	m.Elector = topology.Must[*elector.Elector](s.t)(elector.New(mortalStore{m.Store, m}, elector.Config{
		Election: billing, ID: "c", Lease: of(cmp.Or(r.lease, 100)), Renew: of(r.renew), LongestLease: of(r.longest),
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), OnEvent: m.tell,
	}))
	ctx, stop := context.WithCancel(s.ctx)
	m.stop = stop
	go func() {
		defer close(m.ended)
		if err := m.Run(ctx); err != nil && !errors.Is(err, errKilled) {
			s.t.Errorf("%s: %v", m.ID(), err)
		}
	}()
	s.t.Cleanup(func() { m.stop(); <-m.ended })
	return m
}

// roll changes three candidates one by one from one release to the other, and back. Around
// each change keys are deleted, and others than the leader are started anew, so that all ask.
// Then the leader is killed. Each time somebody must lead within three leases.
func (c rolling) roll(s *stage, server *topology.Server, lease, slack time.Duration, keys []string, run int) {
	s.t.Helper()
	var all [3]*mortal
	for i := range all {
		all[i] = s.run(server, c.from, lease)
	}
	s.await(0, "the first leader", elected)
	lose := func(key int) {
		if !c.lossless {
			ok(s.t, server.Client().Del(s.ctx, keys[key%len(keys)]).Err())
		}
	}
	longest := lease * time.Duration(max(100, c.from.lease, c.to.lease, c.from.longest, c.to.longest)) / 100
	led := func(step int, change func()) {
		began, skip := elector.SystemClock().Now(), s.seen()
		change()
		ev := s.await(skip, "a leader after a change", leads)
		if took := ev.At - began; took > 3*longest+slack {
			s.t.Errorf("step %d: nobody led for %v, and the longest lease is %v\n%s", step, took, longest, s)
		}
	}
	for step := range 2 * len(all) {
		i, next := step%len(all), []release{c.to, c.from}[step/len(all)]
		if lose(run + step); step%2 == 0 {
			lose(0) // the lease
		}
		led(step, func() {
			if step%2 == 0 {
				all[i].kill()
			} else {
				all[i].stop()
				<-all[i].ended
			}
			all[i] = s.run(server, next, lease)
			for j, m := range all {
				if j != i && !m.IsLeader() {
					m.kill()
					all[j] = s.run(server, m.runs, lease)
				}
			}
		})
		lose(run + 3*step + 1)
		led(step, func() {
			if j := slices.IndexFunc(all[:], func(m *mortal) bool { return m.IsLeader() }); j >= 0 {
				all[j].kill()
				all[j] = s.run(server, all[j].runs, lease)
			}
		})
	}
	s.demandOne()
}

// Candidates of one election may differ in their options and rights, and change them one
// by one. Whatever is deleted meanwhile, and whichever candidate is killed, two never lead at one time,
// and somebody leads within three leases. RECOUNT_CASES says how often each change is
// made, as in 20. Without it the first four are made once, in short leases, and a busy
// machine gets some seconds more.
func TestRollingChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("each change takes some leases")
	}
	_, runs, err := drawn.Cases(1, 1)
	if err != nil {
		t.Fatal(err)
	}
	changes, lease, slack := rollings[:4], 400*time.Millisecond, 3*time.Second
	if drawn.Asked() {
		changes, lease, slack = rollings, time.Second, 100*time.Millisecond
	}
	for _, c := range changes {
		for n := range runs {
			t.Run(c.what, func(t *testing.T) {
				t.Parallel()
				ctx, l := topology.For(t, topology.ServerProgram)
				r := topology.Must[*topology.Replicated](t)(l.Replicated(ctx, min(1, c.to.Replicas), topology.Config{}))
				if c.to.Fsynced && r.Primary.Client().Do(ctx, "WAITAOF", 0, 0, 0).Err() != nil {
					t.Skip("this Redis is older than 7.2: it has no WAITAOF")
				}
				if c.to.lacks != "" {
					ok(t, r.Primary.Client().Do(ctx, "ACL", "SETUSER", "without-"+c.to.lacks, "on", ">any", "~*", "&*", "+@all", "-"+c.to.lacks).Err())
				}
				store := direct(t, r.Primary, "", redisstore.Options{})
				prime(ctx, t, store, billing)
				c.roll(newStage(t, ctx), r.Primary, lease, slack, append(store.Keys(billing), store.Witness()), int(n))
			})
		}
	}
}

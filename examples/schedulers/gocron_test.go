package schedulers

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/joblock"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/topology"
)

// job is the name of a job, as people call jobs.
const job = "nightly report {100 %}"

// quiet is a log that nobody reads.
var quiet = slog.New(slog.DiscardHandler)

// outcome is what became of the job on one host at one time.
type outcome struct {
	host  string
	token uint64 // 0: it did not run
	err   error  // why
}

// host is one of those that start a job at one moment.
type host struct {
	id        string
	scheduler gocron.Scheduler
	token     func() uint64 // of the job that runs here
	stop      func()
}

// open returns a store of the server's.
func open(t *testing.T, server *topology.Server) *redisstore.Store {
	t.Helper()
	store, err := redisstore.New(&redis.UniversalOptions{Addrs: []string{server.Addr}}, redisstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// schedule makes a host with a scheduler.
func schedule(t *testing.T, id string, token func() uint64, option gocron.SchedulerOption) *host {
	t.Helper()
	s, err := gocron.NewScheduler(option)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	h := &host{id: id, scheduler: s, token: token}
	h.stop = func() {
		if err := s.Shutdown(); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	return h
}

// once starts the job on all hosts at one moment and returns who ran it.
func once(t *testing.T, hosts []*host, outcomes chan outcome, moment time.Time) (ran outcome) {
	t.Helper()
	for _, h := range hosts {
		_, err := h.scheduler.NewJob(
			gocron.OneTimeJob(gocron.OneTimeJobStartDateTime(moment)),
			gocron.NewTask(func() { outcomes <- outcome{h.id, h.token(), nil} }),
			gocron.WithName(job),
			gocron.WithEventListeners(gocron.AfterLockError(func(_ uuid.UUID, _ string, err error) { outcomes <- outcome{h.id, 0, err} })),
		)
		if err != nil {
			t.Fatal(err)
		}
	}
	times := 0
	for range hosts {
		o := <-outcomes
		held := new(elector.HeldError)
		switch {
		case o.token > 0:
			ran, times = o, times+1
		case !errors.As(o.err, &held) && !errors.Is(o.err, elector.ErrNotLeading):
			t.Errorf("%s: %v, want an error that says who else runs the job", o.host, o.err)
		}
	}
	if times != 1 {
		t.Errorf("the job ran %d times at one moment, want once", times)
	}
	return ran
}

// Three schedulers start a job at one moment, several times. It runs once each time, and each
// run has a larger token.
func TestJobRunsOncePerTime(t *testing.T) {
	server := topology.Single(t)
	var hosts []*host
	for _, id := range []string{"a", "b", "c"} {
		locker, err := NewLocker(open(t, server), elector.Config{Election: "jobs", ID: id, Lease: time.Second, Logger: quiet}, joblock.Options{AtLeast: 2 * time.Second, Wait: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		h := schedule(t, id, func() uint64 { return locker.Term(job).Token() }, gocron.WithDistributedLocker(locker))
		defer h.stop()
		hosts = append(hosts, h)
	}
	observer, outcomes, last := open(t, server), make(chan outcome), uint64(0)
	for range 3 {
		leader, err := observer.Leader(t.Context(), electionOf("jobs", job))
		if err != nil {
			t.Fatal(err)
		}
		ran := once(t, hosts, outcomes, time.Now().Add(leader.Remaining+time.Second)) // after the least time of the run before
		if ran.token <= last {
			t.Errorf("a run has token %d, and the one before it %d", ran.token, last)
		}
		last = ran.token
	}
}

// asked is an Elector that tells how it answers.
type asked struct {
	Leader
	host     string
	outcomes chan outcome
}

func (a asked) IsLeader(ctx context.Context) error {
	err := a.Leader.IsLeader(ctx)
	if err != nil {
		a.outcomes <- outcome{a.host, 0, err}
	}
	return err
}

// Of three schedulers the one that leads runs the job. When it is stopped, another one does.
func TestLeaderRunsJobs(t *testing.T) {
	server := topology.Single(t)
	leads, outcomes := make(chan *host), make(chan outcome)
	var hosts []*host
	for _, id := range []string{"a", "b", "c"} {
		var h *host
		var token atomic.Uint64
		store, ctx := open(t, server), context.WithoutCancel(t.Context())
		ctx, resign := context.WithCancel(ctx)
		e, err := elector.New(store, elector.Config{Election: "schedulers", ID: id, Lease: 3 * time.Second, Logger: quiet, OnStarted: func(ctx context.Context, t *elector.Term) {
			token.Store(t.Token())
			leads <- h
			<-ctx.Done()
		}})
		if err != nil {
			t.Fatal(err)
		}
		h = schedule(t, id, token.Load, gocron.WithDistributedElector(asked{Leader{e}, id, outcomes}))
		ended, stop := make(chan error, 1), h.stop
		go func() { ended <- e.Run(ctx) }()
		h.stop = func() {
			stop()
			resign()
			if err := <-ended; err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}
		hosts = append(hosts, h)
	}
	last := uint64(0)
	for len(hosts) > 0 {
		leader := <-leads
		ran := once(t, hosts, outcomes, time.Now().Add(time.Second))
		if ran.host != leader.id || ran.token <= last {
			t.Errorf("%s ran the job with token %d after %d; %s leads", ran.host, ran.token, last, leader.id)
		}
		last = ran.token
		leader.stop()
		for i, h := range hosts {
			if h == leader {
				hosts = append(hosts[:i], hosts[i+1:]...)
				break
			}
		}
	}
}

// Each job has an election of its own whose name every store takes, whatever the job is called.
func TestEveryJobHasItsElection(t *testing.T) {
	long := strings.Repeat("github.com/somebody/something.", 10)
	names := []string{
		job, "nightly report", "nightly%20report", "nightly/report", "", " ", "%", "%-", "a\x00", "a\xff", "a\u200b", "über", "{a}", "a\n",
		"github.com/a/b.(*Reports).Nightly-fm", "main.main.func1", long + "a", long + "b", strings.Repeat(" ", 500), strings.Repeat(" ", 501),
	}
	seen := map[string]string{}
	for _, name := range names {
		election := electionOf("jobs", name)
		if err := store.CheckName(election); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if other, twice := seen[election]; twice {
			t.Errorf("%q and %q share the election %s", name, other, election)
		}
		seen[election] = name
	}
}

// Settings that do not fit together are refused when the program starts, and not each time.
func TestLockerRefusesSettings(t *testing.T) {
	wrong := new(elector.ConfigError)
	if _, err := NewLocker(open(t, topology.Single(t)), elector.Config{Election: "jobs", Lease: time.Second, Renew: time.Second}, joblock.Options{AtLeast: time.Second}); !errors.As(err, &wrong) {
		t.Errorf("%v, want a ConfigError", err)
	}
	if _, err := NewLocker(open(t, topology.Single(t)), elector.Config{Election: "jobs"}, joblock.Options{}); err == nil || !strings.Contains(err.Error(), "AtLeast") {
		t.Errorf("without AtLeast: %v", err)
	}
	if err := (Leader{}).IsLeader(t.Context()); err == nil || !strings.Contains(err.Error(), "no Elector") {
		t.Errorf("a Leader without an Elector: %v", err)
	}
}

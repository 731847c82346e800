package candidate

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/protocol"
)

// Subject is an elector under test that is part of this binary: it competes
// until ctx is done, then resigns and returns.
type Subject func(ctx context.Context, h *Host) error

// Host is what a Subject gets of the process around it.
type Host struct {
	Settings
	Clock  *Clock
	Logger *slog.Logger

	out   teller
	work  *worker
	keep  func(*Clock) elector.Clock // what the elector reads; nil: Clock itself
	dial  dialFunc                   // nil: the network's own
	alarm func(elector.Event)        // of a store that is silent; may be nil
	wall  atomic.Int64               // offset of the wall clock, ms

	began time.Duration // what the wall clock showed when Clock showed 0, without that offset

	successors atomic.Pointer[func(context.Context) (string, error)] // hands the lease over; nil: the elector cannot

	mu     sync.Mutex // held while a belief is printed: they are printed in order
	belief *belief    // nil when deposed

	stands bool          // deadlines are on the monotonic clock
	asleep time.Duration // what the clock showed when the machine was suspended; 0: it is awake
	slept  time.Duration // by how far the monotonic clock is behind
}

// belief is one that is under way and ends by itself.
type belief struct {
	event    history.Event // its last elected or extended event
	deadline time.Duration // on the candidate's clock, which may come to run at another rate
}

// Main runs the subject that the environment names, if it names one, and ends
// the process; otherwise it returns at once. Call it first in main and in
// TestMain: that is how the harness's binary becomes its own candidates.
func Main(subjects map[string]Subject) {
	name := os.Getenv(protocol.EnvSubject)
	if name == "" {
		return
	}
	subject, known := subjects[name]
	if !known {
		fmt.Fprintf(os.Stderr, "candidate: this program has no subject %q\n", name)
		os.Exit(64)
	}
	if err := run(subject); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(70)
	}
	os.Exit(0)
}

// linger is how long a candidate that has resigned waits before it exits.
const linger = 30 * time.Millisecond

func run(subject Subject) error {
	settings, err := FromEnvironment()
	if err != nil {
		return err
	}
	out := &output{w: os.Stdout, now: func() time.Duration { return protocol.Monotonic() - settings.Epoch }}
	h := &Host{
		Settings: settings,
		Clock:    NewClock(protocol.Monotonic, settings.ClockRate),
		Logger:   slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})),
		out:      out,
		work:     newWorker(settings, overHTTP(settings)),
	}
	h.began = began(h.Clock.Now, func() time.Duration { return time.Duration(time.Now().UnixNano()) })
	h.wall.Store(settings.ClockOffset.Milliseconds())
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	started := make(chan struct{})
	go h.obey(os.Stdin, started)
	out.line(protocol.Line{Name: protocol.EventReady})
	select {
	case <-started:
	case <-ctx.Done():
		return nil
	}
	go protocol.Stalls(ctx, settings.Lease/protocol.StallShare, func(lasted time.Duration) {
		out.line(protocol.Line{Name: protocol.EventStall, LastedMS: float64(lasted) / float64(time.Millisecond)})
	})
	go protocol.Usages(ctx, func(goroutines, heap int64) {
		out.line(protocol.Line{Name: protocol.EventUsage, Goroutines: goroutines, HeapBytes: heap})
	})
	err = subject(ctx, h)
	// All candidates share one machine here. What it takes to end a process must
	// not compete with the election of its successor, as it would not elsewhere.
	time.Sleep(linger)
	return err
}

// looks is how often began compares two clocks: one comparison in so many is not
// held up between them.
const looks = 16

// began is what wall showed when own showed 0. The two are read one after the
// other: of several looks the one counts during which least time passed.
func began(own, wall func() time.Duration) (at time.Duration) {
	least := time.Duration(math.MaxInt64)
	for range looks {
		before := own()
		shows := wall()
		if took := own() - before; took < least {
			least, at = took, shows-before
		}
	}
	return at
}

// obey carries out the harness's commands. When they end, the harness is gone,
// and so is this process: nobody is left to record what it does.
func (h *Host) obey(commands io.Reader, started chan<- struct{}) {
	lines := bufio.NewScanner(commands)
	for lines.Scan() {
		var c protocol.Command
		if json.Unmarshal(lines.Bytes(), &c) != nil {
			continue
		}
		switch c.Command {
		case protocol.CommandGo:
			close(started)
		case protocol.CommandClock:
			h.setClock(c)
		case protocol.CommandTransfer:
			go h.answerTransfer()
		}
	}
	os.Exit(3)
}

// setClock changes the clocks. A belief that is under way then ends at another
// real time: its deadline is a time on the candidate's own clock.
func (h *Host) setClock(c protocol.Command) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Clock.SetRate(c.Rate)
	h.wall.Store(c.OffsetMS)
	now := h.Clock.Now()
	switch {
	case c.Asleep && h.asleep == 0:
		h.asleep = now
	case !c.Asleep && h.asleep != 0:
		h.slept += now - h.asleep
		if h.belief != nil && h.stands {
			h.belief.deadline += now - h.asleep
		}
		h.asleep = 0
	}
	if h.belief != nil {
		moved := h.belief.event
		moved.Kind, moved.Until = history.Extended, history.At(h.real(h.belief.deadline))
		h.out.stamp(moved)
	}
	h.out.line(protocol.Line{Name: protocol.EventClock, Rate: h.Clock.Rate(), OffsetMS: c.OffsetMS, BehindMS: h.slept.Seconds() * 1000})
}

// monotonic is what the monotonic clock shows.
func (h *Host) monotonic() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.asleep != 0 {
		return h.asleep - h.slept
	}
	return h.Clock.Now() - h.slept
}

// stand makes the deadlines of beliefs count on the monotonic clock.
func (h *Host) stand() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stands = true
}

// WallOffset is how far this candidate's wall clock is off.
func (h *Host) WallOffset() time.Duration {
	return time.Duration(h.wall.Load()) * time.Millisecond
}

// wallClock is what the candidate's wall clock shows, since the Unix epoch. It
// runs at the clock's rate, and while the machine is suspended.
func (h *Host) wallClock() time.Duration { return h.began + h.Clock.Now() + h.WallOffset() }

// real puts a time on the candidate's clock onto the run's clock.
func (h *Host) real(own time.Duration) time.Duration { return h.Clock.Real(own) - h.Epoch }

// Recorded is store with every call to it, and every outcome, recorded.
func (h *Host) Recorded(store elector.Store) elector.Store {
	return &recordedStore{Store: store, node: h.Node, out: h.out}
}

// Open opens the store that the environment names, with nothing recorded. The
// caller closes it.
func (h *Host) Open() (*redisstore.Store, error) { return h.open(redisstore.Options{}) }

func (h *Host) open(o redisstore.Options) (*redisstore.Store, error) {
	o.Audit = true
	return h.openURL(h.RedisURL, o)
}

func (h *Host) openURL(url string, o redisstore.Options) (*redisstore.Store, error) {
	options, err := redisstore.ParseURL(url)
	if err != nil {
		return nil, err
	}
	if options.TLSConfig != nil && h.ServerName != "" {
		options.TLSConfig.ServerName = h.ServerName
	}
	if h.PasswordFile != "" {
		options.CredentialsProviderContext = credentials(options.Username, h.PasswordFile)
		options.Username, options.Password = "", ""
	}
	switch {
	case h.dial != nil:
		options.Dialer = h.dial
	case len(h.Via) > 0:
		options.Dialer = via(h.Via)
	}
	o.Replicas, o.Expire = h.Replicas, h.Expire
	o.Prefix, _, _ = CutElection(h.Election)
	return redisstore.New(options, o)
}

// CutElection splits the name of an election into the prefix of the run's keys
// and the name within the run.
func CutElection(name string) (prefix, election string, found bool) {
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		return name[:i+1], name[i+1:], true
	}
	return "", name, false
}

// Elected, Extended and Deposed record a belief. at and until are times on the
// candidate's clock.
func (h *Host) Elected(at time.Duration, token uint64, until time.Duration) {
	h.believe(history.Elected, at, token, until)
}

// Extended records that the belief lasts until a later time.
func (h *Host) Extended(at time.Duration, token uint64, until time.Duration) {
	h.believe(history.Extended, at, token, until)
}

func (h *Host) believe(kind history.Kind, at time.Duration, token uint64, until time.Duration) {
	h.out.wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	e := history.Event{Kind: kind, Node: h.Node, Token: token}
	h.belief = nil // no clock moves the end of one that lasts for ever
	if until != sim.Forever {
		if h.stands {
			until += h.slept
		}
		e.Until = history.At(h.real(until))
		h.belief = &belief{event: e, deadline: until}
	}
	h.out.at(h.real(at), e)
}

// Deposed records the end of a belief.
func (h *Host) Deposed(at time.Duration, token uint64, why history.Why) {
	h.out.wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.belief = nil
	h.out.at(h.real(at), history.Event{Kind: history.Deposed, Node: h.Node, Token: token, Why: why})
}

// Lead does the leader's work until ctx is done.
func (h *Host) Lead(ctx context.Context, term *elector.Term) { h.work.lead(ctx, term) }

// Write makes the n-th write of a term to the protected resource and reports
// whether it makes sense to go on.
func (h *Host) Write(token uint64, n int) bool {
	accepted, _ := h.work.write(token, n)
	return accepted
}

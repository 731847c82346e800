package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync/atomic"

	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/health"
	"github.com/recount-io/recount/elector/health/instrument"
	"github.com/recount-io/recount/elector/joblock"
	"github.com/recount-io/recount/elector/prommetrics"
	"github.com/recount-io/recount/elector/settings"
)

// candidacy is one candidate from its start to its end, with all that tells of
// it: the log, HTTP, and the service manager.
type candidacy struct {
	prepared
	log     *slog.Logger
	lock    *joblock.Lock // nil if the lease has no least time
	closer  io.Closer
	elector *elector.Elector
	monitor *health.Monitor
	metrics *prommetrics.Collector
	http    *server // nil if nobody is to ask
	notify  notifier
	hand    bool   // the leadership may be handed over by HTTP
	public  bool   // other machines can reach that
	host    string // of --http

	work    func(context.Context, *elector.Term)
	term    *atomic.Pointer[elector.Term]
	others  context.CancelFunc // called when somebody else is seen to lead; may be nil
	skipped atomic.Bool        // others was called
}

// candidacy makes what the settings say. It reaches out to nothing but its own
// address.
func (m Main) candidacy(f *runFlags) (*candidacy, error) {
	p, err := m.prepare(f)
	if err != nil {
		return nil, err
	}
	if f.hand && f.http == "" {
		return nil, usage.Of(errors.New("--allow-transfer opens a path of --http; give --http 127.0.0.1:8080, or another address"))
	}
	if f.public && f.http == "" {
		return nil, usage.Of(errors.New("--public is about the address of --http; give --http :8080, or another address"))
	}
	log, err := m.logger(f.log, f.json)
	if err != nil {
		return nil, err
	}
	store, closer, err := p.settings.Open(context.Background())
	if err != nil {
		return nil, usage.Of(err)
	}
	c := &candidacy{prepared: p, log: log, closer: closer, notify: notifierOf(m.Environ), hand: f.hand, public: f.public}
	if c.monitor, err = health.New(health.Options{}); err != nil {
		return nil, errors.Join(err, closer.Close())
	}
	if f.atLeast > 0 {
		c.lock = joblock.New(store, f.atLeast, p.settings.Drift, nil)
		store = c.lock
	}
	c.metrics = prommetrics.New(prommetrics.Options{})
	cfg := p.settings.Config()
	cfg.Logger = log
	if c.lock != nil {
		cfg.Failback = 0 // a command that runs once is not handed over
	}
	cfg.OnStarted = func(ctx context.Context, t *elector.Term) { c.work(ctx, t) }
	cfg.OnLeader = c.seen
	cfg.OnEvent = c.tell
	if c.elector, err = instrument.New(store, cfg, c.monitor, c.metrics); err != nil {
		return nil, errors.Join(usage.Of(p.settings.Explain(err)), closer.Close())
	}
	if f.http != "" {
		c.host, _, _ = net.SplitHostPort(f.http) // listen says what is wrong with it
		if c.http, err = listen(f.http, f.public); err != nil {
			return nil, errors.Join(usage.Of(err), closer.Close())
		}
	}
	return c, nil
}

// run competes until ctx is done or the work has stopped the candidacy.
func (c *candidacy) run(ctx context.Context, stop context.CancelFunc) error {
	defer func() { _ = c.closer.Close() }() // the elector has ended, and with it all that matters
	if c.http != nil {
		c.http.serve(c.handler(), c.log, stop)
		defer c.http.close()
		c.log.Info("serving", "address", c.http.address())
	}
	c.log.Info("competing", "election", c.settings.Election, "id", c.elector.ID(), "store", settings.Redact(c.settings.Store...),
		"lease", c.timing.lease, "grace", c.timing.grace, "drain", c.timing.drain)
	c.notify.send("READY=1", "STATUS=competing")
	ended := context.AfterFunc(ctx, func() { c.notify.send("STOPPING=1", "STATUS=stopping") })
	defer ended()
	return c.elector.Run(ctx)
}

// seen is called when somebody leads who did not before.
func (c *candidacy) seen(l elector.Leader) {
	if c.others != nil && l.ID != c.elector.ID() && !c.elector.IsLeader() {
		c.skipped.Store(true)
		c.others()
	}
}

// tell passes on to the service manager what a person would want to read there.
func (c *candidacy) tell(e elector.Event) {
	switch e.Kind {
	case event.Elected:
		c.notify.send("STATUS=leads " + e.Election)
	case event.Deposed:
		c.notify.send("STATUS=follows in " + e.Election)
	case event.Unreachable:
		c.notify.send("STATUS=cannot reach the store of " + e.Election)
	case event.Reachable:
		c.notify.send("STATUS=competes in " + e.Election)
	}
}

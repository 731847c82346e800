package live

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/redis/go-redis/v9/logging"

	"github.com/recount-io/recount/internal/topology"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/live/inspection"
	"github.com/recount-io/recount/sim/live/redisserver"
	"github.com/recount-io/recount/sim/live/supervisor"
	"github.com/recount-io/recount/sim/wire"
)

// Options says what a session's runs are made of.
type Options struct {
	Redis     string         // "auto", "embedded", "process", "docker" or a URL
	Toxiproxy string         // address of an outside toxiproxy, "" for one of our own
	Command   []string       // the candidates' command; empty: this program's own subjects
	Prefix    string         // of every key, "" for "recount:"
	Clocks    bool           // Command's candidates obey protocol.CommandClock
	LockKey   string         // which key of Command's candidates is the lock, see wire.Pattern; "": found by itself
	Progress  func(Progress) // called from several goroutines; nil for none

	// Tapped tells of this program's own subjects which ones do not tell what
	// they ask of the store: it is read from the wire, as with commands. Nil: none.
	Tapped func(subject string) bool
	// Postgres tells of this program's own subjects which ones keep their leases
	// in PostgreSQL: the session starts one for them. Nil: none.
	Postgres func(subject string) bool

	// Self, in place of Command, is for a program that comes to call Main and
	// candidate.Main only if it is started with these arguments. Its candidates are
	// steered, as its own subjects are; but nothing is known of their elector: what
	// that does is read from the wire, as with a command.
	Self []string

	// Limits are for Watch; zero: DefaultLimits.
	Limits Limits

	Connections int  // how many the runs open to a Redis given by URL, see Demand; 0: not known
	Own         bool // faults may hit a Redis given by URL itself, if the marker is there: see inspection.Marker

	// Hosts are what candidates and servers run on; the session closes them, and only
	// what is not about them above counts. Nil: processes of this machine, with proxies
	// between them.
	Hosts Hosts

	_ struct{}
}

// strange reports whether nothing is known of the electors but what they do.
func (o *Options) strange() bool { return len(o.Command) > 0 || len(o.Self) > 0 }

// Session holds what the runs of one command share: the hosts, and the Redis
// servers.
type Session struct {
	options Options
	hosts   Hosts
	scripts *wire.Scripts // that candidates of any run loaded into servers

	mu   sync.Mutex
	idle []redisserver.Server // private servers between two runs
	all  []redisserver.Server
	rows *topology.Postgres // nil until a subject wants it

	probe     *probe             // nil: nobody watches over the Redis
	inspected *inspection.Server // nil: the Redis is private
}

// Main does the work of those processes that the session makes of this
// program. Call it first in main and in TestMain.
func Main() { supervisor.Main() }

// Open starts a session and its first Redis, so that what can be wrong with it
// is known at once. Close ends it.
func Open(ctx context.Context, o Options) (*Session, error) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		return nil, fmt.Errorf("live: the live world runs on Linux and macOS, not on %s", runtime.GOOS)
	}
	if o.Prefix == "" {
		o.Prefix = inspection.DefaultPrefix
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	// go-redis logs every connection that fails, and here they fail on purpose.
	logging.Disable()
	s := &Session{options: o, scripts: wire.NewScripts()}
	err := s.inspect(ctx)
	if err != nil {
		return nil, err
	}
	if s.hosts = o.Hosts; s.hosts == nil {
		if s.hosts, err = openProcesses(o); err != nil {
			return nil, err
		}
	}
	server, err := s.server(ctx)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	err = s.giveBack([]redisserver.Server{server}, true)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Redis says which Redis the session uses, and why.
func (s *Session) Redis() (what, why string) {
	server := s.first()
	return server.Describe(), server.Why()
}

// Private reports whether the Redis is the session's own: only then may faults
// hit the store itself.
func (s *Session) Private() bool { return s.first().Private() }

// Forgetful reports whether the Redis can be made older than it was; if it
// cannot, why says so and what to do.
func (s *Session) Forgetful() (forgetful bool, why string) {
	server, why := redisserver.Explain(s.first())
	return server != nil, why
}

// watching is what watches over the Redis, nil if nothing does.
func (s *Session) watching() *probe {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.probe
}

// first is the Redis that Open started. Runs may be borrowing others meanwhile.
func (s *Session) first() redisserver.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[0]
}

// Close ends everything that the session started.
func (s *Session) Close() error {
	if p := s.watching(); p != nil {
		p.stop()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, server := range s.all {
		errs = append(errs, server.Close())
	}
	if s.rows != nil {
		s.rows.Stop()
	}
	return errors.Join(append(errs, s.hosts.Close())...)
}

// borrow returns the store of one run: one server, or several that know nothing
// of each other. What agrees among itself on a primary is made for the run, and
// counts as one.
func (s *Session) borrow(ctx context.Context, t sim.Topology) ([]redisserver.Server, error) {
	n := t.Independent()
	if t != sim.OneServer && n == 1 {
		server, err := s.hosts.Arrange(ctx, string(t))
		return []redisserver.Server{server}, err
	}
	if n > 1 && !s.Private() {
		return nil, fmt.Errorf("live: a store of %d independent servers needs private ones: use --redis process", n)
	}
	var servers []redisserver.Server
	for range n {
		server, err := s.server(ctx)
		if err != nil {
			return nil, errors.Join(err, s.giveBack(servers, true))
		}
		servers = append(servers, server)
	}
	return servers, nil
}

// server returns a server for one run. A private one is used by one run at a
// time; one that is shared anyway is used by all.
func (s *Session) server(ctx context.Context) (redisserver.Server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.idle); n > 0 {
		server := s.idle[n-1]
		if server.Private() {
			s.idle = s.idle[:n-1]
		}
		return server, nil
	}
	server, err := s.hosts.Server(ctx)
	if err != nil {
		return nil, err
	}
	s.all = append(s.all, server)
	return server, nil
}

// giveBack makes private servers available to other runs, if they are in a state
// to be used again, and ends what was made for the run.
func (s *Session) giveBack(servers []redisserver.Server, usable bool) error {
	var errs []error
	for _, server := range servers {
		if _, made := server.(redisserver.Arranged); made {
			errs = append(errs, server.Close())
		} else if usable {
			s.keep(server)
		}
	}
	return errors.Join(errs...)
}

func (s *Session) keep(server redisserver.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if server.Private() || len(s.idle) == 0 {
		s.idle = append(s.idle, server)
	}
}

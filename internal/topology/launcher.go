package topology

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/internal/loopback"
)

// Programs that are needed on PATH. Debian has them in the packages
// redis-server and redis-sentinel.
const (
	ServerProgram   = "redis-server"
	SentinelProgram = "redis-sentinel"
)

// startTime bounds how long one server may take to start, on a machine that
// has other things to do.
const startTime = 20 * time.Second

// Process is a program that runs.
type Process interface {
	// Name is what it is called in errors: "process 17".
	Name() string
	// Kill sends SIGKILL and does not wait.
	Kill() error
	// Pause stops the process, like SIGSTOP, and returns when it stands still;
	// Resume lets it go on.
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
	// Wait waits for the end; several callers may. Done is closed by then, if
	// somebody waits.
	Wait() error
	Done() <-chan struct{}
}

// Launcher starts servers, and ends them all with Close. Its methods may be
// called from several goroutines.
type Launcher struct {
	dir    string
	start  func(*exec.Cmd) (Process, error)
	settle func(program string) (Site, error) // nil: servers are at ports of the loopback interface
	finish func()                             // what start needs to end

	mu      sync.Mutex
	servers []*Server
	clients []*redis.Client
	folders int
	closed  bool
}

// NewLauncher returns a Launcher whose servers have their folders in dir, which
// must exist and is the caller's to remove. start is called for every process,
// for those who guard processes in a way of their own; if it is nil, they die
// with this process, on Linux.
func NewLauncher(dir string, start func(*exec.Cmd) (Process, error)) *Launcher {
	l := &Launcher{dir: dir, start: start, finish: func() {}}
	if start == nil {
		s := newStarter()
		l.start, l.finish = s.start, s.close
	}
	return l
}

// Site is a place of one server's own: a machine, as far as the server knows.
type Site interface {
	// Inside is the IP by which other servers of the launcher reach it, and Port is its
	// port. Outside is host:port, by which clients do.
	Inside() string
	Port() int
	Outside() string
	// Start starts the program there, with its folder.
	Start(*exec.Cmd) (Process, error)
	// Isolate cuts it off from the other servers, while clients still reach it. Rejoin
	// undoes that.
	Isolate(ctx context.Context) error
	Rejoin(ctx context.Context) error
}

// Settle makes each server that is started from now on one at a site that settle finds
// for its program. A cluster cannot be at sites.
func (l *Launcher) Settle(settle func(program string) (Site, error)) { l.settle = settle }

// Close kills every server that is left and closes the clients of all of them.
// A second Close does nothing.
func (l *Launcher) Close() error {
	l.mu.Lock()
	servers, clients, closed := l.servers, l.clients, l.closed
	l.closed = true
	l.mu.Unlock()
	if closed {
		return nil
	}
	var errs []error
	for _, c := range clients {
		errs = append(errs, c.Close())
	}
	for _, s := range servers {
		s.kill() // all of them, before the first is waited for
	}
	for _, s := range servers {
		errs = append(errs, s.Kill())
	}
	l.finish()
	return errors.Join(errs...)
}

// Config is what a server is started with besides what every one has: a port
// on loopback, a folder, and nothing kept on disk.
type Config struct {
	// Settings are arguments of redis-server, such as "--maxmemory", "1".
	// "PORT" in them becomes the server's port.
	Settings []string
	// Client is what the server's own client needs besides the address.
	Client redis.Options

	_ struct{}
}

// Server starts one redis-server and waits until it accepts connections.
func (l *Launcher) Server(ctx context.Context, c Config) (*Server, error) {
	var server *Server
	err := again(func() error {
		s, err := l.reserve(ServerProgram, c.Client)
		if err != nil {
			return err
		}
		s.args = append(plain(s), c.Settings...)
		server = s
		return s.Start(ctx)
	})
	return server, err
}

// Independent starts n servers that know nothing of each other.
func (l *Launcher) Independent(ctx context.Context, n int, c Config) ([]*Server, error) {
	servers := make([]*Server, n)
	return servers, each(servers, func(i int, _ *Server) (err error) {
		servers[i], err = l.Server(ctx, c)
		return err
	})
}

// plain are the settings of every redis-server.
func plain(s *Server) []string {
	return append([]string{
		"--port", "PORT", "--bind", s.bind, "--protected-mode", "no", "--dir", s.dir, "--save", "", "--appendonly", "no",
		// Replicas are sent what they lack at once.
		"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1",
	}, peers()...)
}

// reserve finds a place and makes a folder for a server that is to be started.
func (l *Launcher) reserve(program string, o redis.Options) (*Server, error) {
	s := &Server{launcher: l, path: program, host: loopbackHost, bind: loopbackHost, start: l.start}
	var err error
	if l.settle != nil {
		err = s.settle(l.settle)
	} else {
		err = s.land()
	}
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errors.New("topology: the launcher is closed")
	}
	l.folders++
	s.Addr = net.JoinHostPort(s.host, strconv.Itoa(s.port))
	s.dir = filepath.Join(l.dir, strconv.Itoa(l.folders))
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("topology: the folder of a server: %w", err)
	}
	o.Addr = s.Addr
	if s.site != nil {
		o.Addr = s.site.Outside()
	}
	o.ClientName = ClientName
	s.client = redis.NewClient(&o)
	l.servers, l.clients = append(l.servers, s), append(l.clients, s.client)
	return s, nil
}

const loopbackHost = "127.0.0.1"

// land finds the server's program, and a port on this machine.
func (s *Server) land() (err error) {
	if s.path, err = exec.LookPath(s.path); err != nil {
		return fmt.Errorf("topology: %s is not on PATH; install it (Debian: apt install redis-server redis-sentinel): %w", s.path, err)
	}
	s.port, err = loopback.FreePort()
	return err
}

// settle finds a site.
func (s *Server) settle(find func(program string) (Site, error)) (err error) {
	if s.site, err = find(s.path); err != nil {
		return err
	}
	s.host, s.bind, s.port, s.start = s.site.Inside(), "0.0.0.0", s.site.Port(), s.site.Start
	return nil
}

// again tries a few times: somebody may take a port between the look and the
// start.
func again(start func() error) error {
	var err error
	for range 5 {
		if err = start(); err == nil || !strings.Contains(err.Error(), "in use") {
			return err
		}
	}
	return err
}

// each calls do for all of them at one time and waits for all.
func each[V any](all []V, do func(int, V) error) error {
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, v := range all {
		wg.Go(func() { errs[i] = do(i, v) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// until asks again and again, with a breath in between, until the answer is
// true. what says in the error what did not come, and is given the last trouble.
func until(ctx context.Context, what string, is func() (bool, error)) error {
	for {
		ok, err := is()
		if ok && err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("topology: %s: %w", what, context.Cause(ctx)), err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

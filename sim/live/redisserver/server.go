package redisserver

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/internal/spelling"
	"github.com/recount-io/recount/sim/live/docker"
	"github.com/recount-io/recount/sim/live/supervisor"
)

// Server is a Redis for one run. Describe, Why, Addr, Options, CandidateURL,
// TLSServerName and Private may be called at any time; the others one after
// the other. All return an *Error where a person can mend the matter.
type Server interface {
	// Describe is the provider with the version of the Redis: "process 7.0.15".
	Describe() string
	// Why says in a few words why this provider was taken.
	Why() string
	// Addr is host:port: what a proxy has to lead to. It never changes.
	Addr() string
	// Options is a new copy of what a client needs for a direct connection:
	// address, credentials, database, TLS. Its client repeats no command and
	// heeds its contexts.
	Options() *redis.Options
	// CandidateURL is the URL by which a candidate reaches this Redis through
	// a proxy at proxyAddr (host:port): the scheme, the credentials and the
	// database are this Redis's.
	CandidateURL(proxyAddr string) string
	// TLSServerName is the name in the certificate, which a candidate cannot
	// read off the proxy's address. Empty without TLS.
	TLSServerName() string
	// Private reports whether the Redis may be disturbed.
	Private() bool

	// Pause stops the server like SIGSTOP, and returns when it executes
	// nothing any more: connections stay, are even accepted, but nothing is
	// answered, and times to live run on.
	Pause(ctx context.Context) error
	// Resume lets a paused server go on: with what it was sent meanwhile.
	Resume(ctx context.Context) error
	// Crash kills the server like SIGKILL, paused or not. It returns when
	// connections are refused. What it confirmed is kept, for Restart.
	Crash(ctx context.Context) error
	// Restart starts a crashed server again at the same address and returns
	// when it answers: with all its data, or with none. As in every restart,
	// cached scripts are gone.
	Restart(ctx context.Context, keepData bool) error
	// Close ends the server and removes what it left behind. A second Close
	// does nothing.
	Close() error
}

// Options of Open.
type Options struct {
	// Supervisor guards the processes, containers and directories. Nil: Open
	// starts one of its own if it needs one, and Close ends it.
	Supervisor *supervisor.Supervisor
	// Timeout bounds how long a server may take to answer at first: zero is
	// 5 s, for a container 30 s, and 3 minutes if its image must be pulled.
	Timeout time.Duration
	// Engine, if it is not nil, makes each server of the provider docker, and of an
	// arrangement, a container in a network of its own: it is Networked. It is guarded
	// by the Supervisor.
	Engine *docker.Engine
	_      struct{}
}

// Networked is a Server of containers, each in a network. A client must be in the network
// of a container to reach it.
type Networked interface {
	Server
	// Front is the network, and where in it, of the server that the others call by
	// an address; nil if it is none of these.
	Front(addr string) (n *docker.Network, at string)
}

// Open starts, or connects to, the Redis that spec names:
//
//	auto        process if redis-server is on PATH, else embedded
//	embedded    a Redis written in Go, inside this process (miniredis)
//	process     the redis-server that is on PATH
//	docker      a container of the image RECOUNT_REDIS_IMAGE, or redis:8
//	redis://…   a Redis that runs already; rediss:// with TLS
//
// Every error that is due to the spec or to the machine is an *Error. Passwords
// appear in no error and in no process's arguments.
func Open(ctx context.Context, spec string, o Options) (Server, error) {
	switch spec {
	case "", "auto":
		if _, err := exec.LookPath(program); err != nil {
			return openEmbedded(ctx, program+" is not on PATH")
		}
		return openProcess(ctx, o, program+" found on PATH")
	case "embedded":
		return openEmbedded(ctx, asked)
	case "process":
		return openProcess(ctx, o, asked)
	case "docker":
		return openDocker(ctx, o, asked)
	}
	if IsURL(spec) {
		return openURL(ctx, spec, o)
	}
	return nil, &Error{Kind: BadSpec, Text: fmt.Sprintf("no Redis is called %q%s; use %s or redis://host:port", safe(spec), spelling.Hint(spec, Providers), strings.Join(Providers, ", "))}
}

// Providers are the names that Open takes besides URLs.
var Providers = []string{"auto", "embedded", "process", "docker"}

// IsURL reports whether a spec is the URL of a Redis that runs already.
func IsURL(spec string) bool { return strings.Contains(spec, "://") }

const (
	asked = "asked for"

	startTimeout = 5 * time.Second
)

func (o Options) timeout(usual time.Duration) time.Duration {
	if o.Timeout > 0 {
		return o.Timeout
	}
	return usual
}

// guard is a supervisor, and whether Close has to end it.
func (o Options) guard() (w *supervisor.Supervisor, release func() error, err error) {
	if o.Supervisor != nil {
		return o.Supervisor, func() error { return nil }, nil
	}
	w, err = supervisor.Start()
	if err != nil {
		return nil, nil, err
	}
	return w, w.Close, nil
}

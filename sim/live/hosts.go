package live

import (
	"context"
	"io"
	"net"
	"os"
	"time"

	"github.com/recount-io/recount/sim/live/network"
	"github.com/recount-io/recount/sim/live/redisserver"
)

// Hosts are what the candidates and the servers of a session run on. Their methods
// may be called from several goroutines. The errors of Server and Arrange are those of
// package redisserver.
type Hosts interface {
	// World is the world's name in histories.
	World() string
	// Server starts a server, or connects to one, and Arrange starts several that
	// promote one of themselves. The session closes them.
	Server(ctx context.Context) (redisserver.Server, error)
	Arrange(ctx context.Context, kind string) (redisserver.Arranged, error)
	// Listen opens a port, at an address at which every candidate reaches it, whatever
	// becomes of its ways to the store.
	Listen() (net.Listener, error)
	// Host makes the host of one candidate. name is for messages. The run closes it.
	Host(ctx context.Context, name string) (Host, error)
	// Host and way of a candidate, as evidence calls them: "the process of n1".
	Describe(node string) (host, way string)
	// Close ends what is left.
	Close() error
}

// Host is where one candidate runs, with its ways to the store.
type Host interface {
	// Link makes a way to the server that the others call by that address, before
	// the first Start.
	Link(ctx context.Context, server string) (Link, error)
	// Start starts the candidate's program, at first or again after its end, with
	// these variables. Its standard error goes to log, which stays the caller's.
	Start(env []string, log *os.File) (Process, error)
	// Close ends the candidate, and its ways.
	Close() error
}

// Link is a way of a candidate to a server of the store.
type Link interface {
	// Addr is where the candidate reaches the server.
	Addr() string

	// What faults do to it, and Heal undoes. A host that cannot do one of them
	// returns an error.
	Cut(how network.Cut) error
	Delay(latency, jitter time.Duration) error
	Bandwidth(kilobytes int) error
	Heal() error
	// Lead makes it a way to another server.
	Lead(upstream string) error

	// Probe tells how long something that passes the way took, or why nothing does.
	Probe(ctx context.Context) (time.Duration, error)
	Close() error
}

var _ Link = (*network.Link)(nil)

// Process is a candidate's program that was started. Its methods may be called from
// several goroutines; those that act on it return os.ErrProcessDone after its end.
type Process interface {
	// PID is its number on this machine.
	PID() int
	Stdin() io.Writer
	Stdout() io.Reader // read it to its end before Wait
	Kill() error       // like SIGKILL; it does not wait
	Dismiss() error    // like SIGTERM
	// Pause returns when it stands still, and Resume when it does not any more.
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
	// Wait waits for its end, and tells the status with which it ended, and in words.
	Wait() (code int, how string)
}

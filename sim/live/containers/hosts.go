package containers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/live"
	"github.com/recount-io/recount/sim/live/docker"
	"github.com/recount-io/recount/sim/live/redisserver"
	"github.com/recount-io/recount/sim/live/supervisor"
)

// World is the world's name.
const World = "containers"

const (
	// openTime bounds what is made before the first run.
	openTime = time.Minute
	// actTime bounds what Docker does to one container, on a machine that has other
	// things to do.
	actTime = time.Minute
)

// Options says what a session's runs are made of.
type Options struct {
	// Image is that of the candidates, any that speaks the candidate protocol. Empty: one
	// is made of this program, whose own subjects the candidates are then.
	Image    string
	Clocks   bool                // the image's candidates obey protocol.CommandClock
	Prefix   string              // of every key, "" for "recount:"
	Progress func(live.Progress) // called from several goroutines; nil for none

	_ struct{}
}

// Session holds what the runs of one command share.
type Session struct{ *live.Session }

// Open finds Docker, makes the candidates' image, and starts a first Redis, so that
// what can be wrong with it is known at once. Close ends it. The error is a
// *redisserver.Error where a person can mend the matter.
func Open(ctx context.Context, o Options) (*Session, error) {
	w, err := supervisor.Start()
	if err != nil {
		return nil, err
	}
	h := &hosts{supervisor: w, image: o.Image}
	opening, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	if err := h.open(opening); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	options := live.Options{Hosts: h, Prefix: o.Prefix, Progress: o.Progress}
	if o.Image != "" {
		options.Command, options.Clocks = []string{o.Image}, o.Clocks
	}
	session, err := live.Open(ctx, options)
	if err != nil {
		return nil, err
	}
	return &Session{session}, nil
}

// Run is live.Session.Run for the plan as Adapt makes it.
func (s *Session) Run(ctx context.Context, plan sim.Plan, logs string) (*history.History, error) {
	return s.Session.Run(ctx, Adapt(plan), logs)
}

// Adapt makes one cut of all that separate a candidate and the store: a host is in a
// network or out of it, and whether connections end at once is not for Docker to choose.
func Adapt(plan sim.Plan) sim.Plan {
	plan.Schedule = slices.Clone(plan.Schedule)
	for i, step := range plan.Schedule {
		if cut, is := step.Fault.(faults.Partition); is && (cut.How == faults.CutRefused || cut.How == faults.CutReset) {
			plan.Schedule[i].Fault = faults.Partition{How: faults.CutBoth}
		}
	}
	return plan
}

// hosts are containers.
type hosts struct {
	supervisor *supervisor.Supervisor
	engine     *docker.Engine
	image      string
	made       bool            // the image is ours to remove
	outside    *docker.Network // in which all candidates reach the protected resource

	mu      sync.Mutex
	servers []redisserver.Networked
}

var _ live.Hosts = (*hosts)(nil)

func (h *hosts) open(ctx context.Context) (err error) {
	if h.engine, err = docker.Open(ctx, h.supervisor); err != nil {
		return &redisserver.Error{Kind: redisserver.Missing, Text: "Docker does not answer; start its daemon, or set DOCKER_HOST: hosts are containers with --world containers", Err: err}
	}
	if h.outside, err = h.engine.Network(ctx, "resource", false); err != nil {
		return err
	}
	if err := h.local(); err != nil {
		return err
	}
	if h.image != "" {
		return h.find(ctx)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("containers: find this program: %w", err)
	}
	h.image, err = h.engine.Import(ctx, self)
	h.made = err == nil
	return err
}

// local refuses a Docker Engine that is elsewhere.
func (h *hosts) local() error {
	l, err := h.Listen()
	if err != nil {
		return &redisserver.Error{Kind: redisserver.Missing, Text: "Docker is on another machine, or in a virtual one: candidates could not be reached, and would have another clock. Use one on this machine, or --world live", Err: err}
	}
	return l.Close()
}

// find sees to it that there is the candidates' image.
func (h *hosts) find(ctx context.Context) error {
	err := h.engine.Need(ctx, h.image)
	if errors.Is(err, docker.ErrNoImage) {
		return &redisserver.Error{Kind: redisserver.Missing, Text: fmt.Sprintf("image %s is not here and cannot be pulled; build it, or correct --image", h.image), Err: err}
	}
	return err
}

// World implements live.Hosts.
func (*hosts) World() string { return World }

// Describe implements live.Hosts.
func (*hosts) Describe(node string) (host, way string) {
	return "the container of " + node, "the networks between " + node + " and the store"
}

// Listen implements live.Hosts.
func (h *hosts) Listen() (net.Listener, error) {
	return net.Listen("tcp", net.JoinHostPort(h.outside.Gateway.String(), "0"))
}

// Server implements live.Hosts.
func (h *hosts) Server(ctx context.Context) (redisserver.Server, error) {
	server, err := redisserver.Open(ctx, "docker", redisserver.Options{Supervisor: h.supervisor, Engine: h.engine})
	if err != nil {
		return nil, err
	}
	return server, h.know(server)
}

// Arrange implements live.Hosts.
func (h *hosts) Arrange(ctx context.Context, kind string) (redisserver.Arranged, error) {
	server, err := redisserver.Arrange(ctx, kind, redisserver.Options{Supervisor: h.supervisor, Engine: h.engine})
	if err != nil {
		return nil, err
	}
	return server, h.know(server)
}

// know remembers servers, to find the networks that lead to them.
func (h *hosts) know(server redisserver.Server) error {
	networked, is := server.(redisserver.Networked)
	if !is {
		return errors.New("containers: a server that is in no network of its own")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.servers = append(h.servers, networked)
	return nil
}

// front is the network that leads to a server, and where it is there.
func (h *hosts) front(server string) (*docker.Network, string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := len(h.servers) - 1; i >= 0; i-- { // an address may be another's by now
		if n, at := h.servers[i].Front(server); n != nil {
			return n, at, nil
		}
	}
	return nil, "", fmt.Errorf("containers: no network leads to %s", server)
}

// Close implements live.Hosts.
func (h *hosts) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), openTime)
	defer cancel()
	var errs []error
	if h.outside != nil {
		errs = append(errs, h.outside.Remove(ctx))
	}
	if h.made {
		errs = append(errs, h.engine.RemoveImage(ctx, h.image))
	}
	if h.engine != nil {
		errs = append(errs, h.engine.Close())
	}
	return errors.Join(append(errs, h.supervisor.Close())...)
}

// Lacks says what of a plan containers cannot do, "" if there is nothing.
func Lacks(plan sim.Plan) string {
	switch plan.Topology {
	case sim.OneServer, sim.Sentinel, sim.Quorum:
	default:
		return "has a store that is a " + string(plan.Topology)
	}
	for _, step := range Adapt(plan).Schedule {
		effect := step.Fault.Effect()
		if cut, ok := step.Fault.(faults.Partition); ok && cut.How != faults.CutBoth {
			return "has the fault " + cut.Name() + ": a container is in a network, or out of it"
		}
		if effect.Late(1) > 0 {
			return "has the fault " + step.Fault.Name() + ": Docker's networks cannot be made slow"
		}
		if effect.Attended {
			return "moves connections, users or passwords of the store: the fault " + step.Fault.Name()
		}
		if effect.Older && plan.Topology == sim.OneServer {
			return "sets the store back: the fault " + step.Fault.Name()
		}
	}
	return ""
}

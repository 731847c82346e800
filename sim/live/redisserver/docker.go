package redisserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/recount-io/recount/internal/loopback"
	"github.com/recount-io/recount/sim/live/docker"
)

const (
	// ImageVariable names the image for the provider docker.
	ImageVariable = "RECOUNT_REDIS_IMAGE"
	// DefaultImage is taken where the variable is not set.
	DefaultImage = "redis:8"

	containerTimeout = 30 * time.Second
	containerPort    = 6379
)

// image is that of the containers.
func image() string {
	if name := os.Getenv(ImageVariable); name != "" {
		return name
	}
	return DefaultImage
}

// container is a container with redis-server in it, at a fixed port of this machine:
// an address that Docker chose would change with every start. Where servers have
// networks of their own it is at a fixed address of one.
type container struct {
	private
	lifecycle
	engine  *docker.Engine
	image   string
	version string
	port    int
	release func() error
	timeout time.Duration
	now     *docker.Container // nil until it is made
	front   *docker.Network   // nil: it is at a port of this machine
	address netip.Addr        // in front
}

var _ Server = (*container)(nil)

func openDocker(ctx context.Context, o Options, why string) (Server, error) {
	c := &container{private: private{why: why}, lifecycle: lifecycle{state: crashed}, image: image(), timeout: o.timeout(containerTimeout)}
	var err error
	if c.engine, c.release, err = o.engine(ctx); err != nil {
		return nil, err
	}
	if err = need(ctx, c.engine, c.image); err == nil {
		if o.Engine != nil {
			err = c.settle(ctx)
		} else {
			err = c.land(ctx)
		}
	}
	if err == nil {
		err = c.learnVersion(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// engine is a Docker Engine, and what ends it.
func (o Options) engine(ctx context.Context) (*docker.Engine, func() error, error) {
	if o.Engine != nil {
		return o.Engine, func() error { return nil }, nil
	}
	w, release, err := o.guard()
	if err != nil {
		return nil, nil, err
	}
	asking, cancel := context.WithTimeout(ctx, o.timeout(containerTimeout))
	defer cancel()
	e, err := docker.Open(asking, w)
	if err != nil {
		return nil, nil, errors.Join(unanswered(ctx, err), release())
	}
	return e, func() error { return errors.Join(e.Close(), release()) }, nil
}

// unanswered says what a person can do about a Docker that does not answer.
func unanswered(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &Error{Kind: Missing, Text: cmp.Or(os.Getenv("DOCKER_HOST"), "Docker") + " does not answer as Docker; start its daemon, correct DOCKER_HOST, or use --redis process or embedded", Err: err}
}

// need sees to it that the image of Redis is here.
func need(ctx context.Context, e *docker.Engine, image string) error {
	err := e.Need(ctx, image)
	switch {
	case err == nil:
		return nil
	case ctx.Err() == nil && errors.Is(err, docker.ErrNoImage):
		return &Error{Kind: Missing, Text: fmt.Sprintf("image %s is not here and cannot be pulled; set %s to an image that is already here", image, ImageVariable), Err: err}
	default:
		return unanswered(ctx, err)
	}
}

// land starts the server at a port of this machine.
func (c *container) land(ctx context.Context) error {
	var err error
	for range 5 { // somebody may take the port that was free just now
		if c.port, err = loopback.FreePort(); err != nil {
			break
		}
		c.addr = fmt.Sprintf("127.0.0.1:%d", c.port)
		if err = c.Restart(ctx, false); err == nil || !portTaken(err) {
			break
		}
	}
	return err
}

// settle starts the server in a network of its own.
func (c *container) settle(ctx context.Context) (err error) {
	if c.front, err = c.engine.Network(ctx, "redis", true); err != nil {
		return err
	}
	if c.address, err = c.front.Reserve(); err != nil {
		return err
	}
	c.addr = fmt.Sprintf("%v:%d", c.address, containerPort)
	return c.Restart(ctx, false)
}

func (c *container) learnVersion(ctx context.Context) error {
	fields, err := information(ctx, c.Options(), "server")
	if err != nil {
		return fmt.Errorf("redisserver: the Redis in image %s does not tell its version: %w", c.image, err)
	}
	c.version = fields["redis_version"]
	return nil
}

// Describe implements Server.
func (c *container) Describe() string { return "docker " + c.version }

// Front implements Networked.
func (c *container) Front(addr string) (*docker.Network, string) {
	if c.front == nil || addr != c.addr {
		return nil, ""
	}
	return c.front, c.addr
}

// Pause implements Server: the freezer of the container's control group.
func (c *container) Pause(ctx context.Context) error {
	return c.change(paused, func(state) error { return c.bounded(ctx, c.now.Pause) }, running)
}

// Resume implements Server.
func (c *container) Resume(ctx context.Context) error {
	return c.change(running, func(state) error { return c.bounded(ctx, c.now.Unpause) }, paused)
}

// Crash implements Server.
func (c *container) Crash(ctx context.Context) error {
	return c.change(crashed, func(state) error {
		return c.bounded(ctx, func(ctx context.Context) error {
			if err := c.now.Kill(ctx, "SIGKILL"); err != nil {
				return err
			}
			if err := c.now.AwaitEnd(ctx); err != nil {
				return err
			}
			return awaitRefused(ctx, c.addr)
		})
	}, running, paused)
}

// bounded calls act with the time that a container may take.
func (c *container) bounded(ctx context.Context, act func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	return act(ctx)
}

// Restart implements Server. Without data it is a new container.
func (c *container) Restart(ctx context.Context, keepData bool) error {
	return c.change(running, func(state) error {
		ctx, cancel := context.WithTimeout(ctx, c.timeout)
		defer cancel()
		err := c.start(ctx, keepData)
		if err == nil {
			err = await(ctx, c.addr, nil)
		}
		if err != nil {
			return fmt.Errorf("redisserver: container of image %s does not start at %s: %w%s", c.image, c.addr, err, c.said(ctx))
		}
		return nil
	}, crashed)
}

func (c *container) start(ctx context.Context, keepData bool) error {
	if !keepData || c.now == nil {
		err := c.remove(ctx)
		if err != nil {
			return err
		}
		if c.now, err = c.engine.Create(ctx, "redis", c.spec()); err != nil {
			return err
		}
	}
	return c.now.Start(ctx)
}

func (c *container) spec() docker.Spec {
	s := docker.Spec{
		Image: c.image,
		// Whatever the image's own entry point does: the settings are ours.
		Entrypoint: []string{program},
		Command:    append(durable(containerPort, "/data"), "--bind", "0.0.0.0", "--protected-mode", "no"),
		Network:    c.front, Address: c.address,
	}
	if c.front == nil {
		s.Port, s.HostPort = containerPort, c.port
	}
	return s
}

// said is the last line of the container's log, for an error.
func (c *container) said(ctx context.Context) string {
	if c.now == nil {
		return ""
	}
	if words := c.now.LastWords(ctx); words != "" {
		return "; it said: " + words
	}
	return ""
}

// remove removes the container, running or not, with its data.
func (c *container) remove(ctx context.Context) error {
	if c.now == nil {
		return nil
	}
	err := c.now.Remove(ctx)
	if err == nil {
		c.now = nil
	}
	return err
}

// Close implements Server.
func (c *container) Close() error {
	return c.close(func(state) error {
		ctx, cancel := context.WithTimeout(context.Background(), containerTimeout)
		defer cancel()
		err := c.remove(ctx)
		if c.front != nil {
			err = errors.Join(err, c.front.Remove(ctx))
		}
		return errors.Join(err, c.release())
	})
}

func portTaken(err error) bool {
	return strings.Contains(err.Error(), "already in use") || strings.Contains(err.Error(), "already allocated")
}

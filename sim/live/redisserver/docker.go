package redisserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"

	"github.com/recount-io/recount/internal/loopback"
	"github.com/recount-io/recount/sim/live/warden"
)

const (
	// ImageVariable names the image for the provider docker.
	ImageVariable = "RECOUNT_REDIS_IMAGE"
	// DefaultImage is taken where the variable is not set.
	DefaultImage = "redis:8"

	containerTimeout = 30 * time.Second
	pullTimeout      = 3 * time.Minute
	containerPort    = 6379
)

// docker is a container with redis-server in it, at a fixed port of this
// machine: an address that Docker chose would change with every start.
type docker struct {
	private
	lifecycle
	provider *testcontainers.DockerProvider
	image    string
	name     string
	version  string
	port     int
	warden   *warden.Warden
	release  func() error
	timeout  time.Duration
	created  bool
}

var _ Server = (*docker)(nil)

func openDocker(ctx context.Context, o Options, why string) (Server, error) {
	d := &docker{private: private{why: why}, lifecycle: lifecycle{state: crashed}, image: os.Getenv(ImageVariable), timeout: o.timeout(containerTimeout)}
	if d.image == "" {
		d.image = DefaultImage
	}
	if err := d.prepare(ctx, o); err != nil {
		return nil, err
	}
	var err error
	if d.warden, d.release, err = o.guard(); err != nil {
		return nil, err
	}
	for range 5 { // somebody may take the port that was free just now
		if d.port, err = loopback.FreePort(); err != nil {
			break
		}
		d.addr = fmt.Sprintf("127.0.0.1:%d", d.port)
		if err = d.Restart(ctx, false); err == nil || !portTaken(err) {
			break
		}
	}
	if err == nil {
		err = d.learnVersion(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// quieten takes its default logger from testcontainers, which prints a page
// about itself and Docker to standard error whatever logger it is given.
var quieten = sync.OnceFunc(func() { log.SetDefault(log.NewNoopLogger()) })

// prepare finds Docker and the image, and pulls it where it is not here.
func (d *docker) prepare(ctx context.Context, o Options) error {
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, o.timeout(pullTimeout))
	defer cancel()
	quieten()
	err := answersAsNamed(ctx)
	var provider *testcontainers.DockerProvider
	if err == nil {
		provider, err = testcontainers.NewDockerProvider(testcontainers.WithLogger(log.NewNoopLogger()))
	}
	if err == nil {
		d.provider = provider
		_, err = provider.Client().ImageInspect(ctx, d.image)
	}
	if err == nil {
		return nil
	}
	missing := func(text string) error {
		if whole.Err() != nil {
			return context.Cause(whole)
		}
		return &Error{Kind: Missing, Text: text, Err: err}
	}
	if !errdefs.IsNotFound(err) {
		return missing(cmp.Or(os.Getenv(client.EnvOverrideHost), "Docker") + " does not answer as Docker; start its daemon, correct DOCKER_HOST, or use --redis process or embedded")
	}
	if err = provider.PullImage(ctx, d.image); err != nil {
		return missing(fmt.Sprintf("image %s is not here and cannot be pulled; set %s to an image that is already here", d.image, ImageVariable))
	}
	return nil
}

// answersAsNamed asks the Docker that DOCKER_HOST names, if it names one: where that does
// not answer, testcontainers takes another one without a word.
func answersAsNamed(ctx context.Context) error {
	if os.Getenv(client.EnvOverrideHost) == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	named, err := client.New(client.FromEnv)
	if err != nil {
		return err
	}
	_, err = named.Ping(ctx, client.PingOptions{})
	return errors.Join(err, named.Close())
}

func (d *docker) learnVersion(ctx context.Context) error {
	fields, err := information(ctx, d.Options(), "server")
	if err != nil {
		return fmt.Errorf("redisserver: the Redis in image %s does not tell its version: %w", d.image, err)
	}
	d.version = fields["redis_version"]
	return nil
}

// Describe implements Server.
func (d *docker) Describe() string { return "docker " + d.version }

// Pause implements Server: the freezer of the container's control group.
func (d *docker) Pause(ctx context.Context) error {
	return d.change(paused, func(state) error {
		if _, err := d.provider.Client().ContainerPause(ctx, d.name, client.ContainerPauseOptions{}); err != nil {
			return fmt.Errorf("redisserver: cannot pause container %s: %w", d.name, err)
		}
		return d.expect(ctx, "paused", func(s *container.State) bool { return s.Paused })
	}, running)
}

// Resume implements Server.
func (d *docker) Resume(ctx context.Context) error {
	return d.change(running, func(state) error {
		if _, err := d.provider.Client().ContainerUnpause(ctx, d.name, client.ContainerUnpauseOptions{}); err != nil {
			return fmt.Errorf("redisserver: cannot unpause container %s: %w", d.name, err)
		}
		return d.expect(ctx, "unpaused", func(s *container.State) bool { return s.Running && !s.Paused })
	}, paused)
}

// Crash implements Server.
func (d *docker) Crash(ctx context.Context) error {
	return d.change(crashed, func(state) error {
		if _, err := d.provider.Client().ContainerKill(ctx, d.name, client.ContainerKillOptions{Signal: "SIGKILL"}); err != nil {
			return fmt.Errorf("redisserver: cannot kill container %s: %w", d.name, err)
		}
		if err := d.expect(ctx, "dead", func(s *container.State) bool { return !s.Running }); err != nil {
			return err
		}
		return awaitRefused(ctx, d.addr)
	}, running, paused)
}

// expect waits until Docker says that the container is in a state.
func (d *docker) expect(ctx context.Context, what string, is func(*container.State) bool) error {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	for {
		found, err := d.provider.Client().ContainerInspect(ctx, d.name, client.ContainerInspectOptions{})
		if err != nil {
			return fmt.Errorf("redisserver: cannot look at container %s: %w", d.name, err)
		}
		if found.Container.State != nil && is(found.Container.State) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("redisserver: container %s is not %s: %w", d.name, what, context.Cause(ctx))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Restart implements Server. Without data it is a new container.
func (d *docker) Restart(ctx context.Context, keepData bool) error {
	return d.change(running, func(state) error {
		ctx, cancel := context.WithTimeout(ctx, d.timeout)
		defer cancel()
		err := d.start(ctx, keepData)
		if err == nil {
			err = await(ctx, d.addr, nil)
		}
		if err != nil {
			return fmt.Errorf("redisserver: container of image %s does not start at %s: %w%s", d.image, d.addr, err, d.said(ctx))
		}
		return nil
	}, crashed)
}

func (d *docker) start(ctx context.Context, keepData bool) error {
	if keepData {
		_, err := d.provider.Client().ContainerStart(ctx, d.name, client.ContainerStartOptions{})
		return err
	}
	if err := d.remove(ctx); err != nil {
		return err
	}
	d.name = warden.Name("redis")
	if err := d.warden.Container(d.name); err != nil {
		return err
	}
	d.created = true
	_, err := d.provider.RunContainer(ctx, d.request())
	if err != nil && strings.Contains(strings.ToLower(err.Error()), "reaper") {
		err = &Error{Kind: Missing, Text: "the helper container of testcontainers does not start; set TESTCONTAINERS_RYUK_DISABLED=true (containers are removed all the same)", Err: err}
	}
	return err
}

func (d *docker) request() testcontainers.ContainerRequest {
	inside := network.MustParsePort(strconv.Itoa(containerPort) + "/tcp")
	return testcontainers.ContainerRequest{
		Image: d.image,
		Name:  d.name,
		// Whatever the image's own entry point does: the settings are ours.
		Entrypoint:   []string{program},
		Cmd:          append(durable(containerPort, "/data"), "--bind", "0.0.0.0", "--protected-mode", "no"),
		ExposedPorts: []string{inside.String()},
		HostConfigModifier: func(h *container.HostConfig) {
			// Only this machine reaches it, so it needs no password.
			here := netip.AddrFrom4([4]byte{127, 0, 0, 1})
			h.PortBindings = network.PortMap{inside: {{HostIP: here, HostPort: strconv.Itoa(d.port)}}}
		},
	}
}

// said is the last line of the container's log, for an error.
func (d *docker) said(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	log, err := d.provider.Client().ContainerLogs(ctx, d.name, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Tail: "1"})
	if err != nil {
		return ""
	}
	defer func() { _ = log.Close() }() // only read
	text, err := io.ReadAll(log)
	if err != nil || len(text) < 9 {
		return ""
	}
	return "; it said: " + strings.TrimSpace(string(text[8:])) // a frame of Docker's stream begins with eight bytes
}

// remove removes the container, running or not, with its data.
func (d *docker) remove(ctx context.Context) error {
	if !d.created {
		return nil
	}
	_, err := d.provider.Client().ContainerRemove(ctx, d.name, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("redisserver: cannot remove container %s: %w", d.name, err)
	}
	d.created = false
	return d.warden.ForgetContainer(d.name)
}

// Close implements Server.
func (d *docker) Close() error {
	return d.close(func(state) error {
		ctx, cancel := context.WithTimeout(context.Background(), containerTimeout)
		defer cancel()
		return errors.Join(d.remove(ctx), d.release(), d.provider.Close())
	})
}

func portTaken(err error) bool {
	return strings.Contains(err.Error(), "already in use") || strings.Contains(err.Error(), "already allocated")
}

package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"

	"github.com/recount-io/recount/sim/live/supervisor"
)

// ErrNoAnswer says that there is no Docker Engine where it is looked for.
var ErrNoAnswer = errors.New("docker: no Docker Engine answers")

// Engine is a Docker Engine. Its methods may be called from several goroutines.
type Engine struct {
	provider   *testcontainers.DockerProvider
	supervisor *supervisor.Supervisor
	places     places
}

// Open finds the Docker Engine as testcontainers does (DOCKER_HOST, contexts, the
// usual sockets), and has the supervisor guard whatever is made there. The caller calls
// Close, before the supervisor is closed. The error is an ErrNoAnswer where nobody
// answers.
func Open(ctx context.Context, w *supervisor.Supervisor) (*Engine, error) {
	quieten()
	if err := asked(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	provider, err := testcontainers.NewDockerProvider(testcontainers.WithLogger(log.NewNoopLogger()))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	if _, err := provider.Client().Ping(ctx, client.PingOptions{}); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrNoAnswer, err), provider.Close())
	}
	return &Engine{provider: provider, supervisor: w}, nil
}

// asked asks the one that DOCKER_HOST names, if it names one: where that is dead,
// testcontainers would take another without a word.
func asked(ctx context.Context) error {
	if os.Getenv(client.EnvOverrideHost) == "" {
		return nil
	}
	named, err := client.New(client.FromEnv)
	if err != nil {
		return err
	}
	_, err = named.Ping(ctx, client.PingOptions{})
	return errors.Join(err, named.Close())
}

// quieten takes its default logger from testcontainers, which prints a page
// about itself and Docker to standard error whatever logger it is given.
var quieten = sync.OnceFunc(func() { log.SetDefault(log.NewNoopLogger()) })

func (e *Engine) api() client.APIClient { return e.provider.Client() }

// Label is on whatever is made; its value is the number of the process that made it.
const Label = "io.recount.harness"

func labels() map[string]string { return map[string]string{Label: strconv.Itoa(os.Getpid())} }

// Close closes the connections. What was made stays the supervisor's.
func (e *Engine) Close() error { return e.provider.Close() }

package warden

import (
	"context"
	"fmt"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

// removeContainer removes a container by force. One that is not there yet may
// be in the making (the daemon goes on with a request whose sender has died),
// so it is waited for until ctx ends.
func removeContainer(ctx context.Context, name string) error {
	if !strings.HasPrefix(name, Prefix) {
		return fmt.Errorf("container %s: not one that a warden guards: left alone", name)
	}
	docker, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return fmt.Errorf("container %s: %w", name, err)
	}
	defer func() { _ = docker.Close() }() // the process ends after this
	for {
		_, err = docker.ContainerRemove(ctx, name, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		if err == nil {
			return nil
		}
		if !errdefs.IsNotFound(err) {
			return fmt.Errorf("container %s: %w", name, err)
		}
		if !pause(ctx) {
			return nil // it never came to be
		}
	}
}

package supervisor

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

// endDocker removes containers, then the networks that they were in, and the images
// that they were made of.
func (g *guarded) endDocker() []error {
	if len(g.containers)+len(g.networks)+len(g.images) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), dockerTimeout)
	defer cancel()
	docker, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return []error{fmt.Errorf("containers, networks and images are left: %w", err)}
	}
	defer func() { _ = docker.Close() }() // the process ends after this
	all := eachOf(g.containers, func(name string) error {
		return removeUntil(ctx, "container "+name, name, func() error {
			_, err := docker.ContainerRemove(ctx, name, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
			return err
		})
	})
	all = append(all, eachOf(g.networks, func(name string) error {
		return removeUntil(ctx, "network "+name, name, func() error {
			_, err := docker.NetworkRemove(ctx, name, client.NetworkRemoveOptions{})
			return err
		})
	})...)
	return append(all, eachOf(g.images, func(name string) error {
		return removeUntil(ctx, "image "+name, name, func() error {
			_, err := docker.ImageRemove(ctx, name, client.ImageRemoveOptions{Force: true, PruneChildren: true})
			return err
		})
	})...)
}

// eachOf calls remove for all names at one time, and waits.
func eachOf(names map[string]bool, remove func(name string) error) []error {
	problems := make(chan error, len(names))
	var all sync.WaitGroup
	for name := range names {
		all.Go(func() { problems <- remove(name) })
	}
	all.Wait()
	close(problems)
	var errs []error
	for err := range problems {
		errs = append(errs, err)
	}
	return errs
}

// patience is for how long something may still come to be that Docker does not have:
// the daemon goes on with a request whose sender has died.
const patience = 10 * time.Second

// removeUntil tries to remove something until it is gone, or ctx is.
func removeUntil(ctx context.Context, what, name string, remove func() error) error {
	if !strings.HasPrefix(name, Prefix) {
		return fmt.Errorf("%s: not one that a supervisor guards: left alone", what)
	}
	making, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := remove()
		switch {
		case err == nil:
			return nil
		case errdefs.IsNotFound(err):
			if !pause(making) {
				return nil // it never came to be
			}
		case !pause(ctx):
			return fmt.Errorf("%s: %w", what, err)
		}
	}
}

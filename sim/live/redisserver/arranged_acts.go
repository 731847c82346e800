package redisserver

import (
	"context"
	"errors"
	"fmt"

	"github.com/recount-io/recount/internal/topology"
)

// Lose implements Arranged.
func (a *arranged) Lose(ctx context.Context, key string) error {
	p, err := a.leave(ctx, key)
	if err != nil {
		return err
	}
	if err := p.Kill(); err != nil {
		return err
	}
	return awaitRefused(ctx, p.Addr)
}

// Isolate implements Arranged.
func (a *arranged) Isolate(ctx context.Context, key string) (addr string, err error) {
	if a.kind != Sentinel {
		return "", fmt.Errorf("redisserver: a primary of a %s cannot be isolated here: nothing stands between its nodes", a.kind)
	}
	p, err := a.leave(ctx, key)
	if err != nil {
		return "", err
	}
	return p.Addr, p.Isolate(ctx)
}

// leave makes the primary of the key the old one, and looks out for another.
func (a *arranged) leave(ctx context.Context, key string) (*topology.Server, error) {
	if a.old != nil {
		return nil, fmt.Errorf("redisserver: the old primary at %s is not back yet", a.old.Addr)
	}
	p, _, err := a.one.primary(ctx, key)
	if err != nil {
		return nil, err
	}
	if a.await, err = a.one.watch(ctx, key, p); err != nil {
		return nil, err
	}
	a.old = p
	return p, nil
}

// Promoted implements Arranged.
func (a *arranged) Promoted(ctx context.Context) (addr string, err error) {
	if a.old == nil {
		return "", ErrNoneLost
	}
	p, err := a.await(ctx)
	if err != nil {
		return "", err
	}
	return p.Addr, nil
}

// ErrNoneLost says that there is no old primary to be replaced, or to come back.
var ErrNoneLost = errors.New("redisserver: no primary was lost or isolated")

// Rejoin implements Arranged. It does not wait until the old primary follows:
// that takes Sentinels seconds, and nobody depends on it.
func (a *arranged) Rejoin(ctx context.Context) error {
	if a.old == nil {
		return ErrNoneLost
	}
	old := a.old
	a.old, a.lonely = nil, nil
	if err := old.Start(ctx); err == nil || !errors.Is(err, topology.ErrRuns) {
		return err
	}
	return old.Rejoin(ctx)
}

// errAlone answers what is for servers that stand alone.
func (a *arranged) errAlone(act string) error {
	return &Error{Kind: Shared, Text: fmt.Sprintf("the servers of a %s cannot be %s as if they were one; use a topology of one server for this scenario", a.kind, act)}
}

// Pause implements Server.
func (a *arranged) Pause(context.Context) error { return a.errAlone("paused") }

// Resume implements Server.
func (a *arranged) Resume(context.Context) error { return a.errAlone("resumed") }

// Crash implements Server.
func (a *arranged) Crash(context.Context) error { return a.errAlone("crashed") }

// Restart implements Server.
func (a *arranged) Restart(context.Context, bool) error { return a.errAlone("restarted") }

// Close implements Server.
func (a *arranged) Close() error {
	var err error
	a.once.Do(func() {
		if a.launcher != nil {
			err = a.launcher.Close()
		}
		if a.sites != nil {
			err = errors.Join(err, a.sites.close())
		}
		if a.dir != "" {
			err = errors.Join(err, a.supervisor.RemoveDirectory(a.dir))
		}
		err = errors.Join(err, a.revoke())
		err = errors.Join(err, a.release())
	})
	return err
}

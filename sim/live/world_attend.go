package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim/live/network"
	"github.com/recount-io/recount/sim/live/redisserver"
	"github.com/recount-io/recount/sim/protocol"
)

// attended is the run's server, if it can be attended to.
func (w *world) attended() (redisserver.Attended, error) {
	server, is := w.server.(redisserver.Attended)
	if !is {
		return nil, faults.NoEffect("the connections and users of a Redis by %s are not the harness's: use --redis process", w.server.Describe())
	}
	return server, nil
}

// MoveStore implements faults.World.
func (w *world) MoveStore(ctx context.Context, answer faults.Answer) (string, error) {
	server, err := w.attended()
	if err != nil {
		return "", err
	}
	var left int
	var said string
	w.audit.drain(ctx)
	err = w.unguided(func() (err error) {
		ctx, cancel := context.WithTimeout(ctx, agreeTime)
		defer cancel()
		left, said, err = server.Move(ctx, string(answer))
		return err
	})
	if err != nil {
		return "", err
	}
	if left == 0 {
		return "", faults.NoEffect("no candidate was connected to the former primary")
	}
	return fmt.Sprintf("%d connections still lead to the former primary, which answers %q", left, said), ctx.Err()
}

// unguided calls act while no candidate reaches the Sentinels. So none learns that the
// primary is another one now. A candidate that asks afterwards learns it.
func (w *world) unguided(act func() error) error {
	a := w.arranged()
	if a == nil {
		return act()
	}
	var guides way
	for _, links := range w.links {
		for i, addr := range a.Nodes() {
			if slices.Contains(a.Guides(), addr) {
				guides = append(guides, links[i])
			}
		}
	}
	if err := guides.Cut(network.Both); err != nil {
		return err
	}
	return errors.Join(act(), guides.Heal())
}

// CloseConnections implements faults.World.
func (w *world) CloseConnections(ctx context.Context) (string, error) {
	server, err := w.attended()
	if err != nil {
		return "", err
	}
	closed, err := server.Kick(ctx)
	switch {
	case err != nil:
		return "", err
	case closed == 0:
		return "", faults.NoEffect("no candidate was connected")
	default:
		return fmt.Sprintf("the store closed %d connections", closed), ctx.Err()
	}
}

// WithdrawRights implements faults.World.
func (w *world) WithdrawRights(ctx context.Context) (string, error) {
	return w.refuses(ctx, "NOPERM", func(s redisserver.Attended) error { return s.Allow(ctx, false) })
}

// RestoreRights implements faults.World.
func (w *world) RestoreRights(ctx context.Context) (string, error) {
	return w.admits(ctx, func(s redisserver.Attended) error { return s.Allow(ctx, true) })
}

// ChangePassword implements faults.World.
func (w *world) ChangePassword(ctx context.Context, side faults.PasswordSide) (string, error) {
	inFile := side == faults.PasswordFile
	return w.refuses(ctx, "WRONGPASS", func(s redisserver.Attended) error { return s.SetPassword(ctx, inFile, s.Password(inFile)+1) })
}

// AlignPassword implements faults.World.
func (w *world) AlignPassword(ctx context.Context, side faults.PasswordSide) (string, error) {
	inFile := side == faults.PasswordFile
	return w.admits(ctx, func(s redisserver.Attended) error { return s.SetPassword(ctx, inFile, s.Password(!inFile)) })
}

// refuses does something after which the store answers a candidate that connects with the
// error code.
func (w *world) refuses(ctx context.Context, code string, act func(redisserver.Attended) error) (string, error) {
	server, err := w.attended()
	if err != nil {
		return "", err
	}
	if err := act(server); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	err = server.Login(ctx)
	switch {
	case err == nil:
		return "", faults.NoEffect("a script of a candidate that connects is still run")
	case !strings.HasPrefix(err.Error(), code):
		return "", fmt.Errorf("live: connect as a candidate: %w", err)
	default:
		return fmt.Sprintf("who connects as a candidate is answered %q", err), nil
	}
}

// admits does something after which the store runs the scripts of a candidate that
// connects.
func (w *world) admits(ctx context.Context, act func(redisserver.Attended) error) (string, error) {
	server, err := w.attended()
	if err != nil {
		return "", nil //nolint:nilerr // Apply has said so
	}
	if err := act(server); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	if err := server.Login(ctx); err != nil {
		return "", fmt.Errorf("live: connect as a candidate: %w", err)
	}
	return "who connects as a candidate is served", nil
}

// admit prepares the store to be attended to, if the schedule asks for that. What candidates
// must know for it is in their environment.
func (r *run) admit(ctx context.Context) error {
	server, is := r.servers[0].(redisserver.Attended)
	if !is || len(r.servers) > 1 || !r.plan.Schedule.NeedsAttendedStore() {
		return nil
	}
	r.close = append(r.close, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), actTime)
		defer cancel()
		return server.Settle(ctx)
	})
	if !r.plan.Schedule.NeedsUser() {
		return nil
	}
	file, err := server.Admit(ctx)
	r.beside = append(r.beside, protocol.EnvPasswordFile+"="+file)
	return err
}

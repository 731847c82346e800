package redisserver

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/internal/loopback"
	"github.com/recount-io/recount/internal/topology"
)

var _, _ Attended = (*process)(nil), (*arranged)(nil)

// Options implements Server.
func (p *process) Options() *redis.Options {
	o := p.private.Options()
	o.ClientName = ownName
	return o
}

// CandidateURL implements Server.
func (p *process) CandidateURL(proxyAddr string) string {
	if p.login == nil {
		return p.private.CandidateURL(proxyAddr)
	}
	return (&url.URL{Scheme: "redis", User: p.user(), Host: proxyAddr, Path: "/0"}).String()
}

// Move implements Attended.
func (p *process) Move(ctx context.Context, code string) (left int, said string, err error) {
	err = p.change(running, func(state) (err error) {
		ctx, cancel := context.WithTimeout(ctx, 3*p.timeout) // for a start, a copy, and the rest
		defer cancel()
		if left, said, err = p.move(ctx, code); err != nil {
			err = fmt.Errorf("redisserver: cannot put a replica in the place of its primary: %w", err)
		}
		return err
	}, running)
	return left, said, err
}

func (p *process) move(ctx context.Context, code string) (left int, said string, err error) {
	opened, err := openProcess(ctx, Options{Supervisor: p.supervisor, Timeout: p.timeout}, "a replica")
	if err != nil {
		return 0, "", err
	}
	r := opened.(*process) //nolint:forcetypeassert // it always is
	c := redis.NewClient(p.Options())
	here := c.Conn() // a new one would come to lead to the replica
	defer func() { _ = errors.Join(here.Close(), c.Close()) }()
	if err := p.copyAll(ctx, r); err != nil {
		return 0, "", errors.Join(err, r.Close())
	}
	if err := p.swap(ctx, here, r); err != nil {
		return 0, "", errors.Join(err, here.Do(ctx, "CLIENT", "UNPAUSE").Err(), r.Close())
	}
	p.child, r.child, p.dir, r.dir = r.child, p.child, r.dir, p.dir
	p.former = append(p.former, r)
	_, theirs, err := connected(ctx, here) // before any of them learns it
	if err := errors.Join(err, p.admit(ctx)); err != nil {
		return 0, "", err
	}
	said, err = dismiss(ctx, here, code, p.port)
	return len(theirs), said, err
}

// copyAll has r follow the server.
func (p *process) copyAll(ctx context.Context, r *process) error {
	here, there := redis.NewClient(p.Options()), redis.NewClient(r.Options())
	defer func() { _ = errors.Join(here.Close(), there.Close()) }() // nothing is under way
	if err := p.follow(ctx, here, there); err != nil {
		return err
	}
	return r.persisted(ctx)
}

// swap has nobody write to the server, and makes r a primary at its address, and the
// server one at another address.
func (p *process) swap(ctx context.Context, here *redis.Conn, r *process) error {
	if err := here.Do(ctx, "CLIENT", "PAUSE", p.timeout.Milliseconds(), "WRITE").Err(); err != nil {
		return err
	}
	if err := inStep(ctx, p.Options(), r.Options()); err != nil {
		return err
	}
	there := redis.NewClient(r.Options())
	defer func() { _ = there.Close() }() // nothing is under way
	if err := there.ReplicaOf(ctx, "NO", "ONE").Err(); err != nil {
		return err
	}
	aside, err := loopback.FreePort()
	if err != nil {
		return err
	}
	if err := here.ConfigSet(ctx, "port", strconv.Itoa(aside)).Err(); err != nil {
		return err
	}
	if err := there.ConfigSet(ctx, "port", strconv.Itoa(p.port)).Err(); err != nil {
		return errors.Join(err, here.ConfigSet(ctx, "port", strconv.Itoa(p.port)).Err())
	}
	return await(ctx, p.addr, r.child.Done())
}

// inStep returns when the replica has all that the primary has, to which nobody writes.
func inStep(ctx context.Context, primary, replica *redis.Options) error {
	for {
		mine, err := information(ctx, primary, "replication")
		if err != nil {
			return err
		}
		its, err := information(ctx, replica, "replication")
		if err != nil {
			return err
		}
		if mine["master_repl_offset"] == its["slave_repl_offset"] {
			return nil
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("the replica at %s is at %s of %s: %w", replica.Addr, its["slave_repl_offset"], mine["master_repl_offset"], err)
		}
	}
}

// demote makes a server that is no primary any more answer with the code. The new
// primary is at the port.
func demote(ctx context.Context, former *redis.Conn, code string, port int) error {
	const nobody = "1" // at this port
	switch code {
	case "READONLY":
		return former.Do(ctx, "REPLICAOF", "127.0.0.1", port).Err()
	case "NOREPLICAS":
		return former.ConfigSet(ctx, "min-replicas-to-write", "9").Err()
	case "MASTERDOWN":
		if err := former.ConfigSet(ctx, "replica-serve-stale-data", "no").Err(); err != nil {
			return err
		}
		return former.Do(ctx, "REPLICAOF", "127.0.0.1", nobody).Err()
	}
	return fmt.Errorf("no server can be made to answer %q: give READONLY, NOREPLICAS or MASTERDOWN", code)
}

// Settle implements Attended.
func (p *process) Settle(ctx context.Context) error {
	return errors.Join(p.attendance.Settle(ctx), p.forsake())
}

// forsake ends the servers before, and removes the file.
func (p *process) forsake() error {
	var errs []error
	for _, r := range p.former {
		errs = append(errs, r.Close())
	}
	p.former = nil
	return errors.Join(append(errs, p.revoke())...)
}

// Move implements Attended: Sentinels that no longer reach the primary promote a replica,
// which has all that the primary has. Clients still reach the primary, which answers them so
// at once: a request that is not answered costs a client its connection.
func (a *arranged) Move(ctx context.Context, code string) (left int, said string, err error) {
	if a.kind != Sentinel {
		return 0, "", fmt.Errorf("redisserver: a primary of a %s cannot be left here: nothing stands between its nodes", a.kind)
	}
	p, replicas, err := a.one.primary(ctx, anyKey)
	if err != nil {
		return 0, "", err
	}
	at := func(s *topology.Server) *redis.Options {
		o := a.Options()
		o.Addr = s.Addr
		return o
	}
	c := redis.NewClient(at(p))
	here := c.Conn()
	defer func() { _ = errors.Join(here.Close(), c.Close()) }()
	if err := here.Do(ctx, "CLIENT", "PAUSE", a.timeout.Milliseconds(), "WRITE").Err(); err != nil {
		return 0, "", err
	}
	for _, r := range replicas {
		if err := inStep(ctx, at(p), at(r)); err != nil {
			return 0, "", errors.Join(err, here.Do(ctx, "CLIENT", "UNPAUSE").Err())
		}
	}
	_, theirs, err := connected(ctx, here)
	if err != nil {
		return 0, "", err
	}
	if _, err := a.Isolate(ctx, anyKey); err != nil {
		return 0, "", err
	}
	if said, err = dismiss(ctx, here, code, replicas[0].Port()); err != nil {
		return 0, "", err
	}
	_, err = a.Promoted(ctx)
	a.old = nil // it lives until the end, and nobody brings it back
	return len(theirs), said, err
}

// anyKey is as good as any where one server has all keys.
const anyKey = "recount"

// dismiss makes a server that is no primary any more answer with the code, and has it go
// on. The new primary, or one that will follow it, is at the port.
func dismiss(ctx context.Context, former *redis.Conn, code string, port int) (said string, err error) {
	if err := errors.Join(demote(ctx, former, code, port), former.Do(ctx, "CLIENT", "UNPAUSE").Err()); err != nil {
		return "", err
	}
	if _, err := kill(ctx, former, true); err != nil {
		return "", err
	}
	err = former.Eval(ctx, "return redis.call('DEL', KEYS[1])", []string{"recount-no-such-key"}).Err()
	if err == nil || !strings.HasPrefix(err.Error(), code) {
		return "", fmt.Errorf("the former primary should answer %s, and answers %w", code, errors.Join(err, errors.New("a script that writes")))
	}
	return err.Error(), nil
}

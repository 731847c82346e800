package redisserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Forgetful is a Server that can be made to break its word: to go back to what
// it was some time ago, or to be replaced by a replica that lags behind. Its
// methods may be called one after the other.
type Forgetful interface {
	Server

	// Mark remembers what the server has written so far.
	Mark(ctx context.Context) error
	// CrashBack is Crash, and Restart then goes on from Mark, but without the
	// given keys. It returns how many bytes of the server's file were lost.
	CrashBack(ctx context.Context, without ...string) (lost int64, err error)

	// Replicate makes a replica that has what the server has, but for the given
	// keys, and gets nothing any more. It returns its address, which it has
	// until Promote.
	Replicate(ctx context.Context, without ...string) (addr string, err error)
	// Lacks tells how many bytes of what the server did are not in the replica.
	Lacks(ctx context.Context) (int64, error)
	// Promote puts the replica in the place of the server, at its address: the
	// server is killed, if it runs, and its data is gone.
	Promote(ctx context.Context) error
}

var _ Forgetful = (*process)(nil)

// replica is one that is cut off from its primary.
type replica struct {
	*process
	offset int64 // of the primary's stream, up to where it has it
}

// Mark implements Forgetful. The server writes whole commands, and appends to
// one file only.
func (p *process) Mark(ctx context.Context) error {
	return p.change(running, func(state) error {
		if err := p.child.Pause(ctx); err != nil {
			return err
		}
		size, err := p.written()
		p.mark = size
		return errors.Join(err, p.child.Resume(ctx))
	}, running)
}

// CrashBack implements Forgetful.
func (p *process) CrashBack(ctx context.Context, without ...string) (lost int64, err error) {
	if err := p.Crash(ctx); err != nil {
		return 0, err
	}
	return lost, p.change(crashed, func(state) error {
		size, err := p.written()
		if err != nil {
			return err
		}
		lost = size - p.mark
		return p.cutBack(without)
	}, crashed)
}

// file is the append-only file that the server writes to.
func (p *process) file() (string, error) {
	found, err := filepath.Glob(filepath.Join(p.dir, "appendonlydir", "*.incr.aof"))
	if err == nil && len(found) == 0 { // before Redis 7
		found = []string{filepath.Join(p.dir, "appendonly.aof")}
	}
	if err == nil && len(found) > 1 {
		err = fmt.Errorf("there are %d of them", len(found))
	}
	if err != nil {
		return "", fmt.Errorf("redisserver: cannot tell the append-only file of redis-server: %w", err)
	}
	return found[0], nil
}

// written is how long that file is.
func (p *process) written() (int64, error) {
	name, err := p.file()
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(name)
	if err != nil {
		return 0, fmt.Errorf("redisserver: %w", err)
	}
	return info.Size(), nil
}

// cutBack shortens the file to the mark and deletes keys at its end.
func (p *process) cutBack(without []string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("redisserver: cannot set the data of redis-server back: %w", err)
		}
	}()
	name, err := p.file()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Truncate(p.mark); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	for _, key := range without {
		if _, err := fmt.Fprintf(f, "*2\r\n$3\r\nDEL\r\n$%d\r\n%s\r\n", len(key), key); err != nil {
			return err
		}
	}
	return nil
}

// Replicate implements Forgetful. Replication ends at once, and the replica is
// promoted already: nobody reaches it yet.
func (p *process) Replicate(ctx context.Context, without ...string) (addr string, err error) {
	return addr, p.change(running, func(state) (err error) {
		if p.replica != nil {
			return errors.New("redisserver: the Redis has a replica already")
		}
		opened, err := openProcess(ctx, Options{Supervisor: p.supervisor, Timeout: p.timeout}, "a replica")
		if err != nil {
			return err
		}
		r := &replica{process: opened.(*process)}
		if r.offset, err = p.copyTo(ctx, r, without); err != nil {
			return errors.Join(fmt.Errorf("redisserver: cannot make a replica: %w", err), r.Close())
		}
		p.replica, addr = r, r.addr
		return nil
	}, running)
}

// copyTo lets r follow the server until it has all, and no longer. It returns
// how far in the server's stream that is.
func (p *process) copyTo(ctx context.Context, r *replica, without []string) (offset int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	here, there := redis.NewClient(p.Options()), redis.NewClient(r.Options())
	defer func() { err = errors.Join(err, here.Close(), there.Close()) }()
	if err := p.follow(ctx, here, there); err != nil {
		return 0, err
	}
	if err := there.ReplicaOf(ctx, "NO", "ONE").Err(); err != nil {
		return 0, err
	}
	fields, err := information(ctx, r.Options(), "replication")
	if err != nil {
		return 0, err
	}
	if len(without) > 0 {
		if err := there.Del(ctx, without...).Err(); err != nil {
			return 0, err
		}
	}
	if err := r.persisted(ctx); err != nil {
		return 0, err
	}
	return strconv.ParseInt(fields["master_repl_offset"], 10, 64)
}

// follow has there, a client of another server, follow the server, and returns when they
// are connected.
func (p *process) follow(ctx context.Context, here, there *redis.Client) error {
	// It would wait for more replicas.
	if err := here.ConfigSet(ctx, "repl-diskless-sync-delay", "0").Err(); err != nil {
		return err
	}
	if err := there.ReplicaOf(ctx, "127.0.0.1", strconv.Itoa(p.port)).Err(); err != nil {
		return err
	}
	return awaitField(ctx, there.Options(), "replication", "master_link_status", "up")
}

// persisted returns when a server that was a replica has written all that it got to a
// file. Until then it keeps nothing.
func (p *process) persisted(ctx context.Context) error {
	for _, field := range []string{"aof_rewrite_scheduled", "aof_rewrite_in_progress"} {
		if err := awaitField(ctx, p.Options(), "persistence", field, "0"); err != nil {
			return err
		}
	}
	return nil
}

// awaitField returns when a field of INFO has the value.
func awaitField(ctx context.Context, o *redis.Options, section, field, value string) error {
	for {
		fields, err := information(ctx, o, section)
		if err != nil {
			return err
		}
		if fields[field] == value {
			return nil
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("%s is %s: %w", field, fields[field], err)
		}
	}
}

// Lacks implements Forgetful.
func (p *process) Lacks(ctx context.Context) (int64, error) {
	if p.replica == nil {
		return 0, errNoReplica
	}
	fields, err := information(ctx, p.Options(), "replication")
	if err != nil {
		return 0, fmt.Errorf("redisserver: how much a replica lacks: %w", err)
	}
	offset, err := strconv.ParseInt(fields["master_repl_offset"], 10, 64)
	return offset - p.replica.offset, err
}

var errNoReplica = errors.New("redisserver: the Redis has no replica")

// Promote implements Forgetful: the replica comes to listen at the server's
// port, and is the server from then on.
func (p *process) Promote(ctx context.Context) error {
	return p.change(running, func(was state) error {
		r := p.replica
		if r == nil {
			return errNoReplica
		}
		if was != crashed {
			if err := p.kill(ctx); err != nil {
				return err
			}
		}
		if err := awaitRefused(ctx, p.addr); err != nil {
			return err
		}
		c := redis.NewClient(r.Options())
		defer func() { _ = c.Close() }() // nothing is under way
		if err := c.ConfigSet(ctx, "port", strconv.Itoa(p.port)).Err(); err != nil {
			return fmt.Errorf("redisserver: the replica cannot take the place of its primary: %w", err)
		}
		dir := p.dir
		p.child, p.dir, p.replica = r.child, r.dir, nil
		return errors.Join(await(ctx, p.addr, p.child.Done()), p.supervisor.RemoveDirectory(dir), p.admit(ctx))
	}, running, paused, crashed)
}

// Explain says in one line whether the server can be made to forget, and what
// to do if not.
func Explain(s Server) (Forgetful, string) {
	if f, ok := s.(Forgetful); ok {
		return f, ""
	}
	provider, _, _ := strings.Cut(s.Describe(), " ")
	return nil, "a Redis by " + provider + " has no file and no replica that could be behind: use --redis process"
}

// Foresee tells of the Redis that a spec names, without opening it, whether it will be
// private, and whether it can be made to forget.
func Foresee(spec string) (private, forgetful bool) {
	switch spec {
	case "", "auto":
		_, err := exec.LookPath(program)
		return true, err == nil
	case "process":
		return true, true
	default:
		return !IsURL(spec), false
	}
}

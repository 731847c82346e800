package redisserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/internal/loopback"
	"github.com/recount-io/recount/sim/live/supervisor"
)

// program is what a process runs, and what has to be on PATH.
const program = "redis-server"

const (
	logName = "redis.log"
	// memoryRoom is what the data of a long run takes, and plenty more.
	memoryRoom = 256 << 20
)

// durable are the settings under which a server keeps what it has confirmed:
// every write is on disk before its reply. Rewriting the file would take time
// at moments of its own choice.
func durable(port int, dir string) []string {
	return []string{
		"--port", strconv.Itoa(port), "--dir", dir, "--daemonize", "no",
		"--save", "", "--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0",
	}
}

// process is a redis-server of our own, in a directory of its own, on a
// loopback port, without a password.
type process struct {
	private
	lifecycle
	attendance
	path, version string
	port          int
	dir           string
	release       func() error
	child         *supervisor.Process

	mark    int64    // see Mark
	replica *replica // nil if there is none

	former []*process // see Move
}

var _ Server = (*process)(nil)

func openProcess(ctx context.Context, o Options, why string) (Server, error) {
	path, version, err := find(ctx)
	if err != nil {
		return nil, err
	}
	p := &process{private: private{why: why}, lifecycle: lifecycle{state: crashed}, path: path, version: version}
	p.timeout, p.servers = o.timeout(startTimeout), func() []*redis.Options { return []*redis.Options{p.Options()} }
	if p.supervisor, p.release, err = o.guard(); err != nil {
		return nil, err
	}
	if p.dir, err = p.supervisor.MemoryDirectory("redis", memoryRoom); err != nil {
		return nil, errors.Join(err, p.release())
	}
	for range 5 { // somebody may take the port that was free just now
		if p.port, err = loopback.FreePort(); err != nil {
			break
		}
		p.addr = fmt.Sprintf("127.0.0.1:%d", p.port)
		if err = p.Restart(ctx, true); err == nil {
			return p, nil
		}
		if !bytes.Contains(p.log(), []byte("Address already in use")) {
			break
		}
	}
	return nil, errors.Join(err, p.Close())
}

var versionText = regexp.MustCompile(`\bv=(\S+)`)

// find looks for redis-server and asks it for its version.
func find(ctx context.Context) (path, version string, err error) {
	const mend = "install it (apt install redis-server, brew install redis) or use --redis embedded"
	path, err = exec.LookPath(program)
	if err != nil {
		return "", "", &Error{Kind: Missing, Text: program + " is not on PATH; " + mend, Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	found := versionText.FindSubmatch(out)
	if err != nil || found == nil {
		return "", "", &Error{Kind: Missing, Text: path + " does not tell its version; " + mend, Err: err}
	}
	return path, string(found[1]), nil
}

// Describe implements Server.
func (p *process) Describe() string { return "process " + p.version }

// Pause implements Server.
func (p *process) Pause(ctx context.Context) error {
	return p.change(paused, func(state) error { return p.child.Pause(ctx) }, running)
}

// Resume implements Server.
func (p *process) Resume(ctx context.Context) error {
	return p.change(running, func(state) error { return p.child.Resume(ctx) }, paused)
}

// Crash implements Server.
func (p *process) Crash(ctx context.Context) error {
	return p.change(crashed, func(state) error {
		if err := p.kill(ctx); err != nil {
			return err
		}
		return awaitRefused(ctx, p.addr)
	}, running, paused)
}

// kill returns when the process is gone; one that was gone before is no error.
func (p *process) kill(ctx context.Context) error {
	if err := p.child.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("redisserver: cannot kill redis-server (process %d): %w", p.child.PID(), err)
	}
	select {
	case <-p.child.Done():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("redisserver: redis-server (process %d) was killed and did not end: %w", p.child.PID(), context.Cause(ctx))
	}
}

// Restart implements Server.
func (p *process) Restart(ctx context.Context, keepData bool) error {
	return p.change(running, func(state) error {
		if !keepData {
			if err := p.forget(); err != nil {
				return fmt.Errorf("redisserver: cannot remove the data of redis-server: %w", err)
			}
		}
		ctx, cancel := context.WithTimeout(ctx, p.timeout)
		defer cancel()
		if err := p.start(ctx); err != nil {
			return err
		}
		return p.admit(ctx)
	}, crashed)
}

// start starts the process and waits until it answers. One that cannot listen
// since another program holds its port for a moment is started again.
func (p *process) start(ctx context.Context) error {
	first := p.child == nil
	for {
		offset := len(p.log())
		err := p.launch(ctx)
		if err == nil {
			return nil
		}
		said := p.log()
		said = said[min(offset, len(said)):]
		if !first && ctx.Err() == nil && bytes.Contains(said, []byte("Address already in use")) {
			continue
		}
		return fmt.Errorf("redisserver: redis-server does not start at %s: %w; it said: %s", p.addr, err, lastLine(said))
	}
}

func (p *process) launch(ctx context.Context) (err error) {
	log, err := os.OpenFile(filepath.Join(p.dir, logName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	cmd := exec.Command(p.path, append(durable(p.port, p.dir), "--bind", "127.0.0.1")...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, log, log
	child, err := p.supervisor.Start(cmd)
	if err != nil {
		return err
	}
	p.child = child
	go func() { _ = child.Wait() }() // how it ended is in its log; Done says that it did
	if err := await(ctx, p.addr, child.Done()); err != nil {
		return errors.Join(err, p.kill(context.WithoutCancel(ctx)))
	}
	// Somebody else's Redis may hold the port, and answer.
	fields, err := information(ctx, p.Options(), "server")
	if err == nil && fields["process_id"] != strconv.Itoa(child.PID()) {
		err = errors.New("another Redis answers there")
	}
	if err != nil {
		return errors.Join(err, p.kill(context.WithoutCancel(ctx)))
	}
	return nil
}

// forget removes everything but the log.
func (p *process) forget() error {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() == logName {
			continue
		}
		if err := os.RemoveAll(filepath.Join(p.dir, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (p *process) log() []byte {
	log, _ := os.ReadFile(filepath.Join(p.dir, logName)) // none yet: nothing was said
	return log
}

func lastLine(log []byte) string {
	lines := bytes.Split(bytes.TrimSpace(log), []byte("\n"))
	return string(lines[len(lines)-1])
}

// Close implements Server.
func (p *process) Close() error {
	return p.close(func(state) error {
		var all []error
		if p.child != nil {
			ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
			defer cancel()
			all = append(all, p.kill(ctx))
		}
		if p.replica != nil {
			all = append(all, p.replica.Close())
		}
		all = append(all, p.forsake(), p.supervisor.RemoveDirectory(p.dir), p.release())
		return errors.Join(all...)
	})
}

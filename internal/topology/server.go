package topology

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Users as whom servers talk to each other. The password is the same for all:
// nothing here is a secret.
const (
	ReplicaUser  = "topology-replica"
	SentinelUser = "topology-sentinel"
	// ClientName is that of the connections of Server.Client.
	ClientName   = "topology"
	peerPassword = "peer"
)

// peers are the settings by which servers know these users. Sentinels change
// the roles of servers, and listen for each other on a channel.
func peers() []string {
	return []string{
		"--user", ReplicaUser, "on", ">" + peerPassword, "~*", "&*", "+@all",
		"--user", SentinelUser, "on", ">" + peerPassword, "~*", "&*", "+@all",
		"--masteruser", ReplicaUser, "--masterauth", peerPassword,
	}
}

// Server is one Redis server, or one Sentinel. Its methods may be called from
// several goroutines.
type Server struct {
	Addr string // host:port; it keeps it over its life

	launcher *Launcher
	path     string
	args     []string
	host     string // by which other servers reach it
	bind     string
	port     int
	start    func(*exec.Cmd) (Process, error)
	site     Site // nil: this machine
	dir      string
	client   *redis.Client

	mu      sync.Mutex
	process Process
	said    *output
}

// Client is a client for the server alone. It is closed with the Launcher.
func (s *Server) Client() *redis.Client { return s.client }

// Port is the port at which the server listens.
func (s *Server) Port() int { return s.port }

// Dir is the folder in which the server keeps its data, if it keeps any.
func (s *Server) Dir() string { return s.dir }

// Output is what the server has said since its last start.
func (s *Server) Output() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.said == nil {
		return ""
	}
	return s.said.String()
}

// ErrRuns says that a server cannot be started: it runs.
var ErrRuns = errors.New("topology: the server runs already")

// Start starts the server, at first or again after Kill, at the same address
// and with what it left in its folder: nothing, unless its settings say that
// data is kept on disk. It returns when connections are accepted.
func (s *Server) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		return fmt.Errorf("%w: the one at %s", ErrRuns, s.Addr)
	}
	args := make([]string, len(s.args))
	for i, arg := range s.args {
		args[i] = strings.ReplaceAll(arg, "PORT", strconv.Itoa(s.port))
	}
	cmd := exec.Command(s.path, args...)
	cmd.Dir = s.dir
	s.said = &output{ready: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = s.said, s.said
	process, err := s.start(cmd)
	if err != nil {
		return fmt.Errorf("topology: start %s: %w", s.path, err)
	}
	go func() { _ = process.Wait() }() // it is killed: its status says nothing
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("not within %v", startTime))
	defer cancel()
	select {
	case <-s.said.ready:
		s.process = process
		return nil
	case <-process.Done():
		return fmt.Errorf("topology: the server at %s has ended; it said: %s", s.Addr, s.said)
	case <-ctx.Done():
		_ = process.Kill() // it may have ended by itself
		<-process.Done()
		return fmt.Errorf("topology: the server at %s is not ready: %w; it said: %s", s.Addr, context.Cause(ctx), s.said)
	}
}

// Kill ends the server like SIGKILL, and returns when it has ended. One that
// does not run stays as it is.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return nil
	}
	_ = s.process.Kill() // it may have ended by itself
	select {
	case <-s.process.Done():
		s.process = nil
		return nil
	case <-time.After(startTime):
		return fmt.Errorf("topology: %s was killed and has not ended after %v", s.process.Name(), startTime)
	}
}

// kill is Kill without waiting.
func (s *Server) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		_ = s.process.Kill() // it may have ended by itself
	}
}

// Pause stops the server like SIGSTOP: connections stay, nothing is answered.
func (s *Server) Pause(ctx context.Context) error {
	return s.running(func(p Process) error { return p.Pause(ctx) })
}

// Resume lets a paused server go on.
func (s *Server) Resume(ctx context.Context) error {
	return s.running(func(p Process) error { return p.Resume(ctx) })
}

func (s *Server) running(do func(Process) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return fmt.Errorf("topology: the server at %s does not run", s.Addr)
	}
	return do(s.process)
}

// Sever cuts the server off from its replicas, which keep what they have and
// get nothing more. Clients and Sentinels still reach it. It returns when no
// replica is connected.
func (s *Server) Sever(ctx context.Context) error { return s.bar(ctx, ReplicaUser) }

// Isolate cuts the server off from its replicas and from Sentinels, while
// clients still reach it: the old primary on the wrong side of a divided
// network, together with some clients. The server must want a password, as those
// behind Sentinels do.
func (s *Server) Isolate(ctx context.Context) error {
	if s.site != nil {
		return s.site.Isolate(ctx)
	}
	return errors.Join(s.bar(ctx, SentinelUser), s.bar(ctx, ReplicaUser))
}

// Rejoin undoes Sever and Isolate.
func (s *Server) Rejoin(ctx context.Context) error {
	if s.site != nil {
		if err := s.site.Rejoin(ctx); err != nil {
			return err
		}
	}
	for _, user := range []string{ReplicaUser, SentinelUser} {
		if err := s.client.Do(ctx, "ACL", "SETUSER", user, "on").Err(); err != nil {
			return fmt.Errorf("topology: admit %s at %s: %w", user, s.Addr, err)
		}
	}
	return nil
}

func (s *Server) bar(ctx context.Context, user string) error {
	if err := s.client.Do(ctx, "ACL", "SETUSER", user, "off").Err(); err != nil {
		return fmt.Errorf("topology: bar %s at %s: %w", user, s.Addr, err)
	}
	if err := s.client.Do(ctx, "CLIENT", "KILL", "USER", user).Err(); err != nil {
		return fmt.Errorf("topology: cut %s off from %s: %w", user, s.Addr, err)
	}
	if user != ReplicaUser {
		return nil
	}
	return s.awaitReplication(ctx, "connected_slaves", "0")
}

// Info are the fields of a section of INFO.
func (s *Server) Info(ctx context.Context, section string) (map[string]string, error) {
	text, err := s.client.Info(ctx, section).Result()
	if err != nil {
		return nil, fmt.Errorf("topology: ask %s: %w", s.Addr, err)
	}
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[key] = value
		}
	}
	return fields, nil
}

// awaitReplication waits until a field of INFO replication has the value.
func (s *Server) awaitReplication(ctx context.Context, field, value string) error {
	return until(ctx, fmt.Sprintf("%s of %s does not become %s", field, s.Addr, value), func() (bool, error) {
		fields, err := s.Info(ctx, "replication")
		return fields[field] == value, err
	})
}

// marks are what servers and Sentinels say when they accept connections.
var marks = [][]byte{[]byte("eady to accept connections"), []byte("Sentinel ID is")}

// output collects what a server says and closes ready when it accepts
// connections.
type output struct {
	ready chan struct{}

	mu   sync.Mutex
	text bytes.Buffer
	done bool
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	for _, mark := range marks {
		if !o.done && bytes.Contains(o.text.Bytes(), mark) {
			o.done = true
			close(o.ready)
		}
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

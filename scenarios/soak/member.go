package soak

import (
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/live/network"
	"github.com/recount-io/recount/sim/live/supervisor"
)

// member is one candidate of a group: a process, started again after it ended, with
// a way to the store of its own.
type member struct {
	group *group
	name  string
	place int64

	mu      sync.Mutex
	network *network.Network // of this member alone: a toxiproxy that hangs is in nobody else's way
	link    *network.Link
	running *running // nil while none runs
	starts  int64
}

// running is one incarnation of a member.
type running struct {
	system *supervisor.Process
	done   chan struct{} // closed when it has ended and all that it said is recorded
	why    history.Why   // guarded by the member
	beat   time.Duration // guarded by the group: what came before was told
}

var errNotRunning = errors.New("soak: the candidate does not run")

// lead makes the member's way to the server.
func (m *member) lead(ctx context.Context) error {
	n, err := network.Start(ctx, network.Options{})
	if err != nil {
		return err
	}
	link, err := n.Link(m.label(), m.group.server.Addr())
	if err != nil {
		return errors.Join(err, n.Close())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.network, m.link = n, link
	return nil
}

// way is the member's way to the server.
func (m *member) way() *network.Link {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.link
}

// replace ends the process, with whatever it has on its way, and makes it another way.
// What hangs stays, and nobody uses it.
func (m *member) replace(ctx context.Context) error {
	if err := m.end(ctx, syscall.SIGKILL, history.Killed); err != nil && !errors.Is(err, errNotRunning) {
		return err
	}
	if err := m.close(); err != nil && !errors.Is(err, network.ErrHung) {
		return err
	}
	return errors.Join(m.lead(ctx), m.start())
}

// close ends the member's way.
func (m *member) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.network == nil {
		return nil
	}
	return m.network.Close()
}

// start starts a new incarnation.
func (m *member) start() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running != nil {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("soak: find this program: %w", err)
	}
	m.starts++
	text, err := json.Marshal(m.group.config(m))
	if err != nil {
		return fmt.Errorf("soak: %w", err)
	}
	log, err := os.OpenFile(m.group.soak.file(m.label()+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("soak: %w", err)
	}
	defer func() { _ = log.Close() }() // the process has its own descriptor of it
	cmd := exec.Command(self)
	cmd.Env, cmd.Stderr = append(plain(os.Environ()), environment+"="+string(text)), log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("soak: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("soak: %w", err)
	}
	roomy(stdout)
	system, err := m.group.soak.supervisor.Start(cmd)
	if err != nil {
		return fmt.Errorf("soak: start %s: %w", m.label(), err)
	}
	r := &running{system: system, done: make(chan struct{}), why: history.ByItself}
	m.running = r
	m.group.stamp(history.Event{Kind: history.Start, Node: m.name})
	go m.follow(r, cmd, stdin, stdout)
	return nil
}

// plain is an environment without our own settings.
func plain(all []string) (kept []string) {
	for _, variable := range all {
		if !strings.HasPrefix(variable, "RECOUNT_") {
			kept = append(kept, variable)
		}
	}
	return kept
}

func (m *member) label() string { return fmt.Sprintf("%s-%s", m.group.name, m.name) }

// follow takes in what a process says, until it ends.
func (m *member) follow(r *running, cmd *exec.Cmd, stdin io.WriteCloser, stdout io.Reader) {
	replies := gob.NewEncoder(stdin)
	for messages := gob.NewDecoder(stdout); ; {
		var got message
		if messages.Decode(&got) != nil {
			break
		}
		m.group.hear(m, r, got, func(answer reply) { _ = replies.Encode(answer) }) // it may have ended
	}
	_ = r.system.Wait() // its state says more than the error
	m.mu.Lock()
	why, text := r.why, cmd.ProcessState.String()
	if why == history.ByItself && cmd.ProcessState.ExitCode() == 2 {
		why, text = history.Panicked, "see "+m.label()+".log"
	}
	m.running = nil
	m.mu.Unlock()
	m.group.ended(m)
	m.group.stamp(history.Event{Kind: history.Exit, Node: m.name, Why: why, Text: text})
	close(r.done)
}

// present is the incarnation that runs.
func (m *member) present() (*running, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running == nil {
		return nil, fmt.Errorf("%w: %s", errNotRunning, m.label())
	}
	return m.running, nil
}

// end ends the process by a signal, for a reason, and waits for it.
func (m *member) end(ctx context.Context, s syscall.Signal, why history.Why) error {
	r, err := m.present()
	if err != nil {
		return err
	}
	m.mu.Lock()
	r.why = why
	m.mu.Unlock()
	if err := r.system.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("soak: end %s: %w", m.label(), err)
	}
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("soak: %s does not end: %w", m.label(), context.Cause(ctx))
	}
}

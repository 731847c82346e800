//go:build linux

package main

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/recount-io/recount/internal/topology"
)

// row is a line of the guide's table of signals and exit statuses, and what shows that it
// is true.
type row struct {
	happens, does, status string
	show                  func(t *testing.T)
}

var rows = []row{
	{"`TERM` or `INT`, and the command runs", "the command gets `--stop-signal`. The lease is renewed until the command has ended, and then given back", "0; with `--once` the command's", showAsked},
	{"`TERM` or `INT`, and no command runs", "elect ends", "0", showAskedFollower},
	{"`INT` twice, and the command runs", "elect ends at once, and its guard kills the command", "killed by `INT`", showInterruptedTwice},
	{"`HUP`, and the command runs", "the command's first process gets it; without a controlling terminal only if it handles or ignores it", "", showHangup},
	{"`QUIT`, `USR1`, `USR2`, `WINCH` or `CONT`, and the command runs", "the command's first process gets it", "", showPassed},
	{"`HUP`, `QUIT`, `USR1`, `USR2`, `WINCH` or `CONT`, and no command runs", "nothing", "", showIgnored},
	{"`STOP`, `TSTP`, `TTIN` or `TTOU`", "elect is stopped, and its guard kills the command before the lease ends. `CONT` continues elect", "", showStopped},
	{"`KILL`", "elect ends, and its guard kills the command at once. The lease runs out by itself", "killed by `KILL`", showKilled},
	{"`ABRT`, `SEGV` or another signal of a fault", "the same, and Go's runtime prints where elect was", "2", showAborted},
	{"any other signal, such as `PIPE` or `ALRM`", "nothing", "", showHarmless},
	{"the command ends by itself", "the lease is given back, unless `--restart` says otherwise", "the command's", showEnded},
	{"the command is ended by a signal", "the same", "128 and the signal's number", showEndedBySignal},
	{"`--once`, and the lease is lost while the command runs", "the command gets `--stop-signal`, and is killed before the lease ends", "the command's, such as 143", showLost},
	{"`--once`, and somebody else has the lease", "elect ends, and does not run the command", "0", showSkipped},
	{"`status` or `evict`, and nobody leads; `preflight`, and elections would fail or not be safe", "it says so", "1", showNobody},
	{"wrong use, wrong settings, or a store that refuses them", "elect ends. A line says how to mend it", "64", showWrongUse},
	{"the command cannot be started; `--wait` is over; with `--once`, the term ended before the command was started; the store gave no answer to a question, or elect was stopped before it had one", "elect ends. A line says why", "70", showFailed},
}

// The guide's table of signals and exit statuses is the one that real signals show here: a
// line of either that is not in the other is an error.
func TestSignalsAndStatuses(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "..", "docs", "elect.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(content), "| what happens | what elect does | exit status |\n| --- | --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	lines := strings.Split(table, "\n")
	heedIgnored(t)
	for i, r := range rows {
		want := "| " + r.happens + " | " + r.does + " | " + r.status + " |"
		if r.status == "" {
			want = "| " + r.happens + " | " + r.does + " | – |"
		}
		if !found || len(lines) <= i || lines[i] != want {
			t.Errorf("line %d of the guide's table is not\n%s", i+1, want)
		}
		t.Run(itoa(i+1), func(t *testing.T) {
			t.Parallel()
			r.show(t)
		})
	}
	if len(lines) != len(rows) {
		t.Errorf("the guide's table has %d lines, and the test %d", len(lines), len(rows))
	}
}

// heedIgnored makes processes that the test starts heed signals which the test itself was
// started to ignore, as it is under nohup or in the background of a shell.
func heedIgnored(t *testing.T) {
	heard := make(chan os.Signal, 1)
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		if signal.Ignored(s) {
			signal.Notify(heard, s)
		}
	}
	t.Cleanup(func() { signal.Stop(heard) })
}

// telling is a command that says which signals it gets, and whether its child gets them.
// INT ends it with status 5.
const telling = `for s in HUP QUIT USR1 USR2 WINCH CONT; do trap "echo got $s" $s; done; trap 'echo got INT; exit 5' INT
	(for s in HUP USR1 USR2 WINCH; do trap "echo child got $s" $s; done; echo child ready; while :; do sleep 0.02; done) &
	echo command ready; while :; do sleep 0.02; done`

// says waits until the process has said that.
func (p *process) says(t *testing.T, what string) {
	t.Helper()
	eventually(t, "it says "+what, func() bool { return strings.Contains(p.out.String(), what) })
}

// tell starts elect with the telling command.
func tell(t *testing.T, more ...string) *process {
	t.Helper()
	args := candidate(topology.Single(t).Addr, "a", append([]string{"--log", "debug"}, more...)...)
	p := launch(t, t.TempDir(), append(args, "--", "sh", "-c", telling)...)
	p.says(t, "command ready")
	p.says(t, "child ready")
	p.says(t, "the job has started")
	return p
}

// ends waits for the end of the process and compares its status.
func (p *process) ends(t *testing.T, want int) {
	t.Helper()
	if got := p.end(t); got != want {
		t.Errorf("elect %v ended with %v, want %d", p.Args[1:], p.ProcessState, want)
	}
}

func showAsked(t *testing.T) {
	for _, s := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		for _, once := range []bool{false, true} {
			more, want := []string{"--stop-signal", "int"}, statusDone
			if once {
				more, want = append(more, "--once"), 5
			}
			p := tell(t, more...)
			p.send(t, s)
			p.ends(t, want)
			if !strings.Contains(p.out.String(), "got INT") {
				t.Errorf("after %v the command did not get --stop-signal", s)
			}
		}
	}
}

// follows starts a candidate that sees another one lead.
func follows(t *testing.T) *process {
	t.Helper()
	address := topology.Single(t).Addr
	lead(t, address)
	p := launch(t, t.TempDir(), candidate(address, "b", "--log", "debug", "--", "true")...)
	p.says(t, "leader seen")
	return p
}

func showAskedFollower(t *testing.T) {
	for _, s := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		p := follows(t)
		p.send(t, s)
		p.ends(t, statusDone)
	}
}

func showInterruptedTwice(t *testing.T) {
	dir, p, job := leads(t)
	touch(t, dir, "slow")
	p.send(t, syscall.SIGINT)
	await(t, dir, "asked", 1)
	p.send(t, syscall.SIGINT)
	p.diesBy(t, syscall.SIGINT, job)
}

// leads starts a candidate with the job that makes notes.
func leads(t *testing.T) (dir string, p *process, job happened) {
	t.Helper()
	dir = t.TempDir()
	p = launch(t, dir, append(candidate(topology.Single(t).Addr, "a"), theJob()...)...)
	job = await(t, dir, "began", 1)
	p.says(t, "the job has started")
	return dir, p, job
}

// diesBy waits until the process has ended by that signal, and its job is gone.
func (p *process) diesBy(t *testing.T, s syscall.Signal, job happened) {
	t.Helper()
	p.end(t)
	if state := p.ProcessState.Sys().(syscall.WaitStatus); !state.Signaled() || state.Signal() != s {
		t.Errorf("it ended with %v, want %v", p.ProcessState, s)
	}
	eventually(t, "the job is gone", func() bool { return gone(job.pid) })
}

// alone starts elect without a controlling terminal, or on this one.
func alone(t *testing.T, terminal *os.File, script string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, candidate(topology.Single(t).Addr, "a", "--log", "debug", "--", "sh", "-c", script)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, Setctty: terminal != nil}
	if terminal != nil {
		cmd.Stdin = terminal
	}
	p := launchAs(t, cmd)
	p.says(t, "the job has started")
	return p
}

func showHangup(t *testing.T) {
	without := alone(t, nil, "echo ready; exec sleep 100")
	without.says(t, "ready")
	without.send(t, syscall.SIGHUP)
	without.says(t, "a signal is ignored")
	without.send(t, syscall.SIGTERM)
	without.ends(t, statusDone)

	handles := alone(t, nil, telling)
	handles.says(t, "command ready")
	handles.send(t, syscall.SIGHUP)
	handles.says(t, "got HUP")
	handles.send(t, syscall.SIGTERM)
	handles.ends(t, statusDone)

	ours, theirs := terminal(t)
	on := alone(t, theirs, "cat; echo nothing to read; exec sleep 100")
	on.says(t, "nothing to read")
	if err := ours.Close(); err != nil { // the terminal hangs up
		t.Fatal(err)
	}
	on.ends(t, statusSignal+int(syscall.SIGHUP))
}

// terminal makes a terminal: our end of it, and the one that a program uses.
func terminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err = os.OpenFile("/dev/pts/"+itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
	return ours, theirs
}

func showPassed(t *testing.T) {
	p := tell(t)
	for name, s := range map[string]syscall.Signal{"QUIT": syscall.SIGQUIT, "USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "WINCH": syscall.SIGWINCH, "CONT": syscall.SIGCONT} {
		p.send(t, s)
		p.says(t, "got "+name)
	}
	p.send(t, syscall.SIGTERM)
	p.ends(t, statusDone)
	if strings.Contains(p.out.String(), "child got") {
		t.Error("children of the command get signals that are meant for it")
	}
}

func showIgnored(t *testing.T) {
	p := follows(t)
	for _, s := range passed() {
		p.send(t, s)
		p.says(t, `msg="a signal is ignored" signal=`+unix.SignalName(s.(syscall.Signal)))
	}
	p.send(t, syscall.SIGTERM)
	p.ends(t, statusDone)
}

func showStopped(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU} {
		t.Run(unix.SignalName(s), func(t *testing.T) {
			t.Parallel()
			dir, p, job := leads(t)
			p.send(t, s)
			eventually(t, "the job is gone", func() bool { return gone(job.pid) })
			if n := len(notes(t, dir)); n != 1 {
				t.Errorf("elect has ended the job: %+v", notes(t, dir))
			}
			eventually(t, "the lease is over", func() bool {
				return call(t, t.Context(), nil, "status", "--name", "billing", "--store", p.Args[3]).status == statusNo
			})
			p.send(t, syscall.SIGCONT)
			await(t, dir, "began", 2)
			p.send(t, syscall.SIGTERM)
			p.ends(t, statusDone)
			inOrder(t, dir)
		})
	}
}

func showKilled(t *testing.T) {
	_, p, job := leads(t)
	p.send(t, syscall.SIGKILL)
	p.diesBy(t, syscall.SIGKILL, job)
}

func showAborted(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGABRT, syscall.SIGSEGV} {
		_, p, job := leads(t)
		p.send(t, s)
		p.ends(t, 2)
		eventually(t, "the job is gone", func() bool { return gone(job.pid) })
	}
}

func showHarmless(t *testing.T) {
	known := append(passed(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	p := tell(t)
	for s := syscall.Signal(1); s < 32; s++ {
		switch {
		case slices.Contains(known, os.Signal(s)):
		case slices.Contains([]syscall.Signal{syscall.SIGILL, syscall.SIGTRAP, syscall.SIGABRT, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGSEGV, syscall.SIGSTKFLT, syscall.SIGSYS}, s): // of faults
		default:
			p.send(t, s)
		}
	}
	p.send(t, syscall.SIGWINCH)
	p.says(t, "got WINCH")
	p.send(t, syscall.SIGTERM)
	p.ends(t, statusDone)
}

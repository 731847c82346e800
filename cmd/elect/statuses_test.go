//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/recount-io/recount/internal/topology"
)

// expect calls elect and compares its status. It is a process of its own: in this one it
// would take the processes of other tests for its job's.
func expect(t *testing.T, want int, args ...string) result {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var errors output
	cmd := exec.Command(self, args...)
	cmd.SysProcAttr, cmd.Stderr = attributes(), &errors
	p := launchAs(t, cmd)
	r := result{p.end(t), p.out.String(), errors.String()}
	if r.status != want {
		t.Errorf("elect %v: status %d, want %d: %s%s", args, r.status, want, r.out, r.errors)
	}
	return r
}

func showEnded(t *testing.T) {
	address := topology.Single(t).Addr
	expect(t, 7, short(address, "--", "sh", "-c", "exit 7")...)
	expect(t, statusNo, "status", "--store", "redis://"+address, "--name", "billing")
}

func showEndedBySignal(t *testing.T) {
	expect(t, statusSignal+int(syscall.SIGKILL), short(topology.Single(t).Addr, "--", "sh", "-c", "kill -KILL $$")...)
}

func showLost(t *testing.T) {
	address := topology.Single(t).Addr
	p := launch(t, t.TempDir(), short(address, "--once", "--", "sh", "-c", "echo begun; exec sleep 600")...)
	p.says(t, "begun")
	expect(t, statusDone, "evict", "--store", "redis://"+address, "--name", "billing")
	p.ends(t, statusSignal+int(syscall.SIGTERM))
}

func showSkipped(t *testing.T) {
	address := topology.Single(t).Addr
	lead(t, address)
	if r := expect(t, statusDone, short(address, "--once", "--", "echo", "ran")...); r.out != "" {
		t.Errorf("it printed %q", r.out)
	}
}

func showNobody(t *testing.T) {
	address := topology.Single(t, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru").Addr
	for _, command := range []string{"status", "evict"} {
		expect(t, statusNo, command, "--store", "redis://"+address, "--name", "billing")
	}
	expect(t, statusNo, "preflight", "--unprotected", "--store", "redis://"+address)
}

func showWrongUse(t *testing.T) {
	address := topology.Single(t, "--requirepass", secret+"-right").Addr
	expect(t, statusUsage, "run", "--store", "redis://"+address, "--", "true")
	expect(t, statusUsage, short(address, "--", "true")...)
}

func showFailed(t *testing.T) {
	address, dir := topology.Single(t).Addr, t.TempDir()
	file := filepath.Join(dir, "nonsense")
	if err := os.WriteFile(file, []byte("\x7fnonsense"), 0o700); err != nil {
		t.Fatal(err)
	}
	expect(t, statusFailed, short(address, "--", file)...)
	expect(t, statusFailed, "status", "--store", "redis://127.0.0.1:1", "--name", "billing", "--timeout", "1s")

	expect(t, statusFailed, short("127.0.0.1:1", "--once", "--wait", "1s", "--", "true")...)
	lead(t, address)
	r := expect(t, statusFailed, short(address, "--once", "--standby", "--wait", "1s", "--", "true")...)
	if !strings.Contains(r.errors, "--wait is over") {
		t.Errorf("it says %s", r.errors)
	}
}

// What elect reads is the command's: of the command that runs once, and term by term of
// one that runs again.
func TestStandardInput(t *testing.T) {
	t.Parallel()
	for _, once := range []bool{false, true} {
		in, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		args := candidate(topology.Single(t).Addr, "a", "--log", "warn")
		if once {
			args = append(args, "--once")
		}
		p := launchFrom(t, in, append(args, "--restart", map[bool]string{false: "on-failure", true: "never"}[once],
			"--", "sh", "-c", `read line; echo "read $line"; test "$line" = two`)...)
		_ = in.Close() // elect has its own
		if _, err := out.WriteString("one\n"); err != nil {
			t.Fatal(err)
		}
		p.says(t, "read one")
		if !once {
			if _, err := out.WriteString("two\n"); err != nil {
				t.Fatal(err)
			}
			p.says(t, "read two")
		}
		p.ends(t, map[bool]int{false: 0, true: 1}[once])
		_ = out.Close() // all was written
	}
}

// Hooks run in each term, around the command, and know the term as it does. One that fails
// is logged, and one that hangs is killed when its time is over; neither changes what
// becomes of the command.
func TestHooks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ elected, lost, timeout, says string }{
		{`echo elected $ELECT_NAME $ELECT_TOKEN`, `echo lost $ELECT_NAME $ELECT_TOKEN`, "1m", ""},
		{`echo elected $ELECT_NAME $ELECT_TOKEN; exit 3`, `echo lost $ELECT_NAME $ELECT_TOKEN; exit 4`, "1m", "exit status 3"},
		{`echo elected $ELECT_NAME $ELECT_TOKEN; setsid sleep 100 & trap '' TERM; sleep 100`, `echo lost $ELECT_NAME $ELECT_TOKEN; sleep 100`, "3s", "it was killed"},
	} {
		address := topology.Single(t).Addr
		r := expect(t, 6, short(address, "--lease", lease.String(), "--hook-timeout", c.timeout, "--on-elected", c.elected, "--on-lost", c.lost,
			"--", "sh", "-c", `echo runs $ELECT_NAME $ELECT_TOKEN; exit 6`)...)
		words := strings.Fields(r.out)
		if len(words) != 9 || strings.Join([]string{words[0], words[3], words[6]}, " ") != "elected runs lost" || words[2] != words[5] || words[5] != words[8] || words[1] != "billing" {
			t.Errorf("it printed %q", r.out)
		}
		if !strings.Contains(r.errors, c.says) || strings.Count(r.errors, "a hook has failed") != map[bool]int{true: 0, false: 2}[c.says == ""] {
			t.Errorf("it says %s, want %q", r.errors, c.says)
		}
		expect(t, statusNo, "status", "--store", "redis://"+address, "--name", "billing")
	}
}

// A hook that hangs is gone before the lease of its term ends, however much time it has.
func TestHookEndsWithTheTerm(t *testing.T) {
	t.Parallel()
	dir, r := t.TempDir(), topology.Single(t)
	way := relayTo(t, r.Addr)
	hook := asJob + `="$TEST_DIR" "$TEST_SELF"`
	touch(t, dir, "stubborn")
	first := launch(t, dir, candidate(way.address, "a", "--hook-timeout", "10m", "--on-elected", hook, "--", "true")...)
	began := await(t, dir, "began", 1)
	way.off()
	launch(t, dir, candidate(r.Addr, "b", "--hook-timeout", "10m", "--on-elected", hook, "--", "true")...)
	if next := await(t, dir, "began", 2); next.token <= began.token || !gone(began.pid) {
		t.Errorf("%+v", notes(t, dir))
	}
	first.says(t, "it was killed")
	inOrder(t, dir)
}

// A leader that is evicted ends its command with its next renewal, and nobody else runs
// the command before that. A token of another term evicts nobody.
func TestEvict(t *testing.T) {
	t.Parallel()
	dir, r := t.TempDir(), topology.Single(t)
	question := []string{"evict", "--store", "redis://" + r.Addr, "--name", "billing"}
	pair(t, dir, r.Addr, r.Addr)
	job := await(t, dir, "began", 1)
	if got := expect(t, statusUsage, append(question, "--token", "1")...); !strings.Contains(got.errors, "nobody was evicted") {
		t.Errorf("%+v", got)
	}
	if got := expect(t, statusDone, question...); !strings.Contains(got.out, "is evicted, token "+itoa(int(job.token))+"; nobody else is elected for another") {
		t.Errorf("%+v", got)
	}
	eventually(t, "the job is gone", func() bool { return gone(job.pid) })
	await(t, dir, "began", 2)
	inOrder(t, dir)
	three := []string{"evict", "--name", "billing", "--store", "redis://a", "--store", "redis://b", "--store", "redis://c"}
	if got := expect(t, statusUsage, three...); !strings.Contains(got.errors, "once for each") {
		t.Errorf("%+v", got)
	}
}

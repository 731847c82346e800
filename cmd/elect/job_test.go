//go:build linux

package main

import (
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/recount-io/recount/internal/topology"
)

// lease is long enough that a machine under load is not what a test measures.
const lease = 3 * time.Second

// candidate is the call of one that competes on the server at this address.
func candidate(address, id string, more ...string) []string {
	return append([]string{"run", "--store", "redis://" + address, "--name", "billing", "--id", id, "--lease", lease.String()}, more...)
}

// pair starts two candidates, the first of which leads when it returns.
func pair(t *testing.T, dir, first, second string) (leader, follower *process) {
	t.Helper()
	leader = launch(t, dir, append(candidate(first, "a"), theJob()...)...)
	await(t, dir, "began", 1)
	follower = launch(t, dir, append(candidate(second, "b"), theJob()...)...)
	eventually(t, "the second one follows", func() bool { return strings.Contains(follower.out.String(), "leader seen") })
	return leader, follower
}

// leaderless returns for how long nobody led between the last term of one elect and the
// first of another, by their logs. How long jobs take to start is no part of it.
func leaderless(t *testing.T, before, after *process) time.Duration {
	t.Helper()
	logged := func(p *process, message string) (at time.Time) {
		for line := range strings.Lines(p.out.String()) {
			if strings.Contains(line, "msg="+message+" ") && (at.IsZero() || message == "deposed") {
				stamp, _, _ := strings.Cut(strings.TrimPrefix(line, "time="), " ")
				var err error
				if at, err = time.Parse(time.RFC3339Nano, stamp); err != nil {
					t.Fatal(err)
				}
			}
		}
		if at.IsZero() {
			t.Fatalf("elect %v never logged %q", p.Args[1:], message)
		}
		return at
	}
	return logged(after, "elected").Sub(logged(before, "deposed"))
}

// gone reports whether a process has ended; a zombie has.
func gone(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", itoa(pid), "stat"))
	return err != nil || strings.HasPrefix(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " Z")
}

// The leader's elect is killed with SIGKILL: its job dies with it, though a
// shell stands between them, and the other candidate's job starts when the
// lease has run out. Never are two jobs alive.
func TestLeaderKilled(t *testing.T) {
	t.Parallel()
	dir, r := t.TempDir(), topology.Single(t)
	leader, _ := pair(t, dir, r.Addr, r.Addr)
	job := await(t, dir, "began", 1)
	leader.send(t, syscall.SIGKILL)
	eventually(t, "the job is gone", func() bool { return gone(job.pid) })
	if n := len(notes(t, dir)); n != 1 {
		t.Errorf("the job died only after the lease: %+v", notes(t, dir))
	}
	if next := await(t, dir, "began", 2); next.token <= job.token {
		t.Errorf("token %d follows on %d", next.token, job.token)
	}
	inOrder(t, dir)
}

// The leader's elect is stopped with SIGSTOP, as a debugger or a starved
// machine does it: the guard ends the job before the lease ends. When elect
// goes on it follows, and the job of its next term begins anew.
func TestLeaderSuspended(t *testing.T) {
	t.Parallel()
	dir, r := t.TempDir(), topology.Single(t)
	leader, follower := pair(t, dir, r.Addr, r.Addr)
	job := await(t, dir, "began", 1)
	leader.send(t, syscall.SIGSTOP)
	await(t, dir, "began", 2)
	if !gone(job.pid) {
		t.Error("the job of the suspended one goes on")
	}
	leader.send(t, syscall.SIGCONT)
	eventually(t, "it notices", func() bool { return strings.Contains(leader.out.String(), "deposed") })
	follower.send(t, syscall.SIGTERM)
	if status := follower.end(t); status != statusDone {
		t.Errorf("status %d", status)
	}
	await(t, dir, "began", 3)
	inOrder(t, dir)
}

// The leader's elect is stopped by its job, as the first thing that the job does: the guard
// knew that a job was about to begin.
func TestLeaderSuspendedAtOnce(t *testing.T) {
	t.Parallel()
	dir, r := t.TempDir(), topology.Single(t)
	job := theJob()
	stops := append(slices.Clone(job[:len(job)-1]), "kill -STOP $PPID; "+job[len(job)-1])
	leader := launch(t, dir, append(candidate(r.Addr, "a"), stops...)...)
	await(t, dir, "began", 1)
	launch(t, dir, append(candidate(r.Addr, "b"), job...)...)
	await(t, dir, "began", 2)
	leader.send(t, syscall.SIGCONT)
	inOrder(t, dir)
}

// A job that ignores SIGTERM, of a leader that is cut off from the store: it is
// asked to end a grace period before the lease does, killed before it ends, and
// only then the other candidate's job begins.
func TestStubbornJob(t *testing.T) {
	t.Parallel()
	dir, r := t.TempDir(), topology.Single(t)
	if err := os.WriteFile(filepath.Join(dir, "stubborn"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cut := relayTo(t, r.Addr)
	leader, _ := pair(t, dir, cut.address, r.Addr)
	job := await(t, dir, "began", 1)
	cut.off()
	asked := await(t, dir, "asked", 1)
	next := await(t, dir, "began", 2)
	if !gone(job.pid) || asked.pid != job.pid {
		t.Errorf("%+v", notes(t, dir))
	}
	if !strings.Contains(leader.out.String(), "the job is killed") {
		t.Error("only its guard has killed the job")
	}
	if between := next.at - asked.at; between < lease/5 {
		t.Errorf("the job was asked to end only %v before the next one began; the grace period is %v", between, lease/5)
	}
	inOrder(t, dir)
}

// Redis is gone for good: the job ends by the deadline of its lease, and elect
// goes on to compete. When Redis is back, it leads again.
func TestStoreGone(t *testing.T) {
	t.Parallel()
	dir, r := t.TempDir(), topology.Single(t)
	leader := launch(t, dir, append(candidate(r.Addr, "a"), theJob()...)...)
	job := await(t, dir, "began", 1)
	if err := r.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := now()
	ended := await(t, dir, "ended", 1)
	if late := ended.at - killed - lease; late > 0 {
		t.Errorf("the job ended %v after its lease", late)
	}
	eventually(t, "the job's shell is gone too", func() bool { return gone(job.pid) })
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, dir, "began", 2)
	leader.send(t, syscall.SIGTERM)
	if status := leader.end(t); status != statusDone {
		t.Errorf("status %d", status)
	}
	inOrder(t, dir)
}

// elect is asked to stop while its job is at work: the job is asked, and the
// lease is renewed for longer than it lasts until the job has ended. Then the
// other candidate's job begins at once.
func TestGraceful(t *testing.T) {
	t.Parallel()
	dir, r := t.TempDir(), topology.Single(t)
	if err := os.WriteFile(filepath.Join(dir, "slow"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	leader, follower := pair(t, dir, r.Addr, r.Addr)
	leader.send(t, syscall.SIGTERM)
	asked := await(t, dir, "asked", 1)
	eventually(t, "more than a lease has passed", func() bool { return now() > asked.at+lease*5/4 })
	if list := notes(t, dir); len(list) != 2 {
		t.Errorf("while the job takes its time: %+v", list)
	}
	if err := os.WriteFile(filepath.Join(dir, "enough"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	await(t, dir, "began", 2)
	if gap := leaderless(t, leader, follower); gap > lease/2 {
		t.Errorf("nobody led for %v: the lease was not given back", gap)
	}
	if status := leader.end(t); status != statusDone {
		t.Errorf("status %d", status)
	}
	inOrder(t, dir)
}

// A user who interrupts elect twice does not want to wait: elect ends at once, and its job
// with it.
func TestInterruptedTwice(t *testing.T) {
	t.Parallel()
	dir, r := t.TempDir(), topology.Single(t)
	touch(t, dir, "slow")
	elect := launch(t, dir, append(candidate(r.Addr, "a", "--drain-timeout", "1m"), theJob()...)...)
	job := await(t, dir, "began", 1)
	elect.send(t, syscall.SIGINT)
	await(t, dir, "asked", 1)
	if gone(job.pid) {
		t.Error("the first interrupt ends the job at once")
	}
	elect.send(t, syscall.SIGINT)
	elect.end(t)
	if state := elect.ProcessState.Sys().(syscall.WaitStatus); state.Signal() != syscall.SIGINT {
		t.Errorf("it ended with %v", elect.ProcessState)
	}
	eventually(t, "the job is gone", func() bool { return gone(job.pid) })
}

// A job that is asked in peace, and ignores it, is killed when the time for
// that is over, and not later.
func TestDrainTimeout(t *testing.T) {
	t.Parallel()
	dir, r := t.TempDir(), topology.Single(t)
	if err := os.WriteFile(filepath.Join(dir, "stubborn"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	leader := launch(t, dir, append(candidate(r.Addr, "a", "--drain-timeout", "1s"), theJob()...)...)
	job := await(t, dir, "began", 1)
	leader.send(t, syscall.SIGTERM)
	if status := leader.end(t); status != statusDone {
		t.Errorf("status %d", status)
	}
	if !strings.Contains(leader.out.String(), "it did not end when it was asked to") {
		t.Error("the job was killed only when the lease had been given back")
	}
	asked := await(t, dir, "asked", 1)
	if took := now() - asked.at; took < 800*time.Millisecond || !gone(job.pid) {
		t.Errorf("it was killed after %v", took)
	}
}

// With a least time the lease outlives elect: when it is killed, another one on
// standby waits until that time is over, though the lease itself is much
// shorter.
func TestAtLeastOutlivesElect(t *testing.T) {
	t.Parallel()
	dir, r := t.TempDir(), topology.Single(t)
	if got := call(t, t.Context(), nil, "create", "--vouch", "--store", "redis://"+r.Addr, "--name", "billing"); got.status != statusDone {
		t.Fatalf("%+v", got)
	}
	const least = 6 * time.Second
	args := append(candidate(r.Addr, "a", "--once", "--standby", "--at-least", least.String()), theJob()...)
	launched := now()
	first := launch(t, dir, args...)
	await(t, dir, "began", 1)
	eventually(t, "its guard knows of the job", func() bool { return strings.Contains(first.out.String(), "the job has started") })
	first.send(t, syscall.SIGKILL)
	launch(t, dir, args...)
	if next := await(t, dir, "began", 2); next.at-launched < least {
		t.Errorf("the second job began %v after the first elect", next.at-launched)
	}
	inOrder(t, dir)
}

// While a job runs, the orphans that it leaves behind are buried when they end,
// whether they have left its process group or not.
func TestOrphansAreBuried(t *testing.T) {
	t.Parallel()
	dir, r := t.TempDir(), topology.Single(t)
	const n = 10
	script := `for i in $(seq ` + itoa(n) + `); do (sh -c "touch $TEST_DIR/a$i" &); (setsid sh -c "touch $TEST_DIR/b$i" &); done; ` + theJob()[3]
	elect := launch(t, dir, append(candidate(r.Addr, "a"), "--", "sh", "-c", script)...)
	await(t, dir, "began", 1)
	eventually(t, "all orphans have run", func() bool {
		a, _ := filepath.Glob(dir + "/a*")
		b, _ := filepath.Glob(dir + "/b*")
		return len(a)+len(b) == 2*n
	})
	eventually(t, "no zombie is left", func() bool { return len(zombies(t, elect.Process.Pid)) == 0 })
	elect.send(t, syscall.SIGTERM)
	if status := elect.end(t); status != statusDone {
		t.Errorf("status %d", status)
	}
}

// zombies are the children of a process that nobody has waited for.
func zombies(t *testing.T, parent int) (list []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		stat, _ := os.ReadFile(path) // of one that is gone, nothing
		_, rest, _ := strings.Cut(string(stat), ") ")
		if strings.HasPrefix(rest, "Z "+itoa(parent)+" ") {
			list = append(list, path)
		}
	}
	return list
}

// A process that has left the job's process group ends with the job where there
// are control groups: when elect is asked to stop, when the job ends by itself,
// and when elect is killed. Nothing is left of the control group.
func TestNobodyEscapes(t *testing.T) {
	c, err := makeCgroup()
	if err != nil {
		t.Skipf("this runs where elect may make a control group of version 2, as root or with Delegate=yes of systemd: %v", err)
	}
	c.remove()
	for name, end := range map[string]func(*testing.T, *process, string){
		"asked":  func(t *testing.T, p *process, _ string) { p.send(t, syscall.SIGTERM) },
		"killed": func(t *testing.T, p *process, _ string) { p.send(t, syscall.SIGKILL) },
		"ends": func(t *testing.T, _ *process, dir string) {
			touch(t, dir, "over")
			await(t, dir, "ended", 1) // in peace
		},
		"ends, and it is stubborn": func(t *testing.T, p *process, dir string) {
			touch(t, dir, "stubborn")
			touch(t, dir, "over")
			<-p.done
			if !strings.Contains(p.out.String(), "the job is killed") {
				t.Error("elect did not wait for it")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, r := t.TempDir(), topology.Single(t)
			script := `setsid ` + theJob()[1] + ` -c '` + theJob()[3] + `' & until [ -e "$TEST_DIR/over" ]; do sleep 0.01; done`
			elect := launch(t, dir, append(candidate(r.Addr, "a", "--drain-timeout", "1s"), "--", "sh", "-c", script)...)
			escaped := await(t, dir, "began", 1)
			end(t, elect, dir)
			eventually(t, "it is gone", func() bool { return gone(escaped.pid) })
			<-elect.done
			eventually(t, "the control group is removed", func() bool {
				left, _ := filepath.Glob(filepath.Dir(string(c)) + "/elect-" + itoa(elect.Process.Pid) + "-*")
				return len(left) == 0
			})
		})
	}
}

func touch(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A job that elect had no time to tell its guard of ends with elect all the
// same, where there are control groups.
func TestGuardKillsUnreportedJob(t *testing.T) {
	c, err := makeCgroup()
	if err != nil {
		t.Skipf("this runs where elect may make a control group of version 2, as root or with Delegate=yes of systemd: %v", err)
	}
	g, err := startGuard(slog.New(slog.DiscardHandler), c)
	if err != nil {
		t.Fatal(err)
	}
	j, err := command{path: "/bin/sh", args: []string{"sh", "-c", "exec sleep 60"}, cgroup: c}.start()
	if err != nil {
		t.Fatal(err)
	}
	g.close() // as if elect had died
	<-j.gone
	if want := statusSignal + int(syscall.SIGKILL); j.state.status != want {
		t.Errorf("status %d, want %d", j.state.status, want)
	}
}

// The folder of a control group is found wherever the hierarchy is mounted, also
// in a container that sees a part of it.
func TestFindCgroup(t *testing.T) {
	const other = "40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd\n"
	for _, c := range []struct{ mounts, member, want string }{
		{"41 31 0:38 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw\n", "0::/system.slice/elect.service\n", "/sys/fs/cgroup/system.slice/elect.service"},
		{other + "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n", "9:name=systemd:/x\n0::/\n", "/sys/fs/cgroup/unified"},
		{"41 31 0:38 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n", "0::/docker/1/a\n", "/sys/fs/cgroup/a"},
		{"41 31 0:38 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n", "0::/docker/2\n", ""},
		{other, "9:name=systemd:/x\n", ""},
	} {
		got, err := findCgroup(c.mounts, c.member)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s%s: %q, %v; want %q", c.mounts, c.member, got, err, c.want)
		}
	}
}

// relay passes connections on to a server until it is cut off.
type relay struct {
	address string
	mu      sync.Mutex
	cut     bool
	conns   []net.Conn
	ended   sync.WaitGroup
}

func relayTo(t *testing.T, target string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{address: l.Addr().String()}
	r.ended.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", target)
			if err != nil || !r.add(in, out) {
				_ = in.Close()
				continue
			}
			r.ended.Go(func() { _, _ = io.Copy(out, in); _ = out.Close() })
			r.ended.Go(func() { _, _ = io.Copy(in, out); _ = in.Close() })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		r.off()
		r.ended.Wait()
	})
	return r
}

func (r *relay) add(conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cut {
		for _, c := range conns {
			_ = c.Close()
		}
		return false
	}
	r.conns = append(r.conns, conns...)
	return true
}

// on lets new connections through again.
func (r *relay) on() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut, r.conns = false, nil
}

// off closes all connections, and those that are made later.
func (r *relay) off() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = true
	for _, c := range r.conns {
		_ = c.Close()
	}
}

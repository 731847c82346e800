//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/internal/drawn"
	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/internal/topology"
)

// asTree and asTracer are first arguments: they make the test binary a process of a
// drawn job, or one that traces another process and never looks at it. Arguments
// outlive an empty environment.
const (
	asTree   = "elect-test-tree"
	asTracer = "elect-test-tracer"
)

// node is one process of a drawn job. No node waits for its children: one whose
// children end keeps zombies.
type node struct {
	Name      string
	Leaves    leaving
	Ends      ending
	Stopped   bool // by SIGSTOP, as soon as it is ready
	Headless  bool // its main thread ends, and its others live on: it looks like a zombie
	Bare      bool // it has no environment
	Busy      bool // it starts processes all the time, which end at once
	Space     bool // it is the first process of a namespace of its own
	Traced    bool // by a process outside that never looks
	OtherUser bool // it runs as another user: nobody, or root if elect runs as nobody
	Below     []*node
}

// leaving says which process group and session a node is in.
type leaving int

const (
	stays leaving = iota
	ownGroup
	ownSession
	sessionLater // when its children have begun: these stay where they are
)

// ending says when a node ends.
type ending int

const (
	asked     ending = iota // when it gets SIGTERM
	late                    // some time after that
	unheeding               // not by SIGTERM
	atOnce                  // when its children have begun: they are orphans then
)

// treeMain does the work of asTree and asTracer, and ends the process. All goes on
// beside the main thread, which may end or be stopped.
func treeMain() {
	if len(os.Args) < 3 {
		return
	}
	switch os.Args[1] {
	case asTracer:
		os.Exit(trace(os.Args[2]))
	case asTree:
		var n node
		if err := json.Unmarshal([]byte(os.Args[3]), &n); err != nil {
			panic(err)
		}
		for runtime.LockOSThread(); unix.Gettid() != os.Getpid(); runtime.LockOSThread() {
			runtime.UnlockOSThread()
			time.Sleep(time.Millisecond) // mostly it is the main thread at once
		}
		if os.Getuid() != os.Geteuid() { // by the bit of asRoot only half of it is root's
			if err := syscall.Setuid(0); err != nil {
				panic(err)
			}
		}
		go n.live(os.Args[2])
		if n.Headless {
			_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
		}
		select {}
	}
}

// note writes down what happens to a node.
func (n *node) note(dir, what string) {
	f, err := os.OpenFile(filepath.Join(dir, "notes"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(f, "%s:%s 0 %d %d\n", n.Name, what, os.Getpid(), elector.SystemClock().Now())
	_ = f.Close() // one write, and that was made
}

// live is what a node does: it holds its share of the lock for as long as it lives.
func (n *node) live(dir string) {
	lock, err := os.Open(filepath.Join(dir, "alive"))
	if err != nil {
		panic(err)
	}
	how := syscall.LOCK_SH
	if n.Name == successor {
		how = syscall.LOCK_EX
	}
	if syscall.Flock(int(lock.Fd()), how|syscall.LOCK_NB) != nil {
		n.note(dir, "OVERLAP")
	}
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	switch n.Leaves {
	case ownGroup:
		err = syscall.Setpgid(0, 0)
	case ownSession:
		_, err = syscall.Setsid()
	}
	for _, b := range n.Below {
		err = errors.Join(err, b.start(dir))
	}
	if n.Leaves == sessionLater {
		_, more := syscall.Setsid()
		err = errors.Join(err, more)
	}
	if err != nil {
		panic(err)
	}
	n.note(dir, "ready")
	if n.Busy {
		go func() {
			for {
				_ = exec.Command(os.Args[0], "-test.run=^$").Run() // it ends well
			}
		}()
	}
	if n.Stopped {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	}
	tooOld := time.After(2 * time.Minute) // the test that should have ended it was killed
	for tick := time.NewTicker(2 * time.Millisecond); ; {
		_, away := os.Stat(filepath.Join(dir, "leave"))
		if n.Ends == atOnce && (n.Name != "0" || away == nil) {
			os.Exit(leaverStatus)
		}
		select {
		case <-tick.C:
		case <-tooOld:
			os.Exit(2)
		case <-terminated:
			n.note(dir, "asked")
			if n.Ends == late {
				time.Sleep(time.Second / 2)
			}
			if n.Ends != unheeding {
				n.note(dir, "ended")
				os.Exit(0)
			}
		}
	}
}

// successor is the name of the node that begins when all others must be gone.
const successor = "next"

// leaverStatus is the status of a node that ends by itself.
const leaverStatus = 3

// command is how a node is started.
func (n *node) command(self, dir string) []string {
	text, err := json.Marshal(n)
	if err != nil {
		panic(err)
	}
	return []string{self, asTree, dir, string(text)}
}

func (n *node) start(dir string) error {
	args := n.command(os.Args[0], dir)
	cmd := exec.Command(args[0], args[1:]...)
	if n.Bare {
		cmd.Env = []string{}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if n.Space {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWPID
	}
	switch {
	case n.OtherUser && os.Getuid() == 0:
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	case n.OtherUser:
		cmd.Path += asRoot
	}
	return cmd.Start()
}

// nobody is a user without rights.
const nobody = 65534

// asRoot ends the name of the copy of this program that runs as root for any user that starts it.
const asRoot = "-as-root"

// trace stops a process as a debugger does, says so, and does nothing more.
func trace(text string) int {
	runtime.LockOSThread()
	var pid int
	if _, err := fmt.Sscan(text, &pid); err != nil {
		panic(err)
	}
	if err := syscall.PtraceAttach(pid); err != nil {
		fmt.Println(err)
		return 1
	}
	if _, err := syscall.Wait4(pid, nil, unix.WALL, nil); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("traced")
	time.Sleep(2 * time.Minute)
	return 0
}

// all are a node and those below it.
func (n *node) all() (list []*node) {
	list = append(list, n)
	for _, b := range n.Below {
		list = append(list, b.all()...)
	}
	return list
}

func (n *node) String() string {
	what := n.Name + []string{"", " in a group of its own", " in a session of its own", " in a session of its own when its children have begun"}[n.Leaves] +
		[]string{"", ", late", ", stubborn", ", ends at once"}[n.Ends]
	for text, so := range map[string]bool{"stopped": n.Stopped, "headless": n.Headless, "bare": n.Bare, "busy": n.Busy, "first of a namespace": n.Space, "traced": n.Traced, "another user's": n.OtherUser} {
		if so {
			what += ", " + text
		}
	}
	return fmt.Sprintf("%s %v", what, n.Below)
}

// place is where elect runs.
type place int

const (
	here      place = iota // with a control group, if this is root
	asUser                 // as a user without rights, and so without a control group
	container              // as the first process of a namespace with control groups that it cannot write to
	blind                  // the same, but it sees the processes of another namespace
)

func (p place) String() string { return [...]string{"here", "as a user", "in a container", "blind"}[p] }

// contain is what stands before a command in a container.
var contain = []string{"sh", "-ec", `mount --make-rprivate /; [ -n "$BLIND" ] || mount -t proc proc /proc
while read -r _ at kind _; do [ "$kind" != cgroup2 ] || mount -o remount,bind,ro "$at"; done </proc/mounts
exec "$0" "$@"`}

// command is how a program is started in that place.
func (p place) command(args []string) *exec.Cmd {
	if p >= container {
		args = append(slices.Clone(contain), args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.SysProcAttr = attributes() // so that nothing is left if the test is killed
	switch p {
	case asUser:
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	case container, blind:
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID
	}
	if p == blind {
		cmd.Env = append(os.Environ(), "BLIND=1")
	}
	return cmd
}

// end is what ends a drawn job.
type end int

const (
	byTerm   end = iota // elect gets SIGTERM, mostly more than once
	byItself            // its first process ends
	byCut               // the store is away
	byHold              // elect is stopped
	byKill              // elect is killed
)

// forest is one case: a candidate with a drawn job, and another one that follows on it.
type forest struct {
	*testing.T
	number  uint64
	rand    *rand.Rand
	dir     string
	place   place
	cgroup  bool // elect has a control group of its own
	end     end
	root    *node
	nodes   []*node
	again   []syscall.Signal // after the first SIGTERM
	gaps    []time.Duration
	holds   []time.Duration // elect is stopped for so long, one after the other, while its job ends
	resumed time.Duration   // when the last of them was over
	lease   time.Duration
	drain   time.Duration
	way     *relay
	leader  *process
	next    *process
}

// Whatever processes a job consists of, and wherever elect runs: when elect is asked to
// stop, when the job's first process ends, and when the lease cannot be kept, the next
// candidate's job begins within the drain time-out or the lease, no process of the job
// is alive then, who heeds SIGTERM is given the time to, and a signal that is repeated
// changes nothing.
//
// RECOUNT_CASES=1+NUMBER repeats a case.
func TestDrawnTrees(t *testing.T) {
	t.Parallel()
	first, n, err := drawn.Cases(24, 8)
	if err != nil {
		t.Fatal(err)
	}
	plant := ground(t)
	for number := first; number < first+n; number++ {
		t.Run(fmt.Sprint(number), func(t *testing.T) {
			t.Parallel()
			plant(draw(t, number))
		})
	}
}

// What drawn trees have found stays mended.
func TestMendedTrees(t *testing.T) {
	t.Parallel()
	unburied := func() []*node {
		return []*node{{Leaves: sessionLater, Below: []*node{{Ends: atOnce}}}}
	}
	plant := ground(t)
	for name, f := range map[string]forest{
		"a zombie stays in the group that its parent has left":     {place: asUser, root: &node{Below: unburied()}},
		"the same when the first process ends by itself":           {place: asUser, end: byItself, root: &node{Ends: atOnce, Below: unburied()}},
		"the same in a container":                                  {place: container, root: &node{Below: unburied()}},
		"the same where elect cannot see it":                       {place: blind, root: &node{Below: unburied()}},
		"children have left the group":                             {place: asUser, root: &node{Below: []*node{{Leaves: ownSession, Ends: late}, {Leaves: ownGroup}}}},
		"a daemon has forked twice, and elect is held up":          {place: asUser, end: byHold, root: &node{Below: []*node{{Leaves: ownSession, Ends: atOnce, Below: []*node{{Ends: unheeding}}}}}},
		"elect may send a process no signal":                       {place: asUser, root: &node{Below: []*node{{OtherUser: true, Leaves: ownSession}}}},
		"processes are stopped":                                    {root: &node{Stopped: true, Below: []*node{{Leaves: ownSession, Stopped: true}}}},
		"a first thread ends before the process":                   {place: asUser, root: &node{Headless: true, Ends: late, Below: []*node{{Leaves: ownSession, Headless: true}}}},
		"a first thread has ended when elect is killed":            {end: byKill, root: &node{Below: []*node{{Leaves: ownSession, Headless: true}}}},
		"a tracer keeps the end of the first process to itself":    {root: &node{Traced: true}},
		"SIGTERM is repeated while the job ends":                   {root: &node{Ends: late}, again: []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM}},
		"a supervisor repeats SIGTERM, and a person interrupts it": {root: &node{Ends: late}, again: []syscall.Signal{syscall.SIGTERM, syscall.SIGINT}},
	} {
		f.nodes = f.root.all()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			switch root := os.Getuid() == 0; {
			case !root && f.place == asUser:
				f.place = here // this is a user without rights
			case f.place != here && !root, f.place > asUser && !mayMakeSpaces(), f.foreign() && !mayBecomeRoot(os.TempDir()):
				t.Skip("this takes root, who may make namespaces, and a folder in which programs may run as root")
			}
			f.T, f.dir, f.gaps = t, open(t), make([]time.Duration, len(f.again))
			for i := range f.gaps {
				f.gaps[i] = 100 * time.Millisecond
			}
			for i, n := range f.nodes {
				n.Name = itoa(i)
			}
			f.time()
			plant(&f)
		})
	}
}

// ground returns what carries out a case, a few at one time.
func ground(t *testing.T) func(f *forest) {
	self, r := movable(t), topology.Single(t)
	slots := make(chan struct{}, 4) // a case is a dozen processes
	return func(f *forest) {
		slots <- struct{}{}
		defer func() { <-slots }()
		f.run(r.Addr, self, strings.ReplaceAll(f.Name(), "/", "-"))
	}
}

// movable is a copy of this program that every user may run.
func movable(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(open(t), "elect")
	err = errors.Join(os.WriteFile(path, content, 0o755), os.WriteFile(path+asRoot, content, 0o755), os.Chmod(path+asRoot, 0o755|os.ModeSetuid))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// open is a folder that every user may write to.
func open(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func draw(t *testing.T, number uint64) *forest {
	f := &forest{T: t, number: number, dir: open(t), rand: rand.New(rand.NewPCG(number, 23))}
	root, spaces := os.Getuid() == 0, mayMakeSpaces()
	switch {
	case spaces:
		f.place = place(f.rand.IntN(4))
	case root:
		f.place = place(f.rand.IntN(2))
	}
	f.end = []end{byTerm, byTerm, byTerm, byItself, byItself, byCut, byHold, byKill}[f.rand.IntN(8)]
	f.root = &node{Name: "0"}
	f.nodes = []*node{f.root}
	for i := range 1 + f.rand.IntN(5) {
		parent := f.nodes[f.rand.IntN(len(f.nodes))]
		n := &node{Name: itoa(i + 1), Leaves: leaving(f.rand.IntN(4))}
		parent.Below = append(parent.Below, n)
		f.nodes = append(f.nodes, n)
	}
	stubborn := f.odds(3)
	for _, n := range f.nodes {
		switch {
		case f.odds(4) && n != f.root:
			n.Ends = atOnce
		case f.odds(3):
			n.Ends = late
		case stubborn && f.odds(2):
			n.Ends = unheeding
		}
		n.Stopped, n.Headless, n.Bare = f.odds(6), f.odds(6), f.odds(6)
		n.Busy = f.odds(12)
		n.Traced = f.odds(10) && f.place < container && n.Ends != atOnce && !n.Headless
		if n != f.root {
			n.OtherUser = f.odds(8) && root && (f.place != asUser || mayBecomeRoot(f.dir))
			n.Space = f.odds(8) && spaces && f.place != asUser
		}
	}
	if f.end == byItself {
		f.root.Ends, f.root.Stopped, f.root.Traced = atOnce, false, false
	}
	f.inherit(f.root, false, false)
	f.time()
	for range f.rand.IntN(4) {
		f.again = append(f.again, syscall.SIGTERM)
		f.gaps = append(f.gaps, time.Duration(f.rand.Int64N(int64(200*time.Millisecond))))
	}
	if len(f.again) > 0 && f.odds(3) {
		f.again[f.rand.IntN(len(f.again))] = syscall.SIGINT // the first one is one more SIGTERM
	}
	if f.odds(2) && f.peaceful() {
		for range 1 + f.rand.IntN(4) {
			f.holds = append(f.holds, time.Duration(f.rand.Int64N(int64(f.lease/8))))
		}
	}
	return f
}

// time sets how long the case may take.
func (f *forest) time() {
	f.lease = long // who is late has a twentieth of the lease
	if race.Enabled && (f.end == byCut || f.end == byHold) {
		f.lease = 3 * long // the guard must be in time, and each process is slow
	}
	f.drain = f.lease / 2
	if f.peaceful() {
		f.drain = 30 * time.Second
	}
}

// mayMakeSpaces reports whether this process may make namespaces, and so containers.
func mayMakeSpaces() bool {
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
	return cmd.Run() == nil
}

// mayBecomeRoot reports whether a program in this folder may run as its owner.
func mayBecomeRoot(dir string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(dir, &fs) == nil && fs.Flags&unix.ST_NOSUID == 0
}

func (f *forest) odds(n int) bool { return f.rand.IntN(n) == 0 }

// inherit makes what is below another user's process the other user's, who can make no
// namespace; what is below a namespace cannot be traced from here.
func (f *forest) inherit(n *node, otherUser, space bool) {
	n.Space = n.Space && !otherUser
	n.OtherUser = n.OtherUser && !otherUser
	otherUser, space = otherUser || n.OtherUser, space || n.Space
	n.Traced = n.Traced && !space
	switch {
	case space:
		n.Ends = min(n.Ends, late) // its end is that of all below it
	case n.OtherUser && f.foreign():
		n.Ends = asked // and does not get it
	}
	for _, b := range n.Below {
		f.inherit(b, otherUser, space)
	}
}

// peaceful reports whether nobody has to be killed: a blind elect takes zombies for
// alive.
func (f *forest) peaceful() bool {
	return f.place != blind && !f.foreign() && !f.has(func(n *node) bool { return n.Ends == unheeding })
}

// foreign reports whether somebody is another user's whom elect may send no signal.
func (f *forest) foreign() bool {
	return f.place == asUser && f.has(func(n *node) bool { return n.OtherUser })
}

func (f *forest) has(what func(n *node) bool) bool { return slices.ContainsFunc(f.nodes, what) }

// run carries the case out.
func (f *forest) run(address, self, name string) {
	f.Cleanup(func() {
		sweep(f.dir)
		if f.Failed() {
			f.Logf("%s, %v, ended by %v, then %v after %v, drain %v: %v\nnotes: %+v", name, f.place, [...]string{"SIGTERM", "itself", "a cut", "a hold", "a kill"}[f.end], f.again, f.gaps, f.drain, f.root, notes(f.T, f.dir))
		}
	})
	for _, file := range []string{"notes", "alive"} {
		path := filepath.Join(f.dir, file)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o666)); err != nil {
			f.Fatal(err)
		}
	}
	f.way = relayTo(f.T, address)
	args := candidate(f.way.address, "a", "--name", name, "--lease", f.lease.String(), "--drain-timeout", f.drain.String(), "--log", "debug")
	f.leader = launchAs(f.T, f.place.command(append([]string{self}, append(append(args, "--"), f.root.command(self, f.dir)...)...)))
	for _, n := range f.nodes {
		await(f.T, f.dir, n.Name+":ready", 1)
		if n.Traced {
			f.traceNode(await(f.T, f.dir, n.Name+":ready", 1).pid)
		}
	}
	f.cgroup = !strings.Contains(f.leader.out.String(), "no control group of its own")
	f.next = launch(f.T, f.dir, append(candidate(address, "b", "--name", name, "--lease", f.lease.String()), "--", self, asTree, f.dir, `{"Name":"`+successor+`"}`)...)
	eventually(f.T, "the next one follows", func() bool { return strings.Contains(f.next.out.String(), "leader seen") })
	late := lateness(f.T)
	f.finish()
	overlap := slices.ContainsFunc(notes(f.T, f.dir), func(h happened) bool { return strings.HasSuffix(h.what, ":OVERLAP") })
	switch most := late(); {
	case !overlap || !f.seen():
	case most > f.lease/80:
		f.Skipf("undecided: two jobs at one time, where this process overslept by %v", most)
	default:
		f.broken("alone", "two jobs at one time")
	}
	f.next.send(f.T, syscall.SIGTERM)
	if status := f.next.end(f.T); status != statusDone {
		f.broken("ends", "the next one ends with %d", status)
	}
}

// lateness returns a function that tells by how much this process has overslept at the
// most until then. The guard has a fortieth of the lease to end a job: who oversleeps by
// half of that on the machine of the test shows nothing.
func lateness(t *testing.T) (most func() time.Duration) {
	over, done := make(chan struct{}), make(chan time.Duration, 1)
	go func() {
		const nap = 5 * time.Millisecond
		var worst time.Duration
		for {
			began := time.Now()
			select {
			case <-over:
				done <- worst
				return
			case <-time.After(nap):
				worst = max(worst, time.Since(began)-nap)
			}
		}
	}()
	end := sync.OnceValue(func() time.Duration {
		close(over)
		return <-done
	})
	t.Cleanup(func() { end() })
	return end
}

// traceNode stops a process as a debugger does that hangs.
func (f *forest) traceNode(pid int) {
	self, err := os.Executable()
	if err != nil {
		f.Fatal(err)
	}
	cmd := exec.Command(self, asTracer, itoa(pid))
	out, err := cmd.StdoutPipe()
	if err != nil {
		f.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	said := make([]byte, 100)
	if n, err := out.Read(said); err != nil || string(said[:n]) != "traced\n" && os.Getuid() == 0 && mayMakeSpaces() { // others may not trace everybody
		f.Fatalf("process %d cannot be traced: %v, %s", pid, err, said[:n])
	}
}

// broken reports that elect has broken what is promised.
func (f *forest) broken(promise, format string, args ...any) {
	f.Errorf("case %d: %s: %s", f.number, promise, fmt.Sprintf(format, args...))
}

// seen reports whether elect, or its guard if it was killed, finds all of the job: the
// kernel ends a container with its first process, a control group holds all that began
// in it, and else those are not found that have left the process group.
func (f *forest) seen() bool {
	found := f.place != blind && (f.end != byKill || f.cgroup || f.place == container)
	return !f.foreign() && (found || !f.has(func(n *node) bool { return n.Leaves != stays }))
}

// finish ends the job, and holds elect to what it promises.
func (f *forest) finish() {
	began, want := now(), statusDone
	switch f.end {
	case byTerm:
		f.leader.send(f.T, syscall.SIGTERM)
		for i, s := range f.again {
			time.Sleep(f.gaps[i])
			_ = f.leader.Process.Signal(s) // it may have ended
		}
		f.hold()
	case byItself:
		touch(f.T, f.dir, "leave")
		f.hold()
		want = leaverStatus
	case byKill:
		want = -1
		f.leader.send(f.T, syscall.SIGKILL)
	case byCut, byHold:
		f.lapse()
		f.leader.send(f.T, syscall.SIGTERM)
	}
	select {
	case <-f.leader.done:
	case <-time.After(f.drain + 10*time.Second):
		f.broken("ends", "elect has not ended after %v; the drain time-out is %v", now()-began, f.drain)
		return
	}
	ended := now()
	if status := f.leader.ProcessState.ExitCode(); status != want {
		f.broken("ends", "elect ends with %d, want %d", status, want)
	}
	if f.end == byKill {
		await(f.T, f.dir, successor+":ready", 1)
	}
	if left := nodesIn(f.dir); len(left) > 0 && f.seen() {
		f.broken("nobody left", "processes %v are left when elect has ended", left)
	}
	if f.end == byCut || f.end == byHold || f.end == byKill {
		return
	}
	await(f.T, f.dir, successor+":ready", 1)
	if gap := leaderless(f.T, f.leader, f.next); gap > f.lease/2 {
		f.broken("given back", "nobody led for %v", gap)
	}
	if f.foreign() && !strings.Contains(f.leader.out.String(), "processes of the job are left") {
		f.broken("named", "elect does not say who is left")
	}
	if f.peaceful() {
		f.inPeace(f.root)
		f.soon(ended)
	}
}

// hold stops elect while its job ends. Between two stops it has the time to look a few times.
func (f *forest) hold() {
	for _, d := range f.holds {
		time.Sleep(20 * time.Millisecond)
		_ = f.leader.Process.Signal(syscall.SIGSTOP) // it may have ended
		time.Sleep(d)
		_ = f.leader.Process.Signal(syscall.SIGCONT)
	}
	f.resumed = now()
}

// soon shows that elect ends soon after its job. A stop delays it by no more than itself.
func (f *forest) soon(ended time.Duration) {
	if f.has(func(n *node) bool { return n.Space }) {
		return // who is ended with a namespace writes nothing down
	}
	last := f.resumed
	for _, h := range notes(f.T, f.dir) {
		if !strings.HasPrefix(h.what, successor) {
			last = max(last, h.at)
		}
	}
	limit := f.lease / 2
	if race.Enabled {
		limit = 2 * f.lease // many slow processes share the machine
	}
	if took := ended - last; took > limit {
		f.broken("ends", "elect ends %v after its job", took)
	}
}

// lapse ends the lease: the next job begins when it has run out.
func (f *forest) lapse() {
	if f.end == byCut {
		f.way.off()
		defer f.way.on()
	} else {
		f.leader.send(f.T, syscall.SIGSTOP)
		defer f.leader.send(f.T, syscall.SIGCONT)
	}
	await(f.T, f.dir, successor+":ready", 1)
}

// inPeace shows that all who heed SIGTERM got it once, and the time to end.
func (f *forest) inPeace(n *node) {
	if strings.Contains(f.leader.out.String(), "the job is killed") {
		f.broken("asked", "the job is killed though all heed SIGTERM")
	}
	if n.Space {
		return // its end ends all below it
	}
	for _, what := range []string{"asked", "ended"} {
		times := 0
		for _, h := range notes(f.T, f.dir) {
			if h.what == n.Name+":"+what {
				times++
			}
		}
		if n.Ends != atOnce && times != 1 {
			f.broken("asked", "node %s was %s %d times", n.Name, what, times)
		}
	}
	for _, b := range n.Below {
		f.inPeace(b)
	}
}

// nodesIn are the living processes of drawn jobs in this folder. One whose main thread has
// ended has an empty command line; its other threads have it.
func nodesIn(dir string) (list []int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/task/*/cmdline") // of what is gone, nothing
	for _, path := range paths {
		line, _ := os.ReadFile(path)
		args := strings.Split(string(line), "\x00")
		var pid int
		if _, err := fmt.Sscanf(path, "/proc/%d/", &pid); err != nil || len(args) < 4 || args[1] != asTree || args[2] != dir {
			continue
		}
		if !strings.Contains(args[3], `"`+successor+`"`) && !slices.Contains(list, pid) {
			list = append(list, pid)
		}
	}
	return list
}

// sweep kills what a broken elect has left.
func sweep(dir string) {
	for _, pid := range nodesIn(dir) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
}

package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cgroup is the folder of a control group (version 2) that holds nothing but jobs,
// or one job: every process that the job starts is in it, in whatever group and session.
// It is empty where there is none: on another system, or where elect may not
// make one. Then every method does nothing.
type cgroup string

// makeCgroup makes a control group below the one that elect is in. Its error
// says why there is none.
func makeCgroup() (cgroup, error) {
	own, err := ownCgroup()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(own, "elect-"+strconv.Itoa(os.Getpid())+"-"+strings.ToLower(rand.Text()[:8]))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	f, err := os.OpenFile(filepath.Join(dir, "cgroup.kill"), os.O_WRONLY, 0) // Linux 5.14
	if err != nil {
		return "", errors.Join(err, os.Remove(dir))
	}
	return cgroup(dir), f.Close()
}

// child makes a group for one job below. No job starts in the group of another one:
// from version 6.14 on, Linux kills at once a process that starts in a group that was killed
// before. It is empty where none can be made.
func (c cgroup) child() cgroup {
	if c == "" {
		return ""
	}
	dir := filepath.Join(string(c), "job-"+strings.ToLower(rand.Text()[:8]))
	if os.Mkdir(dir, 0o755) != nil {
		return ""
	}
	return cgroup(dir)
}

// ownCgroup is the folder of the control group that elect is in.
func ownCgroup() (string, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	member, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	return findCgroup(string(mounts), string(member))
}

// findCgroup finds the folder in what the kernel says of mounts and membership.
func findCgroup(mounts, member string) (string, error) {
	var path string
	for line := range strings.Lines(member) {
		if p, ok := strings.CutPrefix(line, "0::"); ok {
			path = strings.TrimSuffix(p, "\n")
		}
	}
	for line := range strings.Lines(mounts) {
		mount, kind, _ := strings.Cut(line, " - ")
		fields := strings.Fields(mount)
		if !strings.HasPrefix(kind, "cgroup2 ") || len(fields) < 5 {
			continue
		}
		below, err := filepath.Rel(fields[3], path) // fields[3] is what of the hierarchy is mounted
		if err == nil && filepath.IsLocal(below) {
			return filepath.Join(fields[4], below), nil
		}
	}
	return "", fmt.Errorf("no control group of version 2 is mounted that holds %q", path)
}

// kill ends all in the group, and in those below it. The kernel passes over processes
// whose first thread has ended while others live on: they get a signal of their own.
func (c cgroup) kill() {
	if c == "" {
		return
	}
	_ = os.WriteFile(filepath.Join(string(c), "cgroup.kill"), []byte("1"), 0) // one that is gone is no matter
	c.each(func(pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) })          // nor is a process that has ended
}

// ask sends a signal to all in the group, and in those below it, but to those of
// a process group.
func (c cgroup) ask(but int, s syscall.Signal) {
	c.each(func(pid int) {
		if group, err := syscall.Getpgid(pid); err == nil && group != but {
			_ = syscall.Kill(pid, s)               // who is gone needs no asking
			_ = syscall.Kill(pid, syscall.SIGCONT) // a stopped process would not notice
		}
	})
}

// each visits the processes in the group, and in those below it.
func (c cgroup) each(visit func(pid int)) {
	c.walk(func(dir string) {
		content, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs")) // of what is gone, nothing
		for _, word := range strings.Fields(string(content)) {
			if pid, err := strconv.Atoi(word); err == nil && pid > 0 { // 0 is one of another namespace
				visit(pid)
			}
		}
	})
}

// alive reports whether somebody is left in the group, or in one below it.
func (c cgroup) alive() bool {
	if c == "" {
		return false
	}
	events, _ := os.ReadFile(filepath.Join(string(c), "cgroup.events")) // of what is gone, nothing
	return strings.Contains(string(events), "populated 1")
}

// remove removes the group and those below it, when all are gone. What hangs in
// the kernel for longer than a few seconds leaves an empty folder behind.
func (c cgroup) remove() {
	if c == "" {
		return
	}
	tick := time.NewTicker(goneInterval)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < 5*time.Second; <-tick.C {
		c.walk(func(dir string) { _ = os.Remove(dir) })
		if _, err := os.Stat(string(c)); errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
}

// walk visits the group's folder and those below it, these first.
func (c cgroup) walk(visit func(dir string)) {
	if c == "" {
		return
	}
	entries, _ := os.ReadDir(string(c)) // of what is gone, none
	for _, e := range entries {
		if e.IsDir() {
			(c + "/" + cgroup(e.Name())).walk(visit)
		}
	}
	visit(string(c))
}

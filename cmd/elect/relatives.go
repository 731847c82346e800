package main

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"
)

// relative is a process below elect.
type relative struct {
	pid, parent, group int
	born               time.Duration // on elector.SystemClock, rounded down to bornUnit
	dead               bool          // a zombie: all of its threads have ended
	name               string
}

// bornUnit is how exactly the kernel tells when a process began.
const bornUnit = 10 * time.Millisecond

// lookup finds the living and dead processes of a job, parents first. It returns an
// error where they cannot be seen.
type lookup func() ([]relative, error)

// below picks from all processes those of a job: the children of elect that began from
// one time to another, but its own, and all below them.
func below(all []relative, elect int, own func(pid int) bool, from, to time.Duration) []relative {
	children := map[int][]relative{}
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
	}
	list := slices.DeleteFunc(children[elect], func(p relative) bool {
		return own(p.pid) || p.born < from.Truncate(bornUnit) || p.born > to
	})
	delete(children, elect)
	for i := 0; i < len(list); i++ {
		list = append(list, children[list[i].pid]...)
		delete(children, list[i].pid) // a number may have been used twice meanwhile
	}
	return list
}

// grouped reports whether a signal to the process group reaches the job: somebody of it is
// there, or nobody can be seen. The number of a group that is gone may be another one's.
func grouped(list []relative, err error, group int) bool {
	return err != nil || slices.ContainsFunc(list, func(p relative) bool { return p.group == group })
}

// ask sends a signal to the process group and to each process outside it. A stopped
// process is continued: otherwise it would not notice. Children come first: the kernel
// hangs up on a stopped group whose parents end. It returns who lives.
func (look lookup) ask(group int, s syscall.Signal) ([]relative, error) {
	list, err := look()
	for _, p := range slices.Backward(list) {
		if p.group != group {
			p.send(s)
			p.send(syscall.SIGCONT)
		}
	}
	if grouped(list, err, group) {
		_ = syscall.Kill(-group, s) // a group that has ended needs no signal
		_ = syscall.Kill(-group, syscall.SIGCONT)
	}
	return living(list), err
}

// kill kills the process group, if it is known, and each process outside it, until it finds no new ones,
// and returns those that it has found.
func (look lookup) kill(group int) (found []relative) {
	killed := map[int]bool{}
	for range 20 { // who starts processes faster than this is looked for again later
		list, err := look()
		if found == nil && group != unborn && grouped(list, err, group) {
			killGroup(group)
		}
		fresh := slices.DeleteFunc(living(list), func(p relative) bool { return killed[p.pid] })
		if len(fresh) == 0 {
			break
		}
		for _, p := range fresh {
			killed[p.pid] = true
			p.send(syscall.SIGKILL)
		}
		found = append(found, fresh...)
	}
	return found
}

// names names processes, at most ten of them.
func names(list []relative) string {
	var names []string
	for _, p := range list[:min(len(list), 10)] {
		names = append(names, fmt.Sprintf("%d (%s)", p.pid, p.name))
	}
	if more := len(list) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// living are those that have not ended.
func living(list []relative) []relative {
	return slices.DeleteFunc(list, func(p relative) bool { return p.dead })
}

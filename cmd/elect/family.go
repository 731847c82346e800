package main

import (
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
)

// children are those of this process: the kernel has one list of them.
var children = family{own: map[int]bool{}, again: make(chan struct{}, 1)}

// family tells the children that this process has started, and waits for, from
// those that it has adopted: orphans of the job, which nobody else buries.
type family struct {
	again chan struct{} // one of our own was buried: others may have stood behind it

	mu  sync.Mutex
	own map[int]bool
}

// start starts a process as one of our own.
func (f *family) start(cmd *exec.Cmd) error {
	f.mu.Lock() // nobody is buried before it is known whose he is
	defer f.mu.Unlock()
	err := cmd.Start()
	if err == nil {
		f.own[cmd.Process.Pid] = true
	}
	return err
}

// wait waits for one of our own.
func (f *family) wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	f.mu.Lock()
	delete(f.own, cmd.Process.Pid)
	f.mu.Unlock()
	select {
	case f.again <- struct{}{}:
	default:
	}
	return err
}

// keep buries adopted children as soon as they end, until stop is called. It
// must not be called where other code starts processes, too: it would bury them.
func (f *family) keep() (stop func()) {
	died, over, done := make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})
	signal.Notify(died, syscall.SIGCHLD)
	go func() {
		defer close(done)
		for {
			f.bury()
			select {
			case <-died:
			case <-f.again:
			case <-over:
				return
			}
		}
	}()
	return func() {
		signal.Stop(died)
		close(over)
		<-done
	}
}

// bury waits for all adopted children that have ended, up to one of our own,
// whose end is told by wait.
func (f *family) bury() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		pid := ended()
		if pid == 0 || f.own[pid] {
			return
		}
		bury(pid)
	}
}

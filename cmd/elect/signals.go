package main

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// passed are the signals that elect passes on to the job's first process, as the first
// processes of containers do (tini, docker-init). They mean something to the program
// that handles them, and end every other one. So its children do not get them.
func passed() []os.Signal {
	return []os.Signal{syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGCONT}
}

// catch calls to with each of these signals that elect gets, until stop is called. None of
// them ends elect meanwhile. SIGHUP stays ignored, here and in the job, if elect was
// started so (nohup).
func catch(to func(syscall.Signal)) (stop func()) {
	list := slices.DeleteFunc(passed(), signal.Ignored)
	signals, over, done := make(chan os.Signal, 16), make(chan struct{}), make(chan struct{})
	signal.Notify(signals, list...)
	go func() {
		defer close(done)
		for {
			select {
			case s := <-signals:
				to(s.(syscall.Signal))
			case <-over:
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(over)
		<-done
	}
}

// pass passes a signal on to the job. It does nothing if no job runs. Without a terminal
// SIGHUP is a request to the program, such as to read its settings again. A program that
// knows no such request must not end by it.
func (l *leader) pass(s syscall.Signal) {
	j := l.job.Load()
	if j == nil || s == syscall.SIGHUP && !l.terminal && !handles(j.group, s) {
		l.log.Debug("a signal is ignored", "signal", unix.SignalName(s), "job", j != nil)
		return
	}
	err := j.process.Signal(s) // one that has ended needs none
	l.log.Debug("a signal is passed on to the job", "signal", unix.SignalName(s), "pid", j.group, "error", err)
}

// hasTerminal reports whether this process has a controlling terminal, whose end SIGHUP
// may announce.
func hasTerminal() bool {
	f, err := os.Open("/dev/tty")
	if err == nil {
		_ = f.Close() // it was only looked for
	}
	return err == nil
}

// stopSignal is the signal of that name. A signal that stops or continues a process asks
// nobody to end.
func stopSignal(name string) (syscall.Signal, error) {
	s := unix.SignalNum("SIG" + strings.TrimPrefix(strings.ToUpper(name), "SIG"))
	switch s {
	case 0:
		return 0, fmt.Errorf("--stop-signal is %q; it must be the name of a signal, such as TERM, INT or QUIT", name)
	case syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGCONT:
		return 0, fmt.Errorf("--stop-signal is %q, which stops or continues a process, and ends none; give another one, such as TERM, INT or QUIT", name)
	}
	return s, nil
}

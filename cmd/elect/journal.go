package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// journal is the way to standard error of all that elect says. A line is taken
// at once and written by a goroutine of the journal's own, so that a terminal
// that is stopped, or a pipe that nobody reads, holds up nobody who has a job to
// end. Lines for which there is no room are lost, and are counted.
type journal struct {
	to    io.Writer
	lines chan []byte
	lost  atomic.Int64
	over  chan struct{} // closed by close
	done  chan struct{} // closed when all that was taken is written

	lostLine func(n int64) []byte
}

// What a journal takes while nobody reads it, and for how long it waits for a
// reader in the end.
const (
	journalLines    = 1000
	journalPatience = time.Second
)

func newJournal(to io.Writer) *journal {
	j := &journal{
		to: to, lines: make(chan []byte, journalLines), over: make(chan struct{}), done: make(chan struct{}),
		lostLine: func(n int64) []byte { return fmt.Appendf(nil, "elect: %s: %d\n", linesLost, n) },
	}
	go j.write()
	return j
}

// outliveReaders makes that a log whose reader is gone does not end the process, and
// the job with it, as the signal for that would. The job gets the signal's usual
// meaning.
func outliveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

const linesLost = "lines of the log are lost, since nobody read standard error"

// logTo makes the log that a handler writes to the journal. It must be called
// before the journal is written to.
func (j *journal) logTo(handler func(io.Writer) slog.Handler) *slog.Logger {
	j.lostLine = func(n int64) []byte {
		var line bytes.Buffer
		slog.New(handler(&line)).Warn(linesLost, "lines", n)
		return line.Bytes()
	}
	return slog.New(handler(j))
}

// Write implements io.Writer for whole lines. It never waits, and never fails.
func (j *journal) Write(line []byte) (int, error) {
	select {
	case j.lines <- bytes.Clone(line):
	default:
		j.lost.Add(1)
	}
	return len(line), nil
}

func (j *journal) write() {
	defer close(j.done)
	for {
		select {
		case line := <-j.lines:
			j.put(line)
		case <-j.over:
			for {
				select {
				case line := <-j.lines:
					j.put(line)
				default:
					return
				}
			}
		}
	}
}

// put writes a line and, when no other waits, how many were lost meanwhile. An
// error changes nothing: there is nowhere else to say it.
func (j *journal) put(line []byte) {
	_, _ = j.to.Write(line)
	if len(j.lines) > 0 {
		return
	}
	if n := j.lost.Swap(0); n > 0 {
		_, _ = j.to.Write(j.lostLine(n))
	}
}

// close waits until all lines are written, but for no longer than somebody who
// reads needs. Nothing may be written afterwards.
func (j *journal) close() {
	close(j.over)
	timer := time.NewTimer(journalPatience)
	defer timer.Stop()
	select {
	case <-j.done:
	case <-timer.C:
	}
}

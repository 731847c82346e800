package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9"
)

func main() {
	guardMain() // this program is also the guard of its own jobs
	redis.SetLogger(silent{})
	children.keep() // until the end: in a container elect is the first process
	tool := Main{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ()}
	os.Exit(tool.Run(untilAsked(), os.Args[1:]))
}

// untilAsked is done when elect is asked to stop. Supervisors repeat SIGTERM: however
// many come, and whenever, they are one. A user who interrupts elect twice does not want to
// wait: the second SIGINT ends it at once, and its guard ends the job.
func untilAsked() context.Context {
	ctx, stop := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 10)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for s := range signals {
			stop()
			if s == os.Interrupt {
				signal.Reset(os.Interrupt)
			}
		}
	}()
	return ctx
}

// Main is the command as a value, so that tests run it in their own process.
type Main struct {
	Stdin   *os.File // the job's, unless it is a terminal; nil: there is nothing to read
	Stdout  io.Writer
	Stderr  io.Writer
	Environ []string // as os.Environ returns it

	journal *journal // the way to Stderr of all that is said here; the job has its own
}

// silent is the log of the Redis client: what it would say, the elector's own
// log says better, once, and as JSON if that is wanted.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

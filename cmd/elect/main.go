// Command elect runs a command on one machine of many: on the one that is
// elected, for as long as it leads. It also serves an elector over HTTP to
// programs in any language, and tells who leads.
package main

import (
	"context"
	"io"
	"os"

	"github.com/redis/go-redis/v9"
)

func main() {
	guardMain() // this program is also the guard of its own jobs
	redis.SetLogger(silent{})
	children.keep() // until the end: in a container elect is the first process
	tool := Main{Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ()}
	os.Exit(tool.Run(context.Background(), os.Args[1:]))
}

// Main is the command as a value, so that tests run it in their own process.
type Main struct {
	Stdout  io.Writer
	Stderr  io.Writer
	Environ []string // as os.Environ returns it

	journal *journal // the way to Stderr of all that is said here; the job has its own
}

// silent is the log of the Redis client: what it would say, the elector's own
// log says better, once, and as JSON if that is wanted.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

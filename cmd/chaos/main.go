package main

import (
	"context"
	"io"
	"os"

	"github.com/recount-io/recount/scenarios/search"
	"github.com/recount-io/recount/scenarios/soak"
	"github.com/recount-io/recount/sim/candidate"
	"github.com/recount-io/recount/sim/live"
	"github.com/recount-io/recount/sim/virtual"
)

func main() {
	// This program is also its own supervisor, its own candidates and its own workers.
	live.Main()
	search.Main()
	soak.Main()
	candidate.Main(implementations())
	tool := Main{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv}
	os.Exit(tool.Run(context.Background(), os.Args[1:]))
}

// Main is the command as a value, so that tests run it in their own process.
type Main struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string

	// Subjects are further electors of the virtual world, beside those that
	// this program contains.
	Subjects map[string]virtual.Subject
}

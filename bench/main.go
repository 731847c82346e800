package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// effort is how often everything is measured.
type effort struct {
	handovers, pollerHandovers int
	crashes, pollerCrashes     int
	minutes                    float64
	releases                   int
	batches                    int
	elections                  int
}

// measurement is one section of the output.
type measurement struct {
	name    string
	measure func(ctx context.Context, s *server, e effort) (string, error)
}

var measurements = []measurement{
	{"handover", handover},
	{"crash", crashes},
	{"steady", steady},
	{"calls", calls},
	{"thousand", thousand},
}

func run(ctx context.Context, args []string) error {
	var e effort
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	flags.IntVar(&e.handovers, "handovers", 500, "hand-overs of each of the electors that are told of a release")
	flags.IntVar(&e.pollerHandovers, "poller-handovers", 100, "hand-overs of each of those that poll")
	flags.IntVar(&e.crashes, "crashes", 120, "crashes of each of the electors that are told of a release")
	flags.IntVar(&e.pollerCrashes, "poller-crashes", 30, "crashes of each of those that poll")
	flags.Float64Var(&e.minutes, "minutes", 2, "for how long the commands of the steady state are counted")
	flags.IntVar(&e.releases, "releases", 10, "releases after which the commands of 100 followers are counted")
	flags.IntVar(&e.batches, "batches", 300, "batches of 100 calls each")
	flags.IntVar(&e.elections, "elections", 1000, "elections in one process")
	only := flags.String("only", "", "the measurements to make, separated by commas: handover, crash, steady, calls, thousand; all by default")
	which := flags.String("process", "", "for the bench's own use: be this process of the measurement \"thousand\"")
	addr := flags.String("server", "", "for the bench's own use: the server of -process")
	if err := flags.Parse(args); err != nil {
		return err
	}
	redis.SetLogger(silent{}) // it reports each dial of those whose crash is acted
	if *which != "" {
		return process(ctx, *which, *addr, e.elections)
	}
	s, err := startServer()
	if err != nil {
		return err
	}
	defer s.stop()
	fmt.Printf("Redis %s; %s.\n", s.version, versions())
	for _, m := range measurements {
		if *only != "" && !strings.Contains(","+*only+",", ","+m.name+",") {
			continue
		}
		progress("%s", m.name)
		section, err := m.measure(ctx, s, e)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		fmt.Printf("\n%s", section)
	}
	return nil
}

// silent is a logger of go-redis.
type silent struct{}

// Printf drops what go-redis says.
func (silent) Printf(context.Context, string, ...any) {}

// progress tells who waits what is measured, in figures of this machine.
func progress(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
}

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recount-io/recount/cmd/internal/misuse"
	"github.com/recount-io/recount/internal/spelling"
	"github.com/recount-io/recount/reports"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim/bubble"
	"github.com/recount-io/recount/sim/live/containers"
)

// The worlds that --world names.
const (
	liveWorld       = "live"
	containersWorld = containers.World
	virtualWorld    = "virtual"
	bubbleWorld     = "bubble"
	bothWorlds      = "both"
)

// worlds lists them with a line each.
func worlds() []entry {
	return []entry{
		{liveWorld, "candidates that are processes, a real Redis, and proxies between them"},
		{containersWorld, "candidates, Redis and Sentinels that are containers of Docker's, and networks between them (for run)"},
		{virtualWorld, "all of it simulated in one thread and virtual time: one seed, one history"},
		{bubbleWorld, "the code that ships in fake time, on a network and a Redis in memory (for run)"},
		{bothWorlds, "one scenario in either world, and how far apart the two lie (for run)"},
	}
}

// misplaced refuses a flag that means nothing in the world that was asked for.
// What has no effect must not look as if it had one.
func (f *runFlags) misplaced(given func(flag string) bool) error {
	if !slices.ContainsFunc(worlds(), func(w entry) bool { return w.Name == f.world }) {
		return noWorld(f.world, liveWorld, containersWorld, virtualWorld, bubbleWorld, bothWorlds)
	}
	for _, flag := range []struct {
		name   string
		worlds []string
		why    string
	}{
		{"redis", []string{liveWorld, bothWorlds}, "the other worlds have a store of their own; that of containers is the image RECOUNT_REDIS_IMAGE"},
		{"toxiproxy", []string{liveWorld, bothWorlds}, "the other worlds have a network of their own"},
		{"prefix", []string{liveWorld, bothWorlds, containersWorld}, "the store of a simulated world is the run's own"},
		{"exec", []string{liveWorld}, "a command runs in real time; for containers give the image of one candidate with --image"},
		{"lock-key", []string{liveWorld, virtualWorld, bubbleWorld, bothWorlds}, "nothing is read off the wire there"},
		{"image", []string{containersWorld}, "a container runs nowhere else; for a process give the command that runs one candidate with --exec"},
		{"virtual-runs", []string{bothWorlds}, "only a comparison of the live world with the virtual one has them: use --world both"},
		{"rolling", []string{virtualWorld}, "only virtual time is long enough, and nothing of the run is kept to be compared: use --world virtual"},
	} {
		if given(flag.name) && !slices.Contains(flag.worlds, f.world) {
			return misuse.Of(fmt.Errorf("--%s means nothing with --world %s: %s", flag.name, f.world, flag.why))
		}
	}
	return nil
}

// simulated reports whether the world has a store and a network of its own, in memory.
func (f *runFlags) simulated() bool { return f.world == virtualWorld || f.world == bubbleWorld }

// noWorld is the error about a world that is none of those that there are.
func noWorld(name string, are ...string) error {
	last := len(are) - 1
	return misuse.Of(fmt.Errorf("there is no world %q%s: use --world %s or %s", name, spelling.Hint(name, are), strings.Join(are[:last], ", "), are[last]))
}

// fewestVirtual is how many virtual runs it takes at least. What chance does to
// a few live runs is told by drawing as few from all: the probability that
// comes out is no smaller than one in so many.
func (f *runFlags) fewestVirtual() int { return max(200, 20*f.runs) }

// resolve checks all that can be checked before anything is started.
func (f *runFlags) resolve(m Main, cmd *cobra.Command, names []string) ([]scenarios.Scenario, error) {
	if err := f.misplaced(cmd.Flags().Changed); err != nil {
		return nil, err
	}
	if f.world != bothWorlds && !cmd.Flags().Changed("runs") {
		f.runs = 1
	}
	if !cmd.Flags().Changed("virtual-runs") {
		f.virtualRuns = max(f.virtualRuns, f.fewestVirtual())
	}
	list, err := f.find(cmd.Flags().Changed, names)
	if err != nil {
		return nil, err
	}
	switch {
	case f.settings.Nodes < 0, f.settings.Nodes == 0 && cmd.Flags().Changed("nodes"):
		return nil, misuse.Of(fmt.Errorf("--nodes %d: an election needs at least one candidate", f.settings.Nodes))
	case f.settings.Duration < 0:
		return nil, misuse.Of(fmt.Errorf("--duration %v is negative", f.settings.Duration))
	case f.prefix == "":
		return nil, misuse.Of(errors.New(noPrefix))
	case f.exec != "" && cmd.Flags().Changed("subject"):
		return nil, misuse.Of(errors.New("--exec and --subject exclude each other: the command is the elector under test"))
	case f.parallel < 1:
		return nil, misuse.Of(fmt.Errorf("--parallel %d: at least one scenario must run at a time", f.parallel))
	case f.runs < 1 && f.world == bothWorlds:
		return nil, misuse.Of(fmt.Errorf("--runs %d: there is nothing to compare without a live run", f.runs))
	case f.runs < 1:
		return nil, misuse.Of(fmt.Errorf("--runs %d: each scenario must run at least once", f.runs))
	case f.rolling && cmd.Flags().Changed("runs"):
		return nil, misuse.Of(errors.New("--runs means nothing with --rolling: one run may be of any length, so give a longer --duration"))
	case f.virtualRuns < f.fewestVirtual():
		return nil, misuse.Of(fmt.Errorf("--virtual-runs %d: what chance does to %d live runs cannot be told from so few; give at least %d",
			f.virtualRuns, f.runs, f.fewestVirtual()))
	}
	if f.redis == "" && !f.simulated() && f.world != containersWorld {
		f.redis = m.Getenv("RECOUNT_REDIS")
	}
	if f.exec != "" {
		words := strings.Fields(f.exec)
		if len(words) == 0 {
			return nil, misuse.Of(errors.New("--exec is blank: give the command that runs one candidate"))
		}
		f.settings.Subject, f.settings.Stranger = strings.Join(words, " "), true
	} else if f.image != "" {
		f.settings.Subject, f.settings.Stranger = f.image, true
	} else if cmd.Flags().Changed("lock-key") {
		return nil, misuse.Of(errors.New("--lock-key means nothing without --exec: the keys of the electors inside this program are known"))
	} else if cmd.Flags().Changed("clocks") {
		return nil, misuse.Of(errors.New("--clocks means nothing without --exec or --image: the electors inside this program can be told their clocks"))
	} else if cmd.Flags().Changed("transfers") {
		return nil, misuse.Of(errors.New("--transfers means nothing without --exec or --image: which electors inside this program can hand their leases over is known"))
	} else if cmd.Flags().Changed("password-file") {
		return nil, misuse.Of(errors.New("--password-file means nothing without --exec: which electors inside this program read the store's password from a file is known"))
	} else if err := f.checkSubject(m); err != nil {
		return nil, err
	}
	f.settings.FixedClocks = f.settings.Stranger && !f.clocks
	if err := f.checkSparing(cmd.Flags().Changed); err != nil {
		return nil, err
	}
	if !cmd.Flags().Changed("seed") {
		f.settings.Seed = rand.Uint64N(1 << 32)
	}
	f.settings.Flags = f.repro()
	list = f.subject().fair(list)
	return list, f.checkPlans(list)
}

// noPrefix refuses a prefix that would make keys of runs look like anybody's.
const noPrefix = `--prefix is empty: give what every key in Redis begins with ("recount:" is the usual one)`

// checkSubject refuses the name of an elector that is not in that world.
func (f *runFlags) checkSubject(m Main) error {
	if f.world == virtualWorld {
		return m.checkVirtualSubject(f.settings.Subject)
	}
	if err := checkSubject(f.settings.Subject); err != nil {
		return err
	}
	if names := (&bubble.World{}).Names(); f.world == bubbleWorld && !slices.Contains(names, f.settings.Subject) {
		return misuse.Of(fmt.Errorf("%s cannot run in the bubble: give one of %s", f.settings.Subject, strings.Join(names, ", ")))
	}
	if f.world == containersWorld && (tapped(f.settings.Subject) || onPostgres(f.settings.Subject)) {
		return misuse.Of(fmt.Errorf("%s cannot run in containers: it does not tell what it asks of the store, and nothing is read off the wire there; use --world live", f.settings.Subject))
	}
	if why := f.subject().absent(f.redis)[liveWorld]; why != "" {
		return misuse.Of(fmt.Errorf("%s cannot run in the live world: %s; use --world virtual", f.settings.Subject, why))
	}
	return nil
}

// checkPlans refuses what no plan can be made of, and what takes too much
// memory.
func (f *runFlags) checkPlans(list []scenarios.Scenario) error {
	once := f.settings
	once.Duration = 0 // a plan for years is large
	for _, s := range list {
		if _, err := s.Plan(once); err != nil {
			return misuse.Of(err)
		}
	}
	return f.checkSize(list)
}

// command is the candidates' command, nil for the elector inside this program.
func (f *runFlags) command() []string {
	if f.exec == "" {
		return nil
	}
	return []string{"sh", "-c", "exec " + f.exec}
}

// repro are the flags that repeat a run of one scenario.
func (f *runFlags) repro() string {
	var flags []string
	add := func(when bool, format string, args ...any) {
		if when {
			flags = append(flags, fmt.Sprintf(format, args...))
		}
	}
	add(f.world != liveWorld, "--world %s", f.world)
	add(f.exec == "" && f.image == "", "--subject %s", f.settings.Subject)
	add(f.image != "", "--image %s", quoted(f.image))
	add(f.exec != "", "--exec '%s'", strings.ReplaceAll(f.exec, "'", `'\''`))
	add(f.lockKey != "", "--lock-key %s", quoted(f.lockKey))
	add(f.clocks, "--clocks")
	add(f.transfers, "--transfers")
	add(f.passwordFile, "--password-file")
	add(f.redis != "", "--redis %s", quoted(reports.Redact(f.redis)))
	add(f.own, "--own-this-redis")
	f.sparing.repro(f.shared(), f.prefix, add)
	add(f.toxiproxy != "", "--toxiproxy %s", f.toxiproxy)
	add(true, "--seed %d", f.settings.Seed)
	add(true, "--lease %v", f.settings.Timings().Lease)
	add(f.settings.Renew > 0, "--renew %v", f.settings.Renew)
	add(f.settings.Retry > 0, "--retry %v", f.settings.Retry)
	add(f.settings.Nodes > 0, "--nodes %d", f.settings.Nodes)
	add(f.settings.Duration > 0, "--duration %v", f.settings.Duration)
	add(f.rolling, "--rolling")
	add(f.world == bothWorlds, "--runs %d --virtual-runs %d", f.runs, f.virtualRuns)
	add(f.world != bothWorlds && f.runs > 1, "--runs %d", f.runs)
	return strings.Join(flags, " ")
}

// single are the flags that repeat one run of several.
func (f *runFlags) single(world string, seed uint64) string {
	one := *f
	one.world, one.settings.Seed, one.runs = world, seed, 1
	if world == virtualWorld {
		one.redis, one.toxiproxy, one.own = "", "", false
	}
	return one.repro()
}

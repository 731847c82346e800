package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/usage"
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
		{bothWorlds, "the live world and the virtual one (for trial; chaos calibrate compares the two)"},
	}
}

// misplaced refuses a flag that means nothing in the world that was asked for.
// What has no effect must not look as if it had one.
func (f *runFlags) misplaced(given func(flag string) bool) error {
	if f.world == bothWorlds {
		return usage.Of(errors.New("--world both is a command of its own now: use chaos calibrate"))
	}
	if !slices.ContainsFunc(worlds(), func(w entry) bool { return w.Name == f.world }) {
		return noWorld(f.world, liveWorld, containersWorld, virtualWorld, bubbleWorld)
	}
	for _, flag := range []struct {
		name   string
		worlds []string
		why    string
	}{
		{"redis", []string{liveWorld}, "the other worlds have a store of their own; that of containers is the image RECOUNT_REDIS_IMAGE"},
		{"toxiproxy", []string{liveWorld}, "the other worlds have a network of their own"},
		{"prefix", []string{liveWorld, containersWorld}, "the store of a simulated world is the run's own"},
		{"exec", []string{liveWorld}, "a command runs in real time; for containers give the image of one candidate with --image"},
		{"lock-key", []string{liveWorld, virtualWorld, bubbleWorld}, "nothing is read off the wire there"},
		{"image", []string{containersWorld}, "a container runs nowhere else; for a process give the command that runs one candidate with --exec"},
		{"rolling", []string{virtualWorld}, "only virtual time is long enough, and nothing of the run is kept to be compared: use --world virtual"},
	} {
		if given(flag.name) && !slices.Contains(flag.worlds, f.world) {
			return usage.Of(fmt.Errorf("--%s means nothing with --world %s: %s", flag.name, f.world, flag.why))
		}
	}
	return nil
}

// simulated reports whether the world has a store and a network of its own, in memory.
func (f *runFlags) simulated() bool { return f.world == virtualWorld || f.world == bubbleWorld }

// noWorld is the error about a world that is none of those that there are.
func noWorld(name string, are ...string) error {
	last := len(are) - 1
	return usage.Of(fmt.Errorf("there is no world %q%s: use --world %s or %s", name, spelling.Hint(name, are), strings.Join(are[:last], ", "), are[last]))
}

// resolve checks all that can be checked before anything is started.
func (f *runFlags) resolve(m Main, given func(flag string) bool, names []string) ([]scenarios.Planned, error) {
	if err := f.misplaced(given); err != nil {
		return nil, err
	}
	list, err := f.find(given, names)
	if err != nil {
		return nil, err
	}
	switch {
	case f.settings.Nodes < 0, f.settings.Nodes == 0 && given("nodes"):
		return nil, usage.Of(fmt.Errorf("--nodes %d: an election needs at least one candidate", f.settings.Nodes))
	case f.settings.Duration < 0:
		return nil, usage.Of(fmt.Errorf("--duration %v is negative", f.settings.Duration))
	case f.prefix == "":
		return nil, usage.Of(errors.New(noPrefix))
	case f.exec != "" && given("subject"):
		return nil, usage.Of(errors.New("--exec and --subject exclude each other: the command is the elector under test"))
	case f.parallel < 1:
		return nil, usage.Of(fmt.Errorf("--parallel %d: at least one scenario must run at a time", f.parallel))
	case f.runs < 1:
		return nil, usage.Of(fmt.Errorf("--runs %d: each scenario must run at least once", f.runs))
	case f.rolling && given("runs"):
		return nil, usage.Of(errors.New("--runs means nothing with --rolling: one run may be of any length, so give a longer --duration"))
	}
	if f.redis == "" && !f.simulated() && f.world != containersWorld {
		f.redis = m.Getenv("RECOUNT_REDIS")
	}
	if f.exec != "" {
		words := strings.Fields(f.exec)
		if len(words) == 0 {
			return nil, usage.Of(errors.New("--exec is blank: give the command that runs one candidate"))
		}
		f.settings.Subject, f.settings.Foreign = strings.Join(words, " "), true
	} else if f.image != "" {
		f.settings.Subject, f.settings.Foreign = f.image, true
	} else if err := ofOthers(given); err != nil {
		return nil, err
	} else if err := f.checkSubject(m); err != nil {
		return nil, err
	}
	if err := f.checkNotAsked(); err != nil {
		return nil, err
	}
	f.settings.FixedClocks = f.settings.Foreign && !f.clocks
	if err := f.checkSparing(given); err != nil {
		return nil, err
	}
	if !given("seed") {
		f.settings.Seed = rand.Uint64N(1 << 32)
	}
	f.settings.Flags = f.repro()
	return f.plan(f.subject().fair(list))
}

// ofOthers refuses the flags that say what another elector can do.
func ofOthers(given func(flag string) bool) error {
	for _, flag := range [][3]string{
		{"lock-key", "--exec", "the keys of the electors inside this program are known"},
		{"clocks", "--exec or --image", "the electors inside this program can be told their clocks"},
		{"transfers", "--exec or --image", "which electors inside this program can hand their leases over is known"},
		{"password-file", "--exec", "which electors inside this program read the store's password from a file is known"},
		{"not-asked", "--exec or --image", "what the electors inside this program promise is known"},
	} {
		if given(flag[0]) {
			return usage.Of(fmt.Errorf("--%s means nothing without %s: %s", flag[0], flag[1], flag[2]))
		}
	}
	return nil
}

// checkNotAsked refuses what cannot be left out of the verdict.
func (f *runFlags) checkNotAsked() error {
	for _, name := range f.notAsked {
		switch {
		case !slices.Contains(checker.Promises, checker.Named(name)):
			return usage.Of(fmt.Errorf("--not-asked: there is no promise %q; the promises are %s", name, checker.Names()))
		case name == string(checker.WellFormed):
			return usage.Of(fmt.Errorf("--not-asked %s: without it no other promise can be judged; name another promise", name))
		}
	}
	return nil
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
		return usage.Of(fmt.Errorf("%s cannot run in the bubble: give one of %s", f.settings.Subject, strings.Join(names, ", ")))
	}
	if f.world == containersWorld && (tapped(f.settings.Subject) || onPostgres(f.settings.Subject)) {
		return usage.Of(fmt.Errorf("%s cannot run in containers: it does not tell what it asks of the store, and nothing is read off the wire there; use --world live", f.settings.Subject))
	}
	if why := f.subject().absent(f.redis)[liveWorld]; why != "" {
		return usage.Of(fmt.Errorf("%s cannot run in the live world: %s; use --world virtual", f.settings.Subject, why))
	}
	return nil
}

// plan plans a run of each scenario. It refuses what no plan can be made of, and what takes
// too much memory.
func (f *runFlags) plan(list []scenarios.Scenario) ([]scenarios.Planned, error) {
	once := f.settings
	once.Duration = 0 // a plan for years is large
	all, err := scenarios.PlanAll(list, once)
	if err != nil {
		return nil, usage.Of(err)
	}
	if err := f.checkSize(all); err != nil {
		return nil, err
	}
	for i, p := range all {
		if f.settings.Duration > 0 && (!f.rolling || p.Schedule == nil) {
			if p, err = p.With(f.settings); err != nil {
				return nil, usage.Of(err)
			}
		}
		if f.rolling {
			p = rolled(p, f.settings.Duration)
		}
		all[i] = p
	}
	return all, nil
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
	var flags line
	add := flags.add
	add(f.world != liveWorld, "--world %s", f.world)
	add(f.exec == "" && f.image == "", "--subject %s", f.settings.Subject)
	add(f.image != "", "--image %s", quoted(f.image))
	add(f.exec != "", "--exec '%s'", strings.ReplaceAll(f.exec, "'", `'\''`))
	add(f.lockKey != "", "--lock-key %s", quoted(f.lockKey))
	add(f.clocks, "--clocks")
	add(f.transfers, "--transfers")
	add(f.passwordFile, "--password-file")
	add(len(f.notAsked) > 0, "--not-asked %s", strings.Join(f.notAsked, ","))
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
	add(f.runs > 1, "--runs %d", f.runs)
	return flags.String()
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

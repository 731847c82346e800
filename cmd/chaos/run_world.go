package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/reports"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/scenarios/search"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble"
	"github.com/recount-io/recount/sim/live"
	"github.com/recount-io/recount/sim/live/containers"
	"github.com/recount-io/recount/sim/virtual"
)

// place is a world that is ready to carry out plans.
type place struct {
	scenarios.World
	name      string
	says      string       // what there is to say about it before the first run
	private   bool         // faults may hit its store
	owned     bool         // faults may hit its store as far as a client can, and others share it
	forgetful bool         // its store can be set back to what it was
	attended  bool         // its store's connections, users and passwords can be changed
	several   bool         // its store can be several servers
	subject   subject      // under test
	close     func() error // may be called again

	// cannot is what of a plan lies beyond the world, "" if nothing does; nil: what the
	// fields above say.
	cannot func(sim.Plan) string

	// watch has the run end before it hurts others who use the store; nil: nobody does.
	watch func(context.Context) (context.Context, live.Steady, error)

	silent bool // nobody logs there
}

// inLive opens the live world for runs that open so many connections to the store.
func (f *runFlags) inLive(ctx context.Context, screen *screen, connections int) (*place, error) {
	session, err := live.Open(ctx, live.Options{
		Redis: f.redis, Toxiproxy: f.toxiproxy, Command: f.command(), Prefix: f.prefix, Progress: screen.progress,
		LockKey: f.lockKey, Clocks: f.clocks, Tapped: tapped, Postgres: onPostgres, Connections: connections, Own: f.own, Limits: f.sparing.limits,
	})
	if err != nil {
		return nil, err
	}
	what, why := session.Redis()
	forgetful, _ := session.Forgetful()
	return &place{
		World: session, name: liveWorld, subject: f.subject(), private: session.Private(), owned: session.Owned(), forgetful: forgetful, attended: forgetful, several: session.Private(), close: session.Close, watch: session.Watch,
		says: strings.Join(append([]string{fmt.Sprintf("Redis: %s (%s)", reports.Redact(what), reports.Redact(why))}, session.Notes()...), "\n"),
	}, nil
}

// logs makes the folder for the logs of a run. It returns "" if nobody logs there.
func (p *place) logs(out *output, run string) (string, error) {
	if p.silent {
		return "", nil
	}
	return out.logs(run)
}

// connections is how many connections runs of the list open to one server at the most.
func connections(list []scenarios.Planned, parallel int) int {
	return billOf(list).at(parallel).Connections
}

// inContainers opens the world of containers.
func (f *runFlags) inContainers(ctx context.Context, screen *screen) (*place, error) {
	session, err := containers.Open(ctx, containers.Options{Image: f.image, Clocks: f.clocks, Prefix: f.prefix, Progress: screen.progress})
	if err != nil {
		return nil, err
	}
	what, _ := session.Redis()
	return &place{
		World: session, name: containersWorld, subject: f.subject(), private: true, forgetful: true, several: true, cannot: containers.Lacks, close: session.Close,
		says: "World: containers; Redis: " + what + "; every cut of the network is a host that is disconnected",
	}, nil
}

// inBubble is the world of fake time.
func (f *runFlags) inBubble() *place {
	world := &search.Bubble{}
	return &place{
		World: world, name: bubbleWorld, subject: f.subject(), private: true, forgetful: true, attended: true, several: true, cannot: bubble.Refuses, close: world.Close,
		says: "World: bubble; the code that ships runs in fake time, on a network and a Redis in memory",
	}
}

// inVirtual is the virtual world with these electors beside "recount": nothing
// needs to be opened, and nobody logs.
func inVirtual(subjects map[string]virtual.Subject) *place {
	return &place{
		World: &virtual.World{Subjects: subjects, Scripts: virtual.Sampled}, name: virtualWorld, private: true, forgetful: true, close: func() error { return nil },
		says:   "World: virtual; everything is simulated, and there is no Redis",
		silent: true,
	}
}

// inVirtual is the virtual world for the run's subject.
func (f *runFlags) inVirtual(m Main) *place {
	world := inVirtual(m.virtualSubjects())
	world.subject = f.subject()
	return world
}

// subject is the elector under test: a foreign program if it is a command.
func (f *runFlags) subject() subject {
	if f.exec != "" || f.image != "" {
		s := subject{name: f.settings.Subject, fixedClocks: f.settings.FixedClocks, keeps: !f.transfers, fixedPassword: !f.passwordFile, waived: map[checker.Promise]string{}}
		for _, name := range f.notAsked {
			s.waived[checker.Named(name)] = "not asked for by --not-asked"
		}
		return s
	}
	return subjectOf(f.settings.Subject)
}

// checkPlatform refuses systems on which the live world does not run.
func checkPlatform() error {
	if runtime.GOOS == "linux" || runtime.GOOS == "darwin" {
		return nil
	}
	return usage.Of(fmt.Errorf("the live world runs on Linux and macOS, not on %s: use --world virtual", runtime.GOOS))
}

// leftOut are scenarios that are not run, and why.
type leftOut struct {
	Why       string   `json:"why"`
	Scenarios []string `json:"scenarios"`
}

func (l leftOut) String() string {
	return fmt.Sprintf("Left out: what %s (%s)", l.Why, strings.Join(l.Scenarios, ", "))
}

// admissible leaves out the scenarios that the place cannot carry out, and says
// so. Asked for by name, they are refused.
func (p *place) admissible(list []scenarios.Planned, named bool, screen *screen) ([]scenarios.Planned, error) {
	admitted, left, err := p.split(list, named)
	for _, l := range left {
		screen.say("%v", l)
	}
	return admitted, err
}

// split divides the scenarios into those that the place can carry out and those
// that it cannot. Asked for by name, these are refused.
func (p *place) split(list []scenarios.Planned, named bool) (admitted []scenarios.Planned, left []leftOut, err error) {
	for _, s := range list {
		why, mend := p.lacks(s.Scenario)
		if why == "" {
			s.Alone = s.Alone || p.owned && s.NeedsPrivateStore() // the others would feel it
			admitted = append(admitted, s)
			continue
		}
		if named {
			return nil, nil, usage.Of(fmt.Errorf("%s %s: %s", s.Name, why, mend))
		}
		i := slices.IndexFunc(left, func(l leftOut) bool { return l.Why == why })
		if i < 0 {
			i, left = len(left), append(left, leftOut{Why: why})
		}
		left[i].Scenarios = append(left[i].Scenarios, s.Name)
	}
	return admitted, left, nil
}

// lacks says why the place cannot carry out a scenario, if it cannot, and what
// to do about it.
func (p *place) lacks(s scenarios.Scenario) (why, mend string) {
	if applies, why := p.subject.applies(s); !applies {
		return "does not apply: " + why, "leave it out, or choose another --subject"
	}
	if p.subject.fixedClocks && s.NeedsClocks() {
		return "sets candidates' clocks, which this program is not told", clocksMend
	}
	if p.subject.keeps && transfers(s) {
		return "has a leader hand its lease over, which this program is not told to", `have it obey the command "transfer" on its standard input and give --transfers (docs/candidate-protocol.md), or leave the scenario out`
	}
	if p.cannot != nil {
		if why := beyond(p.cannot, s); why != "" {
			return why, p.name + " can " + strings.Join(p.within(), ", ")
		}
	}
	if s.NeedsPasswordFile() && p.subject.fixedPassword {
		return "changes the store's password, which this program is not known to read from a file", passwordMend
	}
	switch {
	case s.NeedsAttendedStore() && !p.attended:
		return "moves connections, users or passwords of the store, which only a private redis-server bears", "use --world live and --redis process for it"
	case s.Topology != sim.OneServer && s.Topology.Independent() == 1 && !p.several:
		return "has a store of several servers, which are processes of the harness's own", "use --world live and --redis process for it"
	case s.NeedsPrivateStore() && p.owned && !s.NeedsServerProcess():
		return "", ""
	case s.NeedsServerProcess() && p.owned:
		return "hits the server's process, which no client can", "use --redis process, docker or embedded for it, or --world virtual"
	case s.NeedsPrivateStore() && !p.private:
		return "hits the store itself, and only a private one may be hit", "use --redis process, docker or embedded for it, --world virtual, or if nobody would miss the server's data --own-this-redis"
	case s.NeedsForgetfulStore() && !p.forgetful:
		return "sets the store back, and only a private redis-server can be", "use --redis process for it, or --world virtual"
	default:
		return "", ""
	}
}

// passwordMend is what to do about a program that is not known to read the password.
const passwordMend = `have it read the file RECOUNT_REDIS_PASSWORD_FILE for each connection and give --password-file (docs/candidate-protocol.md), or leave the scenario out`

// clocksMend is what to do about a program that is not told its clocks.
const clocksMend = `have it obey the command "clock" on its standard input and give --clocks (docs/candidate-protocol.md), or leave the scenario out`

// beyond says what of a scenario lies beyond a world.
func beyond(cannot func(sim.Plan) string, s scenarios.Scenario) string {
	plan, err := s.Plan(scenarios.Settings{})
	if err != nil {
		return err.Error()
	}
	return cannot(plan)
}

// within are the scenarios of which nothing lies beyond the place.
func (p *place) within() []string {
	var names []string
	for _, s := range scenarios.Every() {
		if beyond(p.cannot, s) == "" {
			names = append(names, s.Name)
		}
	}
	return names
}

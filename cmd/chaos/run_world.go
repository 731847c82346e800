package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/recount-io/recount/cmd/internal/misuse"
	"github.com/recount-io/recount/reports"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/live"
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
	several   bool         // its store can be several servers
	subject   subject      // under test
	close     func() error // may be called again
	logs      func(*output) func(scenario string) (string, error)
}

// inLive opens the live world for runs that open so many connections to the store.
func (f *runFlags) inLive(ctx context.Context, screen *screen, connections int) (*place, error) {
	session, err := live.Open(ctx, live.Options{
		Redis: f.redis, Toxiproxy: f.toxiproxy, Command: f.command(), Prefix: f.prefix, Progress: screen.progress,
		LockKey: f.lockKey, Tapped: tapped, Postgres: onPostgres, Connections: connections, Own: f.own,
	})
	if err != nil {
		return nil, err
	}
	what, why := session.Redis()
	forgetful, _ := session.Forgetful()
	return &place{
		World: session, name: liveWorld, subject: f.subject(), private: session.Private(), owned: session.Owned(), forgetful: forgetful, several: session.Private(), close: session.Close,
		says: strings.Join(append([]string{fmt.Sprintf("Redis: %s (%s)", reports.Redact(what), reports.Redact(why))}, session.Notes()...), "\n"),
		logs: func(o *output) func(string) (string, error) { return o.logs },
	}, nil
}

// connections is how many connections runs of the list open to one server at the most.
func connections(list []scenarios.Scenario, set scenarios.Settings, parallel int) int {
	nodes := 0
	for _, s := range list {
		if plan, err := s.Plan(set); err == nil {
			nodes = max(nodes, plan.Nodes)
		}
	}
	return live.Connections(nodes, min(parallel, len(list)))
}

// inVirtual is the virtual world with these electors beside "recount": nothing
// needs to be opened, and nobody logs.
func inVirtual(subjects map[string]virtual.Subject) *place {
	return &place{
		World: &virtual.World{Subjects: subjects, Scripts: virtual.Sampled}, name: virtualWorld, private: true, forgetful: true, close: func() error { return nil },
		says: "World: virtual; everything is simulated, and there is no Redis",
		logs: func(*output) func(string) (string, error) {
			return func(string) (string, error) { return "", nil }
		},
	}
}

// inVirtual is the virtual world for the run's subject.
func (f *runFlags) inVirtual(m Main) *place {
	world := inVirtual(m.virtualSubjects())
	world.subject = f.subject()
	return world
}

// subject is the elector under test: a stranger if it is a command.
func (f *runFlags) subject() subject {
	if f.exec != "" {
		return subject{name: f.settings.Subject}
	}
	return subjectOf(f.settings.Subject)
}

// checkPlatform refuses systems on which the live world does not run.
func checkPlatform() error {
	if runtime.GOOS == "linux" || runtime.GOOS == "darwin" {
		return nil
	}
	return misuse.Of(fmt.Errorf("the live world runs on Linux and macOS, not on %s: use --world virtual", runtime.GOOS))
}

// admissible leaves out the scenarios that the place cannot carry out. Asked
// for by name, they are refused.
func (p *place) admissible(list []scenarios.Scenario, named bool, screen *screen) ([]scenarios.Scenario, error) {
	var admitted []scenarios.Scenario
	left := map[string][]string{} // by why
	var whys []string
	for _, s := range list {
		why, mend := p.lacks(s)
		switch {
		case why == "":
			s.Alone = s.Alone || p.owned && s.NeedsPrivateStore() // the others would feel it
			admitted = append(admitted, s)
		case named:
			return nil, misuse.Of(fmt.Errorf("%s %s: %s", s.Name, why, mend))
		default:
			if left[why] == nil {
				whys = append(whys, why)
			}
			left[why] = append(left[why], s.Name)
		}
	}
	for _, why := range whys {
		screen.say("Left out: what %s (%s)", why, strings.Join(left[why], ", "))
	}
	return admitted, nil
}

// lacks says why the place cannot carry out a scenario, if it cannot, and what
// to do about it.
func (p *place) lacks(s scenarios.Scenario) (why, mend string) {
	if applies, why := p.subject.applies(s); !applies {
		return "does not apply: " + why, "leave it out, or choose another --subject"
	}
	switch {
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

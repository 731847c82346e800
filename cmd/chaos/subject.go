package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/internal/spelling"
	"github.com/recount-io/recount/internal/topology"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/scenarios/trial"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/candidate"
	"github.com/recount-io/recount/sim/documented"
	"github.com/recount-io/recount/sim/live/redisserver"
	"github.com/recount-io/recount/sim/virtual"
)

// subject is an elector that this program contains.
type subject struct {
	name    string
	summary string
	run     candidate.Subject
	virtual *virtual.Subject // nil: every virtual world has it

	store  documented.Store
	waived map[checker.Promise]string // promises that it does not make, and why
	scans  bool                       // see documented.Elector

	fixedClocks bool // it cannot be told its clocks
	keeps       bool // it cannot be told to hand its lease over

	fixedPassword bool // it does not read the store's password from a file
}

func subjects() []subject {
	all := []subject{
		{name: "recount", summary: "the production elector of this project, on Redis", run: candidate.Recount},
		{name: "recount-unprotected", summary: "the same without its protection against lost data, which shows what that is for", run: candidate.Unprotected},
	}
	for _, e := range documented.Electors() {
		all = append(all, subject{
			name: e.Name, summary: e.Summary, run: candidate.Blocking(e.Run), virtual: &virtual.Subject{Blocking: e.Run, Tapped: e.Store == documented.Redis},
			store: e.Store, waived: waivers(e), scans: e.Scans,
		})
	}
	return all
}

// waivers are the promises that an elector does not make.
func waivers(e documented.Elector) map[checker.Promise]string {
	if e.Tokens {
		return nil
	}
	return scenarios.Tokenless()
}

// subjectOf is the subject of that name: a foreign program, which does all that a
// subject can, if there is none.
func subjectOf(name string) subject {
	for _, s := range subjects() {
		if s.name == name {
			return s
		}
	}
	return subject{name: name}
}

// tapped reports whether the commands of a subject tell what it does, and not it
// itself.
func tapped(name string) bool {
	s := subjectOf(name).virtual
	return s != nil && s.Tapped
}

// applies reports whether a scenario can be run with the subject, and if not,
// why.
func (s subject) applies(of scenarios.Scenario) (applies bool, why string) {
	switch {
	case s.virtual == nil: // it knows every store
	case of.Topology != sim.OneServer:
		return false, "the subject knows one server, and the scenario's store is several"
	case s.store == documented.Postgres && of.NeedsPrivateStore():
		return false, "the fault hits Redis, and the subject's leases are in PostgreSQL"
	case s.store == documented.Memory && of.NeedsPrivateStore():
		return false, "the fault hits Redis, and the subject's leases are in memory"
	case of.NeedsPasswordFile():
		return false, "the subject does not read the store's password from a file"
	case transfers(of):
		return false, "the subject cannot hand its lease over"
	case slices.Contains(of.Faults(), faults.CounterDeleted{}.Name()):
		return false, "the subject has no counter of tokens that could be deleted"
	}
	return true, ""
}

// transfers reports whether a leader is told to hand its lease over in the scenario.
func transfers(s scenarios.Scenario) bool {
	return slices.Contains(s.Faults(), faults.Transfer{}.Name())
}

// absent are the worlds that the subject does not live in here, on that Redis, and why.
func (s subject) absent(redis string) map[string]string {
	switch {
	case s.store == documented.Postgres && !topology.HasPostgres():
		return map[string]string{liveWorld: "no PostgreSQL is installed"}
	case s.scans && redisserver.IsURL(redis):
		return map[string]string{liveWorld: "it sends KEYS, which looks through every key of a Redis that others use"}
	}
	return nil
}

// onTrial adds what has to be known of the subject to judge it fairly on that Redis.
func (s subject) onTrial(about trial.Subject, redis string) trial.Subject {
	about.Name, about.Summary, about.Waived, about.Applies, about.Absent = s.name, s.summary, s.waived, s.applies, s.absent(redis)
	return about
}

// fair are the scenarios without the promises that the subject does not make.
func (s subject) fair(list []scenarios.Scenario) []scenarios.Scenario {
	about := s.onTrial(trial.Subject{}, "")
	var waived []scenarios.Scenario
	for _, of := range list {
		waived = append(waived, about.Scenario(of))
	}
	return waived
}

// onPostgres tells of a subject that it keeps its leases in PostgreSQL.
func onPostgres(name string) bool { return subjectOf(name).store == documented.Postgres }

// virtualSubjects are the electors of the virtual world, beside its own.
func (m Main) virtualSubjects() map[string]virtual.Subject {
	all := maps.Clone(m.Subjects)
	if all == nil {
		all = map[string]virtual.Subject{}
	}
	for _, s := range subjects() {
		if s.virtual != nil {
			all[s.name] = *s.virtual
		}
	}
	return all
}

func implementations() map[string]candidate.Subject {
	all := map[string]candidate.Subject{}
	for _, s := range subjects() {
		all[s.name] = s.run
	}
	return all
}

// checkSubject refuses the name of an elector that is not here.
func checkSubject(name string) error {
	all := implementations()
	if all[name] != nil {
		return nil
	}
	return usage.Of(fmt.Errorf("no subject is called %q%s: give one of %s, or any command with --exec",
		name, spelling.Hint(name, slices.Sorted(maps.Keys(all))), strings.Join(slices.Sorted(maps.Keys(all)), ", ")))
}

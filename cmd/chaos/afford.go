package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim/live"
	"github.com/recount-io/recount/sim/live/inspection"
	"github.com/recount-io/recount/sim/live/redisserver"
)

// What a run may ask of a Redis on another machine, unless a flag says otherwise.
const (
	defaultConnections = 150
	defaultOps         = 2000
)

// sparing are the flags about a Redis that others use: what a run may ask of it, and
// when it has to end.
type sparing struct {
	connections int // at once; 0: see allowed
	ops         int // commands a second; 0: see allowed
	limits      live.Limits
}

// sparingFlags are their names.
var sparingFlags = []string{"max-connections", "max-ops", "stop-factor", "stop-floor", "stop-after"}

func (s *sparing) add(flags *pflag.FlagSet) {
	s.limits = live.DefaultLimits()
	flags.IntVar(&s.connections, "max-connections", 0, fmt.Sprintf("with --redis URL: connections that the run may have at once (default: %d, none for this machine)", defaultConnections))
	flags.IntVar(&s.ops, "max-ops", 0, fmt.Sprintf("with --redis URL: commands a second that the run may send, with those of its scripts (default: %d, none for this machine)", defaultOps))
	flags.Float64Var(&s.limits.Factor, "stop-factor", s.limits.Factor, "with --redis URL: an answer is late after this many times the p99 of the answers before the run, plus --stop-floor")
	flags.DurationVar(&s.limits.Floor, "stop-floor", s.limits.Floor, "with --redis URL: an answer is late after this time, plus --stop-factor times the p99 before the run")
	flags.DurationVar(&s.limits.After, "stop-after", s.limits.After, "with --redis URL: stop when answers are late or fail for this long at a stretch, or for twice this long within ten times this long")
}

// repro adds the flags that a run on a Redis that others use was given.
func (s *sparing) repro(shared bool, prefix string, add func(when bool, format string, args ...any)) {
	if !shared {
		return
	}
	usual := live.DefaultLimits()
	add(prefix != inspection.DefaultPrefix, "--prefix %s", quoted(prefix))
	add(s.connections > 0, "--max-connections %d", s.connections)
	add(s.ops > 0, "--max-ops %d", s.ops)
	add(s.limits.Factor != usual.Factor, "--stop-factor %g", s.limits.Factor)
	add(s.limits.Floor != usual.Floor, "--stop-floor %v", s.limits.Floor)
	add(s.limits.After != usual.After, "--stop-after %v", s.limits.After)
}

// shared reports whether the run is on a Redis that others use.
func (f *runFlags) shared() bool { return redisserver.IsURL(f.redis) }

// checkSparing refuses limits that make no sense, and limits for nobody.
func (f *runFlags) checkSparing(given func(flag string) bool) error {
	for _, flag := range sparingFlags {
		if given(flag) && !f.shared() {
			return usage.Of(fmt.Errorf("--%s means nothing without --redis URL: only a Redis that others use has to be spared", flag))
		}
	}
	switch {
	case given("max-connections") && f.sparing.connections < 1:
		return usage.Of(fmt.Errorf("--max-connections %d: give at least 1", f.sparing.connections))
	case given("max-ops") && f.sparing.ops < 1:
		return usage.Of(fmt.Errorf("--max-ops %d: give at least 1", f.sparing.ops))
	}
	if err := f.sparing.limits.Validate(); err != nil && f.shared() {
		return usage.Of(fmt.Errorf("--stop-%w", err))
	}
	return nil
}

// allowed is what the run may ask for; 0: as much as it takes.
func (f *runFlags) allowed() (connections, ops int) {
	u, err := url.Parse(f.redis)
	if err == nil && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()) {
		return f.sparing.connections, f.sparing.ops
	}
	return cmp.Or(f.sparing.connections, defaultConnections), cmp.Or(f.sparing.ops, defaultOps)
}

// bill is what scenarios ask of a server, one by one.
type bill struct {
	alone, beside []item // those that run by themselves, and the others
}

type item struct {
	scenario string
	live.Demand
}

func billOf(list []scenarios.Planned) (b bill) {
	for i := range list {
		one := item{list[i].Name, live.DemandOf(list[i].Plan)}
		if list[i].Alone {
			b.alone = append(b.alone, one)
		} else {
			b.beside = append(b.beside, one)
		}
	}
	return b
}

// at is what is asked for at the most, and for how long, if so many of those scenarios
// run at once that do not run alone.
func (b bill) at(parallel int) live.Demand {
	var most live.Demand
	var lasts time.Duration
	for _, one := range b.alone {
		most = larger(most, one.Demand)
		lasts += startUp + one.Lasts
	}
	slots := make([]time.Duration, max(parallel, 1))
	for _, one := range b.beside {
		first := slices.Index(slots, slices.Min(slots))
		slots[first] += startUp + one.Lasts
	}
	together := live.Demand{
		Connections: sumOf(b.beside, parallel, func(d live.Demand) int { return d.Connections }),
		Ops:         sumOf(b.beside, parallel, func(d live.Demand) float64 { return d.Ops }),
		Keys:        sumOf(b.beside, parallel, func(d live.Demand) int { return d.Keys }),
	}
	most = larger(most, together).Probed()
	most.Lasts = lasts + slices.Max(slots)
	return most
}

// sumOf is the sum of the n largest figures.
func sumOf[N int | float64](items []item, n int, figure func(live.Demand) N) (sum N) {
	var all []N
	for _, one := range items {
		all = append(all, figure(one.Demand))
	}
	slices.Sort(all)
	for _, x := range all[max(len(all)-n, 0):] {
		sum += x
	}
	return sum
}

func larger(a, b live.Demand) live.Demand {
	return live.Demand{Connections: max(a.Connections, b.Connections), Ops: max(a.Ops, b.Ops), Keys: max(a.Keys, b.Keys)}
}

// afford lowers how many scenarios run at once to what the run may ask for, and says
// what it will ask for then. What is too much even one by one is refused.
func (f *runFlags) afford(list []scenarios.Planned) (live.Demand, error) {
	d, err := f.settle(billOf(list))
	d.Lasts *= time.Duration(max(f.runs, 1)) // a trial and others count their own
	return d, err
}

// settle lowers how many runs there are at once to what may be asked for, and says what
// is asked for then.
func (f *runFlags) settle(b bill) (live.Demand, error) {
	connections, ops := f.allowed()
	for _, one := range slices.Concat(b.alone, b.beside) {
		d := one.Probed()
		switch {
		case connections > 0 && d.Connections > connections:
			return d, usage.Of(fmt.Errorf("%s has up to %d connections at once, and %d are allowed: give --max-connections %d, or fewer --nodes, or leave it out",
				one.scenario, d.Connections, connections, d.Connections))
		case ops > 0 && d.Ops > float64(ops):
			return d, usage.Of(fmt.Errorf("%s sends up to %.0f commands a second, and %d are allowed: give --max-ops %.0f, or fewer --nodes, a longer --lease, or leave it out",
				one.scenario, d.Ops, ops, d.Ops))
		}
	}
	for ; f.parallel > 1; f.parallel-- {
		d := b.at(f.parallel)
		if (connections == 0 || d.Connections <= connections) && (ops == 0 || d.Ops <= float64(ops)) {
			break
		}
	}
	return b.at(f.parallel), nil
}

// announced is what people get to read of a demand before the run.
func (f *runFlags) announced(d live.Demand, wanted int) []string {
	lines := []string{fmt.Sprintf("Asks of that Redis at the most: %d connections, %.0f commands a second, %d keys, for about %v",
		d.Connections, d.Ops, d.Keys, d.Lasts.Round(time.Second))}
	if f.parallel < wanted {
		connections, ops := f.allowed()
		lines = append(lines, fmt.Sprintf("Up to %d at once, and not %d: --max-connections is %d, --max-ops %d", f.parallel, wanted, connections, ops))
	}
	if f.settings.Foreign {
		lines = append(lines, "That is what this project's elector would ask for: what --exec asks for nobody knows")
	}
	return lines
}

// spare says what a run will ask of a Redis that others use, and has it end before it
// hurts them. Elsewhere it does nothing.
func (f *runFlags) spare(ctx context.Context, there *place, demand live.Demand, wanted int, screen *screen) (context.Context, error) {
	if !f.shared() {
		return ctx, nil
	}
	for _, line := range f.announced(demand, wanted) {
		screen.say("%s", line)
	}
	return f.watch(ctx, there, screen)
}

// watch has the run end before it hurts others, and says when that would be, and that
// it is so.
func (f *runFlags) watch(ctx context.Context, there *place, screen *screen) (context.Context, error) {
	ctx, steady, err := there.watch(ctx)
	if err != nil {
		return nil, err
	}
	screen.say("It answers within %v (p50) and %v (p99); the run stops when answers take longer than %v for %v",
		steady.P50.Round(time.Microsecond), steady.P99.Round(time.Microsecond), steady.Limit.Round(time.Microsecond), f.sparing.limits.After)
	context.AfterFunc(ctx, func() {
		if live.Harmed(ctx) != nil {
			screen.say("Stopping, to spare the Redis: healing, and removing the run's keys")
		}
	})
	return ctx, nil
}

// harmed tells of an error that the run ended to spare the Redis, and whether its keys
// are gone.
func harmed(err error) (text string, is bool) {
	var harm *live.HarmError
	if !errors.As(err, &harm) {
		return "", false
	}
	text = "stopped early to spare the Redis: " + harm.Error() + "; everything was healed"
	var left *live.LeftoverError
	if errors.As(err, &left) {
		return text + ", and " + strings.TrimPrefix(left.Error(), "live: "), true
	}
	return text + ", and the run's keys are removed", true
}

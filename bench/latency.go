package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// The goals for the elector.
const (
	goalHandover      = 0.6 // of rueidislock's median
	goalHandoverWorst = 0.8 // of rueidislock's p99
	goalCrash         = 3   // times what a timer and a PING take at the same moments, at p99
)

// inTurn measures each of the libraries, in turn, so that whatever else the
// machine does disturbs all of them alike.
func inTurn(ctx context.Context, s *server, list []*library, candidates, rounds int, lease, way time.Duration,
	measure func(*group, context.Context) (time.Duration, error), into map[string]sample) error {
	var groups []*group
	defer func() {
		for _, g := range groups {
			g.dissolve()
		}
	}()
	for _, l := range list {
		g, err := assemble(ctx, l, s, candidates, lease, way)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		groups = append(groups, g)
	}
	for round := range rounds {
		for i := range groups {
			g := groups[(round+i)%len(groups)] // nobody always comes first
			d, err := measure(g, ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", g.library.name, err)
			}
			into[g.library.name] = append(into[g.library.name], d)
			if err := rest(ctx, 20*time.Millisecond); err != nil { // who released gets back into line
				return err
			}
		}
	}
	for i, l := range list {
		progress("  %d candidates, %s: %v", candidates, l.name, into[l.name])
		if control := groups[i].control; control != nil {
			progress("    a timer and a command, at the same moments: %v", control)
			into[controlRow] = append(into[controlRow], control...)
		}
	}
	return nil
}

// controlRow is what the crashes of all libraries are compared with.
const controlRow = "(a timer and a PING)"

// zones is what a message takes to a server in another zone of the same region.
const zones = time.Millisecond

func handover(ctx context.Context, s *server, e effort) (string, error) {
	const candidates, lease = 5, 10 * time.Second
	var t table
	t.head("Graceful hand-over", fmt.Sprintf("From the call that releases the lease until the next one of %d candidates in one process, with a connection pool each, leads: on this machine alone, and where each message takes %v more, so that a round trip takes twice that.", candidates, zones),
		"library", "round trip", "hand-overs", "median to rueidislock's", "p90 to its median", "p99 to its median", "p99 to its p99")
	for _, way := range []time.Duration{0, zones} {
		all := map[string]sample{}
		if err := inTurn(ctx, s, notified(), candidates, e.handovers, lease, way, (*group).handover, all); err != nil {
			return "", err
		}
		// Apart, because their asking would load the server for the others.
		if err := inTurn(ctx, s, pollers(), candidates, e.pollerHandovers, lease, way, (*group).handover, all); err != nil {
			return "", err
		}
		other := all["rueidislock"]
		base, worst := float64(other.quantile(.5)), float64(other.quantile(.99))
		for _, l := range libraries {
			x := all[l.name]
			t.row(l.name, fmt.Sprint(2*way), fmt.Sprint(len(x)), ratio(float64(x.quantile(.5)), base), ratio(float64(x.quantile(.9)), base),
				ratio(float64(x.quantile(.99)), base), ratio(float64(x.quantile(.99)), worst))
		}
		ours := all["recount"]
		t.goal("With a round trip of %v: median at most %v of rueidislock's: %s. p99 at most %v of its p99: %s.", 2*way,
			goalHandover, verdict(float64(ours.quantile(.5))/base, goalHandover),
			goalHandoverWorst, verdict(float64(ours.quantile(.99))/worst, goalHandoverWorst))
	}
	return t.String(), nil
}

func crashes(ctx context.Context, s *server, e effort) (string, error) {
	const lease = time.Second
	var t table
	t.head("Failover after a crash", "The excess: from the end of the dead leader's lease in Redis until the next one leads. The leader's connections are cut at a random moment between two renewals, as the kernel does for a process that was killed; a lease is one second. The last row is a timer set for the same moments, and one command: what the machine alone is late by, which is 1 at its p99.",
		"library", "candidates", "crashes", "median", "p90", "p99", "p99 to recount's")
	for _, candidates := range []int{5, 100} {
		all := map[string]sample{}
		if err := inTurn(ctx, s, notified(), candidates, e.crashes, lease, 0, (*group).crash, all); err != nil {
			return "", err
		}
		if err := inTurn(ctx, s, pollers(), candidates, e.pollerCrashes, lease, 0, (*group).crash, all); err != nil {
			return "", err
		}
		ours, base := float64(all["recount"].quantile(.99)), float64(all[controlRow].quantile(.99))
		names := []string{controlRow}
		for i := range libraries {
			names = slices.Insert(names, i, libraries[i].name)
		}
		for _, name := range names {
			x := all[name]
			worst := float64(x.quantile(.99))
			t.row(name, fmt.Sprint(candidates), fmt.Sprint(len(x)),
				ratio(float64(x.quantile(.5)), base), ratio(float64(x.quantile(.9)), base), ratio(worst, base), ratio(worst, ours))
		}
		t.goal("p99 with %d candidates at most %d times that of a timer and a PING: %s.", candidates, goalCrash, verdict(ours/base, goalCrash))
	}
	return t.String(), nil
}

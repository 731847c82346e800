package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// The goals for the elector.
const (
	goalHandover      = 0.8 // of rueidislock's median
	goalHandoverWorst = 2 * time.Millisecond
	goalCrash         = 5 * time.Millisecond
)

// inTurn measures each of the libraries, in turn, so that whatever else the
// machine does disturbs all of them alike.
func inTurn(ctx context.Context, s *server, list []*library, candidates, rounds int, lease time.Duration,
	measure func(*group, context.Context) (time.Duration, error), into map[string]sample) error {
	var groups []*group
	defer func() {
		for _, g := range groups {
			g.dissolve()
		}
	}()
	for _, l := range list {
		g, err := assemble(ctx, l, s, candidates, lease)
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

func handover(ctx context.Context, s *server, e effort) (string, error) {
	all := map[string]sample{}
	const candidates, lease = 5, 10 * time.Second
	if err := inTurn(ctx, s, told(), candidates, e.handovers, lease, (*group).handover, all); err != nil {
		return "", err
	}
	// Apart, because their asking would load the server for the others.
	if err := inTurn(ctx, s, pollers(), candidates, e.pollerHandovers, lease, (*group).handover, all); err != nil {
		return "", err
	}
	var t table
	t.head("Graceful hand-over", fmt.Sprintf("From the call that releases the lease until the next one of %d candidates in one process, with a connection pool each, leads.", candidates),
		"library", "hand-overs", "median to rueidislock's", "p90 to its median", "p99 to its median")
	base := float64(all["rueidislock"].quantile(.5))
	for _, l := range libraries {
		x := all[l.name]
		t.row(l.name, fmt.Sprint(len(x)), ratio(float64(x.quantile(.5)), base), ratio(float64(x.quantile(.9)), base), ratio(float64(x.quantile(.99)), base))
	}
	ours := all["recount"]
	fmt.Fprintf(&t.b, "\nGoals: median at most 0.8 of rueidislock's: %s. p99 at most %v: %s (%s of the goal).\n",
		verdict(float64(ours.quantile(.5))/base, goalHandover), goalHandoverWorst,
		verdict(float64(ours.quantile(.99)), float64(goalHandoverWorst)), ratio(float64(ours.quantile(.99)), float64(goalHandoverWorst)))
	return t.b.String(), nil
}

func crashes(ctx context.Context, s *server, e effort) (string, error) {
	const lease = time.Second
	var t table
	t.head("Failover after a crash", "The excess: from the end of the dead leader's lease in Redis until the next one leads. Below 1, p99 keeps the goal of "+goalCrash.String()+". The leader's connections are cut at a random moment between two renewals, as the kernel does for a process that was killed; a lease is one second. The last row is a timer set for the same moments, and one command: what the machine alone is late by.",
		"library", "candidates", "crashes", "median to the goal", "p90 to the goal", "p99 to the goal", "p99 to recount's", "goal")
	for _, candidates := range []int{5, 100} {
		all := map[string]sample{}
		if err := inTurn(ctx, s, told(), candidates, e.crashes, lease, (*group).crash, all); err != nil {
			return "", err
		}
		if err := inTurn(ctx, s, pollers(), candidates, e.pollerCrashes, lease, (*group).crash, all); err != nil {
			return "", err
		}
		ours := float64(all["recount"].quantile(.99))
		names := []string{controlRow}
		for i := range libraries {
			names = slices.Insert(names, i, libraries[i].name)
		}
		for _, name := range names {
			x := all[name]
			median, most, worst := float64(x.quantile(.5)), float64(x.quantile(.9)), float64(x.quantile(.99))
			reached := "–"
			if name == "recount" {
				reached = verdict(worst, float64(goalCrash))
			}
			t.row(name, fmt.Sprint(candidates), fmt.Sprint(len(x)),
				ratio(median, float64(goalCrash)), ratio(most, float64(goalCrash)), ratio(worst, float64(goalCrash)), ratio(worst, ours), reached)
		}
	}
	return t.b.String(), nil
}

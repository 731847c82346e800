package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// tally counts commands by the address that they came from.
type tally struct {
	mu     sync.Mutex
	counts map[string]map[string]int // by address, then by name
}

func (t *tally) see(c command) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]map[string]int{}
	}
	if t.counts[c.from] == nil {
		t.counts[c.from] = map[string]int{}
	}
	t.counts[c.from][c.name]++
}

// of sums up what came over a link.
func (t *tally) of(l *link) (sum int, names map[string]int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	names = map[string]int{}
	for from, counts := range t.counts {
		if l.owns(from) {
			for name, n := range counts {
				names[name] += n
				sum += n
			}
		}
	}
	return sum, names
}

// listing is "evalsha 3.0, ping 6.0".
func listing(names map[string]int, per float64) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		list = append(list, name+" "+figure(float64(names[name])/per))
	}
	if list == nil {
		return "none"
	}
	return strings.Join(list, ", ")
}

const (
	steadyLease     = 30 * time.Second
	steadyFollowers = 20
	herd            = 100 // followers when the lease is released
)

func steady(ctx context.Context, s *server, e effort) (string, error) {
	var t table
	t.head("Steady state", fmt.Sprintf("Commands that the server gets (MONITOR; what scripts call in it is not counted) at a lease of %v: from the leader, for each renewal that is due; from one of %d followers, in a minute; and from %d followers together, in the second after a release.", steadyLease, steadyFollowers, herd),
		"library", "a renewal", "of which", "a follower and minute", "of which", "after a release")
	var groups []*group
	defer func() {
		for _, g := range groups {
			g.dissolve()
		}
	}()
	for _, l := range libraries {
		g, err := assemble(ctx, l, s, 1+steadyFollowers, steadyLease, 0)
		if err != nil {
			return "", err
		}
		groups = append(groups, g)
	}
	// Until everybody has renewed once: a script's first use costs a command more.
	if err := rest(ctx, steadyLease/2+5*time.Second); err != nil {
		return "", err
	}
	var seen tally
	stop, err := s.watchCommands(seen.see)
	if err != nil {
		return "", err
	}
	err = rest(ctx, time.Duration(e.minutes*float64(time.Minute)))
	stop()
	if err != nil {
		return "", err
	}
	rows := make([][]string, len(groups))
	for i, g := range groups {
		due := e.minutes * float64(time.Minute) / float64(g.library.renew(steadyLease))
		sum, names := seen.of(g.leader.seat.link)
		waiting := map[string]int{}
		followers := 0
		for _, seat := range g.seats {
			if seat == g.leader.seat {
				continue
			}
			n, names := seen.of(seat.link)
			followers += n
			for name, n := range names {
				waiting[name] += n
			}
		}
		each := e.minutes * steadyFollowers
		rows[i] = []string{g.library.name, figure(float64(sum) / due), listing(names, due), figure(float64(followers) / each), listing(waiting, each)}
		g.dissolve()
	}
	groups = nil
	for i, l := range libraries {
		n, err := afterRelease(ctx, s, l, e.releases)
		if err != nil {
			return "", err
		}
		t.row(append(rows[i], figure(n))...)
	}
	t.goal("1 a renewal, at most 2 a follower and minute, at most 2 after a release.")
	return t.String(), nil
}

// afterRelease is how many commands all candidates but the one that releases
// send in the second that begins with the release.
func afterRelease(ctx context.Context, s *server, l *library, releases int) (float64, error) {
	g, err := assemble(ctx, l, s, 1+herd, steadyLease, 0)
	if err != nil {
		return 0, err
	}
	defer g.dissolve()
	total := 0
	for range releases {
		// A follower that has just begun has more to say than one that waits.
		if err := rest(ctx, 2*time.Second); err != nil {
			return 0, err
		}
		var seen tally
		stop, err := s.watchCommands(seen.see)
		if err != nil {
			return 0, err
		}
		last := g.leader
		last.term.release()
		err = g.await(ctx)
		if err == nil {
			err = rest(ctx, time.Second)
		}
		stop()
		if err != nil {
			return 0, err
		}
		all := map[string]int{}
		for _, seat := range g.seats {
			if seat == last.seat {
				continue
			}
			n, names := seen.of(seat.link)
			total += n
			for name, n := range names {
				all[name] += n
			}
		}
		progress("  %s, after a release: %s", l.name, listing(all, 1))
		last.seat.again <- struct{}{}
	}
	return float64(total) / float64(releases), nil
}

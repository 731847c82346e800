package reports

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/race"
)

// appetite is what a process consumes at a time of the run, at its age.
type appetite func(node string, at, age time.Duration) history.Usage

// frugal is the appetite of a process that takes what it needs within seconds,
// and then goes up and down by a little.
func frugal(_ string, _, age time.Duration) history.Usage {
	settled := 1 - math.Exp(-age.Seconds()/8)
	wave := math.Sin(age.Seconds())
	return history.Usage{
		Goroutines: 23 + int64(math.Round(1.4*wave)), Heap: 1_400_000 + int64(1_100_000*settled+60_000*wave),
		Resident: 31_000_000 + int64(4_000_000*settled), Descriptors: 12 + int64(math.Round(wave)), Threads: 8 + int64(2*settled),
	}
}

// greedy adds to a frugal appetite what grows with a process's age in minutes.
func greedy(node string, more func(minutes float64, u *history.Usage)) appetite {
	return func(of string, at, age time.Duration) history.Usage {
		u := frugal(of, at, age)
		if of == node {
			more(age.Minutes(), &u)
		}
		return u
	}
}

// once is the appetite of n1 whose third process is not like the others.
func once(node string, at, age time.Duration) history.Usage {
	u := frugal(node, at, age)
	if node == "n1" && at-age == 6*time.Minute {
		u.Goroutines += int64(20 * age.Minutes())
	}
	return u
}

// fed is a run in which three candidates, each killed after so long again and
// again, and the harness, under "", were measured every second.
func fed(length, life time.Duration, eats appetite) *history.History {
	h := &history.History{Header: history.Header{Version: 1, Scenario: "mixed", World: "live", Nodes: []string{"n1", "n2", "n3"}}}
	add := func(at time.Duration, e history.Event) {
		e.Seq, e.At = int64(len(h.Events))+1, at
		h.Events = append(h.Events, e)
	}
	for at := time.Duration(0); at <= length; at += time.Second {
		for _, node := range h.Header.Nodes {
			age := at % life
			if age == 0 {
				if at > 0 {
					add(at, history.Event{Kind: history.Exit, Node: node, Why: history.Killed})
				}
				add(at, history.Event{Kind: history.Start, Node: node})
				continue
			}
			u := eats(node, at, age)
			add(at, history.Event{Kind: history.Note, Node: node, Usage: &history.Usage{Goroutines: u.Goroutines, Heap: u.Heap}})
			add(at, history.Event{Kind: history.Note, Node: node, Usage: &history.Usage{Resident: u.Resident, Descriptors: u.Descriptors, Threads: u.Threads}})
		}
		u := eats("", at, at)
		u.Heap += int64(20_000 * at.Seconds()) // the history
		add(at, history.Event{Kind: history.Note, Usage: &u})
	}
	return h
}

// What leaks is named with the candidate that leaks it, however long its
// processes live, as long as they live long enough to tell; what settles, goes
// up and down, or is the history that the harness keeps, is not.
func TestLeaksAreNamed(t *testing.T) {
	for name, test := range map[string]struct {
		length, life time.Duration
		eats         appetite
		want, bare   string // what the sentences hold, and what they do not
	}{
		"flat":               {time.Hour, 2 * time.Hour, frugal, "over 60 min; no growth seen.", "grows"},
		"flat and short":     {3 * time.Minute, time.Hour, frugal, "no growth seen.", "grows"},
		"flat, restarted":    {time.Hour, 3 * time.Minute, frugal, "no growth seen in those 60 of 63 that lived long enough to tell", "grows"},
		"goroutines":         {time.Hour, 2 * time.Hour, greedy("n2", func(m float64, u *history.Usage) { u.Goroutines += int64(m / 5) }), "n2 grows by 12 goroutines an hour.", "n1"},
		"goroutines, killed": {time.Hour, 2 * time.Minute, greedy("n2", func(m float64, u *history.Usage) { u.Goroutines += int64(2 * m) }), "n2 grows by 115 goroutines an hour.", "n3"},
		"heap":               {time.Hour, 2 * time.Hour, greedy("n3", func(m float64, u *history.Usage) { u.Heap += int64(1e5 * m) }), "n3 grows by 6.0 MB of live heap an hour.", "n2"},
		"memory":             {20 * time.Minute, time.Hour, greedy("n1", func(m float64, u *history.Usage) { u.Resident += int64(1e6 * m) }), "n1 grows by 60.0 MB of memory an hour.", "heap an hour"},
		"descriptors":        {10 * time.Minute, time.Hour, greedy("n1", func(m float64, u *history.Usage) { u.Descriptors += int64(m) }), "n1 grows by 59 descriptors an hour.", "n2"},
		"of the harness":     {10 * time.Minute, time.Hour, greedy("", func(m float64, u *history.Usage) { u.Goroutines += int64(6 * m) }), "it grows by 359 goroutines an hour.", "n1"},
		"shrinks":            {10 * time.Minute, time.Hour, greedy("n1", func(m float64, u *history.Usage) { u.Threads += 60 - int64(6*m) }), "no growth seen.", "grows"},
		"settles slowly":     {time.Hour, 2 * time.Hour, greedy("n1", func(m float64, u *history.Usage) { u.Heap += int64(4e7 * (1 - math.Exp(-m/5))) }), "no growth seen.", "grows"},
		"much, a bit more":   {time.Hour, 2 * time.Hour, greedy("n1", func(m float64, u *history.Usage) { u.Heap += int64(1e8 + 1e5*m) }), "no growth seen.", "grows"},
		"chance adds up":     {time.Hour, 3 * time.Minute, greedy("n1", func(m float64, u *history.Usage) { u.Heap += int64(36_000 * m) }), "no growth seen in", "grows"},
		"one life in twenty": {time.Hour, 3 * time.Minute, once, "no growth seen in", "grows"},
		"takes its time to settle": {
			10 * time.Minute, time.Hour, greedy("n1", func(m float64, u *history.Usage) { u.Heap += int64(4e6 * (1 - math.Exp(-m))) }), "no growth seen.", "grows",
		},
		"killed too soon": {time.Hour, 20 * time.Second, frugal, "the longest of them lived for 20 s, too short to tell whether one grows.", "candidates' growth"},
	} {
		if race.Enabled && test.length == time.Hour {
			continue // it only computes: without the race detector it takes a second
		}
		u := usageIn(fed(test.length, test.life, test.eats))
		if u == nil {
			t.Errorf("%s: nothing is known", name)
			continue
		}
		got := strings.Join(u.Sentences(), "\n")
		if !strings.Contains(got, test.want) || strings.Contains(strings.ReplaceAll(got, "whether one grows", ""), test.bare) {
			t.Errorf("%s:\n%s\nwant %q and no %q", name, got, test.want, test.bare)
		}
	}
}

// The figures are those of the run's start and end, whatever a process takes
// for a moment.
func TestUsageFigures(t *testing.T) {
	u := usageIn(fed(10*time.Minute, time.Hour, func(_ string, _, age time.Duration) history.Usage {
		switch {
		case age == 5*time.Minute:
			return history.Usage{Goroutines: 500}
		case age < 5*time.Minute:
			return history.Usage{Goroutines: 10}
		default:
			return history.Usage{Goroutines: 11}
		}
	}))
	want := Level{Name: "goroutines", Start: 10, End: 11, Max: 500, Samples: 600, Judged: 1, PerHour: 9.4}
	if got := u.Candidates[1].Figures; len(got) != 1 || math.Abs(got[0].PerHour-want.PerHour) > 1 {
		t.Fatalf("figures %+v, want %+v", got, want)
	} else if got[0].PerHour = want.PerHour; got[0] != want {
		t.Errorf("figures %+v, want %+v", got[0], want)
	}
	if c := u.Candidates[1]; c.Node != "n2" || c.Processes != 1 || c.LongestMS != 600_000 || u.OverMS != 600_000 {
		t.Errorf("%+v over %v ms", c, u.OverMS)
	}
}

// What comes after a process's exit is no longer its own.
func TestLivesEndWithTheirExit(t *testing.T) {
	used := &history.Usage{Goroutines: 7}
	h := &history.History{Events: []history.Event{
		{At: time.Second, Kind: history.Note, Node: "n1", Usage: used}, // before it began
		{At: 2 * time.Second, Kind: history.Start, Node: "n1"},
		{At: 3 * time.Second, Kind: history.Note, Node: "n1", Usage: used},
		{At: 4 * time.Second, Kind: history.Exit, Node: "n1"},
		{At: 9 * time.Second, Kind: history.Note, Node: "n1", Usage: used},
	}}
	lives := livesIn(h)["n1"]
	if len(lives) != 1 || lives[0].from != 2*time.Second || lives[0].to != 4*time.Second || len(lives[0].samples) != 1 {
		t.Errorf("lives %+v", lives)
	}
}

// A run that is too short, or in which nothing was measured, says nothing.
func TestShortRunsSayNothingOfUsage(t *testing.T) {
	for _, h := range []*history.History{fed(80*time.Second, time.Hour, frugal), {Header: history.Header{Nodes: []string{"n1"}}}} {
		if u := usageIn(h); u != nil {
			t.Errorf("%d events: %+v", len(h.Events), u)
		}
	}
	if h, _ := goodRun(); usageIn(h) != nil {
		t.Error("a run without samples has figures")
	}
}

// Every format of a run in which a candidate leaks.
func TestGoldenUsage(t *testing.T) {
	h := fed(10*time.Minute, 4*time.Minute, greedy("n2", func(m float64, u *history.Usage) { u.Goroutines += int64(10 * m) }))
	r := &checker.Result{Verdict: checker.Pass, End: 10 * time.Minute, Asked: []checker.Finding{{Promise: checker.Stable, Verdict: checker.Pass, Reason: "nothing happened"}}}
	rep := New(h, r)
	golden(t, "leak.json", must(JSON(rep))(t))
	golden(t, "leak.md", reportMarkdown(t, rep))
	golden(t, "leak.html.txt", outline(reportPage(t, rep, h, r)))
	golden(t, "leak.txt", printed(t, SuiteDocument([]*Report{rep}, ""), Screen{}))
	read, err := Parse(must(JSON(rep))(t))
	if err != nil || strings.Join(read.Usage.Sentences(), " ") != strings.Join(rep.Usage.Sentences(), " ") {
		t.Errorf("read again: %v, %+v", err, read.Usage)
	}
}

package mutants

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// world is a place where mutants are hunted: a binary that is made of the changed
// source, and how it is called again and again until it finds something.
type world struct {
	name  string
	from  string // the folder that the binary is made of: a package's tests, or a command
	kinds []Kind // of the mutants that are in code that runs there

	// call is what the binary is called with the nth time. It says no if there
	// is no further call.
	call func(n int) (args, env []string, more bool)

	// read makes of a line what was found, if that is something, and how many
	// cases it took within the call.
	read func(line string) (f find, found bool)

	cases    int                                 // of a call; 0: one, or as many as begin
	again    func(number string) (args []string) // repeats the case of a number; nil if nothing does
	waits    bool                                // it runs in real time, so it is limited by that
	numbered bool                                // cases are numbered over all calls
}

// find is something that is wrong in a run.
type find struct {
	promise string // or obligation
	words   string
	cases   int    // it took so many: of this call, or of all if they are numbered
	number  string // that repeats the case, if it has one
}

// matcher reads lines that a test has written: the pattern's second group is what
// was broken, its first one the number of the case, counted from 0 over all calls;
// empty if these are a case each.
func matcher(pattern string) func(string) (find, bool) {
	expression := regexp.MustCompile(pattern)
	return func(line string) (find, bool) {
		m := expression.FindStringSubmatch(line)
		if m == nil {
			return find{}, false
		}
		f := find{promise: m[2], words: strings.TrimSpace(line), cases: 1}
		if n, err := strconv.Atoi(m[1]); err == nil {
			f.cases = n + 1
		}
		return f, true
	}
}

// test calls a test binary.
func test(run string, env ...string) (args, environment []string) {
	return []string{"-test.v", "-test.failfast", "-test.count=1", "-test.timeout=20m", "-test.run=" + run}, append(env, "GOMAXPROCS=1")
}

// worlds are all of them, in the order in which a mutant is hunted: those that are
// fast first.
func worlds() []world {
	redis := []Kind{Machine, Shell, Script, Client, Listener}
	scenarios := []Kind{Machine, Shell, Script, Client, Listener, Replicas, Quorum, Fence}
	return slices.Concat(fenceWorlds(), []world{
		searched("jobs", 200, Jobs),
		scheduled("virtual", Machine),
		scheduled("virtual, texts", Script, Quorum),
		{
			name: "virtual scenarios", from: "cmd/chaos", kinds: []Kind{Machine, Script, Quorum},
			call: func(n int) (args, env []string, more bool) {
				args = []string{"run", "--world", "virtual", "--json", "--seed", strconv.Itoa(n + 1)}
				return append(args, virtualScenarios...), nil, true
			},
			read: anyRun, cases: len(virtualScenarios),
		}, {
			name: "explored", from: "cmd/chaos", kinds: []Kind{Quorum},
			call: func(n int) (args, env []string, more bool) {
				if n >= len(explored) {
					return nil, nil, false
				}
				return []string{"explore", explored[n], "--json", "--limit", "600000"}, nil, true
			},
			read: readExplore,
		},
		searched("calls", 40, redis...),
		searched("topologies", 10, append(redis, Replicas, Quorum)...),
		searched("schedules", 40, scenarios...),
		{
			name: "bubble, scenarios", from: "cmd/chaos", kinds: scenarios,
			call: func(n int) (args, env []string, more bool) {
				return []string{"run", "--world", "bubble", "--json", "--parallel", "1", "--seed", strconv.Itoa(n + 1)}, nil, true
			},
			read: anyRun, cases: 45,
		}, {
			name: "PostgreSQL", from: "elector/pgstore", kinds: []Kind{Postgres},
			call: func(n int) (args, env []string, more bool) {
				args, env = test("^(TestFailoverToAsynchronousStandby|TestRenewalOnPromotedStandbyClearsNothing|TestTableThatWasReplaced)$")
				return args, env, n == 0
			},
			waits: true, read: matcher(`^--- FAIL: ()(Test\w+)`),
		}, {
			name: "live", from: "cmd/chaos", kinds: []Kind{Replicas, Quorum, Client, Listener},
			call: func(n int) (args, env []string, more bool) {
				args = []string{"run", "--world", "live", "--json", "--parallel", "2", "--seed", strconv.Itoa(n + 1)}
				return append(args, liveScenarios...), nil, true
			},
			waits: true, read: anyRun, cases: len(liveScenarios),
		},
	})
}

// fenceWorlds are those of guards.
func fenceWorlds() []world {
	return []world{
		searched("guards", 200, Fence),
		{
			name: "files", from: "elector/fence/fencefile", kinds: []Kind{Durable},
			call: drawn("TestDrawnDisks", 2000), numbered: true, read: matcher(`_test\.go:\d+: case (\d+): ([^:]+):`), cases: 2000,
		}, {
			name: "SQLite, walks", from: "elector/fence", kinds: []Kind{Durable},
			call: drawn("TestDrawnSQLite", 20), numbered: true, read: matcher(`\.go:\d+: case (\d+): ([^:]+):`), cases: 20,
		}, {
			name: "PostgreSQL, walks", from: "elector/pgstore/fence", kinds: []Kind{Durable},
			call: drawn("TestDrawnPostgres", 10), numbered: true, read: matcher(`\.go:\d+: case (\d+): ([^:]+):`), cases: 10,
		},
	}
}

// Scenarios whose stores are several servers.
var (
	virtualScenarios = []string{"quorum-minority-down", "quorum-node-amnesia", "quorum-lagging-nodes", "store-split", "store-failover", "resign-leader", "store-loss"}
	liveScenarios    = []string{"isolated-old-master", "quorum-minority-down", "quorum-node-amnesia", "quorum-lagging-nodes", "slow-renewals", "store-crash"}
)

// explored are the small worlds of several stores, of which every schedule is tried
// that can be reached until there are too many states.
var explored = []string{"majority-late", "majority", "majority-amnesia", "majority-ghosts"}

// scheduled are random schedules in virtual time. Where texts are in the name, each
// script runs by its text and by its port to Go, and both are compared.
func scheduled(name string, kinds ...Kind) world {
	args := []string{"fuzz", "--json", "--workers", "1", "--schedules", "2000"}
	if strings.Contains(name, "texts") {
		args = append(args, "--texts")
	}
	return world{
		name: name, from: "cmd/chaos", kinds: kinds, read: anyFuzz, cases: 2000,
		call: func(n int) ([]string, []string, bool) {
			return append(slices.Clip(args), "--seed", strconv.Itoa(1+2000*n)), nil, true
		},
	}
}

// first are the arguments of chaos by which a mutant is hunted first: those of run, for
// a scenario in virtual time unless they name another world, of fuzz, or of explore.
//
// A subject that the sound source has is no sound elector: there only that counts as a
// find which the mutant is about.
func first(m *Mutant) world {
	args := append(strings.Fields(m.First), "--json")
	w := world{name: "chaos " + m.First, from: "cmd/chaos", cases: 1}
	var about []string
	if slices.Contains(args, "--subject") {
		about = m.Breaks
	}
	times := firstRuns
	switch args[0] {
	case "run":
		w.read = func(line string) (find, bool) { return readRun(line, about) }
		if !slices.Contains(args, "--world") {
			args = append(args, "--world", "virtual")
		}
	case "explore":
		w.read = readExplore
		w.call = func(n int) ([]string, []string, bool) { return args, nil, n == 0 }
		return w
	default:
		w.read = func(line string) (find, bool) { return readFuzz(line, about) }
		w.cases, times = 2000, 1000
		args = append(args, "--workers", "1", "--schedules", "2000", "--failures", "20")
	}
	w.call = func(n int) ([]string, []string, bool) {
		return append(slices.Clip(args), "--seed", strconv.Itoa(1+w.cases*n)), nil, n < times
	}
	return w
}

// firstRuns is how many runs of a scenario are tried before the other worlds.
const firstRuns = 60

// searched is a space of generated cases, so many of them in a call.
func searched(space string, cases int, kinds ...Kind) world {
	args := func(cases int, seed string) []string {
		return []string{"fuzz", "--in", space, "--json", "--workers", "1", "--shrink", "0s", "--cases", strconv.Itoa(cases), "--seed", seed}
	}
	return world{
		name: space, from: "cmd/chaos", kinds: kinds, cases: cases, read: readSearch,
		call:  func(n int) ([]string, []string, bool) { return args(cases, strconv.Itoa(n+1)), nil, true },
		again: func(number string) []string { return args(1, number) },
	}
}

// readSearch reads what chaos fuzz --in --json prints.
func readSearch(line string) (find, bool) {
	var said struct {
		In       string
		Failures []struct {
			Obligation, Details string
			Seed                uint64
			Cases               int
		}
	}
	if json.Unmarshal([]byte(line), &said) != nil || said.In == "" || len(said.Failures) == 0 {
		return find{}, false
	}
	f := said.Failures[0]
	return find{promise: f.Obligation, words: f.Details, cases: f.Cases, number: strconv.FormatUint(f.Seed, 10)}, true
}

// drawn calls a test that draws so many cases from a number on.
func drawn(name string, cases int, env ...string) func(n int) (args, env []string, more bool) {
	return func(n int) ([]string, []string, bool) {
		args, env := test("^"+name+"$", append(env, fmt.Sprintf("RECOUNT_CASES=%d+%d", cases, n*cases))...)
		return args, env, true
	}
}

func anyFuzz(line string) (find, bool) { return readFuzz(line, nil) }

func anyRun(line string) (find, bool) { return readRun(line, nil) }

// readFuzz reads what chaos fuzz --json prints: the first failure that is about one of
// these promises, or any.
func readFuzz(line string, about []string) (find, bool) {
	var said struct {
		Failures []struct {
			Promise, Reason string
			Schedules       int
		}
	}
	if json.Unmarshal([]byte(line), &said) != nil {
		return parted(line)
	}
	for _, f := range said.Failures {
		if about == nil || slices.Contains(about, f.Promise) {
			return find{promise: f.Promise, words: f.Reason, cases: f.Schedules}, true
		}
	}
	return find{}, false
}

// readRun reads what chaos run --json prints, as readFuzz does.
func readRun(line string, about []string) (find, bool) {
	var said struct {
		Runs []struct {
			Scenario string
			Promises []struct{ Name, Verdict, Reason string }
		}
	}
	if json.Unmarshal([]byte(line), &said) != nil {
		return parted(line)
	}
	for i, run := range said.Runs {
		for _, p := range run.Promises {
			if p.Verdict == "fail" && (about == nil || slices.Contains(about, p.Name)) {
				return find{promise: p.Name, words: run.Scenario + ": " + p.Reason, cases: i + 1}, true
			}
		}
	}
	return find{}, false
}

// readExplore reads what chaos explore --json prints. A case is a state.
func readExplore(line string) (find, bool) {
	var said struct {
		Worlds []struct {
			World, Broken string
			States        int
		}
	}
	if json.Unmarshal([]byte(line), &said) != nil || len(said.Worlds) == 0 {
		return find{}, false
	}
	w := said.Worlds[0]
	return find{promise: w.Broken, words: w.World + ": " + w.Broken, cases: w.States}, w.Broken != ""
}

// parted reads that a script's text and its port to Go did not do the same.
func parted(line string) (find, bool) {
	return find{promise: words, words: line, cases: 1}, strings.Contains(line, "their ports")
}

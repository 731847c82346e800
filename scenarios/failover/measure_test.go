package failover

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim"
)

// Cells take turns forth and back, so that what grows or fades with time meets all of them
// alike. A cell that has enough is left out, and the others go on.
func TestCellsTakeTurnsForthAndBack(t *testing.T) {
	half := func(plan sim.Plan) int {
		if plan.Subject == "b" {
			return 5
		}
		return 10
	}
	for _, test := range []struct {
		electors []string
		count    int
		brings   func(sim.Plan) int
		want     string
	}{
		{[]string{"a"}, 30, nil, "a a a"},
		{[]string{"a", "b"}, 40, nil, "a b b a a b b a"},
		{[]string{"a", "b", "c"}, 30, nil, "a b c c b a a b c"},
		{[]string{"a", "b"}, 20, half, "a b b a b b"},
	} {
		w := &world{brings: test.brings}
		m := measurement(t, w, test.electors...)
		m.Count = test.count
		run(t, m)
		if got := strings.Join(w.order(), " "); got != test.want {
			t.Errorf("%d failovers of %v: runs began in the order %q, want %q", test.count, test.electors, got, test.want)
		}
	}
}

// Every cause takes turns with every elector: cells are ordered by cause, then by elector,
// and each has its own cause's failovers.
func TestEveryCauseHasACellOfEveryElector(t *testing.T) {
	m := measurement(t, &world{}, "a", "b")
	m.Causes, m.Count = append(m.Causes, one(t, "pause")), 10
	var got []string
	for _, c := range run(t, m) {
		got = append(got, fmt.Sprint(c.Cause.Name, " ", c.Elector, " ", c.Count(), " ", c.Runs[0].Failovers[0].Cause, " ", c.Runs[0].Folder))
	}
	want := []string{"crash a 10 crash crash/a/1", "crash b 10 crash crash/b/1", "pause a 10 pause pause/a/1", "pause b 10 pause pause/b/1"}
	if !slices.Equal(got, want) {
		t.Errorf("cells: %q, want %q", got, want)
	}
}

// The folder of a run is one of its own, below that of the measurement: the name of an elector
// may be a command, with blanks, slashes, letters of any script and the folder above.
func TestFoldersOfRunsStayBelowTheMeasurement(t *testing.T) {
	m := measurement(t, &world{}, "recount", "../../bin/elector --fast", "../../bin/elector  --fast", "/bin/elector", "a b", "a-b", "./a/b", "a-b-2", "A b", "日本")
	m.Count = 20
	folders := map[string]bool{}
	for _, c := range run(t, m) {
		for i, r := range c.Runs {
			want := regexp.MustCompile(fmt.Sprintf(`^crash/[\w-][\w.-]*/%d$`, i+1))
			if !want.MatchString(r.Folder) || strings.Contains(r.Folder, "..") || folders[strings.ToLower(r.Folder)] {
				t.Errorf("run %d of %q is in the folder %q, in use: %v; want one like %v", i, c.Elector, r.Folder, folders[strings.ToLower(r.Folder)], want)
			}
			folders[strings.ToLower(r.Folder)] = true
		}
	}
	if first := "crash/recount/1"; len(folders) != 20 || !folders[first] {
		t.Errorf("%d folders, want 20 and %s among them: %v", len(folders), first, folders)
	}
}

// As many runs begin as the count needs, and not one more: with several runs at once, too,
// and where runs bring fewer failovers than their cause has. Their seeds follow each other.
func TestBeginsAsManyRunsAsTheCountNeeds(t *testing.T) {
	brings := map[string]func(seed uint64) int{
		"all ten":    func(uint64) int { return 10 },
		"three each": func(uint64) int { return 3 },
		"none to ten": func(seed uint64) int {
			return []int{0, 10, 4, 1, 0, 7, 2, 9}[seed%8]
		},
		"mostly none": func(seed uint64) int { return []int{0, 0, 1}[seed%3] }, // never in three runs in a row
	}
	for name, of := range brings {
		for _, parallel := range []int{0, 1, 3} {
			for _, count := range []int{1, 10, 11, 95, 100} {
				synctest.Test(t, func(t *testing.T) {
					w := &world{
						brings: func(plan sim.Plan) int { return of(plan.Seed) },
						takes:  func(plan sim.Plan) time.Duration { return time.Duration(1+plan.Seed*7%5) * time.Second },
					}
					m := measurement(t, w, "a")
					m.Parallel, m.Count = parallel, count
					var want []uint64
					for sum, seed := 0, uint64(5); sum < count; seed++ {
						want, sum = append(want, seed), sum+of(seed)
					}
					c := run(t, m)[0]
					if got := seeds(c); !slices.Equal(got, want) || len(w.begun) != len(want) || c.Why != "" {
						t.Errorf("%s, %d failovers, parallel %d: %d runs began, and the seeds of those that ended are %d (%s), want %d", name, count, parallel, len(w.begun), got, c.Why, want)
					}
					if most := max(parallel, 1); w.most > most || count > 10*(most-1) && w.most < most {
						t.Errorf("%s, %d failovers, parallel %d: %d runs were under way at one time", name, count, parallel, w.most)
					}
				})
			}
		}
	}
}

// Runs are taken in the order of their seeds, whichever ended first, and Done hears of them in
// that order. The first one has the seed of the settings in every cell.
func TestRunsAreInTheOrderOfTheirSeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := map[string][]uint64{}
		w := &world{takes: func(plan sim.Plan) time.Duration { return time.Duration(20-plan.Seed) * time.Second }}
		m := measurement(t, w, "a", "b")
		m.Parallel, m.Count = 4, 80
		m.Done = func(c *Cell, r *Run, _ scenarios.Outcome) error {
			heard[c.Elector] = append(heard[c.Elector], r.Seed)
			return nil
		}
		for _, c := range run(t, m) {
			if got, want := seeds(c), []uint64{5, 6, 7, 8, 9, 10, 11, 12}; !slices.Equal(got, want) || !slices.Equal(heard[c.Elector], want) {
				t.Errorf("%s: seeds %d, heard of as %d, want %d", c.Elector, got, heard[c.Elector], want)
			}
		}
		if slices.IsSorted(w.ended) {
			t.Errorf("the runs ended in the order of their seeds (%d): the test shows nothing", w.ended)
		}
	})
}

// What a cell consists of depends on the seeds alone, not on how many runs are under way at
// once nor on which of them ends first: where a precision is asked for, and where a cell is
// given up. Runs that are not needed any more are stopped.
func TestResultDependsOnNoOrder(t *testing.T) {
	for name, test := range map[string]struct {
		brings func(sim.Plan) int
		runs   int
	}{
		"precise":  {nil, 4},
		"given up": {func(plan sim.Plan) int { return map[bool]int{true: 1}[plan.Seed == 6] }, 5},
	} {
		for _, parallel := range []int{1, 2, 7} {
			for order, takes := range map[string]func(sim.Plan) time.Duration{
				"first one last":  func(plan sim.Plan) time.Duration { return time.Hour / time.Duration(plan.Seed) },
				"first one first": func(plan sim.Plan) time.Duration { return time.Duration(plan.Seed) * time.Second },
			} {
				synctest.Test(t, func(t *testing.T) {
					w := &world{brings: test.brings, takes: takes}
					m := measurement(t, w, "a")
					m.Parallel, m.Precise = parallel, func(c *Cell) bool { return c.Count() >= 31 }
					heard := 0
					m.Done = func(*Cell, *Run, scenarios.Outcome) error { heard++; return nil }
					c := run(t, m)[0]
					if len(c.Runs) != test.runs || heard != test.runs || (c.Ended != "") != (name == "given up") || c.Runs[0].Seed != 5 {
						t.Errorf("%s, %s, parallel %d: seeds %d, %d heard of (%s), want %d runs", name, order, parallel, seeds(c), heard, c.Ended, test.runs)
					}
					if w.stopped == 0 && parallel == 7 {
						t.Errorf("%s, %s: %d runs began, %d are needed, and none was stopped", name, order, len(w.begun), test.runs)
					}
				})
			}
		}
	}
}

// A cell is given up after three runs in a row without a failover, or without a history. It
// says why. The other cells go on.
func TestGivesUpWhatBringsNoFailover(t *testing.T) {
	first := func(seed uint64) int { return map[bool]int{true: 10}[seed < 7] } // two runs bring some
	for _, test := range []struct {
		name   string
		brings func(sim.Plan) int
		fails  func(sim.Plan) error
		runs   int
		why    string
	}{
		{"no failover", func(sim.Plan) int { return 0 }, nil, 3, "given up after 3 runs in a row without a failover: no failover followed"},
		{"no history", nil, func(sim.Plan) error { return errors.New("no room") }, 3, "given up after 3 runs in a row without a failover: no room"},
		{"none any more", func(plan sim.Plan) int { return first(plan.Seed) }, nil, 5, "given up after 3 runs in a row without a failover: no failover followed"},
		{"one in three", func(plan sim.Plan) int { return map[bool]int{true: 10}[plan.Seed%3 == 1] }, nil, 15, ""},
	} {
		w := &world{}
		bad := &world{brings: test.brings, fails: test.fails}
		m := measurement(t, w, "good", "bad")
		m.Electors[1].World, m.Count = bad, 50
		cells := run(t, m)
		if c := cells[1]; len(bad.begun) != test.runs || c.Ended != test.why {
			t.Errorf("%s: given up after %d runs: %q, want %d: %q", test.name, len(bad.begun), c.Ended, test.runs, test.why)
		}
		if c := cells[0]; c.Count() != 50 || c.Why != "" {
			t.Errorf("%s: the other cell has %d failovers (%s), want 50", test.name, c.Count(), c.Why)
		}
	}
}

// A run without a history stays in its cell and says what its trouble was.
func TestRunWithoutHistoryIsUndecided(t *testing.T) {
	m := measurement(t, &world{fails: func(sim.Plan) error { return errors.New("no room") }}, "a")
	m.Count = 10
	for _, r := range run(t, m)[0].Runs {
		if r.Verdict != checker.Unknown || r.Trouble != "no room" || r.Repro != fmt.Sprintf("repeat crash of a with seed %d", r.Seed) {
			t.Errorf("seed %d: verdict %v, trouble %q, repeated by %q", r.Seed, r.Verdict, r.Trouble, r.Repro)
		}
	}
}

// What does not apply to an elector is not run, and the cell has the reason.
func TestWhatDoesNotApplyIsNotRun(t *testing.T) {
	w := &world{}
	m := measurement(t, w, "a", "b")
	m.Count = 10
	m.Electors[0].Applies = func(s scenarios.Scenario) (bool, string) { return s.Name != "crash", "it cannot crash" }
	cells := run(t, m)
	if c := cells[0]; len(c.Runs) != 0 || c.Why != "it cannot crash" || c.Count() != 0 {
		t.Errorf("%d runs, %q", len(c.Runs), c.Why)
	}
	if cells[1].Count() != 10 || len(w.begun) != 1 {
		t.Errorf("the other cell has %d failovers of %d runs", cells[1].Count(), len(w.begun))
	}
}

// What is not asked for by number goes on until it is precise enough, which is asked before
// each run.
func TestMeasuresUntilPrecise(t *testing.T) {
	w := &world{}
	m := measurement(t, w, "a", "b")
	m.Precise = func(c *Cell) bool { return c.Count() >= map[string]int{"a": 15, "b": 41}[c.Elector] }
	cells := run(t, m)
	if cells[0].Count() != 20 || cells[1].Count() != 50 || len(w.begun) != 7 {
		t.Errorf("%d and %d failovers of %d runs, want 20 and 50 of 7", cells[0].Count(), cells[1].Count(), len(w.begun))
	}
}

// No run begins once the longest time is over. The run under way then is kept.
func TestMostEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		w := &world{takes: func(sim.Plan) time.Duration { return time.Minute }}
		m := measurement(t, w, "a", "b")
		m.Count, m.Most = 1000, 5*time.Minute+30*time.Second
		cells := run(t, m)
		if len(w.begun) != 6 || cells[0].Count() != 30 || cells[1].Count() != 30 {
			t.Errorf("%d runs of a minute began in %v; %d and %d failovers, want 6 and 30 each", len(w.begun), m.Most, cells[0].Count(), cells[1].Count())
		}
		if took := time.Since(began); took != 6*time.Minute {
			t.Errorf("it took %v, want 6m", took)
		}
	})
}

// A measurement that is stopped has all its cells, with the runs that were over by then. The
// run under way is left out.
func TestStoppedMeasurementReturnsWhatThereIs(t *testing.T) {
	for _, parallel := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			w := &world{takes: func(sim.Plan) time.Duration { return time.Second }}
			m := measurement(t, w, "a", "b")
			m.Count, m.Parallel = 1000, parallel
			done := 0
			m.Done = func(*Cell, *Run, scenarios.Outcome) error {
				if done++; done == 4 {
					stop()
				}
				return nil
			}
			cells, err := m.Run(ctx)
			if !errors.Is(err, context.Canceled) || len(cells) != 2 {
				t.Fatalf("parallel %d: %d cells, error %v", parallel, len(cells), err)
			}
			if n := cells[0].Count() + cells[1].Count(); n < 40 || n > 10*len(w.begun) || len(w.begun) > 4+2*parallel {
				t.Errorf("parallel %d: %d failovers of %d runs, and it was stopped after 4", parallel, n, len(w.begun))
			}
			for _, c := range cells {
				for _, r := range c.Runs {
					if c.Why != "" || r.Trouble != "" {
						t.Errorf("parallel %d: seed %d of %s is kept: %q, %q", parallel, r.Seed, c.Elector, r.Trouble, c.Why)
					}
				}
			}
		})
	}
}

// The error of Done ends the measurement and is returned. Done is not called again, and no
// further run begins.
func TestErrorOfDoneEndsIt(t *testing.T) {
	for parallel, most := range map[int]int{1: 2, 3: 4} { // two ended, and the others were under way
		synctest.Test(t, func(t *testing.T) {
			full := errors.New("the disk is full")
			w := &world{takes: func(plan sim.Plan) time.Duration { return time.Duration(plan.Seed) * time.Second }}
			m := measurement(t, w, "a")
			m.Count, m.Parallel = 1000, parallel
			called := 0
			m.Done = func(*Cell, *Run, scenarios.Outcome) error {
				if called++; called == 2 {
					return full
				}
				return nil
			}
			cells, err := m.Run(t.Context())
			if !errors.Is(err, full) || len(cells) != 1 || called != 2 || len(w.begun) != most {
				t.Errorf("parallel %d: error %v, %d cells, Done was called %d times, %d runs began; want 2 calls and %d runs", parallel, err, len(cells), called, len(w.begun), most)
			}
		})
	}
}

// The plan of a run says of its elector what its elector says of itself: promises that it
// does not make are waived in its runs alone, beside those about the length of failovers.
func TestPlanIsFairToItsElector(t *testing.T) {
	w := &world{}
	m := measurement(t, w, "a", "b")
	m.Count = 10
	m.Settings.Nodes, m.Settings.Lease = 4, 2*time.Second
	m.Electors[0].Waived, m.Electors[0].Foreign = map[checker.Promise]string{checker.TokensIncrease: "it has no tokens"}, true
	run(t, m)
	for i, plan := range w.begun {
		own := i == 0
		if plan.Nodes != 4 || plan.Timings.Lease != 2*time.Second || plan.Foreign != own || plan.Subject != m.Electors[i].Name {
			t.Errorf("the plan of %s: %d candidates, lease %v, foreign %v", plan.Subject, plan.Nodes, plan.Timings.Lease, plan.Foreign)
		}
		if plan.Waived[string(checker.FailoverBound)] == "" || plan.Waived[string(checker.LeaderReturns)] == "" || (plan.Waived[string(checker.TokensIncrease)] != "") != own {
			t.Errorf("the plan of %s waives %v", plan.Subject, plan.Waived)
		}
		if want := fmt.Sprintf("repeat crash of %s with seed 5", plan.Subject); plan.Repro != want {
			t.Errorf("repeated by %q, want %q", plan.Repro, want)
		}
	}
}

// What is kept of a run: its failovers of the cause, with those that the machine held up
// marked and in no sample; changes of leader with another cause; what is broken; requests;
// and the time of processors that was seen.
func TestWhatIsKeptOfARun(t *testing.T) {
	c := one(t, "crash")
	plan, err := c.Scenario().Plan(scenarios.Settings{Subject: "a"})
	if err != nil {
		t.Fatal(err)
	}
	h := fabricate(plan, 4) // at 1, 2, 3 and 4 s
	for i := range h.Events {
		if e := &h.Events[i]; e.ID == "f3" {
			e.Fault = "pause"
		}
	}
	add := func(at time.Duration, e history.Event) {
		e.At = at
		h.Events = append(h.Events, e)
	}
	add(2300*time.Millisecond, history.Event{Kind: history.Fault, ID: "s1", Fault: history.StallFault, Phase: history.On, Targets: []string{"n1"}})
	add(2400*time.Millisecond, history.Event{Kind: history.Fault, ID: "s1", Fault: history.StallFault, Phase: history.Off, Targets: []string{"n1"}, Effective: history.Bool(true)})
	op := func(id int64, node string, call history.Call, token uint64, at, took time.Duration) {
		add(at, history.Event{Kind: history.Invoke, Op: id, Node: node, Election: "e", Call: call, Token: token})
		add(at+took, history.Event{Kind: history.Ok, Op: id, Node: node, Election: "e", Call: call, Token: token})
	}
	op(1, "n1", history.Observe, 0, 10*time.Millisecond, time.Millisecond)
	op(2, "n1", history.Write, 1, 900*time.Millisecond, 10*time.Millisecond) // the last one of n1
	for i, node := range []string{"n2", "n3", "n1", "n2"} {                  // 640 ms after the fault each
		op(int64(3+i), node, history.Write, uint64(i+2), time.Duration(i+1)*time.Second+620*time.Millisecond, 20*time.Millisecond)
	}
	op(9, "n1", history.Write, 1, 2700*time.Millisecond, 10*time.Millisecond) // with an old token
	usage := func(at time.Duration, node string, resident, processor int64) {
		add(at, history.Event{Kind: history.Note, Node: node, Usage: &history.Usage{Resident: resident, Processor: processor}})
	}
	usage(100*time.Millisecond, "n1", 1, 50)
	usage(900*time.Millisecond, "n1", 1, 60)  // 10 ms in 800 ms
	usage(1000*time.Millisecond, "n1", 0, 99) // what the process told itself is no look from outside
	usage(1700*time.Millisecond, "n1", 1, 70) // another process: it was started at 1.55 s
	usage(2700*time.Millisecond, "n1", 1, 74) // 4 ms in 1 s
	usage(2800*time.Millisecond, "", 1, 7000) // the harness
	usage(2900*time.Millisecond, "", 1, 7090)
	number(h)

	r := &Run{}
	r.observe(c, h, checker.Check(h, checker.Options{}))
	var got []string
	for _, f := range r.Failovers {
		got = append(got, fmt.Sprint(f.Cause, " at ", f.At, " total ", f.Total, " unserved ", f.Unserved, " stalled ", f.Stalled))
	}
	want := []string{
		"crash at 1s total 640ms unserved 730ms stalled false",
		"crash at 2s total 640ms unserved 1s stalled true",
		"crash at 4s total 640ms unserved 1s stalled false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("failovers: %q\nwant %q", got, want)
	}
	// Where clocks are uncertain, the write that ends a failover is stamped before its end.
	h.Header.ClockError = 200 * time.Microsecond
	uncertain := &Run{}
	uncertain.observe(c, h, checker.Check(h, checker.Options{}))
	for i, f := range uncertain.Failovers {
		if d := f.Unserved - r.Failovers[i].Unserved; d.Abs() > h.Header.ClockError {
			t.Errorf("uncertain clocks: nothing was written for %v, want %v", f.Unserved, r.Failovers[i].Unserved)
		}
	}
	if len(r.Unexplained) != 1 || r.Unexplained[0].Cause != "pause" || r.Faults != 3 || r.Requests != 1 || r.Lasted != 4640*time.Millisecond {
		t.Errorf("unexplained %+v, %d faults, %d requests, lasted %v", r.Unexplained, r.Faults, r.Requests, r.Lasted)
	}
	if r.Processor != 14*time.Millisecond || r.Watched != 1800*time.Millisecond {
		t.Errorf("%v of processors in %v, want 14ms in 1.8s", r.Processor, r.Watched)
	}
	if !slices.ContainsFunc(r.Broken, func(f checker.Finding) bool { return f.Promise == checker.FencedWrites }) {
		t.Errorf("the write with an old token is not among what is broken: %+v", r.Broken)
	}
	cell := Cell{Runs: []*Run{r, {}}}
	total := func(f Failover) time.Duration { return f.Total }
	if sample := fmt.Sprint(cell.Sample(total)); sample != "[[640ms 640ms] []]" || cell.Count() != 2 {
		t.Errorf("the sample is %s, of %d", sample, cell.Count())
	}
}

// A cell is given up with the reason of the last run: failovers that the machine held up, and
// candidates that are never elected, do not keep it going for ever.
func TestGivenUpWithAReason(t *testing.T) {
	for why, bad := range map[string]*Run{
		"the machine held up every failover": {Elected: 1, Failovers: []Failover{{Stalled: true}}},
		"nobody was elected":                 {},
		"no failover followed":               {Elected: 1},
		"no room":                            {Trouble: "no room"},
	} {
		c := &Cell{}
		for range fruitless {
			if got := c.hopeless(); got != "" {
				t.Errorf("%s: %d runs: %s", why, len(c.Runs), got)
			}
			c.Runs = append(c.Runs, bad)
		}
		if got := c.hopeless(); !strings.HasSuffix(got, ": "+why) {
			t.Errorf("%q, want the reason %q", got, why)
		}
		c.Runs[fruitless-1] = &Run{Failovers: []Failover{{Stalled: true}, {}}}
		if got := c.hopeless(); got != "" {
			t.Errorf("%s: with one failover that counts: %s", why, got)
		}
	}
}

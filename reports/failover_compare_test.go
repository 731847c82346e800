package reports

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/internal/race"
)

// A condition is read as it is written: whose figure it is about, and the limit as a duration
// in milliseconds, as a factor, or as so much more. It reports whether it compares.
func TestParseCondition(t *testing.T) {
	for text, want := range map[string]string{
		"crash.total.p50 > 2s":                      "|crash|total|0.5|true|2000|false|false",
		"  crash.total.p50>2s  ":                    "|crash|total|0.5|true|2000|false|false",
		"crash.excess.p90 > 1.2x":                   "|crash|excess|0.9|true|1.2|true|false",
		"crash.excess.p99 < 0.5 x":                  "|crash|excess|0.99|false|0.5|true|false",
		"resign.total.p50 > +10ms":                  "|resign|total|0.5|true|10|false|true",
		"resign.total.p50 < +0.5ms":                 "|resign|total|0.5|false|0.5|false|true",
		"rolling-restart.unserved.max > 1m":         "|rolling-restart|unserved|1|true|60000|false|false",
		"crash.announce.p90 > 250us":                "|crash|announce|0.9|true|0.25|false|false",
		"crash.acquire.p90 > 250µs":                 "|crash|acquire|0.9|true|0.25|false|false",
		"crash.detect.p90 > 1.5s":                   "|crash|detect|0.9|true|1500|false|false",
		"crash.wait.p99 > 5ms":                      "|crash|wait|0.99|true|5|false|false",
		"honua/crash.total.p50 > 1s":                "honua|crash|total|0.5|true|1000|false|false",
		"./my-elector/crash.total.p50 > 1s":         "./my-elector|crash|total|0.5|true|1000|false|false",
		"./my  elector --x/crash.total.p50 > 1s":    "./my elector --x|crash|total|0.5|true|1000|false|false",
		"sh -c 'a > b' /crash.total.p50 > 1s":       "sh -c 'a > b'|crash|total|0.5|true|1000|false|false",
		"a/crash.total.p50 > 1s/crash.wait.p50<1s":  "a/crash.total.p50 > 1s|crash|wait|0.5|false|1000|false|false",
		"/opt/my.elector-2/v1/crash.total.max < 1s": "/opt/my.elector-2/v1|crash|total|1|false|1000|false|false",
	} {
		c, err := ParseCondition(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		got := fmt.Sprintf("%s|%s|%s|%v|%v|%v|%v|%v", c.Elector(), c.Cause(), c.metric.name, c.p, c.above, c.limit, c.factor, c.more)
		if got != want || c.Relative() != (c.factor || c.more) || c.text != strings.TrimSpace(text) {
			t.Errorf("%q is read as %s, want %s; it compares: %v", text, got, want, c.Relative())
		}
	}
}

// A wait of 0 decides: it is beyond no limit above 0. Where the baseline's figure is 0 it has no
// factor, and the sentence says what to give instead.
func TestGatesOfNoWait(t *testing.T) {
	waits := func(wait float64) FailoverCell {
		c := cellOf("resign", "recount", 20, 200, time.Millisecond)
		for i := range c.Failovers {
			c.Failovers[i].WaitMS = wait
		}
		return c
	}
	for _, test := range []struct {
		before, after float64
		text          string
		want          checker.Verdict
		says          string
	}{
		{0, 0, "resign.wait.p90 > 5ms", checker.Pass, "wait p90 of recount after resign is 0 ms (0 to 0 ms): not > 5ms"},
		{0, 0, "resign.wait.p90 > +5ms", checker.Pass, "0 to 0 ms beside the baseline: not > +5ms"},
		{0, 0, "resign.wait.p90 > 1.2x", checker.Pass, "wait p90 of recount after resign is 0 ms: not > 1.2x"},
		{9, 0, "resign.wait.p90 > 1.2x", checker.Pass, "is 0 ms: not > 1.2x"},
		{0, 9, "resign.wait.p90 > 1.2x", checker.Unknown, `has no factor: the baseline's figure is 0, or may be; give how much more it may be, such as "> +10ms"`},
		{0, 9, "resign.wait.p90 > +5ms", checker.Fail, ": > +5ms"},
		{9, 9, "resign.wait.p90 > 1.2x", checker.Pass, "1.00 to 1.00 times"},
	} {
		r := &Failovers{Cells: []FailoverCell{waits(test.after)}, Baseline: &Failovers{Cells: []FailoverCell{waits(test.before)}}}
		r.Baseline.Finish()
		r.Finish()
		r.Judge(parsed(test.text))
		if g := r.Gates[0]; g.Verdict != test.want || !strings.Contains(g.Sentence, test.says) {
			t.Errorf("%v beside %v, %s: %v, %q; want %v, %q", test.after, test.before, test.text, g.Verdict, g.Sentence, test.want, test.says)
		}
	}
}

// A baseline that cannot decide a condition says why, and what there is.
func TestBaselineLacks(t *testing.T) {
	r := measured()
	for _, test := range []struct{ text, elector, want string }{
		{"crash.total.p90 > 1.2x", "recount", ""},
		{"crash.total.p99 > 1.2x", "recount", "59 failovers of recount after crash, and it takes 299"},
		{"crash.total.p90 > 1.2x", "titan", "no failover of titan after crash; it has recount/crash, honua/crash, recount/resign"},
		{"resign.total.p50 > +1ms", "honua", "no failover of honua after resign; it has recount/crash"},
	} {
		if got := r.Lacks(parsed(test.text), test.elector); (got == "") != (test.want == "") || !strings.HasPrefix(got, test.want) {
			t.Errorf("%s, %s: %q, want %q", test.text, test.elector, got, test.want)
		}
	}
	if got := (&Failovers{}).Lacks(parsed("crash.total.p90 > 1.2x"), "recount"); !strings.HasSuffix(got, "it has none at all") {
		t.Errorf("an empty baseline: %q", got)
	}
}

// A condition needs as many failovers as its quantile takes, and one for the longest.
func TestConditionNeedsEnoughFailovers(t *testing.T) {
	for text, want := range map[string]int{"crash.total.p50 > 1s": 6, "crash.total.p90 > +1s": 29, "crash.total.p99 > 2x": 299, "crash.total.max > 1s": 1} {
		if got := parsed(text).Needs(); got != want {
			t.Errorf("%q needs %d failovers, want %d", text, got, want)
		}
	}
}

// What is no condition is refused in one line that says why, and what one looks like.
func TestParseConditionRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "is no condition",
		"crash":                          "is no condition",
		"crash.total > 2s":               "is no condition",
		"crash.total.p95 > 2s":           "is no condition",
		"crash.total.p50 >= 2s":          "is no condition",
		"crash.total.p50 = 2s":           "is no condition",
		"crash.total.p50 > 2":            "is no condition",
		"crash.total.p50 > 2h":           "is no condition",
		"crash.total.p50 > -2s":          "is no condition",
		"crash.total.p50 > x":            "is no condition",
		"crash.total.p50 > 1.2X":         "is no condition",
		"crash.total.p50 > 2s, or more":  "is no condition",
		"Crash.total.p50 > 2s":           "is no condition",
		"crash.total.p50 > 1s > 2s":      "is no condition",
		"crash.length.p50 > 2s":          `a failover has no figure "length"`,
		"crash.total.p50 > 1.2.3s":       `"1.2.3" is no number`,
		"crash.total.p50 > .s":           `"." is no number`,
		"crash.total.p50 > +1.2x":        "a factor cannot be so much more",
		"crash.total.max > 1.2x":         "the largest of a sample cannot be compared",
		"crash.total.max > +10ms":        "the largest of a sample cannot be compared",
		"crash.total.p50 > 99999999999s": "time: invalid duration",
	} {
		c, err := ParseCondition(text)
		if err == nil {
			t.Errorf("%q is read as %+v", text, c)
		} else if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), fmt.Sprintf("%q", text)) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v; want one line with %q", text, err, want)
		}
	}
}

// A gate fails if its condition certainly holds, passes if it certainly does not, and is
// unknown if the sample, or a missing baseline, cannot tell. The sentence names the figure.
func TestGates(t *testing.T) {
	same, slower := compared(40*time.Millisecond), compared(100*time.Millisecond)
	few := measured()
	unlike := compared(40 * time.Millisecond)
	unlike.Baseline.Cells[0].Elector = "honua"
	for _, test := range []struct {
		r    *Failovers
		text string
		want checker.Verdict
		says string
	}{
		// An absolute limit. The total is between 671 ms and 1.04 s.
		{same, "crash.total.p50 > 2s", checker.Pass, "total p50 of recount after crash is 856 ms (831 to 877 ms): not > 2s"},
		{same, "crash.total.p50 > 100ms", checker.Fail, ": > 100ms"},
		{same, "crash.total.p50 > 856ms", checker.Unknown, "whether it is > 856ms cannot be told"},
		{same, "crash.total.p50 < 2s", checker.Fail, ": < 2s"},
		{same, "crash.total.p50 < 856ms", checker.Unknown, "whether it is < 856ms cannot be told"},
		{same, "crash.total.p50 < 100ms", checker.Pass, ": not < 100ms"},
		{same, "crash.total.max > 2s", checker.Pass, "the longest total of recount after crash is 1036 ms: not > 2s"},
		{same, "crash.total.max > 1s", checker.Fail, "the longest total"},
		{same, "crash.wait.p90 > 900ms", checker.Fail, "wait p90 of recount after crash"},
		{same, "crash.unserved.p50 > 10s", checker.Pass, "unserved p50"},
		{same, "crash.total.p99 > 2s", checker.Unknown, "is at least 1016 ms: too few failovers to tell; it takes 299"},
		{same, "crash.total.p99 > 900ms", checker.Fail, "is at least 1016 ms: > 900ms"},
		{few, "recount/resign.total.p50 > 1us", checker.Fail, "total p50 of recount after resign"},
		{few, "recount/resign.total.p90 > 1s", checker.Unknown, "too few failovers to tell; it takes 29"},
		{few, "honua/resign.total.p90 > 1s", checker.Unknown, "there is no failover of honua after resign"},
		{few, "recount/pause.total.p90 > 1s", checker.Unknown, "nothing was measured that it is about"},
		{few, "titan/crash.total.p90 > 1s", checker.Unknown, "nothing was measured that it is about"},
		// A factor of the baseline's figure.
		{same, "crash.excess.p90 > 1.5x", checker.Pass, " times that of the baseline: not > 1.5x"},
		{slower, "crash.excess.p90 > 1.5x", checker.Fail, " times that of the baseline: > 1.5x"},
		{same, "crash.excess.p90 > 1.0x", checker.Unknown, "four times as many failovers would halve the interval"},
		{slower, "crash.excess.p90 < 1.5x", checker.Pass, "not < 1.5x"},
		{same, "crash.excess.p90 < 1.5x", checker.Fail, "< 1.5x"},
		{same, "crash.excess.p90 < 1.0x", checker.Unknown, "whether it is < 1.0x cannot be told"},
		{same, "crash.excess.p99 > 1.5x", checker.Unknown, "too few failovers to tell; it takes 299 of each"},
		{unlike, "crash.excess.p90 > 1.5x", checker.Unknown, "the baseline has no failover of recount after crash"},
		// So much more than it.
		{same, "crash.excess.p90 > +30ms", checker.Pass, " ms beside the baseline: not > +30ms"},
		{slower, "crash.excess.p90 > +30ms", checker.Fail, " ms beside the baseline: > +30ms"},
		{same, "crash.excess.p90 > +0ms", checker.Unknown, "whether it is > +0ms cannot be told"},
		{slower, "crash.excess.p90 < +30ms", checker.Pass, "not < +30ms"},
		{same, "crash.excess.p90 < +30ms", checker.Fail, "< +30ms"},
		{unlike, "crash.excess.p90 > +30ms", checker.Unknown, "the baseline has no failover of recount after crash"},
	} {
		r := *test.r
		r.Gates = nil
		r.Judge(parsed(test.text))
		if len(r.Gates) != 1 || r.Gates[0].Verdict != test.want || r.Gates[0].Text != test.text || !strings.Contains(r.Gates[0].Sentence, test.says) {
			t.Errorf("%s: %+v, want %v: %q", test.text, r.Gates, test.want, test.says)
		}
	}
}

// A condition without an elector is judged for each, and one with an elector for that alone.
// Failovers that the machine held up have no say.
func TestGatesOfEachElector(t *testing.T) {
	r := measured()
	r.Gates = nil
	r.Judge(parsed("crash.total.p90 > 10s"))
	r.Judge(parsed("honua/crash.total.p90 > 10s"))
	r.Judge(parsed("recount/crash.total.max > 1.2s")) // the one that was held up took longer
	var about []string
	for _, g := range r.Gates {
		about = append(about, g.Verdict.String()+" "+g.Sentence[:strings.Index(g.Sentence, " is ")])
	}
	want := "pass total p90 of recount after crash, pass total p90 of honua after crash, pass total p90 of honua after crash, pass the longest total of recount after crash"
	if got := strings.Join(about, ", "); got != want {
		t.Errorf("gates: %s, want %s", got, want)
	}
}

// drawn is a measurement of 20 runs of ten crashes, as builds have them: an excess that is
// spread, of which the runs share a part, and so many times as long as the first build's.
func drawn(r *rand.Rand, times float64) *Failovers {
	c := FailoverCell{Cause: "crash", Elector: "recount", Verdict: checker.Pass}
	for run := range 20 {
		c.Runs = append(c.Runs, FailoverRun{Verdict: checker.Pass})
		shared := 2 * r.NormFloat64()
		for range 10 {
			excess := times * max(1, 30+8*r.NormFloat64()+5*r.ExpFloat64()+shared)
			wait := 667 + 333*r.Float64()
			c.Failovers = append(c.Failovers, MeasuredFailover{Run: run, WaitMS: wait, DetectMS: excess, ExcessMS: excess, TotalMS: wait + excess})
		}
	}
	m := &Failovers{Cells: []FailoverCell{c}}
	m.Finish()
	return m
}

// Of 60 pairs of measurements of one build at most 4 fail a gate for being slower at all, and
// a build that is twice as slow always fails one for being 1.2 times as slow.
func TestGatesFailSlowBuildsAlone(t *testing.T) {
	if race.Enabled {
		t.Skip("one goroutine computes, so there is nothing to race: it runs without the race detector")
	}
	pairs := 60
	if race.Enabled {
		pairs = 6
	}
	r := rand.New(rand.NewPCG(11, 12))
	same, twice := 0, 0
	for range pairs {
		before, after, slow := drawn(r, 1), drawn(r, 1), drawn(r, 2)
		after.Baseline, slow.Baseline = before, before
		after.Judge(parsed("crash.excess.p90 > 1.0x"))
		slow.Judge(parsed("crash.excess.p90 > 1.2x"))
		if after.Gates[0].Verdict == checker.Fail {
			same++
		}
		if slow.Gates[0].Verdict == checker.Fail {
			twice++
		}
	}
	if same > pairs*4/60 || twice != pairs {
		t.Errorf("of %d pairs of one build %d fail, want at most %d; of %d builds that are twice as slow %d fail, want all", pairs, same, pairs*4/60, pairs, twice)
	}
}

// A comparison names the direction and how much, only where chance does not explain it. Else
// it says what would have been seen, or how many more failovers it takes.
func TestContrasts(t *testing.T) {
	sentence := func(r *Failovers, figure string) (string, bool) {
		for _, c := range r.contrasts() {
			if c.Figure == figure {
				return c.Sentence, c.Sure
			}
		}
		return "no comparison", false
	}
	few := compared(time.Millisecond)
	few.Cells[0].Failovers = few.Cells[0].Failovers[:2]
	few.Finish()
	for _, test := range []struct {
		r            *Failovers
		figure, want string
		sure         bool
	}{
		{compared(90 * time.Millisecond), "excess p50", "slower by ", true},
		{compared(4 * time.Millisecond), "excess p50", "faster by ", true},
		{compared(40 * time.Millisecond), "excess p50", "no difference seen; one of ", false},
		{compared(40 * time.Millisecond), "total p90", "no difference seen; one of ", false},
		{few, "excess p50", "too few: 4 more failovers of each would tell", false},
		{few, "total p90", "too few: 27 more failovers of each would tell", false},
	} {
		if got, sure := sentence(test.r, test.figure); !strings.HasPrefix(got, test.want) || sure != test.sure {
			t.Errorf("%s: %q, sure %v, want %q, %v", test.figure, got, sure, test.want, test.sure)
		}
	}
	if got := compared(0).Beside(); got != "the baseline" {
		t.Errorf("beside %q, want the baseline", got)
	}
	r := measured()
	var all []string
	for _, c := range r.contrasts() {
		all = append(all, fmt.Sprintf("%s: %s beside %s, %s", c.Cause, c.Other, c.One, c.Figure))
	}
	want := "crash: honua beside recount, total p50; crash: honua beside recount, total p90; crash: honua beside recount, excess p50; crash: honua beside recount, excess p90"
	if got := strings.Join(all, "; "); got != want || r.Beside() != "recount" {
		t.Errorf("beside %q: %s, want %s", r.Beside(), got, want)
	}
}

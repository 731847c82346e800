package reports

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/calibration"
	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/internal/race"
)

// runsIn fabricates the runs of one world: three failovers each, whose excess
// lies about so high.
func runsIn(runs int, excess time.Duration, broken ...checker.Promise) []calibration.Run {
	all := make([]calibration.Run, runs)
	for i := range all {
		all[i].Verdict, all[i].Broken = checker.Pass, broken
		if len(broken) > 0 {
			all[i].Verdict = checker.Fail
		}
		for k := range 3 {
			e := excess + time.Duration((i*37+k*11)%17)*100*time.Microsecond
			all[i].Failovers = append(all[i].Failovers, calibration.Failover{
				Failover: checker.Failover{Cause: "crash", Wait: 900 * time.Millisecond, Detect: e, Excess: e, Total: 900*time.Millisecond + e},
				Steps:    []string{"begin: crash", "old exit killed", "new acquire ok", "new elected", "new write ok", "end"},
			})
		}
		all[i].Road = calibration.Road{Renewals: []time.Duration{excess / 10}, Acquisitions: []time.Duration{excess / 5}}
	}
	return all
}

// calibrated is a comparison of three scenarios: in one the worlds agree, in
// one the virtual failovers are too quick, in one the worlds disagree about a
// promise.
func calibrated() *Calibration {
	c := &Calibration{Subject: "recount", Redis: "process 7.0.15", Seed: 42, LeaseMS: 1000, Repro: "chaos calibrate --redis redis://user:s3cret@host/0 --seed 42"}
	for _, s := range []struct {
		name          string
		live, virtual []calibration.Run
	}{
		{"crash-leader", runsIn(3, 5*time.Millisecond), runsIn(200, 4*time.Millisecond)},
		{"resign-leader", runsIn(3, 25*time.Millisecond), runsIn(200, 4*time.Millisecond)},
		{"partition-leader", runsIn(3, 5*time.Millisecond), runsIn(200, 5*time.Millisecond, checker.AtMostOneLeader)},
		{"steady", make([]calibration.Run, 3), make([]calibration.Run, 200)},
	} {
		c.Add(calibration.Compare(s.name, time.Second,
			calibration.Sample{World: "live", Runs: s.live}, calibration.Sample{World: "virtual", Runs: s.virtual}))
	}
	return c
}

// Every format of a comparison of the worlds.
func TestGoldenCalibration(t *testing.T) {
	if race.Enabled {
		t.Skip("the same without the race detector")
	}
	c := calibrated()
	goldenDocument(t, "calibration", built(c.Document())(t), Screen{Where: "out/calibration.html"})
	small := *c
	small.Scenarios = nil
	small.Add(c.compared[1])
	for i := range small.Scenarios[0].Figures { // their values are many, and in the summary
		small.Scenarios[0].Figures[i].Virtual.Values = nil
	}
	golden(t, "calibration.json", must(CalibrationJSON(&small))(t))
}

// The picture holds both curves, which differ even without colours; the page needs
// nothing else, and the password of the store is in none of the formats.
func TestCalibrationPage(t *testing.T) {
	if race.Enabled {
		t.Skip("the same without the race detector")
	}
	c := calibrated()
	d := built(c.Document())(t)
	page := string(must(d.HTML())(t))
	if n := strings.Count(page, `class="plot"`); n != 2*3 {
		t.Errorf("%d pictures, want two for each scenario with failovers", n)
	}
	for i, picture := range strings.Split(page, `class="plot"`)[1:] {
		picture, _, _ = strings.Cut(picture, "</svg>")
		for _, want := range []string{"var(--accent)", "var(--ink)", "stroke-dasharray"} {
			if !strings.Contains(picture, want) {
				t.Errorf("no %s in picture %d", want, i+1)
			}
		}
	}
	for name, text := range map[string]string{
		"html": page, "md": string(d.Markdown()),
		"terminal": string(printed(t, d, Screen{})),
	} {
		if strings.Contains(text, "s3cret") {
			t.Errorf("%s shows the password", name)
		}
		if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("%s holds what is no number", name)
		}
	}
	if strings.Contains(page, "http://") || strings.Contains(page, "https://") {
		t.Error("the page reaches out")
	}
}

// What stands on the terminal fits into it.
func TestCalibrationSummaryFits(t *testing.T) {
	if race.Enabled {
		t.Skip("the same without the race detector")
	}
	fits(t, built(calibrated().Document())(t))
}

// calibration.json can be read by programs: the verdict is a word, and where
// there was nothing to compare it says so.
func TestCalibrationJSON(t *testing.T) {
	if race.Enabled {
		t.Skip("the same without the race detector")
	}
	var object struct {
		Version   int    `json:"recount_calibration"`
		Verdict   string `json:"verdict"`
		Scenarios []struct {
			Verdict     string
			Differences []string
			Figures     []struct {
				Name     string
				Compared bool
				Live     struct{ Values []float64 }
			}
		}
	}
	if err := json.Unmarshal(must(CalibrationJSON(calibrated()))(t), &object); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(object.Version, object.Verdict)
	for _, s := range object.Scenarios {
		got += fmt.Sprint(" ", s.Verdict, len(s.Differences), s.Figures[0].Compared, len(s.Figures[0].Live.Values))
	}
	// A run without a verdict is undecided.
	if want := "1fail pass 0 true 9 unknown 2 true 9 fail 1 true 9 unknown 1 false 0"; strings.Join(strings.Fields(got), "") != strings.Join(strings.Fields(want), "") {
		t.Errorf("%s\nwant %s", got, want)
	}
}

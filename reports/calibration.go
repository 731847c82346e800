package reports

import (
	"fmt"
	"math"
	"time"

	"github.com/recount-io/recount/calibration"
	"github.com/recount-io/recount/checker"
)

// CalibrationVersion is the version of calibration.json that this package
// writes.
const CalibrationVersion = 1

// Calibration is calibration.json: how far the virtual world lies from the live
// one, scenario by scenario. Durations are milliseconds rounded to a
// microsecond. The caller sets the circumstances and adds the scenarios with
// Add, whose comparisons are of the live world and the virtual one.
type Calibration struct {
	Version int             `json:"recount_calibration"`
	Verdict checker.Verdict `json:"verdict"` // about the worlds: see calibration.Comparison
	Subject string          `json:"subject"`
	Redis   string          `json:"redis,omitempty"` // of the live world
	Seed    uint64          `json:"seed"`            // of each world's first run; the next one has the next seed
	LeaseMS float64         `json:"lease_ms"`
	Limits  Limits          `json:"limits"`
	Repro   string          `json:"repro,omitempty"`

	Scenarios []CalibratedScenario `json:"scenarios"`

	compared []calibration.Comparison
}

// Limits are those beyond which the worlds differ: see package calibration.
type Limits struct {
	Chance      float64 `json:"chance"`
	AreaOfLease float64 `json:"area_of_lease"`
	Variation   float64 `json:"variation"`
	Failovers   float64 `json:"failovers_a_run"`
}

// CalibratedScenario compares one scenario in both worlds.
type CalibratedScenario struct {
	Scenario    string             `json:"scenario"`
	Verdict     checker.Verdict    `json:"verdict"`
	Differences []string           `json:"differences,omitempty"`
	Live        CalibratedWorld    `json:"live"`
	Virtual     CalibratedWorld    `json:"virtual"`
	Figures     []CalibratedFigure `json:"figures"`
	Orders      []CalibratedOrder  `json:"orders"`
}

// CalibratedWorld sums up the runs in one world.
type CalibratedWorld struct {
	Runs      int             `json:"runs"`
	Verdict   checker.Verdict `json:"verdict"`
	Passed    int             `json:"pass"`
	Failed    int             `json:"fail"`
	Undecided int             `json:"unknown"`
	Broken    []BrokenPromise `json:"broken,omitempty"`
	Failovers int             `json:"failovers"`
	LeftOut   int             `json:"left_out,omitempty"` // failovers during which the machine stalled

	Renewals     Quantiles `json:"renewal_round_trip_ms"`
	Acquisitions Quantiles `json:"acquisition_round_trip_ms"`
	Lateness     Quantiles `json:"renewal_lateness_ms"`
	Starts       Quantiles `json:"process_start_ms"` // to its first request for the lease
}

// BrokenPromise says in how many runs a promise was broken.
type BrokenPromise struct {
	Name checker.Promise `json:"name"`
	Runs int             `json:"runs"`
}

// Distance is how far apart two samples are, and what of that is chance.
// Without Compared, one of them is empty and the rest means nothing.
type Distance struct {
	Compared bool    `json:"compared"`
	Distance float64 `json:"distance"`
	Usual    float64 `json:"usual_by_chance"`
	Chance   float64 `json:"chance"`
	Differs  bool    `json:"differs"`
}

// CalibratedFigure compares one figure of the failovers.
type CalibratedFigure struct {
	Name string `json:"name"`
	Say  bool   `json:"decides"`
	Distance
	Area    float64      `json:"area"`
	Live    Distribution `json:"live"`
	Virtual Distribution `json:"virtual"`
}

// Distribution is a sample: summed up, and value by value where it decides.
type Distribution struct {
	Quantiles Quantiles `json:"quantiles"`
	Values    []float64 `json:"values,omitempty"`
}

// CalibratedOrder compares what follows what in the failovers with one cause;
// without a cause, how the failovers share among the causes.
type CalibratedOrder struct {
	Cause   string `json:"cause,omitempty"`
	Live    int    `json:"live_failovers"`
	Virtual int    `json:"virtual_failovers"`
	Distance
	Pairs []CalibratedPair `json:"farthest,omitempty"`
}

// CalibratedPair is two events that follow each other, and their share.
type CalibratedPair struct {
	First   string  `json:"first"`
	Second  string  `json:"second"`
	Live    float64 `json:"live"`
	Virtual float64 `json:"virtual"`
}

// Add adds a scenario, and updates the verdict and what stands for all of them.
func (c *Calibration) Add(from calibration.Comparison) {
	c.Version = CalibrationVersion
	c.Limits = Limits{calibration.Chance, calibration.Area, calibration.Variation, calibration.Count}
	c.compared = append(c.compared, from)
	c.Verdict = calibration.Verdict(c.compared)
	s := CalibratedScenario{
		Scenario: Redact(from.Scenario), Verdict: from.Verdict, Live: calibratedWorld(from.One), Virtual: calibratedWorld(from.Other),
		Figures: []CalibratedFigure{}, Orders: []CalibratedOrder{},
	}
	for _, d := range from.Differences {
		s.Differences = append(s.Differences, Redact(d))
	}
	for _, f := range from.Figures {
		s.Figures = append(s.Figures, CalibratedFigure{
			Name: f.Name, Say: f.Say, Distance: distance(f.Test), Area: thousandth(f.Area), Live: distribution(f.One, f.Say), Virtual: distribution(f.Other, f.Say),
		})
	}
	for _, o := range from.Orders {
		order := CalibratedOrder{Cause: Redact(o.Cause), Live: o.One, Virtual: o.Other, Distance: distance(o.Test)}
		for _, p := range o.Pairs {
			order.Pairs = append(order.Pairs, CalibratedPair{Redact(p.First), Redact(p.Second), share(p.One), share(p.Other)})
		}
		s.Orders = append(s.Orders, order)
	}
	c.Scenarios = append(c.Scenarios, s)
}

func calibratedWorld(w calibration.World) CalibratedWorld {
	out := CalibratedWorld{
		Runs: w.Runs, Verdict: w.Verdict(), Passed: w.Passed, Failed: w.Failed, Undecided: w.Undecided,
		Failovers: w.Failovers, LeftOut: w.LeftOut,
		Renewals: quantilesOf(w.Road.Renewals), Acquisitions: quantilesOf(w.Road.Acquisitions),
		Lateness: quantilesOf(w.Road.Lateness), Starts: quantilesOf(w.Road.Starts),
	}
	for _, b := range w.Broken {
		out.Broken = append(out.Broken, BrokenPromise{b.Promise, b.Runs})
	}
	return out
}

func distance(t calibration.Test) Distance {
	return Distance{t.Compared, share(t.Distance), share(t.Usual), share(t.Chance), t.Differs}
}

func distribution(values []float64, keep bool) Distribution {
	sample := make([]time.Duration, len(values))
	var d Distribution
	for i, v := range values {
		sample[i] = time.Duration(v * float64(time.Millisecond))
		if keep {
			d.Values = append(d.Values, thousandth(v))
		}
	}
	d.Quantiles = quantilesOf(sample)
	return d
}

func thousandth(x float64) float64 { return share(math.Round(x*1000) / 1000) }

// CalibrationJSON returns calibration.json: indented, with a newline at its
// end.
func CalibrationJSON(c *Calibration) ([]byte, error) {
	return indented("calibration.json", c)
}

// agreement says in one sentence what came of a scenario.
func (s *CalibratedScenario) agreement() string {
	switch {
	case len(s.Differences) > 0:
		return sentence(s.Differences[0])
	case len(s.Live.Broken) > 0:
		return "The worlds agree, also in what is broken."
	case s.Live.Failovers+s.Virtual.Failovers == 0:
		return "The worlds agree; there is no failover in either."
	default:
		return "The worlds agree within the limits."
	}
}

// agreements counts the scenarios in which the worlds agree.
func (c *Calibration) agreements() string {
	agree := 0
	for _, s := range c.Scenarios {
		if s.Verdict == checker.Pass {
			agree++
		}
	}
	return fmt.Sprintf("the worlds agree in %d of %s", agree, plural(len(c.Scenarios), "scenario"))
}

// about says in one line what was compared.
func (c *Calibration) about() string {
	line := "subject " + or(c.Subject, "?")
	if c.Redis != "" {
		line += " · redis " + c.Redis
	}
	return line + fmt.Sprintf(" · seeds from %d · lease %s", c.Seed, duration(c.LeaseMS))
}

// runsOf says how many runs and failovers a world has.
func runsOf(w CalibratedWorld) string {
	text := plural(w.Runs, "run") + ", " + plural(w.Failovers, "failover")
	if w.LeftOut > 0 {
		text += fmt.Sprintf(" and %d left out, for stalls of the machine", w.LeftOut)
	}
	return text
}

// chance writes a probability that was found by drawing.
func chance(p float64) string {
	if p < 0.001 {
		return "< 0.1 %"
	}
	return percent(p)
}

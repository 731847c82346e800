package reports

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
)

// tunedSettings are four points: one recommended, a preset that another point beats, one that
// misses what is wanted, and one that cannot be measured.
func tunedSettings() *Tuning {
	point := func(lease, p99, needless, commands float64) TunedPoint {
		return TunedPoint{
			LeaseMS: lease, RenewMS: lease / 3, RetryMS: lease / 15, RequestTimeoutMS: lease / 6, Known: true, Front: true,
			CrashP50MS: [3]float64{p99 * .8, p99 * .79, p99 * .81}, CrashP90MS: [3]float64{p99 * .9, p99 * .89, p99 * .91}, CrashP99MS: [3]float64{p99, p99 * .98, p99 * 1.02},
			NeedlessYear: needless, NeedlessLow: needless, NeedlessHigh: needless, ByNetwork: needless, CommandsMinute: commands,
		}
	}
	short, best, preset, unknown := point(1500, 1490, 24, 200), point(3000, 2980, 0.4, 100), point(15000, 14900, 0, 110), point(600, 0, 0, 0)
	short.Misses, preset.Front, preset.Preset = []string{"needless < 1/year"}, false, "Balanced"
	unknown.Known, unknown.Front = false, false
	longer := point(9000, 8950, 0, 34)
	r := &Tuning{
		Network: "round trip 2ms, p99 20ms, loss 0%", Nodes: 3, Pauses: "12 of 1s", Outages: "12 of 2s", Wants: []string{"needless < 1/year"}, NeedlessLimit: 1, Drift: .01, Seed: 1, Repro: "chaos tune --rtt 2ms",
		Points: []TunedPoint{unknown, short, best, longer, preset}, Best: 3,
		Neighbours: []TunedNeighbour{{"a shorter lease", 2}, {"a longer lease", 4}, {"less frequent renewals", 1}, {"a longer retry", 3}},
	}
	r.Finish()
	return r
}

// Every format of an answer.
func TestGoldenTuning(t *testing.T) {
	r := tunedSettings()
	golden(t, "tuned.json", must(TuningJSON(r))(t))
	goldenDocument(t, "tuned", built(r.Document())(t), Screen{Where: "recount-runs/42/index.html"})
}

// A neighbour is worse in what it misses, in more time without a leader or in more requests; what
// it gains is said too. A preset that another point beats is off the front, and the point is named.
func TestWhyNeighboursAreWorse(t *testing.T) {
	r := tunedSettings()
	text := strings.Join(append(r.neighbours(), r.standing()...), "\n")
	for _, want := range []string{
		"A shorter lease (1.5s): it misses needless < 1/year, 24 more needless changes a year, 100 more requests a minute; for that 1490 ms less without a leader",
		"A longer lease (9s): 5970 ms longer without a leader (p99 after a crash); for that 0.4 fewer needless changes a year, 66.0 fewer requests a minute.",
		"Less frequent renewals (every 200ms): nobody leads for long enough",
		"A longer retry (200ms): no difference that the measurement can show.",
		"Balanced, the elector's default (a lease of 15s",
		"off the front: better is a lease of 9s",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	r.Points[4].Front = true
	if text := strings.Join(r.standing(), ""); !strings.Contains(text, "; on the front.") {
		t.Errorf("a preset on the front: %s", text)
	}
	r.Points[4].Front, r.Points[4].CrashP99MS[0], r.Points[4].CommandsMinute = false, 9000, 35
	if text := strings.Join(r.standing(), ""); !strings.Contains(text, "; on the front within 5 %.") {
		t.Errorf("a preset beside the front: %s", text)
	}
}

// The page is well formed, asks nothing of a network, has every point in its table without any
// script, and lets no text into its markup. What was stopped says so in every format.
func TestTuningPage(t *testing.T) {
	evil := `<script>alert(1)</script>"'&`
	r := tunedSettings()
	r.Stopped, r.Network, r.Repro, r.Wants[0], r.Points[1].Misses[0] = evil, evil, evil, evil, evil
	r.Confirmed = &Confirmation{PredictedMS: QuantilesOf(make([]time.Duration, 300)), LiveMS: QuantilesOf(make([]time.Duration, 300))}
	r.Finish()
	d := built(r.Document())(t)
	page := regexp.MustCompile(`href="\./[^"]*"`).ReplaceAll(must(d.HTML())(t), nil)
	checkPage(t, "tuning", page)
	if bytes.Contains(page, []byte("<script>alert")) {
		t.Error("a text became markup")
	}
	if n := bytes.Count(page, []byte(`<th scope="row"`)); n != len(r.Points) {
		t.Errorf("the table has %d rows, want %d", n, len(r.Points))
	}
	if regexp.MustCompile(`(?i)(src|href)="?\s*(https?:)?//|@import|<link|<img|fetch\(`).Match(page) {
		t.Error("the page reaches out")
	}
	for name, text := range map[string][]byte{"html": page, "md": d.Markdown(), "txt": printed(t, d, Screen{})} {
		if !bytes.Contains(text, []byte("It ended early")) {
			t.Errorf("%s does not say that it ended early", name)
		}
	}
	for _, r := range []*Tuning{{}, {Points: tunedSettings().Points[:1]}} { // nothing was measured
		if page := must(built(r.Document())(t).HTML())(t); !bytes.Contains(page, []byte("Nothing could be measured")) {
			t.Error("a page without points does not say so")
		}
	}
}

// A confirmation holds if the intervals of p50 and of p90 meet; else the answer is undecided.
func TestConfirmation(t *testing.T) {
	sample := func(from int) Quantiles {
		var all []time.Duration
		for i := range 300 {
			all = append(all, time.Duration(from+i)*time.Millisecond)
		}
		return QuantilesOf(all)
	}
	tail := sample(1000) // alike in p50 alone
	tail.P90.Low, tail.P90.High = tail.P90.Low+500, tail.P90.High+500
	r := tunedSettings()
	r.Confirmed = &Confirmation{PredictedMS: sample(1000), LiveMS: tail}
	if r.Finish(); r.Verdict != checker.Unknown {
		t.Errorf("p90 differs: %v", r.Verdict)
	}
	for from, want := range map[int]checker.Verdict{1000: checker.Pass, 1010: checker.Pass, 1100: checker.Unknown, 900: checker.Unknown} {
		r := tunedSettings()
		r.Confirmed = &Confirmation{PredictedMS: sample(1000), LiveMS: sample(from)}
		r.Finish()
		if r.Verdict != want || r.Confirmed.Verdict != want {
			t.Errorf("predicted from 1000 ms, live from %d ms: %v, %v; want %v", from, r.Verdict, r.Confirmed.Verdict, want)
		}
	}
}

// Rows of a network are written anew in their place, and those of others stay.
func TestTuningTableKeepsOtherNetworks(t *testing.T) {
	one, other := tunedSettings(), tunedSettings()
	other.Network = "round trip 40ms, p99 80ms, loss 1%"
	first := TuningTable(one, nil)
	both := TuningTable(other, append([]byte("\nold text\n\n"), first...))
	if !bytes.HasPrefix(both, first) || bytes.Count(both, []byte("\n")) != 2*bytes.Count(first, []byte("\n"))-2 {
		t.Errorf("the second network:\n%s\nafter\n%s", both, first)
	}
	if again := TuningTable(one, both); !bytes.Equal(again, both) {
		t.Errorf("again:\n%s\nwant\n%s", again, both)
	}
	one.Points[2].CommandsMinute = 4321
	if changed := TuningTable(one, both); !bytes.Contains(changed, []byte("4321")) || bytes.Index(changed, []byte("4321")) > bytes.Index(changed, []byte("round trip 40ms")) {
		t.Errorf("the first network anew:\n%s", changed)
	}
}

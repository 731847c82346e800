package tune

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Want is what the settings have to keep: a figure below a limit.
type Want struct {
	Text   string
	figure string  // "crash", "needless" or "commands"
	p      float64 // of crash
	Limit  float64 // milliseconds; a year; a minute
}

var (
	wantForm = regexp.MustCompile(`^(crash\.p50|crash\.p90|crash\.p99|needless|commands)\s*<\s*([0-9.]+)\s*(µs|us|ms|s|m|/day|/week|/month|/year|/min)$`)
	perYear  = map[string]float64{"/day": 365, "/week": 365. / 7, "/month": 12, "/year": 1}
)

// wantHelp says what a want looks like.
const wantHelp = `give "crash.p99 < 5s" (or p50, p90), "needless < 1/year" (or /day, /week, /month) or "commands < 200/min"`

// ParseWant reads what the settings have to keep.
func ParseWant(text string) (Want, error) {
	text = strings.TrimSpace(text)
	parts := wantForm.FindStringSubmatch(text)
	if parts == nil {
		return Want{}, fmt.Errorf("%q cannot be wanted: %s", text, wantHelp)
	}
	w := Want{Text: text}
	limit, err := strconv.ParseFloat(parts[2], 64)
	if err != nil || limit <= 0 {
		return Want{}, fmt.Errorf("%q: %q is no number above 0: %s", text, parts[2], wantHelp)
	}
	name, quantile, _ := strings.Cut(parts[1], ".")
	w.figure = name
	_, often := perYear[parts[3]]
	switch {
	case name == "crash" && !strings.HasPrefix(parts[3], "/"):
		d, err := time.ParseDuration(parts[2] + parts[3])
		if err != nil {
			return Want{}, fmt.Errorf("%q: %w", text, err)
		}
		w.p, w.Limit = map[string]float64{"p50": .5, "p90": .9, "p99": .99}[quantile], d.Seconds()*1000
	case name == "needless" && often:
		w.Limit = limit * perYear[parts[3]]
	case name == "commands" && parts[3] == "/min":
		w.Limit = limit
	default:
		return Want{}, fmt.Errorf("%q: %s is not measured in %q: %s", text, parts[1], parts[3], wantHelp)
	}
	return w, nil
}

// Name is the figure that the want is about: "crash.p99", "needless".
func (w Want) Name() string {
	if w.figure == "crash" {
		return fmt.Sprintf("crash.p%.0f", 100*w.p)
	}
	return w.figure
}

// Figure is what the want is about, of a point.
func (w Want) Figure(p *Point) float64 {
	switch w.figure {
	case "crash":
		return p.Crash[w.p].Value
	case "needless":
		return p.Needless.Value
	default:
		return p.Commands
	}
}

// missedBy is how many times too large the worst figure is, less 1; 0 if all wants are met.
func missedBy(p *Point, wants []Want) (worst float64) {
	for _, w := range wants {
		worst = max(worst, w.Figure(p)/w.Limit-1)
	}
	return worst
}

// cost are the figures that are made as small as possible, one after the other, among points
// that meet what is wanted: the p99 after a crash and then the requests; or where the crash has a
// limit, the requests and then the p99.
func cost(wants []Want) []func(*Point) float64 {
	figures := []func(*Point) float64{
		func(p *Point) float64 { return p.Crash[.99].Value },
		func(p *Point) float64 { return p.Commands },
	}
	for _, w := range wants {
		if w.figure == "crash" {
			slices.Reverse(figures)
			break
		}
	}
	return figures
}

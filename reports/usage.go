package reports

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/recount-io/recount/history"
)

const (
	// settling is how long a process may take to have what it needs: until then
	// its growth says nothing.
	settling = 30 * time.Second
	// watched is for how long it must have been watched after that.
	watched = time.Minute
	// fewest is how many samples of that time tell anything.
	fewest = 9
	// maxPairs bounds the pairs of samples whose slopes are taken, for each
	// life: the square of this.
	maxPairs = 60
	// lasting is the least part of a rise that must fall between the middle
	// third and the last one: what grows goes on growing, what settles does not.
	lasting = 0.25
	// slack is the share of a level that it may rise by without being said to
	// grow.
	slack = 0.1
)

// Usage is what the processes of a run consumed. A run that is too short to
// tell anything has none.
type Usage struct {
	OverMS     float64        `json:"over_ms"`    // from the first sample to the last
	Candidates []ProcessUsage `json:"candidates"` // in the order of the nodes
	Harness    ProcessUsage   `json:"harness"`

	_ struct{}
}

// ProcessUsage is what the processes of one candidate, each the successor of
// the one before, or the harness consumed.
type ProcessUsage struct {
	Node      string  `json:"node,omitempty"`
	Processes int     `json:"processes"`
	LongestMS float64 `json:"longest_ms"` // life of the one that lived longest
	Figures   []Level `json:"figures"`

	_ struct{}
}

// Level is one figure of what processes consumed.
type Level struct {
	Name    string  `json:"name"`  // "goroutines", "heap_bytes", "rss_bytes", "descriptors" or "threads"
	Start   float64 `json:"start"` // median of the first tenth of its samples
	End     float64 `json:"end"`   // and of the last
	Max     float64 `json:"max"`
	Samples int     `json:"samples"`
	Judged  int     `json:"judged"`   // processes that lived long enough to report whether they grow
	PerHour float64 `json:"per_hour"` // by how much those grow, by their age: the median of the slopes from the first third of a life to its last
	Grows   bool    `json:"grows"`

	_ struct{}
}

// quantity is one thing that processes consume.
type quantity struct {
	name   string
	words  string
	of     func(*history.Usage) int64
	least  float64 // a rise of less is none
	bytes  bool
	memory bool // that a harness which keeps the history cannot help to grow
}

func quantities() []quantity {
	return []quantity{
		{"goroutines", "goroutines", func(u *history.Usage) int64 { return u.Goroutines }, 3, false, false},
		{"heap_bytes", "live heap", func(u *history.Usage) int64 { return u.Heap }, 512 << 10, true, true},
		{"rss_bytes", "memory", func(u *history.Usage) int64 { return u.Resident }, 4 << 20, true, true},
		{"descriptors", "descriptors", func(u *history.Usage) int64 { return u.Descriptors }, 3, false, false},
		{"threads", "threads", func(u *history.Usage) int64 { return u.Threads }, 3, false, false},
	}
}

// life is one process, from its start to its exit.
type life struct {
	from, to time.Duration
	samples  []sample
}

// sample is what was consumed at one time.
type sample struct {
	at    time.Duration
	usage *history.Usage
}

// usageIn finds what the processes of a run consumed, or nil if the run did
// not take long enough to tell.
func usageIn(h *history.History) *Usage {
	lives := livesIn(h)
	own := lives[""]
	if len(own) == 0 || own[0].to < settling+watched {
		return nil
	}
	u := &Usage{Harness: consumed("", own)}
	first, last := own[0].to, time.Duration(0)
	for _, name := range append([]string{""}, h.Header.Nodes...) {
		for _, l := range lives[name] {
			for _, s := range l.samples {
				first, last = min(first, s.at), max(last, s.at)
			}
		}
		if name != "" {
			u.Candidates = append(u.Candidates, consumed(name, lives[name]))
		}
	}
	u.OverMS = millis(last - first)
	return u
}

// livesIn are the lives of all processes, by node. The harness, under "", has
// one, if anything is known of it: the run's.
func livesIn(h *history.History) map[string][]life {
	lives := map[string][]life{}
	open := map[string]bool{}
	for i := range h.Events {
		e := &h.Events[i]
		switch {
		case e.Kind == history.Start:
			lives[e.Node] = append(lives[e.Node], life{from: e.At, to: e.At})
			open[e.Node] = true
		case e.Usage != nil && e.Node == "" && !open[""]:
			lives[""] = []life{{}}
			open[""] = true
		}
		if !open[e.Node] {
			continue
		}
		l := &lives[e.Node][len(lives[e.Node])-1]
		l.to = e.At
		if e.Usage != nil {
			l.samples = append(l.samples, sample{e.At, e.Usage})
		}
		open[e.Node] = e.Kind != history.Exit
	}
	return lives
}

// consumed sums up the lives of one node's processes.
func consumed(node string, lives []life) ProcessUsage {
	p := ProcessUsage{Node: node, Processes: len(lives)}
	for _, l := range lives {
		p.LongestMS = max(p.LongestMS, millis(l.to-l.from))
	}
	for _, q := range quantities() {
		if level, known := levelOf(q, lives); known {
			p.Figures = append(p.Figures, level)
		}
	}
	return p
}

// levelOf is one figure of some lives; it is not known where no sample has it.
func levelOf(q quantity, lives []life) (Level, bool) {
	var all []float64
	var g growth
	for _, l := range lives {
		points := readingsOf(q, l)
		for _, p := range points {
			all = append(all, p.value)
		}
		g.add(points)
	}
	if len(all) == 0 {
		return Level{}, false
	}
	edge := (len(all) + 9) / 10
	level := Level{
		Name: q.name, Samples: len(all), Judged: g.lives, Max: slices.Max(all),
		Start: median(all[:edge]), End: median(all[len(all)-edge:]),
	}
	if g.lives > 0 {
		level.PerHour = math.Round(10*median(g.slopes)) / 10
		level.Grows = g.grows(q)
	}
	return level, true
}

// reading is one value of a process at an age.
type reading struct {
	age   time.Duration
	value float64
}

// readingsOf are the values of one life that are known, in order.
func readingsOf(q quantity, l life) []reading {
	var out []reading
	for _, s := range l.samples {
		if value := q.of(s.usage); value > 0 {
			out = append(out, reading{s.at - l.from, float64(value)})
		}
	}
	return out
}

// growth is what some lives tell about whether their processes grow.
type growth struct {
	lives  int
	slopes []float64 // per hour, from each sample of a first third to each of the last third
	levels []float64 // of the first thirds
	rise   float64   // from the first thirds to the last, of all lives together
	late   float64   // the part of it after the middle thirds
}

// add takes in one life, if it lasted long enough to tell.
func (g *growth) add(points []reading) {
	settled, _ := slices.BinarySearchFunc(points, settling, func(p reading, age time.Duration) int { return cmp.Compare(p.age, age) })
	points = points[settled:]
	if len(points) < fewest || points[len(points)-1].age-points[0].age < watched {
		return
	}
	n := len(points)
	first, middle, last := points[:n/3], points[n/3:n-n/3], points[n-n/3:]
	g.lives++
	g.levels = append(g.levels, middleOf(first))
	g.rise += middleOf(last) - middleOf(first)
	g.late += middleOf(last) - middleOf(middle)
	for _, a := range thin(first) {
		for _, b := range thin(last) {
			g.slopes = append(g.slopes, (b.value-a.value)/(b.age-a.age).Hours())
		}
	}
}

// grows reports whether the lives rose by more than chance: chance adds up with
// the square root of their number, growth with the number.
func (g *growth) grows(q quantity) bool {
	chance := max(q.least, slack*median(g.levels)) * math.Sqrt(float64(g.lives))
	return median(g.slopes) > 0 && g.rise > chance && g.late > lasting*g.rise
}

// middleOf is the median value of some readings.
func middleOf(points []reading) float64 {
	values := make([]float64, len(points))
	for i, p := range points {
		values[i] = p.value
	}
	return median(values)
}

// thin leaves at most maxPairs readings, evenly spread.
func thin(points []reading) []reading {
	if len(points) <= maxPairs {
		return points
	}
	out := make([]reading, maxPairs)
	for i := range out {
		out[i] = points[i*len(points)/maxPairs]
	}
	return out
}

// median is the middle value, or the mean of the two in the middle; 0 of none.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

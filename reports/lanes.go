package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
)

// Heights of the rows of a drawing, in CSS pixels. Across, a drawing has no
// size of its own: all places are percentages, so that it fits every screen
// and zooming is a matter of its width alone.
const (
	axisHeight    = 22
	flagHeight    = 16
	captionHeight = 26
	rowHeight     = 26
	barInset      = 4
)

// Bounds on what one drawing holds. A history can have a hundred thousand
// events; a page that a phone opens cannot.
const (
	maxBars      = 1500 // per lane
	maxPoints    = 400
	maxDrawn     = 40 // nodes of one election
	maxElections = 6
	maxFaults    = 24 // rows of faults
	maxLabels    = 3  // more times of dual belief get no label each
	palette      = 6  // colours for tokens
)

// drawing is a part of a run on three lanes, laid out for the template.
type drawing struct {
	ID, Title, Summary string
	From, To           time.Duration
	Height             int
	Rows               []row
	Ticks              []tick
	Hits, Lives        []bar // faults on a node, life of its process
	Bars               []bar
	Bands              []bar // more than one leader
	Points             []point
	Flags              []guiltyMark
	Healed             []tick
	Left               []string // what was left out
}

// row is a line of the left margin: a caption or the name of a lane.
type row struct {
	Y       int
	Label   string
	Full    string
	Caption bool
}

// tick is a time with a label; Anchor keeps the label inside the drawing.
type tick struct{ X, Label, Anchor string }

// bar lasts from one time to another.
type bar struct {
	X, W         string
	Y, H         int
	Class        string
	Lane         string // "store", "belief" or "fault": what the hover read-out sorts by
	Label, Title string
	Middle       string // where a band has its label
	Tiny         bool
	from, to     time.Duration
}

// point is something that happened in one moment, or several such things too
// close to tell apart.
type point struct {
	X     string
	Y     int
	Class string
	Lane  string
	Title string
	at    time.Duration
}

// guiltyMark is the flag at a guilty event.
type guiltyMark struct {
	X      string
	Y      int // of the flag
	Dot    int // of the node's row
	Anchor string
	DX     int
	Seq    int64
	Title  string
}

// Begin and End are the times of a bar in seconds, for the script.
func (b bar) Begin() string { return plainSeconds(b.from) }

// End is the time at which the bar ends.
func (b bar) End() string { return plainSeconds(b.to) }

// Start and Stop are the window of the drawing in seconds, for the script.
func (d *drawing) Start() string { return plainSeconds(d.From) }

// Stop is where the window ends.
func (d *drawing) Stop() string { return plainSeconds(d.To) }

func plainSeconds(t time.Duration) string { return strconv.FormatFloat(t.Seconds(), 'f', -1, 64) }

// canvas is a drawing in the making.
type canvas struct {
	drawing
	h      *history.History
	r      *checker.Result
	guilty []EventRef
	rank   map[rankKey]int // order of the tokens, for colours
	nodeY  map[nodeKey]int // top of the node's rows
	storeY map[string]int
	drawn  []string // elections
}

type rankKey struct {
	election string
	token    uint64
	node     string // only where there are no tokens
}

type nodeKey struct{ election, node string }

// layOut lays out the part of the run between from and to. With closeUp only
// the nodes that do something in it get a row.
func layOut(id string, h *history.History, r *checker.Result, guilty []EventRef, from, to time.Duration, closeUp bool) *drawing {
	if to <= from {
		to = from + time.Millisecond
	}
	c := &canvas{h: h, r: r, guilty: guilty, nodeY: map[nodeKey]int{}, storeY: map[string]int{}}
	c.ID, c.From, c.To = id, from, to
	c.rankTokens()
	c.axis()
	top := axisHeight + c.flagLevels()*flagHeight
	elections := electionsOf(h, r)
	if len(elections) > maxElections {
		c.left("%s not drawn: %s more than fit", plural(len(elections)-maxElections, "election"), thousands(len(elections)-maxElections))
		elections = elections[:maxElections]
	}
	c.drawn = elections
	for _, election := range elections {
		name := ""
		if len(elections) > 1 {
			name = " · " + election
		}
		top = c.storeLane(top, election, name)
		top = c.beliefLane(top, election, name, closeUp)
	}
	top = c.faultLane(top)
	c.Height = top + 6
	c.lives()
	c.refusals()
	c.flags()
	c.summarise()
	return &c.drawing
}

// rankTokens numbers the tokens of each election, so that neighbours differ in
// colour even where tokens leap.
func (c *canvas) rankTokens() {
	c.rank = map[rankKey]int{}
	seen := map[string][]rankKey{}
	note := func(election, node string, token uint64) {
		key := keyOf(election, node, token)
		if _, ok := c.rank[key]; !ok {
			c.rank[key] = 0
			seen[election] = append(seen[election], key)
		}
	}
	for _, t := range c.r.Terms {
		note(t.Election, t.Node, t.Token)
	}
	for _, t := range c.r.Holdings {
		note(t.Election, t.Node, t.Token)
	}
	for _, keys := range seen {
		slices.SortFunc(keys, func(a, b rankKey) int {
			return cmp.Or(cmp.Compare(a.token, b.token), cmp.Compare(a.node, b.node))
		})
		for i, key := range keys {
			c.rank[key] = i
		}
	}
}

func keyOf(election, node string, token uint64) rankKey {
	if token != 0 {
		node = ""
	}
	return rankKey{election, token, node}
}

func (c *canvas) colour(election, node string, token uint64) string {
	return fmt.Sprintf("t%d", c.rank[keyOf(election, node, token)]%palette)
}

// electionsOf lists the elections by name.
func electionsOf(h *history.History, r *checker.Result) []string {
	var names []string
	for _, t := range r.Terms {
		names = append(names, t.Election)
	}
	for _, t := range r.Holdings {
		names = append(names, t.Election)
	}
	if len(names) == 0 {
		for i := range h.Events {
			if h.Events[i].Election != "" {
				names = append(names, h.Events[i].Election)
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return []string{""}
	}
	return names
}

// caption and lane add a line to the left margin and return the next free top.
func (c *canvas) caption(top int, text string) int {
	c.Rows = append(c.Rows, row{Y: top + captionHeight - 8, Label: text, Full: text, Caption: true})
	return top + captionHeight
}

func (c *canvas) lane(top int, name string) int {
	c.Rows = append(c.Rows, row{Y: top + rowHeight/2 + 4, Label: shorten(name, 24), Full: name})
	return top + rowHeight
}

func (c *canvas) storeLane(top int, election, suffix string) int {
	top = c.caption(top, "What the store held"+suffix)
	c.storeY[election] = top
	var bars []bar
	for _, t := range c.r.Holdings {
		if t.Election != election {
			continue
		}
		if b, ok := c.bar(top, t.From, t.To); ok {
			b.Class, b.Lane = c.colour(election, t.Node, t.Token), "store"
			b.Label = t.Node + tokenTag(t.Token)
			b.Title = fmt.Sprintf("store: %s%s, certainly from %s to %s (%s)", t.Node, tokenWords(t.Token), seconds(t.From), seconds(t.To), length(t.To-t.From))
			bars = append(bars, b)
		}
	}
	c.Bars = append(c.Bars, c.fit(bars, "holdings")...)
	return c.lane(top, "store")
}

func (c *canvas) beliefLane(top int, election, suffix string, closeUp bool) int {
	top = c.caption(top, "Who believed"+suffix)
	first := top
	nodes := c.nodesOf(election, closeUp)
	if len(nodes) > maxDrawn {
		c.left("%s of election %q not drawn", plural(len(nodes)-maxDrawn, "node"), election)
		nodes = nodes[:maxDrawn]
	}
	for _, node := range nodes {
		c.nodeY[nodeKey{election, node}] = top
		top = c.lane(top, node)
	}
	if len(nodes) == 0 {
		top = c.lane(top, "nobody")
	}
	var bars []bar
	for _, t := range c.r.Terms {
		y, drawn := c.nodeY[nodeKey{election, t.Node}]
		if t.Election != election || !drawn {
			continue
		}
		if b, ok := c.bar(y, t.From, t.To); ok {
			b.Class, b.Lane = c.colour(election, t.Node, t.Token), "belief"
			b.Label = or(shortToken(t.Token), t.Node)
			b.Title = fmt.Sprintf("%s%s believed from %s to %s (%s); ended: %s", t.Node, tokenWords(t.Token), seconds(t.From), seconds(t.To), length(t.To-t.From), or(t.Why, "not before the run did"))
			bars = append(bars, b)
		}
	}
	c.Bars = append(c.Bars, c.fit(bars, "terms")...)
	c.dualBelief(election, first, top-first)
	return top
}

// nodesOf lists those of the header in its order, then any others.
func (c *canvas) nodesOf(election string, closeUp bool) []string {
	acts := map[string]bool{}
	var others []string
	for _, t := range c.r.Terms {
		if t.Election != election || closeUp && (t.To < c.From || t.From > c.To) {
			continue
		}
		if !acts[t.Node] && !slices.Contains(c.h.Header.Nodes, t.Node) {
			others = append(others, t.Node)
		}
		acts[t.Node] = true
	}
	for _, g := range c.guilty {
		acts[g.Node] = true
	}
	nodes := slices.Clone(c.h.Header.Nodes)
	if closeUp {
		nodes = slices.DeleteFunc(nodes, func(n string) bool { return !acts[n] })
	}
	slices.Sort(others)
	return append(nodes, others...)
}

// dualBelief marks the times in which two candidates believed.
func (c *canvas) dualBelief(election string, top, height int) {
	var bands []bar
	for _, o := range overlaps(c.r.Terms, c.h.Header.ClockError) {
		b, ok := c.bar(top-barInset, o.from, o.to)
		if !ok || o.a.Election != election {
			continue
		}
		b.H, b.Class, b.Label = height+2*barInset, "dual", length(o.to-o.from)
		b.Middle = number(c.share(b.from)/2 + c.share(b.to)/2)
		b.Title = fmt.Sprintf("%s%s and %s%s both believed, from %s to %s (%s)", o.a.Node, tokenWords(o.a.Token), o.b.Node, tokenWords(o.b.Token), seconds(o.from), seconds(o.to), b.Label)
		bands = append(bands, b)
	}
	if len(bands) > maxLabels {
		for i := range bands {
			bands[i].Label = ""
		}
	}
	c.Bands = append(c.Bands, c.fit(bands, "times of dual belief")...)
}

// overlap is a time in which two candidates believed in one election.
type overlap struct {
	a, b     checker.Term
	from, to time.Duration
}

// overlaps finds, for each term, its overlap with the one before it that lasts
// longest. Those within the error of the clocks prove nothing and are left out.
func overlaps(all []checker.Term, clockError time.Duration) []overlap {
	terms := slices.Clone(all)
	slices.SortStableFunc(terms, func(a, b checker.Term) int {
		return cmp.Or(cmp.Compare(a.Election, b.Election), cmp.Compare(a.From, b.From))
	})
	var out []overlap
	var longest checker.Term
	for i, t := range terms {
		if i == 0 || t.Election != longest.Election {
			longest = t
			continue
		}
		from, to := t.From, min(t.To, longest.To)
		if t.Node != longest.Node && to-from > clockError {
			out = append(out, overlap{longest, t, from, to})
		}
		if t.To > longest.To {
			longest = t
		}
	}
	return out
}

// bar places a time span in a row; ok is false where it lies outside.
func (c *canvas) bar(top int, from, to time.Duration) (bar, bool) {
	if to < c.From || from > c.To || to < from {
		return bar{}, false
	}
	from, to = max(from, c.From), min(to, c.To)
	width := c.share(to) - c.share(from)
	return bar{
		X: number(c.share(from)), W: number(width), Y: top + barInset, H: rowHeight - 2*barInset,
		Tiny: width < 2.5, from: from, to: to,
	}, true
}

// fit leaves out the shortest bars where there are too many.
func (c *canvas) fit(bars []bar, what string) []bar {
	if len(bars) <= maxBars {
		return bars
	}
	byLength := slices.Clone(bars)
	slices.SortStableFunc(byLength, func(a, b bar) int { return cmp.Compare(b.to-b.from, a.to-a.from) })
	c.left("the %s shortest %s (none longer than %s)", thousands(len(bars)-maxBars), what, length(byLength[maxBars].to-byLength[maxBars].from))
	kept := byLength[:maxBars]
	slices.SortStableFunc(kept, func(a, b bar) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.Y, b.Y)) })
	return kept
}

func (c *canvas) left(format string, args ...any) {
	c.Left = append(c.Left, fmt.Sprintf(format, args...))
}

// share is where t lies in the window, in percent.
func (c *canvas) share(t time.Duration) float64 {
	return 100 * float64(t-c.From) / float64(c.To-c.From)
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', 4, 64) }

func shorten(s string, most int) string {
	if letters := []rune(s); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return s
}

// shortToken leaves the last digits of a token that is seeded from a clock.
func shortToken(token uint64) string {
	if token == 0 {
		return ""
	}
	s := strconv.FormatUint(token, 10)
	if len(s) > 7 {
		return "…" + s[len(s)-5:]
	}
	return s
}

func tokenTag(token uint64) string {
	if token == 0 {
		return ""
	}
	return " · " + shortToken(token)
}

func tokenWords(token uint64) string {
	if token == 0 {
		return ""
	}
	return fmt.Sprintf(" (token %d)", token)
}

// length writes a span of time for people.
func length(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d >= time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + " s"
	default:
		return ms(millis(d)) + " ms"
	}
}

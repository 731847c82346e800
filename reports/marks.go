package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/recount-io/recount/history"
)

// axis chooses round times for about eight ticks.
func (c *canvas) axis() {
	step := roundStep(c.To-c.From, 8)
	for t := (c.From + step - 1) / step * step; t <= c.To; t += step {
		x := c.share(t)
		anchor := "middle"
		switch {
		case x < 2:
			anchor = "start"
		case x > 98:
			anchor = "end"
		}
		c.Ticks = append(c.Ticks, tick{number(x), tickLabel(t, step), anchor})
	}
}

// roundStep is 1, 2 or 5 times a power of ten, so that span has no more than
// limit steps.
func roundStep(span time.Duration, limit int64) time.Duration {
	step := time.Duration(1)
	for {
		for _, factor := range []time.Duration{1, 2, 5} {
			if int64(span/(step*factor)) <= limit {
				return step * factor
			}
		}
		step *= 10
	}
}

// tickLabel has as many decimals as the step needs.
func tickLabel(t, step time.Duration) string {
	decimals := 0
	for unit := time.Second; step%unit != 0 && decimals < 9; unit /= 10 {
		decimals++
	}
	return fmt.Sprintf("%.*f s", decimals, t.Seconds())
}

// spell is one fault from on to off.
type spell struct {
	name, id  string
	targets   []string
	from, to  time.Duration
	open      bool // no off event
	effective *bool
	evidence  string
}

// spellsOf pairs the fault events of the history by their ids.
func spellsOf(h *history.History, end time.Duration) []spell {
	var out []spell
	open := map[string]int{}
	for i := range h.Events {
		e := &h.Events[i]
		if e.Kind != history.Fault {
			continue
		}
		key := e.ID + "\x00" + e.Fault
		if e.Phase == history.On {
			open[key] = len(out)
			out = append(out, spell{name: e.Fault, id: e.ID, targets: e.Targets, from: e.At, to: max(end, e.At), open: true})
			continue
		}
		at, found := open[key]
		if !found {
			continue
		}
		delete(open, key)
		s := &out[at]
		s.to, s.open, s.effective, s.evidence = e.At, false, e.Effective, e.Evidence
	}
	return out
}

func (s *spell) title() string {
	text := s.name
	if len(s.targets) > 0 {
		text += " on " + strings.Join(s.targets, ", ")
	}
	text += fmt.Sprintf(", from %s to %s (%s)", seconds(s.from), seconds(s.to), length(s.to-s.from))
	if s.open {
		text += "; never taken off"
	}
	if s.effective != nil && !*s.effective {
		text += "; WITHOUT EFFECT"
	}
	if why := uninjected(s.name); why != "" {
		text += "; " + why
	}
	if s.evidence != "" {
		text += "; " + Redact(s.evidence)
	}
	return text
}

// faultLane draws a row for each name of a fault: long ones as bars, instant
// ones as ticks. Nodes that a fault hits are hatched in the lane of beliefs.
func (c *canvas) faultLane(top int) int {
	end := max(c.r.End, c.To)
	spells := slices.DeleteFunc(spellsOf(c.h, end), func(s spell) bool { return s.to < c.From || s.from > c.To })
	top = c.caption(top, "Faults")
	for i := range c.h.Events {
		if e := &c.h.Events[i]; e.Kind == history.Healed && e.At >= c.From && e.At <= c.To {
			anchor := "start"
			if c.share(e.At) > 80 {
				anchor = "end"
			}
			c.Healed = append(c.Healed, tick{number(c.share(e.At)), "healed " + seconds(e.At), anchor})
		}
	}
	if len(spells) == 0 {
		return c.lane(top, "none")
	}
	var names []string
	for _, s := range spells {
		if !slices.Contains(names, s.name) {
			names = append(names, s.name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(uninjected(a), uninjected(b)) }) // injected ones first
	if len(names) > maxFaults {
		c.left("%s not drawn", plural(len(names)-maxFaults, "kind of fault"))
		names = names[:maxFaults]
	}
	instant := (c.To - c.From) / 400
	var bars, hits []bar
	var points []point
	for _, name := range names {
		if why := uninjected(name); why != "" {
			top = c.caption(top, upper(why))
		}
		for _, s := range spells {
			if s.name != name {
				continue
			}
			b, ok := c.bar(top, s.from, s.to)
			if !ok {
				continue
			}
			b.Class, b.Lane, b.Label, b.Title = "fault", "fault", strings.Join(s.targets, ", "), s.title()
			if s.effective != nil && !*s.effective {
				b.Class += " idle"
			}
			hits = append(hits, c.hits(s)...)
			if s.to-s.from < instant {
				points = append(points, point{X: b.X, Y: top + rowHeight/2, Class: "instant", Lane: "fault", Title: b.Title, at: s.from})
				continue
			}
			bars = append(bars, b)
		}
		top = c.lane(top, name)
	}
	c.Bars = append(c.Bars, c.fit(bars, "faults")...)
	c.Hits = append(c.Hits, c.fit(hits, "marks of faults on nodes")...)
	c.Points = append(c.Points, c.merge(points)...)
	return top
}

// hits marks a fault in the rows of its targets.
func (c *canvas) hits(s spell) []bar {
	var out []bar
	add := func(y int) {
		if b, ok := c.bar(y, s.from, s.to); ok {
			b.Y, b.H, b.Class, b.Title = y+1, rowHeight-2, "hit", s.title()
			out = append(out, b)
		}
	}
	for _, election := range c.drawn {
		for _, target := range s.targets {
			if y, ok := c.storeY[election]; ok && target == history.StoreTarget {
				add(y)
			}
			if y, ok := c.nodeY[nodeKey{election, target}]; ok {
				add(y)
			}
		}
	}
	return out
}

// lives draws when a candidate's process was there: from its start, or from
// the beginning where no start was recorded, to its exit.
func (c *canvas) lives() {
	type life struct{ from, to time.Duration }
	lives := map[string][]life{}
	open := map[string]bool{}
	for i := range c.h.Events {
		e := &c.h.Events[i]
		switch {
		case e.Kind == history.Start && !open[e.Node]:
			lives[e.Node] = append(lives[e.Node], life{e.At, max(c.r.End, c.To)})
			open[e.Node] = true
		case e.Kind == history.Exit && !open[e.Node] && len(lives[e.Node]) == 0:
			lives[e.Node] = append(lives[e.Node], life{0, e.At})
		case e.Kind == history.Exit && open[e.Node]:
			lives[e.Node][len(lives[e.Node])-1].to = e.At
			open[e.Node] = false
		}
	}
	keys := make([]nodeKey, 0, len(c.nodeY))
	for key := range c.nodeY {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b nodeKey) int { return cmp.Compare(c.nodeY[a], c.nodeY[b]) })
	var bars []bar
	for _, key := range keys {
		spans := lives[key.node]
		if spans == nil {
			spans = []life{{0, max(c.r.End, c.To)}}
		}
		for _, s := range spans {
			if b, ok := c.bar(c.nodeY[key], s.from, s.to); ok {
				b.Y, b.H = c.nodeY[key]+rowHeight/2-1, 1
				bars = append(bars, b)
			}
		}
	}
	c.Lives = c.fit(bars, "lives of processes")
}

// refusals ticks the writes that the resource refused: the fence at work.
func (c *canvas) refusals() {
	write := map[int64]*history.Event{}
	var points []point
	for i := range c.h.Events {
		e := &c.h.Events[i]
		if e.Kind == history.Invoke && e.Call == history.Write {
			write[e.Op] = e
			continue
		}
		begun := write[e.Op]
		if begun == nil || e.Op == 0 {
			continue
		}
		delete(write, e.Op)
		if e.Kind != history.Fail || e.At < c.From || e.At > c.To {
			continue
		}
		y, ok := c.nodeY[nodeKey{begun.Election, begun.Node}]
		if !ok {
			y, ok = c.anyRow(begun.Node)
		}
		if ok {
			title := fmt.Sprintf("write of %s%s refused at %s, fence %d", begun.Node, tokenWords(begun.Token), seconds(e.At), e.Fence)
			points = append(points, point{X: number(c.share(e.At)), Y: y + rowHeight - 5, Class: "refused", Lane: "belief", Title: title, at: e.At})
		}
	}
	c.Points = append(c.Points, c.merge(points)...)
}

// anyRow finds the node's row where the history names no election.
func (c *canvas) anyRow(node string) (int, bool) {
	found, ok := 0, false
	for key, y := range c.nodeY {
		if key.node == node && (!ok || y < found) {
			found, ok = y, true
		}
	}
	return found, ok
}

// merge makes one of those points of a row that are too close to tell apart.
func (c *canvas) merge(points []point) []point {
	slices.SortStableFunc(points, func(a, b point) int { return cmp.Or(cmp.Compare(a.Y, b.Y), cmp.Compare(a.at, b.at)) })
	near := (c.To - c.From) / 300
	var out []point
	many := 0
	for _, p := range points {
		if last := len(out) - 1; last >= 0 && out[last].Y == p.Y && p.at-out[last].at < near {
			if many++; many == 1 {
				out[last].Title += fmt.Sprintf("; and others until %s", seconds(out[last].at+near))
			}
			continue
		}
		many = 0
		out = append(out, p)
	}
	if len(out) > maxPoints {
		c.left("%s", plural(len(out)-maxPoints, "tick"))
		out = out[:maxPoints]
	}
	return out
}

func (c *canvas) flagLevels() int { return (min(len(c.guilty), maxEvents) + 1) / 2 }

// flags plants one at every guilty event, in pairs that point away from each
// other, so that neighbours stay legible.
func (c *canvas) flags() {
	for i, g := range c.guilty[:min(len(c.guilty), maxEvents)] {
		at := g.at()
		if at < c.From || at > c.To {
			continue
		}
		x := c.share(at)
		f := guiltyMark{X: number(x), Y: axisHeight + i/2*flagHeight, Seq: g.Seq, Anchor: "end", DX: -5}
		if (i%2 == 1 && x < 85) || x < 15 {
			f.Anchor, f.DX = "start", 5
		}
		f.Title = fmt.Sprintf("guilty: event %d at %s, %s%s %s: %s", g.Seq, seconds(at), or(g.Node, "run"), tokenWords(g.Token), g.Kind, g.Text)
		if y, ok := c.nodeY[nodeKey{g.Election, g.Node}]; ok {
			f.Dot = y + rowHeight/2
		} else if y, ok := c.anyRow(g.Node); ok {
			f.Dot = y + rowHeight/2
		}
		c.Flags = append(c.Flags, f)
	}
}

// summarise puts the drawing into words for those who cannot see it.
func (c *canvas) summarise() {
	c.Title = fmt.Sprintf("The run from %s to %s", seconds(c.From), seconds(c.To))
	count := map[string]int{}
	for _, b := range c.Bars {
		count[b.Lane]++
	}
	for _, p := range c.Points {
		count[p.Lane+p.Class]++
	}
	c.Summary = fmt.Sprintf("Time runs from left to right. Drawn are %s of the lease in the store, %s of belief, %s, and %s in which more than one candidate believed.",
		plural(count["store"], "holding"), plural(count["belief"], "term"), plural(count["fault"]+count["faultinstant"], "fault"), plural(len(c.Bands), "time"))
}

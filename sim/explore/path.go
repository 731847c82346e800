package explore

import (
	"fmt"
	"strings"
)

// Path is the shortest way to something broken.
type Path struct {
	Settings *Settings
	Broken   string
	Steps    []Step

	plant *plant
	way   []uint64 // hashes of the states
	ends  bool     // the last state is what is broken, not an action after it
}

// Step is one action of a path: what happens, and what comes of it.
type Step struct {
	At     int      `json:"at"` // ticks from the beginning, by the store's clock
	Action Action   `json:"action"`
	Dice   []int    `json:"dice,omitempty"` // the random times of the action, in ticks
	Lines  []string `json:"lines"`
}

// event is a line of what a machine has said.
type event string

// begin is the world of the path, in the beginning.
func (p *Path) begin(tells bool) model {
	w := newModel(p.Settings, p.plant)
	w.shared().tells = tells
	return w
}

// find walks the path in the concrete world, whose states are never folded.
func (p *Path) find() error {
	w := p.begin(true)
	for i, want := range p.way[1:] {
		next := p.choose(w, want)
		if next == nil {
			return lostWay(i + 1)
		}
		w = next
	}
	if p.ends {
		return nil
	}
	for _, a := range w.actions(nil) {
		var planned []uint8
		for more := true; more; {
			last := w.fork(planned)
			last.apply(a)
			if broken := last.shared().broken; broken != "" {
				p.Broken = broken // in the names of this world
				p.note(last, a)
				return nil
			}
			more = last.shared().random.next()
			planned = last.shared().random.planned
		}
	}
	return lostWay(len(p.way))
}

// choose is the world after the action that leads to a state of this hash.
func (p *Path) choose(w model, want uint64) model {
	for _, a := range w.actions(nil) {
		var planned []uint8
		for more := true; more; {
			next := w.fork(planned)
			next.apply(a)
			if next.shared().broken == "" && foldOf(next) == want {
				next.tidyMessages()
				p.note(next, a)
				return next
			}
			more = next.shared().random.next()
			planned = next.shared().random.planned
		}
	}
	return nil
}

func (p *Path) note(w model, a Action) {
	c := w.shared()
	step := Step{At: tickOf(c.now), Action: a}
	for _, face := range c.random.planned[:len(c.random.faces)] {
		step.Dice = append(step.Dice, int(face))
	}
	step.Lines = append(step.Lines, w.describe(a))
	for _, e := range c.events {
		step.Lines = append(step.Lines, string(e))
	}
	p.Steps = append(p.Steps, step)
}

// Text tells the path in words.
func (p *Path) Text() string {
	var b strings.Builder
	for i, s := range p.Steps {
		wrap(&b, fmt.Sprintf("%3d  t=%-3d", i+1, s.At), s.Lines[0])
		for _, line := range s.Lines[1:] {
			wrap(&b, "           ", line)
		}
	}
	wrap(&b, "    ", p.Broken)
	return b.String()
}

// wrap writes a line of no more than 80 columns, and what is too much for it below,
// under the same words.
func wrap(b *strings.Builder, begin, text string) {
	line := begin
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > 80 {
			fmt.Fprintln(b, line)
			line = strings.Repeat(" ", len(begin)+2)
		}
		line += " " + word
	}
	fmt.Fprintln(b, line)
}

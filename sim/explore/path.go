package explore

import (
	"fmt"
	"strings"
	"time"
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

// walked is a state of a concrete world in which a path is walked.
type walked interface {
	actions(list []Action) []Action
	apply(a Action)
	describe(a Action) string
	news() news
	dice() *dice
	fork(told []uint8) walked // an independent copy, whose dice fall as told
	fold() uint64             // the hash of its plainest form
	tidyMessages()
	stuck() bool
}

// news is what the last action has brought.
type news struct {
	now    time.Duration
	broken string
	sights Sight
	events []event
}

// begin is the world of the path, in the beginning.
func (p *Path) begin(tells bool) walked {
	switch {
	case p.Settings.Stores > 0:
		w := newMajority(p.Settings, p.plant)
		w.tells = tells
		return w
	case p.Settings.Elections > 0:
		w := newWitnessed(p.Settings, p.plant)
		w.tells = tells
		return w
	}
	w := newWorld(p.Settings, p.plant)
	w.tells = tells
	return w
}

func (w *world) news() news { return news{w.now, w.broken, w.sights, w.events} }

func (w *world) dice() *dice { return &w.random }

func (w *world) fork(told []uint8) walked {
	c := w.clone()
	c.random.told = told
	return c
}

func (w *world) fold() uint64 { return hash(new(codec).append(nil, w.clone())) }

func (w *majority) news() news { return news{w.now, w.broken, w.sights, w.events} }

func (w *majority) dice() *dice { return &w.random }

// fork walks the way to the present state once more.
func (w *majority) fork([]uint8) walked {
	c := newMajority(w.set, w.plant)
	for _, a := range w.trail {
		c.apply(a)
	}
	c.tells = w.tells
	return c
}

func (w *majority) fold() uint64 {
	c := w.fork(nil).(*majority)
	return hash(newMajorityCodec().append(nil, c))
}

// tidyMessages has nothing left to do: see tidyParcels.
func (w *majority) tidyMessages() {}

// stuck is asked of worlds of one store only.
func (w *majority) stuck() bool { return false }

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
		var told []uint8
		for more := true; more; {
			last := w.fork(told)
			last.apply(a)
			if broken := last.news().broken; broken != "" {
				p.Broken = broken // in the names of this world
				p.note(last, a)
				return nil
			}
			more = last.dice().next()
			told = last.dice().told
		}
	}
	return lostWay(len(p.way))
}

// choose is the world after the action that leads to a state of this hash.
func (p *Path) choose(w walked, want uint64) walked {
	for _, a := range w.actions(nil) {
		var told []uint8
		for more := true; more; {
			next := w.fork(told)
			next.apply(a)
			if next.news().broken == "" && next.fold() == want {
				next.tidyMessages()
				p.note(next, a)
				return next
			}
			more = next.dice().next()
			told = next.dice().told
		}
	}
	return nil
}

func (p *Path) note(w walked, a Action) {
	news, d := w.news(), w.dice()
	step := Step{At: tickOf(news.now), Action: a}
	for _, face := range d.told[:len(d.faces)] {
		step.Dice = append(step.Dice, int(face))
	}
	step.Lines = append(step.Lines, w.describe(a))
	for _, e := range news.events {
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

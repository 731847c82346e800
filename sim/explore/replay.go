package explore

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// replayVersion is that of the files that Marshal writes.
const replayVersion = 1

// replayFile is a path as a file.
type replayFile struct {
	Version *int   `json:"recount_explore"`
	World   string `json:"world"`
	Mutant  string `json:"mutant,omitempty"` // in files of older programs, which had bugs planted in them
	Broken  string `json:"broken"`
	Ends    bool   `json:"ends,omitempty"`
	Steps   []Step `json:"steps"`
}

// Marshal writes the path as a file that ParsePath reads.
func (p *Path) Marshal() ([]byte, error) {
	version := replayVersion
	text, err := json.MarshalIndent(replayFile{Version: &version, World: p.Settings.Name, Broken: p.Broken, Ends: p.ends, Steps: p.Steps}, "", "  ")
	return append(text, '\n'), err
}

// IsPath reports whether a file looks like one that Marshal wrote.
func IsPath(text []byte) bool {
	var f replayFile
	return json.Unmarshal(text, &f) == nil && f.Version != nil
}

// ParsePath reads a path. Its world must have the name that it had.
func ParsePath(text []byte) (*Path, error) {
	var f replayFile
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("explore: the file is no path: %w", err)
	}
	set := Find(f.World)
	switch {
	case f.Version == nil || *f.Version != replayVersion:
		return nil, fmt.Errorf("explore: the file is no path of version %d", replayVersion)
	case set == nil:
		return nil, fmt.Errorf("explore: no world is called %q", f.World)
	case f.Mutant != "":
		return nil, fmt.Errorf("explore: the path is that of a mutant, %s, and this program has none: plant it in the source, see docs/mutants.md", f.Mutant)
	}
	return &Path{Settings: set, Broken: f.Broken, Steps: f.Steps, plant: &plant{}, ends: f.Ends}, nil
}

// ErrElsewhere is that of a path that cannot be walked any more: what it does next
// is not possible where it has come to. The machine decides otherwise than it did.
var ErrElsewhere = errors.New("explore: the path leads elsewhere now")

// Walk walks the path once more, in the concrete world, with the machine as it is.
// It says what is broken on the way, "" if nothing is.
func (p *Path) Walk() (broken string, err error) {
	w := p.begin(false)
	for i, s := range p.Steps {
		if !slices.Contains(w.actions(nil), s.Action) {
			return "", fmt.Errorf("%w: at step %d, %v cannot be done", ErrElsewhere, i+1, s.Action.Kind)
		}
		d := &w.shared().random
		*d = dice{}
		for _, face := range s.Dice {
			d.planned = append(d.planned, uint8(face))
		}
		w.apply(s.Action)
		if !d.fit() {
			return "", fmt.Errorf("%w: at step %d, %v draws other times", ErrElsewhere, i+1, s.Action.Kind)
		}
		if broken := w.shared().broken; broken != "" {
			return broken, nil
		}
		w.tidyMessages()
	}
	if p.ends && stuck(w) {
		return brokenStuck, nil
	}
	return "", nil
}

const brokenStuck = "nobody can lead any more, though nothing goes wrong from here on"

// stuck reports whether nothing leads from here to a state in which somebody leads,
// while nothing goes wrong.
func stuck(w model) bool {
	seen := newIndex()
	queue := [][]byte{w.fork(nil).append(nil)}
	at := newModel(w.shared().set, w.shared().plant)
	dice := &at.shared().random
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		at.load(state)
		if at.leads() {
			return false
		}
		for _, a := range at.actions(nil) {
			for more := a.Kind.calm(); more; more = dice.next() {
				at.load(state)
				dice.faces = dice.faces[:0]
				at.apply(a)
				next := at.append(nil)
				if _, added := seen.add(hash(next), 0); added {
					queue = append(queue, next)
				}
			}
		}
	}
	return true
}

func (w *world) leads() bool {
	there := false
	for i := range w.nodes {
		n := &w.nodes[i]
		if n.believes() {
			return true
		}
		there = there || n.up
	}
	return !there
}

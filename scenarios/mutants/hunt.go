package mutants

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Hunt is how mutants are hunted.
type Hunt struct {
	Root   string                           // the module's folder
	Budget time.Duration                    // for each world, of a processor, without what compiling takes
	Every  bool                             // go on to the other worlds when one has found the mutant
	In     string                           // only in worlds whose name has that in it
	Units  bool                             // run the tests of the mutant's own package, too
	Tell   func(format string, args ...any) // what each world came to

	folder string            // of binaries of the sound source
	sound  map[string]string // these, by what they are made of
}

// Close removes what hunts share.
func (h *Hunt) Close() {
	if h.folder != "" {
		_ = os.RemoveAll(h.folder) // in the system's own folder for such
	}
}

// Sighting is what one world came to.
type Sighting struct {
	World   string
	Found   bool
	Promise string // or obligation that was broken
	Words   string
	Cases   int           // that it took, or were made in vain
	Busy    time.Duration // of a processor, without what compiling takes
}

// Result is what became of a mutant.
type Result struct {
	Mutant
	Sightings []Sighting
	Units     []string // the tests of its own package that fail, too
}

// Found is the first sighting that is one.
func (r *Result) Found() (Sighting, bool) {
	i := slices.IndexFunc(r.Sightings, func(s Sighting) bool { return s.Found })
	if i < 0 {
		return Sighting{}, false
	}
	return r.Sightings[i], true
}

// Find hunts a mutant through the worlds in which its code runs.
func (h *Hunt) Find(ctx context.Context, m Mutant) (Result, error) {
	r := Result{Mutant: m}
	folder, err := os.MkdirTemp("", "recount-mutant-")
	if err != nil {
		return r, fmt.Errorf("mutants: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }() // in the system's own folder for such
	overlay, err := m.Overlay(h.Root, folder)
	if err != nil {
		return r, err
	}
	if r.Units, err = h.units(ctx, m.folder(), overlay); err != nil {
		return r, fmt.Errorf("mutants: %s: %w", m.Name, err)
	}
	of := slices.DeleteFunc(worlds(), func(w world) bool { return !slices.Contains(w.kinds, m.Kind) })
	if m.First != "" {
		of = slices.Insert(of, 0, first(&m))
	}
	if r.Sightings, err = h.through(ctx, folder, overlay, of); err != nil {
		return r, fmt.Errorf("mutants: %s: %w", m.Name, err)
	}
	return r, nil
}

// Clean puts the source without a mutation through every world, for as long.
func (h *Hunt) Clean(ctx context.Context) ([]Sighting, error) {
	folder, err := os.MkdirTemp("", "recount-mutant-")
	if err != nil {
		return nil, fmt.Errorf("mutants: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }() // in the system's own folder for such
	every := *h
	every.Every = true
	return every.through(ctx, folder, "", worlds())
}

// through goes through the worlds, one after the other.
func (h *Hunt) through(ctx context.Context, folder, overlay string, of []world) (all []Sighting, err error) {
	built := map[string]string{}
	for _, w := range of {
		if !strings.Contains(w.name, h.In) {
			continue
		}
		if built[w.from] == "" {
			if built[w.from], err = h.build(ctx, w.from, overlay, folder); err != nil {
				return all, err
			}
		}
		s := h.in(ctx, &w, built[w.from], folder, overlay != "")
		h.Tell("  %s: %s", w.name, s.text())
		all = append(all, s)
		if s.Found && !h.Every || ctx.Err() != nil {
			break
		}
	}
	return all, ctx.Err()
}

// alarms reports whether the source without the mutation raises an alarm in the same call, or in
// the same case where its number was told.
func (h *Hunt) alarms(ctx context.Context, c call, number string) bool {
	var err error
	if h.folder == "" {
		h.sound = map[string]string{}
		if h.folder, err = os.MkdirTemp("", "recount-sound-"); err != nil {
			return true
		}
	}
	from := c.world.from
	if h.sound[from] == "" {
		if h.sound[from], err = h.build(ctx, from, "", h.folder); err != nil {
			return true
		}
	}
	again := call{world: c.world, binary: h.sound[from], folder: h.folder, root: c.root, args: c.args, env: c.env, limit: h.Budget}
	if number != "" {
		again.args = c.world.again(number)
	}
	_, found := again.run(ctx)
	return found
}

func (s *Sighting) text() string {
	if s.Found {
		return fmt.Sprintf("%s after %d cases and %.1f s: %.200s", s.Promise, s.Cases, s.Busy.Seconds(), s.Words)
	}
	return fmt.Sprintf("nothing in %d cases and %.1f s", s.Cases, s.Busy.Seconds())
}

// build compiles a package's tests, or a command, with the overlay.
func (h *Hunt) build(ctx context.Context, from, overlay, folder string) (string, error) {
	binary := filepath.Join(folder, strings.ReplaceAll(from, "/", "-"))
	args := []string{"test", "-c", "-ldflags=-s -w", "-o", binary}
	if strings.HasPrefix(from, "cmd/") {
		args = []string{"build", "-ldflags=-s -w", "-o", binary}
	}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./"+from)...)
	cmd.Dir = h.Root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s does not compile: %w\n%s", from, err, out)
	}
	return binary, nil
}

// loadFactor is how many times as long as its processors work a hunt may take, on a
// machine that has other things to do.
const loadFactor = 15

// in hunts in one world until something is found, or the time is over.
func (h *Hunt) in(ctx context.Context, w *world, binary, folder string, overlaid bool) Sighting {
	s := Sighting{World: w.name}
	most := loadFactor * h.Budget
	if w.waits {
		most = h.Budget
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	var known []string // numbers of cases in which the sound source raises an alarm, too
	for n := 0; ctx.Err() == nil && h.Budget-s.Busy >= time.Second; n++ {
		args, env, more := w.call(n)
		if !more {
			break
		}
		c := call{world: w, binary: binary, folder: folder, root: h.Root, args: args, env: env, limit: h.Budget - s.Busy, known: known}
		f, found := c.run(ctx)
		s.Busy += c.busy
		if found && overlaid && h.alarms(ctx, c, f.number) {
			h.Tell("  %s: a false alarm, which the sound source raises, too: %.200s", w.name, f.words)
			if f.number != "" {
				known = append(known, f.number)
				n-- // what comes after it in the call is looked at, too
				continue
			}
			s.Cases += f.cases
			continue
		}
		if w.numbered && found {
			s.Cases = 0
		}
		s.Cases += f.cases
		if found {
			s.Found, s.Promise, s.Words = true, f.promise, f.words
			return s
		}
	}
	return s
}

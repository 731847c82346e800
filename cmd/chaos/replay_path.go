package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/misuse"
	"github.com/recount-io/recount/sim/explore"
)

// walk is a file with a path that chaos explore has saved.
type walk struct {
	file string
	path *explore.Path
}

// sortFiles tells the files of chaos fuzz from those of chaos explore, and reads
// the latter.
func sortFiles(f replayFlags, paths []string) (cases []string, walks []walk, err error) {
	switch {
	case f.world != "virtual" && f.world != liveReplay:
		return nil, nil, misuse.Of(fmt.Errorf("there is no world %q: use --world virtual or --world live", f.world))
	case f.runs < 1:
		return nil, nil, misuse.Of(fmt.Errorf("--runs %d: it must run at least once", f.runs))
	case f.parallel < 1:
		return nil, nil, misuse.Of(fmt.Errorf("--parallel %d: at least one run must be under way at a time", f.parallel))
	}
	files, err := replayFiles(paths)
	if err != nil {
		return nil, nil, misuse.Of(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || filepath.Ext(file) != ".json" || !explore.IsPath(text) {
			cases = append(cases, file) // whatever is wrong with it is told when it is read as a case
			continue
		}
		if f.world == liveReplay {
			return nil, nil, misuse.Of(fmt.Errorf("%s: a path of chaos explore can be walked in its own world only: leave --world out", file))
		}
		path, err := explore.ParsePath(text)
		if err != nil {
			return nil, nil, misuse.Of(fmt.Errorf("%s: %w", file, err))
		}
		walks = append(walks, walk{file, path})
	}
	return cases, walks, nil
}

// again walks the path once more.
func (w *walk) again() replayed {
	done := replayed{File: w.file, Verdict: checker.Pass, Runs: 1}
	broken, err := w.path.Walk()
	switch {
	case errors.Is(err, explore.ErrElsewhere):
		done.says = fmt.Sprintf("it does not fail any more: %v", err)
	case err != nil:
		done.Verdict, done.Reason, done.says = checker.Unknown, err.Error(), "undecided: "+err.Error()
	case broken != "":
		done.Verdict, done.Reason, done.Fails, done.says = checker.Fail, broken, 1, "it fails: "+broken
	default:
		done.says = "it does not fail any more: nothing is broken on its way"
	}
	return done
}

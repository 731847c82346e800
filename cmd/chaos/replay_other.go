package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/scenarios/search"
	"github.com/recount-io/recount/sim/explore"
)

// again is what can be repeated of a file that holds no plan.
type again interface {
	again(ctx context.Context) (replayed, error)
}

// walk is a file with a path that chaos explore has saved.
type walk struct {
	file string
	path *explore.Path
}

// found is a file with a failure that chaos fuzz --in has saved.
type found struct {
	file    string
	failure search.Failure
	out     string // a folder for reports, or ""
}

// sortFiles tells the files with plans from all others, and reads the latter.
func sortFiles(f replayFlags, paths []string) (plans []string, others []again, err error) {
	switch {
	case f.world != "virtual" && f.world != liveReplay:
		return nil, nil, usage.Of(fmt.Errorf("there is no world %q: use --world virtual or --world live", f.world))
	case f.runs < 1:
		return nil, nil, usage.Of(fmt.Errorf("--runs %d: it must run at least once", f.runs))
	case f.parallel < 1:
		return nil, nil, usage.Of(fmt.Errorf("--parallel %d: at least one run must be under way at a time", f.parallel))
	}
	files, err := replayFiles(paths)
	if err != nil {
		return nil, nil, usage.Of(err)
	}
	for _, file := range files {
		one, err := readOther(f, file)
		switch {
		case err != nil:
			return nil, nil, usage.Of(fmt.Errorf("%s: %w", file, err))
		case one == nil:
			plans = append(plans, file) // whatever is wrong with it is told when it is read as a plan
		case f.world == liveReplay:
			return nil, nil, usage.Of(fmt.Errorf("%s: it can be repeated in its own world only: leave --world out", file))
		default:
			others = append(others, one)
		}
	}
	return plans, others, nil
}

// readOther reads a file that holds no plan; nil if it may hold one.
func readOther(f replayFlags, file string) (again, error) {
	text, err := os.ReadFile(file)
	switch {
	case err != nil || filepath.Ext(file) != ".json":
		return nil, nil //nolint:nilnil,nilerr // it is told when the file is read as a plan
	case explore.IsPath(text):
		path, err := explore.ParsePath(text)
		if err != nil {
			err = fmt.Errorf("%w; explore again, or use the program that wrote the file", err)
		}
		return &walk{file, path}, err
	case search.IsFile(text):
		failure, err := search.Parse(text)
		return &found{file, failure, f.out}, err
	default:
		return nil, nil //nolint:nilnil // likewise
	}
}

// again runs the case once more.
func (f *found) again(ctx context.Context) (replayed, error) {
	done := replayed{File: f.file, Verdict: checker.Pass}
	r, err := f.failure.Replay(ctx)
	if err != nil {
		return done, err
	}
	done.Runs, done.Fails = r.Runs, r.Failed
	was := f.failure.Finding.Obligation
	for _, finding := range r.Findings {
		if finding.Obligation == was || done.Verdict == checker.Pass {
			done.Verdict, done.Promise, done.Reason = checker.Fail, checker.Promise(finding.Obligation), finding.Details
			done.says = fmt.Sprintf("it fails: %s is broken: %s", finding.Obligation, finding.Details)
			if says := f.failure.Space.Says(finding.Obligation); says != "" {
				done.says += "; the documents say: " + says
			}
		}
	}
	if done.Verdict == checker.Pass {
		done.says = fmt.Sprintf("it does not fail any more: %s is kept in %d of %d runs", was, r.Runs-r.Failed, r.Runs)
	}
	if f.out == "" {
		return done, nil
	}
	out, err := openOutput(f.out)
	if err != nil {
		return done, err
	}
	name := strings.TrimSuffix(filepath.Base(f.file), ".json")
	if len(r.Log) > 0 {
		if err := writeFiles(out.dir, map[string][]byte{name + ".log": logText(r.Log)}); err != nil {
			return done, err
		}
	}
	_, err = saveHistory(out, name, r.History)
	return done, errors.Join(err, out.finish())
}

// again walks the path once more.
func (w *walk) again(context.Context) (replayed, error) {
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
	return done, nil
}

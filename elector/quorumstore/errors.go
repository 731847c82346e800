package quorumstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/quorum"
)

// errRepeated ends a call whose attempt was repeated, or given back, meanwhile.
var errRepeated = fmt.Errorf("quorumstore: %w", quorum.ErrRepeated)

// failure is the error of a call that ended so; nil if it succeeded.
func (s *Store) failure(ctx context.Context, call, election string, end *quorum.Ending) error {
	switch end.Outcome {
	case quorum.Done:
		return nil
	case quorum.Denied:
		return store.ErrNotHeld
	case quorum.Lost:
		return s.hopeless(call, election, end.Errs)
	case quorum.Repeated:
		return errRepeated
	case quorum.GivenUp:
		return ctx.Err()
	default:
		return s.undecided(call, election, end.Verdicts, end.Errs)
	}
}

// held is the error of an attempt that was refused: it says who holds most of the
// nodes, and when to try again.
func (s *Store) held(end *quorum.Ending) error {
	e := &store.HeldError{Holder: end.Rival.Holder, Token: end.Rival.Token, Remaining: end.Remaining, Waiters: end.Waiters, Longest: end.Longest}
	for n, err := range end.Errs {
		var h *store.HeldError
		if !errors.As(err, &h) {
			continue
		}
		if h.Repaired != "" {
			e.Repaired = s.nodes[n].name + ": " + h.Repaired
		}
		if h.Withheld != "" && e.Holder == "" {
			e.Withheld = s.nodes[n].name + ": " + h.Withheld
		}
	}
	return e
}

// UndecidedError is the outcome of a call for which too few nodes answered. It
// may have taken effect, on a minority or, if answers were lost, on a majority.
type UndecidedError struct {
	Call     string
	Election string
	Quorum   int     // how many nodes had to agree
	Nodes    []error // what the nodes said, each with its name; nil for those that agreed
}

func (e *UndecidedError) Error() string {
	var said joined
	agreed := 0
	for _, err := range e.Nodes {
		if err == nil {
			agreed++
			continue
		}
		said = append(said, err)
	}
	return fmt.Sprintf("quorumstore: %s %q: %d of %d nodes agreed, %d are needed; see to the others: %s",
		e.Call, e.Election, agreed, len(e.Nodes), e.Quorum, said)
}

// Unwrap returns the errors of nodes whose answer is unknown. Definite answers
// of single nodes are left out: they are not the answer of the whole.
func (e *UndecidedError) Unwrap() []error {
	var list []error
	for _, err := range e.Nodes {
		if verdictOf(err) == quorum.Silent {
			list = append(list, err)
		}
	}
	return list
}

// errNoAnswer stands for a node that had not answered when the outcome was
// certain.
var errNoAnswer = errors.New("not waited for any longer")

// undecided makes the error from what each node said.
func (s *Store) undecided(call, election string, verdicts []quorum.Verdict, errs []error) error {
	e := &UndecidedError{Call: call, Election: election, Quorum: s.quorum, Nodes: make([]error, len(s.nodes))}
	for n, v := range verdicts {
		err := errs[n]
		switch {
		case err != nil || v == quorum.Yes:
		case v == quorum.No:
			err = store.ErrNotHeld
		default:
			err = errNoAnswer
		}
		if err != nil {
			e.Nodes[n] = fmt.Errorf("%s: %w", s.nodes[n].name, err)
		}
	}
	return e
}

// joined are the errors of several nodes, in one line.
type joined []error

func (j joined) Error() string {
	texts := make([]string, len(j))
	for i, err := range j {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns all of them.
func (j joined) Unwrap() []error { return j }

// hopeless makes the error for so many fatal ones that no majority is left.
func (s *Store) hopeless(call, election string, errs []error) error {
	var list []error
	fix := ""
	for n, err := range errs {
		var fatal *store.FatalError
		if errors.As(err, &fatal) {
			list = append(list, fmt.Errorf("%s: %w", s.nodes[n].name, fatal.Err))
			if fix == "" {
				fix = fatal.Fix + " (" + s.nodes[n].name + " first)"
			}
		}
	}
	return &store.FatalError{
		Err: fmt.Errorf("quorumstore: %s %q: %d of %d nodes refuse for good, so no majority is left: %w",
			call, election, len(list), len(s.nodes), joined(list)),
		Fix: fix,
	}
}

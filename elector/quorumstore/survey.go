package quorumstore

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/quorum"
)

// Candidates is [store.CandidateLister]: whom any node heard of, since each candidate
// speaks to all of them. A majority of the nodes that list candidates must answer.
func (s *Store) Candidates(ctx context.Context, election string) ([]store.Candidate, error) {
	answers, _, err := survey(ctx, s, "list the candidates of", election, func(ctx context.Context, r store.CandidateLister) ([]store.Candidate, error) {
		return r.Candidates(ctx, election)
	})
	if err != nil {
		return nil, err
	}
	latest := make(map[string]store.Candidate)
	for _, list := range answers {
		for _, c := range list {
			if known, ok := latest[c.ID]; !ok || c.Seen < known.Seen {
				latest[c.ID] = c
			}
		}
	}
	var all []store.Candidate
	for _, c := range latest {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b store.Candidate) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

// History is [store.TermLister]: the terms that a majority of the nodes has
// granted with one token. Where nodes do not answer they get the benefit of the
// doubt, so an attempt that failed may be among the terms then.
func (s *Store) History(ctx context.Context, election string, n int) ([]store.PastTerm, error) {
	if n <= 0 {
		return nil, nil
	}
	// Attempts that failed and leases that were mended take up room as well.
	answers, _, err := survey(ctx, s, "read the history of", election, func(ctx context.Context, c store.TermLister) ([]store.PastTerm, error) {
		return c.History(ctx, election, 4*min(n, math.MaxInt/4))
	})
	if err != nil {
		return nil, err
	}
	type term struct {
		store.PastTerm
		nodes int
	}
	type key struct {
		id    string
		token uint64
	}
	merged := make(map[key]*term)
	for _, list := range answers {
		for _, past := range list {
			k := key{past.ID, past.Token}
			known := merged[k]
			if known == nil {
				known = &term{PastTerm: past}
				merged[k] = known
			}
			known.nodes++
			if past.Began.Before(known.Began) {
				known.Began = past.Began
			}
			if past.Ended.After(known.Ended) {
				known.Ended = past.Ended
			}
		}
	}
	var all []store.PastTerm
	for _, t := range merged {
		if t.nodes >= s.quorum-(len(s.nodes)-len(answers)) {
			all = append(all, t.PastTerm)
		}
	}
	slices.SortFunc(all, func(a, b store.PastTerm) int { return cmp.Compare(b.Token, a.Token) })
	return all[:min(n, len(all))], nil
}

// Preflight is [store.Preflighter]: what the nodes' settings mean for the whole.
// What is wrong with a minority of them is a warning at most.
func (s *Store) Preflight(ctx context.Context) (store.Preflight, error) {
	answers, silentOnes, err := survey(ctx, s, "inspect", "nodes", func(ctx context.Context, i store.Preflighter) (store.Preflight, error) {
		return i.Preflight(ctx)
	})
	if err != nil {
		return store.Preflight{}, err
	}
	var all store.Preflight
	bad := len(silentOnes)
	for _, answer := range answers {
		if answer.Worst() == store.SeverityError {
			bad++
		}
	}
	var said []string
	for n := range s.nodes {
		if err := silentOnes[n]; err != nil {
			all.Findings = append(all.Findings, store.Finding{
				Severity: store.SeverityWarning, Subject: s.nodes[n].name,
				Text: fmt.Sprintf("could not be inspected: %v", err),
				Fix:  "see to it: a majority can only lose so many nodes",
			})
			continue
		}
		answer, ok := answers[n]
		if !ok {
			continue
		}
		said = append(said, s.nodes[n].name+": "+answer.Guarantee)
		for _, f := range answer.Findings {
			f.Subject = s.nodes[n].name + ": " + f.Subject
			if f.Severity == store.SeverityError && bad <= s.minority() {
				f.Severity = store.SeverityWarning
			}
			all.Findings = append(all.Findings, f)
		}
	}
	if len(s.nodes)%2 == 0 {
		all.Findings = append(all.Findings, store.Finding{
			Severity: store.SeverityNote, Subject: "number of nodes",
			Text: fmt.Sprintf("is even: %d nodes survive the loss of %d, as %d do", len(s.nodes), s.minority(), len(s.nodes)-1),
			Fix:  "leave one out, or add one",
		})
	}
	all.Guarantee = fmt.Sprintf("At most one leader, and growing tokens, with a leader as long as %d of %d independent nodes work, whichever they are. %s",
		s.quorum, len(s.nodes), strings.Join(said, " "))
	return all, nil
}

// survey asks the nodes that can answer such questions, and demands that a
// majority of those does. It returns what they said, and why others did not.
func survey[K, V any](ctx context.Context, s *Store, what, election string, do func(context.Context, K) (V, error)) (map[int]V, map[int]error, error) {
	able := 0
	for _, n := range s.nodes {
		if _, ok := n.store.(K); ok {
			able++
		}
	}
	if able == 0 {
		return nil, nil, store.ErrUnsupported
	}
	p, err := poll(ctx, s, what, func(ctx context.Context, st store.Store) (V, error) {
		k, ok := st.(K)
		if !ok {
			var zero V
			return zero, store.ErrUnsupported
		}
		return do(ctx, k)
	}, func(*polled[V]) bool { return false })
	if err != nil {
		return nil, nil, err
	}
	answers, silentOnes := make(map[int]V), make(map[int]error)
	for n, v := range p.verdicts {
		if v == quorum.Yes {
			answers[n] = p.values[n]
		} else if _, ok := s.nodes[n].store.(K); ok {
			silentOnes[n] = p.errs[n]
		}
	}
	if len(answers) < able/2+1 {
		return nil, nil, s.undecided(what, election, p.verdicts, p.errs)
	}
	return answers, silentOnes, nil
}

package quorumstore_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/elector/quorumstore"
	"github.com/recount-io/recount/elector/store"
)

// informed is a node that knows more than leases.
type informed struct {
	store.Store
	candidates []store.Candidate
	terms      []store.PastTerm
	preflight  store.Preflight
	err        error
}

func (i *informed) Candidates(context.Context, string) ([]store.Candidate, error) {
	return i.candidates, i.err
}

func (i *informed) History(_ context.Context, _ string, n int) ([]store.PastTerm, error) {
	return i.terms[:min(n, len(i.terms))], i.err
}

func (i *informed) Preflight(context.Context) (store.Preflight, error) { return i.preflight, i.err }

// survey is a Store on the nodes of a bench, each of which knows something.
func (b *bench) survey(know ...*informed) *quorumstore.Store {
	b.Helper()
	var list []store.Store
	for n, i := range know {
		i.Store = b.nodes[n]
		list = append(list, i)
	}
	s, err := quorumstore.New(list, quorumstore.Options{Now: b.now})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// Who competes is whom any node heard of, the latest news of each.
func TestCandidates(t *testing.T) {
	inBubble(t, 3, func(b *bench) {
		s := b.survey(
			&informed{candidates: []store.Candidate{{ID: "b", Seen: 3}, {ID: "c", Seen: 9}}},
			&informed{candidates: []store.Candidate{{ID: "a", Seen: 1}, {ID: "b", Priority: 7, Seen: 2}}},
			&informed{err: errDown},
		)
		got, err := s.Candidates(b.Context(), election)
		want := []store.Candidate{{ID: "a", Seen: 1}, {ID: "b", Priority: 7, Seen: 2}, {ID: "c", Seen: 9}}
		if err != nil || !slices.Equal(got, want) {
			b.Errorf("%+v, error %v, want %+v", got, err, want)
		}
	})
}

// A past term is one that a majority granted with one token, the latest first;
// attempts that failed and leases that were mended are none.
func TestHistory(t *testing.T) {
	inBubble(t, 3, func(b *bench) {
		at := func(s int) time.Time { return time.Unix(int64(s), 0) }
		s := b.survey(
			&informed{terms: []store.PastTerm{{ID: "a", Token: 9, Began: at(90)}, {ID: "x", Token: 8, Began: at(80), Ended: at(80)}, {ID: "a", Token: 5, Began: at(51), Ended: at(60)}}},
			&informed{terms: []store.PastTerm{{ID: "a", Token: 9, Began: at(91)}, {ID: "y", Token: 8, Began: at(80), Ended: at(80)}, {ID: "a", Token: 5, Began: at(50)}, {ID: "b", Token: 2}}},
			&informed{terms: []store.PastTerm{{ID: "a", Token: 77, Began: at(95)}, {ID: "b", Token: 2}}},
		)
		want := []store.PastTerm{{ID: "a", Token: 9, Began: at(90)}, {ID: "a", Token: 5, Began: at(50), Ended: at(60)}}
		got, err := s.History(b.Context(), election, 2)
		if err != nil || !slices.Equal(got, want) {
			b.Errorf("%+v, error %v, want %+v", got, err, want)
		}
		if got, err := s.History(b.Context(), election, 0); len(got) != 0 || err != nil {
			b.Errorf("%+v, error %v for no terms", got, err)
		}
	})
}

// What is wrong with a minority of the nodes is a warning, with a majority an
// error; every finding says at which node.
func TestPreflight(t *testing.T) {
	bad := func() *informed {
		return &informed{preflight: store.Preflight{Guarantee: "G.", Findings: []store.Finding{{Severity: store.SeverityError, Subject: "acl"}}}}
	}
	inBubble(t, 3, func(b *bench) {
		for worst, s := range map[store.Severity]*quorumstore.Store{
			"":                    b.survey(&informed{}, &informed{}, &informed{}),
			store.SeverityWarning: b.survey(&informed{}, bad(), &informed{}),
			store.SeverityError:   b.survey(&informed{err: errDown}, bad(), &informed{}),
		} {
			p, err := s.Preflight(b.Context())
			if err != nil || p.Worst() != worst || !strings.Contains(p.Guarantee, "2 of 3") {
				b.Errorf("%+v, error %v, want %q", p, err, worst)
			}
			if worst == store.SeverityError && (len(p.Findings) != 2 || p.Findings[0].Subject != "node 1" || p.Findings[1].Subject != "node 2: acl") {
				b.Errorf("findings %+v", p.Findings)
			}
		}
	})
}

// Too few answers are an error, and questions that no node can answer are
// unsupported.
func TestSurveyNeedsAMajority(t *testing.T) {
	inBubble(t, 3, func(b *bench) {
		_, err := b.survey(&informed{err: errDown}, &informed{err: errDown}, &informed{}).Candidates(b.Context(), election)
		if !errors.As(err, new(*quorumstore.UndecidedError)) {
			b.Errorf("error %v, want an UndecidedError", err)
		}
		if _, err := b.store.History(b.Context(), election, 1); !errors.Is(err, store.ErrUnsupported) {
			b.Errorf("error %v, want ErrUnsupported", err)
		}
	})
}

package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recount-io/recount/elector/store"
)

var (
	_ store.CandidateLister = (*Store)(nil)
	_ store.TermLister      = (*Store)(nil)
)

// Candidates is [store.CandidateLister.Candidates]: who was heard of within two of its
// leases.
func (s *Store) Candidates(ctx context.Context, election string) ([]store.Candidate, error) {
	if err := checkNames(election, "-", "-"); err != nil {
		return nil, err
	}
	k := s.keys(election)
	witness := s.witnessOf(k.guard())
	reply, err := s.run(ctx, &s.scripts.candidates, []string{k.candidates(), k.guard(), witness})
	if s.parted(err, witness != k.guard()) {
		return s.Candidates(ctx, election)
	}
	if err != nil {
		return nil, s.judge("candidates of", election, err)
	}
	fields, ok := reply.([]any)
	if !ok || len(fields)%3 != 0 {
		return nil, shapeError("candidates of", election, reply)
	}
	all := make([]store.Candidate, 0, len(fields)/3)
	for i := 0; i < len(fields); i += 3 {
		id, ok := fields[i].(string)
		ago, ok2 := integer(fields[i+1])
		priority, ok3 := integer(fields[i+2])
		if !ok || !ok2 || !ok3 {
			return nil, shapeError("candidates of", election, reply)
		}
		all = append(all, store.Candidate{ID: id, Priority: int(priority), Seen: time.Duration(ago) * time.Millisecond})
	}
	slices.SortFunc(all, func(a, b store.Candidate) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

// History is [store.TermLister.History]. About the last hundred terms are
// kept.
func (s *Store) History(ctx context.Context, election string, n int) ([]store.PastTerm, error) {
	if err := checkNames(election, "-", "-"); err != nil {
		return nil, err
	}
	reply, err := s.run(ctx, &s.scripts.terms, []string{s.keys(election).terms()})
	if err != nil {
		return nil, s.judge("history of", election, err)
	}
	lines, ok := reply.([]any)
	if !ok {
		return nil, shapeError("history of", election, reply)
	}
	var terms []store.PastTerm
	ended := map[uint64]time.Time{}
	for _, line := range lines { // the latest first: an end comes before its begin
		t, begins, err := parseTerm(fmt.Sprint(line))
		switch {
		case err != nil:
			return nil, fmt.Errorf("redisstore: history of %q: %w", election, err)
		case !begins:
			ended[t.Token] = t.Ended
		case len(terms) < n:
			t.Ended = ended[t.Token]
			terms = append(terms, t)
		}
	}
	return terms, nil
}

// parseTerm reads "b TOKEN MILLISECONDS ID" or "e TOKEN MILLISECONDS".
func parseTerm(line string) (t store.PastTerm, begins bool, err error) {
	fields := strings.SplitN(line, " ", 4)
	bad := fmt.Errorf("the line %.200q is none of an elector's", line)
	if len(fields) < 3 {
		return t, false, bad
	}
	token, err := strconv.ParseUint(fields[1], 10, 64)
	ms, err2 := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || err2 != nil {
		return t, false, bad
	}
	t.Token = token
	switch {
	case fields[0] == "b" && len(fields) == 4:
		t.Began, t.ID = time.UnixMilli(ms), fields[3]
		return t, true, nil
	case fields[0] == "e" && len(fields) == 3:
		t.Ended = time.UnixMilli(ms)
		return t, false, nil
	default:
		return t, false, bad
	}
}

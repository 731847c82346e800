package instrument_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/health/instrument"
	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/elector/storetest"
)

// Nothing is left behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func silent(ctx context.Context, _ instrument.Call) (context.Context, func(instrument.Answer)) {
	return ctx, func(instrument.Answer) {}
}

// bare is a Store and nothing else.
type bare struct{ elector.Store }

type lister struct{}

func (lister) Candidates(context.Context, string) ([]store.Candidate, error) {
	return []store.Candidate{{ID: "lister"}}, nil
}

type terms struct{}

func (terms) History(context.Context, string, int) ([]store.PastTerm, error) {
	return []store.PastTerm{{ID: "terms"}}, nil
}

type preflighter struct{}

func (preflighter) Preflight(context.Context) (store.Preflight, error) {
	return store.Preflight{Guarantee: "preflighter"}, nil
}

// Whatever a store can do besides, the observed one can, and no more; also when
// it is observed twice.
func TestOptionalInterfaces(t *testing.T) {
	s := bare{}
	stores := []elector.Store{
		s,
		struct {
			bare
			lister
		}{},
		struct {
			bare
			terms
		}{},
		struct {
			bare
			preflighter
		}{},
		struct {
			bare
			lister
			terms
		}{},
		struct {
			bare
			lister
			preflighter
		}{},
		struct {
			bare
			terms
			preflighter
		}{},
		struct {
			bare
			lister
			terms
			preflighter
		}{},
	}
	for _, inner := range stores {
		want := abilities(inner)
		once := instrument.Store(inner, silent)
		twice := instrument.Store(once, silent)
		if got := abilities(once); got != want {
			t.Errorf("a store with %q is observed as one with %q", want, got)
		}
		if got := abilities(twice); got != want {
			t.Errorf("a store with %q is observed twice as one with %q", want, got)
		}
	}
	if got := abilities(stores[7]); got != "lister terms preflighter" {
		t.Fatalf("the test sees only %q", got)
	}
}

// abilities asks each optional interface for its answer.
func abilities(s elector.Store) string {
	var list []string
	if r, ok := s.(store.CandidateLister); ok {
		c, _ := r.Candidates(context.Background(), "")
		list = append(list, c[0].ID)
	}
	if c, ok := s.(store.TermLister); ok {
		h, _ := c.History(context.Background(), "", 1)
		list = append(list, h[0].ID)
	}
	if i, ok := s.(store.Preflighter); ok {
		p, _ := i.Preflight(context.Background())
		list = append(list, p.Guarantee)
	}
	return strings.Join(list, " ")
}

// What an elector may ask of a store beyond the contract must get through: an
// optional interface that package elector learns of and this package does not
// know would be hidden from every elector that is observed.
func TestNoInterfaceIsForgotten(t *testing.T) {
	files, err := filepath.Glob("../../*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("package elector's files: %v, %v", files, err)
	}
	asked := regexp.MustCompile(`tore\.\(\*?([\w.]+)\)`)
	var found []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range asked.FindAllStringSubmatch(string(text), -1) {
			found = append(found, m[1])
		}
	}
	known := []string{"store.CandidateLister", "store.TermLister", "store.Preflighter", "wrapper"}
	for _, name := range found {
		if !slices.Contains(known, name) {
			t.Errorf("package elector asks its store for %s, which an observed store hides: let instrument.Store pass it through", name)
		}
	}
	if len(found) < len(known) {
		t.Errorf("only %q were found: the test looks for the wrong text", found)
	}
}

// An observed store keeps the contract of every store.
func TestConformance(t *testing.T) {
	for _, c := range storetest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				inner := memstore.New(memstore.Options{Now: func() time.Duration { return time.Since(start) }})
				c.Run(t, instrument.Store(inner, silent), time.Sleep)
			})
		})
	}
}

// broken answers as it is told.
type broken struct {
	bare
	err   error
	panic bool
}

func (b *broken) Acquire(context.Context, store.Attempt) (store.Grant, error) {
	if b.panic {
		panic("boom")
	}
	return store.Grant{Token: 7}, b.err
}

func (b *broken) Renew(context.Context, store.Lease) error { return b.err }

func (b *broken) Leader(ctx context.Context, _ string) (elector.Leader, error) {
	return elector.Leader{ID: fmt.Sprint(ctx.Value(key{})), Token: 9}, b.err
}

type key struct{}

// Each answer is told by the name that the elector has for it, and with who
// leads where it says so; the store's own answer is returned as it is.
func TestOutcomes(t *testing.T) {
	held := &elector.HeldError{Holder: "b", Token: 8}
	fatal := &elector.FatalError{Err: errors.New("NOAUTH"), Fix: "log in"}
	lost := errors.New("connection reset")
	for _, test := range []struct {
		operation instrument.Operation
		err       error
		want      instrument.Outcome
		leader    string
	}{
		{instrument.Acquire, nil, instrument.Done, "a 7"},
		{instrument.Acquire, fmt.Errorf("wrapped: %w", held), instrument.Held, "b 8"},
		{instrument.Acquire, &elector.HeldError{}, instrument.Held, " 0"},
		{instrument.Acquire, store.ErrNotHeld, instrument.Unknown, " 0"},
		{instrument.Acquire, fatal, instrument.Fatal, " 0"},
		{instrument.Acquire, lost, instrument.Unknown, " 0"},
		{instrument.Renew, nil, instrument.Done, "a 7"},
		{instrument.Renew, store.ErrNotHeld, instrument.NotHeld, " 0"},
		{instrument.Renew, held, instrument.Unknown, " 0"},
		{instrument.Renew, context.DeadlineExceeded, instrument.Unknown, " 0"},
		{instrument.Leader, nil, instrument.Done, "passed on 9"},
		{instrument.Leader, store.ErrNotHeld, instrument.Unknown, " 0"},
	} {
		var got []instrument.Answer
		s := instrument.Store(&broken{err: test.err}, func(ctx context.Context, c instrument.Call) (context.Context, func(instrument.Answer)) {
			if c.Operation != test.operation || c.Election != "billing" {
				t.Errorf("%+v", c)
			}
			return context.WithValue(ctx, key{}, "passed on"), func(a instrument.Answer) { got = append(got, a) }
		})
		var err error
		switch test.operation {
		case instrument.Acquire:
			_, err = s.Acquire(t.Context(), store.Attempt{Election: "billing", ID: "a"})
		case instrument.Renew:
			err = s.Renew(t.Context(), store.Lease{Election: "billing", ID: "a", Token: 7})
		case instrument.Leader:
			_, err = s.Leader(t.Context(), "billing")
		}
		if err != test.err || len(got) != 1 || got[0].Outcome != test.want || !errors.Is(got[0].Err, test.err) {
			t.Errorf("%s with %v: error %v, told %+v, want %s", test.operation, test.err, err, got, test.want)
		} else if l := fmt.Sprint(got[0].Leader.ID, " ", got[0].Leader.Token); l != test.leader {
			t.Errorf("%s with %v: leader %q, want %q", test.operation, test.err, l, test.leader)
		}
	}
}

// A store that panics is told of as one that gave no answer, and the panic
// reaches the elector, which knows what to do.
func TestPanicPassesThrough(t *testing.T) {
	var got []instrument.Answer
	s := instrument.Store(&broken{panic: true}, func(ctx context.Context, _ instrument.Call) (context.Context, func(instrument.Answer)) {
		return ctx, func(a instrument.Answer) { got = append(got, a) }
	})
	defer func() {
		if recover() == nil || len(got) != 1 || got[0].Outcome != instrument.Unknown || !errors.Is(got[0].Err, event.ErrPanic) {
			t.Errorf("told %+v", got)
		}
	}()
	_, _ = s.Acquire(t.Context(), store.Attempt{})
}

// recorder is an instrument that notes what it is given.
type recorder struct {
	name  string
	notes *[]string
}

func (r recorder) note(text string) { *r.notes = append(*r.notes, r.name+" "+text) }

func (r recorder) Instrument(s elector.Store, cfg elector.Config) (elector.Store, elector.Config, func(*elector.Elector)) {
	cfg = instrument.OnEvent(cfg, func(ev elector.Event) { r.note(string(ev.Kind)) })
	s = instrument.Store(s, func(ctx context.Context, c instrument.Call) (context.Context, func(instrument.Answer)) {
		return ctx, func(instrument.Answer) {}
	})
	return s, cfg, func(e *elector.Elector) { r.note("attached " + fmt.Sprint(e != nil)) }
}

// Several instruments see the same events, in their order and before the
// settings' own receiver, and get the elector. A mistake in the settings is
// reported as without them.
func TestComposition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		clock := bubble(start)
		store := memstore.New(memstore.Options{Now: clock.Now})
		var notes []string
		one, two := recorder{"one", &notes}, recorder{"two", &notes}
		cfg := elector.Config{Election: "billing", ID: "a", Clock: clock, Once: true, Logger: slog.New(slog.DiscardHandler)}
		cfg.OnEvent = func(ev elector.Event) { notes = append(notes, "own "+string(ev.Kind)) }
		cfg.OnStarted = func(context.Context, *elector.Term) {}
		e, err := instrument.New(store, cfg, one, two)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := []string{"one attached true", "two attached true", "one state", "two state", "own state"}
		if len(notes) < 20 || !slices.Equal(notes[:5], want) {
			t.Errorf("%q", notes)
		}
		if _, err := instrument.New(store, elector.Config{}, one); err == nil || !strings.Contains(err.Error(), "Election") {
			t.Errorf("error %v", err)
		}
		if _, err := instrument.New(nil, cfg, one); err == nil || !strings.Contains(err.Error(), "store") {
			t.Errorf("error %v", err)
		}
	})
}

// bubble is the clock of a bubble that began at this time.
type bubble time.Time

func (b bubble) Now() time.Duration { return time.Since(time.Time(b)) }

func (b bubble) AfterFunc(d time.Duration, f func()) elector.Timer { return time.AfterFunc(d, f) }

// Silence begins with a request, is ended by any answer and by nothing else,
// and is too long after a lease. A question of a user's that goes unanswered
// begins none.
func TestPulse(t *testing.T) {
	var p instrument.Pulse
	acquire := instrument.Call{Operation: instrument.Acquire, TTL: 10 * time.Second}
	if _, ok := p.Last(); ok || p.Unreachable(time.Hour) || p.Lease() != 0 {
		t.Error("a store that nobody asked is not silent")
	}
	p.Asked(instrument.Call{Operation: instrument.Leader}, 0)
	if p.Silent(time.Hour) != 0 {
		t.Error("a question began a silence")
	}
	p.Asked(acquire, 20*time.Second)
	p.Asked(acquire, 25*time.Second)
	p.Answered(instrument.Unknown, 26*time.Second)
	if s := p.Silent(27 * time.Second); s != 7*time.Second || p.Unreachable(29*time.Second) || !p.Unreachable(30*time.Second) {
		t.Errorf("silent for %v", s)
	}
	p.Event(elector.Event{Kind: event.Unreachable, At: 29 * time.Second})
	if s := p.Silent(29 * time.Second); s != 10*time.Second || !p.Unreachable(29*time.Second) {
		t.Errorf("silent for %v, and the elector has raised the alarm", s)
	}
	p.Answered(instrument.Held, 31*time.Second)
	if at, ok := p.Last(); !ok || at != 31*time.Second || p.Unreachable(time.Hour) || p.Lease() != 10*time.Second {
		t.Errorf("last answer at %v", at)
	}
	p.Asked(instrument.Call{Operation: instrument.Release}, 40*time.Second)
	p.Event(elector.Event{Kind: event.Unreachable, At: 30 * time.Second}) // told late
	if s := p.Silent(41 * time.Second); s != time.Second {
		t.Errorf("an alarm from before the last answer counted: silent for %v", s)
	}
	if !p.Unreachable(50 * time.Second) {
		t.Error("a release without an answer is a silence, too, and has the lease of those before")
	}
	p.Event(elector.Event{Kind: event.StateChanged, State: event.StateStopped, At: 50 * time.Second})
	if p.Unreachable(time.Hour) {
		t.Error("an elector that has stopped waits for no answer")
	}
}

// A term's end is known from renewals and from events alike, whichever comes
// first, and never goes back; nor does the term.
func TestBelief(t *testing.T) {
	b := instrument.NewBelief(elector.Config{})
	last := func(token uint64, until time.Duration) {
		t.Helper()
		if gotToken, gotUntil := b.Last(); gotToken != token || gotUntil != until {
			t.Errorf("token %d until %v, want %d until %v", gotToken, gotUntil, token, until)
		}
	}
	last(0, 0)
	b.Event(elector.Event{Kind: event.Elected, Token: 3, Until: 10 * time.Second})
	last(3, 10*time.Second)
	renewal := instrument.Call{Operation: instrument.Renew, Token: 3, TTL: 15 * time.Second}
	b.Answered(renewal, instrument.Answer{Outcome: instrument.Unknown}, 5*time.Second)
	last(3, 10*time.Second)
	b.Answered(renewal, instrument.Answer{Outcome: instrument.Done}, 5*time.Second)
	last(3, 5*time.Second+14849*time.Millisecond)
	b.Event(elector.Event{Kind: event.Extended, Token: 3, Until: 12 * time.Second})
	b.Event(elector.Event{Kind: event.Deposed, Token: 3, Until: time.Hour})
	b.Event(elector.Event{Kind: event.Elected, Token: 2, Until: time.Hour})
	last(3, 5*time.Second+14849*time.Millisecond)
}

// Every trouble has one of few names, however it is wrapped.
func TestTroubles(t *testing.T) {
	for _, err := range []error{event.ErrTimeout, event.ErrTooMany, event.ErrTokenSeen, event.ErrTooLate, event.ErrStray, event.ErrDrainCapped, event.ErrCallbackHangs, event.ErrSameID, elector.ErrWithheld, event.ErrNoHints, event.ErrPanic} {
		kind := instrument.Trouble(fmt.Errorf("wrapped: %w", err))
		if kind == "request" || !slices.Contains(instrument.Troubles(), kind) {
			t.Errorf("%v is %q", err, kind)
		}
	}
	if kind := instrument.Trouble(errors.New("connection reset")); kind != "request" {
		t.Errorf("%q", kind)
	}
}

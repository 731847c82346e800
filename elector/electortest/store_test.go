package electortest_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/electortest"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/elector/storetest"
)

var billing = elector.Config{Election: "billing"}

// Without outages the store keeps the contract of every store, also through a link, and
// behind requests that take their time.
func TestConformance(t *testing.T) {
	for name, open := range map[string]func() *electortest.Store{
		"store": electortest.NewStore,
		"link":  func() *electortest.Store { return electortest.NewStore().Link() },
		"slow":  func() *electortest.Store { s := electortest.NewStore(); s.Delay(time.Millisecond); return s },
	} {
		for _, c := range storetest.Cases() {
			t.Run(name+"/"+c.Name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { c.Run(t, open(), time.Sleep) })
			})
		}
	}
}

// A request to a store that fails has no effect, and announcements end; after Recover both
// are as before.
func TestFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, down := electortest.NewStore(), errors.New("no route to host")
		ended := make(chan error, 2)
		watch := func() {
			st.Watch(t.Context(), "billing", func(store.Hint) {}, func(err error) { ended <- err })
		}
		watch()
		st.Fail(down)
		watch()
		for range 2 {
			if err := <-ended; !errors.Is(err, down) {
				t.Errorf("a Watch ended with %v, want %v", err, down)
			}
		}
		attempt := store.Attempt{Election: "billing", ID: "a", Nonce: "1", TTL: time.Minute}
		if _, err := st.Acquire(t.Context(), attempt); !errors.Is(err, down) {
			t.Errorf("Acquire: %v, want %v", err, down)
		}
		if _, err := st.Candidates(t.Context(), "billing"); !errors.Is(err, down) {
			t.Errorf("Candidates: %v, want %v", err, down)
		}
		if _, err := st.History(t.Context(), "billing", 1); !errors.Is(err, down) {
			t.Errorf("History: %v, want %v", err, down)
		}
		st.Recover()
		if l, err := st.Leader(t.Context(), "billing"); l.ID != "" || err != nil {
			t.Errorf("%q leads, error %v; the attempt should have had no effect", l.ID, err)
		}
		watch()
		if len(ended) > 0 {
			t.Errorf("a Watch after Recover ended: %v", <-ended)
		}
	})
}

// A request whose reply is lost takes effect. The candidate leads when it has asked again,
// with the token that it was granted before.
func TestLoseReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := electortest.NewStore()
		store.LoseReplies()
		c := electortest.Start(t, store, billing)
		l := store.AwaitLeader(t, "billing", 0)
		if l.ID != c.ID() || c.IsLeader() {
			t.Errorf("%q leads, and the candidate %q knows of it: %v; want that it has the lease and does not know", l.ID, c.ID(), c.IsLeader())
		}
		store.Recover()
		if token := c.Term().Token(); token != l.Token {
			t.Errorf("the term has token %d, want %d", token, l.Token)
		}
	})
}

// A request takes effect after the delay, or not at all if its context is done before.
func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := electortest.NewStore()
		st.Delay(time.Second)
		for _, test := range []struct{ timeout, want time.Duration }{{500 * time.Millisecond, 500 * time.Millisecond}, {time.Hour, time.Second}} {
			if l, err := st.Store.Leader(t.Context(), "billing"); l.ID != "" || err != nil {
				t.Errorf("%q leads, error %v, want nobody", l.ID, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), test.timeout)
			defer cancel()
			began := time.Now()
			_, err := st.Acquire(ctx, store.Attempt{Election: "billing", ID: "a", Nonce: "1", TTL: time.Minute})
			if took := time.Since(began); took != test.want || (err == nil) != (test.timeout > time.Second) {
				t.Errorf("with a limit of %v the request took %v, error %v, want %v", test.timeout, took, err, test.want)
			}
		}
	})
}

// A store that has forgotten everything grants the next term a larger token nevertheless:
// the candidate remembers.
func TestForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := electortest.NewStore()
		c := electortest.Lead(t, store, billing)
		before := c.Term()
		store.Forget()
		if l, err := store.Leader(t.Context(), "billing"); l.ID != "" || err != nil {
			t.Errorf("%q leads, error %v, want nobody", l.ID, err)
		}
		<-before.Context().Done()
		if token := c.Term().Token(); token <= before.Token() {
			t.Errorf("token %d after %d", token, before.Token())
		}
		if all, err := store.History(t.Context(), "billing", 10); len(all) != 1 || err != nil {
			t.Errorf("the history is %v, error %v, want the last term only", all, err)
		}
	})
}

// A leader that was expelled does not know before its next renewal, and leads again when
// the lease of the other candidate has ended.
func TestExpel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := electortest.NewStore()
		c := electortest.Lead(t, store, billing)
		term, began := c.Term(), time.Now()
		store.Expel("billing", time.Minute)
		l := store.AwaitLeader(t, "billing", term.Token())
		if l.ID == c.ID() || !c.IsLeader() {
			t.Errorf("%q leads, and the candidate takes itself for the leader: %v; want another one, and yes", l.ID, c.IsLeader())
		}
		<-term.Context().Done()
		if passed := time.Since(began); passed != 5*time.Second {
			t.Errorf("the term ended after %v, want the next renewal after 5s", passed)
		}
		if token := c.Term().Token(); token <= l.Token {
			t.Errorf("token %d after %d", token, l.Token)
		}
		if passed := time.Since(began); passed < time.Minute || passed > 70*time.Second {
			t.Errorf("the next term began after %v, want about a minute", passed)
		}
	})
}

// One of two candidates is cut off by its link: the other one takes over, and they never
// lead at one time.
func TestLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		link := electortest.NewStore()
		a := electortest.Lead(t, link, billing)
		b := electortest.Start(t, link.Link(), billing)
		synctest.Wait()
		before := a.Term()
		link.Fail(nil)
		after := b.Term()
		if a.IsLeader() || after.Token() <= before.Token() {
			t.Errorf("the first one still leads: %v; tokens %d, then %d", a.IsLeader(), before.Token(), after.Token())
		}
		link.Recover()
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
		if token := a.Term().Token(); token <= after.Token() {
			t.Errorf("token %d after %d", token, after.Token())
		}
	})
}

// A service that makes its elector itself is tested by what the store says.
func TestAwaitLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := electortest.NewStore()
		serve := func(ctx context.Context) {
			cfg := billing
			cfg.Logger = slog.New(slog.DiscardHandler)
			e, err := elector.New(store, cfg)
			if err != nil {
				t.Error(err)
				return
			}
			for term := range e.Terms(ctx) {
				<-term.Context().Done()
			}
		}
		ctx, shutdown := context.WithCancel(t.Context())
		defer shutdown()
		go serve(ctx)
		first := store.AwaitLeader(t, "billing", 0)
		store.Delete("billing")
		if second := store.AwaitLeader(t, "billing", first.Token); second.ID != first.ID {
			t.Errorf("%q leads after %q, and there is one candidate", second.ID, first.ID)
		}
		r := &recorder{TB: t}
		r.ends(func() { store.AwaitLeader(r, "reports", 0) })
		r.has(t, `nobody has led the election "reports"`)
	})
}

package virtual

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// What an elector in blocking style asks of the lease's key is recorded if the
// subject is tapped: when it is sent, and what becomes of it.
func TestTapped(t *testing.T) {
	locks := func(h sim.Host) error {
		for _, args := range [][]string{
			{"SET", h.LeaseKey(), "me", "NX", "PX", "5000"}, {"GET", h.LeaseKey()}, {"SET", "other", "x"},
			{"EVAL", `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`, "1", h.LeaseKey(), "me"},
		} {
			if _, err := h.Do(time.Second, args...); err != nil {
				return err
			}
		}
		_, _ = h.Do(time.Second, "SET", h.LeaseKey(), "me", "NX", "PX", "5000")
		return nil
	}
	for _, tapped := range []bool{true, false} {
		r := launch(t, quick(1), Subject{Blocking: locks, Tapped: tapped})
		r.to(time.Second)
		var recorded []string
		for _, e := range r.events {
			if e.Call != "" {
				recorded = append(recorded, fmt.Sprintf("%s %s", e.Kind, e.Call))
			}
		}
		want := "invoke acquire, ok acquire, invoke observe, ok observe, invoke release, ok release, invoke acquire, ok acquire"
		if !tapped {
			want = ""
		}
		if got := strings.Join(recorded, ", "); got != want {
			t.Errorf("tapped %v: recorded %s\nwant %s", tapped, got, want)
		}
		r.end()
		var understood []history.Wire
		for _, e := range r.events {
			if e.Wire != nil {
				understood = append(understood, *e.Wire)
			}
		}
		if tapped != (len(understood) == 1 && understood[0].Operations == 4 && understood[0].Understood == 4 && understood[0].Lock != "") || !tapped && understood != nil {
			t.Errorf("tapped %v: understood %+v", tapped, understood)
		}
	}
}

// The outcome of a command that nobody answers is recorded as unknown, that of
// one whose process is killed stays open.
func TestTappedWithoutAnswer(t *testing.T) {
	asks := func(h sim.Host) error {
		_, _ = h.Do(100*ms, "SET", h.LeaseKey(), "me", "NX", "PX", "5000")
		_, _ = h.Do(time.Hour, "SET", h.LeaseKey(), "me", "NX", "PX", "5000")
		return nil
	}
	r := launch(t, quick(1), Subject{Blocking: asks, Tapped: true})
	r.to(5 * ms)
	r.must(r.StopStore(t.Context(), whole))
	r.to(time.Second)
	r.must(r.Kill(t.Context(), "n1"))
	r.to(2 * time.Second)
	count := map[history.Kind]int{}
	for _, e := range r.events {
		if e.Call == history.Acquire {
			count[e.Kind]++
		}
	}
	if count[history.Invoke] != 2 || count[history.Info] != 1 || len(count) != 2 {
		t.Errorf("recorded %v", count)
	}
}

func attempt(id string) store.Attempt { return store.Attempt{ID: id, TTL: time.Second} }

func lease(id string, token uint64) store.Lease {
	return store.Lease{ID: id, Token: token, TTL: time.Second}
}

// The row in PostgreSQL is taken by one at a time, with a token that grows, and
// renewed and released by its owner only, while it lasts.
func TestRows(t *testing.T) {
	var got []string
	note := func(what string, err error) { got = append(got, fmt.Sprintf("%s: %v", what, err)) }
	uses := func(h sim.Host) error {
		rows, err := h.Postgres()
		if err != nil {
			return err
		}
		first, err := rows.Acquire(attempt("a"), time.Second)
		note(fmt.Sprint(first.Token), err)
		_, err = rows.Acquire(attempt("b"), time.Second)
		note("taken", err)
		note("renew", rows.Renew(lease("a", first.Token), time.Second))
		note("renew of another", rows.Renew(lease("b", first.Token), time.Second))
		note("release", rows.Release(lease("a", first.Token), time.Second))
		second, err := rows.Acquire(attempt("b"), time.Second)
		note(fmt.Sprint(second.Token), err)
		h.Sleep(2 * time.Second)
		note("late", rows.Renew(lease("b", second.Token), time.Second))
		third, err := rows.Acquire(attempt("a"), time.Second)
		note(fmt.Sprint(third.Token), err)
		return nil
	}
	r := launch(t, quick(1), Subject{Blocking: uses})
	r.to(5 * time.Second)
	if text := strings.Join(got, ", "); !strings.HasPrefix(text, "1: <nil>, taken: ") || !strings.Contains(text, ", renew: <nil>, renew of another: ") ||
		!strings.Contains(text, ", release: <nil>, 2: <nil>, late: ") || !strings.HasSuffix(text, ", 3: <nil>") || strings.Contains(text, "taken: <nil>") || strings.Contains(text, "another: <nil>") || strings.Contains(text, "late: <nil>") {
		t.Error(text)
	}
}

// Faults of a candidate's network are on its way to PostgreSQL too.
func TestRowsBehindTheLink(t *testing.T) {
	var renewed error
	uses := func(h sim.Host) error {
		rows, _ := h.Postgres()
		grant, _ := rows.Acquire(attempt("a"), time.Second)
		h.Sleep(100 * ms)
		renewed = rows.Renew(lease("a", grant.Token), time.Hour)
		h.Sleep(time.Hour)
		return nil
	}
	r := launch(t, quick(1), Subject{Blocking: uses})
	r.to(50 * ms)
	r.must(r.Cut(t.Context(), "n1", faults.CutBoth))
	r.to(time.Second)
	if renewed != nil {
		t.Errorf("it was answered through the cut: %v", renewed)
	}
	if err := r.Mend(t.Context(), "n1"); err != nil {
		t.Fatal(err)
	}
	r.to(2 * time.Second)
	if renewed == nil {
		t.Error("a connection outlived the cut")
	}
}

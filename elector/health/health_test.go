package health_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/health"
	"github.com/recount-io/recount/elector/store"
)

// A term from beginning to end, as two candidates report it: who leads is
// healthy, who follows is degraded, and a resignation swaps them.
func TestTermAndSuccession(t *testing.T) {
	inBubble(t, health.Options{}, func(b *bench) {
		first, second := b.Elector("billing", "a"), b.Elector("billing", "b")
		if r := b.monitor.Report(); r.Status != health.Unhealthy || r.Elections[0].State != event.StateStopped {
			t.Errorf("before they run: %+v", r)
		}
		stop := b.run(first)
		time.Sleep(time.Second)
		began := time.Now().Add(-time.Second)
		stopSecond := b.run(second)
		time.Sleep(7 * time.Second)

		r := b.monitor.Report()
		a, f := r.Elections[0], r.Elections[1]
		if r.Status != health.Degraded || a.Status != health.Healthy || f.Status != health.Degraded {
			t.Fatalf("one leads and one follows: %+v", r)
		}
		if !a.IsLeader || a.Token != 1 || a.Leader != first.ID() || a.InstanceID != first.ID() || a.State != event.StateLeader || a.Since.Sub(began).Abs() > 50*time.Millisecond {
			t.Errorf("the leader: %+v, since %v want about %v", a, a.Since, began)
		}
		if a.LastAnswerSeconds < 2.9 || a.LastAnswerSeconds > 3.1 {
			t.Errorf("the last renewal was at 5 s, it is 8 s, and the last answer is told to be %v s ago", a.LastAnswerSeconds)
		}
		if f.IsLeader || f.Token != 0 || f.Leader != first.ID() || f.LeaderToken != 1 || f.State != event.StateFollower {
			t.Errorf("the follower: %+v", f)
		}

		if err := stop(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		r = b.monitor.Report()
		if a, f = r.Elections[0], r.Elections[1]; a.Status != health.Unhealthy || f.Status != health.Healthy || f.Token != 2 || f.Leader != second.ID() || a.Leader != "" || r.Status != health.Unhealthy {
			t.Errorf("after the resignation: %+v", r)
		}
		if b.monitor.Live() != nil {
			t.Error("an elector that was stopped by order is alive")
		}
		b.monitor.Remove(first)
		if err := b.monitor.Ready(); err != nil {
			t.Errorf("the one that is left leads: %v", err)
		}
		if err := stopSecond(); err != nil {
			t.Fatal(err)
		}
	})
}

// Answers that overtake each other: what was asked later counts, however late
// the earlier answer arrives.
func TestLateAnswer(t *testing.T) {
	inBubble(t, health.Options{}, func(b *bench) {
		e := b.Elector("billing", "a")
		term, err := e.Campaign(b.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.Store.Late.Store(int64(time.Second)) // the answer about who leads takes as long
		answers := make(chan string)
		go func() {
			l, _ := e.Leader(b.Context())
			answers <- l.ID
		}()
		synctest.Wait()
		if err := term.Resign(b.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		next, err := e.Campaign(b.Context())
		if err != nil {
			t.Fatal(err)
		}
		if id := <-answers; id != e.ID() {
			t.Fatalf("the answer was %q", id)
		}
		if got := b.is(health.Healthy); got.Token != 2 {
			t.Errorf("the late answer counted: %+v", got)
		}
		if err := next.Resign(b.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// Who leads is told with its token until the term is over, also when the store has
// said meanwhile that nobody holds the lease.
func TestTokenWhileItLeads(t *testing.T) {
	inBubble(t, health.Options{}, func(b *bench) {
		e := b.Elector("billing", "a")
		stop := b.run(e)
		time.Sleep(time.Second)
		b.Store.Delete("billing")
		if l, err := e.Leader(b.Context()); err != nil || l.ID != "" {
			t.Fatalf("the lease was deleted, and the leader is %+v, %v", l, err)
		}
		if got := b.is(health.Healthy); !got.IsLeader || got.Token != 1 || got.Leader != "" {
			t.Errorf("until it is renewed: %+v", got)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// passing is a store whose only lease is passed on to the first attempt, and that says
// nothing more.
type passing struct {
	elector.Store
	hint chan func(store.Hint)
}

// Watch implements elector.Store.
func (s *passing) Watch(_ context.Context, _ string, hint func(store.Hint), _ func(error)) {
	s.hint <- hint
}

// Acquire implements elector.Store.
func (s *passing) Acquire(_ context.Context, a store.Attempt) (store.Grant, error) {
	time.AfterFunc(time.Second, func() {
		(<-s.hint)(store.Hint{Kind: store.HintGranted, Token: 7, Remaining: lease, To: a.ID, Nonce: a.Nonce, Request: a.Request})
	})
	return store.Grant{}, &elector.HeldError{Holder: "b/1", Token: 6, Remaining: lease, Stands: true}
}

// Renew implements elector.Store.
func (s *passing) Renew(ctx context.Context, _ store.Lease) error {
	<-ctx.Done()
	return ctx.Err()
}

// The token is told of a lease that was passed on, too, before it is renewed.
func TestTokenOfBid(t *testing.T) {
	inBubble(t, health.Options{}, func(b *bench) {
		store, cfg, attach := b.monitor.Instrument(&passing{b.Store, make(chan func(store.Hint), 1)}, elector.Config{Election: "billing", ID: "a", Clock: b.Clock, Logger: slog.New(slog.DiscardHandler)})
		e, err := elector.New(store, cfg)
		if err != nil {
			t.Fatal(err)
		}
		attach(e)
		stop := b.run(e)
		time.Sleep(2 * time.Second)
		if got := b.is(health.Healthy); got.Token != 7 {
			t.Errorf("%+v", got)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// A store that hangs: the leader leads until its deadline and not a moment
// longer, then cannot tell, and is alive throughout. When the store answers
// again it leads again.
func TestStoreHangs(t *testing.T) {
	inBubble(t, health.Options{}, func(b *bench) {
		stop := b.run(b.Elector("billing", "a"))
		time.Sleep(time.Second)
		b.Store.Hangs.Store(true)
		b.is(health.Healthy)
		time.Sleep(lease - time.Second - 152*time.Millisecond) // the deadline is 151 ms before the lease's end
		b.is(health.Healthy)
		time.Sleep(50 * time.Millisecond)
		b.is(health.Degraded)
		// The first renewal without an answer was sent at 5 s.
		time.Sleep(5*time.Second - 100*time.Millisecond)
		b.is(health.Degraded)
		if err := b.monitor.Ready(); err != nil {
			t.Errorf("it still follows: %v", err)
		}
		time.Sleep(300 * time.Millisecond)
		e := b.is(health.Unhealthy)
		if !strings.Contains(e.Description, "has not answered for 15.") || e.IsLeader || e.Token != 0 {
			t.Errorf("%+v", e)
		}
		if err := b.monitor.Ready(); err == nil || !strings.Contains(err.Error(), "billing") {
			t.Errorf("ready: %v", err)
		}
		for range 20 {
			time.Sleep(lease)
			if err := b.monitor.Live(); err != nil {
				t.Fatalf("a store that is away is no reason for a restart: %v", err)
			}
			b.is(health.Unhealthy)
		}
		b.Store.Hangs.Store(false)
		for range 8 {
			b.Store.Free <- struct{}{} // what hung comes back, and makes room for new requests
		}
		time.Sleep(2 * lease)
		b.is(health.Healthy)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// At the deadline the truth does not wait for the elector's goroutine: it hangs,
// and the report ends the term by the clock. Only when it has hung for a
// lease longer is that a reason for a restart.
func TestStuckGoroutine(t *testing.T) {
	inBubble(t, health.Options{}, func(b *bench) {
		e := b.Elector("billing", "a")
		stop := b.run(e)
		time.Sleep(time.Second)
		b.Clock.Stuck.Store(true)
		time.Sleep(5 * time.Second) // its next timer hangs
		b.is(health.Healthy)
		time.Sleep(14 * time.Second) // a renewal at 5 s may have gone out
		synctest.Wait()
		if got := b.is(health.Degraded); got.State != event.StateLeader || got.IsLeader {
			t.Fatalf("the goroutine hangs in a term that is over: %+v", got)
		}
		if code, _ := get(t, b.monitor.LeaderHandler("billing"), "/leader"); code != http.StatusServiceUnavailable {
			t.Errorf("the load balancer is told %d", code)
		}
		if err := b.monitor.Live(); err != nil {
			t.Errorf("late is not stuck: %v", err)
		}
		time.Sleep(5 * time.Second)
		b.is(health.Degraded) // past the lease's end: the suspicion is raised
		time.Sleep(lease)
		if err := b.monitor.Live(); err == nil || !strings.Contains(err.Error(), "stuck") {
			t.Errorf("alive: %v", err)
		}
		b.is(health.Unhealthy)
		b.Clock.Stuck.Store(false)
		b.Clock.Free <- struct{}{}
		time.Sleep(lease)
		if err := b.monitor.Live(); err != nil {
			t.Errorf("it runs again: %v", err)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// A machine that was suspended for longer than a lease is asked before the
// elector has had its turn: it leads no more, and is alive.
func TestSuspended(t *testing.T) {
	inBubble(t, health.Options{}, func(b *bench) {
		stop := b.run(b.Elector("billing", "a"))
		time.Sleep(time.Second)
		b.Clock.Suspended.Add(int64(time.Hour))
		e := b.is(health.Degraded)
		if e.IsLeader || b.monitor.IsLeader("billing") || b.monitor.Live() != nil {
			t.Errorf("after an hour's suspension: %+v, alive: %v", e, b.monitor.Live())
		}
		time.Sleep(lease)
		b.is(health.Healthy) // elected again
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// A fatal error of any origin is the other reason for a restart; a new start
// forgets it.
func TestFatalError(t *testing.T) {
	inBubble(t, health.Options{}, func(b *bench) {
		var refused error = &elector.FatalError{Err: errors.New("WRONGPASS"), Fix: "set the password"}
		b.Store.Fails.Store(&refused)
		e := b.Elector("billing", "a")
		if err := e.Run(b.Context()); err == nil {
			t.Fatal("no fatal error")
		}
		if err := b.monitor.Live(); !errors.Is(err, refused) {
			t.Errorf("alive: %v", err)
		}
		if got := b.is(health.Unhealthy); !strings.Contains(got.Description, "set the password") {
			t.Errorf("%+v", got)
		}
		b.Store.Fails.Store(nil)
		stop := b.run(e)
		time.Sleep(time.Second)
		if err := b.monitor.Live(); err != nil {
			t.Errorf("after a new start: %v", err)
		}
		b.is(health.Healthy)
		if err := stop(); err != nil {
			t.Fatal(err)
		}

		panics := b.Elector("reports", "a", func(cfg *elector.Config) {
			cfg.OnStarted = func(context.Context, *elector.Term) { panic("boom") }
		})
		if err := panics.Run(b.Context()); err == nil {
			t.Fatal("no panic")
		}
		if err := b.monitor.Live(); err == nil || !strings.Contains(err.Error(), `"reports"`) || strings.Contains(err.Error(), `"billing"`) {
			t.Errorf("alive: %v", err)
		}
	})
}

// A callback that never returns keeps the events away, and nothing else: the
// election goes on, and every answer is given and true.
func TestStuckCallback(t *testing.T) {
	inBubble(t, health.Options{}, func(b *bench) {
		free := make(chan struct{})
		e := b.Elector("billing", "a", func(cfg *elector.Config) { cfg.OnEvent = func(elector.Event) { <-free } })
		stop := b.run(e)
		time.Sleep(time.Minute)
		got := b.is(health.Healthy)
		if got.Token != 1 || got.Leader != e.ID() || !got.Since.IsZero() || got.LastAnswerSeconds > 5 {
			t.Errorf("%+v", got)
		}
		b.Store.Hangs.Store(true)
		time.Sleep(2 * lease)
		b.is(health.Unhealthy)
		if err := b.monitor.Live(); err != nil {
			t.Error(err)
		}
		close(free)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// While the work of a term that was resigned is ending, the candidate leads no
// more and is neither ill nor stuck, however long that takes.
func TestDraining(t *testing.T) {
	inBubble(t, health.Options{}, func(b *bench) {
		terms := make(chan *elector.Term, 1)
		slow := make(chan struct{})
		stop := b.run(b.Elector("billing", "a", func(cfg *elector.Config) {
			cfg.DrainTimeout = time.Hour
			cfg.OnStarted = func(_ context.Context, t *elector.Term) { terms <- t; <-slow }
		}))
		if err := (<-terms).Resign(b.Context()); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			time.Sleep(10 * time.Second)
			if e := b.is(health.Degraded); e.State != event.StateDraining || e.IsLeader || e.Token != 0 {
				t.Fatalf("%+v", e)
			}
			if err := b.monitor.Live(); err != nil {
				t.Fatal(err)
			}
		}
		time.AfterFunc(time.Second, func() { close(slow) })
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// Two elections in one process: the worst counts, each can be asked for alone,
// and an election that nobody watches is no healthy one.
func TestSeveralElections(t *testing.T) {
	o := health.Options{Codes: health.Codes{Degraded: 299, NotLeader: http.StatusTooManyRequests}, Data: map[string]string{"zone": "eu-1"}}
	inBubble(t, o, func(b *bench) {
		other := b.Elector("reports", "other")
		stops := []func() error{b.run(other)}
		b.monitor.Remove(other)
		if code, r := get(t, b.monitor.Handler(), "/health"); code != http.StatusServiceUnavailable || len(r.Elections) != 0 || b.monitor.Ready() == nil {
			t.Errorf("nobody is watched: %d %+v", code, r)
		}
		time.Sleep(time.Second)
		stops = append(stops, b.run(b.Elector("reports", "a")), b.run(b.Elector("billing", "a")))
		time.Sleep(time.Second)

		for _, test := range []struct {
			handler http.Handler
			target  string
			code    int
			status  health.Status
			listed  int
		}{
			{b.monitor.Handler(), "/health", 299, health.Degraded, 2},
			{b.monitor.Handler(), "/health?election=billing", 200, health.Healthy, 1},
			{b.monitor.Handler(), "/health?election=reports", 299, health.Degraded, 1},
			{b.monitor.Handler(), "/health?election=nobody", 404, health.Unhealthy, 0},
			{b.monitor.LeaderHandler("billing"), "/leader", 200, health.Healthy, 1},
			{b.monitor.LeaderHandler("billing"), "/leader?election=reports", 200, health.Healthy, 1},
			{b.monitor.LeaderHandler("reports"), "/leader", 429, health.Degraded, 1},
			{b.monitor.LeaderHandler("nobody"), "/leader", 404, health.Unhealthy, 0},
			{b.monitor.LeaderHandler(""), "/leader?election=billing", 200, health.Healthy, 1},
			{b.monitor.LeaderHandler(""), "/leader", 404, health.Degraded, 2},
		} {
			code, r := get(t, test.handler, test.target)
			if code != test.code || r.Status != test.status || len(r.Elections) != test.listed || r.Data["zone"] != "eu-1" {
				t.Errorf("%s: %d %+v, want %+v", test.target, code, r, test)
			}
		}
		if !b.monitor.IsLeader("billing") || b.monitor.IsLeader("reports") || b.monitor.IsLeader("") {
			t.Error("who leads")
		}
		for _, stop := range stops {
			if err := stop(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// The probes answer in plain text, nothing is cached, and nothing can be
// changed.
func TestHandlers(t *testing.T) {
	inBubble(t, health.Options{}, func(b *bench) {
		e := b.Elector("billing", "a")
		for _, test := range []struct {
			method  string
			handler http.Handler
			code    int
			text    string
		}{
			{http.MethodGet, b.monitor.LiveHandler(), 200, "ok"},
			{http.MethodHead, b.monitor.LiveHandler(), 200, ""},
			{http.MethodGet, b.monitor.ReadyHandler(), 503, "does not compete"},
			{http.MethodGet, b.monitor.Handler(), 503, e.ID()},
			{http.MethodPost, b.monitor.Handler(), 405, "GET"},
			{http.MethodDelete, b.monitor.LeaderHandler("billing"), 405, "GET"},
		} {
			w := httptest.NewRecorder()
			test.handler.ServeHTTP(w, httptest.NewRequest(test.method, "/", nil))
			if w.Code != test.code || !strings.Contains(w.Body.String(), test.text) || w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %d %v %s, want %d and %q", test.method, w.Code, w.Header(), w.Body, test.code, test.text)
			}
		}
	})
}

// A status code that no server can send is refused when the monitor is made.
func TestBadCode(t *testing.T) {
	_, err := health.New(health.Options{Codes: health.Codes{Degraded: 20}})
	if err == nil || !strings.Contains(err.Error(), "Codes.Degraded is 20") {
		t.Errorf("error %v", err)
	}
}

// The names in the JSON are a promise to scripts.
func TestFieldNames(t *testing.T) {
	inBubble(t, health.Options{Data: map[string]string{"version": "7"}}, func(b *bench) {
		stop := b.run(b.Elector("billing", "a"))
		time.Sleep(time.Second)
		text, err := json.Marshal(b.monitor.Report())
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{
			`{"status":"healthy","elections":[{"election":"billing","status":"healthy","description":"this candidate leads","instance_id":"a/`,
			`"is_leader":true`, `"state":"leader"`, `"token":"1"`, `"leader":"a/`, `"leader_token":"1"`, `"since":"2000-01-01T`, `"last_store_answer":"2000-01-01T`,
			`"last_store_answer_seconds":`, `"data":{"version":"7"}`,
		} {
			if !strings.Contains(string(text), name) {
				t.Errorf("%s lacks %s", text, name)
			}
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// A candidate whose OnStopped hangs cannot lead: a lease after its term's end it is
// unhealthy, but no restart is asked for. When OnStopped returns it competes again.
func TestCallbackThatHangs(t *testing.T) {
	inBubble(t, health.Options{}, func(b *bench) {
		free := make(chan struct{})
		stop := b.run(b.Elector("billing", "a", func(cfg *elector.Config) {
			cfg.OnStarted = func(context.Context, *elector.Term) { time.Sleep(time.Second) }
			cfg.OnStopped = func(*elector.Term, elector.Reason) { <-free }
		}))
		time.Sleep(lease)
		b.is(health.Degraded)
		time.Sleep(2 * time.Second)
		if e := b.is(health.Unhealthy); !strings.Contains(e.Description, "OnStopped") || b.monitor.Live() != nil {
			t.Errorf("%+v; live: %v", e, b.monitor.Live())
		}
		close(free)
		time.Sleep(time.Millisecond)
		b.is(health.Healthy)
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

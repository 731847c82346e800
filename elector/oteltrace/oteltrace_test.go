package oteltrace_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/oteltrace"
	"github.com/recount-io/recount/elector/store"
)

// A term that was resigned is a span from its election to its end, with who and
// which it was, and without an error. Its requests link to it.
func TestTermSpan(t *testing.T) {
	inBubble(t, func(b *bench) {
		began := time.Now()
		e := b.Elector("billing", "a")
		stop := b.run(e)
		time.Sleep(8 * time.Second)
		if n := len(b.named("elector.term")); n != 0 {
			t.Errorf("%d terms ended", n)
		}
		stop()
		terms := b.named("elector.term")
		if len(terms) != 1 {
			t.Fatalf("%d terms", len(terms))
		}
		term := terms[0]
		for key, want := range map[string]string{"recount.election": "billing", "recount.candidate": e.ID(), "recount.token": "1", "recount.reason": "stopped"} {
			if got := attr(term.Attributes, key); got != want {
				t.Errorf("%s is %q, want %q", key, got, want)
			}
		}
		if term.Status.Code != codes.Unset || events(term) != "draining" || term.Parent.IsValid() {
			t.Errorf("status %v, events %q", term.Status, events(term))
		}
		if term.StartTime.Sub(began) > time.Second || term.EndTime.Sub(began) < 8*time.Second || term.EndTime.Sub(began) > 9*time.Second {
			t.Errorf("from %v to %v, want from 0s to 8s", term.StartTime.Sub(began), term.EndTime.Sub(began))
		}
		for _, name := range []string{"elector.renew", "elector.release"} {
			requests := b.named(name)
			if len(requests) != 1 {
				t.Fatalf("%d spans %s", len(requests), name)
			}
			r := requests[0]
			if len(r.Links) != 1 || r.Links[0].SpanContext.SpanID() != term.SpanContext.SpanID() || r.SpanKind != trace.SpanKindClient {
				t.Errorf("%s links to %v", name, r.Links)
			}
			if attr(r.Attributes, "recount.outcome") != "done" || attr(r.Attributes, "recount.token") != "1" || attr(r.Attributes, "recount.election") != "billing" {
				t.Errorf("%s: %v", name, r.Attributes)
			}
		}
	})
}

// A term that is lost because the store hangs is an error, tells of the troubles
// on the way, and ends at its deadline.
func TestLostTerm(t *testing.T) {
	inBubble(t, func(b *bench) {
		began := time.Now()
		stop := b.run(b.Elector("billing", "a"))
		time.Sleep(time.Second)
		b.Store.Fails.Store(&errLost)
		time.Sleep(6 * time.Second)
		b.Store.Hangs.Store(true)
		time.Sleep(6 * time.Second)
		if left := b.value("belief.remaining"); left < 1.8 || left > 1.9 {
			t.Errorf("%v s of the term are left, want 1.85", left)
		}
		time.Sleep(17 * time.Second)
		b.want(0, "is_leader")
		b.want(0, "belief.remaining")
		b.want(1, "store.unreachable")
		b.want(1, "store.silences")
		b.want(1, "losses")
		b.want(1, "terms", "recount.reason", "expired")
		terms := b.named("elector.term")
		if len(terms) != 1 {
			t.Fatalf("%d terms", len(terms))
		}
		term := terms[0]
		if term.Status.Code != codes.Error || !strings.Contains(term.Status.Description, "expired") || attr(term.Attributes, "recount.reason") != "expired" {
			t.Errorf("status %v", term.Status)
		}
		if d := term.EndTime.Sub(began); d < 14849*time.Millisecond || d > 14900*time.Millisecond {
			t.Errorf("it ended after %v, want 14.85s", d)
		}
		var troubles []string
		for _, e := range term.Events {
			troubles = append(troubles, attr(e.Attributes, "recount.trouble"))
		}
		if got := strings.Join(troubles, " "); !strings.HasPrefix(got, "request request timeout") {
			t.Errorf("troubles %q", got)
		}
		failed := b.named("elector.renew")
		if len(failed) < 2 || failed[0].Status.Code != codes.Error || attr(failed[0].Attributes, "recount.outcome") != "unknown" {
			t.Errorf("%+v", failed)
		}
		stop()
	})
}

// A machine that is suspended for an hour in a term: the span ends at the
// deadline, not when somebody noticed.
func TestSuspendedTerm(t *testing.T) {
	inBubble(t, func(b *bench) {
		stop := b.run(b.Elector("billing", "a"))
		time.Sleep(time.Second)
		b.Clock.Suspended.Add(int64(time.Hour))
		time.Sleep(time.Second)
		term := b.named("elector.term")
		if len(term) != 1 || attr(term[0].Attributes, "recount.reason") != "expired" {
			t.Fatalf("%+v", term)
		}
		// By the bubble's wall clock the hour has not passed, so the deadline
		// lies that much before now.
		if ago := time.Since(term[0].EndTime); ago < time.Hour-14*time.Second || ago > time.Hour {
			t.Errorf("the term ended %v ago", ago)
		}
		stop()
	})
}

// A renewal that goes out late leaves a mark in the term; one in time does not.
func TestLateRenewal(t *testing.T) {
	inBubble(t, func(b *bench) {
		stop := b.run(b.Elector("billing", "a"))
		time.Sleep(9900 * time.Millisecond)
		b.Clock.Suspended.Add(int64(4 * time.Second))
		time.Sleep(time.Second)
		stop()
		term := b.named("elector.term")[0]
		if events(term) != "renewal sent late, draining" || attr(term.Events[0].Attributes, "recount.late_seconds") < "3.9" {
			t.Errorf("%s: %v", events(term), term.Events)
		}
		b.want(2, "renewals")
		b.want(2, "renewal.lateness")
	})
}

// The metrics of two elections, and of two candidates in one of them.
func TestMetrics(t *testing.T) {
	inBubble(t, func(b *bench) {
		leader := b.Elector("billing", "a")
		electors := []*elector.Elector{leader, b.Elector("reports", "a"), b.Elector("billing", "b")}
		b.want(1+1, "state", "recount.state", "stopped")
		var stops []func()
		for _, e := range electors {
			stops = append(stops, b.run(e))
			time.Sleep(time.Second)
		}
		b.want(1, "is_leader")
		b.want(1, "token")
		b.want(1, "acquisitions")
		b.want(2, "leader.changes")
		b.want(1, "state", "recount.state", "leader")
		b.want(1, "state", "recount.state", "follower")
		b.want(1, "store.request.duration", "recount.operation", "acquire", "recount.outcome", "held")
		b.want(0, "store.unreachable")
		if b.value("is_leader", "recount.election", "reports") != 1 {
			t.Error("nobody leads reports")
		}
		b.tracer.Remove(electors[1])
		if b.value("is_leader", "recount.election", "reports") != -1 {
			t.Error("an elector that was removed is observed")
		}
		b.Store.Delete("billing")
		time.Sleep(5 * time.Second) // the next renewal finds nothing
		b.want(1, "terms", "recount.reason", "superseded")
		b.want(1, "losses")
		for _, s := range b.named("elector.renew") {
			if attr(s.Attributes, "recount.outcome") == "not_held" && s.Status.Code != codes.Error {
				t.Error("a leader that is told it holds nothing is no error")
			}
		}
		for _, s := range b.named("elector.acquire") {
			if attr(s.Attributes, "recount.outcome") == "held" && (s.Status.Code != codes.Unset || attr(s.Attributes, "recount.leader") == "") {
				t.Errorf("a refusal is %v, by %v", s.Status, s.Attributes)
			}
		}
		for _, stop := range stops {
			stop()
		}
	})
}

// A callback of the settings that hangs hinders neither requests nor gauges,
// and the span comes when it returns, with the times at which things happened.
func TestStuckCallback(t *testing.T) {
	inBubble(t, func(b *bench) {
		began, free := time.Now(), make(chan struct{})
		stop := b.run(b.Elector("billing", "a", func(cfg *elector.Config) { cfg.OnEvent = func(elector.Event) { <-free } }))
		time.Sleep(13 * time.Second)
		b.want(1, "is_leader")
		b.want(1, "token")
		if left := b.value("belief.remaining"); left < 11.8 || left > 12.1 {
			t.Errorf("%v s of the term are left", left)
		}
		close(free)
		stop()
		term := b.named("elector.term")
		if len(term) != 1 || term[0].StartTime.Sub(began) > time.Second {
			t.Errorf("%+v", term)
		}
	})
}

// A store alone is traced in the caller's trace, and a question about who leads
// tells the answer.
func TestStore(t *testing.T) {
	inBubble(t, func(b *bench) {
		s, err := oteltrace.Store(b.Store, b.options)
		if err != nil {
			t.Fatal(err)
		}
		ctx, parent := b.options.TracerProvider.Tracer("test").Start(b.Context(), "parent")
		if _, err := s.Acquire(ctx, store.Attempt{Election: "billing", ID: "a", Nonce: "n", TTL: time.Minute}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Leader(ctx, "billing"); err != nil {
			t.Fatal(err)
		}
		parent.End()
		asked := b.named("elector.leader")
		if len(asked) != 1 || asked[0].Parent.SpanID() != parent.SpanContext().SpanID() || attr(asked[0].Attributes, "recount.leader") != "a" || attr(asked[0].Attributes, "recount.leader.token") != "1" {
			t.Errorf("%+v", asked)
		}
		b.want(1, "store.request.duration", "recount.operation", "leader", "recount.outcome", "done")
		_, wasLister := elector.Store(b.Store).(store.CandidateLister)
		_, isLister := s.(store.CandidateLister)
		if wasLister != isLister {
			t.Errorf("the store is a CandidateLister: %t, traced: %t", wasLister, isLister)
		}
	})
}

// Without options, the global providers are used; those do nothing until a
// program sets them.
func TestDefaults(t *testing.T) {
	tracer, err := oteltrace.New(oteltrace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := tracer.Close(); err != nil {
		t.Error(err)
	}
	if _, err := oteltrace.Store(watcher{}, oteltrace.Options{}); err != nil {
		t.Error(err)
	}
}

// watcher is a store that can only be watched.
type watcher struct{ elector.Store }

func (watcher) Watch(_ context.Context, _ string, hint func(store.Hint), ended func(error)) {
	hint(store.Hint{Kind: store.HintReleased, Token: 7})
	ended(errLost)
}

// Watch passes through, with its hints and its end, and makes no span.
func TestWatchPassesThrough(t *testing.T) {
	inBubble(t, func(b *bench) {
		s, err := oteltrace.Store(watcher{}, b.options)
		if err != nil {
			t.Fatal(err)
		}
		var got store.Hint
		var why error
		s.Watch(b.Context(), "billing", func(h store.Hint) { got = h }, func(err error) { why = err })
		if why != errLost || got.Token != 7 {
			t.Errorf("%v %+v", why, got)
		}
		if n := len(b.spans.GetSpans()); n != 0 {
			t.Errorf("%d spans", n)
		}
	})
}

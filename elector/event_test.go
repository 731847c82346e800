package elector_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/machine"
)

// Events tell the whole story of a term in order, with the deadlines that the
// elector used, and the log tells it with levels.
func TestEventsInOrder(t *testing.T) {
	inBubble(t, func(b *bench) {
		var events log
		var text bytes.Buffer
		e := b.elector("a", events.into, func(cfg *elector.Config) {
			cfg.OnStarted = untilDone
			cfg.Logger = slog.New(slog.NewTextHandler(&text, nil)) // info and above
		})
		stop := b.run(e)
		time.Sleep(8 * time.Second)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, ev := range events.events {
			if ev.Election != "billing" || ev.ID != e.ID() {
				t.Errorf("event without its names: %+v", ev)
			}
			got = append(got, string(ev.Kind)+" "+string(ev.State))
		}
		want := []string{
			"state candidate", "state leader", "elected leader", "leader leader", "extended leader",
			"state draining", "state stopped", "deposed stopped",
		}
		if !slices.Equal(got, want) {
			t.Errorf("events %q, want %q", got, want)
		}
		elected, extended := events.of(event.Elected)[0], events.of(event.Extended)[0]
		if elected.Until != elected.At+usable || extended.Until != extended.At+usable || elected.Token != 1 {
			t.Errorf("until %v and %v", elected.Until-elected.At, extended.Until-extended.At)
		}
		for _, line := range []string{"INFO msg=elected", "INFO msg=deposed", "reason=stopped", "election=billing"} {
			if !strings.Contains(text.String(), line) {
				t.Errorf("the log lacks %q:\n%s", line, &text)
			}
		}
		if strings.Contains(text.String(), "renewed") {
			t.Error("every renewal is logged above debug")
		}
	})
}

// Renewals are logged at debug, each of them, and soon when the logger begins to want
// them.
func TestRenewalsLogged(t *testing.T) {
	inBubble(t, func(b *bench) {
		var lines renewals
		level := new(slog.LevelVar)
		e := b.elector("a", func(cfg *elector.Config) {
			cfg.OnStarted = untilDone
			cfg.Logger = slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: level}))
		})
		stop := b.run(e)
		renewed := func(n time.Duration) int64 {
			before := lines.Load()
			time.Sleep(n * 5 * time.Second)
			return lines.Load() - before
		}
		time.Sleep(time.Second)
		if n := renewed(30); n != 0 {
			t.Errorf("%d lines that nobody wants", n)
		}
		level.Set(slog.LevelDebug)
		renewed(10)
		if n := renewed(30); n != 30 {
			t.Errorf("%d lines of 30 renewals", n)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// renewals counts the lines of renewals in a log.
type renewals struct{ atomic.Int64 }

func (r *renewals) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("lease renewed")) {
		r.Add(1)
	}
	return len(line), nil
}

// A renewal that is sent late, because the process had no chance to run, is
// reported with its lateness, and the schedule does not shift by it.
func TestLatenessIsReported(t *testing.T) {
	inBubble(t, func(b *bench) {
		var events log
		term := b.campaign(b.elector("a", events.into))
		sent := term.Until() - usable
		time.Sleep(time.Until(b.clock.start.Add(sent + 4900*time.Millisecond)))
		b.clock.suspend(4 * time.Second) // 3.9 s too late, and within the lease
		time.Sleep(6 * time.Second)
		b.resign(term)
		extended := events.of(event.Extended)
		if len(extended) != 2 {
			t.Fatalf("extended %d times, want twice", len(extended))
		}
		if late := extended[0].Late; late < 3900*time.Millisecond || late > 4650*time.Millisecond {
			t.Errorf("lateness %v reported, want 3.9s and up to a chunk of sleep", late)
		}
		if at := extended[1].At - sent; at < 10*time.Second || at > 10*time.Second+time.Millisecond {
			t.Errorf("the next renewal came %v after the first request, want 10s", at)
		}
	})
}

// A log that hangs, because nobody reads the pipe that it writes to, delays
// nothing: the term is renewed, and its context cancelled at its deadline.
func TestHangingLogDelaysNothing(t *testing.T) {
	inBubble(t, func(b *bench) {
		read := make(chan struct{})
		var lost atomic.Bool
		e := b.elector("a", func(cfg *elector.Config) {
			cfg.Logger = slog.New(slog.NewTextHandler(hanging(read), &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		b.store.renew = func(context.Context) error {
			if lost.Load() {
				return errLost
			}
			return nil
		}
		term := b.campaign(e)
		time.Sleep(time.Minute)
		if !e.IsLeader() {
			t.Error("the term was not renewed")
		}
		lost.Store(true)
		<-term.Context().Done()
		if late := b.clock.Now() - term.Until(); late != 0 {
			t.Errorf("cancelled %v after the deadline", late)
		}
		close(read)
		_ = term.Resign(b.Context())
	})
}

// hanging is a pipe that nobody reads until the channel is closed.
type hanging chan struct{}

func (h hanging) Write(text []byte) (int, error) {
	<-h
	return len(text), nil
}

// OnLeader tells every new leader, ourselves included, once.
func TestOnLeader(t *testing.T) {
	inBubble(t, func(b *bench) {
		var seen []string
		first := b.elector("a")
		second := b.elector("b", func(cfg *elector.Config) {
			cfg.OnLeader = func(l elector.Leader) { seen = append(seen, l.ID) }
		})
		term := b.campaign(first)
		stop := b.run(second)
		time.Sleep(time.Minute)
		b.resign(term)
		time.Sleep(time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if want := []string{first.ID(), second.ID()}; !slices.Equal(seen, want) {
			t.Errorf("seen %q, want %q", seen, want)
		}
	})
}

// IsLeader and Check cost no allocation.
func TestQuestionsDoNotAllocate(t *testing.T) {
	e, term := leading(t)
	if n := testing.AllocsPerRun(100, func() { e.IsLeader() }); n != 0 {
		t.Errorf("IsLeader: %v allocations", n)
	}
	if n := testing.AllocsPerRun(100, func() { _ = term.Check(time.Second) }); n != 0 {
		t.Errorf("Check: %v allocations", n)
	}
}

// leading returns an elector that leads, with real clocks.
func leading(tb testing.TB) (*elector.Elector, *elector.Term) {
	e, err := elector.New(newMemStore(), elector.Config{Election: "billing", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	term, err := e.Campaign(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := term.Resign(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return e, term
}

func BenchmarkIsLeader(b *testing.B) {
	e, _ := leading(b)
	b.ReportAllocs()
	for b.Loop() {
		if !e.IsLeader() {
			b.Fatal("not the leader")
		}
	}
}

func BenchmarkTermCheck(b *testing.B) {
	_, term := leading(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := term.Check(time.Second); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRenewal is what a renewal costs besides the way to the store and the
// goroutine for it: two steps of the machine and the store in memory.
func BenchmarkRenewal(b *testing.B) {
	var now time.Duration
	st := memstore.New(memstore.Options{Now: func() time.Duration { return now }})
	m := machine.New(machine.Config{ID: "a", Drift: 0.01})
	lease := store.Lease{Election: "billing", ID: "a"}
	out := m.Step(now, machine.Input{Kind: machine.Start})
	b.ReportAllocs()
	for b.Loop() {
		for len(out.Requests) == 0 {
			now = out.Wake
			out = m.Step(now, machine.Input{})
		}
		r := out.Requests[0]
		in := machine.Input{Kind: machine.Answer, Result: machine.Done, Request: r.Number}
		lease.Nonce, lease.Token, lease.TTL = r.Nonce, r.Token, r.TTL
		var err error
		if r.Call == machine.Acquire {
			var g store.Grant
			g, err = st.Acquire(context.Background(), store.Attempt{Election: "billing", ID: "a", Nonce: r.Nonce, TTL: r.TTL})
			in.Token = g.Token
		} else {
			err = st.Renew(context.Background(), lease)
		}
		if err != nil {
			b.Fatal(err)
		}
		out = m.Step(now, in)
	}
}

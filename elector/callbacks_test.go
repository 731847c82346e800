package elector_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
)

// A candidate whose work, or whose OnStopped, hangs when its term is over does not
// compete until it returns, and says so once. Others lead meanwhile.
func TestCallbackThatHangs(t *testing.T) {
	for _, hangs := range []string{"OnStarted", "OnStopped"} {
		inBubble(t, func(b *bench) {
			free := make(chan struct{})
			hang := func(in string) {
				if in == hangs {
					<-free
				}
			}
			var events log
			e := b.elector("a", events.into, func(cfg *elector.Config) {
				cfg.OnStarted = func(ctx context.Context, _ *elector.Term) { <-ctx.Done(); hang("OnStarted") }
				cfg.OnStopped = func(*elector.Term, elector.Reason) { hang("OnStopped") }
			})
			stop := b.run(e)
			time.Sleep(5 * time.Second)
			other := b.elector("b")
			stopOther := b.run(other)
			b.store.Delete("billing")
			time.Sleep(time.Minute)
			if !other.IsLeader() || events.troubles(event.ErrCallbackHangs) != 1 {
				t.Errorf("%s hangs: another one leads: %t; told %d times", hangs, other.IsLeader(), events.troubles(event.ErrCallbackHangs))
			}
			if err := stopOther(); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute)
			if elected := events.of(event.Elected); len(elected) != 1 {
				t.Errorf("%s hangs: elected %d times", hangs, len(elected))
			}
			b.leads(0)
			close(free)
			time.Sleep(time.Second)
			if !e.IsLeader() || events.troubles(event.ErrCallbackHangs) != 1 {
				t.Errorf("%s has returned, and it leads: %t", hangs, e.IsLeader())
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// The lease is free as soon as the work has ended, while OnStopped still runs. If that
// hangs when the elector is stopped, it is told as well.
func TestReleasedBeforeOnStopped(t *testing.T) {
	inBubble(t, func(b *bench) {
		var events log
		e := b.elector("a", events.into, func(cfg *elector.Config) {
			cfg.OnStarted = untilDone
			cfg.OnStopped = func(*elector.Term, elector.Reason) {
				synctest.Wait()
				b.leads(0)
				time.Sleep(20 * time.Second)
			}
		})
		stop := b.run(e)
		time.Sleep(5 * time.Second)
		began := b.clock.Now()
		if err := stop(); err != nil {
			t.Error(err)
		}
		if took := b.clock.Now() - began; took != 20*time.Second || events.troubles(event.ErrCallbackHangs) != 1 {
			t.Errorf("stopped after %v, told %d times", took, events.troubles(event.ErrCallbackHangs))
		}
	})
}

// A callback that competes by itself would wait for its own end: it is told that the
// elector is active, and afterwards all goes on.
func TestCallbackThatCompetes(t *testing.T) {
	inBubble(t, func(b *bench) {
		var e *elector.Elector
		var again error
		e = b.elector("a", func(cfg *elector.Config) {
			cfg.OnEvent = func(ev elector.Event) {
				if ev.Kind == event.Deposed && again == nil {
					_, again = e.Campaign(context.WithoutCancel(b.Context()))
				}
			}
		})
		b.resign(b.campaign(e))
		time.Sleep(time.Minute)
		synctest.Wait()
		if !errors.Is(again, elector.ErrActive) {
			t.Errorf("it is told %v", again)
		}
		b.resign(b.campaign(e))
	})
}

// A callback that ends its goroutine, as a test that fails there does, ends no other call:
// neither one that comes later nor one that waits already.
func TestCallbackThatEndsItsGoroutine(t *testing.T) {
	inBubble(t, func(b *bench) {
		var events log
		calls := 0
		e := b.elector("a", func(cfg *elector.Config) {
			cfg.OnEvent = func(ev elector.Event) {
				events.add(ev)
				switch calls++; calls {
				case 1:
					time.Sleep(time.Minute) // the next ones wait
				case 2:
					runtime.Goexit()
				}
			}
		})
		b.resign(b.campaign(e))
		time.Sleep(2 * time.Minute)
		if n := len(events.of(event.Deposed)); n != 1 {
			t.Errorf("told of %d ends of terms", n)
		}
		b.resign(b.campaign(e))
	})
}

// badLog panics at some lines and hangs at them.
type badLog struct {
	slog.Handler
	at    string
	panic bool
	free  chan struct{}
}

func (l badLog) Handle(ctx context.Context, r slog.Record) error {
	if strings.Contains(r.Message, l.at) {
		if l.panic {
			panic("the log")
		}
		<-l.free
	}
	return l.Handler.Handle(ctx, r)
}

// A logger that panics, or hangs, hinders nothing: neither the events, nor the work
// of the next term after an OnStopped that panicked, nor the announcements.
func TestBadLoggerHindersNothing(t *testing.T) {
	for _, panics := range []bool{true, false} {
		for _, at := range []string{"", "panicked", "broke off"} {
			inBubble(t, func(b *bench) {
				free := make(chan struct{})
				handler := slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelDebug})
				breaks := make(chan struct{})
				b.store.watch = func(context.Context) error { <-breaks; return errLost }
				var events log
				var terms atomic.Int64
				e := b.elector("a", func(cfg *elector.Config) {
					cfg.Logger = slog.New(badLog{handler, at, panics, free})
					cfg.OnStarted = func(context.Context, *elector.Term) { terms.Add(1); time.Sleep(time.Second) }
					cfg.OnStopped = func(*elector.Term, elector.Reason) { panic("OnStopped") }
					cfg.OnEvent = func(ev elector.Event) { events.add(ev); panic("OnEvent") }
				})
				stop := b.run(e)
				time.Sleep(time.Minute)
				close(breaks)
				time.Sleep(time.Minute)
				if n := terms.Load(); n < 10 || len(events.of(event.Elected)) < int(n) || b.store.watches.Load() < 2 {
					t.Errorf("a log that panics: %t, at %q: %d terms, %d events, %d watches", panics, at, n, len(events.of(event.Elected)), b.store.watches.Load())
				}
				close(free)
				if err := stop(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// What was not told to a log or a callback that hung is counted, and logged.
func TestWhatWasMissedIsCounted(t *testing.T) {
	for at, want := range map[string]string{
		"elected": "the log hangs: lines were lost", "nothing": "OnEvent or OnLeader hangs: events were lost",
	} {
		inBubble(t, func(b *bench) {
			var text bytes.Buffer
			free := make(chan struct{})
			e := b.elector("a", func(cfg *elector.Config) {
				cfg.Logger = slog.New(badLog{slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}), at, false, free})
				cfg.OnEvent = func(elector.Event) {
					if at == "nothing" {
						<-free
					}
				}
			})
			stop := b.run(e)
			time.Sleep(7 * time.Hour) // 5,000 renewals
			close(free)
			if err := stop(); err != nil {
				t.Error(err)
			}
			if !strings.Contains(text.String(), want) {
				t.Errorf("the log does not say %q", want)
			}
		})
	}
}

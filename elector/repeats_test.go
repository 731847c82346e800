package elector_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
)

// warnsOf is the times, since the beginning, of the lines of a level in a text log.
func warnsOf(b *bench, text, level string) (at []time.Duration) {
	b.Helper()
	for _, m := range regexp.MustCompile(`time=(\S+) level=`+level).FindAllStringSubmatch(text, -1) {
		when, err := time.Parse(time.RFC3339Nano, m[1])
		if err != nil {
			b.Fatal(err)
		}
		at = append(at, when.Sub(b.clock.start).Truncate(time.Second))
	}
	return at
}

// A store that refuses every request is warned of at once, and then at a rising interval,
// with how often it has refused. When that is over, the log says so once.
func TestRefusingStoreIsLoggedRarely(t *testing.T) {
	for name, refuse := range map[string]func(n int) error{
		"one error":   func(int) error { return errLost },
		"other texts": func(n int) error { return fmt.Errorf("port %d: %w", n, errLost) },
		"withheld": func(int) error {
			return &elector.HeldError{Withheld: "it was restarted", Remaining: 50 * time.Millisecond}
		},
		"now and again": func(n int) error { return map[bool]error{true: errLost}[n%2 == 0] },
	} {
		inBubble(t, func(b *bench) {
			var text bytes.Buffer
			var n atomic.Int64
			var well atomic.Bool
			b.store.renew = func(context.Context) error {
				if at := int(n.Add(1)); !well.Load() {
					return refuse(at)
				}
				return nil
			}
			if name != "now and again" { // which is a leader's
				b.store.acquire = b.store.renew
			}
			e := b.elector("a", func(cfg *elector.Config) {
				cfg.Lease = time.Second
				cfg.Logger = slog.New(slog.NewTextHandler(&text, nil))
			})
			stop := b.run(e)
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			lines := warnsOf(b, text.String(), "WARN")
			if n.Load() < 1000 || len(lines) < 6 || len(lines) > 7 {
				t.Errorf("%s: %d requests left warnings at %v, want them at about 0s 10s 30s 1m10s 2m30s 5m10s", name, n.Load(), lines)
			}
			if !strings.Contains(text.String(), " times=") {
				t.Errorf("%s: no warning says how often:\n%s", name, &text)
			}
			text.Reset()
			well.Store(true)
			time.Sleep(10 * time.Second)
			synctest.Wait()
			over := strings.Count(text.String(), "it has not gone wrong again")
			if over != 1 || !strings.Contains(text.String(), "level=INFO") || len(warnsOf(b, text.String(), "WARN")) > 0 {
				t.Errorf("%s: when it is over the log says so %d times:\n%s", name, over, &text)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Kinds of trouble are told apart, a single one is told once, and none is lost for who
// wants lines of debugging.
func TestEachKindOfTroubleIsLogged(t *testing.T) {
	inBubble(t, func(b *bench) {
		var text bytes.Buffer
		errs := []error{errLost, event.ErrTooLate, errLost, event.ErrTooLate, event.ErrNoHints}
		n := 0
		b.store.renew = func(context.Context) error {
			if n++; n <= len(errs) {
				return errs[n-1]
			}
			return nil
		}
		e := b.elector("a", func(cfg *elector.Config) {
			cfg.OnStarted = untilDone
			cfg.Logger = slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		stop := b.run(e)
		time.Sleep(time.Minute)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		for line, want := range map[string]int{
			"level=WARN": 3, "level=DEBUG msg=\"a request to the store failed": 1, "level=DEBUG msg=\"the grant came": 1, "it has not gone wrong again": 2,
		} {
			if got := strings.Count(text.String(), line); got != want {
				t.Errorf("%d lines with %q, want %d:\n%s", got, line, want, &text)
			}
		}
	})
}

// Who calls Run again and again, though the store refuses for good, and callbacks that
// panic at each event, fill no log either.
func TestFatalErrorsAndPanicsAreLoggedRarely(t *testing.T) {
	inBubble(t, func(b *bench) {
		var text bytes.Buffer
		b.store.acquire = func(context.Context) error {
			return &elector.FatalError{Err: errors.New("NOPERM"), Fix: "give rights"}
		}
		e := b.elector("a", func(cfg *elector.Config) {
			cfg.Logger = slog.New(slog.NewTextHandler(&text, nil))
			cfg.OnEvent = func(elector.Event) { panic("no") }
		})
		for range 1000 {
			if err := e.Run(b.Context()); err == nil {
				t.Fatal("it runs")
			}
			time.Sleep(100 * time.Millisecond)
		}
		if got := warnsOf(b, text.String(), "ERROR"); len(got) > 10 {
			t.Errorf("1000 calls in 100s left %d errors in the log", len(got))
		}
	})
}

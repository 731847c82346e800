package calls

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/event"
)

// journal is a candidate's log, which may take its time. Where OnEvent hangs, it is
// what tells the candidate's beliefs.
type journal struct{ c *candidate }

var _ slog.Handler = journal{}

// byLog reports whether the candidate's beliefs are read off its log.
func (c *candidate) byLog() bool {
	return c.behavior.Tells == Slowly || c.behavior.Tells == Late || c.behavior.Tells == Never
}

// Enabled implements slog.Handler.
func (journal) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements slog.Handler. The elector has no use for it.
func (j journal) WithAttrs([]slog.Attr) slog.Handler { return j }

// WithGroup implements slog.Handler.
func (j journal) WithGroup(string) slog.Handler { return j }

// beliefs are the texts that tell of one.
var beliefs = map[string]event.Kind{
	"elected":       event.Elected,
	"lease renewed": event.Extended,
	"a renewal was sent late: this process or machine is overloaded, or was paused": event.Extended,
	"deposed": event.Deposed,
}

// Handle implements slog.Handler.
func (j journal) Handle(_ context.Context, r slog.Record) error {
	c := j.c
	c.logged(r)
	c.life.gate.Wait()
	if kind := beliefs[r.Message]; kind != "" && c.byLog() {
		ev := elector.Event{Kind: kind, At: c.life.clock.Now()}
		var lasts time.Duration
		r.Attrs(func(a slog.Attr) bool {
			switch a.Key {
			case "token":
				ev.Token = a.Value.Uint64()
			case "for":
				lasts = a.Value.Duration()
			case "reason":
				ev.Reason = elector.Reason(a.Value.String())
			}
			return true
		})
		ev.Until = ev.At + lasts
		c.tell(ev)
	}
	c.take("logs", c.behavior.Logs)
	return nil
}

// warnings is a log that takes no time, and wants no lines of its own.
type warnings struct{ c *candidate }

// Enabled implements slog.Handler.
func (warnings) Enabled(_ context.Context, level slog.Level) bool { return level > slog.LevelDebug }

// WithAttrs implements slog.Handler. The elector has no use for it.
func (w warnings) WithAttrs([]slog.Attr) slog.Handler { return w }

// WithGroup implements slog.Handler.
func (w warnings) WithGroup(string) slog.Handler { return w }

// Handle implements slog.Handler.
func (w warnings) Handle(_ context.Context, r slog.Record) error {
	w.c.logged(r)
	return nil
}

// rare are warnings that no bound is set to: there is one for each term, or for each lease.
var rare = []string{"deposed", "the store has not answered for longer than a lease", "the log hangs: lines were lost", "OnEvent or OnLeader hangs: events were lost"}

// kinds are the troubles that are told apart.
var kinds = []error{
	event.ErrTimeout, event.ErrTooMany, event.ErrTokenSeen, event.ErrTooLate, event.ErrStray, event.ErrDrainCapped,
	event.ErrCallbackHangs, event.ErrCrowded, event.ErrSameID, elector.ErrWithheld, event.ErrNoHints, event.ErrPanic,
}

// kindOf is the text of the trouble's kind. All others are requests that failed.
func kindOf(err error) string {
	for _, kind := range kinds {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return "a request"
}

// logged expects a warning to be rare, of whatever kind it is.
func (c *candidate) logged(r slog.Record) {
	if r.Message == calmText {
		c.calm(r)
	}
	if r.Level < slog.LevelWarn || slices.Contains(rare, r.Message) {
		return
	}
	what := r.Message
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok && a.Key == "error" {
			what += ": " + kindOf(err)
		}
		return true
	})
	now := c.run.recorder.Now()
	c.mu.Lock()
	if c.ledger.warned == nil {
		c.ledger.warned = map[string]warned{}
	}
	w := c.ledger.warned[what]
	if w.lines++; w.lines == 1 {
		w.since = now
	}
	c.ledger.warned[what] = w
	c.mu.Unlock()
	most := 2 + int((now-w.since)/(8*time.Second)) // its clock may be faster than that of the run
	if w.lines == most+1 {
		c.find(logsRarely, "%d lines in %v: %s", w.lines, now-w.since, what)
	}
}

// calmText is the line that says that something is over.
const calmText = "it has not gone wrong again for a lease"

// calm expects that the line counts from the first time since the last such line.
func (c *candidate) calm(r slog.Record) {
	var what string
	var times int64
	var lasted time.Duration
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "what":
			what = a.Value.String()
		case "times":
			times = a.Value.Int64()
		case "for":
			lasted = a.Value.Duration()
		}
		return true
	})
	now := c.run.recorder.Now()
	c.mu.Lock()
	last := c.ledger.calmed[what]
	if c.ledger.calmed == nil {
		c.ledger.calmed = map[string]time.Duration{}
	}
	c.ledger.calmed[what] = now
	c.mu.Unlock()
	c.run.bite("calm line")
	if times < 2 || last > 0 && c.behavior.Drift == 0 && lasted > now-last {
		c.find(logsRarely, "it says at %v, and said at %v before, that %q has not gone wrong again, %d times, for %v", now, last, what, times, lasted)
	}
}

// warned is how often a warning was written, and since when.
type warned struct {
	lines int
	since time.Duration
}

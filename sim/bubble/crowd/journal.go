package crowd

import (
	"context"
	"log/slog"
	"time"

	"github.com/recount-io/recount/elector"
)

// journal is a candidate's log, which may take its time. Where OnEvent hangs, it is
// what tells the candidate's beliefs.
type journal struct{ c *candidate }

var _ slog.Handler = journal{}

// byLog tells whether the candidate's beliefs are read off its log.
func (c *candidate) byLog() bool {
	return c.manners.Tells == Slowly || c.manners.Tells == Late || c.manners.Tells == Never
}

// Enabled implements slog.Handler.
func (journal) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements slog.Handler. The elector has no use for it.
func (j journal) WithAttrs([]slog.Attr) slog.Handler { return j }

// WithGroup implements slog.Handler.
func (j journal) WithGroup(string) slog.Handler { return j }

// beliefs are the texts that tell of one.
var beliefs = map[string]elector.EventKind{
	"elected":       elector.EventElected,
	"lease renewed": elector.EventExtended,
	"a renewal was sent late: this process or machine is overloaded, or was paused": elector.EventExtended,
	"deposed": elector.EventDeposed,
}

// Handle implements slog.Handler.
func (j journal) Handle(_ context.Context, r slog.Record) error {
	c := j.c
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
	c.take("logs", c.manners.Logs)
	return nil
}

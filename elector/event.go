package elector

import (
	"context"
	"errors"
	"log/slog"

	"github.com/recount-io/recount/elector/event"
	"github.com/recount-io/recount/internal/machine"
)

func stateOf(r machine.Role) State {
	switch r {
	case machine.Follower:
		return event.StateFollower
	case machine.Candidate:
		return event.StateCandidate
	case machine.Leader:
		return event.StateLeader
	case machine.Draining:
		return event.StateDraining
	default:
		return event.StateStopped
	}
}

// event translates a transition; false if it is none that users are told of.
func (e *Elector) event(t machine.Transition) (Event, bool) {
	ev := Event{
		At: t.At, Election: e.cfg.Election, ID: e.id, State: stateOf(t.Role),
		Token: t.Token, Until: t.Until, Late: t.Late, Err: t.Err,
	}
	switch t.Kind {
	case machine.RoleChanged:
		ev.Kind = event.StateChanged
	case machine.Elected:
		ev.Kind = event.Elected
	case machine.Extended:
		ev.Kind = event.Extended
	case machine.Deposed:
		ev.Kind = event.Deposed
		ev.Reason = Reason(t.Why.String())
	case machine.LeaderSeen:
		ev.Kind = event.LeaderSeen
		ev.Leader = Leader{ID: t.Holder, Token: t.Token, Remaining: t.Remaining}
	case machine.Trouble:
		ev.Kind = event.Trouble
	case machine.Unreachable:
		ev.Kind = event.Unreachable
	case machine.Reachable:
		ev.Kind = event.Reachable
	default:
		return Event{}, false
	}
	return ev, true
}

// fatalOf is what the log says of the error that ends an elector.
func fatalOf(err error) string {
	if panicked := new(PanicError); errors.As(err, &panicked) {
		return "stopped competing: OnStarted panicked"
	}
	return fatalText
}

// Texts of the log for what may go wrong again and again.
const (
	troubleText = "a request to the store failed"
	fatalText   = "stopped competing: no repetition will change the store's answer"
	lateText    = "a renewal was sent late: this process or machine is overloaded, or was paused"
)

// log writes the event to the log: a warning that is repeated with how often it has been
// due since the last line, or at debug if times is 0.
func (e *Elector) log(ev Event, times int) {
	level, text := slog.LevelDebug, ""
	var attrs []slog.Attr
	switch ev.Kind {
	case event.StateChanged:
		text = "state changed"
		if ev.Err != nil {
			level, text = slog.LevelError, fatalOf(ev.Err)
		}
		attrs = append(attrs, slog.String("state", string(ev.State)))
	case event.Elected:
		level, text = slog.LevelInfo, "elected"
		attrs = append(attrs, slog.Uint64("token", ev.Token), slog.Duration("for", ev.Until-ev.At))
	case event.Extended:
		text = "lease renewed"
		if e.overdue(ev) {
			level, text = slog.LevelWarn, lateText
		}
		attrs = append(attrs, slog.Uint64("token", ev.Token), slog.Duration("for", ev.Until-ev.At), slog.Duration("late", ev.Late))
	case event.Deposed:
		level, text = slog.LevelWarn, "deposed"
		if ev.Reason == event.ReasonResigned || ev.Reason == event.ReasonStopped {
			level = slog.LevelInfo
		}
		attrs = append(attrs, slog.Uint64("token", ev.Token), slog.String("reason", string(ev.Reason)))
	case event.LeaderSeen:
		level, text = slog.LevelInfo, "leader seen"
		attrs = append(attrs, slog.String("leader", ev.Leader.ID), slog.Uint64("token", ev.Leader.Token))
	case event.Trouble:
		level, text = slog.LevelWarn, troubleOf(ev.Err)
	case event.Unreachable:
		level, text = slog.LevelError, "the store has not answered for longer than a lease"
		if ev.Err != nil {
			text = "the store answers, and has refused every request for longer than a lease"
		}
	case event.Reachable:
		level, text = slog.LevelInfo, "the store answers again"
	}
	if ev.Err != nil {
		attrs = append(attrs, slog.Any("error", ev.Err))
	}
	switch {
	case times == 0:
		level = slog.LevelDebug
	case times > 1:
		attrs = append(attrs, slog.Int("times", times))
	}
	e.write(level, text, attrs...)
}

// overdue reports whether a renewal was sent so late that it is worth a warning.
func (e *Elector) overdue(ev Event) bool { return ev.Late > e.cfg.RequestTimeout }

// write writes to the log. A logger that panics has lost what it was told; there is
// nobody else to tell.
func (e *Elector) write(level slog.Level, text string, attrs ...slog.Attr) {
	defer func() { _ = recover() }()
	if level == slog.LevelDebug {
		e.muted.Store(!e.cfg.Logger.Enabled(context.Background(), level))
	}
	attrs = append([]slog.Attr{slog.String("election", e.cfg.Election), slog.String("id", e.id)}, attrs...)
	e.cfg.Logger.LogAttrs(context.Background(), level, text, attrs...)
}

package instrument

import (
	"github.com/recount-io/recount/elector"
)

// Instrument observes electors. Those of elector/health, elector/prommetrics
// and elector/oteltrace are safe for concurrent use and observe any number of
// electors at once.
type Instrument interface {
	// Instrument returns the store and the settings to make an elector of, and
	// a function that must be called with the elector before it runs.
	Instrument(store elector.Store, cfg elector.Config) (elector.Store, elector.Config, func(*elector.Elector))
}

// New is elector.New for an elector that the instruments observe. The first one
// is the closest to the elector: what the others do is in its measurements. Its
// errors are those of elector.New.
func New(store elector.Store, cfg elector.Config, instruments ...Instrument) (*elector.Elector, error) {
	if store == nil {
		return elector.New(nil, cfg) // which says what is missing
	}
	attach := make([]func(*elector.Elector), len(instruments))
	for i := len(instruments) - 1; i >= 0; i-- {
		store, cfg, attach[i] = instruments[i].Instrument(store, cfg)
	}
	e, err := elector.New(store, cfg)
	if err != nil {
		return nil, err
	}
	for _, f := range attach {
		f(e)
	}
	return e, nil
}

// OnEvent returns the settings with one more receiver of events. It is called
// before the one that cfg has, so that a slow one does not delay it; it must not
// block or panic.
func OnEvent(cfg elector.Config, f func(elector.Event)) elector.Config {
	next := cfg.OnEvent
	if next == nil {
		cfg.OnEvent = f
		return cfg
	}
	cfg.OnEvent = func(ev elector.Event) {
		f(ev)
		next(ev)
	}
	return cfg
}

// Clock is the clock that an elector with these settings goes by.
func Clock(cfg elector.Config) elector.Clock {
	if cfg.Clock == nil {
		return elector.SystemClock()
	}
	return cfg.Clock
}

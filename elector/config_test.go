package elector_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/memstore"
)

// A Config that cannot work is refused with the field, the values and the rule.
func TestConfigIsExplained(t *testing.T) {
	good := elector.Config{Election: "billing", ID: "a"}
	if _, err := elector.New(newMemStore(), good); err != nil {
		t.Fatal(err)
	}
	for _, none := range []elector.Store{nil, (*memstore.Store)(nil)} {
		if _, err := elector.New(none, good); err == nil || !strings.Contains(err.Error(), "a store is needed") {
			t.Errorf("with %T for a store: %v", none, err)
		}
	}
	for name, c := range map[string]struct {
		change func(*elector.Config)
		field  string
		says   []string
	}{
		"no election":      {func(c *elector.Config) { c.Election = "" }, "Election", []string{"empty"}},
		"spaces":           {func(c *elector.Config) { c.Election = "a b" }, "Election", []string{`"a b"`, "spaces"}},
		"not UTF-8":        {func(c *elector.Config) { c.Election = "caf\xe9" }, "Election", []string{`"caf\xe9"`, "UTF-8"}},
		"half a character": {func(c *elector.Config) { c.ID = "caf\xc3" }, "ID", []string{"UTF-8"}},
		"braces":           {func(c *elector.Config) { c.ID = "{a}" }, "ID", []string{"braces"}},
		"long":             {func(c *elector.Config) { c.ID = strings.Repeat("a", 201) }, "ID", []string{"201", "200"}},
		"negative":         {func(c *elector.Config) { c.Renew = -time.Second }, "Renew", []string{"-1s", "positive"}},
		"for ever":         {func(c *elector.Config) { c.DrainTimeout = math.MaxInt64 }, "DrainTimeout", []string{"2562047h47m16.854775807s", "87600h0m0s at the most"}},
		"microseconds":     {func(c *elector.Config) { c.Lease = 1500 * time.Microsecond }, "Lease", []string{"1.5ms", "multiple"}},
		"drift of 1":       {func(c *elector.Config) { c.Drift = 1 }, "Drift", []string{"below 1"}},
		"negative drift":   {func(c *elector.Config) { c.Drift = -0.1 }, "Drift", []string{"-0.1", "at least 0"}},
		"no number":        {func(c *elector.Config) { c.Drift = math.NaN() }, "Drift", []string{"NaN"}},
		"late renewal":     {func(c *elector.Config) { c.Renew = 15 * time.Second }, "Renew", []string{"15s", "Renew < Lease"}},
		"slow retry":       {func(c *elector.Config) { c.Retry = 16 * time.Second }, "Retry", []string{"16s", "15s", "Retry < Lease"}},
		"patient requests": {func(c *elector.Config) { c.RequestTimeout = 10 * time.Second }, "RequestTimeout", []string{"10s", "5s", "14.849s", "Renew + RequestTimeout"}},
		"no second try":    {func(c *elector.Config) { c.Retry = 8 * time.Second }, "Retry", []string{"8s", "5s", "2.5s", "14.849s"}},
		"drift eats it":    {func(c *elector.Config) { c.Drift = 0.6 }, "RequestTimeout", []string{"5.999s"}},
		"no time at all":   {func(c *elector.Config) { c.Lease = 5 * time.Millisecond }, "Lease", []string{"5ms", "at least 10ms"}},
		"by default":       {func(c *elector.Config) { c.Renew = 13 * time.Second }, "RequestTimeout", []string{"is 6.5s (by default Renew / 2) and Renew is 13s;"}},
	} {
		cfg := good
		c.change(&cfg)
		_, err := elector.New(newMemStore(), cfg)
		bad := new(elector.ConfigError)
		ok := errors.As(err, &bad)
		if !ok || bad.Field != c.field {
			t.Errorf("%s: %v, want a ConfigError of %s", name, err, c.field)
			continue
		}
		for _, part := range c.says {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", name, err, part)
			}
		}
	}
}

// A call without a context gets an error that says so, and nothing panics.
func TestNoContext(t *testing.T) {
	e, err := elector.New(newMemStore(), elector.Config{Election: "billing"})
	if err != nil {
		t.Fatal(err)
	}
	var none context.Context
	says := func(call string, err error) {
		if err == nil || !strings.Contains(err.Error(), "the context is nil") {
			t.Errorf("%s: %v", call, err)
		}
	}
	says("Run", e.Run(none))
	_, err = e.Campaign(none)
	says("Campaign", err)
	_, err = e.TryAcquire(none)
	says("TryAcquire", err)
	_, err = e.Leader(none)
	says("Leader", err)
	says("OnlyLeader", e.OnlyLeader(func(context.Context, *elector.Term) error { return nil })(none))
	for _, err := range e.Terms(none) {
		says("Terms", err)
	}
	for _, err := range elector.Observe(none, newMemStore(), "billing", elector.ObserveOptions{}) {
		says("Observe", err)
	}
	inBubble(t, func(b *bench) {
		term := b.campaign(b.elector("a"))
		says("Publish", term.Publish(none, "x"))
		says("Resign", term.Resign(none))
		b.resign(term)
	})
	for _, err := range elector.Observe(t.Context(), newMemStore(), "my bill", elector.ObserveOptions{}) {
		if err == nil || !strings.Contains(err.Error(), "spaces") {
			t.Errorf("Observe of a bad name: %v", err)
		}
		break
	}
}

// noLister is a store that does not know who competes.
type noLister struct{ elector.Store }

// Failback on a store that does not know who competes would do nothing, and is refused.
func TestFailbackWantsACandidateLister(t *testing.T) {
	cfg := elector.Config{Election: "billing", Failback: time.Minute}
	if _, err := elector.New(newMemStore(), cfg); err != nil {
		t.Errorf("a store that knows: %v", err)
	}
	bad := new(elector.ConfigError)
	if _, err := elector.New(noLister{newMemStore()}, cfg); !errors.As(err, &bad) || bad.Field != "Failback" {
		t.Errorf("a store that does not: got %v, want a ConfigError of Failback", err)
	}
}

// Every lease from a tenth of a second to an hour works with defaults, and the
// shortest that cannot is refused rather than run.
func TestDefaultsFitEveryLease(t *testing.T) {
	for lease := 10 * time.Millisecond; lease < time.Hour; lease = (lease * 3 / 2).Truncate(time.Millisecond) {
		if _, err := elector.New(newMemStore(), elector.Config{Election: "e", Lease: lease}); err != nil {
			t.Errorf("%v: %v", lease, err)
		}
	}
	if _, err := elector.New(newMemStore(), elector.Config{Election: "e", Lease: time.Millisecond}); err == nil {
		t.Error("a lease of 1ms, of which nothing is left, was accepted")
	}
}

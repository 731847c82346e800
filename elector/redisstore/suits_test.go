package redisstore

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/store"
)

// wrapped is a store around another one.
type wrapped struct{ store.Store }

func (w wrapped) Unwrap() store.Store { return w.Store }

// New of package elector refuses times that do not suit the store's options. The error
// names both, and what to set.
func TestTimesThatDoNotSuitAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		options Options
		config  elector.Config
		says    []string // nothing: it is accepted
	}{
		"lease at the limit":    {Options{Expire: time.Minute}, elector.Config{Lease: 30 * time.Second}, nil},
		"lease beyond it":       {Options{Expire: time.Minute}, elector.Config{Lease: 31 * time.Second}, []string{"Lease: is 31s", "Expire of redisstore is 1m0s", "Expire to 1m2s"}},
		"others' longest lease": {Options{Expire: time.Minute}, elector.Config{LongestLease: time.Hour}, []string{"LongestLease: is 1h0m0s", "Expire of redisstore is 1m0s", "Expire to 2h0m0s"}},
		"keys that stay":        {Options{}, elector.Config{Lease: time.Hour}, nil},
		"confirmed in time":     {Options{Replicas: 1}, elector.Config{RequestTimeout: 101 * time.Millisecond}, nil},
		"confirmed too late":    {Options{Replicas: 1}, elector.Config{RequestTimeout: 100 * time.Millisecond}, []string{"RequestTimeout: is 100ms", "Confirm of redisstore is 100ms", "Confirm < RequestTimeout"}},
		"on disk too late":      {Options{FsyncedReplicas: 1}, elector.Config{Lease: 10 * time.Second}, []string{"RequestTimeout: is 1.666666666s", "Confirm of redisstore is 2s"}},
		"nobody confirms":       {Options{Confirm: 2 * time.Second}, elector.Config{RequestTimeout: time.Second}, nil},
	} {
		s, err := New(&redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}}, c.options)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c.config.Election = "billing"
		for _, store := range []store.Store{s, wrapped{s}} {
			_, err := elector.New(store, c.config)
			if (err != nil) != (c.says != nil) {
				t.Errorf("%s: got %v, want an error: %t", name, err, c.says != nil)
				continue
			}
			for _, part := range c.says {
				if !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "\n") {
					t.Errorf("%s: got %q, want one line with %q", name, err, part)
				}
			}
		}
		_ = s.Close()
	}
}

// A lease that outlives the keys beside it is refused where New was not asked. Nothing is
// sent.
func TestLeaseThatOutlivesItsKeysIsRefused(t *testing.T) {
	s, err := New(&redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}}, Options{Expire: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	a := attempt("n1", "a")
	a.TTL = 31 * time.Second
	_, acquired := s.Acquire(t.Context(), a)
	l := lease(a, 1)
	l.TTL = a.TTL
	for call, err := range map[string]error{"acquire": acquired, "renew": s.Renew(t.Context(), l)} {
		var fatal *store.FatalError
		if !errors.As(err, &fatal) || !strings.Contains(err.Error(), "31s") || !strings.Contains(err.Error(), "Expire is 1m0s") || !strings.Contains(fatal.Fix, "1m2s") {
			t.Errorf("%s: got %v, want a fatal error that names 31s, 1m0s and 1m2s", call, err)
		}
	}
}

// A client that gives up before the confirmations are waited for is refused.
func TestConfirmIsShorterThanReadTimeout(t *testing.T) {
	for _, c := range []struct {
		read time.Duration
		o    Options
		ok   bool
	}{
		{2 * time.Second, Options{FsyncedReplicas: 1}, false},
		{2*time.Second + 1, Options{FsyncedReplicas: 1}, true},
		{50 * time.Millisecond, Options{Replicas: 1}, false},
		{-1, Options{Replicas: 1}, true}, // the client waits for as long as the caller
		{50 * time.Millisecond, Options{Confirm: time.Second}, true},
	} {
		s, err := New(&redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}, ReadTimeout: c.read}, c.o)
		if (err == nil) != c.ok || err != nil && (!strings.Contains(err.Error(), "Confirm is ") || !strings.Contains(err.Error(), "ReadTimeout is "+c.read.String())) {
			t.Errorf("ReadTimeout %v with %+v: got %v, want it accepted: %t", c.read, c.o, err, c.ok)
		}
		if s != nil {
			_ = s.Close()
		}
	}
}

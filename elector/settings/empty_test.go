package settings_test

import (
	"context"
	"strings"
	"testing"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/joblock"
	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/pgstore"
	"github.com/recount-io/recount/elector/quorumstore"
	"github.com/recount-io/recount/elector/redisstore"
)

// A store that is nil, or that its New has not made, is refused in one line where an
// elector or a job would use it.
func TestEmptyStoresAreRefused(t *testing.T) {
	for _, c := range []struct {
		store elector.Store
		says  string
	}{
		{nil, "a store is needed"},
		{(*redisstore.Store)(nil), "nil (*redisstore.Store)"},
		{(*memstore.Store)(nil), "nil (*memstore.Store)"},
		{&redisstore.Store{}, "make it with New"},
		{&memstore.Store{}, "make it with New"},
		{&quorumstore.Store{}, "make it with New"},
		{&pgstore.Store{}, "make it with New"},
		{&pgstore.SessionStore{}, "make it with NewSession"},
	} {
		_, err := elector.New(c.store, elector.Config{Election: "billing"})
		job := joblock.Run(t.Context(), c.store, elector.Config{Election: "nightly"}, joblock.Options{}, func(context.Context, *elector.Term) error { return nil })
		for what, err := range map[string]error{"New": err, "a job": job} {
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s on %T: %v, want one line with %q", what, c.store, err, c.says)
			}
		}
	}
	var none context.Context
	if err := joblock.Run(none, memstore.New(memstore.Options{}), elector.Config{Election: "nightly"}, joblock.Options{}, nil); err == nil || !strings.Contains(err.Error(), "the context is nil") {
		t.Errorf("no context: %v", err)
	}
	if err := joblock.Run(t.Context(), memstore.New(memstore.Options{}), elector.Config{Election: "nightly"}, joblock.Options{}, nil); err == nil || !strings.Contains(err.Error(), "needs a job") {
		t.Errorf("no job: %v", err)
	}
}

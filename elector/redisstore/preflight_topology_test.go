package redisstore_test

import (
	"strings"
	"testing"

	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/topology"
)

// found wants one finding about the subject, and returns it.
func found(t *testing.T, p store.Preflight, severity store.Severity, subject, text string) store.Finding {
	t.Helper()
	for _, f := range p.Findings {
		if f.Severity == severity && f.Subject == subject && strings.Contains(f.Text, text) {
			return f
		}
	}
	t.Errorf("no %s about %s with %q in %+v", severity, subject, text, p.Findings)
	return store.Finding{}
}

// Sentinels are asked one by one. When most of them are gone, it is said that
// nothing will be promoted.
func TestPreflightOfSentinels(t *testing.T) {
	ctx, l := launcher(t)
	r := topology.Must[*topology.Sentinels](t)(l.Sentinels(ctx, topology.SentinelConfig{}))
	ok(t, r.Primary.InStep(ctx, 2))
	s := openURL(t, r.URL(), redisstore.Options{Replicas: 1})
	inspect := topology.Must[store.Preflight](t)
	p := inspect(s.Preflight(ctx))
	found(t, p, store.SeverityNote, "down-after-milliseconds", "replaced no sooner")
	if p.Worst() != store.SeverityNote || !strings.Contains(p.Guarantee, "these Sentinels name") || !strings.Contains(p.Guarantee, "1 of 2 replicas") || !strings.Contains(p.Guarantee, "and then moves, two may lead") {
		t.Errorf("found %+v", p)
	}
	for _, sentinel := range r.Sentinels[1:] {
		ok(t, sentinel.Kill())
	}
	for p.Worst() != store.SeverityError { // the one that is left notices it
		p = inspect(s.Preflight(ctx))
	}
	found(t, p, store.SeverityError, "quorum", r.Sentinels[0].Addr)
	if f := found(t, p, store.SeverityWarning, "sentinels", r.Sentinels[1].Addr); !strings.Contains(f.Fix, "start it") {
		t.Errorf("found %+v", f)
	}
}

// Every primary of a cluster is looked at, and what is true of all of them is
// said once.
func TestPreflightOfManyPrimaries(t *testing.T) {
	ctx, l := launcher(t)
	r := topology.Must[*topology.Cluster](t)(l.Cluster(ctx, topology.ClusterConfig{}))
	s := openURL(t, r.URL(), redisstore.Options{})
	inspect := topology.Must[store.Preflight](t)
	owner, replicas, err := r.Owner(ctx, s.Keys(billing)[0])
	ok(t, err)
	ok(t, owner.InStep(ctx, len(replicas)))
	ok(t, owner.Client().ConfigSet(ctx, "maxmemory", "100mb").Err())
	ok(t, owner.Client().ConfigSet(ctx, "maxmemory-policy", "allkeys-lru").Err())
	p := inspect(s.Preflight(ctx))
	if f := found(t, p, store.SeverityWarning, "maxmemory-policy", "is allkeys-lru"); !strings.HasPrefix(f.Text, owner.Addr+": ") {
		t.Errorf("it is not said which one: %+v", f)
	}
	found(t, p, store.SeverityNote, "cluster-require-full-coverage", "is yes")
	found(t, p, store.SeverityWarning, "replicas", "Options.Replicas is 0 and 1 replica is connected")
	persistence := 0
	for _, f := range p.Findings {
		if f.Subject == "persistence" {
			persistence++
		}
	}
	if persistence != 1 {
		t.Errorf("said %d times that nothing is kept: %+v", persistence, p.Findings)
	}
	if !strings.Contains(p.Guarantee, "the primaries of this cluster keep their data") {
		t.Error(p.Guarantee)
	}
}

package redisstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/topology"
)

// kinds are the ways in which a store can be protected against lost data.
var kinds = []struct {
	name    string
	options redisstore.Options
}{
	{"unprotected", redisstore.Options{Unprotected: true}},
	{"protected", redisstore.Options{}},
	{"confirmed", redisstore.Options{Replicas: 1}},
}

// The primary is killed under an elected leader. Sentinels promote a replica,
// and afterwards somebody leads again, with a larger token.
func TestSentinelFailover(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			ctx, l := launcher(t)
			r := topology.Must[*topology.Sentinels](t)(l.Sentinels(ctx, topology.SentinelConfig{}))
			prime(ctx, t, openURL(t, r.URL(), kind.options), billing)
			s := newStage(t, ctx)
			for _, id := range []string{"n1", "n2", "n3"} {
				s.enter(id, openURL(t, r.URL(), kind.options), time.Second)
			}
			first := s.await(0, "the first leader", elected)
			ok(t, r.Primary.InStep(ctx, 2))
			watch := topology.Must[*topology.Switch](t)(r.Switching(ctx))
			defer func() { ok(t, watch.Close()) }()
			killed := elector.SystemClock().Now()
			ok(t, r.Primary.Kill())
			before := s.seen()
			if promoted := topology.Must[*topology.Server](t)(watch.Await(ctx)); promoted == r.Primary {
				t.Error("the Sentinels name the primary that was killed")
			}
			switched := elector.SystemClock().Now()
			next := s.await(before, "a leader after the failover", func(ev elector.Event) bool { return leads(ev) && ev.At > switched })
			t.Logf("the Sentinels took %.2fs; somebody led again %.2fs after that (%s, token %d after %d)",
				(switched - killed).Seconds(), (next.At - switched).Seconds(), next.Kind, next.Token, first.Token)
			s.demandOne()
		})
	}
}

// The Sentinels are told to move the primary while it lives: it answers
// READONLY in the end. The election goes on, and nobody gives up for good.
//
// A replica must confirm: for about a second, or longer if other replicas are
// slow to follow, there are two primaries, and who listens to the Sentinel that
// leads the failover is told of the new one last. Without confirmations, a
// leader among those is renewed by the old primary while the new one elects
// another.
func TestSentinelDemotion(t *testing.T) {
	ctx, l := launcher(t)
	r := topology.Must[*topology.Sentinels](t)(l.Sentinels(ctx, topology.SentinelConfig{}))
	o := redisstore.Options{Replicas: 1}
	prime(ctx, t, openURL(t, r.URL(), o), billing)
	s := newStage(t, ctx)
	for _, id := range []string{"n1", "n2", "n3"} {
		s.enter(id, openURL(t, r.URL(), o), time.Second)
	}
	s.await(0, "the first leader", elected)
	ok(t, r.Primary.InStep(ctx, 2))
	held := direct(t, r.Primary, r.Password, redisstore.Options{Prefix: "other:"})
	prime(ctx, t, held, billing)
	watch := topology.Must[*topology.Switch](t)(r.Switching(ctx))
	defer func() { ok(t, watch.Close()) }()
	ok(t, r.Sentinels[0].Client().Do(ctx, "SENTINEL", "FAILOVER", topology.MasterName).Err())
	topology.Must[*topology.Server](t)(watch.Await(ctx))
	switched := elector.SystemClock().Now()
	s.await(0, "a leader after the demotion", func(ev elector.Event) bool { return leads(ev) && ev.At > switched })
	s.demandOne()

	// Who goes on asking the old primary is told so, and that it may pass.
	readOnly := func() error {
		_, err := held.Acquire(ctx, store.Attempt{Election: billing, ID: "n9", Nonce: "n9/1", Request: 1, TTL: time.Second})
		return err
	}
	err := readOnly()
	for ; ctx.Err() == nil && (err == nil || !strings.Contains(err.Error(), "READONLY")); err = readOnly() {
		if fatal := new(store.FatalError); errors.As(err, &fatal) {
			break
		}
	}
	if fatal := new(store.FatalError); err == nil || errors.As(err, &fatal) {
		t.Errorf("the demoted primary: %v, want READONLY, not fatal", err)
	}
}

// Sentinels and servers want passwords, and the servers know the elector as a
// user with few rights.
func TestSentinelPasswordAndUser(t *testing.T) {
	ctx, l := launcher(t)
	r := topology.Must[*topology.Sentinels](t)(l.Sentinels(ctx, topology.SentinelConfig{Password: "s3ntinel"}))
	for _, server := range r.Servers() {
		ok(t, server.Client().Do(ctx, "ACL", "SETUSER", "alice", "on", ">w0nder", "~recount:*", "&recount:*", "+@all", "-@admin", "+client|list").Err())
	}
	options := &redis.UniversalOptions{
		MasterName: topology.MasterName, Addrs: r.SentinelAddrs(), SentinelPassword: "s3ntinel", Username: "alice", Password: "w0nder",
	}
	s := newStage(t, ctx)
	s.enter("n1", openStore(t, options, redisstore.Options{Replicas: 2}), time.Second)
	s.await(0, "the leader", elected)

	var nodes []string
	for _, addr := range r.SentinelAddrs()[1:] {
		nodes = append(nodes, "addr="+addr)
	}
	at := "redis://alice:w0nder@" + r.SentinelAddrs()[0] + "?master=" + topology.MasterName + "&" + strings.Join(nodes, "&") + "&sentinel_password="
	if l, err := openURL(t, at+"s3ntinel", redisstore.Options{}).Leader(ctx, billing); err != nil || l.ID == "" {
		t.Errorf("by URL: %+v, %v", l, err)
	}
	for _, sentinel := range r.Sentinels {
		ok(t, sentinel.Client().Do(ctx, "ACL", "SETUSER", "watcher", "on", ">s%s", "&*", "+@all").Err())
	}
	if l, err := openURL(t, at+"s%25s&sentinel_username=watcher", redisstore.Options{}).Leader(ctx, billing); err != nil || l.ID == "" {
		t.Errorf("by URL, as a user of the Sentinels: %+v, %v", l, err)
	}
	_, err := openURL(t, at+"wr0ng", redisstore.Options{}).Leader(ctx, billing)
	if fatal := new(store.FatalError); !errors.As(err, &fatal) || strings.Contains(err.Error(), "wr0ng") || strings.Contains(err.Error(), "w0nder") {
		t.Errorf("by URL with a wrong password: %v", err)
	}
	p, err := openURL(t, at+"wr0ng", redisstore.Options{}).Preflight(ctx)
	if err == nil || strings.Contains(fmt.Sprint(p, err), "wr0ng") {
		t.Errorf("preflight by URL with a wrong password: %+v, %v", p, err)
	}

	for name, change := range map[string]func(*redis.UniversalOptions){
		"the Sentinels' password": func(o *redis.UniversalOptions) { o.SentinelPassword = "" },
		"the user's password":     func(o *redis.UniversalOptions) { o.Password = "wrong" },
	} {
		wrong := *options
		change(&wrong)
		_, err := openStore(t, &wrong, redisstore.Options{}).Leader(ctx, billing)
		var fatal *store.FatalError
		if !errors.As(err, &fatal) {
			t.Errorf("%s is wrong: %v, want a FatalError", name, err)
		}
	}
}

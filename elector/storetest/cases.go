package storetest

import (
	"context"
	"strings"
	"time"

	"github.com/recount-io/recount/elector/store"
)

func idempotent(b *bench) {
	first := b.acquire(election, "a", "a/1", 0)
	again := b.acquire(election, "a", "a/1", 0)
	if again.Token != first.Token {
		b.Errorf("%s: tokens %d and %d for one nonce", b.name, first.Token, again.Token)
	}
	_ = b.refused("a", "a/2") // another attempt, even of the same candidate
	_ = b.refused("b", "a/1") // the same nonce, but not the same candidate
	b.leads(election, "a", first.Token)
}

func repeatedAttemptExtends(b *bench) {
	first := b.acquire(election, "a", "a/1", 0)
	for range 3 {
		b.advance(ttl / 2)
		b.acquire(election, "a", "a/1", 0)
	}
	b.leads(election, "a", first.Token)
	b.advance(ttl + slack)
	if later := b.acquire(election, "a", "a/1", 0); later.Token <= first.Token {
		b.Errorf("%s: the token %d after %d, although the lease had ended in between", b.name, later.Token, first.Token)
	}
}

func held(b *bench) {
	lease := b.acquire(election, "a", "a/1", 0)
	b.advance(ttl / 2)
	err := b.refused("b", "b/1")
	if err.Holder != "a" || err.Token != lease.Token {
		b.Errorf("%s: held by %q with token %d, want %q with %d", b.name, err.Holder, err.Token, "a", lease.Token)
	}
	if err.Remaining <= 0 || err.Remaining > ttl/2 {
		b.Errorf("%s: %v remain, want up to %v", b.name, err.Remaining, ttl/2)
	}
	b.advance(err.Remaining + 2*time.Millisecond)
	b.acquire(election, "b", "b/2", 0) // exactly when it said
}

func tokensGrow(b *bench) {
	last := uint64(0)
	for _, floor := range []uint64{0, 0, 41, 7, 1000, 1001, 1002, 0} {
		lease := b.acquire(election, "a", "a/"+time.Duration(last).String(), floor)
		if lease.Token <= last || lease.Token <= floor {
			b.Errorf("%s: token %d after %d with floor %d", b.name, lease.Token, last, floor)
		}
		last = lease.Token
		b.must("release", b.release(lease))
	}
}

func tokensExact(b *bench) {
	last := uint64(1<<53 + 1)
	for _, nonce := range []string{"a/1", "a/2", "a/3"} {
		lease := b.acquire(election, "a", nonce, 1<<53+1)
		if lease.Token != last+1 {
			b.Errorf("%s: token %d after %d, want the next one exactly", b.name, lease.Token, last)
		}
		last = lease.Token
		b.leads(election, "a", last)
		if got := b.refused("b", "b/1").Token; got != last {
			b.Errorf("%s: a refusal names the token %d, want %d", b.name, got, last)
		}
		wrong := lease
		wrong.Token-- // the same number for those who count in doubles
		b.notHeld("renewal with a token less by one", b.renew(wrong))
		b.must("renewal", b.renew(lease))
		b.must("release", b.release(lease))
	}
}

func renewals(b *bench) {
	lease := b.acquire(election, "a", "a/1", 0)
	for range 4 {
		b.advance(ttl / 2)
		b.must("renewal", b.renew(lease))
	}
	b.leads(election, "a", lease.Token)
}

func expiry(b *bench) {
	b.leads(election, "", 0)
	first := b.acquire(election, "a", "a/1", 0)
	b.advance(ttl + slack)
	b.leads(election, "", 0)
	if next := b.acquire(election, "b", "b/1", 0); next.Token <= first.Token {
		b.Errorf("%s: token %d after %d", b.name, next.Token, first.Token)
	}
}

func renewAfterEnd(b *bench) {
	lease := b.acquire(election, "a", "a/1", 0)
	b.advance(ttl + slack)
	b.notHeld("renewal after the end", b.renew(lease))
	b.leads(election, "", 0)
	b.notHeld("release after the end", b.release(lease))
	b.acquire(election, "b", "b/1", 0)
	b.notHeld("renewal after somebody else was granted it", b.renew(lease))
	unknown := store.Lease{Election: second, ID: "a", Nonce: "a/1", Token: 1, TTL: ttl}
	b.notHeld("renewal of what never was", b.renew(unknown))
	b.leads(second, "", 0)
}

func exactLease(b *bench) {
	lease := b.acquire(election, "a", "a/1", 0)
	for _, change := range []func(*store.Lease){
		func(l *store.Lease) { l.ID = "b" },
		func(l *store.Lease) { l.Nonce = "a/2" },
		func(l *store.Lease) { l.Token++ },
	} {
		wrong := lease
		change(&wrong)
		b.notHeld("renewal of another lease", b.renew(wrong))
		b.notHeld("release of another lease", b.release(wrong))
	}
	b.leads(election, "a", lease.Token)
	b.must("renewal", b.renew(lease))
}

func earlierTerm(b *bench) {
	early := b.acquire(election, "a", "a/1", 0)
	b.must("release", b.release(early))
	late := b.acquire(election, "a", "a/2", 0)
	b.notHeld("renewal of an earlier term", b.renew(early))
	b.notHeld("release of an earlier term", b.release(early))
	b.leads(election, "a", late.Token)
}

func release(b *bench) {
	lease := b.acquire(election, "a", "a/1", 0)
	b.must("release", b.release(lease))
	b.leads(election, "", 0)
	b.notHeld("second release", b.release(lease))
	b.notHeld("renewal after the release", b.renew(lease))
	b.acquire(election, "b", "b/1", 0)
}

func independent(b *bench) {
	one := b.acquire(election, "a", "n/1", 100)
	two := b.acquire(second, "b", "n/1", 0)
	b.leads(election, "a", one.Token)
	b.leads(second, "b", two.Token)
	elsewhere := two
	elsewhere.Election = election
	b.notHeld("renewal in the wrong election", b.renew(elsewhere))
	b.must("release", b.release(one))
	b.leads(second, "b", two.Token)
}

func announced(b *bench) {
	l := b.watch()
	lease := b.primed(l)
	b.must("release", b.release(lease))
	l.await(store.HintReleased, lease.Token)
	next := b.acquire(election, "b", "b/1", 0)
	if h := l.await(store.HintGranted, next.Token); h.Remaining <= 0 || h.Remaining > ttl {
		b.Errorf("%s: a grant for %v was announced, want up to %v", b.name, h.Remaining, ttl)
	}
	if err := l.end(); err == nil {
		b.Errorf("%s: Watch returned no error", b.name)
	}
}

// primed makes sure that the watch listens: it takes the lease and gives it
// back until a hint comes. It returns a lease that is held.
func (b *bench) primed(l *listener) store.Lease {
	b.Helper()
	for i := range 1000 {
		lease := b.acquire(election, "a", "prime/"+time.Duration(i).String(), 0)
		b.advance(time.Millisecond)
		if len(l.hints) > 0 {
			return lease
		}
		b.must("release", b.release(lease))
	}
	b.Fatalf("%s: no grant was announced", b.name)
	return store.Lease{}
}

func watchEnds(b *bench) {
	if err := b.watch().end(); err == nil {
		b.Errorf("%s: Watch returned no error", b.name)
	}
}

func contextDone(b *bench) {
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	whole := b.ctx
	b.ctx = ctx
	_, err := b.attempt(election, "a", "a/1", 0)
	b.ctx = whole
	if err == nil {
		b.Errorf("%s: acquired with a context that is done", b.name)
	}
	b.acquire(election, "b", "b/1", 0)
}

// values are what may be published: any bytes.
var values = []string{"here", "a b", "\x00\xff\r\n{%1}", "", "9 9 9", strings.Repeat("long ", store.MaxValue/5)}

func published(b *bench) {
	lease := b.publishes(values[0])
	b.shows(lease, values[0], 1)
	for i, value := range values[1:] {
		lease.Value, lease.Version = value, uint64(i+2)
		b.must("renewal", b.renew(lease))
		b.shows(lease, value, lease.Version)
	}
	lease.Shown = true
	b.must("renewal", b.renew(lease))
	b.shows(lease, lease.Value, lease.Version)
	lease.Value, lease.Version = "", 0 // of an elector that knows nothing of values
	b.must("renewal", b.renew(lease))
	b.shows(lease, values[len(values)-1], uint64(len(values)))
}

func publishedLate(b *bench) {
	lease := b.publishes("one")
	late := lease
	lease.Value, lease.Version = "ten", 10
	b.must("renewal", b.renew(lease))
	late.Value, late.Version = "nine", 9
	b.must("renewal that is late", b.renew(late))
	b.shows(lease, "ten", 10)
	again := b.publishes("one")
	if again.Token != lease.Token {
		b.Errorf("%s: tokens %d and %d for one nonce", b.name, lease.Token, again.Token)
	}
	b.shows(lease, "ten", 10)
}

func publishedInTerm(b *bench) {
	first := b.publishes("first")
	wrong := first
	wrong.Nonce, wrong.Value, wrong.Version = "a/9", "wrong", 7
	b.notHeld("renewal of another lease", b.renew(wrong))
	b.shows(first, "first", 1)
	b.must("release", b.release(first))
	b.leads(election, "", 0)
	second := b.acquire(election, "a", "a/2", 0)
	b.shows(second, "", 0)
	first.Version, first.Value = 2, "late"
	b.notHeld("renewal of an earlier term", b.renew(first))
	b.shows(second, "", 0)
	second.Value, second.Version = "second", 1
	b.must("renewal", b.renew(second))
	b.shows(second, "second", 1)
	b.advance(ttl + slack)
	b.leads(election, "", 0)
	b.shows(b.acquire(election, "a", "a/2", 0), "", 0) // the attempt again is another term
}

func publishedIsAnnounced(b *bench) {
	l := b.watch()
	lease := b.primed(l)
	lease.Value, lease.Version = "here", 1
	b.must("renewal", b.renew(lease))
	l.await(store.HintPublished, lease.Token)
	_ = l.end() // see announced
}

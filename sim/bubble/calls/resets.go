package calls

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/sim/space"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// Greeting is what connections need before they can be used. To dial and to say HELLO
// takes a round trip each.
type Greeting struct {
	TLS      bool // a handshake, which takes a round trip; such a connection looks alive when it is dead
	Password bool
	Named    bool // the client has a name, which is sent with SELECT in one round trip
	Old      bool // the server does not know HELLO, so the password takes a round trip of its own
	Protocol int  // 3, or 0 for the default
}

// password is the server's, "" if it has none.
func (g Greeting) password() string {
	if g.Password {
		return "secret"
	}
	return ""
}

// trips are the round trips until a connection to the database can be used. A client that
// is not the store's also says which library it is.
func (g Greeting) trips(database int, foreign bool) int {
	n := 2
	for _, takes := range []bool{g.TLS, g.Old && g.Password, g.Named || database > 0, foreign} {
		if takes {
			n++
		}
	}
	return n
}

// features tells what connections need.
func (g Greeting) features(tell func(string)) {
	for name, has := range map[string]bool{"tls": g.TLS, "password": g.Password, "named": g.Named, "old": g.Old, "resp3": g.Protocol == 3} {
		if has {
			tell(name)
		}
	}
}

// client are the options of a client that greets so.
func (g Greeting) client(o redis.UniversalOptions) *redis.UniversalOptions {
	o.Addrs, o.Protocol, o.Password = []string{"store:6379"}, g.Protocol, g.password()
	if g.Named {
		o.ClientName = "calls"
	}
	return &o
}

// refuse is what the server answers to a command in place of an answer; "": nothing.
func (r *run) refuse(db *redismodel.Server, args []string) string {
	if r.Greeting.Old && strings.EqualFold(args[0], "HELLO") {
		return "ERR unknown command 'HELLO', with args beginning with:"
	}
	return r.control.Refuse(db, args)
}

func (l *life) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if l.process.run.Greeting.TLS {
		return l.endpoint.DialSecure(ctx)
	}
	return l.endpoint.Dial(ctx)
}

// resets draws, from a generator of its own, a server that is far away and takes some
// round trips to greet. In the calm at the end a leader loses all its connections, once or
// again and again.
func (c *Case) resets(r *rand.Rand) {
	if r.IntN(4) > 0 || c.Elections > few {
		return
	}
	some := func() bool { return r.IntN(2) == 0 }
	c.Greeting = Greeting{TLS: some(), Password: some(), Named: some(), Old: r.IntN(4) == 0}
	if some() {
		c.Greeting.Protocol = 3
	}
	c.RoundTrip = space.Between(r, min(c.Lease/40, 100*time.Millisecond), min(c.Lease/6, 600*time.Millisecond))
	at := c.calm()
	for range 1 + r.IntN(3) {
		at += time.Duration(r.Int64N(int64(c.Lease)))
		c.Acts = append(c.Acts, Act{At: at, Kind: Hangup, Process: r.IntN(len(c.Processes)), Leader: true, Election: r.IntN(c.Elections)})
		at += c.Lease + c.Lease/3
	}
}

// calm is when nothing that happens has an effect any more.
func (c Case) calm() time.Duration {
	at := c.Lease + c.Span
	for _, a := range c.Acts {
		at = max(at, a.end()) // what follows on another act may be later than the span
	}
	return at + 3*c.longest() + readTimeout
}

// survives reports whether the lease of the candidate leaves room for one reset of all
// connections. The worst one comes when a renewal has been carried out, and its answer is
// about to arrive: a round trip after it was sent. Then connections are opened, which
// takes the round trips of the greeting, or the pause of Retry. Then a renewal is sent: the
// one that waits for them, if its answer can come within two RequestTimeouts of its
// beginning, and else the next one.
func (c *candidate) survives() bool {
	r, cfg := c.run, c.config
	trip, opening := c.life.process.trips()
	worst := cfg.Renew + trip + max(opening, cfg.Retry+cfg.Retry/4) + trip + max(0, cfg.Retry+cfg.Retry/4+trip-cfg.RequestTimeout)
	usable := cfg.Lease - cfg.Lease/100 - time.Millisecond
	if r.Elections > 1 {
		worst += trip // all connections may be busy
	}
	return c.opens() && trip <= cfg.RequestTimeout && worst <= usable && c.behavior.plain() && cmp.Or(c.behavior.Pool, 4) > 1
}

// trips returns how long a round trip may take, and the opening of a connection.
func (p *process) trips() (trip, opening time.Duration) {
	trip = p.run.RoundTrip + p.run.RoundTrip/10 + time.Millisecond
	return trip, time.Duration(p.run.Greeting.trips(p.database(), p.behavior().Foreign)) * trip
}

// opens reports whether a request is answered in time although a connection must be opened
// for it. The last request of a session is not repeated, and a client of the caller's own
// gives a connection up that opens too late for its request.
func (c *candidate) opens() bool {
	trip, opening := c.life.process.trips()
	return !c.behavior.Foreign || opening+trip <= c.config.RequestTimeout
}

// repeats reports whether a release that met a dead connection is answered in time at its
// second try, although a connection must be opened for that one: not if it is the only one.
func (c *candidate) repeats() bool {
	trip, opening := c.life.process.trips()
	return cmp.Or(c.behavior.Pool, 4) > 1 && (!c.behavior.Foreign || c.config.Retry+c.config.Retry/4+opening+trip <= c.config.RequestTimeout)
}

// reset ends all connections of a process. No term ends of that whose lease leaves room.
func (r *run) reset(ctx context.Context, i int, a Act, p *process, led []*candidate) {
	for _, c := range led {
		if t := c.current(); c.survives() && r.undisturbedAround(i, a) && r.recorder.Now()-c.began() > r.Lease && !r.halfOpen(p.world()) {
			go r.expectTerm(ctx, c, t, a.Kind)
		}
	}
	p.link.Break()
}

// undisturbedAround reports whether nothing else happens from a lease before the act to a
// lease after it.
func (r *run) undisturbedAround(i int, a Act) bool {
	for j, other := range r.Acts {
		if j != i && other.end()+r.longest() > a.At && other.At < a.At+r.longest() {
			return false
		}
	}
	return true
}

package calls

import (
	"math/rand/v2"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/recount-io/recount/elector/redisstore"
)

// foreign draws, from a generator of its own, processes whose store is on a client that
// they have already.
func (c *Case) foreign(r *rand.Rand) {
	if r.IntN(4) > 0 || c.Elections > few {
		return
	}
	for i := range c.Processes {
		c.Processes[i].Foreign = r.IntN(2) == 0
	}
}

// open makes the life's store, and returns what closes its client.
func (l *life) open() (closing func()) {
	p := l.process
	m, o := p.behavior(), l.release.options(p.prefix())
	var err error
	if !m.Foreign {
		l.store, err = redisstore.New(m.login(l.release, p.run.Greeting.client(redis.UniversalOptions{DB: p.database(), PoolSize: m.Pool, Dialer: l.dial})), o)
		closing = func() {}
	} else {
		client := redis.NewClient(m.login(l.release, p.run.Greeting.client(redis.UniversalOptions{
			DB: p.database(), PoolSize: m.Pool, Dialer: l.dial, ContextTimeoutEnabled: p.index%2 == 0,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}, // they would look names up
		})).Simple())
		l.store, err = redisstore.FromClient(client, o)
		closing = func() { _ = client.Close() } // nobody uses it any more
	}
	if err != nil {
		panic("calls: " + err.Error()) // the options are constants
	}
	return closing
}

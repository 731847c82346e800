package calls

import (
	"cmp"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/redisstore"
)

// Candidates of one election may run different releases of a program: their stores differ
// in rights and options, and their electors in leases. A process changes its release when
// it is restarted.

// Release is what a process runs in one life. The zero value has all rights, and the
// settings that the case gives to everybody.
type Release struct {
	Blind       bool          // its user may not use INFO: beside others, each grant to it waits for a lease
	Uncounted   bool          // its user may not use PUBSUB
	Audit       bool          // as redisstore.Options has it, as are the next two
	Unprotected bool          // only where nothing is lost
	Expire      time.Duration // likewise
	Lease       time.Duration // another one than the process's
	Longest     bool          // it counts on leases twice as long as any is
	Renews      int           // how often in ten leases; 0: 30 times
}

// rights are what a user may lack, and what it may not execute then.
var rights = []struct{ name, command string }{{"-info", "INFO"}, {"-pubsub", "PUBSUB"}, {"-here", "SUBSCRIBE here:"}}

// users are all that there may be, and what each may not execute.
var users = func() map[string][]string {
	all := map[string][]string{}
	for lacks := 1; lacks < 1<<len(rights); lacks++ {
		name, denied := "", []string(nil)
		for i, right := range rights {
			if lacks&(1<<i) != 0 {
				name, denied = name+right.name, append(denied, right.command)
			}
		}
		all[name] = denied
	}
	return all
}()

// login makes a client log in as a user with the rights that the process has in a release.
func (m Behavior) login(r Release, o *redis.UniversalOptions) *redis.UniversalOptions {
	user := ""
	for i, lacks := range []bool{r.Blind, r.Uncounted, m.Barred} {
		if lacks {
			user += rights[i].name
		}
	}
	if user != "" {
		o.Username, o.Password = user, cmp.Or(o.Password, "any")
	}
	return o
}

// barred draws, in every eighth case, processes whose user may not subscribe to what tells
// the server that a candidate hears.
func (c *Case) barred(r *rand.Rand) {
	some := r.IntN(8) == 0
	for i := range c.Processes {
		c.Processes[i].Barred = some && r.IntN(2) == 0
	}
}

// options are the release's of a store.
func (r Release) options(prefix string) redisstore.Options {
	return redisstore.Options{Prefix: prefix, Audit: r.Audit, Unprotected: r.Unprotected, Expire: r.Expire}
}

// configure changes what an elector with the release's lease is told.
func (r Release) configure(c *elector.Config) {
	if r.Longest {
		c.LongestLease = 2 * max(c.Lease, c.LongestLease)
	}
	if r.Renews > 0 {
		c.Renew = c.Lease * 10 / time.Duration(r.Renews)
	}
}

// rolls reports whether the process's releases differ from what others run.
func (m Behavior) rolls() bool { return m.Releases != [2]Release{} }

func (c Case) rolls() bool { return c.anyone(Behavior.rolls) }

// has reports whether one of the releases is so.
func (m Behavior) has(is func(Release) bool) bool { return is(m.Releases[0]) || is(m.Releases[1]) }

// releases draws, from a generator of its own, processes that run different releases. One
// by one they are restarted with the next release, there and back, while keys are deleted
// and the leader is killed.
func (c *Case) releases(r *rand.Rand) {
	if r.IntN(6) > 0 || c.Elections > few {
		return
	}
	calm := !c.hasOf(func(t trait) bool { return t.data || t.server }) && r.IntN(2) == 0
	other := whole(c.Lease/2 + time.Duration(r.Int64N(int64(c.Lease))))
	same := [2]Release{c.release(r, calm, other), c.release(r, calm, other)}
	each := r.IntN(2) == 0
	for i := range c.Processes {
		m := &c.Processes[i]
		if m.Releases = same; each {
			m.Releases = [2]Release{c.release(r, calm, other), c.release(r, calm, other)}
		}
	}
	for i := range c.Processes {
		for j := range 2 {
			if one := &c.Processes[i].Releases[j]; one.Expire > 0 {
				one.Expire = max(time.Minute, 4*c.longest())
			}
		}
	}
	at, w, e := c.Lease+time.Duration(r.Int64N(int64(c.Lease))), r.IntN(c.worlds()), r.IntN(c.Elections)
	add := func(kind Kind, process int, lasts time.Duration, leader bool) {
		c.Acts = append(c.Acts, Act{At: at, Kind: kind, Process: process, Leader: leader, Election: e, For: lasts, Choice: r.IntN(64)})
	}
	for range 2 {
		for i := w; i < len(c.Processes); i += c.worlds() {
			if !calm && r.IntN(2) == 0 {
				add([]Kind{Delete, Vanish}[r.IntN(2)], i, 0, false)
			}
			at += []time.Duration{0, c.RoundTrip, c.Lease / 10}[r.IntN(3)]
			add([]Kind{Stop, Kill}[r.IntN(2)], i, c.Lease/20, false)
			if at += c.Lease / 30; r.IntN(3) == 0 {
				add(Kill, i, c.Lease/10, true)
			}
			at += []time.Duration{c.RoundTrip, c.Lease / 10, c.Lease / 3, c.Lease + c.Lease/5, 3 * c.Lease}[r.IntN(5)]
		}
	}
}

// release draws one. On a calm day nothing is lost, and leases need no protection.
func (c *Case) release(r *rand.Rand, calm bool, other time.Duration) (one Release) {
	one.Blind, one.Uncounted, one.Audit = r.IntN(3) == 0, r.IntN(4) == 0, r.IntN(4) == 0
	if c.anyone(func(m Behavior) bool { return m.Failback }) {
		one.Blind = false // a leader may hand over to it again and again before it may lead
	}
	one.Longest, one.Renews = r.IntN(4) == 0, []int{0, 0, 25, 80}[r.IntN(4)]
	if r.IntN(4) == 0 {
		one.Lease = other
	}
	switch {
	case calm:
		one.Unprotected = !c.Unagreed && r.IntN(2) == 0
	case !c.Unagreed && r.IntN(3) == 0:
		one.Expire = 1 // see releases: it must outlive the longest lease
	}
	return one
}

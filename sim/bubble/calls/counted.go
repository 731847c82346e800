package calls

import (
	"cmp"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// Leases of different length in one election, and what each candidate counts on.

// rolling draws, from a generator of its own, a rolling change of the lease on a day on
// which nothing else breaks: nobody has told the candidates.
func (c *Case) rolling(r *rand.Rand, day day) {
	if day >= broken || c.Elections > few || r.IntN(8) > 0 {
		return
	}
	c.Unagreed = true
	other := whole(c.Lease/2 + time.Duration(r.Int64N(int64(c.Lease))))
	for i := range c.Processes {
		if r.IntN(2) == 0 {
			c.Processes[i].Lease = other
		}
	}
	if r.IntN(2) == 0 {
		c.unlearns(r)
	}
}

// unlearns ends the processes with the longest lease for good, but for those that must
// stay, and lets time pass in which the others may forget that there were such leases.
func (c *Case) unlearns(r *rand.Rand) {
	at, longest := c.Lease+time.Duration(r.Int64N(int64(c.Span))), c.longest()
	for i := range c.Processes {
		if !c.steady(i) && c.lease(i, 0) == longest {
			c.Acts = append(c.Acts, Act{At: at, Kind: Kill, Process: i})
		}
	}
	c.Acts = append(c.Acts, Act{At: at + 12*longest, Kind: Ask})
}

// ledgers are what servers were told of the leases of those who compete.
type ledgers struct {
	mu     sync.Mutex
	of     map[ledgerKey]map[string]counts // by ID
	holder map[ledgerKey]string            // the ID that was granted the lease last
}

type ledgerKey struct {
	db    *redismodel.Server
	lease string
}

// counts is what a candidate has said of leases, and was told.
type counts struct {
	heard      time.Duration // of it, last
	lasts      time.Duration // its own lease
	longest    time.Duration // that any lease lasts, as it counted on when it asked
	answered   time.Duration // and in the answer
	configured time.Duration // that it counts on unless others have longer ones
	replaced   time.Duration // as the lease's last holder
	tooLong    int           // how often in a row it counted on a longer one than anybody has
}

// looks follows what is asked of a server, and looks at each grant.
func (r *run) looks(db *redismodel.Server, args []string, reply redismodel.Reply) {
	if !r.uneven() || r.hasOf(func(t trait) bool { return t.data }) || len(args) < 5 || !strings.HasSuffix(args[3], ":lease") {
		return
	}
	keys, err := strconv.Atoi(args[2])
	if err != nil || reply.Kind == redismodel.Error || len(args) < 3+keys+10 {
		return
	}
	switch l, given := (ledgerKey{db, args[3]}), args[3+keys:]; {
	case strings.HasSuffix(args[4], ":token"): // acquire
		r.asks(l, given[0], counts{lasts: inMilliseconds(given[2]), longest: inMilliseconds(given[8]), configured: inMilliseconds(cmp.Or(given[9], given[8]))}, reply)
	case keys >= 5: // release
		r.leaves(l, given[7], given[8] != "0")
		if _, to, is := strings.Cut(db.Do(r.control.Clock(), "GET", l.lease).Text, " "); is {
			if fields := strings.SplitN(to, " ", 3); len(fields) == 3 && fields[2] != given[7] { // it was passed on
				r.agreed(l, fields[2])
			}
		}
	}
}

// asks notes that a candidate has asked for the lease.
func (r *run) asks(l ledgerKey, id string, one counts, reply redismodel.Reply) {
	one.heard = r.recorder.Now()
	refused := len(reply.Items) == 7
	if refused {
		one.answered = time.Duration(reply.Items[6].Int) * time.Millisecond
	}
	r.ledgers.mu.Lock()
	if r.ledgers.of[l] == nil {
		r.ledgers.of[l] = map[string]counts{}
	}
	if most := r.ledgers.most(l, id, one); one.longest > most && !r.anyone(unsure) {
		one.tooLong = r.ledgers.of[l][id].tooLong + 1
		if one.tooLong == tooOften {
			r.Find(leaseUnlearned, "%s counts on leases of %v for the %dth time, and nobody who may live has a longer one than %v", id, one.longest, tooOften, most)
		}
	}
	r.ledgers.of[l][id] = one
	r.ledgers.mu.Unlock()
	if !refused {
		r.agreed(l, id)
	}
}

// tooOften is with which request a candidate counts on no longer leases than those who
// live have. Two of them tell it so; some answers may be lost.
const tooOften = 4

// unsure reports whether a process cannot know what the server has forgotten, so that it
// never unlearns.
func unsure(m Behavior) bool {
	return m.has(func(one Release) bool { return one.Blind || one.Unprotected })
}

// most is the longest lease of anybody who may live, as the server may know.
func (l *ledgers) most(of ledgerKey, id string, one counts) time.Duration {
	most := one.configured
	for other, its := range l.of[of] {
		if other != id && (other == l.holder[of] || one.heard-max(its.heard, its.replaced) <= 3*its.longest) {
			most = max(most, its.lasts)
		}
	}
	return most
}

// leaves notes that a candidate has given the lease back, and whether it goes on.
func (r *run) leaves(l ledgerKey, id string, goesOn bool) {
	r.ledgers.mu.Lock()
	defer r.ledgers.mu.Unlock()
	one, known := r.ledgers.of[l][id]
	switch one.heard = r.recorder.Now(); {
	case !known:
	case goesOn:
		r.ledgers.of[l][id] = one
	default:
		delete(r.ledgers.of[l], id)
	}
}

// agreed looks at the grant of a lease: each candidate that was heard of lately counts on
// leases of that length.
func (r *run) agreed(l ledgerKey, to string) {
	r.ledgers.mu.Lock()
	defer r.ledgers.mu.Unlock()
	one, now := r.ledgers.of[l][to], r.recorder.Now()
	last := r.ledgers.holder[l]
	r.ledgers.holder[l] = to
	if its, known := r.ledgers.of[l][last]; known {
		its.replaced = now
		r.ledgers.of[l][last] = its
	}
	for id, other := range r.ledgers.of[l] {
		if id == to || now-other.heard > other.longest {
			continue
		}
		if most := max(other.longest, other.answered); one.lasts > most {
			r.Find(leasesAgreed, "%s is granted a lease of %v, and %s, heard of %v ago, counts on leases of %v", to, one.lasts, id, now-other.heard, most)
		}
	}
}

func inMilliseconds(text string) time.Duration {
	n, _ := strconv.ParseInt(text, 10, 64) // as the store writes it
	return time.Duration(n) * time.Millisecond
}

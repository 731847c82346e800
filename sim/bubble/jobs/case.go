package jobs

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/recount-io/recount/sim/space"
)

// Case is one run, with everything decided.
type Case struct {
	Number    uint64
	Lease     time.Duration
	Drift     float64 // that is tolerated; 0: the default
	AtLeast   time.Duration
	AtMost    time.Duration
	RoundTrip time.Duration
	Created   bool          // the server knows the jobs from the beginning
	Expire    time.Duration // redisstore.Options.Expire of all hosts; 0: keys stay
	Jobs      int           // that every host starts at each tick, each with a lock of its own
	Period    time.Duration
	Ticks     int
	Hosts     []Host
	Works     []Work // of the ticks, in turn
	Acts      []Act  // ordered by time
}

// Host is a machine that starts the jobs by its clock. The zero value is one whose clock
// is right, and that waits for as long as it takes.
type Host struct {
	Call     Call
	Fresh    bool          // each call is a process of its own, as those of cron are
	Late     time.Duration // it calls so long after the tick
	Skew     float64       // of its clock's rate, as a share of the drift
	Uptime   time.Duration // what its clock shows at the beginning
	Patience time.Duration // after which it cancels a call; 0: never
	Limits   bool          // also while the job runs
	Pool     int           // connections; 0: the store's default
}

// Call is how a host uses the lock.
type Call int

// The calls.
const (
	Run     Call = iota // joblock.Run
	Once                // joblock.Lock below an elector, as elect run --once has it
	Standby             // the same, and it waits until the lock is free: elect run --once --standby
	calls
)

func (c Call) String() string { return [...]string{"run", "once", "standby"}[c] }

// Work is what a job does.
type Work struct {
	Takes time.Duration // if nobody ends it; Forever: it does not end by itself
	Heeds Heed
	Ends  Ending
}

// Forever is longer than any case.
const Forever = time.Duration(math.MaxInt64)

// Heed is what a job does when its context is done.
type Heed int

// The kinds of heeding.
const (
	AtOnce Heed = iota // it ends
	Slowly             // after a lease and a half
	Never              // it goes on
	heeds
)

func (h Heed) String() string { return [...]string{"at once", "slowly", "never"}[h] }

// Ending is how a job ends.
type Ending int

// The endings.
const (
	Well    Ending = iota
	Fails          // with an error of its own
	Yields         // with the error of its context, if that is done
	Panics         //
	Resigns        // it gives its term up half-way, and goes on
	endings
)

func (e Ending) String() string {
	return [...]string{"well", "fails", "yields", "panics", "resigns"}[e]
}

func (w Work) String() string {
	takes := w.Takes.String()
	if w.Takes == Forever {
		takes = "for ever"
	}
	return fmt.Sprintf("{%s, heeds %v, %v}", takes, w.Heeds, w.Ends)
}

// String shows what differs from the zero value.
func (h Host) String() string {
	var w space.Words
	w.Add(true, "%v", h.Call)
	w.Add(h.Fresh, "fresh")
	w.Add(h.Late != 0, "late %v", h.Late)
	w.Add(h.Skew != 0, "skew %.3f", h.Skew)
	w.Add(h.Uptime != 0, "up %v", h.Uptime)
	w.Add(h.Patience != 0, "patience %v", h.Patience)
	w.Add(h.Limits, "limits")
	w.Add(h.Pool != 0, "pool %d", h.Pool)
	return "{" + w.String() + "}"
}

// lasts is for how long the store is asked to keep the lock at the grant.
func (c Case) lasts() time.Duration { return max(c.Lease, c.AtLeast) }

// fits reports whether the keys of a lock outlive it. They get another Expire when half of
// it is over.
func (c Case) fits() bool { return c.Expire == 0 || 2*c.lasts() <= c.Expire }

// request is for how long an elector waits for an answer.
func (c Case) request() time.Duration { return c.Lease / 6 }

// far reports whether the server is so far away that requests are hardly answered in
// time: then nothing is owed in time.
func (c Case) far() bool { return 6*c.RoundTrip > c.request() }

// has reports whether an act of one of the kinds is among the case's.
func (c Case) has(kinds ...Kind) bool {
	return slices.ContainsFunc(c.Acts, func(a Act) bool { return slices.Contains(kinds, a.Kind) })
}

// Simpler are cases that are simpler in one thing.
func (c Case) Simpler() []Case {
	var all []Case
	add := func(change func(*Case)) {
		one := c
		one.Acts, one.Hosts, one.Works = slices.Clone(c.Acts), slices.Clone(c.Hosts), slices.Clone(c.Works)
		change(&one)
		all = append(all, one)
	}
	for i := range c.Acts {
		add(func(one *Case) { one.Acts = slices.Delete(one.Acts, i, i+1) })
	}
	if c.Jobs > 1 {
		add(func(one *Case) { one.Jobs-- })
	}
	if c.Ticks > 1 {
		add(func(one *Case) { one.Ticks-- })
	}
	last := 0
	for _, a := range c.Acts {
		last = max(last, a.Host)
	}
	if n := len(c.Hosts); n > last+1 {
		add(func(one *Case) { one.Hosts = one.Hosts[:n-1] })
	}
	for i, h := range c.Hosts {
		if plain := (Host{Call: h.Call, Late: h.Late}); h != plain {
			add(func(one *Case) { one.Hosts[i] = plain })
		}
	}
	for i, w := range c.Works {
		if plain := (Work{Takes: w.Takes}); w != plain {
			add(func(one *Case) { one.Works[i] = plain })
		}
	}
	if c.Expire > 0 {
		add(func(one *Case) { one.Expire = 0 })
	}
	if c.RoundTrip > time.Millisecond {
		add(func(one *Case) { one.RoundTrip = time.Millisecond })
	}
	return all
}

// Features are what is drawn in the case, each in a word or two.
func (c Case) Features() []string {
	set := map[string]bool{}
	for _, h := range c.Hosts {
		set["call:"+h.Call.String()] = true
	}
	for _, w := range c.Works {
		set["heeds:"+w.Heeds.String()] = true
		set["ends:"+w.Ends.String()] = true
		set["for ever"] = set["for ever"] || w.Takes == Forever
	}
	for _, a := range c.Acts {
		set["act:"+a.Kind.String()] = true
	}
	set["expires"] = c.Expire > 2*c.lasts()
	set["expires too soon"] = c.Expire > 0 && c.Expire < c.lasts()
	return space.Features(set)
}

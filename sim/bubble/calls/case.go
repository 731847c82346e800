package calls

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/recount-io/recount/sim/space"
)

// Case is one run, with everything decided.
type Case struct {
	Number    uint64
	Lease     time.Duration // of the candidates that have no other one
	Unagreed  bool          // where leases differ: each counts on its own, and not on the longest
	RoundTrip time.Duration
	Greeting  Greeting
	Elections int // in each process
	Names     Names
	Databases int    // of the server
	Prefixes  int    // in each database; processes use databases and prefixes in turn
	Writes    int    // of a leader, in a lease
	Onlooker  int    // who looks on sees this election of the first world, counted from 1; 0: nobody looks on
	Looks     Timing // of who looks on: half of DrainTimeout is Poll
	LooksDeaf bool   // who looks on hears nothing of what the store announces
	Processes []Behavior
	Span      time.Duration // in which the acts happen
	Acts      []Act         // ordered by time
}

// Behavior is a process's settings, and how its callbacks behave. The zero value
// is that of a process that leaves all settings to their defaults, and whose work
// ends when it must.
type Behavior struct {
	Call      Call
	Foreign   bool          // its store is on a client that the process has already
	Deaf      bool          // it hears nothing of what the store announces
	Barred    bool          // its user may subscribe to channels of elections, and to no others
	Watched   bool          // a health.Monitor watches its electors
	Pool      int           // connections; 0: the store's default
	Lease     time.Duration // another one than the case's
	Timing    Timing
	Drift     float64 // that is tolerated; 0: the default
	Skew      float64 // of the clock's rate, as a share of that drift
	Priority  int
	Failback  bool          // it looks for a better candidate
	Works     Ending        // OnStarted, or what stands in for it, once its context is done
	Begins    bool          // its terms begin with a value
	Publishes int           // its work publishes another one after so many writes; 0: it does not
	Ends      time.Duration // when it ends by itself; 0: it does not
	Stops     Ending        // OnStopped
	Tells     Ending        // OnEvent and OnLeader
	Logs      Ending        // the logger
	Releases  [2]Release    // what it runs, in turn, from one life to the next
}

// Names are of what kind those of elections and candidates are.
type Names int

// The kinds of names.
const (
	Plain   Names = iota
	Slashed       // all candidates have one first part in common, up to a slash, which a whole ID has too
	Odd           // with what keys, messages, formats and texts of other kinds give a meaning
	nameKinds
)

func (n Names) String() string { return [...]string{"plain", "slashed", "odd"}[n] }

// election is the name of an election.
func (c Case) election(e int) string { return c.electionPrefix() + strconv.Itoa(e) }

func (c Case) electionPrefix() string { return [...]string{"e", "team/e", "é%d:\"e"}[c.Names] }

// process is the name of a process, which its candidates have, too.
func (c Case) process(i int) string {
	name := "p" + strconv.Itoa(i)
	return [...]string{name, "host/" + name, name + "%20é:\"/x"}[c.Names]
}

// Call is how a process competes.
type Call int

// The calls.
const (
	Run Call = iota
	Once
	Terms
	Campaign
	TryAcquire
	calls
)

func (c Call) String() string {
	return [...]string{"run", "once", "terms", "campaign", "try"}[c]
}

// Ending is how something ends that is called, or ought to end.
type Ending int

// The endings.
const (
	AtOnce Ending = iota
	Slowly        // after half a lease
	Late          // after three leases: longer than a leader that resigns is waited for
	Never         // it hangs
	Panics
)

func (m Ending) String() string {
	return [...]string{"at once", "slowly", "late", "never", "panics"}[m]
}

// worlds is in how many worlds apart the processes live: databases and prefixes.
func (c Case) worlds() int { return c.Databases * c.Prefixes }

// world is the one of a process.
func (c Case) world(process int) int { return process % c.worlds() }

// plain reports whether the behavior is of the kind that nobody has to wait for.
func (m Behavior) plain() bool {
	return m == Behavior{Call: m.Call, Pool: m.Pool, Timing: m.Timing, Priority: m.Priority, Failback: m.Failback, Begins: m.Begins, Publishes: m.Publishes, Foreign: m.Foreign, Deaf: m.Deaf, Watched: m.Watched, Barred: m.Barred} && m.Call != Once && m.Call != TryAcquire
}

// hangs reports whether something of the process never returns.
func (m Behavior) hangs() bool {
	return m.Works == Never || m.Stops == Never || m.Tells == Never || m.Logs == Never
}

// lease is the one of a process in a life: they are counted from 0 on.
func (c Case) lease(process, life int) time.Duration {
	m := c.Processes[process]
	return cmp.Or(m.Releases[life%2].Lease, m.Lease, c.Lease)
}

// longest is the longest lease of all.
func (c Case) longest() time.Duration {
	longest := c.Lease
	for i := range c.Processes {
		longest = max(longest, c.lease(i, 0), c.lease(i, 1))
	}
	return longest
}

// shortest is the shortest lease of all.
func (c Case) shortest() time.Duration {
	shortest := c.Lease
	for i := range c.Processes {
		shortest = min(shortest, c.lease(i, 0), c.lease(i, 1))
	}
	return shortest
}

// uneven reports whether a candidate has a longer lease than another counts on.
func (c Case) uneven() bool { return c.Unagreed && c.longest() > c.shortest() }

// Has reports whether an act of one of the kinds is among the case's.
func (c Case) Has(kinds ...Kind) bool {
	return slices.ContainsFunc(c.Acts, func(a Act) bool { return slices.Contains(kinds, a.Kind) })
}

// hasOf reports whether an act is among the case's that is so.
func (c Case) hasOf(is func(trait) bool) bool {
	return slices.ContainsFunc(c.Acts, func(a Act) bool { return is(table[a.Kind]) })
}

// anyone reports whether a process behaves so.
func (c Case) anyone(has func(Behavior) bool) bool { return slices.ContainsFunc(c.Processes, has) }

// String shows what differs from a process's defaults.
func (m Behavior) String() string {
	var w space.Words
	w.Add(m.Call != Run, "%v", m.Call)
	w.Add(m.Pool != 0, "pool %d", m.Pool)
	w.Add(m.Foreign, "foreign")
	w.Add(m.Deaf, "deaf")
	w.Add(m.Watched, "watched")
	w.Add(m.Barred, "barred")
	w.Add(m.Lease != 0, "lease %v", m.Lease)
	w.Add(m.Timing != Timing{}, "timing %+v", m.Timing)
	w.Add(m.Drift != 0, "drift %v", m.Drift)
	w.Add(m.Skew != 0, "skew %.3f", m.Skew)
	w.Add(m.Priority != 0, "priority %d", m.Priority)
	w.Add(m.Failback, "failback")
	w.Add(m.Begins, "begins")
	w.Add(m.Publishes != 0, "publishes %d", m.Publishes)
	w.Add(m.Works != AtOnce, "works %v", m.Works)
	w.Add(m.Ends != 0, "ends %v", m.Ends)
	w.Add(m.Stops != AtOnce, "stops %v", m.Stops)
	w.Add(m.Tells != AtOnce, "tells %v", m.Tells)
	w.Add(m.Logs != AtOnce, "logs %v", m.Logs)
	w.Add(m.rolls(), "releases %+v", m.Releases)
	return "{" + w.String() + "}"
}

// Simpler are cases that are simpler in one thing.
func (c Case) Simpler() []Case {
	var all []Case
	add := func(change func(*Case)) {
		one := c
		one.Acts, one.Processes = slices.Clone(c.Acts), slices.Clone(c.Processes)
		change(&one)
		all = append(all, one)
	}
	for i := range c.Acts {
		add(func(one *Case) { one.Acts = slices.Delete(one.Acts, i, i+1) })
	}
	for i, m := range c.Processes {
		if m != (Behavior{}) {
			add(func(one *Case) { one.Processes[i] = Behavior{} })
		}
		if m.Timing != (Timing{}) {
			add(func(one *Case) { one.Processes[i].Timing = Timing{} })
		}
		if m.rolls() {
			add(func(one *Case) { one.Processes[i].Releases[0] = Release{} })
			add(func(one *Case) { one.Processes[i].Releases[1] = Release{} })
		}
	}
	if c.Onlooker > 0 {
		add(func(one *Case) { one.Onlooker, one.Looks, one.LooksDeaf = 0, Timing{}, false })
	}
	if c.Names != Plain {
		add(func(one *Case) { one.Names = Plain })
	}
	if c.Greeting != (Greeting{}) {
		add(func(one *Case) { one.Greeting = Greeting{} })
	}
	if c.RoundTrip > time.Millisecond {
		add(func(one *Case) { one.RoundTrip = time.Millisecond })
	}
	most, last := max(0, c.Onlooker-1), 0
	for _, a := range c.Acts {
		most, last = max(most, a.Election), max(last, a.Process)
	}
	if c.Elections > most+1 {
		add(func(one *Case) { one.Elections = max(most+1, c.Elections/2) })
	}
	if n := len(c.Processes); n > last+1 && n > c.worlds() {
		add(func(one *Case) { one.Processes = one.Processes[:n-1] })
	}
	return all
}

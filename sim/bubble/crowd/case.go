// Package crowd draws what production meets and the plans of scenarios have not:
// many elections in few processes, with pools of a few connections and a server
// that is far away, in several databases; callbacks that are slow or hang; calls at
// any moment; operators who change keys; a primary that is replaced and comes back.
//
// A case is drawn from one number, and carried out by the elector that ships in a
// bubble of fake time, so Run must be called inside synctest.Test. The history
// names its elections, and is judged as any other.
package crowd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Case is one run, with everything decided.
type Case struct {
	Seed      uint64
	Lease     time.Duration
	RoundTrip time.Duration
	Pool      int // connections of each process; 0: the store's default
	Elections int // in each process
	Databases int // of the server; processes use them in turn
	Writes    int // of a leader, in a lease
	Processes []Manners
	Acts      []Act // ordered by time
}

// Manners are how a process's callbacks behave.
type Manners struct {
	Works   Manner // OnStarted, once its context is done
	Stops   Manner // OnStopped
	Resigns bool   // OnStarted returns by itself after a while
}

// Manner is how long something takes.
type Manner int

// The manners.
const (
	AtOnce Manner = iota
	Slowly        // half a lease
	Never         // it hangs
)

func (m Manner) String() string { return [...]string{"at once", "slowly", "never"}[m] }

// Kind is what happens at a moment.
type Kind int

// The kinds.
const (
	Kill     Kind = iota // a process is killed, and started again under its name after Act.For; never if that is 0
	Transfer             // whoever leads an election hands it over to the process of that name
	Resign               // whoever leads an election resigns
	Delete               // an operator deletes the lease's key
	Persist              // and takes its time to live away
	Expire               // and sets it to Act.For
	Failback             // the primary is replaced by its replica, and comes back after Act.For, without a restart
	kinds
)

func (k Kind) String() string {
	return [...]string{"kill", "transfer", "resign", "delete", "persist", "expire", "failback"}[k]
}

// Act is something that happens.
type Act struct {
	At       time.Duration
	Kind     Kind
	Process  int // that is killed, or handed over to, or whose database is meant
	Election int
	For      time.Duration
}

func (a Act) String() string {
	return fmt.Sprintf("%v %s p%d e%d %v", a.At, a.Kind, a.Process, a.Election, a.For)
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
		if m != (Manners{}) {
			add(func(one *Case) { one.Processes[i] = Manners{} })
		}
	}
	if c.RoundTrip > time.Millisecond {
		add(func(one *Case) { one.RoundTrip = time.Millisecond })
	}
	most := 0
	for _, a := range c.Acts {
		most = max(most, a.Election)
	}
	if c.Elections > most+1 {
		add(func(one *Case) { one.Elections = max(most+1, c.Elections/2) })
	}
	if c.Databases > 1 && !slices.ContainsFunc(c.Acts, func(a Act) bool { return a.Process%2 == 1 }) {
		add(func(one *Case) {
			one.Databases = 1
			for i := range one.Processes {
				if i%2 == 1 {
					one.Processes[i] = Manners{}
				}
			}
		})
	}
	return all
}

// operators tells whether somebody changes the store's data.
func (c Case) operators() bool {
	return slices.ContainsFunc(c.Acts, func(a Act) bool { return a.Kind >= Delete })
}

// span is how long things happen in a case, in leases.
const span = 6

// Draw draws a case.
func Draw(seed uint64) Case {
	r := rand.New(rand.NewPCG(seed, 0))
	c := Case{
		Seed:      seed,
		Lease:     time.Duration(1+r.IntN(15)) * time.Second,
		RoundTrip: between(r, 100*time.Microsecond, 200*time.Millisecond),
		Elections: int(between(r, 1, 300)),
		Databases: 1 + r.IntN(2),
		Writes:    8,
	}
	if r.IntN(2) == 0 {
		c.Pool = 1 + r.IntN(16)
	}
	for i := range c.Databases * (2 + r.IntN(2)) {
		m := Manners{Works: manner(r), Stops: manner(r), Resigns: r.IntN(4) == 0}
		if c.steady(i) {
			m = Manners{}
		}
		c.Processes = append(c.Processes, m)
	}
	for range r.IntN(13) {
		c.Acts = append(c.Acts, c.act(r))
	}
	slices.SortFunc(c.Acts, func(a, b Act) int { return int(a.At - b.At) })
	return c
}

// between draws evenly by orders of magnitude.
func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return time.Duration(float64(least) * math.Pow(float64(most)/float64(least), r.Float64()))
}

// manner is mostly the good one.
func manner(r *rand.Rand) Manner {
	switch r.IntN(10) {
	case 0:
		return Never
	case 1, 2:
		return Slowly
	default:
		return AtOnce
	}
}

// steady tells whether a process is the one of its database that is well-mannered,
// and is not killed for good: somebody must be able to lead.
func (c Case) steady(process int) bool { return process < c.Databases }

func (c Case) act(r *rand.Rand) Act {
	a := Act{
		At:       c.Lease + time.Duration(r.Int64N(int64(span*c.Lease))),
		Kind:     Kind(r.IntN(int(kinds))),
		Process:  r.IntN(len(c.Processes)),
		Election: r.IntN(c.Elections),
	}
	switch a.Kind {
	case Kill:
		if r.IntN(2) == 0 || c.steady(a.Process) {
			a.For = between(r, c.Lease/10, 2*c.Lease)
		}
	case Expire:
		a.For = between(r, time.Second, 2*time.Hour)
	case Failback:
		a.For = between(r, c.Lease/10, 2*c.Lease)
	}
	return a
}

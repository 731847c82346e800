package jobs

import (
	"time"

	"github.com/recount-io/recount/sim/space"
)

// Kind is what happens at a moment.
type Kind int

// The kinds.
const (
	Kill   Kind = iota // a host crashes; it is back for its next call
	Cancel             // its calls are cancelled, as when it shuts down
	Pause              // it stands still for Act.For

	// What happens to the way between a host and the server.

	Cut    // in one of its ways, for Act.For
	Slow   // each message takes Act.By more, for Act.For
	Hold   // what its connections carry is held up for Act.For; new ones are as ever
	Strand // its connections are half open from now on
	Hangup // the server closes its connections

	// What happens to the server.

	Restart   // it ends, and is started after Act.For, with its data or without
	Replace   // a replica that has all of its data takes its place
	Freeze    // it answers nothing for Act.For
	Refuse    // it refuses commands for Act.For: memory, rights, loading
	StepClock // its clock steps by Act.By

	// What operators and a lack of memory do to the data.

	Delete       // the key of a lock is deleted
	Wipe         // all keys of a lock are
	Evict        // some of the server's keys are
	Retire       // Store.Retire of a job
	FlushScripts // SCRIPT FLUSH

	Kinds // how many there are
)

// trait is what is known of a kind.
type trait struct {
	name   string
	weight int
	server bool // it happens to the server, for everybody
	way    bool // it happens to the way to it
	data   bool // it makes the server forget something
}

var table = [Kinds]trait{
	Kill:         {name: "kill", weight: 8},
	Cancel:       {name: "cancel", weight: 4},
	Pause:        {name: "pause", weight: 6},
	Cut:          {name: "cut", weight: 8, way: true},
	Slow:         {name: "slow", weight: 4, way: true},
	Hold:         {name: "hold", weight: 4, way: true},
	Strand:       {name: "strand", weight: 2, way: true},
	Hangup:       {name: "hang up", weight: 2, way: true},
	Restart:      {name: "restart", weight: 4, server: true, data: true},
	Replace:      {name: "replace", weight: 2, server: true, data: true},
	Freeze:       {name: "freeze", weight: 3, server: true},
	Refuse:       {name: "refuse", weight: 3, server: true},
	StepClock:    {name: "step clock", weight: 1, server: true, data: true},
	Delete:       {name: "delete", weight: 3, data: true},
	Wipe:         {name: "wipe", weight: 2, data: true},
	Evict:        {name: "evict", weight: 4, data: true},
	Retire:       {name: "retire", weight: 2, data: true},
	FlushScripts: {name: "flush scripts", weight: 1},
}

func (k Kind) String() string { return table[k].name }

// Act is something that happens.
type Act struct {
	At     time.Duration
	Kind   Kind
	Host   int  // that it happens to
	Holder bool // it happens to the host that runs the job, if one does
	Job    int
	For    time.Duration
	By     time.Duration
	Choice int // of the kind's ways
}

func (a Act) String() string {
	var w space.Words
	w.Add(true, "%v %s h%d", a.At, a.Kind, a.Host)
	w.Add(a.Holder, "holder")
	w.Add(a.Job != 0, "job%d", a.Job)
	w.Add(a.For != 0, "for %v", a.For)
	w.Add(a.By != 0, "by %v", a.By)
	w.Add(a.Choice != 0, "choice %d", a.Choice)
	return w.String()
}

// readTimeout is a store's, after which a connection that is half open is given up.
const readTimeout = 3 * time.Second

// forgotten is when the act leaves no traces any more: a connection that is half open is
// noticed when it is used.
func (a Act) forgotten(lease time.Duration) time.Duration {
	if a.Kind == Strand {
		return Forever
	}
	return a.At + a.For + 2*lease + readTimeout
}

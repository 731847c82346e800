package calls

import (
	"math"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim/space"
)

// Kind is what happens at a moment.
type Kind int

// The kinds of what happens to a process, and of calls.
const (
	Kill         Kind = iota // a process is killed, and started again under its name after Act.For; never if that is 0
	Stop                     // its context is cancelled, and it is started again
	Pause                    // it stands still: for Act.For, or until Act.By beside the end of a term that it is in
	CloseStore               // its store is closed under it; when it has ended it is started again
	Transfer                 // the leader of an election hands it over to the process of that name
	TransferAway             // and to a name that nobody has
	Resign                   // the leader of an election resigns
	CallTwice                // a candidate is told to compete that does so already
	Ask                      // a candidate is asked who leads, who competes, what was and what it is worth
	Watch                    // somebody observes an election for Act.For
	Only                     // a process calls a function that only the leader executes, for Act.By, within Act.For
	Publish                  // the leader of an election publishes a value, and a process watches
	CallPast                 // a candidate's term that is over is published in, resigned or refused
	Job                      // a process locks a job by one of a few names, once, for Act.By

	// What operators and neighbours do to the data.

	Delete       // the lease's key is deleted
	Persist      // its time to live is taken away
	Expire       // it is set to Act.For
	Overwrite    // a key of an election gets any value and time to live
	Forget       // a key of an election is deleted, or all of the server's are
	Wipe         // all keys of an election, or of a job's lock, are deleted, and no others
	Retire       // an operator retires an election, or a job's lock, through a process's store
	Expel        // an operator takes the lease away from the leader, through a process's store
	Vanish       // one key of an election, or the one that all share, is deleted
	Create       // an administrator creates an election, which may be there
	Rewind       // what the server holds is restored after Act.For, without a restart
	Evict        // the server lacks memory and gives up some keys, of whomever
	Message      // somebody else sends a message on an election's channel
	FlushScripts // SCRIPT FLUSH

	// What happens to the server.

	Failback  // the primary is replaced by its replica, and comes back after Act.For, without a restart; if Act.told, it follows in between
	StepClock // its clock steps by Act.By
	Restart   // it ends, and is started after Act.For, with its data or without
	Freeze    // it answers nothing for Act.For
	Refuse    // it refuses commands for Act.For: memory, rights, loading
	Hangup    // CLIENT KILL: it closes a process's connections

	// What happens to the way between a process and the server.

	Cut       // in one of its ways, for Act.For
	Slow      // each message takes Act.By more, for Act.For
	Narrow    // so many kilobytes a second, for Act.For
	Strand    // its connections are half open from now on
	StrandOne // one of its connections is, while the others go on
	HangupOne // the server closes one of its connections, as one that is idle

	// What happens to the protected resource.

	NoWrites   // it refuses everything for Act.For
	SlowWrites // each write takes Act.By, for Act.For

	Kinds // how many there are
)

// trait is what is known of a kind.
type trait struct {
	name   string
	weight int // 0: it is drawn as what comes beside something else, only
	reach  reach
	data   bool // it changes the store's data
	server bool // it happens to the server, for everybody
	way    bool // it happens to the way to it

	ordinary bool // it happens every day
}

// reach is whom an act disturbs.
type reach int

const (
	nobody reach = iota
	one          // the candidates of its election, in its world
	world        // all of its world
	all
)

var table = [Kinds]trait{
	Kill:         {name: "kill", weight: 8, reach: world, ordinary: true},
	Stop:         {name: "stop", weight: 6, reach: world, ordinary: true},
	Pause:        {name: "pause", weight: 3, reach: world},
	CloseStore:   {name: "close store", weight: 1, reach: world},
	Transfer:     {name: "transfer", weight: 10, reach: one, ordinary: true},
	TransferAway: {name: "transfer away", weight: 1, reach: one, ordinary: true},
	Resign:       {name: "resign", weight: 6, reach: one, ordinary: true},
	CallTwice:    {name: "call twice", weight: 1, ordinary: true},
	Ask:          {name: "ask", weight: 2, ordinary: true},
	Watch:        {name: "watch", weight: 2, ordinary: true},
	Only:         {name: "only"},
	Publish:      {name: "publish"},
	CallPast:     {name: "call past"},
	Job:          {name: "job"},
	Delete:       {name: "delete", weight: 3, reach: one, data: true},
	Persist:      {name: "persist", weight: 2, reach: one, data: true},
	Expire:       {name: "expire", weight: 5, reach: one, data: true},
	Overwrite:    {name: "overwrite", weight: 2, reach: one, data: true},
	Forget:       {name: "forget", weight: 2, reach: one, data: true},
	Wipe:         {name: "wipe", reach: one, data: true},
	Retire:       {name: "retire", reach: one, data: true},
	Expel:        {name: "expel", reach: one, data: true},
	Vanish:       {name: "vanish", reach: all, data: true},
	Create:       {name: "create", reach: one},
	Rewind:       {name: "rewind", reach: all, data: true},
	Evict:        {name: "evict", reach: all, data: true},
	Message:      {name: "message", weight: 2, reach: all, data: true}, // channels know no databases
	FlushScripts: {name: "flush scripts", weight: 1},
	Failback:     {name: "failback", weight: 4, reach: all, data: true, server: true},
	StepClock:    {name: "step clock", weight: 2, reach: all, data: true, server: true},
	Restart:      {name: "restart", weight: 2, reach: all, data: true, server: true},
	Freeze:       {name: "freeze", weight: 2, reach: all, server: true},
	Refuse:       {name: "refuse", weight: 2, reach: all, server: true},
	Hangup:       {name: "hang up", weight: 2, reach: world},
	Cut:          {name: "cut", weight: 4, reach: world, way: true},
	Slow:         {name: "slow", weight: 2, reach: world, way: true},
	Narrow:       {name: "narrow", weight: 1, reach: world, way: true},
	Strand:       {name: "strand", weight: 2, reach: world, way: true},
	StrandOne:    {name: "strand one", reach: world},
	HangupOne:    {name: "hang up one", reach: world},
	NoWrites:     {name: "no writes", weight: 1, reach: all},
	SlowWrites:   {name: "slow writes", weight: 1, reach: all},
}

func (k Kind) String() string { return table[k].name }

// Act is something that happens.
type Act struct {
	At       time.Duration
	Kind     Kind
	Process  int  // that it happens to, or is handed over to, or in whose world it happens
	Leader   bool // it happens to the leader of the election there, if there is one
	Election int
	For      time.Duration
	By       time.Duration
	Choice   int // of the kind's ways, such as a value, a key, a cut
}

// notified reports whether a primary that comes back has heard that it was replaced.
func (a Act) notified() bool { return a.Choice%2 == 0 }

func (a Act) String() string {
	var w space.Words
	w.Add(true, "%v %s p%d e%d", a.At, a.Kind, a.Process, a.Election)
	w.Add(a.Leader, "leader")
	w.Add(a.For != 0, "for %v", a.For)
	w.Add(a.By != 0, "by %v", a.By)
	w.Add(a.Choice != 0, "choice %d", a.Choice)
	return w.String()
}

// cut is the way in which the way to the server is cut.
func (a Act) cut() faults.Cut { return faults.Cuts[a.Choice%len(faults.Cuts)] }

// end is when the act is over.
func (a Act) end() time.Duration {
	switch a.Kind {
	case Expire, Watch, Only, Rewind:
		return a.At // For is what it sets, or how long somebody looks, or waits
	default:
		return a.At + a.For
	}
}

// readTimeout is a store's, for the confirmation of a subscription.
const readTimeout = 3 * time.Second

// forgotten is when the act leaves no traces any more: connections come to
// themselves after a while, and what somebody has said stays said.
func (a Act) forgotten(lease time.Duration) time.Duration {
	t := table[a.Kind]
	switch {
	case a.Kind == Message:
		return a.At + 2*lease // a lie costs a lease at the most, and then it must be forgotten
	case t.data:
		return math.MaxInt64
	case t.way || t.server || a.Kind == Pause || a.Kind == StrandOne:
		return a.end() + 2*lease + readTimeout // a connection that is half open is doubted, and asked
	case a.Kind == Hangup || a.Kind == HangupOne:
		return a.end() + lease/2
	default:
		return a.end()
	}
}

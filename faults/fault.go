package faults

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Fault is one kind of disturbance with its parameters.
type Fault interface {
	// Name is the fault's name in histories, reports and on the command line.
	Name() string
	// Params are the parameters, for people who read a history, and for Parse.
	// Durations are in milliseconds: whole ones are an int64, others a float64.
	Params() map[string]any
	// Apply puts the fault on the targets and returns once it demonstrably
	// has its effect: the evidence says how that was seen. An error wrapping
	// ErrNoEffect means that it was put on and did not bite.
	Apply(ctx context.Context, w World, targets []string) (evidence string, err error)
	// Heal takes the fault off again and returns once that is so. It may add
	// evidence that only the end of the fault can give.
	Heal(ctx context.Context, w World, targets []string) (evidence string, err error)
	// Effect says what the checkers and the command must know about it.
	Effect() Effect
}

// Effect describes a fault to those who must take it into account.
type Effect struct {
	Summary  string        // one line for lists
	Undone   string        // how it is taken off again, or why that is not needed
	Store    bool          // hits the store itself: only for a store that is private to the run
	Own      bool          // it hits the store, and nothing in it but the run's own keys
	Client   bool          // hits the store, and a client of the server can do it: not only who owns its process
	Older    bool          // makes the store older than it was: only for one whose file, or replica, the world can get at
	Divides  bool          // it hits the store, but its targets are candidates: those on one side of it
	Servers  bool          // it hits the store, and its targets may be some of several servers: see StoreNode
	Attended bool          // it hits the store, and asks for what Attendant has: only for a redis-server of the world's own, and for a bubble
	User     bool          // it is about the user that candidates log in as
	Password bool          // it changes the password, which candidates have to read from a file
	Void     bool          // may remove leases from the store
	Shorten  time.Duration // shortens the time to live of every lease in the store; below 0: may make it so much longer
	Instant  bool          // is over once applied: there is nothing to heal

	// What it does to its targets while it is in force, as the history tells it:
	// see history.Effect.
	Cuts  bool // no request of theirs on a lease can take effect and be answered; one that only some of them are kept from does not cut
	Holds bool // they stand still, or one of their writes does
	Skews bool // their clocks run wrong, or stand still

	// What electors are owed in spite of it: bounds and waivers are made of these.
	Simple    bool          // it leaves no lease behind that nobody knows of, and no clock that is wrong by much
	Harmless  bool          // it costs a leader nothing
	Bearable  bool          // a leader keeps its lease through it if it is short
	Fair      bool          // every elector survives it, also one without any protection of its own
	Gone      bool          // its targets are not there meanwhile: a lease that is handed over to one is lost
	Withholds bool          // a lease may be kept, or withheld, for as long as one lasts
	Alien     bool          // what stands in the lease's place is no elector's
	Delay     time.Duration // how much later a message on its targets' way arrives
	Carries   int           // how many bytes a second their way carries; 0: as many as there are
	Rate      float64       // at which their clocks run; 0: as they should
	Onset     time.Duration // how long it takes to put it on

	// Immediate says that healing acts at once: from its beginning on the
	// fault may not be in force any more. Others (a crash) last until they are
	// healed.
	Immediate bool
}

// Late returns how much later a message of so many bytes arrives on the targets' way.
func (e *Effect) Late(bytes int) time.Duration {
	late := e.Delay
	if e.Carries > 0 {
		late += time.Duration(bytes) * time.Second / time.Duration(e.Carries)
	}
	return late
}

// Timed is a fault with times among its parameters.
type Timed interface {
	Fault
	// Scale returns the fault with each of these times changed by scale.
	Scale(scale func(time.Duration) time.Duration) Fault
}

// ErrNoEffect is wrapped by an Apply or Heal that put its fault on without
// seeing an effect. The run goes on; its verdict cannot be pass.
var ErrNoEffect = errors.New("faults: the fault took no effect")

// NoEffect returns an error that wraps ErrNoEffect and says what was seen.
func NoEffect(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrNoEffect, fmt.Sprintf(format, args...))
}

// World is what faults ask of the world they are put on. Every method returns
// once its effect was seen, with the evidence, or an error; an error wrapping
// ErrNoEffect where everything was done and nothing came of it.
//
// The live world does it with real processes, proxies and servers; whatever
// can be injected there has the same name and parameters in any other world.
type World interface {
	// Each calls act with the numbers below n, and returns when all calls have
	// returned. Where acts take time they go on side by side: a fault hits all
	// its targets at one moment.
	Each(n int, act func(i int))

	// The way between a candidate and the store.

	// Cut cuts the node's way to the store.
	Cut(ctx context.Context, node string, how Cut) (evidence string, err error)
	// Delay adds latency, and up to jitter more or less, to each direction.
	Delay(ctx context.Context, node string, latency, jitter time.Duration) (evidence string, err error)
	// Throttle limits both directions to so many kilobytes a second.
	Throttle(ctx context.Context, node string, kilobytes int) (evidence string, err error)
	// Mend takes off whatever Cut, Delay and Throttle put on.
	Mend(ctx context.Context, node string) error

	// The candidate's process.

	// Stop suspends the candidate where it is; Continue lets it go on.
	Stop(ctx context.Context, node string) (evidence string, err error)
	Continue(ctx context.Context, node string) error
	// Suspend suspends the candidate together with its monotonic clock, until
	// Awaken.
	Suspend(ctx context.Context, node string) (evidence string, err error)
	Awaken(ctx context.Context, node string) (evidence string, err error)
	// Kill ends the candidate without warning; Launch starts it again.
	Kill(ctx context.Context, node string) (evidence string, err error)
	Launch(ctx context.Context, node string) error
	// Dismiss asks the candidate to resign and exit, and waits for it.
	Dismiss(ctx context.Context, node string) (evidence string, err error)
	// HandOver asks the candidate, which leads, to hand its lease over to another
	// one, and waits until that one leads. It has no effect on an elector that
	// cannot do so.
	HandOver(ctx context.Context, node string) (evidence string, err error)
	// StopBeforeWrite suspends the candidate between its decision to write to
	// the protected resource and the write's arrival there. The write arrives
	// after ContinueWrite; its evidence tells what became of it.
	StopBeforeWrite(ctx context.Context, node string) (evidence string, err error)
	ContinueWrite(ctx context.Context, node string) (evidence string, err error)

	// The candidate's clocks.

	// SetClockRate makes wall and monotonic clock run at rate (1 is right).
	SetClockRate(ctx context.Context, node string, rate float64) (evidence string, err error)
	// JumpClock moves the wall clock by offset.
	JumpClock(ctx context.Context, node string, offset time.Duration) (evidence string, err error)

	// The store. Targets are the store itself or, where it is several
	// independent servers, some of those: see StoreNode.

	// StopStore freezes servers; ContinueStore lets them go on.
	StopStore(ctx context.Context, targets []string) (evidence string, err error)
	ContinueStore(ctx context.Context, targets []string) error
	// CrashStore ends servers without warning; LaunchStore starts them again,
	// with or without the data that they had.
	CrashStore(ctx context.Context, targets []string) (evidence string, err error)
	LaunchStore(ctx context.Context, targets []string, keepData bool) (evidence string, err error)
	// RewindStore lets by pass and ends the server without warning: what it
	// wrote meanwhile is lost. LaunchStore starts it with the data that is left.
	RewindStore(ctx context.Context, by time.Duration) (evidence string, err error)
	// LosePrimary lets lag pass, in which replication stands still, and ends
	// the server for ever. PromoteReplica puts its replica in its place.
	LosePrimary(ctx context.Context, lag time.Duration) (evidence string, err error)
	PromoteReplica(ctx context.Context) (evidence string, err error)
	// SplitStore lets lag pass, in which replication stands still, and promotes
	// the replica: it serves everybody but nodes, whom the old primary goes on
	// serving. JoinStore ends the old primary: all are served by the new one.
	SplitStore(ctx context.Context, nodes []string, lag time.Duration) (evidence string, err error)
	JoinStore(ctx context.Context) (evidence string, err error)
	// ShortenLeases takes by off the time to live of every lease of the run,
	// which is what a forward jump of the server's clock does to them. A by
	// below 0 makes it longer, as a jump back does.
	ShortenLeases(ctx context.Context, by time.Duration) (evidence string, err error)
	// PersistLeases takes the time to live off every lease of the run.
	PersistLeases(ctx context.Context) (evidence string, err error)
	// DeleteLeases deletes the keys of the leases; OverwriteLeases puts ForeignValue
	// there, without a time to live.
	DeleteLeases(ctx context.Context) (evidence string, err error)
	OverwriteLeases(ctx context.Context) (evidence string, err error)
	// DeleteCounters deletes the keys in which tokens are counted.
	DeleteCounters(ctx context.Context) (evidence string, err error)
	// FlushStore deletes all keys.
	FlushStore(ctx context.Context) (evidence string, err error)
	// EvictKeys makes the server evict the keys that have a time to live.
	EvictKeys(ctx context.Context) (evidence string, err error)
	// FlushScripts makes the server forget its cached scripts.
	FlushScripts(ctx context.Context) (evidence string, err error)

	Attendant
}

// each applies act to every target, whatever became of the others (one cut that
// cannot be mended must not leave its neighbours cut), and joins the evidence.
// Failures outweigh acts that took no effect, which a run survives.
func each(w World, targets []string, act func(node string) (string, error)) (string, error) {
	seen, errs := make([]string, len(targets)), make([]error, len(targets))
	w.Each(len(targets), func(i int) { seen[i], errs[i] = act(targets[i]) })
	var evidence string
	var failed, ineffective []error
	for i, err := range errs {
		switch {
		case err == nil:
			evidence = join(evidence, seen[i])
		case errors.Is(err, ErrNoEffect):
			ineffective = append(ineffective, err)
		default:
			failed = append(failed, err)
		}
	}
	if len(failed) > 0 {
		return evidence, errors.Join(failed...)
	}
	return evidence, errors.Join(ineffective...)
}

// silent adapts an act that has no evidence to each.
func silent(act func(node string) error) func(node string) (string, error) {
	return func(node string) (string, error) { return "", act(node) }
}

func join(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	default:
		return a + "; " + b
	}
}

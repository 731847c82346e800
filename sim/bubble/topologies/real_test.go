package topologies_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/internal/drawn"
	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/internal/topology"
	"github.com/recount-io/recount/sim/bubble"
	"github.com/recount-io/recount/sim/bubble/bubbletest"
	"github.com/recount-io/recount/sim/bubble/redisserver"
	"github.com/recount-io/recount/sim/bubble/topologies"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// cluster starts the real servers of a walk. What goes wrong with them is no fault of
// the elector: it is kept, and fails the test in words of its own.
type cluster struct {
	ctx      context.Context
	launcher *topology.Launcher

	mu  sync.Mutex
	err error
}

func (c *cluster) note(err error) {
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.err = errors.Join(c.err, err)
	}
}

// settings of all servers: what was written is in a file before it is answered, so a
// server that is killed may come back with its data.
var settings = topology.Config{Settings: []string{"--appendonly", "yes", "--appendfsync", "no", "--enable-debug-command", "yes",
	"--user", bubble.BlindUser, "on", "nopass", "~*", "&*", "+@all", "-info",
}}

// launch starts a server.
func (c *cluster) launch(int) bubble.Server {
	s, err := c.launcher.Server(c.ctx, settings)
	if err != nil {
		panic(err) // there is no walk without it
	}
	return &real{cluster: c, Server: s, up: true}
}

// real is a real server as the bubble's world knows servers.
type real struct {
	*cluster
	*topology.Server

	life sync.Mutex // held while the server is killed or started, stopped or let go on

	mu      sync.Mutex
	up      bool
	frozen  bool
	replica bool
}

var _ bubble.Server = (*real)(nil)

// do executes a command, which must work.
func (r *real) do(args ...any) redismodel.Reply {
	value, err := r.Client().Do(r.ctx, args...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		r.note(fmt.Errorf("%v: %w", args, err))
	}
	switch v := value.(type) {
	case int64:
		return redismodel.Integer(v)
	case string:
		return redismodel.Text(v)
	default:
		return redismodel.Reply{}
	}
}

// is tells what the server is, and was changes that if it is not so yet.
func (r *real) is(what *bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return *what
}

func (r *real) turn(what *bool, to bool) (turned bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	turned = *what != to
	*what = to
	return turned
}

// Open implements network.Target.
func (r *real) Open() bool { return r.is(&r.up) }

// Answers implements bubble.Server.
func (r *real) Answers() bool { return r.is(&r.up) && !r.is(&r.frozen) }

// Replica implements bubble.Server.
func (r *real) Replica() bool { return r.is(&r.replica) }

// Serve implements network.Target: it relays.
func (r *real) Serve(conn net.Conn) {
	defer func() { _ = conn.Close() }() // it may be closed already
	there, err := net.Dial("tcp", r.Addr)
	if err != nil {
		return // it is just going down
	}
	defer func() { _ = there.Close() }() // likewise
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(conn, there) // until either ends
		_ = conn.Close()
	})
	_, _ = io.Copy(there, conn) // likewise
	_ = there.Close()
	back.Wait()
}

// With implements bubble.Server.
func (r *real) With(f func(do bubble.Do)) {
	f(func(args ...string) redismodel.Reply {
		all := make([]any, len(args))
		for i, arg := range args {
			all[i] = arg
		}
		return r.do(all...)
	})
}

// Freeze implements bubble.Server.
func (r *real) Freeze() bool {
	r.life.Lock()
	defer r.life.Unlock()
	if !r.Open() || !r.turn(&r.frozen, true) {
		return false
	}
	r.note(r.Pause(r.ctx))
	return true
}

// Thaw implements bubble.Server.
func (r *real) Thaw() {
	r.life.Lock()
	defer r.life.Unlock()
	if r.turn(&r.frozen, false) {
		r.note(r.Resume(r.ctx))
	}
}

// Crash implements bubble.Server.
func (r *real) Crash() bool {
	r.life.Lock()
	defer r.life.Unlock()
	if !r.turn(&r.up, false) {
		return false
	}
	r.turn(&r.frozen, false)
	r.note(r.Kill())
	return true
}

// Restart implements bubble.Server.
func (r *real) Restart(keepData bool) bool {
	r.life.Lock()
	defer r.life.Unlock()
	if r.Open() {
		return false
	}
	if !keepData {
		r.note(os.RemoveAll(filepath.Join(r.Dir(), "appendonlydir")))
	}
	r.note(r.Start(r.ctx))
	r.turn(&r.replica, false)
	return r.turn(&r.up, true)
}

// Beside implements bubble.Server.
func (r *real) Beside(string) bubble.Server { return r.launch(0) }

// Follow implements bubble.Server.
func (r *real) Follow(primary bubble.Server) {
	of := primary.(*real)
	r.turn(&r.replica, true)
	r.do("REPLICAOF", "127.0.0.1", of.Port())
}

// Promote implements bubble.Server.
func (r *real) Promote() {
	r.turn(&r.replica, false)
	r.do("REPLICAOF", "NO", "ONE")
}

// Sever implements bubble.Server: nobody knows the user as whom it logs in.
func (r *real) Sever() {
	r.do("CONFIG", "SET", "masteruser", "nobody")
	r.do("CLIENT", "KILL", "TYPE", "master")
}

// Mend implements bubble.Server.
func (r *real) Mend() { r.do("CONFIG", "SET", "masteruser", topology.ReplicaUser) }

// Forget implements bubble.Server.
func (r *real) Forget() { r.do("DEBUG", "CHANGE-REPL-ID") }

// Refuse implements bubble.Server: the server misses more replicas than there are.
func (r *real) Refuse(u redisserver.Unfitness) {
	missing := 0
	if u.Text != "" {
		missing = 9
	}
	r.do("CONFIG", "SET", "min-replicas-to-write", missing)
}

// Followers implements bubble.Server.
func (r *real) Followers() string {
	list, err := r.Client().Do(r.ctx, "CLIENT", "LIST", "TYPE", "REPLICA").Text()
	r.note(err)
	return list
}

// Lag implements bubble.Server. Real servers cannot.
func (r *real) Lag(time.Duration) {}

// StepClock implements bubble.Server. Real servers cannot.
func (r *real) StepClock(time.Duration) {}

// realLease is that of walks on real servers, and slack what a busy machine takes
// beyond what a model does: replicas ask for their primary once a second.
const (
	realLease = 800 * time.Millisecond
	slack     = 3 * time.Second
)

// asReal is a case as it is carried out on real servers.
func asReal(c topologies.Case) topologies.Case {
	return c.Without(topologies.Lag, topologies.Step).Scaled(realLease)
}

// carryOutReal carries out a case on real servers and returns what is wrong.
func carryOutReal(t *testing.T, c topologies.Case) []checker.Finding {
	t.Helper()
	plan := c.Plan()
	plan.ReturnBound += slack
	plan.Quiet += slack
	// A busy machine may hold up a goroutine between its check and its write, as it
	// may any: no elector promises that none is late.
	plan.Promises = slices.DeleteFunc(plan.Promises, func(p string) bool { return p == string(checker.WriteWithinTerm) })
	ctx, l := topology.For(t, topology.ServerProgram)
	servers := &cluster{ctx: ctx, launcher: l}
	h, err := (&bubble.World{Launch: servers.launch}).Run(ctx, plan, "")
	if err := errors.Join(err, servers.err); err != nil {
		t.Fatalf("%v\n%v", err, c)
	}
	return slices.DeleteFunc(checker.Check(h, checker.Options{}).Asked, func(f checker.Finding) bool {
		return f.Verdict == checker.Pass || f.Verdict == checker.Unknown && f.Promise != checker.LeaderReturns
	})
}

// Walks that are drawn are made on real servers, too, in real time: the elector keeps
// the same promises there. RECOUNT_CASES says how many walks, and from which seed on,
// and -parallel how many at a time: they mostly wait.
func TestReal(t *testing.T) {
	if testing.Short() || race.Enabled {
		t.Skip("walks in real time take seconds each")
	}
	first, n := bubbletest.Cases(t, 2, 0)
	for seed := first; seed < first+n; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			c := asReal(topologies.Draw(seed))
			for _, f := range carryOutReal(t, c) {
				say := t.Errorf
				if f.Verdict == checker.Unknown { // the machine stalled
					say = t.Logf
				}
				say("walk %d: %s: %s: %s\n%v", seed, f.Promise, f.Verdict, f.Reason, c)
			}
		})
	}
}

// What was made for a model in TestMended is mended on real servers, too. It takes
// ten seconds of waiting, so it is done only where walks are asked for.
func TestMendedAsReal(t *testing.T) {
	if !drawn.Asked() {
		t.Skip("a campaign of half an hour: make walks")
	}
	for _, f := range carryOutReal(t, asReal(movingReplica())) {
		t.Errorf("%s: %s", f.Promise, f.Reason)
	}
}

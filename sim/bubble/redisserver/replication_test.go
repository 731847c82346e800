package redisserver_test

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/internal/topology"
	"github.com/recount-io/recount/sim/bubble/network"
	"github.com/recount-io/recount/sim/bubble/redisserver"
)

// trio is a primary and two replicas, in memory or real.
type trio interface {
	primary() *redis.Client
	sever(replica int)
	mend(replica int)
	freeze(replica int, frozen bool)
	follow(server, primary int)
	promote(server int)
	inStep(replicas int)
}

// modelTrio is one in memory.
type modelTrio struct {
	t       *testing.T
	servers []*redisserver.Server
	client  *redis.Client
}

func (m *modelTrio) primary() *redis.Client { return m.client }
func (m *modelTrio) sever(i int)            { m.servers[i].Sever() }
func (m *modelTrio) mend(i int)             { m.servers[i].Mend() }
func (m *modelTrio) follow(i, of int)       { m.servers[i].Follow(m.servers[of], time.Millisecond) }
func (m *modelTrio) promote(i int)          { m.servers[i].Promote() }
func (m *modelTrio) inStep(int)             { time.Sleep(time.Second) }

func (m *modelTrio) freeze(i int, frozen bool) {
	if frozen {
		m.servers[i].Freeze()
	} else {
		m.servers[i].Thaw()
	}
}

// realTrio is a real one.
type realTrio struct {
	t       *testing.T
	ctx     context.Context
	servers []*topology.Server
}

func (r *realTrio) do(i int, args ...any) {
	r.t.Helper()
	if err := r.servers[i].Client().Do(r.ctx, args...).Err(); err != nil {
		r.t.Fatal(err)
	}
}

func (r *realTrio) primary() *redis.Client { return r.servers[0].Client() }

func (r *realTrio) sever(i int) {
	r.do(i, "CONFIG", "SET", "masteruser", "nobody")
	r.do(i, "CLIENT", "KILL", "TYPE", "master")
}

func (r *realTrio) mend(i int) { r.do(i, "CONFIG", "SET", "masteruser", topology.ReplicaUser) }

func (r *realTrio) freeze(i int, frozen bool) {
	r.t.Helper()
	act := r.servers[i].Resume
	if frozen {
		act = r.servers[i].Pause
	}
	if err := act(r.ctx); err != nil {
		r.t.Fatal(err)
	}
}

func (r *realTrio) follow(i, of int) { r.do(i, "REPLICAOF", "127.0.0.1", r.servers[of].Port()) }
func (r *realTrio) promote(i int)    { r.do(i, "REPLICAOF", "NO", "ONE") }

func (r *realTrio) inStep(replicas int) {
	r.t.Helper()
	if err := r.servers[0].InStep(r.ctx, replicas); err != nil {
		r.t.Fatal(err)
	}
}

// confirmed is what WAIT answers after a write of the same connection.
func confirmed(ctx context.Context, s trio, wanted int) string {
	pipe := s.primary().Pipeline()
	pipe.Set(ctx, "k", strconv.Itoa(wanted), 0)
	wait := pipe.Do(ctx, "WAIT", wanted, 100)
	_, _ = pipe.Exec(ctx) // each command has its own error
	n, err := wait.Int()
	if err != nil {
		return err.Error()
	}
	return strconv.Itoa(n)
}

// course is what WAIT answers in a course of situations, the same for any trio.
func course(ctx context.Context, s trio) (said []string) {
	say := func(what string, wanted int) {
		said = append(said, fmt.Sprintf("%s: %s", what, confirmed(ctx, s, wanted)))
	}
	s.inStep(2)
	say("two of two", 2)
	said = append(said, fmt.Sprint("more than there are: ", confirmed(ctx, s, 3)))
	s.sever(1)
	say("one is severed", 2)
	say("one of one", 1)
	s.freeze(2, true)
	say("the other one stands still", 1)
	s.freeze(2, false)
	s.mend(1)
	s.inStep(2)
	say("all are back", 2)
	s.promote(1)
	say("one was promoted", 2)
	s.follow(2, 1)
	s.sever(2)
	say("the other one moves", 1)
	s.mend(2)
	s.follow(0, 1)
	say("the primary follows", 1)
	return said
}

// WAIT counts just the replicas that a real server counts: not those that were cut
// off, stand still, were promoted or have moved. And it takes as long as it may until
// they are as many as asked for.
func TestWaitAsReal(t *testing.T) {
	ctx, l := topology.For(t, topology.ServerProgram)
	r := topology.Must[*topology.Replicated](t)(l.Replicated(ctx, 2, topology.Config{}))
	want := course(ctx, &realTrio{t: t, ctx: ctx, servers: r.Servers()})
	inBubble(t, ours, func(t *testing.T, l *network.Link) {
		first := l.Target().(*redisserver.Server)
		m := &modelTrio{t: t, servers: []*redisserver.Server{first, first.Beside("server2"), first.Beside("server3")}}
		m.follow(1, 0)
		m.follow(2, 0)
		way := l.Endpoint()
		m.client = redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) { return way.Dial(ctx) }})
		defer func() { _ = m.client.Close() }() // it has served
		got := course(t.Context(), m)
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("a model says %q, a real server %q", got[i], want[i])
			}
		}
	})
}

// A client that waits for confirmations gets them as soon as its own write has reached
// the replicas, and not before; it is told when its server becomes a replica, and who
// waits for none waits for no time.
func TestWaiting(t *testing.T) {
	inBubble(t, ours, func(t *testing.T, l *network.Link) {
		primary := l.Target().(*redisserver.Server)
		other := primary.Beside("server2")
		way := l.Endpoint()
		c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", MaxRetries: -1, Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) { return way.Dial(ctx) }})
		defer func() { _ = c.Close() }() // it has served
		for args, want := range map[[3]string]string{
			{"WAIT", "0", "1000"}: "0", {"WAIT", "x", "0"}: "ERR value is not an integer or out of range", {"WAIT", "0", "-1"}: "ERR timeout is negative",
		} {
			began := time.Now()
			v, err := c.Do(t.Context(), args[0], args[1], args[2]).Result()
			if got := fmt.Sprint(v); err != nil && err.Error() != want || err == nil && got != want || time.Since(began) > 100*time.Millisecond {
				t.Errorf("%v: %v, %v after %v; want %s", args, v, err, time.Since(began), want)
			}
		}
		began := time.Now()
		if n, err := c.Do(t.Context(), "WAIT", "1", "500").Int(); n != 0 || err != nil || time.Since(began) < 500*time.Millisecond {
			t.Errorf("without replicas: %v, %v after %v", n, err, time.Since(began))
		}
		other.Follow(primary, time.Second)
		pipe := c.Pipeline()
		pipe.Set(t.Context(), "k", "v", 0)
		early, late := pipe.Do(t.Context(), "WAIT", "1", "500"), pipe.Do(t.Context(), "WAIT", "1", "2000")
		began = time.Now()
		if _, err := pipe.Exec(t.Context()); err != nil || early.Val() != int64(0) || late.Val() != int64(1) {
			t.Errorf("a replica that lags a second: %v, then %v; %v", early.Val(), late.Val(), err)
		}
		if took := time.Since(began); took < time.Second || took > 1100*time.Millisecond {
			t.Errorf("its confirmation took %v", took)
		}
		other.Promote()
		time.AfterFunc(time.Second, func() { primary.Follow(other, 0) })
		if err := c.Do(t.Context(), "WAIT", "1", "2000").Err(); err == nil || err.Error()[:9] != "UNBLOCKED" {
			t.Errorf("its server became a replica: %v", err)
		}
	})
}

// A replica lags by as much as it is told, gets what it lacks when the way is mended,
// and serves what it had until then; a server without data that comes back serves none.
func TestReplication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		primary := redisserver.New(redisserver.Options{Clock: wall})
		replica := primary.Beside("server2")
		ask := func(s *redisserver.Server, args ...string) (text string) {
			s.With(func(dbs []*modelServer, now time.Duration) { text = dbs[0].Do(now, args...).String() })
			return text
		}
		expect := func(when, want string) {
			t.Helper()
			if got := ask(replica, "GET", "k"); got != want {
				t.Errorf("%s: the replica has %s, want %s", when, got, want)
			}
		}
		replica.Follow(primary, time.Second)
		ask(primary, "SET", "k", "1")
		expect("at once", "(nil)")
		time.Sleep(time.Second)
		expect("a second later", `"1"`)
		replica.Sever()
		ask(primary, "SET", "k", "2")
		time.Sleep(time.Minute)
		expect("severed", `"1"`)
		replica.Delay(0)
		replica.Mend()
		expect("mended", `"2"`)
		replica.Freeze()
		ask(primary, "SET", "k", "3")
		replica.Thaw()
		expect("after standing still", `"3"`)
		primary.Forget()
		ask(primary, "SET", "k", "4")
		expect("after a copy", `"4"`)
		primary.Crash()
		expect("without a primary", `"4"`)
		primary.Restart(false)
		expect("its primary came back empty", "(nil)")
		primary.StepClock(time.Hour)
		ask(primary, "SET", "k", "5", "PX", "1000")
		if got := ask(replica, "PTTL", "k"); got != "(integer) 3601000" {
			t.Errorf("by its own clock, an hour behind, the replica's key has %s left", got)
		}
		replica.Promote()
		if !primary.Answers() || primary.Replica() || replica.Replica() {
			t.Error("there are not two primaries")
		}
	})
}

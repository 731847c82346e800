package topology

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/internal/loopback"
)

// needed are the programs of every topology.
var needed = []string{ServerProgram, SentinelProgram}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Replicas get what the primary is told; cut off from it they keep what they
// had, and when they are let in again they get the rest.
func TestReplicated(t *testing.T) {
	t.Parallel()
	ctx, l := For(t, needed...)
	r := Must[*Replicated](t)(l.Replicated(ctx, 2, Config{}))
	ok(t, r.Primary.Client().Set(ctx, "k", "before", 0).Err())
	ok(t, r.Primary.InStep(ctx, 2))
	for _, s := range r.Replicas {
		if got := s.Client().Get(ctx, "k").Val(); got != "before" {
			t.Errorf("a replica in step has %q", got)
		}
	}
	ok(t, r.Primary.Sever(ctx))
	ok(t, r.Primary.Client().Set(ctx, "k", "after", 0).Err())
	for _, s := range r.Replicas {
		if got := s.Client().Get(ctx, "k").Val(); got != "before" {
			t.Errorf("a severed replica has %q", got)
		}
	}
	ok(t, r.Primary.Rejoin(ctx))
	ok(t, r.Primary.InStep(ctx, 2))
	for _, s := range r.Replicas {
		if got := s.Client().Get(ctx, "k").Val(); got != "after" {
			t.Errorf("a replica that is back in step has %q", got)
		}
	}
}

// Sentinels promote a replica when the primary is killed, and make the primary
// its replica when it comes back.
func TestSentinels(t *testing.T) {
	t.Parallel()
	ctx, l := For(t, needed...)
	begin := time.Now()
	r := Must[*Sentinels](t)(l.Sentinels(ctx, SentinelConfig{}))
	t.Logf("ready after %v", time.Since(begin))
	watch := Must[*Switch](t)(r.Switching(ctx))
	defer func() { ok(t, watch.Close()) }()
	begin = time.Now()
	ok(t, r.Primary.Kill())
	promoted := Must[*Server](t)(watch.Await(ctx))
	t.Logf("failover took %v", time.Since(begin))
	if promoted == r.Primary {
		t.Error("the server that was killed is the new primary")
	}
	ok(t, promoted.Client().Set(ctx, "k", "v", 0).Err())
	ok(t, r.Primary.Start(ctx))
	ok(t, r.Primary.awaitReplication(ctx, "role", "slave"))
}

// A Sentinel asks a replica that cannot reach its primary more often than it
// needs to in order to promote it: else it would promote none, and try again only
// after seconds.
func TestSentinelHearsOfReplicas(t *testing.T) {
	t.Parallel()
	ctx, l := For(t, needed...)
	r := Must[*Sentinels](t)(l.Sentinels(ctx, SentinelConfig{}))
	reply, err := r.Sentinels[0].client.Do(ctx, "SENTINEL", "DEBUG").Result()
	settings, is := reply.(map[any]any)
	if !is {
		t.Skipf("SENTINEL DEBUG tells nothing before Redis 7: %v", err)
	}
	// It is asked once a second then, and what was heard within five of these
	// periods counts.
	if period := Must[int](t)(strconv.Atoi(fmt.Sprint(settings["PING-PERIOD"]))); 5*period < 1200 {
		t.Errorf("what is heard of a replica counts for %d ms, and it is asked once a second", 5*period)
	}
}

// An isolated primary is replaced while its clients go on writing to it, and
// gives up what they wrote when it is let in again.
func TestIsolate(t *testing.T) {
	t.Parallel()
	ctx, l := For(t, needed...)
	r := Must[*Sentinels](t)(l.Sentinels(ctx, SentinelConfig{}))
	watch := Must[*Switch](t)(r.Switching(ctx))
	defer func() { ok(t, watch.Close()) }()
	ok(t, r.Primary.Isolate(ctx))
	promoted := Must[*Server](t)(watch.Await(ctx))
	ok(t, r.Primary.Client().Set(ctx, "k", "old", 0).Err())
	ok(t, promoted.Client().Set(ctx, "k", "new", 0).Err())
	ok(t, r.Primary.Rejoin(ctx))
	ok(t, until(ctx, "the old primary does not follow", func() (bool, error) {
		got, err := r.Primary.Client().Get(ctx, "k").Result()
		return got == "new", err
	}))
}

// A cluster accepts writes to every slot, and a replica takes over when a
// primary is killed.
func TestCluster(t *testing.T) {
	t.Parallel()
	ctx, l := For(t, needed...)
	begin := time.Now()
	r := Must[*Cluster](t)(l.Cluster(ctx, ClusterConfig{}))
	t.Logf("ready after %v", time.Since(begin))
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs(r.Nodes)})
	defer func() { ok(t, client.Close()) }()
	for i := range 100 {
		ok(t, client.Set(ctx, fmt.Sprint("k", i), i, 0).Err())
	}
	owner, replicas, err := r.Owner(ctx, "k1")
	ok(t, err)
	if len(replicas) != 1 || owner.Client().Get(ctx, "k1").Val() != "1" {
		t.Fatalf("the owner of k1 has %q and %d replicas", owner.Client().Get(ctx, "k1").Val(), len(replicas))
	}
	ok(t, owner.InStep(ctx, 1))
	begin = time.Now()
	ok(t, owner.Kill())
	promoted := Must[*Server](t)(r.AwaitOwner(ctx, "k1", owner))
	t.Logf("failover took %v", time.Since(begin))
	if promoted != replicas[0] || promoted.Client().Get(ctx, "k1").Val() != "1" {
		t.Error("the replica did not take over what its primary had")
	}
}

// Independent servers know nothing of each other; one that is killed comes back
// empty at its address, and one that is paused does not answer.
func TestIndependent(t *testing.T) {
	t.Parallel()
	ctx, l := For(t, needed...)
	begin := time.Now()
	all := Must[[]*Server](t)(l.Independent(ctx, 5, Config{Client: redis.Options{MaxRetries: -1, ContextTimeoutEnabled: true}}))
	t.Logf("ready after %v", time.Since(begin))
	for i, s := range all {
		ok(t, s.Client().Set(ctx, "k", i, 0).Err())
	}
	ok(t, all[0].Kill())
	if err := all[0].Client().Ping(ctx).Err(); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a killed server: %v", err)
	}
	ok(t, all[0].Start(ctx))
	if n := all[0].Client().DBSize(ctx).Val(); n != 0 {
		t.Errorf("%d keys outlived the server", n)
	}
	if got := all[1].Client().Get(ctx, "k").Val(); got != "1" {
		t.Errorf("another server has %q", got)
	}
	ok(t, all[1].Pause(ctx))
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := all[1].Client().Ping(short).Err(); err == nil {
		t.Error("a paused server answered")
	}
	ok(t, all[1].Resume(ctx))
	ok(t, until(ctx, "the server does not go on", func() (bool, error) { return true, all[1].Client().Ping(ctx).Err() }))
}

// A server that cannot start says why.
func TestStartFails(t *testing.T) {
	t.Parallel()
	ctx, l := For(t, needed...)
	if _, err := l.Server(ctx, Config{Settings: []string{"--no-such-setting", "1"}}); err == nil || !strings.Contains(err.Error(), "no-such-setting") {
		t.Errorf("an unknown setting: %v", err)
	}
}

// childVariable makes this test binary the process that is killed.
const childVariable = "TOPOLOGY_TEST_CHILD"

// When the process that started servers is killed, they end too.
func TestNothingOutlivesTheProcess(t *testing.T) {
	if os.Getenv(childVariable) != "" {
		ctx, l := For(t, needed...)
		r := Must[*Sentinels](t)(l.Sentinels(ctx, SentinelConfig{}))
		for _, s := range append(r.Servers(), r.Sentinels...) {
			fmt.Println("PID", s.process.(*process).PID())
		}
		fmt.Println("END")
		<-ctx.Done() // it is killed here
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("this system cannot end processes with their parent")
	}
	need(t, needed...)
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestNothingOutlivesTheProcess$")
	child.Env = append(os.Environ(), childVariable+"=1", "TMPDIR="+t.TempDir())
	out, err := child.StdoutPipe()
	ok(t, err)
	ok(t, child.Start())
	var pids []int
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "END"; {
		var pid int
		if n, _ := fmt.Sscanf(lines.Text(), "PID %d", &pid); n == 1 {
			pids = append(pids, pid)
		}
	}
	ok(t, child.Process.Kill())
	_ = child.Wait() // it was killed
	if len(pids) != 6 {
		t.Fatalf("%d servers were started", len(pids))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, pid := range pids {
		err := until(ctx, fmt.Sprintf("process %d lives on", pid), func() (bool, error) {
			return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH), nil
		})
		if err != nil {
			t.Error(err)
			_ = syscall.Kill(pid, syscall.SIGKILL) // nothing of a test is left behind
		}
	}
}

// A PostgreSQL accepts connections at its URL, and leaves nothing when it is
// stopped, however often.
func TestPostgres(t *testing.T) {
	t.Parallel()
	p := SinglePostgres(t)
	u := Must[*url.URL](t)(url.Parse(p.URL))
	socket := filepath.Join(u.Query().Get("host"), ".s.PGSQL."+u.Query().Get("port"))
	ok(t, greet("unix", socket))
	for range 2 {
		p.Stop()
	}
	if _, err := os.Stat(p.folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its folder is left: %v", err)
	}
	if err := greet("unix", socket); err == nil {
		t.Error("it accepts connections after it was stopped")
	}
}

// Somebody who takes the port between the look and the start costs another
// look.
func TestPostgresPortTaken(t *testing.T) {
	t.Parallel()
	if !HasPostgres() {
		t.Skip(ErrNoPostgres)
	}
	squatter := Must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	defer func() { _ = squatter.Close() }() // nobody connects
	taken := squatter.Addr().(*net.TCPAddr).Port
	looks := 0
	p := Must[*Postgres](t)(startPostgres(func() (int, error) {
		if looks++; looks == 1 {
			return taken, nil
		}
		return loopback.FreePort()
	}))
	defer p.Stop()
	if looks != 2 {
		t.Errorf("%d looks for a port", looks)
	}
	ok(t, greet("tcp", p.TCP))
}

// greet begins a session with a PostgreSQL, as its user, and ends it when the
// server says that it is ready for questions. A driver would do more, but this
// module goes with every elector and has none.
func greet(network, address string) error {
	conn, err := net.Dial(network, address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // the server ends next
	const version, body = 3 << 16, "user\x00postgres\x00database\x00postgres\x00\x00"
	hello := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
	hello = append(binary.BigEndian.AppendUint32(hello, version), body...)
	if _, err := conn.Write(hello); err != nil {
		return err
	}
	for {
		var head [5]byte // what it is, and how long
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return err
		}
		text, err := io.ReadAll(io.LimitReader(conn, int64(binary.BigEndian.Uint32(head[1:]))-4))
		switch {
		case err != nil:
			return err
		case head[0] == 'E':
			return fmt.Errorf("the server refuses: %q", text)
		case head[0] == 'Z':
			return nil
		}
	}
}

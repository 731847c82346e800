//go:build linux

package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recount-io/recount/internal/drawn"
	"github.com/recount-io/recount/sim/live"
)

// TestStagingUntouched shows that a run on a Redis that others use touches nothing but
// the keys and channels under its prefix: by all commands that the server executed for
// it, by the number and the checksum of the keys of others, and by what the server
// refused. Each of the commands is named in the document for the lender of the server.
func TestStagingUntouched(t *testing.T) {
	withoutRace(t)
	t.Parallel()
	s := startStaging(t)
	stop := s.record(t)
	for _, subject := range []string{"recount", "honua"} {
		out, err := s.command(t, "untouched", append([]string{"partition-leader", "--subject", subject}, small(t.TempDir())...)...).CombinedOutput()
		if err != nil && subject == "recount" {
			t.Errorf("%v\n%s", err, out)
		}
	}
	counts := within(t, "mine:", stop())
	t.Log("commands: ", inWords(counts))
	page, err := os.ReadFile("../../docs/shared-servers.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range counts {
		if !strings.Contains(string(page), "`"+strings.ToUpper(name)+"`") {
			t.Errorf("docs/shared-servers.md does not name the command %s", strings.ToUpper(name))
		}
	}
	if left := s.left(t); len(left) > 0 {
		t.Errorf("keys left: %v", left)
	}
	s.unharmed(t)
}

// TestTouchedIsSeen shows that what a run must not do would be noticed.
func TestTouchedIsSeen(t *testing.T) {
	for _, line := range []string{
		`1.0 [2 127.0.0.1:1] "flushall"`, `1.0 [2 lua] "CONFIG" "SET" "maxmemory" "1"`, `1.0 [2 127.0.0.1:1] "keys" "*"`,
		`1.0 [2 127.0.0.1:1] "script" "flush"`, `1.0 [2 127.0.0.1:1] "pubsub" "channels"`, `1.0 [2 127.0.0.1:1] "debug" "sleep" "1"`,
	} {
		if _, words := parseMonitor(line); len(words) == 0 {
			t.Errorf("%s was not read", line)
		} else if _, known := touched(words); known {
			t.Errorf("%s is taken for harmless", line)
		}
	}
	for line, want := range map[string]string{
		`1.0 [2 127.0.0.1:1] "del" "mine:a" "app:1"`:              "mine:a app:1",
		`1.0 [2 127.0.0.1:1] "evalsha" "ab" "2" "x" "y\"z" "arg"`: `x y"z`,
		`1.0 [2 lua] "SET" "app:1" "mine:a"`:                      "app:1",
		`1.0 [2 127.0.0.1:1] "subscribe" "news"`:                  "news",
	} {
		_, words := parseMonitor(line)
		if names, known := touched(words); !known || strings.Join(names, " ") != want {
			t.Errorf("%s touches %q, want %q", line, names, want)
		}
	}
}

// TestStagingKilled shows that a harness that is killed at whatever moment leaves no
// process, none that stands still either, and so no listener; and no key but those that
// end by themselves within two minutes. In the long form it waits for that.
func TestStagingKilled(t *testing.T) {
	withoutRace(t)
	t.Parallel()
	s := startStaging(t)
	kills := 3
	long := drawn.Asked()
	if long {
		kills = 200
	}
	random := rand.New(rand.NewPCG(1, 2))
	names := []string{"pause-leader", "partition-all", "crash-leader", "start-together", "flapping-network"}
	withKeys := 0
	for i := range kills {
		mark := fmt.Sprintf("%d-%d", os.Getpid(), i)
		s.kill(t, mark, names[i%len(names)], time.Duration(random.Int64N(int64(3500*time.Millisecond))))
		left := s.left(t)
		if len(left) > 0 {
			withKeys++
		}
		for key, lives := range left {
			if lives <= 0 || lives > 2*time.Minute {
				t.Errorf("kill %d: %s has %v to live", i+1, key, lives)
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d of %d kills left no process and no key without a time to live; after %d of them there were keys", kills, kills, withKeys)
	if !long {
		return
	}
	for deadline := time.Now().Add(2*time.Minute + 5*time.Second); len(s.left(t)) > 0; <-time.After(time.Second) {
		if time.Now().After(deadline) {
			t.Fatalf("keys after their time to live: %v", s.left(t))
		}
	}
	s.unharmed(t)
}

// kill kills chaos at a moment after its first line, or before, and waits until there is
// no process of it.
func (s *staging) kill(t *testing.T, mark, scenario string, after time.Duration) {
	t.Helper()
	cmd := s.command(t, mark, append([]string{scenario}, small(t.TempDir())...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, mostly
	if after > 500*time.Millisecond {            // else it is killed while it starts
		_, _ = bufio.NewReader(out).ReadString('\n') // it may have ended
	}
	<-time.After(after)
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()         // killed: that it failed is no news
	for deadline := time.Now().Add(10 * time.Second); ; <-time.After(10 * time.Millisecond) {
		there := marked(mark)
		if len(there) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s, killed after %v: still there: %v", scenario, after, there)
		}
	}
}

// TestStagingNeighbour measures what a run does to another client of the same server:
// twenty times without a run and with one. The run has a core of its own where it can
// get one, and the server and the other client have the rest, as if the run had a
// machine of its own. It is a figure for the document, and
// fails only if the median of the 99th percentiles lies outside of what there is
// without runs.
func TestStagingNeighbour(t *testing.T) {
	if !drawn.Asked() {
		t.Skip("it takes minutes: make staging")
	}
	s := startStaging(t)
	s.together(t)
	const pairs = 20
	var without, with [2][]time.Duration // p50, p99
	note := func(to *[2][]time.Duration) {
		p50, p99 := s.other.since()
		to[0], to[1] = append(to[0], p50), append(to[1], p99)
	}
	for i := range pairs {
		s.other.since()
		began := time.Now()
		if out, err := apart(s.command(t, "neighbour", append([]string{"partition-leader"}, small(t.TempDir())...)...)).CombinedOutput(); err != nil {
			t.Logf("run %d: %v\n%s", i+1, err, out)
		}
		length := time.Since(began)
		note(&with)
		<-time.After(length)
		note(&without)
	}
	for _, all := range [][]time.Duration{without[0], without[1], with[0], with[1]} {
		slices.Sort(all)
	}
	middle := func(all []time.Duration) time.Duration { return all[len(all)/2] }
	t.Logf("p50 without runs %v (%v to %v), with runs %v: ×%.2f", middle(without[0]), without[0][0], without[0][pairs-1], middle(with[0]), float64(middle(with[0]))/float64(middle(without[0])))
	t.Logf("p99 without runs %v (%v to %v), with runs %v (%v to %v): ×%.2f", middle(without[1]), without[1][0], without[1][pairs-1],
		middle(with[1]), with[1][0], with[1][pairs-1], float64(middle(with[1]))/float64(middle(without[1])))
	if middle(with[1]) > without[1][pairs-1] {
		t.Error("the other client's p99 is not within the control's spread")
	}
	s.unharmed(t)
}

// together makes the server and this process, which the other client is in, leave the
// last core to others, if taskset is there to say so.
func (s *staging) together(t *testing.T) {
	t.Helper()
	path, err := exec.LookPath("taskset")
	n := runtime.NumCPU()
	if err != nil || n == 1 {
		return
	}
	info, err := s.admin.InfoMap(t.Context(), "server").Result()
	if err != nil {
		t.Fatal(err)
	}
	own := strconv.Itoa(os.Getpid())
	use := func(pid string, last int) {
		if out, err := exec.Command(path, "--all-tasks", "--cpu-list", "--pid", fmt.Sprintf("0-%d", last), pid).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
	use(info["Server"]["process_id"], n-2)
	use(own, n-2)
	t.Cleanup(func() { use(own, n-1) })
}

// apart makes a command, and all that it starts, use the last core only, if taskset is
// there to say so.
func apart(cmd *exec.Cmd) *exec.Cmd {
	path, err := exec.LookPath("taskset")
	if n := runtime.NumCPU(); err == nil && n > 1 {
		cmd.Args = append([]string{path, "--cpu-list", strconv.Itoa(n - 1), cmd.Path}, cmd.Args[1:]...)
		cmd.Path = path
	}
	return cmd
}

// TestStagingDemand shows that what a run says beforehand that it asks for is what the
// server counts: no more, and no less than a third of it.
func TestStagingDemand(t *testing.T) {
	withoutRace(t)
	t.Parallel()
	for name, args := range map[string][]string{
		"steady":         {"steady"},
		"partition-all":  {"partition-all"},
		"start-together": {"start-together", "--nodes", "10"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startStaging(t)
			var got live.Demand
			var out []byte
			for try := 0; ; try++ { // a machine that is held up looks like a Redis to be spared
				measuring := s.measure(t)
				cmd := s.command(t, fmt.Sprint("demand", try), slices.Concat([]string{"--lease", "1s", "--seed", "1", "--out", t.TempDir()}, args, lenient(try))...)
				var err error
				out, err = cmd.CombinedOutput()
				got = measuring()
				status := cmd.ProcessState.ExitCode()
				if err == nil || status == statusUndecided {
					break
				}
				if status != statusStopped || try == 2 {
					t.Fatalf("%v\n%s", err, out)
				}
			}
			var said live.Demand
			if _, err := fmt.Sscanf(string(out), "Asks of that Redis at the most: %d connections, %g commands a second, %d keys", &said.Connections, &said.Ops, &said.Keys); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("said %+v, counted %+v", said, got)
			for _, one := range []struct {
				what      string
				said, got float64
			}{
				{"connections", float64(said.Connections), float64(got.Connections)},
				{"commands a second", said.Ops, got.Ops},
				{"keys", float64(said.Keys), float64(got.Keys)},
			} {
				if one.got > one.said || one.got < one.said/3 {
					t.Errorf("%s: %g said, and %g counted", one.what, one.said, one.got)
				}
			}
		})
	}
}

// measure counts what a run asks for, until stop is called: connections and keys at
// once, and commands in the busiest second, less those of the counting and of the other
// client.
func (s *staging) measure(t *testing.T) (stop func() live.Demand) {
	ctx, client := t.Context(), s.connect(t)
	type moment struct {
		at       time.Time
		commands float64
	}
	var most live.Demand
	var moments []moment
	end, done := make(chan struct{}), make(chan struct{})
	look := func() {
		list, err := client.ClientList(ctx).Result()
		if ctx.Err() != nil {
			return // the test has failed
		}
		if err != nil {
			t.Error(err)
			return
		}
		users := strings.Count(list, "user=tester")
		most.Connections = max(most.Connections, users)
		if keys, err := client.DBSize(ctx).Result(); err == nil {
			most.Keys = max(most.Keys, int(keys-s.keys))
		}
		stats, err := client.InfoMap(ctx, "commandstats").Result()
		if err != nil {
			t.Error(err)
			return
		}
		total := 0.0
		for name, text := range stats["Commandstats"] {
			var calls float64
			_, err := fmt.Sscanf(text, "calls=%g", &calls)
			command := strings.TrimPrefix(name, "cmdstat_")
			if err == nil && !slices.Contains([]string{"client|list", "dbsize", "incr", "auth", "monitor", "dump"}, command) {
				total += calls
			}
		}
		counted, _ := client.Get(ctx, "other:count").Float64() // one GET a count, and this one
		moments = append(moments, moment{time.Now(), total - counted - 2*float64(len(moments)+1)})
	}
	finish := sync.OnceFunc(func() { close(end); <-done })
	t.Cleanup(finish) // if the run failed
	go func() {
		defer close(done)
		pace := time.NewTicker(50 * time.Millisecond)
		defer pace.Stop()
		for {
			look()
			select {
			case <-end:
				return
			case <-pace.C:
			}
		}
	}()
	return func() live.Demand {
		finish()
		for i, from := range moments {
			for _, to := range moments[i:] {
				if d := to.at.Sub(from.at); d <= time.Second {
					most.Ops = max(most.Ops, to.commands-from.commands)
				}
			}
		}
		return most
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/reports"
)

// TestHarmStopsTheRun shows that a run on a Redis that others use ends when that server
// gets worse, for any reason: it heals, leaves no key, exits with the status for that,
// says what it saw in one sentence, and draws it in the report.
func TestHarmStopsTheRun(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(t *testing.T, admin *redis.Client, stopping <-chan struct{}){
		"paused by CLIENT PAUSE": func(t *testing.T, admin *redis.Client, _ <-chan struct{}) {
			if err := admin.Do(t.Context(), "client", "pause", 5000, "all").Err(); err != nil {
				t.Error(err)
			}
		},
		"busy by DEBUG SLEEP": func(t *testing.T, admin *redis.Client, _ <-chan struct{}) {
			_ = admin.Do(t.Context(), "debug", "sleep", "4").Err() // the answer comes late
		},
		"frozen by SIGSTOP": func(t *testing.T, admin *redis.Client, stopping <-chan struct{}) {
			server, err := admin.InfoMap(t.Context(), "server").Result()
			if err != nil {
				t.Error(err)
				return
			}
			pid, err := strconv.Atoi(server["Server"]["process_id"])
			if err != nil {
				t.Error(err)
				return
			}
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
				t.Error(err)
			}
			<-stopping
			if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, admin := startPlainRedis(t, "enable-debug-command yes")
			dir, screen := t.TempDir(), &awaited{word: "Stopping", seen: make(chan struct{})}
			var errors bytes.Buffer
			var harming sync.WaitGroup
			harming.Go(func() {
				awaitLease(t, admin)
				harm(t, admin, screen.seen)
			})
			m := Main{Stdin: strings.NewReader(""), Stdout: screen, Stderr: &errors, Getenv: func(string) string { return "" }}
			status := m.Run(t.Context(), append([]string{"run", "crash-leader", "--duration", "1m", "--redis", url, "--prefix", "mine:", "--stop-factor", "2"}, small(dir)...))
			screen.unblock()
			harming.Wait()
			if status != statusStopped {
				t.Errorf("status %d\n%s%s", status, &screen.text, &errors)
			}
			said := strings.TrimSpace(errors.String())
			if !strings.HasPrefix(said, "chaos: stopped early to spare the Redis: ") || strings.Contains(said, "\n") || !strings.HasSuffix(said, "everything was healed, and the run's keys are removed") {
				t.Errorf("it says %q", said)
			}
			if keys := admin.Keys(t.Context(), "*").Val(); len(keys) > 0 {
				t.Errorf("keys left: %v", keys)
			}
			checkProbed(t, filepath.Join(dir, "crash-leader"), true)
		})
	}
}

// TestHarmStopsOtherRuns shows the same of a trial, and of cases that are repeated.
func TestHarmStopsOtherRuns(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"trial":  {"trial", "recount", "--world", "live", "--scenario", "crash-leader", "--runs", "20", "--parallel", "1", "--seed", "1", "--out", filepath.Join(t.TempDir(), "out")},
		"replay": {"replay", "--world", "live", "../../scenarios/testdata/believes-through-a-partition.json", "--lease", "1s", "--parallel", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, admin := startPlainRedis(t)
			screen := &awaited{word: "Stopping", seen: make(chan struct{})}
			var errors bytes.Buffer
			var harming sync.WaitGroup
			harming.Go(func() {
				awaitLease(t, admin)
				if err := admin.Do(t.Context(), "client", "pause", 5000, "all").Err(); err != nil {
					t.Error(err)
				}
			})
			m := Main{Stdin: strings.NewReader(""), Stdout: screen, Stderr: &errors, Getenv: func(string) string { return "" }}
			status := m.Run(t.Context(), append(args, "--redis", url, "--stop-factor", "2"))
			screen.unblock()
			harming.Wait()
			if said := errors.String(); status != statusStopped || !strings.HasPrefix(said, "chaos: stopped early to spare the Redis: ") || strings.Count(said, "\n") != 1 {
				t.Errorf("status %d\n%s%q", status, &screen.text, said)
			}
			if keys := admin.Keys(t.Context(), "*").Val(); len(keys) > 0 {
				t.Errorf("keys left: %v", keys)
			}
		})
	}
}

// checkProbed looks for the probe in the reports.
func checkProbed(t *testing.T, dir string, stopped bool) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r reports.Report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if r.Probe == nil || r.Probe.LimitMS == 0 || r.Probe.AnswerMS.Count+r.Probe.Errors == 0 || (r.Probe.Stopped != "") != stopped {
		t.Errorf("the report has of the probe: %+v", r.Probe)
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil || !strings.Contains(string(page), "Answers of the Redis that others use") {
		t.Errorf("the page does not draw the probe: %v", err)
	}
}

// TestNoFalseStop shows that a run whose faults are as hard on its own candidates as any
// is not stopped, and has the probe in its report.
func TestNoFalseStop(t *testing.T) {
	t.Parallel()
	url, _ := startPlainRedis(t)
	dir := t.TempDir()
	r := chaos(t, t.Context(), nil, append([]string{"run", "partition-all", "--redis", url}, small(dir)...)...)
	if r.status != statusKept && r.status != statusUndecided { // on a busy machine
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	checkProbed(t, filepath.Join(dir, "partition-all"), false)
}

// TestSickServer shows that no run begins on a server that gives errors.
func TestSickServer(t *testing.T) {
	t.Parallel()
	url, admin := startPlainRedis(t)
	if err := admin.Do(t.Context(), "acl", "setuser", "sick", "on", "nopass", "~*", "&*", "+@all", "-ping").Err(); err != nil {
		t.Skip("this Redis has no users:", err)
	}
	r := chaos(t, t.Context(), nil, append([]string{"run", "steady", "--redis", strings.Replace(url, "//", "//sick:x@", 1)}, small(t.TempDir())...)...)
	if r.status != statusUsage || strings.Count(r.errors, "\n") != 1 {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
}

// startPlainRedis starts a redis-server, with these lines in its settings, and returns
// its URL.
func startPlainRedis(t *testing.T, settings ...string) (url string, admin *redis.Client) {
	t.Helper()
	address := startRedis(t, append([]string{"bind 127.0.0.1"}, settings...)...)
	client := redis.NewClient(&redis.Options{Addr: address, ReadTimeout: time.Minute})
	t.Cleanup(func() { _ = client.Close() })
	for client.Ping(t.Context()).Err() != nil {
		select {
		case <-t.Context().Done():
			t.Fatal("redis-server never answered")
		case <-time.After(20 * time.Millisecond):
		}
	}
	return "redis://" + address + "/0", client
}

// awaitLease returns once somebody leads.
func awaitLease(t *testing.T, admin *redis.Client) {
	led := func(key string) bool { return !strings.Contains(key, "inspection") }
	for !slices.ContainsFunc(admin.Keys(t.Context(), "*:lease").Val(), led) {
		select {
		case <-t.Context().Done():
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// awaited is what is written, until a word comes, and after.
type awaited struct {
	word string
	seen chan struct{}

	mu   sync.Mutex
	once sync.Once
	text bytes.Buffer
}

// Write implements io.Writer.
func (a *awaited) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, err := a.text.Write(p)
	if strings.Contains(a.text.String(), a.word) {
		a.unblock()
	}
	return n, err
}

// unblock ends the waiting, whether the word came or not.
func (a *awaited) unblock() { a.once.Do(func() { close(a.seen) }) }

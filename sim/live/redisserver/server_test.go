//go:build linux || darwin

package redisserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/redis/go-redis/v9"
	"github.com/testcontainers/testcontainers-go"

	"github.com/recount-io/recount/sim/live/supervisor"
)

const role = "RECOUNT_REDISSERVER_TEST"

// TestMain lets the test binary be a supervisor, a harness that is killed, and a
// program with other certificates.
func TestMain(m *testing.M) {
	supervisor.Main()
	redis.SetLogger(silence{})
	switch spec := os.Getenv("RECOUNT_REDISSERVER_SPEC"); os.Getenv(role) {
	case "harness":
		harness(spec)
	case "open":
		s, err := Open(context.Background(), spec, Options{})
		if err == nil {
			fmt.Print("opened ", s.Describe())
			os.Exit(0)
		}
		fmt.Print(err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// silence keeps the client from reporting each refused connection.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// providers runs a test against each Redis that this machine has.
func providers(t *testing.T, test func(t *testing.T, spec string)) {
	t.Run("embedded", func(t *testing.T) { test(t, "embedded") })
	t.Run("process", func(t *testing.T) {
		needProcess(t)
		test(t, "process")
	})
	t.Run("docker", func(t *testing.T) {
		needDocker(t)
		test(t, "docker")
	})
}

func needProcess(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skip("redis-server is not on PATH")
	}
}

// needDocker skips where Docker or the image is missing: a test pulls nothing.
func needDocker(t *testing.T) *testcontainers.DockerClient {
	t.Helper()
	docker, err := testcontainers.NewDockerClientWithOpts(t.Context())
	if err == nil {
		_, err = docker.Info(t.Context(), client.InfoOptions{})
	}
	if err != nil {
		t.Skip("Docker does not answer: ", err)
	}
	t.Cleanup(func() { _ = docker.Close() }) // only idle connections
	image := os.Getenv(ImageVariable)
	if image == "" {
		image = DefaultImage
	}
	if _, err := docker.ImageInspect(t.Context(), image); err != nil {
		t.Skipf("image %s is not here; set %s (.ci/redis-image makes one): %v", image, ImageVariable, err)
	}
	return docker
}

func open(t *testing.T, spec string) Server {
	t.Helper()
	begun := time.Now()
	s, err := Open(t.Context(), spec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: opened in %v", s.Describe(), time.Since(begun))
	t.Cleanup(func() { _ = s.Close() }) // where it matters the test closes it itself
	return s
}

func connect(t *testing.T, s Server) *redis.Client {
	t.Helper()
	c := redis.NewClient(s.Options())
	t.Cleanup(func() { _ = c.Close() }) // nothing is under way
	return c
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// timed logs how long an act took.
func timed(t *testing.T, what string, err func() error) {
	t.Helper()
	begun := time.Now()
	if err := err(); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	t.Logf("%s took %v", what, time.Since(begun))
}

// Every private Redis says what it is and how it is reached, stores, and
// expires by the clock: not before a time to live is over, and soon after.
func TestStoresAndExpires(t *testing.T) {
	providers(t, func(t *testing.T, spec string) {
		s := open(t, spec)
		ctx, c := t.Context(), connect(t, s)
		if !strings.HasPrefix(s.Describe(), spec+" ") || len(s.Describe()) < len(spec)+4 || s.Why() != "asked for" || !s.Private() || s.TLSServerName() != "" {
			t.Errorf("%q, %q, %v, %q", s.Describe(), s.Why(), s.Private(), s.TLSServerName())
		}
		if got := s.CandidateURL("127.0.0.1:7"); got != "redis://127.0.0.1:7/0" {
			t.Errorf("a candidate's URL: %s", got)
		}
		const ttl = 150 * time.Millisecond
		before := time.Now()
		ok(t, c.Set(ctx, "key", "value", ttl).Err())
		set := time.Now()
		if got := must[string](t)(c.Get(ctx, "key").Result()); got != "value" {
			t.Errorf("got %q", got)
		}
		for {
			err := c.Get(ctx, "key").Err()
			if errors.Is(err, redis.Nil) {
				break
			}
			ok(t, err)
			if late := time.Since(set) - ttl; late > time.Second {
				t.Fatalf("not expired %v after its time", late)
			}
		}
		if lived := time.Since(before); lived < ttl-time.Millisecond {
			t.Errorf("expired after %v, before its %v were over", lived, ttl)
		}
	})
}

// A paused Redis answers neither old nor new connections, but its times to
// live run on; what it was sent meanwhile is done afterwards.
func TestPause(t *testing.T) {
	providers(t, func(t *testing.T, spec string) {
		s := open(t, spec)
		ctx, c := t.Context(), connect(t, s)
		ok(t, c.Set(ctx, "short", "value", 200*time.Millisecond).Err())
		ok(t, c.Set(ctx, "long", "value", time.Minute).Err())
		timed(t, "pause", func() error { return s.Pause(ctx) })
		// Both wait longer than the short key lives.
		for name, c := range map[string]*redis.Client{"old": c, "new": connect(t, s)} {
			waiting, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
			var late net.Error
			if err := c.Incr(waiting, "counter").Err(); !errors.As(err, &late) || !late.Timeout() {
				t.Errorf("%s connection to a paused Redis: %v, want no answer", name, err)
			}
			cancel()
		}
		timed(t, "resume", func() error { return s.Resume(ctx) })
		if err := c.Get(ctx, "short").Err(); !errors.Is(err, redis.Nil) {
			t.Errorf("a key whose time ended during the pause: %v, want none", err)
		}
		if left := must[time.Duration](t)(c.PTTL(ctx, "long").Result()); left <= 0 || left > time.Minute-600*time.Millisecond {
			t.Errorf("a key of one minute has %v left after 600 ms of pause", left)
		}
		// The old connection's command certainly arrived.
		for begun := time.Now(); ; {
			n, err := c.Get(ctx, "counter").Int()
			if err == nil && n >= 1 {
				break
			}
			if time.Since(begun) > 5*time.Second {
				t.Fatalf("what was sent in the pause was never done: %d, %v", n, err)
			}
		}
	})
}

// A crash refuses and breaks connections. A restart brings everything back at
// the same address, times to live included, or nothing; never the scripts.
func TestCrashAndRestart(t *testing.T) {
	providers(t, func(t *testing.T, spec string) {
		s := open(t, spec)
		ctx, c, addr := t.Context(), connect(t, s), s.Addr()
		ok(t, c.Set(ctx, "key", "value", time.Minute).Err())
		must[int64](t)(c.IncrBy(ctx, "counter", 41).Result())
		sha := must[string](t)(c.ScriptLoad(ctx, "return 1").Result())

		timed(t, "crash", func() error { return s.Crash(ctx) })
		if err := c.Ping(ctx).Err(); err == nil {
			t.Error("a crashed Redis answers an old connection")
		}
		if _, err := answer(ctx, addr, nil); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("new connection to a crashed Redis: %v, want refused", err)
		}
		timed(t, "restart with data", func() error { return s.Restart(ctx, true) })
		c = connect(t, s)
		if s.Addr() != addr {
			t.Errorf("its address was %s and is %s", addr, s.Addr())
		}
		if n := must[int64](t)(c.Incr(ctx, "counter").Result()); n != 42 {
			t.Errorf("the counter is %d, want 42", n)
		}
		if left := must[time.Duration](t)(c.PTTL(ctx, "key").Result()); left <= 30*time.Second || left > time.Minute {
			t.Errorf("a key of one minute has %v left", left)
		}
		if err := c.EvalSha(ctx, sha, nil).Err(); err == nil || !strings.HasPrefix(err.Error(), "NOSCRIPT") {
			t.Errorf("a script of before the crash: %v, want NOSCRIPT", err)
		}

		sha = must[string](t)(c.ScriptLoad(ctx, "return 1").Result())
		ok(t, s.Pause(ctx))
		timed(t, "crash of a paused one", func() error { return s.Crash(ctx) })
		timed(t, "restart without data", func() error { return s.Restart(ctx, false) })
		c = connect(t, s)
		if keys := must[[]string](t)(c.Keys(ctx, "*").Result()); s.Addr() != addr || len(keys) != 0 {
			t.Errorf("at %s after a restart without data at %s: %v", s.Addr(), addr, keys)
		}
		if err := c.EvalSha(ctx, sha, nil).Err(); err == nil || !strings.HasPrefix(err.Error(), "NOSCRIPT") {
			t.Errorf("a script of before the crash: %v, want NOSCRIPT", err)
		}
		ok(t, c.Set(ctx, "key", "value", 0).Err())
	})
}

// Crash and restart while a client pulls at the server all the time: no answer
// ever comes from a server without the data.
func TestRestartUnderLoad(t *testing.T) {
	providers(t, func(t *testing.T, spec string) {
		s := open(t, spec)
		ctx := t.Context()
		ok(t, connect(t, s).Set(ctx, "key", "value", 0).Err())
		stop, wrong := make(chan struct{}), make(chan string, 1)
		go func() {
			defer close(wrong)
			c := redis.NewClient(s.Options())
			defer func() { _ = c.Close() }() // nothing is under way
			for {
				if got, err := c.Get(ctx, "key").Result(); errors.Is(err, redis.Nil) || err == nil && got != "value" {
					wrong <- fmt.Sprintf("%q, %v", got, err)
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
		for range 3 {
			ok(t, s.Crash(ctx))
			ok(t, s.Restart(ctx, true))
		}
		close(stop)
		for text := range wrong {
			t.Error("a client got ", text)
		}
	})
}

// What makes no sense is refused, and Close ends a Redis in any state.
func TestOrderOfActs(t *testing.T) {
	providers(t, func(t *testing.T, spec string) {
		s := open(t, spec)
		ctx := t.Context()
		refused := func(what string, err error) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), "cannot become") {
				t.Errorf("%s: %v", what, err)
			}
		}
		refused("resume of a running one", s.Resume(ctx))
		refused("restart of a running one", s.Restart(ctx, true))
		ok(t, s.Pause(ctx))
		refused("second pause", s.Pause(ctx))
		refused("restart of a paused one", s.Restart(ctx, true))
		timed(t, "close", s.Close)
		if _, err := answer(ctx, s.Addr(), nil); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("connection to a closed Redis: %v, want refused", err)
		}
		refused("pause of a closed one", s.Pause(ctx))
		refused("crash of a closed one", s.Crash(ctx))
		refused("restart of a closed one", s.Restart(ctx, true))
		ok(t, s.Close())
	})
}

// traces are what a Redis leaves on the machine while it lives.
type traces struct {
	Addr, Directory, Container string
	Process                    int
}

func tracesOf(s Server) traces {
	found := traces{Addr: s.Addr()}
	switch s := s.(type) {
	case *process:
		found.Directory, found.Process = s.dir, s.child.PID()
	case *container:
		found.Container = s.now.Name
	}
	return found
}

// await waits until all traces are gone.
func (want traces) await(t *testing.T, deadline time.Time) {
	t.Helper()
	for {
		var left []string
		// A little longer: what is still paused accepts, and never answers.
		ctx, cancel := context.WithDeadline(t.Context(), deadline.Add(100*time.Millisecond))
		_, err := answer(ctx, want.Addr, nil)
		cancel()
		if !errors.Is(err, syscall.ECONNREFUSED) {
			left = append(left, "something listens at "+want.Addr)
		}
		if _, err := os.Lstat(want.Directory); want.Directory != "" && !errors.Is(err, os.ErrNotExist) {
			left = append(left, "directory "+want.Directory)
		}
		if want.Process != 0 && syscall.Kill(want.Process, 0) == nil && !zombie(want.Process) {
			left = append(left, fmt.Sprintf("process %d", want.Process))
		}
		if want.Container != "" {
			if _, err := needDocker(t).ContainerInspect(t.Context(), want.Container, client.ContainerInspectOptions{}); err == nil {
				left = append(left, "container "+want.Container)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("still there: ", left)
		}
	}
}

func zombie(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "stat"))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// Close leaves nothing behind, whether the Redis runs, is paused or crashed.
func TestCloseLeavesNothing(t *testing.T) {
	providers(t, func(t *testing.T, spec string) {
		for _, prepare := range []func(Server) error{
			func(Server) error { return nil },
			func(s Server) error { return s.Pause(t.Context()) },
			func(s Server) error { return s.Crash(t.Context()) },
		} {
			s := open(t, spec)
			found := tracesOf(s)
			ok(t, prepare(s))
			ok(t, s.Close())
			found.await(t, time.Now())
		}
	})
}

// harness opens a Redis, tells where, and waits for its end.
func harness(spec string) {
	s, err := Open(context.Background(), spec, Options{})
	if err == nil {
		err = s.Pause(context.Background())
	}
	if err != nil {
		panic(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(tracesOf(s)); err != nil {
		panic(err)
	}
	_, _ = os.Stdin.Read(make([]byte, 1)) // a test that ends early ends this too
	os.Exit(1)
}

// A harness that is killed leaves no Redis behind, not even a paused one.
func TestNothingOutlivesTheHarness(t *testing.T) {
	providers(t, func(t *testing.T, spec string) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), role+"=harness", "RECOUNT_REDISSERVER_SPEC="+spec)
		cmd.Stderr = os.Stderr
		must[io.WriteCloser](t)(cmd.StdinPipe()) // open until the end
		stdout, err := cmd.StdoutPipe()
		ok(t, err)
		ok(t, cmd.Start())
		var found traces
		ok(t, json.NewDecoder(stdout).Decode(&found))
		ok(t, cmd.Process.Kill())
		killed := time.Now()
		_ = cmd.Wait() // killed
		found.await(t, killed.Add(2*time.Second))
		t.Logf("all was gone after %v", time.Since(killed))
	})
}

// auto takes redis-server if it is on PATH, else the embedded Redis, and says
// why. process without redis-server says what to do.
func TestAuto(t *testing.T) {
	t.Run("with redis-server", func(t *testing.T) {
		needProcess(t)
		s := open(t, "auto")
		if !strings.HasPrefix(s.Describe(), "process ") || s.Why() != "redis-server found on PATH" {
			t.Errorf("%q, %q", s.Describe(), s.Why())
		}
	})
	t.Run("without", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		s := open(t, "")
		if !strings.HasPrefix(s.Describe(), "embedded ") || s.Why() != "redis-server is not on PATH" {
			t.Errorf("%q, %q", s.Describe(), s.Why())
		}
		_, err := Open(t.Context(), "process", Options{})
		wantError(t, err, Missing, "redis-server is not on PATH; install it")
	})
}

// A proxy that a candidate's URL leads to is the only thing that differs from
// the URL that was given.
func TestCandidateURL(t *testing.T) {
	for spec, want := range map[string]string{
		"redis://localhost":                           "redis://127.0.0.1:7/0",
		"redis://:p%40ss@redis.example:6380/3":        "redis://:p%40ss@127.0.0.1:7/3",
		"rediss://me:secret@redis.example?db=2":       "rediss://me:secret@127.0.0.1:7/2",
		"rediss://redis.example:1/1?skip_verify=true": "rediss://127.0.0.1:7/1?skip_verify=true",
		"redis://user:with%2Fslash@[::1]:6379/0":      "redis://user:with%2Fslash@127.0.0.1:7/0",
	} {
		u, options, err := parse(spec)
		ok(t, err)
		g := &given{url: u, options: options}
		got := g.CandidateURL("127.0.0.1:7")
		if got != want {
			t.Errorf("%s through a proxy is %s, want %s", spec, got, want)
		}
		back := must[*redis.Options](t)(redis.ParseURL(got))
		if back.Password != options.Password || back.Username != options.Username || back.DB != options.DB {
			t.Errorf("%s does not lead to the same as %s", got, spec)
		}
		if name := must[*url.URL](t)(url.Parse(spec)).Hostname(); strings.HasPrefix(spec, "rediss") && g.TLSServerName() != name {
			t.Errorf("name in the certificate of %s: %q", spec, g.TLSServerName())
		}
	}
}

package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/settings"
	"github.com/recount-io/recount/internal/topology"
)

// The job is ended before the belief is, which ends before the lease; a renewal
// that fails once does not cost the term; and a grace period that does not fit
// is refused with all values.
func TestTiming(t *testing.T) {
	for _, lease := range []time.Duration{100 * time.Millisecond, time.Second, 15 * time.Second, time.Hour} {
		got, err := timingOf(settings.Settings{Lease: lease}, 0, false)
		if err != nil {
			t.Fatalf("%v: %v", lease, err)
		}
		usable := lease - lease/100 - time.Millisecond
		renew := lease / 3
		if got.grace <= 0 || got.margin <= 0 || renew+renew/2+renew/5+got.grace+got.margin > usable || got.drain != 2*lease {
			t.Errorf("%v: %+v", lease, got)
		}
	}
	if got, err := timingOf(settings.Settings{}, time.Second, true); err != nil || got.lease != 15*time.Second || got.grace != time.Second {
		t.Errorf("the defaults: %+v, %v", got, err)
	}
	// Tight settings leave no time: then the job is killed without being asked
	// long before, and that is said by the grace of 0 in the log.
	tight := settings.Settings{Lease: time.Second, Renew: 570 * time.Millisecond, RequestTimeout: 200 * time.Millisecond, Retry: 150 * time.Millisecond}
	if got, err := timingOf(tight, 0, false); err != nil || got.grace < 0 || got.grace > 50*time.Millisecond {
		t.Errorf("tight: %+v, %v", got, err)
	}
	_, err := timingOf(settings.Settings{Lease: 10 * time.Second, Renew: 4 * time.Second}, 4*time.Second, true)
	if err == nil {
		t.Fatal("a grace that does not fit was taken")
	}
	for _, want := range []string{"--grace is 4s", "lease of 10s", "renew (4s)", "request-timeout (2s)", "retry (800ms)", "9.899s", "2.599s at most"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}

// bubbleClock is the clock of a bubble of virtual time.
type bubbleClock struct{ began time.Time }

func (c bubbleClock) Now() time.Duration { return time.Since(c.began) }

func (c bubbleClock) AfterFunc(d time.Duration, f func()) elector.Timer {
	return time.AfterFunc(d, f)
}

// letters are what a guard is told in a bubble.
type letters struct {
	clock bubbleClock
	lines chan string   // closed after the last one
	until time.Duration // the guard is held up until then, from half a second on

	taken  []string
	closed bool
}

func (p *letters) wait(d time.Duration) {
	select {
	case line, more := <-p.lines:
		p.closed = !more
		if more {
			p.taken = append(p.taken, line)
		}
	case <-time.After(d):
	}
	if p.clock.Now() >= time.Second/2 { // it knows the first order
		time.Sleep(p.until - p.clock.Now())
	}
}

func (p *letters) read() ([]string, bool) {
	list := p.taken
	p.taken = nil
	for !p.closed {
		select {
		case line, more := <-p.lines:
			p.closed = !more
			if more {
				list = append(list, line)
			}
			continue
		default:
		}
		break
	}
	return list, !p.closed
}

// A guard kills the job at the time that it was told last, not at an earlier
// one, not a job that is done; and at once when nobody gives orders any more.
// One that was held up knows what was said meanwhile before it judges.
func TestGuardObeys(t *testing.T) {
	for name, c := range map[string]struct {
		orders []string      // one a second
		close  bool          // after the orders
		until  time.Duration // the guard is held up until then
		want   time.Duration // of the death; 0 for none
	}{
		"at its time":              {orders: []string{"7 0 5000000000"}, want: 5 * time.Second},
		"put off":                  {orders: []string{"7 0 5000000000", "7 0 9000000000"}, want: 9 * time.Second},
		"done":                     {orders: []string{"7 0 5000000000", "0 0 0"}},
		"done, then elect":         {orders: []string{"7 0 5000000000", "0 0 0"}, close: true},
		"elect is killed":          {orders: []string{"7 0 5000000000"}, close: true, want: time.Second},
		"garbage is no order":      {orders: []string{"7 0 5000000000", "hello"}, want: 5 * time.Second},
		"held up, put off":         {orders: []string{"7 0 5000000000", "7 0 9000000000"}, until: 7 * time.Second, want: 9 * time.Second},
		"held up, done":            {orders: []string{"7 0 5000000000", "0 0 0"}, until: 7 * time.Second},
		"held up for too long":     {orders: []string{"7 0 5000000000", "7 0 6000000000"}, until: 8 * time.Second, want: 8 * time.Second},
		"held up, elect is killed": {orders: []string{"7 0 50000000000"}, close: true, until: 3 * time.Second, want: 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := bubbleClock{time.Now()}
				p := &letters{clock: clock, lines: make(chan string, len(c.orders)), until: c.until}
				var died atomic.Int64
				over := make(chan struct{})
				go func() {
					defer close(over)
					watchOver(p, clock, func(order) {}, func(o order) {
						if o.group != 7 {
							t.Errorf("it killed %d", o.group)
						}
						died.Store(int64(clock.Now()))
					})
				}()
				for _, line := range c.orders {
					p.lines <- line
					time.Sleep(time.Second)
				}
				if !c.close {
					time.Sleep(20 * time.Second)
				}
				close(p.lines) // the end of orders
				<-over
				if got := time.Duration(died.Load()); got != c.want {
					t.Errorf("it died at %v, want %v", got, c.want)
				}
			})
		})
	}
}

// The orders that wait in a pipe are there without waiting, whole lines only,
// and their end is told after the last one.
func TestMailbox(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	m := &mailbox{fd: int(r.Fd())}
	step := func(write string, want []string, more bool) {
		t.Helper()
		if _, err := w.WriteString(write); err != nil {
			t.Fatal(err)
		}
		if lines, open := m.read(); !slices.Equal(lines, want) || open != more {
			t.Errorf("after %q: %q, %v; want %q, %v", write, lines, open, want, more)
		}
	}
	step("", nil, true)
	step("7 1\n7 2\n7", []string{"7 1", "7 2"}, true)
	step(" 3\n", []string{"7 3"}, true)
	long := strings.Repeat("0 0\n", 3000)
	step(long, strings.Split(strings.TrimSuffix(long, "\n"), "\n"), true)
	go func() {
		_, _ = w.WriteString("0 9\n")
		_ = w.Close()
	}()
	var last []string
	for more := true; more; {
		m.wait(time.Minute)
		var lines []string
		lines, more = m.read()
		last = append(last, lines...)
	}
	if !slices.Equal(last, []string{"0 9"}) {
		t.Errorf("at the end: %q", last)
	}
}

// A guard that is stopped holds up nobody for longer than a margin, however
// many orders wait for it; when it goes on it knows the last one that there was
// room for.
func TestGuardStopped(t *testing.T) {
	g, err := startGuard(slog.New(slog.DiscardHandler), "")
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	if err := g.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.cmd.Process.Signal(syscall.SIGCONT) }() // before it is waited for
	const far = 1 << 60
	refused := 0
	for i := range 10_000 { // a pipe has room for a few thousand
		g.over(order{end: far + time.Duration(i)})
		if g.last.end != far+time.Duration(i) {
			refused++
		}
		if refused == 20 {
			return
		}
	}
	t.Errorf("%d orders were refused: the pipe has room for all", refused)
}

// A job that has begun while elect had no time to tell its group ends in time: the guard
// knew that one was about to begin.
func TestGuardKillsTheUnborn(t *testing.T) {
	g, err := startGuard(slog.New(slog.DiscardHandler), "")
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	end := now() + 300*time.Millisecond
	g.over(order{unborn, now(), end})
	j, err := command{path: "/bin/sh", args: []string{"sh", "-c", "sleep 60 & sleep 60"}}.start()
	if err != nil {
		t.Fatal(err)
	}
	<-j.gone
	if want := statusSignal + int(syscall.SIGKILL); j.state.status != want || now() < end {
		t.Errorf("status %d, %v before its end, want %d", j.state.status, end-now(), want)
	}
}

// A guard that somebody has killed is replaced, and the new one knows its job.
func TestGuardReplaced(t *testing.T) {
	g, err := startGuard(slog.New(slog.DiscardHandler), "")
	if err != nil {
		t.Fatal(err)
	}
	j, err := command{path: "/bin/sh", args: []string{"sh", "-c", "while :; do sleep 1; done"}}.start()
	if err != nil {
		t.Fatal(err)
	}
	o := order{j.group, j.began, now() + time.Hour}
	g.over(o)
	if err := g.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-g.gone
	g.over(o) // the same as before
	g.close() // as if elect had died
	<-j.gone
	if want := statusSignal + int(syscall.SIGKILL); j.state.status != want {
		t.Errorf("status %d, want %d", j.state.status, want)
	}
}

// What a job leaves behind in its process group ends with it, and the job is
// over only then.
func TestLeftovers(t *testing.T) {
	dir, r := t.TempDir(), topology.Single(t)
	script := `(trap 'sleep 0.2; touch ` + dir + `/asked; exit' TERM; touch ` + dir + `/ready; while :; do sleep 0.01; done) >/dev/null 2>&1 &
		until [ -e ` + dir + `/ready ]; do sleep 0.01; done; exit 4`
	got := call(t, t.Context(), nil, short(r.Addr, "--", "sh", "-c", script)...)
	if got.status != 4 {
		t.Errorf("status %d: %s", got.status, got.errors)
	}
	if found, _ := filepath.Glob(dir + "/asked"); len(found) != 1 {
		t.Error("elect ended before what its job had left behind")
	}
}

// The service manager is told when the candidate competes, leads and stops.
func TestNotify(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	r := topology.Single(t)
	got := call(t, t.Context(), []string{notifySocket + "=" + path}, short(r.Addr, "--", "true")...)
	if got.status != statusDone {
		t.Fatalf("%+v", got)
	}
	var said []string
	buffer := make([]byte, 1000)
	all := func() string { return strings.Join(said, " ") }
	for !strings.Contains(all(), "STOPPING=1") || !strings.Contains(all(), "STATUS=leads billing") { // in any order: events wait

		if err := l.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		n, err := l.Read(buffer)
		if err != nil {
			t.Fatalf("%v after %q", err, said)
		}
		said = append(said, string(buffer[:n]))
	}
	if said[0] != "READY=1\nSTATUS=competing" {
		t.Errorf("%q", said)
	}
}

// A sidecar answers 200 while it leads, 503 as soon as it is asked to stop, and
// keeps the lease for a grace period after that; probes and metrics are there.
func TestServe(t *testing.T) {
	r := topology.Single(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out output
	ended := make(chan int)
	go func() {
		m := Main{Stdout: &out, Stderr: &out}
		ended <- m.Run(ctx, []string{"serve", "--json", "--store", "redis://" + r.Addr, "--name", "billing", "--lease", "2s", "--grace", "300ms", "--http", "127.0.0.1:0"})
	}()
	var base string
	eventually(t, "it serves", func() bool {
		_, rest, ok := strings.Cut(out.String(), `"address":"`)
		base, _, _ = strings.Cut(rest, `"`)
		return ok
	})
	code, body := get(t, base, "/leader")
	if code != http.StatusServiceUnavailable {
		t.Errorf("before anybody leads: %d %s", code, body)
	}
	var answer leadership
	eventually(t, "it leads", func() bool {
		code, body = get(t, base, "/leader")
		return code == http.StatusOK
	})
	if err := json.Unmarshal([]byte(body), &answer); err != nil || !answer.IsLeader || answer.Token == 0 || answer.RemainingMS < 300 || answer.Leader != answer.ID {
		t.Errorf("%v in %s", err, body)
	}
	if !strings.Contains(body, `"token":"`) {
		t.Errorf("the token is no text: %s", body)
	}
	for path, want := range map[string]string{"/healthz": "ok", "/readyz": "ok", "/status": answer.ID, "/metrics": `recount_elector_is_leader{election="billing"} 1`} {
		if code, body := get(t, base, path); code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d, no %q in %s", path, code, want, body)
		}
	}
	cancel()
	eventually(t, "it says no", func() bool {
		code, _ = get(t, base, "/leader")
		return code == http.StatusServiceUnavailable
	})
	if s := call(t, t.Context(), nil, "status", "--store", "redis://"+r.Addr, "--name", "billing"); s.status != statusDone {
		t.Errorf("the lease is not kept for those who have asked a moment ago: %+v", s)
	}
	if status := <-ended; status != statusDone {
		t.Errorf("status %d: %s", status, out.String())
	}
	if s := call(t, t.Context(), nil, "status", "--store", "redis://"+r.Addr, "--name", "billing"); s.status != statusNo {
		t.Errorf("the lease was not given back: %+v", s)
	}
}

func get(t *testing.T, base, path string) (int, string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	reply, err := client.Get("http://" + base + path)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply.StatusCode, string(body)
}

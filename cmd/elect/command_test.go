package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/recount-io/recount/elector/redisstore"
	"github.com/recount-io/recount/elector/store"
	"github.com/recount-io/recount/internal/topology"
)

// Every kind of wrong use gets one line that says what is wrong and how to mend
// it, and the status for that; and none shows a password.
func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "elect.yaml")
	if err := os.WriteFile(file, []byte("name: x\nleese: 3s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	base := []string{"run", "--store", "redis://:" + secret + "@127.0.0.1:1", "--name", "x"}
	run := func(more ...string) []string { return append(append([]string(nil), base...), more...) }
	for name, c := range map[string]struct {
		args    []string
		environ []string
		want    string // a part of the line
	}{
		"unknown command":   {args: []string{"rnu"}, want: "give one of"},
		"unknown flag":      {args: run("--leas", "1s"), want: "--help"},
		"no command":        {args: run(), want: "behind two dashes"},
		"word before":       {args: run("x", "--", "true"), want: "cannot be run"},
		"no such command":   {args: run("--", "/no/such/job"), want: `"/no/such/job" cannot be run`},
		"no executable":     {args: run("--", file), want: "cannot be run"},
		"no name":           {args: []string{"run", "--store", "redis://a", "--", "true"}, want: "--name"},
		"no store":          {args: []string{"run", "--name", "x", "--", "true"}, want: "--store"},
		"bad store":         {args: []string{"run", "--name", "x", "--store", "redis://:" + secret + "@a:b", "--", "true"}, want: "store (from --store)"},
		"bad lease":         {args: run("--lease", "3", "--", "true"), want: "lease (from --lease)"},
		"lease in env":      {args: run("--", "true"), environ: []string{"ELECT_LEASE=3"}, want: "lease (from ELECT_LEASE)"},
		"relation":          {args: run("--lease", "3s", "--", "true"), environ: []string{"ELECT_RENEW=4s"}, want: "renew (from ELECT_RENEW): is 4s and Lease is 3s"},
		"bad file":          {args: run("--config", file, "--", "true"), want: "leese (from elect.yaml line 2)"},
		"no file":           {args: run("--config", file+"x", "--", "true"), want: "--config"},
		"long grace":        {args: run("--lease", "10s", "--grace", "9s", "--", "true"), want: "--grace is 9s"},
		"grace, no unit":    {args: run("--grace", "10", "--", "true"), want: `--grace is "10"; it must be a time with its unit, such as`},
		"terms in letters":  {args: []string{"history", "--terms", "x"}, want: `--terms is "x"; it must be a whole number`},
		"unknown truth":     {args: run("--standby=maybe", "--", "true"), want: `--standby is "maybe"; it must be true or false`},
		"negative grace":    {args: run("--grace", "-1s", "--", "true"), want: "negative"},
		"short drain":       {args: run("--grace", "2s", "--drain-timeout", "1s", "--", "true"), want: "--drain-timeout is 1s"},
		"unknown restart":   {args: run("--restart", "sometimes", "--", "true"), want: "on-failure"},
		"once and restart":  {args: run("--once", "--restart", "always", "--", "true"), want: "leave one"},
		"no once":           {args: run("--at-least", "1m", "--", "true"), want: "--once"},
		"at most, no once":  {args: run("--at-most", "1m", "--", "true"), want: "--once"},
		"confirm too long":  {args: run("--replicas", "1", "--confirm", "500ms", "--lease", "3s", "--", "true"), want: "request-timeout: is 500ms and Options.Confirm of redisstore is 500ms"},
		"short read":        {args: []string{"run", "--store", "redis://a?read_timeout=100ms", "--name", "x", "--replicas", "1", "--", "true"}, want: "confirm: redisstore: Confirm is 100ms and the client's ReadTimeout is 100ms"},
		"negative at least": {args: run("--once", "--at-least", "-1m", "--", "true"), want: "negative"},
		"at least too long": {args: run("--once", "--at-least", "2m", "--at-most", "1m", "--", "true"), want: "--at-least is 2m0s and --at-most is 1m0s"},
		"at most too short": {args: run("--once", "--at-most", "1s", "--", "true"), want: "--at-most is 1s"},
		"wait, no once":     {args: run("--wait", "1m", "--", "true"), want: "--once"},
		"negative wait":     {args: run("--once", "--wait", "-1m", "--", "true"), want: "--wait is -1m0s"},
		"unknown signal":    {args: run("--stop-signal", "NONE", "--", "true"), want: `--stop-signal is "NONE"`},
		"no ending signal":  {args: run("--stop-signal", "stop", "--", "true"), want: "ends none"},
		"no time for hooks": {args: run("--hook-timeout", "0s", "--", "true"), want: "--hook-timeout is 0s"},
		"log level":         {args: run("--log", "loud", "--", "true"), want: "--log"},
		"bad address":       {args: run("--http", "nowhere", "--", "true"), want: "--http nowhere"},
		"open address":      {args: run("--http", ":0", "--", "true"), want: "--http :0 can be reached from other machines"},
		"serve, open":       {args: []string{"serve", "--store", "redis://a", "--name", "x", "--http", "0.0.0.0:0"}, want: "--public"},
		"public alone":      {args: run("--public", "--", "true"), want: "--http"},
		"serve alone":       {args: []string{"serve", "--store", "redis://a", "--name", "x"}, want: "--http"},
		"transfer alone":    {args: run("--allow-transfer", "--", "true"), want: "--http"},
		"migrate Redis":     {args: []string{"migrate", "--store", "redis://a"}, want: "only PostgreSQL"},
		"two stores":        {args: run("--store", "redis://b", "--", "true"), want: "odd number"},
		"preset":            {args: run("--preset", "slow", "--", "true"), want: "fast, balanced or quiet"},
		"serve arguments":   {args: []string{"serve", "x"}, want: "no arguments"},
		"status arguments":  {args: []string{"status", "x"}, want: "no arguments"},
		"status no name":    {args: []string{"status", "--store", "redis://a"}, want: "--name"},
		"status time-out":   {args: []string{"status", "--store", "redis://a", "--name", "x", "--timeout", "0s"}, want: "--timeout"},
		"history terms":     {args: []string{"history", "--store", "redis://a", "--name", "x", "-n", "0"}, want: "--terms"},
		"watch no store":    {args: []string{"watch", "--name", "x"}, want: "--store"},
		"preflight":         {args: []string{"preflight"}, want: "--store"},
	} {
		t.Run(name, func(t *testing.T) {
			r := call(t, t.Context(), c.environ, c.args...)
			if r.status != statusUsage {
				t.Errorf("status %d, want %d", r.status, statusUsage)
			}
			if line := strings.TrimSuffix(strings.TrimPrefix(r.errors, openPassword+"\n"), "\n"); !strings.Contains(line, c.want) || strings.Contains(line, "\n") {
				t.Errorf("it says\n%s\nwant one line with %q", r.errors, c.want)
			}
		})
	}
}

// The version is the one that Go has put into the program, if it has.
func TestVersion(t *testing.T) {
	if got := call(t, t.Context(), nil, "--version"); got.status != statusDone || !strings.HasPrefix(got.out, "elect version ") {
		t.Errorf("%+v", got)
	}
	for want, info := range map[string]*debug.BuildInfo{"v1.2.3": {Main: debug.Module{Version: "v1.2.3"}}, "unknown": {}} {
		if got := version(func() (*debug.BuildInfo, bool) { return info, true }); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A store that is away is not the caller's mistake; one that refuses the
// password is. Neither shows it.
func TestStoreRefuses(t *testing.T) {
	locked := topology.Single(t, "--requirepass", secret+"-right")
	for name, c := range map[string]struct {
		store  string
		status int
		want   string
	}{
		"away":           {"redis://:" + secret + "@127.0.0.1:1", statusFailed, "gave no answer"},
		"wrong password": {"redis://:" + secret + "@" + locked.Addr, statusUsage, "password"},
	} {
		for _, command := range []string{"status", "history"} {
			r := call(t, t.Context(), nil, command, "--name", "x", "--timeout", "2s", "--store", c.store)
			if r.status != c.status || !strings.Contains(r.errors, c.want) {
				t.Errorf("%s, %s: status %d, %s", name, command, r.status, r.errors)
			}
		}
	}
	r := call(t, t.Context(), nil, "run", "--name", "x", "--store", "redis://:"+secret+"@"+locked.Addr, "--", "true")
	if r.status != statusUsage || !strings.Contains(r.errors, "password") {
		t.Errorf("run: status %d, %s", r.status, r.errors)
	}
}

// short are the settings of a candidate that is elected within half a second.
func short(address string, more ...string) []string {
	return append([]string{"run", "--store", "redis://" + address, "--name", "billing", "--lease", "500ms", "--log", "warn"}, more...)
}

// The command's status is that of elect, and it finds what it needs in its
// environment; its output passes through.
func TestStatusOfTheJob(t *testing.T) {
	r := topology.Single(t)
	for _, c := range []struct {
		script string
		status int
		out    string
	}{
		{"exit 0", 0, ""},
		{"exit 7", 7, ""},
		{"kill -9 $$", 137, ""},
		{`echo "$ELECT_NAME ${ELECT_CANDIDATE%/*} ${NOTIFY_SOCKET-none}"; test "$ELECT_TOKEN" -gt 0`, 0, "billing me none\n"},
		{"echo out; echo err >&2", 0, "out\n"},
	} {
		got := call(t, t.Context(), []string{"ELECT_ID=me", "NOTIFY_SOCKET=/none"}, short(r.Addr, "--", "sh", "-c", c.script)...)
		if got.status != c.status || got.out != c.out {
			t.Errorf("%s: status %d, printed %q and %q", c.script, got.status, got.out, got.errors)
		}
	}
}

// What the store is, and its password, reaches neither the job nor, from a file
// or a variable, the list of processes; one that stands in the call is warned of.
func TestPasswordIsKept(t *testing.T) {
	r := topology.Single(t, "--requirepass", secret)
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for store, warned := range map[string]bool{
		"redis://:${file:" + file + "}@" + r.Addr: false,
		"redis://:${WORD}@" + r.Addr:              false,
		"redis://:" + secret + "@" + r.Addr:       true,
	} {
		args := []string{"run", "--name", "billing", "--lease", "500ms", "--log", "warn", "--store", store, "--", "sh", "-c", "env"}
		environ := []string{"WORD=" + secret, "OTHER=kept", "ELECT_STORE=redis://:" + secret + "@nowhere"}
		if store != "redis://:${WORD}@"+r.Addr {
			environ = environ[1:] // it is nobody's then, and the job's to have
		}
		got := call(t, t.Context(), environ, args...)
		if got.status != statusDone || !strings.Contains(got.out, "OTHER=kept\n") || strings.Contains(got.out, "ELECT_STORE") || strings.Contains(got.out, "WORD=") {
			t.Errorf("%s: %+v", store, got)
		}
		if strings.Contains(got.errors, openPassword+"\n") != warned {
			t.Errorf("%s: it says %q", store, got.errors)
		}
	}
}

// A password in the environment stands in no list of processes.
func TestPasswordInEnvironment(t *testing.T) {
	got := call(t, t.Context(), []string{"ELECT_STORE=redis://:" + secret + "@127.0.0.1:1"}, "status", "--name", "x", "--timeout", "1s")
	if strings.Contains(got.errors, openPassword) {
		t.Errorf("%+v", got)
	}
}

// Three independent servers are a quorum: with one of them down the job still
// runs.
func TestQuorum(t *testing.T) {
	args := []string{"run", "--name", "billing", "--lease", "2s", "--log", "warn"}
	for i := range 3 {
		r := topology.Single(t)
		args = append(args, "--store", "redis://"+r.Addr)
		if i == 0 {
			if err := r.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := call(t, t.Context(), nil, append(args, "--", "sh", "-c", "echo ran; exit 3")...); got.status != 3 || got.out != "ran\n" {
		t.Errorf("%+v", got)
	}
}

// With --restart on-failure a job that fails is started again in the same
// term, after a pause; one that succeeds ends the candidacy.
func TestRestart(t *testing.T) {
	r, dir := topology.Single(t), t.TempDir()
	script := `echo $ELECT_TOKEN; test -e ` + dir + `/again || { touch ` + dir + `/again; exit 3; }`
	got := call(t, t.Context(), nil, short(r.Addr, "--restart", "on-failure", "--", "sh", "-c", script)...)
	tokens := strings.Fields(got.out)
	if got.status != 0 || len(tokens) != 2 || tokens[0] != tokens[1] {
		t.Errorf("status %d, tokens %q\n%s", got.status, tokens, got.errors)
	}
}

// The pauses double from a second to a minute, and begin anew after a job that
// ran for a while.
func TestBackOff(t *testing.T) {
	var b backOff
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		if got := b.next(time.Second); got != want*time.Second {
			t.Errorf("pause %d is %v, want %v", i, got, want*time.Second)
		}
	}
	if got := b.next(time.Minute); got != time.Second {
		t.Errorf("after a job that ran: %v", got)
	}
}

// With --once, of several machines one runs the command and ends with its
// status at once; the others end without having run it, also one that comes
// later than the end of the first, as long as the least time is not over; one on
// standby runs it afterwards.
func TestOnce(t *testing.T) {
	r := topology.Single(t)
	const least = 5 * time.Second
	args := func(more ...string) []string {
		return short(r.Addr, append(append([]string{"--once", "--at-least", least.String()}, more...), "--", "sh", "-c", "echo ran; exit 5")...)
	}
	if got := call(t, t.Context(), nil, "create", "--vouch", "--store", "redis://"+r.Addr, "--name", "billing"); got.status != statusDone {
		t.Fatalf("%+v", got)
	}
	began := now()
	if one := call(t, t.Context(), nil, args()...); one.status != 5 || one.out != "ran\n" {
		t.Errorf("the one: %+v", one)
	}
	if late := call(t, t.Context(), nil, args()...); late.status != statusDone || late.out != "" {
		t.Errorf("the late one: %+v", late)
	}
	if standby := call(t, t.Context(), nil, args("--standby")...); standby.status != 5 || standby.out != "ran\n" {
		t.Errorf("the one on standby: %+v", standby)
	}
	if now()-began < least {
		t.Errorf("the one on standby ran before the least time was over: %v after the first had begun", now()-began)
	}
}

// A command that is not done when its longest time is over is asked to end
// before, killed by then, and the lease is free.
func TestAtMost(t *testing.T) {
	r := topology.Single(t)
	const most = 1200 * time.Millisecond
	got := call(t, t.Context(), nil, short(r.Addr, "--once", "--at-most", most.String(), "--log", "info", "--",
		"sh", "-c", "trap 'echo asked' TERM; while :; do sleep 0.01; done")...)
	if got.status != statusSignal+int(syscall.SIGKILL) || got.out != "asked\n" || !strings.Contains(got.errors, "its longest time is about to end") {
		t.Errorf("%+v", got)
	}
	if s := call(t, t.Context(), nil, "status", "--store", "redis://"+r.Addr, "--name", "billing"); s.status != statusNo {
		t.Errorf("%+v", s)
	}
}

// Status, watch and history tell who led, for people and as JSON, with the
// status that a script asks for.
func TestQuestions(t *testing.T) {
	r := topology.Single(t)
	at := []string{"--store", "redis://" + r.Addr, "--name", "billing"}
	ask := func(command string, more ...string) result {
		return call(t, t.Context(), nil, append(append([]string{command}, at...), more...)...)
	}
	if got := ask("status"); got.status != statusNo || got.out != "billing: nobody leads\n" {
		t.Errorf("before: %+v", got)
	}
	if got := ask("history"); got.status != statusDone || got.out != "billing: no term is known\n" {
		t.Errorf("no history: %+v", got)
	}
	grant := lead(t, r.Addr)

	var now statusAnswer
	got := ask("status", "--json")
	if err := json.Unmarshal([]byte(got.out), &now); err != nil || got.status != statusDone {
		t.Fatalf("%v in %+v", err, got)
	}
	if now.Leader == nil || now.Leader.ID != "me/1" || now.Leader.Value != "http://me:8080" || now.Leader.Token != grant.Token || now.Leader.RemainingMS <= 0 {
		t.Errorf("%s", got.out)
	}
	if now.Candidates == nil || len(*now.Candidates) != 1 || (*now.Candidates)[0].ID != "me/1" {
		t.Errorf("candidates: %s", got.out)
	}
	if got := ask("status"); !strings.Contains(got.out, "billing: me/1 leads, token ") || !strings.Contains(got.out, `publishes "http://me:8080"`) || !strings.Contains(got.out, "candidate me/1") {
		t.Errorf("%+v", got)
	}
	var terms []termEntry
	got = ask("history", "--json")
	if err := json.Unmarshal([]byte(got.out), &terms); err != nil || len(terms) != 1 || terms[0].ID != "me/1" || terms[0].Ended != nil {
		t.Errorf("%v in %+v", err, got)
	}
	watched(t, at, "me")
}

// lead makes a candidate of the store's own the leader for a minute.
func lead(t *testing.T, address string) store.Grant {
	t.Helper()
	options, err := redisstore.ParseURL("redis://" + address)
	if err != nil {
		t.Fatal(err)
	}
	st, err := redisstore.New(options, redisstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }() // of no use any more
	var grant store.Grant
	eventually(t, "a lease is granted", func() bool {
		grant, err = st.Acquire(t.Context(), store.Attempt{Election: "billing", ID: "me/1", Nonce: "n", Request: 1, TTL: time.Second, Value: "http://me:8080", Version: 1})
		return err == nil
	})
	if err := st.Renew(t.Context(), store.Lease{Election: "billing", ID: "me/1", Nonce: "n", Token: grant.Token, Request: 2, TTL: time.Minute}); err != nil {
		t.Fatal(err)
	}
	return grant
}

// watched looks at elect watch until it has said that this candidate leads.
func watched(t *testing.T, at []string, id string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out output
	ended := make(chan int)
	go func() {
		m := Main{Stdout: &out, Stderr: &out}
		ended <- m.Run(ctx, append([]string{"watch", "--json"}, at...))
	}()
	var line watchAnswer
	eventually(t, id+" is seen to lead", func() bool {
		lines := strings.SplitAfter(out.String(), "\n")
		if len(lines) < 2 {
			return false
		}
		if err := json.Unmarshal([]byte(lines[len(lines)-2]), &line); err != nil {
			t.Fatalf("%v in %s", err, out.String())
		}
		return line.Leader != nil && strings.HasPrefix(line.Leader.ID, id+"/")
	})
	cancel()
	if status := <-ended; status != statusDone {
		t.Errorf("status %d", status)
	}
}

// A preflight of a real server says what is guaranteed there, with the settings
// that the candidates have: where leases may be evicted, elections without
// protection are not safe, and that is an error.
func TestPreflight(t *testing.T) {
	r := topology.Single(t, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
	for protection, want := range map[string]int{"--unprotected=false": statusDone, "--unprotected": statusNo} {
		got := call(t, t.Context(), nil, "preflight", "--json", "--store", "redis://"+r.Addr, protection)
		var answer preflightAnswer
		if err := json.Unmarshal([]byte(got.out), &answer); err != nil || answer.Guarantee == "" || got.status != want {
			t.Errorf("%s: status %d, %v in %s%s", protection, got.status, err, got.out, got.errors)
		}
	}
}

// What a preflight found is said in words, and an error is the exit status 1.
func TestPrintPreflight(t *testing.T) {
	found := store.Preflight{Guarantee: "At most one leads.", Findings: []store.Finding{
		{Severity: store.SeverityError, Subject: "maxmemory-policy", Text: "is allkeys-lru.", Fix: "set noeviction."},
		{Severity: store.SeverityNote, Subject: "version", Text: "is 8."},
	}}
	for _, asJSON := range []bool{true, false} {
		var out output
		m := Main{Stdout: &out}
		if got := status(m.printPreflight(found, asJSON)); got != statusNo {
			t.Errorf("status %d", got)
		}
		for _, want := range []string{"At most one leads.", "maxmemory-policy", "is allkeys-lru.", "set noeviction.", "is 8."} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in %s", want, out.String())
			}
		}
	}
	if err := (Main{Stdout: new(output)}).printPreflight(store.Preflight{}, false); err != nil {
		t.Errorf("nothing was found: %v", err)
	}
}

// An election is set up once. A user who vouches that no candidate runs spares its
// first leader the wait on a young Redis.
func TestCreate(t *testing.T) {
	r := topology.Single(t)
	question := []string{"create", "--store", "redis://" + r.Addr, "--name", "billing"}
	for i, want := range []string{"the election billing is set up\n", "the election billing was there already\n"} {
		if got := call(t, t.Context(), nil, question...); got.status != 0 || got.out != want {
			t.Errorf("call %d: status %d, printed %q and %q", i+1, got.status, got.out, got.errors)
		}
	}
	if got := call(t, t.Context(), nil, append(question, "--vouch")...); got.status != 0 {
		t.Errorf("vouched: status %d, printed %q", got.status, got.errors)
	}
	got := call(t, t.Context(), nil, "run", "--store", "redis://"+r.Addr, "--name", "billing", "--once", "--lease", "1m", "--log", "warn",
		"--", "sh", "-c", "echo led")
	if got.status != 0 || got.out != "led\n" || got.errors != "" {
		t.Errorf("the first leader: status %d, printed %q and %q", got.status, got.out, got.errors)
	}
	if got := call(t, t.Context(), nil, "create", "--store", "postgres://nowhere", "--name", "billing"); got.status != 64 {
		t.Errorf("on PostgreSQL: status %d, %q", got.status, got.errors)
	}
}

// A question that elect was stopped before it had an answer to is no answer: a script
// must not go on as if it were.
func TestStoppedQuestion(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for _, args := range [][]string{
		{"status", "--store", "redis://" + l.Addr().String(), "--name", "billing"},
		{"transfer", "--at", "http://" + l.Addr().String(), "--to", "b"},
	} {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			conn, err := l.Accept() // somebody asks, and nobody answers
			stop()
			if err == nil {
				_, _ = io.Copy(io.Discard, conn)
				_ = conn.Close()
			}
		}()
		got := call(t, ctx, nil, args...)
		if got.status != statusFailed || !strings.Contains(got.errors, "stopped before there was an answer") {
			t.Errorf("%s: %+v", args[0], got)
		}
		<-ended
	}
}

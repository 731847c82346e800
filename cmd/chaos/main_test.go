package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"go.uber.org/goleak"

	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/scenarios/search"
	"github.com/recount-io/recount/scenarios/soak"
	"github.com/recount-io/recount/sim/candidate"
	"github.com/recount-io/recount/sim/live"
	"github.com/recount-io/recount/sim/virtual"
)

// asChaos makes the test binary the chaos command.
const asChaos = "RECOUNT_TEST_AS_CHAOS"

// withoutRace skips a test under the race detector that is about other programs: candidates
// in other languages, servers, a chaos that is killed. It takes minutes there, and finds no
// race: .ci/run has it run without, on the same servers.
func withoutRace(t *testing.T) {
	t.Helper()
	if race.Enabled {
		t.Skip("it is about other programs, and takes too long under the race detector")
	}
}

// withGoAlone skips a test under the race detector that takes no server, and whose packages
// have tests of their own there: .ci/run has it run where there is nothing but Go.
func withGoAlone(t *testing.T) {
	t.Helper()
	if race.Enabled {
		t.Skip("it runs without the race detector, too, where there is nothing but Go")
	}
}

func TestMain(m *testing.M) {
	live.Main()
	search.Spaces = append(search.Spaces, leanings)
	search.Main()
	soak.Main()
	candidate.Main(implementations())
	if os.Getenv(asChaos) != "" {
		tool := Main{
			Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
			Subjects: map[string]virtual.Subject{seldom: {Decide: decideSeldom}},
		}
		os.Exit(tool.Run(context.Background(), os.Args[1:]))
	}
	flag.Parse()
	// Live runs mostly wait: more of them than cores may be under way at once.
	if f := flag.Lookup("test.parallel"); f.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = f.Value.Set("6") // a number is always accepted
	}
	goleak.VerifyTestMain(m,
		// What hangs inside toxiproxy when a link is cut stays: nothing can reach it.
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*ToxicStub).Run"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).read"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).write"))
}

// secret is a password that must appear in no output.
const secret = "s3cret-w0rd"

// result is what a call of chaos left.
type result struct {
	status      int
	out, errors string
}

// chaos runs the command in this process.
func chaos(t *testing.T, ctx context.Context, env map[string]string, args ...string) result {
	t.Helper()
	var out, errors bytes.Buffer
	m := Main{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errors, Getenv: func(name string) string { return env[name] }}
	r := result{status: m.Run(ctx, args)}
	r.out, r.errors = out.String(), errors.String()
	if strings.Contains(r.out+r.errors, secret) {
		t.Errorf("chaos %v shows the password:\n%s%s", args, r.out, r.errors)
	}
	return r
}

// decided runs the command until its runs are decided, which a busy machine may
// prevent, or end to spare a server, three times at the most, and once with the race
// detector. It returns the folder of the last reports, too.
func decided(t *testing.T, env map[string]string, args ...string) (r result, dir string) {
	t.Helper()
	for try := range 3 {
		dir = t.TempDir()
		r = chaos(t, t.Context(), env, slices.Concat(args, lenient(try), []string{"--out", dir})...)
		if r.status != statusUndecided && r.status != statusStopped || r.kept() {
			break
		}
		t.Logf("undecided\n%s%s", r.out, r.errors)
	}
	return r, dir
}

// lenient are the flags of a try after so many that were undecided: what holds up a busy
// machine is a smaller part of a longer lease.
func lenient(tries int) []string {
	if tries == 0 {
		return nil
	}
	return []string{"--lease", strconv.Itoa(3*tries) + "s"}
}

// kept reports whether no promise was broken and each was decided. With the race detector,
// beside other tests, a machine may be too busy for that in all three tries: what is
// undecided then is decided by the same test without it.
func (r result) kept() bool {
	return r.status == statusKept || race.Enabled && (r.status == statusUndecided || r.status == statusStopped)
}

// quick are the flags of a quick run. Under the race detector all takes longer.
func quick() []string {
	lease := "800ms"
	if race.Enabled {
		lease = "1500ms"
	}
	return []string{"--lease", lease, "--nodes", "3", "--seed", "1"}
}

// small are the flags of a quick run that reports into the folder.
func small(dir string) []string { return append(quick(), "--out", dir) }

// TestBadInput shows that every kind of wrong use gets one line that says what
// is wrong and how to mend it, and the status for that.
func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("file", "")
	header := `{"recount_history":1,"scenario":"s","subject":"x","world":"live","nodes":["n1"],"lease_ns":1000000000}` + "\n"
	note := func(seq, at string) string {
		return `{"seq":` + seq + `,"at":` + at + `,"kind":"note","text":"x"}` + "\n"
	}
	locked := miniredis.RunT(t)
	locked.RequireAuth(secret)
	plain := miniredis.RunT(t)

	for name, c := range map[string]struct {
		args []string
		want string // a part of the line
	}{
		"unknown command":    {[]string{"rnu"}, `there is no command "rnu": give one of acl, `},
		"unknown flag":       {[]string{"run", "--leas", "1s"}, "--help"},
		"unknown scenario":   {[]string{"run", "crash"}, "did you mean"},
		"bad duration":       {[]string{"run", "--lease", "1 second"}, `--lease is "1 second"; it must be a time with its unit`},
		"negative duration":  {[]string{"run", "--duration", "-1s"}, "negative"},
		"renew not below":    {[]string{"run", "--lease", "1s", "--renew", "1s"}, "not below lease"},
		"lease too short":    {[]string{"run", "--lease", "10ms"}, "too short"},
		"no node":            {[]string{"run", "--nodes", "-1"}, "at least one"},
		"no parallel run":    {[]string{"run", "--parallel", "0"}, "at least one"},
		"seed no number":     {[]string{"run", "--seed", "abc"}, `--seed is "abc"; it must be a whole number`},
		"unknown world":      {[]string{"run", "--world", "flat"}, "--world live"},
		"virtual redis":      {[]string{"run", "--world", "virtual", "--redis", "auto"}, "store of their own"},
		"virtual topology":   {[]string{"run", "--world", "virtual", "sentinel-failover"}, "several servers"},
		"rolling topology":   {[]string{"run", "--world", "virtual", "--rolling", "cluster-failover"}, "several servers"},
		"virtual toxiproxy":  {[]string{"run", "--world", "virtual", "--toxiproxy", "127.0.0.1:1"}, "network of their own"},
		"virtual prefix":     {[]string{"run", "--world", "virtual", "--prefix", "x:"}, "the run's own"},
		"virtual command":    {[]string{"run", "--world", "virtual", "--exec", "true"}, "real time"},
		"run in both worlds": {[]string{"run", "--world", "both"}, "use chaos calibrate"},
		"lock of a subject":  {[]string{"run", "--lock-key", ":lock"}, "--exec"},
		"virtual lock":       {[]string{"run", "--world", "virtual", "--lock-key", ":lock"}, "--exec"},
		"blank command":      {[]string{"run", "--exec", " "}, "blank"},
		"no run":             {[]string{"run", "--runs", "0"}, "at least once"},
		"rolling runs":       {[]string{"run", "--world", "virtual", "--rolling", "--runs", "2"}, "longer --duration"},
		"no live run":        {[]string{"calibrate", "--runs", "0"}, "at least once"},
		"few virtual runs":   {[]string{"calibrate", "--runs", "5", "--virtual-runs", "20"}, "at least 200"},
		"virtual store":      {[]string{"calibrate", "--redis", "embedded", "store-rewind"}, "--redis process"},
		"unknown subject":    {[]string{"run", "--subject", "nobody"}, "--exec"},
		"unknown redis":      {[]string{"run", "--redis", "memcached"}, "embedded"},
		"bad URL":            {[]string{"run", "--redis", "redis://:" + secret + "@host:notaport/0"}, "URL"},
		"no redis there":     {[]string{"run", "--redis", "redis://user:" + secret + "@127.0.0.1:1/0"}, "127.0.0.1:1"},
		"wrong password":     {[]string{"run", "--redis", "redis://:" + secret + "x@" + locked.Addr() + "/0"}, "password"},
		"no password":        {[]string{"run", "--redis", "redis://" + locked.Addr() + "/0"}, "password"},
		"TLS to a plain one": {[]string{"run", "--redis", "rediss://" + plain.Addr() + "/0"}, "TLS"},
		"store fault by URL": {[]string{"run", "--redis", "redis://" + plain.Addr() + "/0", "store-pause"}, "private"},
		"rewind embedded":    {[]string{"run", "--redis", "embedded", "store-rewind"}, "--redis process"},
		"no toxiproxy there": {[]string{"run", "--toxiproxy", "127.0.0.1:1"}, "toxiproxy"},
		"output is a file":   {[]string{"run", "--out", file}, "--out"},
		"candidate dies":     {append([]string{"run", "steady", "--exec", "false"}, small(filepath.Join(dir, "dies"))...), "candidate"},
		"candidate missing":  {append([]string{"run", "steady", "--exec", "/no/such/elector"}, small(filepath.Join(dir, "missing"))...), "candidate"},
		"check nothing":      {[]string{"check"}, "needs"},
		"check no file":      {[]string{"check", filepath.Join(dir, "none.jsonl")}, "no such file"},
		"check empty file":   {[]string{"check", file}, "empty"},
		"check no JSON":      {[]string{"check", write("text.jsonl", "hello\n")}, "not JSON"},
		"check no header":    {[]string{"check", write("headless.jsonl", note("1", "1"))}, "header"},
		"check version":      {[]string{"check", write("version.jsonl", strings.Replace(header, ":1", ":7", 1))}, "version 7"},
		"check cut off":      {[]string{"check", write("cut.jsonl", header+note("1", "5")+`{"seq":2,"at`)}, "cut off"},
		"check out of order": {[]string{"check", write("order.jsonl", header+note("1", "5")+note("2", "4"))}, "out of order"},
		"check lines gone":   {[]string{"check", write("gone.jsonl", header+note("1", "5")+note("3", "6"))}, "out of order"},
		"report no folder":   {[]string{"report", filepath.Join(dir, "none")}, "no run"},
		"report of a file":   {[]string{"report", "main_test.go"}, "main_test.go is a file: give the folder that chaos run wrote"},
		"report empty":       {[]string{"report", t.TempDir()}, "no history"},
		"list arguments":     {[]string{"list", "all"}, "no arguments"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.args[0] == "run" && !strings.Contains(strings.Join(c.args, " "), "--out") {
				c.args = append(c.args, "--out", filepath.Join(t.TempDir(), "out"))
			}
			r := chaos(t, t.Context(), nil, c.args...)
			if r.status != statusUsage {
				t.Errorf("status %d, want %d", r.status, statusUsage)
			}
			if line := strings.TrimSuffix(r.errors, "\n"); !strings.Contains(line, c.want) || strings.Contains(line, "\n") {
				t.Errorf("it says\n%s\nwant one line with %q", r.errors, c.want)
			}
		})
	}
}

// TestSlips shows that a misspelt name gets the one that was meant, that what has no
// effect or no sense is refused, and that nothing is left.
func TestSlips(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "crash-laeder"}, "did you mean crash-leader?"},
		{[]string{"run", "--world", "vitual"}, "did you mean virtual?"},
		{[]string{"run", "--redis", "embdded"}, "did you mean embedded?"},
		{[]string{"run", "--subject", "recuont"}, "did you mean recount?"},
		{[]string{"trial", "titn"}, "did you mean titan?"},
		{[]string{"trial", "--world", "lives"}, "did you mean live?"},
		{[]string{"run", "--nodes", "0"}, "at least one"},
		{[]string{"run", "--prefix", ""}, "--prefix is empty"},
		{[]string{"trial", "--prefix", ""}, "--prefix is empty"},
		{[]string{"run", "--exec", "true", "--subject", "recount"}, "exclude each other"},
		{[]string{"run", "--clocks"}, "--clocks means nothing without --exec or --image"},
		{[]string{"run", "--not-asked", "Stable"}, "--not-asked means nothing without --exec or --image"},
		{[]string{"run", "--exec", "true", "--not-asked", "Stable,Fast"}, `no promise "Fast"; the promises are WellFormed, `},
		{[]string{"run", "--exec", "true", "--not-asked", "WellFormed"}, "no other promise can be judged"},
		{[]string{"run", "steady", "clock-jump", "--exec", "true"}, "clock-jump sets candidates' clocks, which this program is not told: have it obey"},
		{[]string{"run", "--world", "containers", "clock-fast", "--image", "x", "--dry-run"}, "clock-fast sets candidates' clocks, which this program is not told: have it obey"},
	} {
		out := filepath.Join(t.TempDir(), "out")
		refused(t, chaos(t, t.Context(), nil, append(c.args, "--out", out)...), c.want)
		if _, err := os.Stat(out); !os.IsNotExist(err) {
			t.Errorf("%v: the folder for reports: %v", c.args, err)
		}
	}
}

// TestFullDisk shows that a report which cannot be written for lack of space
// is said in one line, with what to do.
func TestFullDisk(t *testing.T) {
	withGoAlone(t)
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no /dev/full")
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "steady"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/full", filepath.Join(dir, "steady", "history.jsonl")); err != nil {
		t.Fatal(err)
	}
	r := chaos(t, t.Context(), nil, append([]string{"run", "steady", "crash-leader", "--redis", "embedded"}, small(dir)...)...)
	if r.status != statusFailed || !strings.Contains(r.errors, "free some space") {
		t.Errorf("status %d: %s", r.status, r.errors)
	}
	if strings.Contains(r.out, "PASS") || strings.Contains(r.out, "steady: pass") || !strings.Contains(r.out, "steady: no report: ") {
		t.Errorf("what could not be written passed:\n%s", r.out)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "steady", "*.*")); len(left) > 0 { // fails only for a bad pattern
		t.Errorf("half a report is left: %v", left)
	}
}

// TestNoRoom shows that a disk without room is noticed before anything is started, that
// no folder is left there, and that nothing is said to have passed.
func TestNoRoom(t *testing.T) {
	parent := smallDisk(t)
	r := chaos(t, t.Context(), nil, append([]string{"run", "steady", "--redis", "embedded"}, small(filepath.Join(parent, "out"))...)...)
	refused(t, r, "no space left on device; choose another folder with --out")
	if left, err := os.ReadDir(parent); err != nil || len(left) != 1 {
		t.Errorf("%v, %v: want nothing but what fills the disk", left, err)
	}
}

// TestRunJSON shows that --json prints one object on standard output, that
// every report is written, and that a run which keeps every promise ends with
// 0.
func TestRunJSON(t *testing.T) {
	withGoAlone(t)
	t.Parallel()
	r, dir := decided(t, nil, append([]string{"run", "steady", "crash-leader", "--json", "--redis", "embedded"}, quick()...)...)
	if r.status != statusKept {
		t.Fatalf("status %d\n%s\n%s", r.status, r.out, r.errors)
	}
	var object struct {
		Runs []struct {
			Version  int    `json:"recount_report"`
			Verdict  string `json:"verdict"`
			Scenario string `json:"scenario"`
			Repro    string `json:"repro"`
		} `json:"runs"`
	}
	if err := json.Unmarshal([]byte(r.out), &object); err != nil {
		t.Fatalf("%v in %s", err, r.out)
	}
	if len(object.Runs) != 2 || object.Runs[0].Version != 1 || object.Runs[0].Verdict != "pass" {
		t.Errorf("runs: %+v", object.Runs)
	}
	for _, run := range object.Runs {
		if !strings.HasPrefix(run.Repro, "chaos run "+run.Scenario+" --subject recount") {
			t.Errorf("repro %q", run.Repro)
		}
		for _, name := range []string{"report.json", "report.html", "report.md", "history.jsonl", "junit.xml", "lease.html", "logs/n1.log"} {
			if info, err := os.Stat(filepath.Join(dir, run.Scenario, name)); err != nil || info.Size() == 0 {
				t.Errorf("%s of %s: %v", name, run.Scenario, err)
			}
		}
	}
	again := chaos(t, t.Context(), nil, "check", filepath.Join(dir, "steady", "history.jsonl"))
	if again.status != statusKept {
		t.Errorf("check of the same history: status %d\n%s%s", again.status, again.out, again.errors)
	}
	rendered := chaos(t, t.Context(), nil, "report", dir)
	if rendered.status != statusKept || !strings.Contains(rendered.out, "crash-leader") {
		t.Errorf("report: status %d\n%s%s", rendered.status, rendered.out, rendered.errors)
	}
	compared := chaos(t, t.Context(), nil, "report", dir, dir)
	if compared.status != statusKept || !strings.Contains(compared.out, "beside the first") {
		t.Errorf("comparison: status %d\n%s%s", compared.status, compared.out, compared.errors)
	}
}

// TestInterrupted shows that a run which is stopped heals, reports what it
// recorded, and ends with the status for that.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		awaitFile(ctx, filepath.Join(dir, "pause-leader", "logs", "n3.log"))
		stop()
	}()
	r := chaos(t, ctx, nil, append([]string{"run", "pause-leader", "steady", "--redis", "embedded", "--parallel", "1"}, small(dir)...)...)
	if r.status != statusStopped || !strings.Contains(r.errors, "stopped early") {
		t.Errorf("status %d: %s", r.status, r.errors)
	}
	if !strings.Contains(r.out, "Not run: steady\n") {
		t.Errorf("it does not say what did not run:\n%s", r.out)
	}
	if _, err := os.Stat(filepath.Join(dir, "pause-leader", "report.html")); err != nil {
		t.Errorf("no report of what was recorded: %v", err)
	}
}

// awaitFile returns once the file is there and has content.
func awaitFile(ctx context.Context, path string) {
	for ctx.Err() == nil {
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// TestCheckEmptyHistory shows that a history with a header and no event is
// undecided, never passed.
func TestCheckEmptyHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "empty.jsonl")
	header := `{"recount_history":1,"scenario":"s","subject":"x","world":"live","nodes":["n1"],"lease_ns":1000000000}` + "\n"
	if err := os.WriteFile(path, []byte(header), 0o600); err != nil {
		t.Fatal(err)
	}
	r := chaos(t, t.Context(), nil, "check", path)
	if r.status != statusUndecided || !strings.Contains(r.out, "UNKNOWN") {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
}

// TestSharedRedis shows that a run against a Redis given by URL touches no key
// but its own, leaves none behind, and keeps the password to itself: in every
// file that it writes, too.
func TestSharedRedis(t *testing.T) {
	t.Parallel()
	server := miniredis.NewMiniRedis()
	server.ClockTTL(true)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	server.RequireUserAuth("tester", secret)
	if err := server.DB(3).Set("theirs", "untouched"); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"RECOUNT_REDIS": "redis://tester:" + secret + "@" + server.Addr() + "/3"}
	r, dir := decided(t, env, append([]string{"run", "partition-leader", "--prefix", "mine:"}, quick()...)...)
	if !r.kept() {
		t.Errorf("status %d\n%s%s", r.status, r.out, r.errors)
	}
	if keys := server.DB(3).Keys(); len(keys) != 1 || keys[0] != "theirs" {
		t.Errorf("keys left: %v", keys)
	}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(secret)) {
			t.Errorf("the password is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestList shows that everything is listed with a line, within 80 columns.
func TestList(t *testing.T) {
	r := chaos(t, t.Context(), nil, "list")
	for _, word := range []string{"crash-leader", "partition", "recount", "AtMostOneLeader", "virtual"} {
		if !strings.Contains(r.out, word) {
			t.Errorf("%s is not listed", word)
		}
	}
	for line := range strings.Lines(r.out) {
		if len(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("too wide: %q", line)
		}
	}
	var all listing
	if err := json.Unmarshal([]byte(chaos(t, t.Context(), nil, "list", "--json").out), &all); err != nil || len(all.Scenarios) < 24 {
		t.Errorf("%d scenarios, %v", len(all.Scenarios), err)
	}
	for _, s := range all.Scenarios {
		if s.Summary == "" || s.Breaks == "" {
			t.Errorf("%s does not say what it is, or what would break its promises", s.Name)
		}
	}
}

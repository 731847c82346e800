package wire_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/sim/wire"
)

const (
	swapText  = `local v = redis.call('GET', KEYS[1]) if (v == false and ARGV[1] == '') or v == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2]) return 1 end return 0`
	takeAfter = `local v = redis.call('GET', KEYS[1])
if v then local r = cjson.decode(v) local now = tonumber(ARGV[2])
if r.renewed_at > now or r.owner ~= ARGV[1] and r.renewed_at + r.lease_ms > now then return 0 end end
redis.call('SET', KEYS[1], cjson.encode({owner = ARGV[1], renewed_at = tonumber(ARGV[2]), lease_ms = tonumber(ARGV[3])})) return 1`
	takeByServer = `local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000) local v = redis.call('GET', KEYS[1])
if v then local r = cjson.decode(v) if r.owner ~= ARGV[1] and now - r.renewed_at < tonumber(ARGV[2]) then return 0 end end
redis.call('SET', KEYS[1], cjson.encode({owner = ARGV[1], renewed_at = now})) return 1`
	takeHash = `local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000) local r = redis.call('HMGET', KEYS[1], 'holder', 'renewed_at')
if r[1] and r[1] ~= ARGV[1] and now - tonumber(r[2]) < tonumber(ARGV[2]) then return 0 end
redis.call('HSET', KEYS[1], 'holder', ARGV[1], 'renewed_at', now) return 1`
	takeFields = `local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000) local holder = redis.call('HGET', KEYS[1], 'holder')
if holder and holder ~= ARGV[1] and now - tonumber(redis.call('HGET', KEYS[1], 'renewed_at')) < tonumber(ARGV[2]) then return 0 end
redis.call('HSET', KEYS[1], 'holder', ARGV[1], 'renewed_at', now) return 1`
)

// tale is a tape with a clock that the test sets.
type tale struct {
	*tape
	now time.Duration // since noon
}

func newTale() *tale {
	s := &tale{}
	s.tape = newTape(wire.Options{Wall: func() time.Time { return noon.Add(s.now) }, Lease: 2 * time.Second, Drift: 0.01})
	return s
}

// kube is the record of Kubernetes, renewed at a time since noon.
func kube(holder string, renewed time.Duration) string {
	return fmt.Sprintf(`{"holderIdentity":%q,"leaseDurationSeconds":2,"acquireTime":"2026-01-01T00:00:00Z","renewTime":%q,"leaderTransitions":0}`,
		holder, noon.Add(renewed).Format(time.RFC3339Nano))
}

// ask is a request with its reply, at a time since noon.
type ask struct {
	at    time.Duration
	node  string
	args  []string
	reply wire.Value
}

func (s *tale) tell(asks []ask) string {
	for _, a := range asks {
		s.now = a.at
		s.conn(a.node).Send(a.args).Answer(a.reply)
	}
	return s.ends()
}

func swap(old, value string) []string { return []string{"EVAL", swapText, "1", "lock", old, value} }

// A record is acquired by who writes himself into it, renewed by its holder, released by one
// that names nobody, and over one lease after it was written: then another one may acquire it,
// or its holder again.
func TestRecordsAreLeases(t *testing.T) {
	a0, a1, a3, a5 := kube("a", 0), kube("a", time.Second), kube("a", 3500*ms), kube("a", 6*time.Second)
	b4, b6, free := kube("b", 4*time.Second), kube("b", 6200*ms), kube("", 5*time.Second)
	s := newTale()
	got := s.tell([]ask{
		{0, "n1", swap("", a0), number(1)},
		{500 * ms, "n2", []string{"GET", "lock"}, bulk(a0)},
		{time.Second, "n1", swap(a0, a1), number(1)},
		{3100 * ms, "n2", []string{"GET", "lock"}, bulk(a1)},
		{3500 * ms, "n1", swap(a1, a3), number(1)},
		{3600 * ms, "n3", swap(a1, kube("c", 3600*ms)), number(0)},
		{5600 * ms, "n2", swap(a3, b4), number(1)},
		{5700 * ms, "n1", swap(a3, kube("a", 5700*ms)), number(0)},
		{5800 * ms, "n2", swap(b4, free), number(1)},
		{5900 * ms, "n3", []string{"GET", "lock"}, bulk(free)},
		{6000 * ms, "n1", []string{"SET", "lock", a5, "IFEQ", free}, okay},
		{6100 * ms, "n1", []string{"DEL", "lock"}, number(1)},
		{6200 * ms, "n2", swap("", b6), number(1)},
		{8200 * ms, "n2", swap(b6, kube("", 8200*ms)), number(1)}, // nothing is left to be released
	})
	want := `n1 acquire ok 2s
n2 observe ok holder n1
n1 renew ok 2s
n2 observe info: who holds the lock is not known
n1 acquire ok 2s
n3 acquire fail 2s: nothing was written
n2 acquire ok 2s
n1 acquire fail 2s: nothing was written
n2 release ok
n3 observe ok
n1 acquire ok 2s
n1 release ok
n2 acquire ok 2s
n2 observe info: who holds the lock is not known`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if e := s.lock.Understanding(); e.Wire.Understood != e.Wire.Operations {
		t.Error(e.Text)
	}
}

// A holder that may still have its lease learns from the refused renewal that it lost it.
func TestRefusedRenewalOfRecord(t *testing.T) {
	a0, b1 := kube("a", 0), kube("b", 100*ms)
	s := newTale()
	got := s.tell([]ask{
		{0, "n1", swap("", a0), number(1)},
		{100 * ms, "n2", swap(a0, b1), number(1)}, // too early
		{200 * ms, "n2", swap(b1, kube("b", 200*ms)), number(1)},
		{300 * ms, "n1", swap(a0, kube("a", 300*ms)), number(0)},
	})
	const want = "n1 acquire ok 2s\nn2 acquire ok 2s\nn2 renew ok 2s\nn1 acquire fail 2s: nothing was written"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// Between the end that the record tells and one lease after the write nobody can say whether
// the lease may be taken: a writer's clock that is wrong accuses nobody, and what is too early
// by both is an acquire.
func TestEndsOfRecords(t *testing.T) {
	for _, test := range []struct {
		name    string
		renewed time.Duration // by the record, which is written at noon
		at      time.Duration
		want    string
	}{
		{"early", 0, 1900 * ms, "n2 acquire ok 2s"},
		{"early, by a reader that is fast", 0, 1990 * ms, "n2 acquire info 2s"},
		{"late", 0, 2 * time.Second, "n2 acquire ok 2s"},
		{"early, of a writer that is behind", -24 * time.Hour, 1900 * ms, "n2 acquire info 2s"},
		{"late, of a writer that is behind", -24 * time.Hour, 2 * time.Second, "n2 acquire ok 2s"},
		{"early, of a writer that is ahead", time.Hour, 1900 * ms, "n2 acquire ok 2s"},
		{"late, of a writer that is ahead", time.Hour, 2 * time.Second, "n2 acquire ok 2s"},
	} {
		s := newTale()
		first, second := kube("a", test.renewed), kube("b", test.at)
		s.tell([]ask{{0, "n1", swap("", first), number(1)}})
		got := s.tell([]ask{{test.at, "n2", swap(first, second), number(1)}})
		if got, _, _ = strings.Cut(got, ":"); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
		if e := s.lock.Understanding(); strings.Contains(test.want, "info") != strings.Contains(e.Text, "depends on the reader's clock") {
			t.Errorf("%s: %s", test.name, e.Text)
		}
	}
}

// What follows such a request is not understood either, until the first lease is over for all.
func TestAfterTheEndOfRecords(t *testing.T) {
	a, b, c, free := kube("a", -time.Hour), kube("b", 100*ms), kube("b", 200*ms), kube("", 300*ms)
	s := newTale()
	s.tell([]ask{{0, "n1", swap("", a), number(1)}})
	got := s.tell([]ask{
		{100 * ms, "n2", swap(a, b), number(1)},
		{150 * ms, "n3", []string{"GET", "lock"}, bulk(b)},
		{200 * ms, "n2", swap(b, c), number(1)},
		{300 * ms, "n2", swap(c, free), number(1)},
		{400 * ms, "n3", []string{"GET", "lock"}, bulk(free)},
	})
	if strings.Contains(got, " ok") || strings.Contains(got, " fail") {
		t.Error(got)
	}
	got = s.tell([]ask{{2 * time.Second, "n3", swap(free, kube("c", 2*time.Second)), number(1)}})
	if want := "n3 acquire ok 2s"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A record may be compared and set in many ways: by the time in it, with the server's clock,
// by a transaction, as a hash, with its end in place of a renewal.
func TestWaysToKeepRecords(t *testing.T) {
	eval := func(script, id string, at time.Duration, more ...string) []string {
		return append([]string{"EVAL", script, "1", "lock", id}, more...)
	}
	clocked := func(id string, at time.Duration) []string { return eval(takeAfter, id, at, millis(at), "2000") }
	server := func(script string) func(id string, at time.Duration) []string {
		return func(id string, at time.Duration) []string { return eval(script, id, at, "2000") }
	}
	for name, take := range map[string]func(id string, at time.Duration) []string{
		"the candidate's clock": clocked, "the server's clock": server(takeByServer), "a hash, all fields": server(takeHash), "a hash, field by field": server(takeFields),
	} {
		s := newTale()
		got := s.tell([]ask{
			{0, "n1", take("a", 0), number(1)},
			{500 * ms, "n2", take("b", 500*ms), number(0)},
			{time.Second, "n1", take("a", time.Second), number(1)},
			{3100 * ms, "n2", take("b", 3100*ms), number(1)},
			{3200 * ms, "n1", take("a", 3200*ms), number(0)},
			{5 * time.Second, "n2", take("b", 5*time.Second), number(1)},
			{9 * time.Second, "n2", take("b", 9*time.Second), number(1)},
		})
		got = strings.NewReplacer(" holder n1", "", " holder n2", "", ": nothing was written", "").Replace(got)
		const want = "n1 acquire ok 2s\nn2 acquire fail 2s\nn1 acquire ok 2s\nn2 acquire ok 2s\nn1 acquire fail 2s\nn2 acquire ok 2s\nn2 acquire ok 2s"
		if got != want {
			t.Errorf("%s: %s\nwant\n%s", name, got, want)
		}
		if e := s.lock.Understanding(); e.Wire.Understood != e.Wire.Operations {
			t.Errorf("%s: %s", name, e.Text)
		}
	}
}

// Transactions that watch a record, as JSON and as a hash.
func TestWatchedRecords(t *testing.T) {
	for name, test := range map[string]struct {
		get   []string
		write func(holder string, at time.Duration) []string
		found func(holder string, at time.Duration) wire.Value
		none  wire.Value
		wrote func(fresh bool) wire.Value
	}{
		"JSON": {
			[]string{"GET", "lock"},
			func(holder string, at time.Duration) []string { return []string{"SET", "lock", kube(holder, at)} },
			func(holder string, at time.Duration) wire.Value { return bulk(kube(holder, at)) }, nothing,
			func(bool) wire.Value { return okay },
		},
		"a hash": {
			[]string{"HGETALL", "lock"},
			func(holder string, at time.Duration) []string {
				return []string{"HSET", "lock", "acquireTime", noon.Format(time.RFC3339), "renewTime", noon.Add(at).Format(time.RFC3339Nano), "holder", holder, "ttl", "2", "version", "7"}
			},
			func(holder string, at time.Duration) wire.Value {
				return list(bulk("renewTime"), bulk(noon.Add(at).Format(time.RFC3339Nano)), bulk("holder"), bulk(holder), bulk("ttl"), bulk("2"), bulk("acquireTime"), bulk(noon.Format(time.RFC3339)))
			}, list(),
			func(fresh bool) wire.Value { return number(map[bool]int64{true: 5}[fresh]) },
		},
	} {
		s := newTale()
		change := func(at time.Duration, node string, found wire.Value, write []string, fresh bool) []ask {
			return []ask{
				{at, node, []string{"WATCH", "lock"}, okay},
				{at, node, test.get, found},
				{at, node, []string{"MULTI"}, okay},
				{at, node, write, queued},
				{at, node, []string{"EXEC"}, list(test.wrote(fresh))},
			}
		}
		var got []string
		for _, asks := range [][]ask{
			change(0, "n1", test.none, test.write("a", 0), true),
			change(time.Second, "n1", test.found("a", 0), test.write("a", time.Second), false),
			change(3*time.Second, "n2", test.found("a", time.Second), test.write("b", 3*time.Second), false),
			change(4*time.Second, "n2", test.found("b", 3*time.Second), test.write("", 4*time.Second), false),
			change(4100*ms, "n1", test.found("", 4*time.Second), test.write("a", 4100*ms), false),
		} {
			for line := range strings.Lines(s.tell(asks)) {
				if !strings.Contains(line, "observe") {
					got = append(got, strings.TrimSpace(line))
				}
			}
		}
		const want = "n1 acquire ok 2s\nn1 renew ok 2s\nn2 acquire ok 2s\nn2 release ok\nn1 acquire ok 2s"
		if got := strings.Join(got, "\n"); got != want {
			t.Errorf("%s: %s\nwant\n%s", name, got, want)
		}
		if e := s.lock.Understanding(); e.Wire.Understood != e.Wire.Operations {
			t.Errorf("%s: %s", name, e.Text)
		}
	}
}

// The duration of a record counts, or that of the run where it tells none; its times may be
// written in many ways.
func TestFormsOfRecords(t *testing.T) {
	date := noon.Format(time.RFC3339)
	for record, want := range map[string]string{
		kube("a", 0): "n1 acquire ok 2s",
		`{"holder":"a","renewedAt":"` + date + `"}`:                               "n1 acquire ok 2s",
		`{"owner":"a","last_renewed":` + unix(0) + `,"ttl":3}`:                    "n1 acquire ok 3s",
		`{"owner":"a","heartbeat":` + millis(0) + `,"ttl":3000}`:                  "n1 acquire ok 3s",
		`{"leader":"a","heartbeat":` + unix(0) + `.25,"lease_ms":500}`:            "n1 acquire ok 500ms",
		`{"id":"a","renewed":` + millis(0) + `000000,"duration":"1.5s"}`:          "n1 acquire ok 1.5s",
		`{"id":"a","expires_at":` + millis(2100*ms) + `}`:                         "n1 acquire ok 2.1s",
		`{"id":"a","expires":"` + noon.Add(time.Hour).Format(time.RFC3339) + `"}`: "a record that ends at another time than one lease",
		`{"owner":"a","ts":` + unix(0) + `}`:                                      "a lock whose value tells a time",
		`{"job":"a","renewed":` + unix(0) + `}`:                                   "a lock whose value tells a time",
		`{"holder":"a","renewTime":"2026-11-22T12:00:00.5"}`:                      "n1 acquire ok 2s",
		`{"holder":"a","renewedAt":"soon"}`:                                       "n1 acquire ok 240h0m0s",
	} {
		s := newTale()
		got := s.tell([]ask{{0, "n1", []string{"SET", "lock", record, "NX"}, okay}})
		if e := s.lock.Understanding(); got != want && !strings.Contains(e.Text, want) {
			t.Errorf("%s: %s; %s\nwant %s", record, got, e.Text, want)
		}
	}
}

// A time that may be that of the making counts once the holder has written another one.
func TestVagueTimesOfRecords(t *testing.T) {
	record := func(at time.Duration) string { return `{"owner":"a","ts":` + millis(at) + `}` }
	s := newTale()
	s.tell([]ask{{0, "n1", swap("", record(0)), number(1)}})
	got := s.tell([]ask{
		{time.Second, "n1", swap(record(0), record(time.Second)), number(1)},
		{1500 * ms, "n1", swap(record(time.Second), record(1500*ms)), number(1)},
	})
	if !strings.HasPrefix(got, "n1 acquire ok 2s\n") || !strings.HasSuffix(got, "\nn1 renew ok 2s") {
		t.Error(got)
	}
}

// A key that goes away at the end of its record's lease is an ordinary lock; one that lives
// much longer is only tidied up.
func TestTimesToLiveOfRecords(t *testing.T) {
	for _, test := range []struct {
		ms   int
		want string
	}{
		{2000, "n1 acquire ok 2s\nn1 renew ok 2s\nn1 observe ok holder n1"},
		{60_000, "n1 acquire ok 2s\nn1 observe info: who holds the lock is not known\nn1 observe ok holder n1"},
	} {
		s := newTale()
		got := s.tell([]ask{
			{0, "n1", []string{"SET", "lock", kube("a", 0), "NX"}, okay},
			{time.Millisecond, "n1", []string{"PEXPIRE", "lock", strconv.Itoa(test.ms)}, number(1)},
			{2 * time.Millisecond, "n1", []string{"GET", "lock"}, bulk(kube("a", 0))},
		})
		if got != test.want {
			t.Errorf("%d ms: %s\nwant %s", test.ms, got, test.want)
		}
	}
}

// A record that a node writes for another one, and a holder's name that two nodes use, are not
// understood.
func TestRecordsForOthers(t *testing.T) {
	a, b, other := kube("a", 0), kube("b", 100*ms), kube("a", 3*time.Second)
	s := newTale()
	s.tell([]ask{{0, "n1", swap("", a), number(1)}})
	got := s.tell([]ask{{3 * time.Second, "n2", swap(a, other), number(1)}})
	const why = "a record that names another candidate than the one that wrote it"
	if e := s.lock.Understanding(); strings.Contains(got, " ok") || !strings.Contains(e.Text, why) {
		t.Errorf("%s; %s", got, e.Text)
	}
	s = newTale()
	s.tell([]ask{{0, "n1", swap("", a), number(1)}, {100 * ms, "n1", swap(a, b), number(1)}}) // hands over to b
	got = s.tell([]ask{{200 * ms, "n2", swap(b, kube("b", 200*ms)), number(1)}})
	if e := s.lock.Understanding(); strings.Contains(got, " ok") || !strings.Contains(e.Text, why) {
		t.Errorf("%s; %s", got, e.Text)
	}
}

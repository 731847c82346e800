package candidate

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/protocol"
)

// environ sets the whole protocol's environment, with changes.
func environ(t *testing.T, changes map[string]string) {
	t.Helper()
	all := map[string]string{
		protocol.EnvElection: "recount:run-1:e1", protocol.EnvNode: "n1", protocol.EnvRedisURL: "redis://127.0.0.1:7/0",
		protocol.EnvServerName: "redis.example", protocol.EnvLease: "1000.5", protocol.EnvRenew: "333.333333", protocol.EnvRetry: "50",
		protocol.EnvWrites: "10", protocol.EnvObserves: "500", protocol.EnvDrift: "0.02", protocol.EnvRequestTimeout: "250", protocol.EnvClockRate: "0.5", protocol.EnvClockOffset: "-3600000", protocol.EnvPostgresURL: "postgres://127.0.0.1:6/x", protocol.EnvEpoch: "9007199254740993",
		protocol.EnvResource: "http://127.0.0.1:8",
	}
	for name, value := range changes {
		all[name] = value
	}
	for name, value := range all {
		t.Setenv(name, value)
	}
}

// The environment says everything, to the nanosecond.
func TestSettings(t *testing.T) {
	environ(t, nil)
	got, err := FromEnvironment()
	want := Settings{
		Election: "recount:run-1:e1", Node: "n1", RedisURL: "redis://127.0.0.1:7/0", ServerName: "redis.example",
		Lease: 1000500 * time.Microsecond, Renew: 333333333, Retry: 50 * time.Millisecond, Writes: 10 * time.Millisecond, Observes: 500 * time.Millisecond,
		Drift: 0.02, ClockRate: 0.5, ClockOffset: -time.Hour, PostgresURL: "postgres://127.0.0.1:6/x", Epoch: 9007199254740993, Resource: "http://127.0.0.1:8", RequestTimeout: 250 * time.Millisecond,
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
}

// A store of several independent servers comes with the URLs of all of them.
func TestSettingsOfMajority(t *testing.T) {
	environ(t, map[string]string{protocol.EnvRedisURLs: "redis://127.0.0.1:7/0,redis://127.0.0.1:8/0"})
	got, err := FromEnvironment()
	if want := []string{"redis://127.0.0.1:7/0", "redis://127.0.0.1:8/0"}; err != nil || !slices.Equal(got.RedisURLs, want) {
		t.Errorf("%q, %v; want %q", got.RedisURLs, err, want)
	}
}

// A store of several servers comes with the proxies before them.
func TestSettingsOfSeveralServers(t *testing.T) {
	environ(t, map[string]string{protocol.EnvVia: "127.0.0.1:1=127.0.0.1:2,127.0.0.1:3=127.0.0.1:4", protocol.EnvReplicas: "2"})
	got, err := FromEnvironment()
	want := map[string]string{"127.0.0.1:1": "127.0.0.1:2", "127.0.0.1:3": "127.0.0.1:4"}
	if err != nil || !maps.Equal(got.Via, want) || got.Replicas != 2 {
		t.Errorf("%v, %d replicas, %v", got.Via, got.Replicas, err)
	}
}

// What is left out has its default: a clock that is right, a drift of 1 %.
func TestSettingsDefaults(t *testing.T) {
	environ(t, map[string]string{protocol.EnvDrift: "", protocol.EnvClockRate: "", protocol.EnvEpoch: "", protocol.EnvWrites: ""})
	got, err := FromEnvironment()
	if err != nil || got.Drift != 0.01 || got.ClockRate != 1 || got.Epoch != 0 || got.Writes != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// What cannot be read is named; what is missing is asked for.
func TestSettingsErrors(t *testing.T) {
	for variable, test := range map[string]struct{ value, want string }{
		protocol.EnvElection:       {"", "RECOUNT_ELECTION, RECOUNT_NODE and RECOUNT_REDIS_URL must be set"},
		protocol.EnvNode:           {"", "must be set: start it through the harness"},
		protocol.EnvRedisURL:       {"", "must be set"},
		protocol.EnvLease:          {"1s", `RECOUNT_LEASE_MS="1s" is no number`},
		protocol.EnvRenew:          {"soon", `RECOUNT_RENEW_MS="soon" is no number`},
		protocol.EnvRequestTimeout: {"a while", `RECOUNT_REQUEST_TIMEOUT_MS="a while" is no number`},
		protocol.EnvRetry:          {"0x", `RECOUNT_RETRY_MS="0x" is no number`},
		protocol.EnvWrites:         {"-", `RECOUNT_WRITE_MS="-" is no number`},
		protocol.EnvDrift:          {"1%", `RECOUNT_DRIFT="1%" is no number`},
		protocol.EnvClockRate:      {"fast", `RECOUNT_CLOCK_RATE="fast" is no number`},
		protocol.EnvVia:            {"a:1=b:2,c:3", `RECOUNT_REDIS_VIA="a:1=b:2,c:3": "c:3" is no pair`},
		protocol.EnvReplicas:       {"all", `RECOUNT_REDIS_REPLICAS="all" is no number`},
		protocol.EnvEpoch:          {"1.5", `RECOUNT_EPOCH_NS="1.5" is no number`},
	} {
		t.Run(variable, func(t *testing.T) {
			environ(t, map[string]string{variable: test.value})
			if _, err := FromEnvironment(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s=%q: %v, want %s", variable, test.value, err, test.want)
			}
		})
	}
}

// The first of several errors is returned, in the order of reading.
func TestSettingsFirstError(t *testing.T) {
	environ(t, map[string]string{protocol.EnvLease: "x", protocol.EnvRetry: "y", protocol.EnvEpoch: "z"})
	if _, err := FromEnvironment(); err == nil || !strings.Contains(err.Error(), protocol.EnvLease) {
		t.Errorf("the error is %v", err)
	}
}

// An election's name is cut where the prefix of the run's keys ends: at its
// last colon.
func TestCutElection(t *testing.T) {
	for name, want := range map[string][2]string{
		"recount:run-1:e1": {"recount:run-1:", "e1"}, "a:b": {"a:", "b"}, "billing": {"", "billing"}, "": {"", ""}, ":e": {":", "e"}, "a:": {"a:", ""},
	} {
		prefix, election, found := CutElection(name)
		if prefix != want[0] || election != want[1] || found != strings.Contains(name, ":") {
			t.Errorf("%q is cut into %q and %q, %v", name, prefix, election, found)
		}
	}
	for id, want := range map[string]string{"n1/abc": "n1", "n1": "n1", "": "", "host/n1/abc": "host/n1"} {
		if sim.NodeOf(id) != want {
			t.Errorf("the node of %q is %q", id, sim.NodeOf(id))
		}
	}
}

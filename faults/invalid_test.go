package faults_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/faults"
)

// refused demands an error of one line that has all the words.
func refused(t *testing.T, what string, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: taken; want an error with %q", what, words)
		return
	}
	if strings.ContainsAny(err.Error(), "\n\r") {
		t.Errorf("%s: more than a line: %q", what, err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v; want it to say %s", what, err, word)
		}
	}
}

// A fault that does not exist, or has other parameters than it can have, is
// refused with what to give instead.
func TestParseRefuses(t *testing.T) {
	type p = map[string]any
	for _, test := range []struct {
		name   string
		params p
		words  string // separated by |
	}{
		{"", nil, `no fault is called ""|give one of partition, requests-lost|scripts-flushed`},
		{"volcano", nil, `"volcano"|give one of partition`},
		{"two\nlines", nil, `"two\nlines"`},
		{"latncy", nil, `no fault is called "latncy": did you mean latency?`},
		{"Pause", nil, "did you mean pause"},
		{"clock", nil, "did you mean clock-rate or clock-jump or store-clock-jump?"},
		{"crash", p{"hard": true}, `crash: there is no parameter "hard": it has none`},
		{"latency", p{"base_ms": 1}, "latency: jitter_ms is missing: give milliseconds, such as 40"},
		{"latency", p{"base_ms": 1, "jitter_ms": 0, "loss": 1, "burst": 1}, `no parameter "burst": give base_ms, jitter_ms`},
		{"latency", p{"base_ms": "40ms", "jitter_ms": 0}, `base_ms is "40ms": give milliseconds`},
		{"latency", p{"base_ms": nil, "jitter_ms": 0}, "base_ms is null"},
		{"latency", p{"base_ms": []any{strings.Repeat("long\n", 99)}, "jitter_ms": 0}, `base_ms is ["long\nlong|…: give`},
		{"latency", p{"base_ms": math.NaN(), "jitter_ms": 0}, `base_ms is "NaN"`},
		{"latency", p{"base_ms": math.Inf(1), "jitter_ms": 0}, `base_ms is "+Inf"`},
		{"latency", p{"base_ms": json.Number("ten"), "jitter_ms": 0}, "base_ms is"},
		{"latency", p{"base_ms": 1e13, "jitter_ms": 0}, "base_ms is 1e+13, which is more than 290 years"},
		{"latency", p{"base_ms": -0.5, "jitter_ms": 0}, "base_ms is -0.5: give milliseconds|not below 0s"},
		{"latency", p{"base_ms": 5, "jitter_ms": 6}, "jitter_ms is 6 and base_ms only 5"},
		{"clock-rate", nil, "rate is missing: give a number above 0"},
		{"clock-rate", p{"rate": 0}, "rate is 0: give a number above 0"},
		{"clock-rate", p{"rate": -1.5}, "rate is -1.5"},
		{"clock-rate", p{"rate": true}, "rate is true"},
		{"clock-jump", p{}, "offset_ms is missing"},
		{"store-clock-jump", p{}, "by_ms is missing"},
		{"store-rewind", p{"by_ms": -1}, "by_ms is -1"},
		{"store-failover", p{"lag_ms": -1}, "lag_ms is -1"},
		{"store-split", p{"by_ms": 1}, "lag_ms is missing"},
		{"ttl-removed", p{"by_ms": 1}, "it has none"},
		{"bandwidth", p{"kilobytes_per_second": 0}, "kilobytes_per_second is 0: give a whole number from 1"},
		{"bandwidth", p{"kilobytes_per_second": 1.5}, "is 1.5: give a whole number"},
		{"bandwidth", p{"kilobytes_per_second": 2e9}, "is 2e+09: give a whole number"},
		{"partition", p{"cut": "replies"}, `cut is "replies", which is another fault: leave it out, or give "both"`},
		{"replies-lost", p{"cut": []any{}}, "cut is []"},
		{"store-loss", p{"keep_data": true}, "keep_data is true, which is another fault"},
	} {
		f, err := faults.Parse(test.name, test.params)
		if f != nil {
			t.Errorf("%s %v: got %v", test.name, test.params, f)
		}
		refused(t, test.name, err, append(strings.Split(test.words, "|"), "faults: ")...)
	}
}

// A step or a schedule that no run can carry out is refused, and the step
// named; what was there before is left as it was.
func TestScheduleRefuses(t *testing.T) {
	const good = `{"at":"1s","for":"1s","fault":"pause","target":"n1"}`
	for text, words := range map[string]string{
		`null`:       "there is no schedule",
		`{}`:         "a schedule is a list of steps",
		`"pause"`:    "a schedule is a list of steps",
		`[` + good:   "unexpected end",
		`[7]`:        "step 1: faults: this is no step",
		`[null]`:     `step 1: faults: "fault" is missing`,
		`[{"a":{}}]`: `unknown field "a"`,
		`[` + good + `,{"at":"1s","for":"1s","target":"n1"}]`:                                          `step 2: faults: "fault" is missing`,
		`[{"at":"1s","for":"1s","fault":"","target":"n1"}]`:                                            `"fault" is missing`,
		`[{"at":"1s","for":"1s","fault":"paus","target":"n1"}]`:                                        "did you mean pause",
		`[{"at":"1s","for":"1s","fault":"pause"}]`:                                                     `pause: "target" is missing: give "the leader"`,
		`[{"at":"1s","for":"1s","fault":"pause","target":""}]`:                                         `nobody is called "": give "the leader"`,
		`[{"at":"1s","for":"1s","fault":"pause","target":"the lieder"}]`:                               `nobody is called "the lieder"`,
		`[{"at":"1s","for":"1s","fault":"pause","target":"n1\n"}]`:                                     `nobody is called "n1\n"`,
		`[{"for":"1s","fault":"pause","target":"n1"}]`:                                                 `pause: "at" is missing: give a time`,
		`[{"at":"1s","fault":"pause","target":"n1"}]`:                                                  `pause: "for" is missing: give how long`,
		`[{"at":"1s","for":"","fault":"pause","target":"n1"}]`:                                         `"for" is missing`,
		`[{"at":"1","for":"1s","fault":"pause","target":"n1"}]`:                                        `"at" is "1": give a time, such as "1.5s"`,
		`[{"at":1,"for":"1s","fault":"pause","target":"n1"}]`:                                          "step 1: faults: this is no step",
		`[{"at":"-1ns","for":"1s","fault":"pause","target":"n1"}]`:                                     `pause: "at" is -1ns: give a time from 0s on`,
		`[{"at":"1s","for":"-1s","fault":"pause","target":"n1"}]`:                                      `"for" is -1s`,
		`[{"at":"2000000h","for":"2000000h","fault":"pause","target":"n1"}]`:                           "are more than 290 years",
		`[{"at":"1s","for":"1s","fault":"clock-rate","target":"n1","params":{"rate":0}}]`:              "rate is 0",
		`[{"at":"1s","for":"1s","fault":"clock-rate","target":"n1","params":{"rate":1e999}}]`:          "step 1: faults: this is no step",
		`[{"at":"1s","for":"1s","fault":"pause","target":"n1","params":{"hard":1}}]`:                   `no parameter "hard"`,
		`[{"at":"1s","for":"1s","fault":"pause","target":"n1","duration":"3s"}]`:                       `unknown field "duration"`,
		`[{"at":"1s","fault":"store-clock-jump","target":"store","params":{"by_ms":"half a second"}}]`: `by_ms is "half a second"`,
	} {
		schedule := faults.Schedule{{Fault: faults.Crash{}}}
		err := json.Unmarshal([]byte(text), &schedule)
		refused(t, text, err, words)
		if len(schedule) != 1 || schedule[0] != (faults.Step{Fault: faults.Crash{}}) {
			t.Errorf("%s: refused, and left behind %v", text, schedule)
		}
	}
}

// What could not be read back is not written.
func TestScheduleIsNotWrittenIfItCannotBeRead(t *testing.T) {
	ok := faults.Step{At: time.Second, For: time.Second, Fault: faults.Pause{}, Target: faults.Leader}
	for words, change := range map[string]func(*faults.Step){
		"a step without a fault":                    func(s *faults.Step) { s.Fault = nil },
		`nobody is called ""`:                       func(s *faults.Step) { s.Target = faults.Target{} },
		`nobody is called "the leader's neighbour"`: func(s *faults.Step) { s.Target = faults.Node("the leader's neighbour") },
		`"leader" cannot be told from the leader`:   func(s *faults.Step) { s.Target = faults.Node("leader") },
		`"at" is -1s`:                               func(s *faults.Step) { s.At = -time.Second },
		`"for" is -1s`:                              func(s *faults.Step) { s.For = -time.Second },
		"more than 290 years":                       func(s *faults.Step) { s.At, s.For = math.MaxInt64, 1 },
		"rate is 0":                                 func(s *faults.Step) { s.Fault = faults.ClockRate{} },
		`rate is "NaN"`:                             func(s *faults.Step) { s.Fault = faults.ClockRate{Rate: math.NaN()} },
		`cut is "", which is another fault`:         func(s *faults.Step) { s.Fault = faults.Partition{} },
		"cannot be written exactly":                 func(s *faults.Step) { s.Fault = faults.ClockJump{Offset: 1<<62 + 1} },
		`no fault is called "own"`:                  func(s *faults.Step) { s.Fault = own{} },
	} {
		step := ok
		change(&step)
		_, err := json.Marshal(faults.Schedule{ok, step})
		refused(t, words, err, words, "step 2: ")
	}
}

// own is a fault that no catalogue has.
type own struct{ faults.Pause }

func (own) Name() string { return "own" }

// Every target is found by what it is called, and by a short word; whatever is
// no role is the name of a candidate.
func TestParseTarget(t *testing.T) {
	for text, want := range map[string]faults.Target{
		"leader": faults.Leader, "present": faults.PresentLeader, "whoever": faults.PresentLeader, "whoever leads": faults.PresentLeader, "follower": faults.Follower, "minority": faults.Minority, "all": faults.All, "store": faults.Store,
		"n1": faults.Node("n1"), "Leader": faults.Node("Leader"), "node-2.example_a": faults.Node("node-2.example_a"), "Knoten-ä": faults.Node("Knoten-ä"),
	} {
		if got, err := faults.ParseTarget(text); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
		if got, err := faults.ParseTarget(want.String()); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", want, got, err, want)
		}
	}
	for _, text := range []string{"", " ", "a leader", "the leader ", "n1,n2", "n1\n", "n1\x00", "\xff"} {
		_, err := faults.ParseTarget(text)
		refused(t, text, err, `the name of a candidate, such as "n1"`)
	}
}

package fuzz

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/faults"
)

// example is a file as somebody might have written it.
const example = `{
  "recount_replay": 1,
  "broke": "AtMostOneLeader",
  "reason": "n2 (token 1) and n1 (token 2) both believed",
  "subject": "recount",
  "world": "virtual",
  "seed": 17,
  "nodes": 3,
  "lease": "15s",
  "renew": "5s",
  "retry": "1s",
  "drift": 0.01,
  "network": {"latency":"60µs","jitter":"60µs","spike_one_in":1000,"spike":"2ms"},
  "writes": "1.5s",
  "observes": "7.5s",
  "schedule": [
    {"at":"15s","for":"14s","fault":"partition","target":"the leader","params":{"cut":"both"}},
    {"at":"16s","for":"1s","fault":"crash","target":"n3"}
  ],
  "quiet": "39s",
  "return_within": "23.023s",
  "waived": {"FailoverBound":"because"}
}
`

// A file that was written by hand is written again letter by letter: nothing
// of it is lost, and it is what people can read.
func TestFileIsReadable(t *testing.T) {
	c, err := Parse([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.Marshal()
	if err != nil || string(text) != example {
		t.Errorf("%v\n%s\nwant\n%s", err, text, example)
	}
}

// A file that names a promise as an earlier version did is read as one with the present name.
func TestOldNameOfAPromiseIsRead(t *testing.T) {
	renamed := func(broke, waived string) string {
		return strings.NewReplacer(`"AtMostOneLeader"`, `"`+broke+`"`, `"FailoverBound"`, `"`+waived+`"`).Replace(example)
	}
	for _, names := range [][4]string{{"LossHeeded", "Stable", "StepsDownOnLoss", "Stable"}, {"Stable", "LossHeeded", "Stable", "StepsDownOnLoss"}} {
		old, err := Parse([]byte(renamed(names[0], names[1])))
		if err != nil {
			t.Fatal(err)
		}
		if now, err := Parse([]byte(renamed(names[2], names[3]))); err != nil || !reflect.DeepEqual(old, now) {
			t.Errorf("%q: %+v, want %+v, %v", names, old, now, err)
		}
	}
}

// Every case that can be drawn is written, and read back as what it is; a plan
// says the same as its case; and nothing is drawn that elector.Config or a
// reader would refuse.
func TestCasesSurviveFiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Cases(Pins{Subject: "recount"}, nil).Draw(t, "case")
		c.Failed = Failed{checker.Stable, "it <changed> & \"how\""}
		text, err := c.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		c.drawn = turned{}
		c.Schedule = append(faults.Schedule{}, c.Schedule...)
		if !reflect.DeepEqual(c, again) {
			t.Fatalf("written %+v\nread    %+v\n%s", c, again, text)
		}
		plan := FromPlan(c.Plan())
		plan.Failed = c.Failed
		if plan.Waived == nil {
			plan.Waived = c.Waived
		}
		if !reflect.DeepEqual(c, plan) {
			t.Fatalf("case %+v\nplan %+v", c, plan)
		}
	})
}

// What a file may leave out is filled in as for a case that is drawn.
func TestShortFile(t *testing.T) {
	c, err := Parse([]byte(`{"recount_replay":1,"subject":"recount","world":"virtual","seed":1,"nodes":3,
		"lease":"2s","renew":"600ms","retry":"100ms","drift":0.01,"schedule":[{"at":"1s","for":"1s","fault":"crash","target":"the leader"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if c.Writes != 200*time.Millisecond || c.Observes != time.Second || c.Network.Latency == 0 || c.Quiet < c.ReturnBound ||
		c.ReturnBound < c.Timings.Lease || c.FailoverBound == 0 || c.Steadfast || len(c.Waived) > 0 {
		t.Errorf("%+v", c)
	}
	if !reflect.DeepEqual(c.Schedule, faults.Schedule{{At: time.Second, For: time.Second, Fault: faults.Crash{}, Target: faults.Leader}}) {
		t.Errorf("the schedule is %v", c.Schedule)
	}
}

// badFiles are changes to the example, and a part of the one line that follows.
var badFiles = []struct{ name, old, new, want string }{
	{"another version", `"recount_replay": 1`, `"recount_replay": 2`, "version 2, and this program reads version 1"},
	{"version no number", `"recount_replay": 1`, `"recount_replay": "one"`, `version "one"`},
	{"no version", `"recount_replay": 1,`, ``, `"recount_replay" is missing`},
	{"cut off", `  "waived": {"FailoverBound":"because"}` + "\n}\n", ``, "cut off"},
	{"something follows", "\n}\n", "\n}\n{}", "no JSON"},
	{"comma missing", `"seed": 17,`, `"seed": 17`, "no JSON"},
	{"unknown field", `"seed": 17`, `"sed": 17`, `"sed" is not known`},
	{"unknown field in the network", `"jitter"`, `"jiter"`, `"jiter" is not known`},
	{"unknown field in a step", `"for":"1s"`, `"fro":"1s"`, `step 2: `},
	{"no subject", `"subject": "recount",`, ``, `"subject" is missing`},
	{"empty subject", `"recount",`, `"",`, `"subject" is empty`},
	{"no schedule", `"schedule": [`, `"waived": {}, "quiet": [`, `"quiet"`},
	{"schedule null", example[strings.Index(example, "[\n"):strings.Index(example, ",\n  \"quiet\"")], `null`, "no schedule"},
	{"seed no number", `"seed": 17`, `"seed": "abc"`, `"seed" is a string: give a whole number`},
	{"seed negative", `"seed": 17`, `"seed": -1`, `"seed" is a number -1`},
	{"live", `"world": "virtual"`, `"world": "live"`, `--world says where`},
	{"no nodes", `"nodes": 3`, `"nodes": 0`, "at least one"},
	{"too many nodes", `"nodes": 3`, `"nodes": 1000000`, "at most 1000"},
	{"half a node", `"nodes": 3`, `"nodes": 2.5`, "whole number"},
	{"lease no time", `"lease": "15s"`, `"lease": "15 seconds"`, `"15 seconds" is no time`},
	{"lease a number", `"lease": "15s"`, `"lease": 15`, "give a time"},
	{"lease negative", `"lease": "15s"`, `"lease": "-15s"`, "lease -15s is too short"},
	{"lease for ever", `"lease": "15s"`, `"lease": "876000h"`, "at most 24h0m0s"},
	{"lease in microseconds", `"lease": "15s"`, `"lease": "15.0005s"`, "whole milliseconds"},
	{"renew not below", `"renew": "5s"`, `"renew": "15s"`, "not below lease"},
	{"renew zero", `"renew": "5s"`, `"renew": "0s"`, "must be positive"},
	{"no second try", `"renew": "5s"`, `"renew": "9.9s"`, "one failed renewal would end a term"},
	{"drift negative", `"drift": 0.01`, `"drift": -0.01`, `"drift" is -0.01`},
	{"drift too large", `"drift": 0.01`, `"drift": 1`, `"drift" is 1`},
	{"latency negative", `"latency":"60µs"`, `"latency":"-60µs"`, "network.latency"},
	{"latency zero", `"latency":"60µs"`, `"latency":"0s"`, "takes some time"},
	{"spikes negative", `"spike_one_in":1000`, `"spike_one_in":-1`, "network.spike_one_in"},
	{"writes zero", `"writes": "1.5s"`, `"writes": "0s"`, `"writes" is 0s`},
	{"writes too often", `"quiet": "39s"`, `"quiet": "700h", "observes": "1ms"`, "about"},
	{"quiet negative", `"quiet": "39s"`, `"quiet": "-1s"`, `"quiet" is -1s`},
	{"tokens for centuries", `"quiet": "39s"`, `"quiet": "39s", "tokens": 1000000000001`, `"tokens" is 1000000000001`},
	{"longer and shorter", `"quiet": "39s"`, `"quiet": "39s", "long_lease": "14s"`, `"long_lease" is 14s`},
	{"longer by a microsecond", `"quiet": "39s"`, `"quiet": "39s", "long_lease": "15.000001s"`, `"long_lease" is`},
	{"hands over no yes", `"quiet": "39s"`, `"quiet": "39s", "hands_over": 1`, "true or false"},
	{"at negative", `"at":"15s"`, `"at":"-15s"`, `step 1`},
	{"for for ever", `"for":"14s"`, `"for":"99999h"`, "step 1 of the schedule ends at"},
	{"unknown fault", `"fault":"crash"`, `"fault":"crush"`, `did you mean crash`},
	{"unknown target", `"target":"the leader"`, `"target":"the boss"`, `step 1`},
	{"a candidate too many", `"target":"n3"`, `"target":"n4"`, "the candidates are n1 to n3"},
	{"store for a candidate", `"target":"n3"`, `"target":"the store"`, "hits candidates"},
	{"candidate for the store", `"fault":"crash"`, `"fault":"store-pause"`, "it hits the store"},
	{"unknown promise", `"broke": "AtMostOneLeader"`, `"broke": "AtMostTwoLeaders"`, "no promise"},
	{"unknown waiver", `{"FailoverBound":`, `{"Failover":`, "no promise"},
	{"waived no object", `{"FailoverBound":"because"}`, `["FailoverBound"]`, `"waived" is a array`},
	{"a list", example, `[1]`, "not an object"},
	{"empty", example, ``, "cut off"},
	{"no JSON at all", example, "hello\n", "no JSON"},
	{"too large", example, strings.Repeat(" ", maxBytes+1), "bytes"},
}

// Whatever is wrong with a file gets one line that says what, and is a
// FormatError.
func TestBadFiles(t *testing.T) {
	for _, bad := range badFiles {
		if !strings.Contains(example, bad.old) {
			t.Fatalf("%s: %q is not in the example", bad.name, bad.old)
		}
		_, err := Parse([]byte(strings.Replace(example, bad.old, bad.new, 1)))
		var format *FormatError
		if !errors.As(err, &format) || !strings.Contains(err.Error(), bad.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want one line about %q", bad.name, err, bad.want)
		}
	}
}

// A file that is cut off anywhere is refused, whatever the cut leaves.
func TestCutOffAnywhere(t *testing.T) {
	for n := range len(example) - 2 {
		if _, err := Parse([]byte(example[:n])); err == nil {
			t.Errorf("%d of %d bytes are read as a case", n, len(example))
		}
	}
}

// No file makes the reader panic, and what it accepts can be written again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(example))
	for _, bad := range badFiles {
		if len(bad.new) < 1000 {
			f.Add([]byte(strings.Replace(example, bad.old, bad.new, 1)))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(data)
		if err != nil {
			return
		}
		if _, err := c.Marshal(); err != nil {
			t.Errorf("%v\n%s", err, data)
		}
	})
}

package faults_test

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recount-io/recount/faults"
)

// anyFault draws a fault of the catalogue, with any parameters that can be
// written.
func anyFault(t *rapid.T) faults.Fault {
	// Exact to the nanosecond up to 99 days, and to the millisecond beyond.
	length := rapid.OneOf(
		rapid.Int64Range(0, int64(99*24*time.Hour)),
		rapid.Map(rapid.Int64Range(0, math.MaxInt64/1_000_000), func(ms int64) int64 { return ms * 1e6 }),
	)
	draw := func(label string) time.Duration { return time.Duration(length.Draw(t, label)) }
	switch f := rapid.SampledFrom(faults.Catalogue()).Draw(t, "fault").(type) {
	case faults.Latency:
		f.Base = draw("base")
		f.Jitter = min(draw("jitter"), f.Base)
		return f
	case faults.Bandwidth:
		return faults.Bandwidth{Kilobytes: rapid.IntRange(1, 1e9).Draw(t, "kilobytes")}
	case faults.ClockRate:
		return faults.ClockRate{Rate: rapid.Float64Range(math.SmallestNonzeroFloat64, math.MaxFloat64).Draw(t, "rate")}
	case faults.ClockJump:
		return faults.ClockJump{Offset: draw("offset") * sign.Draw(t, "sign")}
	case faults.StoreClockJump:
		return faults.StoreClockJump{By: draw("by") * sign.Draw(t, "sign")}
	case faults.StoreRewind:
		return faults.StoreRewind{By: draw("by")}
	case faults.StoreFailover:
		return faults.StoreFailover{Lag: draw("lag")}
	case faults.StoreSplit:
		return faults.StoreSplit{Lag: draw("lag")}
	default:
		if params := f.Params(); len(params) > 0 && params["cut"] == nil && params["keep_data"] == nil && !f.Effect().Attended {
			t.Fatalf("parameters of %s are not drawn: add it here", f.Name())
		}
		return f
	}
}

var sign = rapid.SampledFrom([]time.Duration{1, -1})

var anyTarget = rapid.OneOf(
	rapid.SampledFrom([]faults.Target{faults.Leader, faults.PresentLeader, faults.Follower, faults.Minority, faults.All, faults.Store}),
	rapid.Map(rapid.StringMatching(`[a-zA-Z0-9._-]{1,3}`), faults.Node), // too short for a role's name, but for "all"
)

func anyStep(t *rapid.T) faults.Step {
	step := faults.Step{Fault: anyFault(t), Target: anyTarget.Draw(t, "target")}
	if step.Target == faults.Node("all") {
		step.Target = faults.All
	}
	step.At = time.Duration(rapid.Int64Range(0, math.MaxInt64/2).Draw(t, "at"))
	step.For = time.Duration(rapid.Int64Range(0, math.MaxInt64/2).Draw(t, "for"))
	return step
}

// Whatever a fault's parameters are: its name and they give the same fault
// again, straight away and after a detour through JSON, as in a history.
func TestParseUndoesNameAndParams(t *testing.T) {
	for _, f := range append(examples(), faults.Catalogue()...) {
		if got, err := faults.Parse(f.Name(), f.Params()); err != nil || got != f {
			t.Errorf("%#v: %#v, %v", f, got, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		f := anyFault(t)
		if got, err := faults.Parse(f.Name(), f.Params()); err != nil || got != f {
			t.Fatalf("%#v: %#v, %v", f, got, err)
		}
		text, err := json.Marshal(f.Params())
		if err != nil {
			t.Fatal(err)
		}
		for _, exact := range []bool{false, true} { // numbers as float64 or as json.Number
			decoder := json.NewDecoder(bytes.NewReader(text))
			if exact {
				decoder.UseNumber()
			}
			var params map[string]any
			if err := decoder.Decode(&params); err != nil {
				t.Fatal(err)
			}
			if got, err := faults.Parse(f.Name(), params); err != nil || got != f {
				t.Fatalf("%#v: %s: %#v, %v", f, text, got, err)
			}
		}
	})
}

// Any schedule is read as what was written.
func TestScheduleRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		schedule := faults.Schedule(rapid.SliceOfN(rapid.Custom(anyStep), 0, 5).Draw(t, "schedule"))
		text, err := json.Marshal(schedule)
		if err != nil {
			t.Fatal(err)
		}
		var got faults.Schedule
		if err := json.Unmarshal(text, &got); err != nil || len(got) != len(schedule) {
			t.Fatalf("%s: %v, %v", text, got, err)
		}
		for i := range got {
			if got[i] != schedule[i] {
				t.Fatalf("%s: step %d is %#v, want %#v", text, i+1, got[i], schedule[i])
			}
		}
	})
}

// What a schedule looks like in a file.
func TestScheduleText(t *testing.T) {
	sec := time.Second
	schedule := faults.Schedule{
		{At: 1500 * time.Millisecond, For: 2 * sec, Fault: faults.Latency{Base: 40 * time.Millisecond, Jitter: 250 * time.Microsecond}, Target: faults.Leader},
		{At: 0, For: 0, Fault: faults.Pause{}, Target: faults.Node("n2")},
		{At: sec, Fault: faults.KeyDeleted{}, Target: faults.Store},
		{At: sec, For: sec, Fault: faults.KeyDeleted{}, Target: faults.Store}, // For means nothing, and is kept
		{At: sec, For: sec, Fault: faults.StoreCrash{KeepData: true}, Target: faults.Store},
		{At: sec, For: sec, Fault: faults.ClockJump{Offset: -time.Nanosecond}, Target: faults.All},
	}
	want := `[{"at":"1.5s","for":"2s","fault":"latency","target":"the leader","params":{"base_ms":40,"jitter_ms":0.25}},
		{"at":"0s","for":"0s","fault":"pause","target":"n2"},
		{"at":"1s","fault":"key-deleted","target":"the store"},
		{"at":"1s","for":"1s","fault":"key-deleted","target":"the store"},
		{"at":"1s","for":"1s","fault":"store-crash","target":"the store","params":{"keep_data":true}},
		{"at":"1s","for":"1s","fault":"clock-jump","target":"all candidates","params":{"offset_ms":-0.000001}}]`
	want = strings.ReplaceAll(want, "\n\t\t", "")
	for s, want := range map[*faults.Schedule]string{&schedule: want, {}: "[]", new(faults.Schedule): "[]"} {
		if text, err := json.Marshal(s); err != nil || string(text) != want {
			t.Errorf("got\n%s, %v\nwant\n%s", text, err, want)
		}
	}
	// As people write it: short names of targets, no parameters that the
	// fault's name implies, other units.
	var got faults.Schedule
	err := json.Unmarshal([]byte(`[
		{"fault": "requests-lost", "target": "minority", "at": "0.5m", "for": "1000ms"},
		{"fault": "store-loss", "target": "store", "at": "1h", "for": "0", "params": {}},
		{"fault": "partition", "target": "leader", "at": "1s", "for": "1s", "params": {"cut": "both"}}]`), &got)
	if err != nil || !reflect.DeepEqual(got, faults.Schedule{
		{At: 30 * sec, For: sec, Fault: faults.Partition{How: faults.CutRequests}, Target: faults.Minority},
		{At: time.Hour, Fault: faults.StoreCrash{}, Target: faults.Store},
		{At: sec, For: sec, Fault: faults.Partition{How: faults.CutBoth}, Target: faults.Leader},
	}) {
		t.Errorf("got %v, %v", got, err)
	}
}

// The parameters keep the meaning that they have had in histories: whole
// milliseconds are whole numbers.
func TestParamsOfDurations(t *testing.T) {
	for d, want := range map[time.Duration]any{
		0: int64(0), 40 * time.Millisecond: int64(40), -time.Hour: int64(-3600000),
		250 * time.Microsecond: 0.25, -1500 * time.Microsecond: -1.5, 40*time.Millisecond + 1: 40.000001,
	} {
		if got := (faults.ClockJump{Offset: d}).Params()["offset_ms"]; got != want {
			t.Errorf("%v is %v (%T), want %v (%T)", d, got, got, want, want)
		}
	}
}

// FuzzSchedule shows that no text makes the decoder panic, that what it takes
// is fit to run and can be written again, and that it says in one line why it
// does not take the rest.
func FuzzSchedule(f *testing.F) {
	for _, seed := range []string{
		`[]`, `null`, `[{"at":"1.5s","for":"2s","fault":"latency","target":"the leader","params":{"base_ms":40,"jitter_ms":10}}]`,
		`[{"at":"1s","fault":"key-deleted","target":"store"}]`, `[{"at":"-1s","for":"1s","fault":"clock-rate","target":"n1","params":{"rate":1e999}}]`,
		`[{"at":"1s","for":"1s","fault":"bandwidth","target":"all","params":{"kilobytes_per_second":[{}],"\n":null}}]`, `[null,{}]`, `[{"at":"1s"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var schedule faults.Schedule
		if err := json.Unmarshal(text, &schedule); err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") || len(schedule) > 0 {
				t.Errorf("%q: %d steps, error %q", text, len(schedule), err)
			}
			return
		}
		for _, step := range schedule {
			if step.At < 0 || step.For < 0 || step.Fault == nil || step.Target == (faults.Target{}) || step.End() < step.At {
				t.Errorf("%q: %+v", text, step)
			}
		}
		again, err := json.Marshal(schedule)
		if err != nil {
			// Finer than a nanosecond after 99 days, which is told apart only
			// after it was rounded.
			if !strings.Contains(err.Error(), "cannot be written exactly") {
				t.Errorf("%q was read as %+v: %v", text, schedule, err)
			}
			return
		}
		var back faults.Schedule
		if err := json.Unmarshal(again, &back); err != nil || !reflect.DeepEqual(back, schedule) {
			t.Errorf("%q was written as %s and read as %+v, %v", text, again, back, err)
		}
	})
}

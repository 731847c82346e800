package protocol

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/recount-io/recount/history"
)

func pointer[T any](v T) *T { return &v }

// Lines as people write them, in any language, are understood; what is no
// event of the protocol is not.
func TestParse(t *testing.T) {
	type e = history.Event
	for _, test := range []struct {
		text string
		want *Line // nil: no line of the protocol
	}{
		// The examples of the protocol's description.
		{`{"event":"elected","token":7,"until_ms":1800}`, &Line{Name: "elected", UntilMS: pointer(1800.0), Event: e{Kind: history.Elected, Token: 7}}},
		{`{"event":"extended","token":7,"until_ms":1800}`, &Line{Name: "extended", UntilMS: pointer(1800.0), Event: e{Kind: history.Extended, Token: 7}}},
		{`{"event":"deposed","token":7,"why":"expired"}`, &Line{Name: "deposed", Event: e{Kind: history.Deposed, Token: 7, Why: history.Expired}}},
		// An elector without tokens, which believes until further notice.
		{`{"event":"elected"}`, &Line{Name: "elected", Event: e{Kind: history.Elected}}},
		{`{"event":"elected","token":0,"until_ms":0}`, &Line{Name: "elected", UntilMS: pointer(0.0), Event: e{Kind: history.Elected}}},
		{`{"event":"elected","until_ms":0.5,"at":12}`, &Line{Name: "elected", UntilMS: pointer(0.5), At: pointer(time.Duration(12)), Event: e{Kind: history.Elected}}},
		{`{"event":"extended","until":1800}`, &Line{Name: "extended", Event: e{Kind: history.Extended, Until: history.At(1800)}}},
		// Operations, with the fields of the history.
		{
			`{"event":"invoke","at":5,"op":3,"call":"acquire","ttl_ns":2000000000,"nonce":"x"}`,
			&Line{Name: "invoke", At: pointer(time.Duration(5)), Event: e{Kind: history.Invoke, Op: 3, Call: history.Acquire, TTL: 2 * time.Second, Nonce: "x"}},
		},
		{`{"event":"ok","op":3,"token":7}`, &Line{Name: "ok", Event: e{Kind: history.Ok, Op: 3, Token: 7}}},
		{`{"event":"fail","op":3,"holder":"n2","fence":9}`, &Line{Name: "fail", Event: e{Kind: history.Fail, Op: 3, Holder: "n2", Fence: 9}}},
		{`{"event":"info","op":3,"error":"time-out"}`, &Line{Name: "info", Event: e{Kind: history.Info, Op: 3, Error: "time-out"}}},
		{`{"event":"note","text":"hello"}`, &Line{Name: "note", Event: e{Kind: history.Note, Text: "hello"}}},
		// The history's own name of the field; event wins over kind.
		{`{"kind":"elected","token":7}`, &Line{Name: "elected", Event: e{Kind: history.Elected, Token: 7}}},
		{`{"event":"deposed","kind":"elected"}`, &Line{Name: "deposed", Event: e{Kind: history.Deposed}}},
		// What only steered candidates say.
		{`{"event":"ready"}`, &Line{Name: EventReady}},
		{`{"event":"clock","rate":0.5,"offset_ms":-7}`, &Line{Name: EventClock, Rate: 0.5, OffsetMS: -7}},
		{`{"event":"stall","lasted_ms":130.5}`, &Line{Name: EventStall, LastedMS: 130.5}},
		{`{"event":"usage","goroutines":12,"heap_bytes":900000}`, &Line{Name: EventUsage, Goroutines: 12, HeapBytes: 900000}},
		// Spaces, the end of a Windows line, unknown fields.
		{" {\"event\" : \"deposed\", \"mood\":[1]}\r\n", &Line{Name: "deposed", Event: e{Kind: history.Deposed}}},
		// Not for candidates to say: the harness records these itself.
		{`{"event":"fault","phase":"on"}`, nil},
		{`{"event":"healed"}`, nil},
		{`{"event":"audit"}`, nil},
		{`{"event":"exit"}`, nil},
		{`{"event":"start"}`, nil},
		{`{"kind":"healed"}`, nil},
		{`{"event":"healed","kind":"elected"}`, nil},
		// No events.
		{`{"event":"promoted"}`, nil},
		{`{"event":"Elected"}`, nil},
		{`{"event":7}`, nil},
		{`{"event":"elected","token":-1}`, nil},
		{`{"event":"elected","token":"seven"}`, nil},
		{`{"event":"elected","until_ms":1e999}`, nil},
		{`{"event":"elected"} {"event":"deposed"}`, nil},
		{`{}`, nil},
		{`null`, nil},
		{`[]`, nil},
		{`"elected"`, nil},
		{`I am the leader`, nil},
		{``, nil},
		{"\xff\xfe{}", nil},
	} {
		got, ok := Parse([]byte(test.text))
		switch {
		case ok != (test.want != nil):
			t.Errorf("%s: understood: %v (%+v)", test.text, ok, got)
		case !ok && !reflect.DeepEqual(got, Line{}):
			t.Errorf("%s: not understood, and yet %+v", test.text, got)
		case ok && !reflect.DeepEqual(got, *test.want):
			t.Errorf("%s:\n got %+v\nwant %+v", test.text, got, *test.want)
		}
	}
}

// A line that our own candidates print is understood as what it was.
func TestParseReadsWhatCandidatesPrint(t *testing.T) {
	for _, want := range []Line{
		{Name: EventReady},
		{Name: EventClock, Rate: 0.99, OffsetMS: 3600000},
		{Name: "ok", At: pointer(time.Duration(0)), Event: history.Event{Kind: history.Ok, Op: 1, Call: history.Acquire, Token: 1<<64 - 1}},
		{Name: "elected", At: pointer(time.Second), Event: history.Event{Kind: history.Elected, Token: 3, Until: history.At(0)}},
	} {
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := Parse(text); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %+v\nwant %+v", text, got, want)
		}
	}
}

// FuzzParse shows that no line makes the parser panic, that what it
// understands is an event for candidates to tell, and that it means the same
// once it was written again.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`{"event":"elected","token":7,"until_ms":1800}`, `{"event":"invoke","at":5,"op":3,"call":"acquire","ttl_ns":2,"nonce":"x"}`,
		`{"event":"clock","rate":0.5,"offset_ms":-7}`, `{"kind":"healed"}`, `null`, `I lead`, `{"event":"note","text":"\ud800","params":{"a":[]}}`,
		`{"event":"stall","lasted_ms":1e300}`, `{"event":"ok","at":-1,"until":-9223372036854775808}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		line, ok := Parse(text)
		if !ok {
			return
		}
		steering := line.Name == EventReady || line.Name == EventClock || line.Name == EventStall
		if !steering && string(line.Kind) != line.Name {
			t.Errorf("%q is the event %s and of kind %s", text, line.Name, line.Kind)
		}
		switch line.Kind {
		case history.Fault, history.Healed, history.Audit, history.Exit, history.Start:
			if !steering {
				t.Errorf("%q: a candidate says %s", text, line.Kind)
			}
		}
		written, err := json.Marshal(line)
		if err != nil {
			t.Fatalf("%q does not write again: %v", text, err)
		}
		again, ok := Parse(written)
		if !ok {
			t.Fatalf("%q is understood, %q is not", text, written)
		}
		if second, err := json.Marshal(again); err != nil || string(second) != string(written) {
			t.Errorf("%q, read and written: %q, %v", written, second, err)
		}
	})
}

// The clock of the run never goes back.
func TestMonotonic(t *testing.T) {
	last := Monotonic()
	for range 1000 {
		now := Monotonic()
		if now < last || now <= 0 {
			t.Fatalf("%v follows %v", now, last)
		}
		last = now
	}
}

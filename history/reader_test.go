package history_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/recount-io/recount/history"
)

const header = `{"recount_history":1,"scenario":"steady","nodes":["n1"],"lease_ns":1000000000}` + "\n"

// full is a history in which every field of every kind is set.
func full() *history.History {
	return &history.History{
		Header: history.Header{
			Version: history.Version, Scenario: "crash-leader", Subject: "recount", World: "live", Seed: 1<<64 - 1,
			Nodes: []string{"n1", "n2"}, Lease: 2 * time.Second, ClockError: 100 * time.Microsecond, DriftPPM: 10000,
			Promises: []string{"Stable"}, Waived: map[string]string{"FailoverBound": "a < b & c"},
			Renew: time.Second, Retry: 1, FailoverBound: 2, ReturnBound: 3, Margin: time.Millisecond, Write: time.Second, Steadfast: true, Foreign: true, Redis: "process 7.0.15", Repro: "chaos run",
		},
		Events: []history.Event{
			{Seq: 1, At: 0, Kind: history.Start, Node: "n1"},
			{Seq: 2, At: 5, Kind: history.Invoke, Node: "n1", Election: "e1", Op: 1, Call: history.Acquire, TTL: 2 * time.Second, Nonce: "x", Try: 7},
			{Seq: 3, At: 5, Kind: history.Ok, Node: "n1", Op: 1, Call: history.Acquire, Token: 1<<64 - 1},
			{Seq: 4, At: 6, Kind: history.Elected, Node: "n1", Token: 3, Until: history.At(0)},
			{Seq: 5, At: 7, Kind: history.Extended, Node: "n1", Token: 3, Until: history.At(9)},
			{Seq: 6, At: 8, Kind: history.Deposed, Node: "n1", Token: 3, Why: history.Expired},
			{Seq: 7, At: 9, Kind: history.Invoke, Node: "n1", Op: 2, Call: history.Write, Value: "<v>\u2028\n", Token: 3},
			{Seq: 8, At: 9, Kind: history.Fail, Node: "n1", Op: 2, Call: history.Write, Fence: 4, Holder: "n2", Stands: true},
			{Seq: 9, At: 9, Kind: history.Info, Node: "n1", Op: 3, Error: "time-out"},
			{Seq: 10, At: 9, Kind: history.Audit, Call: history.Renew, Nonce: "x", Applied: history.Bool(false)},
			{Seq: 11, At: 9, Kind: history.Fault, ID: "f1", Fault: "store-clock-jump", Phase: history.On, Targets: []string{history.StoreTarget},
				Params: map[string]any{"by_ms": 400.0, "cut": "both"}, Shorten: 400 * time.Millisecond, Void: true, Effect: &history.Effect{Skews: true}},
			{Seq: 12, At: 10, Kind: history.Fault, ID: "f1", Phase: history.Off, Effective: history.Bool(true), Evidence: "seen", Since: history.At(0)},
			{Seq: 13, At: 11, Kind: history.Healed},
			{Seq: 14, At: 12, Kind: history.Note, Text: "ü", Arrived: true, Restated: true,
				Probe: &history.Probe{Latency: 1, Error: "time-out", P50: 2, P99: 3, Limit: 4, Stopped: true}},
			{Seq: 15, At: 13, Kind: history.Note, Node: "n2", Usage: &history.Usage{Resident: 1 << 40, Descriptors: 9, Threads: 8, Goroutines: 7, Heap: 6}},
			{Seq: 16, At: 13, Kind: history.Note, Wire: &history.Wire{Lock: "l", Operations: 9, Understood: 8}},
			{Seq: 17, At: history.MaxTime, Kind: history.Exit, Node: "n1", Why: history.ByItself, Text: "exit status 1"},
		},
	}
}

func write(t testing.TB, h *history.History) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := h.Write(&file); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// What is written loads equal, and is the same bytes when written again.
func TestRoundTrip(t *testing.T) {
	want := full()
	file := write(t, want)
	got, err := history.Load(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("loaded\n%+v\nwritten\n%+v", got, want)
	}
	if again := write(t, got); !bytes.Equal(again, file) {
		t.Errorf("written again\n%s\nfirst\n%s", again, file)
	}
	if lines := bytes.Count(file, []byte("\n")); lines != len(want.Events)+1 || bytes.Contains(file, []byte(`\u003c`)) {
		t.Errorf("%d lines, or escaped for HTML:\n%s", lines, file)
	}
}

// The full history has every field, so that a field that is not written shows.
func TestFullHistorySetsEveryField(t *testing.T) {
	set := map[string]bool{}
	for _, e := range full().Events {
		v := reflect.ValueOf(e)
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				set[v.Type().Field(i).Name] = true
			}
		}
	}
	event := reflect.TypeFor[history.Event]()
	for i := range event.NumField() {
		if name := event.Field(i).Name; name != "_" && !set[name] {
			t.Errorf("no event sets %s", name)
		}
	}
	v := reflect.ValueOf(full().Header)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; name != "_" && v.Field(i).IsZero() {
			t.Errorf("the header does not set %s", name)
		}
	}
}

// Writing stamps the version that the format has, whatever the header says,
// and hands on the writer's error.
func TestWriteVersionAndErrors(t *testing.T) {
	h := full()
	h.Header.Version = 0
	if _, err := history.Load(bytes.NewReader(write(t, h))); err != nil {
		t.Error(err)
	}
	if h.Header.Version != 0 {
		t.Error("Write changed the history")
	}
	// The buffer holds small histories until the end; a large one fails before.
	for _, events := range []int{0, 5000} {
		h.Events = make([]history.Event, events)
		if err := h.Write(brokenWriter{}); !errors.Is(err, errDisk) {
			t.Errorf("%d events: %v, want the writer's error", events, err)
		}
	}
	h.Events = []history.Event{{Seq: 4, Params: map[string]any{"f": func() {}}}}
	if err := h.Write(io.Discard); err == nil || !strings.Contains(err.Error(), "event 4") {
		t.Errorf("an event that is no JSON: %v", err)
	}
}

var errDisk = errors.New("disk full")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errDisk }

// Where a file stops being a history the reader says in which line, what is
// wrong, and what to do.
func TestReaderErrors(t *testing.T) {
	note := func(seq, at int) string { return fmt.Sprintf(`{"seq":%d,"at":%d,"kind":"note"}`+"\n", seq, at) }
	for _, test := range []struct {
		name, file string
		line       int
		what       string
	}{
		{"empty", "", 1, "the file is empty"},
		{"blank header", "\n", 1, "not JSON"},
		{"no JSON", "seven\n", 1, "not JSON"},
		{"header missing", note(1, 0), 1, `no header: the field "recount_history" is missing`},
		{"null header", "null\n", 1, "no header"},
		{"later version", `{"recount_history":2}` + "\n", 1, "history version 2, this program reads version 1"},
		{"negative version", `{"recount_history":-1}` + "\n", 1, "history version -1"},
		{"header of a wrong type", `{"recount_history":1,"nodes":7}` + "\n", 1, "not JSON"},
		{"header cut off", `{"recount_history":1}`, 1, "cut off in the middle of a line"},
		{"cut off", header + note(1, 0) + `{"seq":2,"a`, 3, "cut off in the middle of a line"},
		{"cut off before the line's end", header + strings.TrimSpace(note(1, 0)), 2, "cut off in the middle of a line"},
		{"gap", header + note(1, 0) + note(3, 0), 3, "out of order: seq 3 follows 1"},
		{"begins late", header + note(2, 0), 2, "out of order: seq 2 follows 0"},
		{"twice", header + note(1, 0) + note(1, 0), 3, "out of order: seq 1 follows 1"},
		{"back in time", header + note(1, 7) + note(2, 6), 3, "out of order: time 6 follows 7"},
		{"before the run", header + note(1, -1), 2, "at is -1"},
		{"unknown kind", header + `{"seq":1,"kind":"rumour"}` + "\n", 2, `unknown kind "rumour"`},
		{"no kind", header + `{"seq":1}` + "\n", 2, `unknown kind ""`},
		{"blank line", header + "\n" + note(1, 0), 2, "not an event"},
		{"wrong type", header + `{"seq":1,"kind":"note","at":"now"}` + "\n", 2, "not an event"},
		{"two on a line", header + strings.TrimSpace(note(1, 0)) + note(2, 0), 2, "not an event"},
		{"negative lease", `{"recount_history":1,"lease_ns":-1}` + "\n", 1, "lease_ns is -1"},
		{"negative clock error", `{"recount_history":1,"clock_error_ns":-1}` + "\n", 1, "clock_error_ns is -1"},
		{"negative drift", `{"recount_history":1,"drift_ppm":-1}` + "\n", 1, "drift_ppm is -1"},
		{"drift of a whole", `{"recount_history":1,"drift_ppm":1000000}` + "\n", 1, "drift_ppm is 1000000"},
		{"negative renewals", `{"recount_history":1,"renew_ns":-1}` + "\n", 1, "renew_ns is -1"},
		{"endless retry", `{"recount_history":1,"retry_ns":9223372036854775807}` + "\n", 1, "retry_ns is 9223372036854775807"},
		{"endless lease", `{"recount_history":1,"lease_ns":360000000000000001}` + "\n", 1, "lease_ns is 360000000000000001"},
		{"endless clock error", `{"recount_history":1,"clock_error_ns":9223372036854775807}` + "\n", 1, "clock_error_ns is"},
		{"negative failover bound", `{"recount_history":1,"failover_bound_ns":-1}` + "\n", 1, "failover_bound_ns is -1"},
		{"negative return bound", `{"recount_history":1,"return_bound_ns":-1}` + "\n", 1, "return_bound_ns is -1"},
		{"negative margin", `{"recount_history":1,"margin_ns":-1}` + "\n", 1, "margin_ns is -1"},
		{"lease of no number", `{"recount_history":1,"lease_ns":1e30}` + "\n", 1, "lease_ns"},
		{"after all runs", header + note(1, int(history.MaxTime)+1), 2, "at is 3600000000000000001"},
		{"at of no number", header + `{"seq":1,"at":1e30,"kind":"note"}` + "\n", 2, "at"},
		{"belief ends before the run", header + `{"seq":1,"at":5,"kind":"elected","until":-1}` + "\n", 2, "until is -1"},
		{"belief ends after all runs", header + `{"seq":1,"at":5,"kind":"elected","until":9223372036854775807}` + "\n", 2, "until is 9223372036854775807"},
		{"negative time to live", header + `{"seq":1,"at":5,"kind":"invoke","ttl_ns":-1}` + "\n", 2, "ttl_ns is -1"},
		{"endless time to live", header + `{"seq":1,"at":5,"kind":"invoke","ttl_ns":9223372036854775807}` + "\n", 2, "ttl_ns is 9223372036854775807"},
		{"in force before the run", header + `{"seq":1,"at":5,"kind":"fault","since":-1}` + "\n", 2, "since is -1"},
		{"shortens by more than there is", header + `{"seq":1,"at":5,"kind":"fault","shorten_ns":9223372036854775807}` + "\n", 2, "shorten_ns is 9223372036854775807"},
		{"lengthens for ever", header + `{"seq":1,"at":5,"kind":"fault","shorten_ns":-9223372036854775808}` + "\n", 2, "shorten_ns is -9223372036854775808"},
		{"over-long line", header + note(1, 0) + strings.Repeat("x", 5<<20) + "\n", 3, "line longer than 4 MiB"},
		{"line that is longer by one byte", header + filled(4<<20+1) + "\n", 2, "line longer than 4 MiB"},
		{"line that is longer by one byte, as Windows ends it", header + filled(4<<20+1) + "\r\n", 2, "line longer than 4 MiB"},
		{"line of too many ends", header + strings.Repeat("\r", 4<<20+2) + "\n", 2, "line longer than 4 MiB"},
		{"over-long line without an end", header + strings.Repeat("x", 5<<20), 2, "line longer than 4 MiB"},
	} {
		h, err := history.Load(strings.NewReader(test.file))
		var wrong *history.FormatError
		switch {
		case h != nil || !errors.As(err, &wrong):
			t.Errorf("%s: loaded %v, error %v; want a FormatError", test.name, h, err)
		case wrong.Line != test.line || !strings.Contains(wrong.What, test.what):
			t.Errorf("%s: %v; want line %d, %s", test.name, err, test.line, test.what)
		case wrong.Mend == "" || !strings.Contains(err.Error(), wrong.Mend) || !strings.Contains(err.Error(), fmt.Sprintf("line %d", wrong.Line)):
			t.Errorf("%s: %q does not say where and what to do", test.name, err)
		}
	}
}

// filled is the line of an event that has so many bytes.
func filled(bytes int) string {
	const before, after = `{"seq":1,"at":3,"kind":"note","text":"a","x":"`, `"}`
	return before + strings.Repeat("x", bytes-len(before)-len(after)) + after
}

// Lines may end as Windows ends them, carry fields that are not known, and be
// longer than any buffer; the reader may get them byte by byte.
func TestReaderAccepts(t *testing.T) {
	long := strings.Repeat("ü", 1<<20)
	for name, file := range map[string]string{
		"CRLF":           strings.ReplaceAll(header+`{"seq":1,"at":3,"kind":"note","text":"a"}`+"\n", "\n", "\r\n"),
		"unknown fields": strings.Replace(header, "{", `{"moon":{"phase":[1]},`, 1) + `{"mood":null,"seq":1,"at":3,"kind":"note","text":"a","x":{"kind":"z"}}` + "\n",
		"long line":      header + `{"seq":1,"at":3,"kind":"note","text":"a","x":"` + long + `"}` + "\n",
		"longest line":   header + filled(4<<20) + "\n",
		"longest, CRLF":  header + filled(4<<20) + "\r\n",
	} {
		for _, input := range []io.Reader{strings.NewReader(file), iotest.HalfReader(strings.NewReader(file)), iotest.DataErrReader(strings.NewReader(file))} {
			h, err := history.Load(input)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			want := []history.Event{{Seq: 1, At: 3, Kind: history.Note, Text: "a"}}
			if h.Header.Scenario != "steady" || !reflect.DeepEqual(h.Events, want) {
				t.Errorf("%s: loaded %.200v", name, fmt.Sprint(h))
			}
		}
	}
}

// The error of the file itself is handed on, with the line at which it came.
func TestReaderHandsOnErrors(t *testing.T) {
	broken := io.MultiReader(strings.NewReader(header+`{"seq":1`), iotest.ErrReader(errDisk))
	if _, err := history.Load(broken); !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("in an event: %v", err)
	}
	if _, err := history.NewReader(iotest.ErrReader(errDisk)); !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("in the header: %v", err)
	}
}

// A Reader gives the events one by one, goes on saying that it is at the end,
// and a history without events is one.
func TestReaderStreams(t *testing.T) {
	r, err := history.NewReader(bytes.NewReader(write(t, full())))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(r.Header(), full().Header) {
		t.Errorf("header %+v", r.Header())
	}
	for _, want := range full().Events {
		if e, err := r.Next(); err != nil || !reflect.DeepEqual(e, want) {
			t.Fatalf("%+v, %v; want %+v", e, err, want)
		}
	}
	for range 2 {
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("after the end: %v", err)
		}
	}
	if h, err := history.Load(strings.NewReader(header)); err != nil || len(h.Events) != 0 {
		t.Errorf("only a header: %v, %v", h, err)
	}
}

// Exactly the calls on the lease are calls on the lease.
func TestOnLease(t *testing.T) {
	for call, want := range map[history.Call]bool{
		history.Acquire: true, history.Renew: true, history.Release: true, history.Observe: true,
		history.Write: false, history.Read: false, "": false, "steal": false,
	} {
		if call.OnLease() != want {
			t.Errorf("%q on the lease: %v", call, !want)
		}
	}
}

// FuzzReader shows that no input makes the reader panic, and that what loads
// writes back, loads equal, and is then the same bytes for ever.
func FuzzReader(f *testing.F) {
	f.Add(write(f, full()))
	f.Add([]byte(header))
	f.Add([]byte(header + `{"seq":1,"at":3,"kind":"note"}` + "\r\n" + `{"seq":2,"at":3,"kind":"fault","targets":[],"params":{"a":[1e300,null,{"b":"\ud800"}]}}` + "\n"))
	f.Add([]byte(`{"recount_history":2}` + "\n"))
	f.Add([]byte(header + `{"seq":1,"at":9223372036854775808,"kind":"note"}` + "\n"))
	f.Add([]byte(header + `{"seq":1,"kind":"elected","until":null,"applied":null,"token":18446744073709551615}` + "\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		h, err := history.Load(bytes.NewReader(file))
		if err != nil {
			var wrong *history.FormatError
			if !errors.As(err, &wrong) || wrong.Line < 1 || wrong.What == "" || wrong.Mend == "" {
				t.Errorf("%v is not a whole FormatError", err)
			}
			return
		}
		first := write(t, h)
		again, err := history.Load(bytes.NewReader(first))
		if err != nil {
			t.Fatalf("written\n%s\nit does not load: %v", first, err)
		}
		if second := write(t, again); !bytes.Equal(first, second) {
			t.Errorf("written\n%s\nwritten again\n%s", first, second)
		}
		// What is empty is left out, so that nil and empty are the same there.
		for _, h := range []*history.History{h, again} {
			normalize(h)
		}
		if !reflect.DeepEqual(h, again) {
			t.Errorf("loaded\n%+v\nwritten and loaded\n%+v", h, again)
		}
	})
}

func normalize(h *history.History) {
	if len(h.Header.Promises) == 0 {
		h.Header.Promises = nil
	}
	if len(h.Header.Waived) == 0 {
		h.Header.Waived = nil
	}
	for i := range h.Events {
		e := &h.Events[i]
		if len(e.Targets) == 0 {
			e.Targets = nil
		}
		if len(e.Params) == 0 {
			e.Params = nil
		}
	}
}

// BenchmarkLoad is what a check of a long run waits for first: 100,000 events.
func BenchmarkLoad(b *testing.B) {
	h := full()
	pattern := h.Events[1:5]
	h.Events = nil
	for i := range 100_000 {
		e := pattern[i%len(pattern)]
		e.Seq, e.At = int64(i)+1, time.Duration(i)*time.Microsecond
		h.Events = append(h.Events, e)
	}
	file := write(b, h)
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		got, err := history.Load(bytes.NewReader(file))
		if err != nil || len(got.Events) != 100_000 {
			b.Fatal(err)
		}
	}
}

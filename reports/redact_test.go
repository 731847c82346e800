package reports

import (
	"strings"
	"testing"

	"github.com/recount-io/recount/history"
)

// No password survives, whatever characters it has; everything else does.
func TestRedact(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"redis://user:secret@host:6379/0", "redis://user:***@host:6379/0"},
		{"redis://:secret@host", "redis://:***@host"},
		{"rediss://user:se@cr:et/x@host/0", "rediss://user:***@host/0"},
		{"chaos run --redis 'redis://u:secret@h:1/2' --seed 4", "chaos run --redis 'redis://u:***@h:1/2' --seed 4"},
		{"redis://a:one@h1,redis://b:two@h2", "redis://a:***@h1,redis://b:***@h2"},
		{"RECOUNT_REDIS=redis://u:secret@h chaos run", "RECOUNT_REDIS=redis://u:***@h chaos run"},
		{"postgres://u:p%40ss@h/db?sslmode=off dial http://x.test/a", "postgres://u:***@h/db?sslmode=off dial http://x.test/a"},
		{"chaos run --password secret --seed 4", "chaos run --password *** --seed 4"},
		{"--redis-pass=secret x", "--redis-pass=*** x"},
		{`{"password": "secret"}`, `{"password": ***}`},
		{"requirepass secret", "requirepass ***"},
		{"redis://host:6379/0", "redis://host:6379/0"},
		{"redis://host?password=secret&db=1", "redis://host?password=***&db=1"},
		{"all promises pass; n1 (token 3)", "all promises pass; n1 (token 3)"},
		{"a by-pass of the password check", "a by-pass of the password check"},
		{"", ""},
	} {
		if got := Redact(test.in); got != test.want {
			t.Errorf("Redact(%q)\n got %q\nwant %q", test.in, got, test.want)
		}
	}
}

// A password in the header, a note, an error, evidence or a parameter reaches
// no file of the run, and the history itself is not changed.
func TestNoFileHasAPassword(t *testing.T) {
	const secret = "hunter2"
	address := "redis://app:" + secret + "@127.0.0.1:6379/0"
	h, r := badRun()
	h.Header.Repro += " --redis " + address
	h.Header.Redis = address
	h.Header.Waived = map[string]string{"Stable": address}
	for i := range h.Events {
		e := &h.Events[i]
		switch e.Kind {
		case history.Note:
			e.Text = address
		case history.Info:
			e.Error = "dial " + address
		case history.Fault:
			e.Evidence, e.Params = address, map[string]any{"url": address, "password": secret}
		}
	}
	r.Asked[0].Reason = "seen at " + address
	r.Lease.Porcupine.Reason = address
	files, err := Files(New(h, r), h, r)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if strings.Contains(string(text), secret) {
			t.Errorf("%s has the password", name)
		}
	}
	if h.Header.Redis != address {
		t.Error("the caller's history was changed")
	}
	summary := printed(t, SuiteDocument([]*Report{New(h, r)}, "chaos run --redis "+address), Screen{})
	if strings.Contains(string(summary), secret) {
		t.Error("the summary has the password")
	}
}

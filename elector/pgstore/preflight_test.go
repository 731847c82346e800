package pgstore

import (
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/elector/store"
)

// found returns the finding about a subject.
func found(p store.Preflight, subject string) store.Finding {
	for _, f := range p.Findings {
		if f.Subject == subject {
			return f
		}
	}
	return store.Finding{}
}

func (d *database) preflight(t *testing.T, i store.Preflighter) store.Preflight {
	t.Helper()
	p, err := i.Preflight(d.ctx)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A preflight tells what is wrong with the server's settings, and gives no
// guarantee while an error is among it.
func TestPreflight(t *testing.T) {
	d := open(t)
	s := d.store(t, Options{})
	p := d.preflight(t, s)
	if f := found(p, "fsync"); f.Severity != store.SeverityError || !strings.HasPrefix(p.Guarantee, "Nothing") {
		t.Errorf("fsync is off here: %+v, %s", f, p.Guarantee)
	}
	if f := found(p, "synchronous_standby_names"); f.Severity != store.SeverityNote || !strings.Contains(f.Text, "one lease") {
		t.Errorf("no synchronous standby: %+v", f)
	}
	for subject, setting := range map[string]string{
		"synchronous_commit": "off", "default_transaction_read_only": "on", "default_transaction_isolation": "serializable",
		"statement_timeout": "100ms", "lock_timeout": "10ms", "idle_session_timeout": "5s", "idle_in_transaction_session_timeout": "1min",
	} {
		if f := found(p, subject); f.Subject != "" {
			t.Errorf("nothing is wrong with it yet: %+v", f)
		}
		d.do(t, "alter database "+d.name+" set "+subject+" = '"+setting+"'")
	}
	s.pool.Reset()
	p = d.preflight(t, s)
	for subject, want := range map[string]store.Severity{
		"synchronous_commit": store.SeverityError, "default_transaction_read_only": store.SeverityError,
		"default_transaction_isolation": store.SeverityNote, "statement_timeout": store.SeverityWarning,
		"lock_timeout": store.SeverityWarning, "idle_session_timeout": store.SeverityWarning,
		"idle_in_transaction_session_timeout": store.SeverityNote,
	} {
		if f := found(p, subject); f.Severity != want || f.Text == "" || want != store.SeverityNote && f.Fix == "" {
			t.Errorf("%s: %+v, want a %s", subject, f, want)
		}
	}
}

// A preflight also tells of what is missing, and of a pooler.
func TestPreflightOfTheSurroundings(t *testing.T) {
	d := open(t)
	s, err := New(d.admin, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := d.preflight(t, s)
	if f := found(p, `"recount_lease"`); f.Severity != store.SeverityError || !strings.Contains(f.Fix, "Migrate") {
		t.Errorf("no tables: %+v", p)
	}
	way := d.server.proxy(t, otherProcess)
	through, err := New(poolAt(t, way.url(d.name)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f := found(d.preflight(t, through), "pooler"); f.Severity != store.SeverityWarning || !strings.Contains(f.Text, "LISTEN") {
		t.Errorf("a pooler: %+v", f)
	}
	if f := found(d.preflight(t, d.sessionsAt(t, way.url(d.name), Options{})), "pooler"); f.Severity != store.SeverityError {
		t.Errorf("a pooler under sessions: %+v", f)
	}
	one := d.admin.Config()
	one.MaxConns = 1
	small, err := New(poolOf(t, one), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f := found(d.preflight(t, small), "pool_max_conns"); f.Severity != store.SeverityWarning {
		t.Errorf("a pool of one: %+v", f)
	}
}

// The guarantee names what it hangs on.
func TestGuaranteeInWords(t *testing.T) {
	good := func() *state {
		return &state{version: "15.1", values: map[string]string{
			"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on", "synchronous_standby_names": "ANY 1 (a, b)",
			"default_transaction_isolation": "read committed", "max_connections": "100",
		}}
	}
	findings := func(st *state, session bool) []store.Finding {
		return append(append(st.durability(), st.failover()...), append(st.access(session), st.limits(session)...)...)
	}
	st := good()
	if list := findings(st, true); len(list) != 0 {
		t.Errorf("nothing is wrong, and yet: %+v", list)
	}
	for words, text := range map[string]string{
		"does not jump ahead":       guarantee(st, nil, false, false),
		"even if the server's":      guarantee(st, nil, true, false),
		"Two candidates may":        guarantee(st, nil, true, true),
		"to a synchronous standby":  guarantee(st, nil, false, false),
		"to any standby":            guarantee(&state{values: map[string]string{}}, nil, false, false),
		"but not a failover":        guarantee(&state{unnamed: true, values: map[string]string{}}, nil, false, false),
		"Nothing, until the errors": guarantee(st, []store.Finding{{Severity: store.SeverityError}}, false, false),
	} {
		if !strings.Contains(text, words) {
			t.Errorf("%q does not say %q", text, words)
		}
	}
	for subject, change := range map[string]func(*state){
		"pg_is_in_recovery":           func(st *state) { st.standby = true },
		"full_page_writes":            func(st *state) { st.values["full_page_writes"] = "off" },
		"synchronous_commit":          func(st *state) { st.values["synchronous_commit"] = "local" },
		"timeline":                    func(st *state) { st.unnamed = true },
		"synchronous_standby_names":   func(st *state) { st.values["synchronous_standby_names"] = "" },
		"pg_notification_queue_usage": func(st *state) { st.queue = 0.6 },
		"clock":                       func(st *state) { st.ahead = -2 * time.Second },
		"max_connections":             func(st *state) { st.values["max_connections"] = "20" },
	} {
		st := good()
		change(st)
		if f := found(store.Preflight{Findings: findings(st, true)}, subject); f.Text == "" {
			t.Errorf("%s is not found", subject)
		}
	}
	// What a standby that takes over costs depends on whether that is noticed.
	for _, commit := range []string{"local", "remote_write"} {
		for unnamed, words := range map[bool]string{false: "grants nothing for one lease", true: "two candidates may lead"} {
			st := good()
			st.values["synchronous_commit"], st.unnamed = commit, unnamed
			if f := found(store.Preflight{Findings: findings(st, false)}, "synchronous_commit"); !strings.Contains(f.Text, words) {
				t.Errorf("%s: %+v does not say %q", commit, f, words)
			}
			if text := guarantee(st, nil, false, false); strings.Contains(text, "to a synchronous standby") {
				t.Errorf("%s: %s", commit, text)
			}
		}
	}
	for text, want := range map[string]time.Duration{
		"0": 0, "500ms": 500 * time.Millisecond, "5s": 5 * time.Second, "2min": 2 * time.Minute, "1h": time.Hour, "3d": 72 * time.Hour, "": 0, "x": 0, "xd": 0,
	} {
		st := &state{values: map[string]string{"lock_timeout": text}}
		if d := st.duration("lock_timeout"); d != want {
			t.Errorf("%q is %v, want %v", text, d, want)
		}
	}
}

package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/recount-io/recount/internal/topology"
)

// serving starts a sidecar on a store in this process and returns its address;
// it ends with the test.
func serving(t *testing.T, store, id string, more ...string) (base string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var out output
	ended := make(chan int)
	go func() {
		m := Main{Stdout: &out, Stderr: &out}
		ended <- m.Run(ctx, append([]string{"serve", "--json", "--store", store, "--name", "billing", "--id", id, "--lease", "2s", "--grace", "300ms", "--http", "127.0.0.1:0"}, more...))
	}()
	t.Cleanup(func() {
		cancel()
		if status := <-ended; status != statusDone {
			t.Errorf("status %d: %s", status, out.String())
		}
	})
	eventually(t, "it serves", func() bool {
		_, rest, ok := strings.Cut(out.String(), `"address":"`)
		base, _, _ = strings.Cut(rest, `"`)
		return ok
	})
	return base
}

// The leader hands over to the candidate that is named, if it was started so
// that it may; who does not lead, and who names nobody who competes, is told.
func TestTransfer(t *testing.T) {
	store := "redis://" + topology.Single(t).Addr
	a := serving(t, store, "a", "--allow-transfer")
	eventually(t, "a leads", func() bool { code, _ := get(t, a, "/leader"); return code == http.StatusOK })
	b, c := serving(t, store, "b", "--allow-transfer"), serving(t, store, "c")
	eventually(t, "all compete", func() bool {
		s := call(t, t.Context(), nil, "status", "--store", store, "--name", "billing")
		return strings.Contains(s.out, "candidate b/") && strings.Contains(s.out, "candidate c/")
	})
	for want, args := range map[string][]string{
		"does not lead":   {"--at", "http://" + b, "--to", "c"},
		"no other live":   {"--at", "http://" + a, "--to", "nobody"},
		"--allow-transf":  {"--at", "http://" + c, "--to", "b"},
		"write --at http": {"--at", a, "--to", "b"},
		"give --to":       {"--at", "http://" + a},
	} {
		if got := call(t, t.Context(), nil, append([]string{"transfer"}, args...)...); got.status != statusUsage || !strings.Contains(got.errors, want) {
			t.Errorf("%q: %+v", args, got)
		}
	}
	if got := call(t, t.Context(), nil, "transfer", "--at", "http://"+a, "--to", "c"); got.status != statusDone || !strings.Contains(got.out, "handed over: c leads") {
		t.Fatalf("%+v", got)
	}
	eventually(t, "c leads", func() bool { code, _ := get(t, c, "/leader"); return code == http.StatusOK })
}

// A page in a browser can send a form to any address; it must not be able to
// end a term.
func TestTransferWantsJSON(t *testing.T) {
	for kind, want := range map[string]int{"text/plain": http.StatusUnsupportedMediaType, "application/json": http.StatusBadRequest} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/transfer", strings.NewReader("{}"))
		r.Host = "127.0.0.1:8080"
		r.Header.Set("Content-Type", kind)
		new(candidacy).answerTransfer(w, r)
		if w.Code != want {
			t.Errorf("%s: %d, want %d", kind, w.Code, want)
		}
	}
}

// A page can make the name of its own site mean this machine, and send JSON then: a request
// must name this server, and must not come from a browser.
func TestTransferIsForThisServer(t *testing.T) {
	for _, c := range []struct {
		host, origin string
		public       bool
		want         int
	}{
		{"127.0.0.1:8080", "", false, http.StatusBadRequest}, // for want of a name in it
		{"127.0.0.1", "", false, http.StatusBadRequest},
		{"[::1]:8080", "", false, http.StatusBadRequest},
		{"[::1]", "", false, http.StatusBadRequest},
		{"LocalHost:8080", "", false, http.StatusBadRequest},
		{"leader.internal:8080", "", false, http.StatusBadRequest}, // as --http says
		{"evil.example:8080", "", false, http.StatusForbidden},
		{"127.0.0.1.evil.example", "", false, http.StatusForbidden},
		{"localhost.evil.example", "", false, http.StatusForbidden},
		{"", "", false, http.StatusForbidden},
		{"host-b:8080", "", true, http.StatusBadRequest},
		{"evil.example:8080", "http://evil.example:8080", true, http.StatusForbidden},
		{"127.0.0.1:8080", "null", false, http.StatusForbidden},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/transfer", strings.NewReader("{}"))
		r.Host = c.host
		r.Header.Set("Content-Type", "application/json")
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		(&candidacy{public: c.public, host: "leader.internal"}).answerTransfer(w, r)
		if w.Code != c.want {
			t.Errorf("%+v: %d", c, w.Code)
		}
	}
}

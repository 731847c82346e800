package health

import (
	"encoding/json"
	"net/http"
)

// Handler answers with the Report as JSON, and Options.Codes for its status. The
// query ?election=NAME asks for one election alone; of one that is not watched,
// the answer is 404 (Not Found).
//
// Every client that reaches the handler gets the answer. It holds names, tokens and the
// text of errors: serve it where probes reach it and outsiders do not.
func (m *Monitor) Handler() http.Handler {
	return readOnly(func(w http.ResponseWriter, r *http.Request) {
		election := r.URL.Query().Get("election")
		report := m.report(election)
		code := http.StatusNotFound
		if election == "" || len(report.Elections) > 0 {
			code = m.code(report.Status)
		}
		answer(w, code, report)
	})
}

// LeaderHandler answers 200 (OK) only while this process leads the election,
// and Options.Codes.NotLeader to all others, so that a load balancer finds the
// leader. The body is the Report of the election. With an empty election, it
// takes the one of the query ?election=NAME, or else the only one that is
// watched. Where that does not name exactly one election, the answer is 404 (Not
// Found).
func (m *Monitor) LeaderHandler(election string) http.Handler {
	return readOnly(func(w http.ResponseWriter, r *http.Request) {
		election := election
		if election == "" {
			election = r.URL.Query().Get("election")
		}
		report := m.report(election)
		switch {
		case !report.ofOne():
			answer(w, http.StatusNotFound, report)
		case report.led():
			answer(w, http.StatusOK, report)
		default:
			answer(w, m.codes.NotLeader, report)
		}
	})
}

// LiveHandler answers 200 (OK) if Live is nil and 503 (Service Unavailable)
// with the error's text else.
func (m *Monitor) LiveHandler() http.Handler { return plain(m.Live) }

// ReadyHandler answers 200 (OK) if Ready is nil and 503 (Service Unavailable)
// with the error's text else.
func (m *Monitor) ReadyHandler() http.Handler { return plain(m.Ready) }

// ofOne reports whether all that is reported is of one election. A process may
// have several candidates in one.
func (r Report) ofOne() bool {
	for _, e := range r.Elections {
		if e.Election != r.Elections[0].Election {
			return false
		}
	}
	return len(r.Elections) > 0
}

// led reports whether one of the candidates leads. The body and the status code
// come from one look, so they never contradict each other.
func (r Report) led() bool {
	for _, e := range r.Elections {
		if e.IsLeader {
			return true
		}
	}
	return false
}

func (m *Monitor) code(s Status) int {
	switch s {
	case Healthy:
		return m.codes.Healthy
	case Degraded:
		return m.codes.Degraded
	default:
		return m.codes.Unhealthy
	}
}

func plain(check func() error) http.Handler {
	return readOnly(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if err := check(); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(err.Error() + "\n")) // who does not read the answer needs none
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
}

func readOnly(h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store") // yesterday's leader is nobody's answer
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD are answered here: nothing can be changed", http.StatusMethodNotAllowed)
			return
		}
		h(w, r)
	})
}

func answer(w http.ResponseWriter, code int, report Report) {
	body, err := json.MarshalIndent(report, "", "  ")
	if err != nil { // strings and numbers only: never
		http.Error(w, "health: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(body, '\n')) // who does not read the answer needs none
}

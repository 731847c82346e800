package health

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/health/instrument"
)

// Options are how a Monitor answers. The zero value is fine.
type Options struct {
	Codes Codes

	// Data is shown with every report: the version, the zone, whatever tells
	// this process from others. It is not read after New.
	Data map[string]string

	_ struct{}
}

// Codes are the HTTP status codes of the answers, 200 to 599; 0 is the default.
type Codes struct {
	Healthy   int // a candidate leads; 200 by default
	Degraded  int // it follows; 200 by default, so that a follower is no reason for an alarm
	Unhealthy int // it cannot tell; 503 by default
	NotLeader int // LeaderHandler, for all who do not lead; 503 by default
}

// Monitor answers for any number of electors. It is safe for concurrent use.
type Monitor struct {
	codes Codes
	data  map[string]string

	mu     sync.Mutex
	probes []*probe // in the order of their elections and IDs
}

var _ instrument.Instrument = (*Monitor)(nil)

// New returns a Monitor that watches nothing yet: give it to instrument.New
// along with the elector's store and settings. Its error names the option that
// is out of range.
func New(o Options) (*Monitor, error) {
	for _, c := range []struct {
		field string
		code  *int
		or    int
	}{
		{"Healthy", &o.Codes.Healthy, http.StatusOK},
		{"Degraded", &o.Codes.Degraded, http.StatusOK},
		{"Unhealthy", &o.Codes.Unhealthy, http.StatusServiceUnavailable},
		{"NotLeader", &o.Codes.NotLeader, http.StatusServiceUnavailable},
	} {
		*c.code = cmp.Or(*c.code, c.or)
		if *c.code < 200 || *c.code > 599 { // an informational one would be followed by 200
			return nil, fmt.Errorf("health: Options.Codes.%s is %d; a status code of an answer is 200 to 599, or 0 for the default of %d", c.field, *c.code, c.or)
		}
	}
	m := &Monitor{codes: o.Codes, data: make(map[string]string, len(o.Data))}
	for k, v := range o.Data {
		m.data[k] = v
	}
	return m, nil
}

// Instrument implements instrument.Instrument.
func (m *Monitor) Instrument(store elector.Store, cfg elector.Config) (elector.Store, elector.Config, func(*elector.Elector)) {
	p := newProbe(cfg)
	return instrument.Store(store, p.begin), instrument.OnEvent(cfg, p.event), func(e *elector.Elector) {
		p.elector = e
		m.mu.Lock()
		defer m.mu.Unlock()
		m.probes = append(m.probes, p)
		slices.SortFunc(m.probes, func(a, b *probe) int {
			return cmp.Or(cmp.Compare(a.election, b.election), cmp.Compare(a.elector.ID(), b.elector.ID()))
		})
	}
}

// Remove forgets the elector: what it is does not count any more. It is for
// elections that a process joins and leaves.
func (m *Monitor) Remove(e *elector.Elector) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.probes = slices.DeleteFunc(m.probes, func(p *probe) bool { return p.elector == e })
}

// watched are the probes of the election, or of all if it is empty.
func (m *Monitor) watched(election string) []*probe {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []*probe
	for _, p := range m.probes {
		if election == "" || p.election == election {
			list = append(list, p)
		}
	}
	return list
}

// Report says how all watched electors are at this moment: each of them, in the
// order of their elections, and the worst status of all. Nobody is watched: that
// is unhealthy, because a check that looks at nothing must not pass.
func (m *Monitor) Report() Report { return m.report("") }

func (m *Monitor) report(election string) Report {
	r := Report{Status: Healthy, Elections: []Election{}, Data: m.data}
	for _, p := range m.watched(election) {
		e := p.look()
		r.Status = worse(r.Status, e.Status)
		r.Elections = append(r.Elections, e)
	}
	if len(r.Elections) == 0 {
		r.Status = Unhealthy
	}
	return r
}

// IsLeader reports whether this process leads the election at this moment, by the
// clock.
func (m *Monitor) IsLeader(election string) bool {
	return slices.ContainsFunc(m.watched(election), func(p *probe) bool { return p.election == election && p.elector.IsLeader() })
}

// Live is nil unless a restart of the process would help; see the package's
// documentation. The error says which elections are concerned, and why.
func (m *Monitor) Live() error {
	var problems []error
	for _, p := range m.watched("") {
		if err := p.live(); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// Ready is nil if every watched elector leads or follows. The error says which
// elections are concerned, and why.
func (m *Monitor) Ready() error {
	r := m.Report()
	var problems []error
	for _, e := range r.Elections {
		if e.Status == Unhealthy {
			problems = append(problems, fmt.Errorf("health: election %q: %s", e.Election, e.Description))
		}
	}
	if len(r.Elections) == 0 {
		problems = append(problems, errNobody)
	}
	return errors.Join(problems...)
}

var errNobody = errors.New("health: no elector is watched: make it with instrument.New and this Monitor")

// Status is how an elector is, or the worst of several.
type Status string

// The statuses, from best to worst.
const (
	Healthy   Status = "healthy"   // leads
	Degraded  Status = "degraded"  // follows
	Unhealthy Status = "unhealthy" // cannot tell who leads, or cannot lead
)

func worse(a, b Status) Status {
	rank := []Status{Healthy, Degraded, Unhealthy}
	return rank[max(slices.Index(rank, a), slices.Index(rank, b))]
}

// Report is how the electors of a process are.
type Report struct {
	Status    Status            `json:"status"` // the worst
	Elections []Election        `json:"elections"`
	Data      map[string]string `json:"data,omitempty"` // Options.Data
}

// Election is how one elector is. Times are the machine's wall clock, for
// people; nothing is decided by them. In JSON tokens are texts, because many readers
// know whole numbers only up to 2^53.
type Election struct {
	Election    string        `json:"election"`
	Status      Status        `json:"status"`
	Description string        `json:"description"`
	InstanceID  string        `json:"instance_id"` // Elector.ID
	IsLeader    bool          `json:"is_leader"`
	State       elector.State `json:"state"`
	Token       uint64        `json:"token,string,omitempty"`        // of the term, while this candidate leads
	Leader      string        `json:"leader,omitempty"`              // the candidate last seen to hold the lease
	LeaderToken uint64        `json:"leader_token,string,omitempty"` // of its term

	// Since is when the present state began; zero before the first, and as
	// long as a callback hangs, because then nobody has told.
	Since time.Time `json:"since,omitzero"`

	// LastAnswer is when the store last answered anything; zero if never.
	LastAnswer        time.Time `json:"last_store_answer,omitzero"`
	LastAnswerSeconds float64   `json:"last_store_answer_seconds,omitempty"` // how long ago
}

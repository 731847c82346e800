package virtual

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
)

// five is a plan whose store is five independent ones.
func five(candidates int) sim.Plan {
	plan := quick(candidates)
	plan.Topology = sim.Quorum
	return plan
}

// holds is how many stores have a lease.
func (r rig) holds() (n int) {
	for _, s := range r.stores {
		if s.do("EXISTS", s.keys.lease).Int == 1 {
			n++
		}
	}
	return n
}

// A leader is elected by a majority of the stores, makes those that come back
// hold its lease, and leads no more when too few are left. No store's own record
// is that of the whole.
func TestMajority(t *testing.T) {
	r := launch(t, five(1), Subject{})
	r.to(time.Second)
	if n := r.holds(); n != 5 || r.did("n1", history.Elected, "") != 1 {
		t.Fatalf("%d stores hold the lease, %d elections", n, r.did("n1", history.Elected, ""))
	}
	r.must(r.StopStore(t.Context(), []string{"store-1", "store-4"}))
	r.to(5 * time.Second)
	if n := r.holds(); n != 3 || r.did("n1", history.Deposed, "") != 0 {
		t.Errorf("with two frozen: %d stores hold the lease, %d ends", n, r.did("n1", history.Deposed, ""))
	}
	r.must("", r.ContinueStore(t.Context(), []string{"store-1", "store-4"}))
	r.to(8 * time.Second)
	if n := r.holds(); n != 5 {
		t.Errorf("%d stores hold the lease after they came back", n)
	}
	r.must(r.CrashStore(t.Context(), []string{"store-1", "store-2", "store-3"}))
	r.to(12 * time.Second)
	if r.did("n1", history.Deposed, "") != 1 {
		t.Error("it leads without a majority")
	}
	if n := r.did("", history.Audit, ""); n != 0 {
		t.Errorf("%d records of single stores", n)
	}
}

// What a majority refuses or says about the leader is recorded without a holder:
// the stores answered at several moments.
func TestMajorityIsRecorded(t *testing.T) {
	plan := five(2)
	plan.Observes = 500 * ms
	r := launch(t, plan, Subject{})
	r.to(2 * time.Second)
	refused, asked := 0, 0
	for _, e := range r.events {
		switch {
		case e.Call == history.Acquire && e.Kind == history.Fail:
			if refused++; e.Holder != "" || e.Error != sim.Withheld {
				t.Errorf("refused: %+v", e)
			}
		case e.Call == history.Observe && e.Kind != history.Invoke:
			if asked++; e.Kind != history.Info || e.Holder != "" {
				t.Errorf("asked: %+v", e)
			}
		}
	}
	if refused == 0 || asked == 0 {
		t.Errorf("%d refusals, %d answers", refused, asked)
	}
}

// A fault on single stores says by what it was seen, and takes no effect where
// there is nothing to forget, or no such store.
func TestFaultsOnStoreNodes(t *testing.T) {
	r := launch(t, five(1), Subject{})
	second := []string{"store-2"}
	lose := func() (string, error) {
		r.must(r.CrashStore(t.Context(), second))
		return r.LaunchStore(t.Context(), second, false)
	}
	if _, err := lose(); !errors.Is(err, faults.ErrNoEffect) {
		t.Errorf("before anybody was elected: %v", err)
	}
	r.to(8 * time.Second)
	if seen, err := lose(); err != nil || !strings.Contains(seen, "store-2 is back and has forgotten the lease r1 ") {
		t.Errorf("%q, %v", seen, err)
	}
	if n := r.holds(); n != 4 {
		t.Errorf("%d stores hold the lease", n)
	}
	for _, target := range []string{"store-6", "n1"} {
		if _, err := r.StopStore(t.Context(), []string{target}); !errors.Is(err, faults.ErrNoEffect) {
			t.Errorf("%s: %v", target, err)
		}
	}
	one := launch(t, quick(1), Subject{})
	if _, err := one.StopStore(t.Context(), second); !errors.Is(err, faults.ErrNoEffect) {
		t.Errorf("of one store: %v", err)
	}
}

package containers

import (
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/sim"
)

// What Docker cannot do to a host is refused with its name; everything else goes through,
// and cuts of which connections would notice become those of a host that is disconnected.
func TestLacks(t *testing.T) {
	for _, test := range []struct {
		topology sim.Topology
		fault    faults.Fault
		lacks    string // "" for nothing
	}{
		{sim.OneServer, faults.Crash{}, ""},
		{sim.OneServer, faults.Pause{}, ""},
		{sim.OneServer, faults.Partition{How: faults.CutBoth}, ""},
		{sim.OneServer, faults.Partition{How: faults.CutRefused}, ""},
		{sim.OneServer, faults.Partition{How: faults.CutReset}, ""},
		{sim.OneServer, faults.Partition{How: faults.CutReplies}, "replies-lost"},
		{sim.OneServer, faults.Partition{How: faults.CutRequests}, "requests-lost"},
		{sim.OneServer, faults.Latency{Base: time.Second}, "cannot be made slow"},
		{sim.OneServer, faults.Bandwidth{Kilobytes: 1}, "cannot be made slow"},
		{sim.OneServer, faults.StoreFailover{}, "sets the store back"},
		{sim.Sentinel, faults.StoreFailover{}, ""},
		{sim.Sentinel, faults.StoreSplit{}, ""},
		{sim.Quorum, faults.Crash{}, ""},
		{sim.Cluster, faults.Crash{}, "cluster"},
	} {
		plan := sim.Plan{Topology: test.topology, Schedule: faults.Schedule{{Fault: test.fault}}}
		if why := Lacks(plan); why == "" != (test.lacks == "") || !strings.Contains(why, test.lacks) {
			t.Errorf("%s of a %q: %q, want %q", test.fault.Name(), test.topology, why, test.lacks)
		}
		adapted := Adapt(plan).Schedule[0].Fault
		if cut, is := adapted.(faults.Partition); is && test.lacks == "" && cut.How != faults.CutBoth {
			t.Errorf("%s became %v", test.fault.Name(), cut)
		}
		if plan.Schedule[0].Fault != test.fault {
			t.Errorf("the plan itself was changed: %v", plan.Schedule[0].Fault)
		}
	}
}

package bubble

import (
	"fmt"

	"github.com/recount-io/recount/sim"
)

// Refuses tells why a plan cannot be carried out in a bubble; "" if it can.
func Refuses(plan sim.Plan) string {
	switch stores, servers := shape(plan); {
	case stores < 1 || servers < 1:
		return fmt.Sprintf("a store of %d servers is none", plan.Servers)
	case stores > 1 && plan.Replicas > 0:
		return "servers that know nothing of each other have no replicas that could confirm what is written"
	case plan.Replicas >= servers:
		return fmt.Sprintf("%d replicas have to confirm what is written: of %d servers one is the primary", plan.Replicas, servers)
	case plan.Tokens > 0 || plan.LongLease > 0 || plan.HandsOver:
		return "only the virtual world has elections with a past, candidates with longer leases than others, and leaders that hand over when they resign"
	case plan.Schedule.NeedsPasswordFile():
		return "the servers of a bubble ask nobody for a password"
	default:
		return ""
	}
}

package bubble

import (
	"github.com/recount-io/recount/sim"
)

// Refuses tells why a plan cannot be carried out in a bubble; "" if it can.
func Refuses(plan sim.Plan) string {
	switch {
	case plan.Topology != sim.OneServer:
		return "its store is several servers (" + string(plan.Topology) + "): this world has one"
	case plan.Replicas > 0:
		return "replicas have to confirm what is written: this world's server has none that follow it"
	default:
		return ""
	}
}

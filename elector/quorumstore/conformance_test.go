package quorumstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/recount-io/recount/elector/storetest"
)

// The Store keeps the contract of every store, on any number of nodes, and also
// while a minority of them is down, hangs, ignores contexts, swallows answers,
// refuses for good, or loses its data again and again.
func TestConformance(t *testing.T) {
	type variant struct {
		name  string
		nodes int
		mode  mode
		bad   []int
		loses bool
	}
	variants := []variant{
		{name: "well", nodes: 1}, {name: "well", nodes: 3}, {name: "well", nodes: 4}, {name: "well", nodes: 5},
		{name: "losing data", nodes: 3, bad: []int{1}, loses: true},
		{name: "losing data", nodes: 5, bad: []int{0, 4}, loses: true},
	}
	for name, m := range map[string]mode{"down": down, "hanging": hanging, "deaf": deaf, "mute": mute, "fatal": fatal} {
		variants = append(variants,
			variant{name: name, nodes: 3, mode: m, bad: []int{0}},
			variant{name: name, nodes: 5, mode: m, bad: []int{1, 3}})
	}
	for _, v := range variants {
		for _, c := range storetest.Cases() {
			t.Run(fmt.Sprintf("%d nodes, %s/%s", v.nodes, v.name, c.Name), func(t *testing.T) {
				inBubble(t, v.nodes, func(b *bench) {
					for _, n := range b.nodes {
						n.lease = 500 * time.Millisecond // of the suite
					}
					b.set(v.mode, v.bad...)
					c.Run(b, calm{b.store}, func(d time.Duration) {
						time.Sleep(d)
						for _, n := range v.bad {
							if v.loses {
								b.nodes[n].forget()
							}
						}
					})
				})
			})
		}
	}
}

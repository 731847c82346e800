package league

import (
	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/sim/virtual"
)

// forgetfulFences are resources that remember something else than the largest
// token and the last write that they took.
func forgetfulFences() []Mutant {
	fence := func(name, what string, fence func() virtual.Fence) Mutant {
		return Mutant{
			Name: name, Where: Fence, What: what, Scenario: "store-clock-leap",
			Breaks: []checker.Promise{checker.FencedWrites}, Subject: fenced(fence),
		}
	}
	wide := fence("fence-in-32-bits", "the resource keeps the largest token as a signed number of 32 bits", func() virtual.Fence {
		return &comparing{takes: func(token, highest uint64) bool { return int32(uint32(token)) >= int32(uint32(highest)) }}
	})
	wide.Scenario = "counter-deleted"
	return []Mutant{
		wide,
		fence("fence-per-node", "the resource has one fence for each candidate", func() virtual.Fence { return &perNode{highest: map[string]uint64{}} }),
		fence("fence-per-session", "the resource has one fence for each connection: when another candidate writes, it begins anew", func() virtual.Fence { return &perSession{} }),
		fence("reads-refused", "a read tells the last write, although it was refused", func() virtual.Fence { return &unread{} }),
	}
}

type perNode struct {
	virtual.Fencing
	highest map[string]uint64
}

func (f *perNode) Write(node string, token uint64, value string) (taken bool, highest uint64) {
	if token < f.highest[node] {
		return false, f.highest[node]
	}
	f.highest[node] = token
	f.Take(token, value)
	return true, token
}

type perSession struct {
	virtual.Fencing
	writer string
}

func (f *perSession) Write(node string, token uint64, value string) (taken bool, highest uint64) {
	if f.writer != node {
		f.writer, f.Highest = node, 0
	}
	return f.Fencing.Write(node, token, value)
}

type unread struct{ virtual.Fencing }

func (f *unread) Write(node string, token uint64, value string) (taken bool, highest uint64) {
	taken, highest = f.Fencing.Write(node, token, value)
	f.Value, f.Token = value, token
	return taken, highest
}

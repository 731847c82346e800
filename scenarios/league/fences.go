package league

import (
	"strconv"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/sim/virtual"
)

// fences are about the resource that the leader writes to, and that refuses
// what comes too late.
func fences() []Mutant {
	fence := func(name, what, scenario string, takes func(token, highest uint64) bool) Mutant {
		return Mutant{
			Name: name, Where: Fence, What: what, Scenario: scenario, Breaks: []checker.Promise{checker.FencedWrites},
			Subject: fenced(func() virtual.Fence { return &comparing{takes: takes} }),
		}
	}
	return []Mutant{
		fence("fence-open", "the resource looks at no token: a write of a leader that was replaced is taken",
			"store-clock-leap", func(uint64, uint64) bool { return true }),
		{
			Name: "fence-one-late", Where: Fence, What: "the resource compares with the last token but one, and takes writes of the leader before",
			Scenario: "store-clock-leap", Breaks: []checker.Promise{checker.FencedWrites}, Subject: fenced(func() virtual.Fence { return &oneLate{} }),
		},
		fence("fence-refuses-equal", "the resource calls a token stale that is no larger than the highest: >= in place of >",
			"steady", func(token, highest uint64) bool { return token > highest }),
		{
			Name: "fence-as-text", Where: Fence, What: "the resource compares tokens as text, where 9 comes after 10", Breaks: []checker.Promise{checker.FencedWrites},
			Subject: unprotected(fenced(func() virtual.Fence { // tokens that are times have one length
				return &comparing{takes: func(token, highest uint64) bool {
					return strconv.FormatUint(token, 10) >= strconv.FormatUint(highest, 10)
				}}
			})),
		},
	}
}

// oneLate is a resource that compares a write's token with the largest but one.
type oneLate struct {
	virtual.Fencing
	before uint64
}

func (f *oneLate) Write(_ string, token uint64, value string) (taken bool, highest uint64) {
	if token != 0 && token < f.before {
		return false, f.Highest
	}
	if token > f.Highest {
		f.before = f.Highest
	}
	f.Take(token, value)
	return true, f.Highest
}

func fenced(fence func() virtual.Fence) virtual.Subject {
	return virtual.Subject{Variant: virtual.Variant{Fence: fence}}
}

// comparing is a resource that compares a write's token with the largest one in
// another way.
type comparing struct {
	virtual.Fencing
	takes func(token, highest uint64) bool
}

func (c *comparing) Write(_ string, token uint64, value string) (taken bool, highest uint64) {
	if token != 0 && !c.takes(token, c.Highest) {
		return false, c.Highest
	}
	c.Take(token, value)
	return true, c.Highest
}

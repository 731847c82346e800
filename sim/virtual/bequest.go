package virtual

import (
	"slices"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// listCandidates is the call that asks the store who competes. Histories have none of it.
const listCandidates history.Call = "candidates"

// bequest is the hand-over of a leader that is asked to, or that is asked to stop: as
// the production elector's Transfer it asks who competes, and resigns in favour of one
// of those. It may be one that is gone.
type bequest struct {
	shell     *shell
	stays     bool   // it goes on competing
	successor string // once it has resigned
	vain      bool   // it has not
}

// act implements actor: a leader that stands still hears of it when it goes on.
func (b *bequest) act(life uint64) {
	if n := b.shell.node; n.life == life && !n.defers(b, life) {
		n.ask(b, command{call: listCandidates, quiet: true}, b.shell.timeout)
	}
}

// listed reads the answer of candidates.
func listed(r redismodel.Reply) (any, machine.Input) {
	if r.Kind != redismodel.Array {
		return nil, failed(r)
	}
	return plain(r)
}

// called implements caller.
func (b *bequest) called(k *call) {
	e := b.shell
	successors := e.successors(k)
	b.vain = len(successors) == 0 || !e.term.believes
	if !b.vain {
		b.successor = successors[e.node.random.below(len(successors))]
		e.step(machine.Input{Kind: machine.Resign, Token: e.term.token, Holder: b.successor})
	}
	if !b.stays {
		e.step(machine.Input{Kind: machine.Stop})
	} else if b.vain {
		e.node.run.changed.fire()
	}
}

// successors are the others that the store has heard of, in the order of their names.
func (e *shell) successors(k *call) (all []string) {
	listed, _ := k.outcome.value.([]any) // an error: nobody
	for i := 0; i+2 < len(listed); i += 3 {
		if id, _ := listed[i].(string); id != e.id {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return all
}

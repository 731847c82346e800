package virtual

import (
	"slices"
	"time"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/machine"
	"github.com/recount-io/recount/sim"
)

// withdraw is the call that takes a bid back. It is none on the lease.
const withdraw history.Call = "withdraw"

// bid is an attempt that may stand.
type bid struct {
	number uint64
	nonce  string
	sent   time.Duration
}

// stands remembers when an attempt was sent that may be granted after it was refused.
func (e *shell) stands(r *machine.Request) {
	if len(e.bids) == sim.MaxBids {
		e.bids = slices.Delete(e.bids, 0, 1)
	}
	e.bids = append(e.bids, bid{r.Number, r.Nonce, e.node.run.now})
}

// passed records that an attempt was granted after all, once.
func (e *shell) passed(in machine.Input) {
	i := slices.IndexFunc(e.bids, func(b bid) bool { return b.number == in.Request && b.nonce == in.Nonce })
	if i < 0 {
		return
	}
	b := e.bids[i]
	e.bids = slices.Delete(e.bids, i, i+1)
	r, n := e.node.run, e.node
	op := history.Event{Kind: history.Invoke, Node: n.name, Op: r.nextOp(), Call: history.Acquire, Nonce: b.nonce, Try: b.number, TTL: n.timings().Lease}
	op.Since = history.At(b.sent)
	r.add(op)
	op.Kind, op.Since, op.TTL, op.Token = history.Ok, nil, 0, in.Token
	r.add(op)
	e.term.nonce, e.term.value = b.nonce, ""
}

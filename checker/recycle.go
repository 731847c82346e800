package checker

import (
	"sync"

	"github.com/recount-io/recount/history"
)

// recycled is the memory of runs that are over. Who checks thousands of short
// histories a second would else mostly wait for the collector.
var recycled sync.Pool

// maxRecycled is of how many operations a run may be whose memory is kept.
const maxRecycled = 1 << 14

func newRun(header *history.Header) *run {
	r, ok := recycled.Get().(*run)
	if !ok {
		r = &run{nodes: map[string]*process{}, byID: map[string]*fault{}}
	}
	r.header, r.since, r.told = *header, -forever, -1
	return r
}

// recycle gives the run's memory to later ones. Nothing of it may be in use.
func (r *run) recycle() {
	if len(r.calls) > maxRecycled {
		return
	}
	for _, e := range r.elections {
		e.recycle()
	}
	clear(r.calls)
	clear(r.nodes)
	clear(r.byID)
	r.slab.reset()
	r.ops.reset()
	r.work.reset()
	recycled.Put(&run{
		slab: r.slab, ops: r.ops, calls: r.calls[:0], nodes: r.nodes, byID: r.byID, work: r.work,
		spare: append(r.spare, r.elections...),
	})
}

func (e *election) recycle() {
	clear(e.called)
	clear(e.written)
	clear(e.reads)
	clear(e.audits)
	for _, ops := range [][]*op{e.ops, e.auditOf} {
		clear(ops)
	}
	*e = election{
		called: e.called[:0], ops: e.ops[:0], written: e.written[:0], reads: e.reads[:0],
		audits: e.audits[:0], auditOf: e.auditOf[:0],
	}
}

func (w *scratch) reset() {
	clear(w.waiting[:cap(w.waiting)])
	clear(w.steps[:cap(w.steps)])
	clear(w.inputs[:cap(w.inputs)])
}

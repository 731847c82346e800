package guards

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/recount-io/recount/elector/fence"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/space"
)

// run is one run of a case.
type run struct {
	Case
	ctx      context.Context
	began    time.Time
	recorder *history.Recorder
	record   *record
	guarded  guarded

	space.Findings
}

// guarded are resources behind a guard.
type guarded interface {
	// do makes a call. What it returns says what has come of it, see outcomeOf.
	do(ctx context.Context, c *call) error
	// highest asks the guard for the largest token, and reports whether it answered.
	highest(ctx context.Context, resource int) (token uint64, ok bool)
	// read reads a resource where it is, in no time, and reports whether it is there.
	read(resource int) (value string, token uint64, ok bool)
	// act lets something happen, for as long as it lasts.
	act(a Act)
	close()
}

// Run carries out the case.
func (c Case) Run(ctx context.Context) space.Outcome {
	begin := time.Now()
	r := &run{Case: c, ctx: ctx, began: begin, record: newRecord()}
	r.recorder = history.NewRecorder(func() time.Duration { return time.Since(begin) })
	switch {
	case c.Guard.local():
		r.guarded = newLocal(r)
	case c.Guard.web():
		r.guarded = newWeb(r)
	default:
		r.guarded = newRemote(r, writers)
	}
	over := make(chan struct{})
	var readers sync.WaitGroup
	for i := range c.Resources {
		readers.Go(func() { r.watch(i, over) })
	}
	r.live()
	for i := range c.Resources {
		r.resume(i)
	}
	close(over)
	readers.Wait()
	r.guarded.close()
	for i := range c.Resources {
		r.record.judge(c, begin, i, r.Find)
	}
	return space.Outcome{History: r.recorder.History(r.header()), Findings: r.All()}
}

// live lets leaders write, and things happen, until all is over.
func (r *run) live() {
	var all sync.WaitGroup
	for i, t := range r.Terms {
		all.Go(func() { r.lead(uint64(i), t) })
	}
	for _, a := range r.Acts {
		all.Go(func() {
			time.Sleep(a.At)
			r.guarded.act(a)
		})
	}
	all.Wait()
	time.Sleep(longest + time.Second) // that a write may still go on for which nobody waits
}

func (r *run) header() history.Header {
	h := history.Header{Scenario: "guards", Subject: "recount", World: "bubble", Seed: r.Number, Lease: time.Second, Promises: []string{"FencedWrites"}}
	for i := range writers {
		h.Nodes = append(h.Nodes, writerName(i))
	}
	h.Nodes = append(h.Nodes, reader)
	return h
}

func writerName(i int) string   { return "w" + strconv.Itoa(i+1) }
func resourceName(i int) string { return "r" + strconv.Itoa(i+1) }

// reader is who reads.
const reader = "reader"

// lead writes as the leader of a term does, and for as long as it thinks that it is
// one.
func (r *run) lead(number uint64, t Term) {
	time.Sleep(t.From)
	l := newLead(t.Token, t.To-t.From)
	until := time.Now().Add(t.To - t.From + t.After)
	d := &drawer{run: r, Term: t, rand: rand.New(rand.NewPCG(r.Number, number)), lead: l}
	if t.Checks {
		c := d.next()
		c.what, c.token, c.odd = check, t.Token, regular
		r.call(c)
	}
	w := &work{drawer: d, room: make(chan struct{}, t.Beside)}
	for time.Now().Before(until) {
		last := w.begin()
		wait := t.Pace/2 + time.Duration(d.rand.Int64N(int64(t.Pace)))
		if t.Repeats && d.rand.IntN(2) == 0 {
			w.group.Wait()
			if last.outcome == unknown || last.outcome == failed {
				r.call(d.again(last))
			}
		}
		r.pause(wait)
	}
	w.group.Wait()
}

// work are the calls of a term that are under way.
type work struct {
	*drawer
	room  chan struct{} // for each of them
	group sync.WaitGroup
}

// begin begins one call, or as many as may go on at a time, all at one moment. It
// returns the last one.
func (w *work) begin() (last *call) {
	n := 1
	if w.Beside > 1 && w.rand.IntN(2) == 0 {
		n = w.Beside
	}
	for range n {
		c := w.next()
		w.room <- struct{}{}
		w.group.Go(func() {
			defer func() { <-w.room }()
			w.call(c)
		})
		last = c
	}
	return last
}

// beat is the time of which what comes to guards in the process is a multiple: so they
// meet calls that come at one moment, which is the only time that these take.
const beat = 10 * time.Millisecond

func (r *run) pause(d time.Duration) {
	if r.Guard == InProcess {
		d = (time.Since(r.began) + d).Truncate(beat) + beat - time.Since(r.began)
	}
	time.Sleep(d)
}

// call makes a call, and notes what comes of it.
func (r *run) call(c *call) {
	e := history.Event{
		Kind: history.Invoke, Call: history.Write, Node: writerName(c.writer), Election: resourceName(c.resource),
		Op: r.recorder.NextOp(), Token: c.token, Value: c.value, Evidence: history.FromWriter,
	}
	r.recorder.Stamp(e)
	r.record.begin(c)
	ctx := r.ctx
	if !c.alone {
		ctx = c.term.ctx
	}
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	c.began = time.Now()
	err := r.guarded.do(ctx, c)
	c.took = time.Since(c.began)
	c.cut = ctx.Err() != nil && c.took < c.patience
	r.record.end(c, outcomeOf(err), err)
	stale := new(fence.StaleError)
	switch {
	case err == nil && c.what == write:
		e.Kind = history.Ok
	case errors.As(err, &stale):
		e.Kind, e.Fence = history.Fail, stale.Highest
	default:
		e.Kind = history.Info // whatever it wrote, nobody reads it
	}
	r.recorder.Stamp(e)
}

// outcomeOf is what an error says of a call.
func outcomeOf(err error) outcome {
	var status statusError
	var held heldError
	switch {
	case err == nil:
		return accepted
	case errors.As(err, new(*fence.StaleError)):
		return refused
	case errors.Is(err, fence.ErrNoToken), errors.Is(err, errOver), errors.Is(err, errForeign):
		return undone
	case errors.As(err, &held):
		return waits
	case errors.Is(err, errWrite):
		return failed
	case errors.As(err, &status):
		return undone
	default:
		return unknown
	}
}

// resume makes writes of the last leader until one is accepted.
func (r *run) resume(resource int) {
	top := r.record.top(resource)
	if top == 0 {
		return // no term was long enough for a write
	}
	t := Term{Resource: resource, Token: top, Writer: resource}
	d := &drawer{run: r, Term: t, rand: rand.New(rand.NewPCG(r.Number, 1<<33)), lead: newLead(top, time.Hour)}
	var err error
	for range pool + 20 { // each connection that is half open fails one try
		c := d.again(&call{what: write, resource: resource, writer: resource, token: top, term: d.lead, alone: true, patience: 10 * time.Second})
		c.value = "last/" + c.value
		if r.call(c); c.outcome == accepted {
			return
		}
		err = c.err
		time.Sleep(time.Second)
	}
	r.Find(recovers, "nothing is accepted of token %d of %s any more: %v", top, resourceName(resource), err)
}

// watch reads a resource now and then, and asks for the largest token.
func (r *run) watch(resource int, over <-chan struct{}) {
	draw := rand.New(rand.NewPCG(r.Number, 1<<32+uint64(resource)))
	for {
		select {
		case <-over:
			return
		case <-time.After(space.Between(draw, time.Millisecond, 300*time.Millisecond)):
		}
		e := history.Event{Kind: history.Invoke, Call: history.Read, Node: reader, Election: resourceName(resource), Op: r.recorder.NextOp(), Evidence: history.FromWriter}
		r.recorder.Stamp(e)
		var there bool
		if e.Value, e.Token, there = r.guarded.read(resource); there {
			e.Kind = history.Ok
		} else {
			e.Kind = history.Info
		}
		r.recorder.Stamp(e)
		if draw.IntN(4) == 0 {
			answer := r.record.ask(resource)
			ctx, cancel := context.WithTimeout(r.ctx, time.Second)
			if highest, ok := r.guarded.highest(ctx, resource); ok {
				answer(highest)
			}
			cancel()
		}
	}
}

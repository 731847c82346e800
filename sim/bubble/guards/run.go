package guards

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/recount-io/recount/elector/fence"
	"github.com/recount-io/recount/history"
)

// run is one run of a case.
type run struct {
	Case
	recorder *history.Recorder
	guarded  guarded

	mu    sync.Mutex
	found []string
}

// guarded are resources behind a guard.
type guarded interface {
	// write makes a writer's write, which takes so long where it is made. Its error
	// is a *fence.StaleError if the guard refused it.
	write(ctx context.Context, writer, resource int, token uint64, value string, takes time.Duration) error
	// read reads a resource where it is, in no time.
	read(resource int) (value string, token uint64)
	// cut lets a writer's messages be lost, mend none any more.
	cut(writer int, answers bool)
	mend(writer int)
	close()
}

// Run carries out the case. It returns its history, and what was found beside what
// the history shows: errors that nothing explains.
func (c Case) Run(ctx context.Context) (*history.History, []string) {
	begin := time.Now()
	r := &run{Case: c}
	r.recorder = history.NewRecorder(func() time.Duration { return time.Since(begin) })
	switch c.Guard {
	case InRedis:
		r.guarded = newRedis(c)
	default:
		r.guarded = newLocal(c)
	}
	var all sync.WaitGroup
	for i, t := range c.Terms {
		all.Go(func() { r.lead(ctx, i, t) })
	}
	for _, cut := range c.Cuts {
		all.Go(func() {
			time.Sleep(cut.From)
			r.guarded.cut(cut.Writer, cut.Answers)
			time.Sleep(cut.To - cut.From)
			r.guarded.mend(cut.Writer)
		})
	}
	over := make(chan struct{})
	var readers sync.WaitGroup
	for i := range c.Resources {
		readers.Go(func() { r.watch(i, over) })
	}
	all.Wait()
	time.Sleep(settling)
	close(over)
	readers.Wait()
	r.guarded.close()
	return r.recorder.History(r.header()), r.found
}

// settling is how long a write may be under way that nobody waits for any more.
const settling = 3 * time.Second

func (r *run) header() history.Header {
	h := history.Header{Scenario: "guards", Subject: "recount", World: "bubble", Seed: r.Seed, Lease: time.Second, Promises: []string{"FencedWrites"}}
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
func (r *run) lead(ctx context.Context, number int, t Term) {
	draw := rand.New(rand.NewPCG(r.Seed, uint64(number)))
	time.Sleep(t.From)
	begin := time.Now()
	for n := 0; time.Since(begin) < t.To-t.From; n++ {
		r.write(ctx, t, fmt.Sprintf("%s/%d/%d", writerName(t.Writer), t.Token, n))
		time.Sleep(t.Pace/2 + time.Duration(draw.Int64N(int64(t.Pace))))
	}
}

// requestTimeout is how long a writer waits for an answer.
const requestTimeout = time.Second

func (r *run) write(ctx context.Context, t Term, value string) {
	e := history.Event{
		Kind: history.Invoke, Call: history.Write, Node: writerName(t.Writer), Election: resourceName(t.Resource),
		Op: r.recorder.NextOp(), Token: t.Token, Value: value,
	}
	r.recorder.Stamp(e)
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := r.guarded.write(ctx, t.Writer, t.Resource, t.Token, value, t.Takes)
	var stale *fence.StaleError
	switch {
	case err == nil:
		e.Kind = history.Ok
	case errors.As(err, &stale):
		e.Kind, e.Fence = history.Fail, stale.Highest
		if stale.Token != t.Token {
			r.find("refusal: token %d was refused, and the error names %d", t.Token, stale.Token)
		}
	default:
		e.Kind, e.Error = history.Info, err.Error()
		if len(r.Cuts) == 0 && !errors.Is(err, context.DeadlineExceeded) {
			r.find("error: a write with token %d: %v", t.Token, err)
		}
	}
	r.recorder.Stamp(e)
}

func (r *run) find(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found = append(r.found, fmt.Sprintf(format, args...))
}

// watch reads a resource now and then.
func (r *run) watch(resource int, over <-chan struct{}) {
	draw := rand.New(rand.NewPCG(r.Seed, 1<<32+uint64(resource)))
	for {
		select {
		case <-over:
			return
		case <-time.After(between(draw, time.Millisecond, 300*time.Millisecond)):
		}
		e := history.Event{Kind: history.Invoke, Call: history.Read, Node: reader, Election: resourceName(resource), Op: r.recorder.NextOp()}
		r.recorder.Stamp(e)
		e.Kind = history.Ok
		e.Value, e.Token = r.guarded.read(resource)
		r.recorder.Stamp(e)
	}
}

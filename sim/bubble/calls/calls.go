package calls

import (
	"context"
	"errors"
	"time"

	"github.com/recount-io/recount/elector"
)

// compete makes the candidate compete until ctx is done, in its process's way:
// whatever ends is begun again, as by a supervisor.
func (c *candidate) compete(ctx context.Context) {
	for ctx.Err() == nil {
		c.anew()
		switch c.behavior.Call {
		case Run, Once:
			c.callRun(ctx)
		case Terms:
			c.callTerms(ctx)
		case Campaign:
			for c.callCampaign(ctx) {
				c.anew()
			}
		case TryAcquire:
			c.callTry(ctx)
		}
		sleep(ctx, c.config.Lease/8)
	}
}

func (c *candidate) callRun(ctx context.Context) {
	due := c.due()
	c.panics(false)
	err := c.elector.Run(ctx)
	c.run.bite("call:" + c.behavior.Call.String())
	c.ranAsSaid(ctx, err)
	c.over(ctx, due)
}

func (c *candidate) callTerms(ctx context.Context) {
	due := c.due()
	defer func() {
		if v := recover(); v != nil { // the body's own: the loop has cleaned up
			c.over(ctx, due)
		}
	}()
	var last error
	for t, err := range c.elector.Terms(ctx) {
		if err != nil {
			last = err
			continue
		}
		c.run.bite("call:terms")
		func() {
			defer c.expectOver(t)
			defer c.working(t)()
			c.work(t.Context(), t)
		}()
	}
	c.termsAsSaid(ctx, last)
	c.over(ctx, due)
}

// callCampaign reports whether it is to be called again at once.
func (c *candidate) callCampaign(process context.Context) (again bool) {
	due := c.due()
	ctx, cancel := context.WithTimeout(process, 4*c.config.Lease)
	defer cancel()
	t, err := c.elector.Campaign(ctx)
	c.campaignAsSaid(ctx, t, err, due)
	if t != nil {
		c.run.bite("call:campaign")
		again = c.workOff(process, t)
	}
	return again
}

func (c *candidate) callTry(process context.Context) {
	due := c.due()
	ctx, cancel := context.WithTimeout(process, 2*c.config.Lease)
	defer cancel()
	t, err := c.elector.TryAcquire(ctx)
	c.tryAsSaid(ctx, t, err, due)
	if t != nil {
		c.run.bite("call:try")
		c.workOff(process, t)
	}
}

// workOff does the work of a term that the candidate called for, and gives it back. One
// that was lost need not be given back: half of those who lose one do not, and ask again.
func (c *candidate) workOff(process context.Context, t *elector.Term) (lost bool) {
	func() {
		defer func() { _ = recover() }() // who calls for a term looks after it
		defer c.working(t)()
		work, cancel := context.WithCancel(t.Context())
		defer cancel()
		defer context.AfterFunc(process, cancel)() // the term itself goes on
		c.work(work, t)
	}()
	if process.Err() == nil && t.Check(0) != nil && (c.run.Number+t.Token())%2 == 0 {
		c.run.bite("lost, and asks again")
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*c.config.Lease)
	defer cancel()
	r, a := c.run, Act{At: c.run.recorder.Now(), Election: c.index}
	stood, goesOn := c.life.gate.Stood(), t.Check(c.config.Lease/10) == nil
	err := t.Resign(ctx)
	c.resignedAsSaid(ctx, t, err)
	took, bound := r.recorder.Now()-a.At, c.config.Lease/10+6*r.RoundTrip
	still := r.Elections <= few && r.still(-1, a, c.life.process.world(), r.Lease/2, took)
	trip, opening := c.life.process.trips()
	fits := opening+2*trip <= c.config.RequestTimeout // all connections may be busy, and the script unknown
	if still && goesOn && fits && c.life.gate.Stood() == stood && (err != nil || took > bound) {
		c.find(released, "Resign of term %d returned %v after %v, and nothing hindered it", t.Token(), err, took)
	}
	return false
}

// work writes as long as the term lasts.
func (c *candidate) work(ctx context.Context, t *elector.Term) {
	c.mu.Lock()
	if c.term != nil {
		c.past = append(c.past, c.term)
	}
	c.term, c.since, c.ledger.deadline = t, c.run.recorder.Now(), 0
	c.mu.Unlock()
	c.leading()
	go c.awaitEnd(t)
	began := time.Now()
	pace := time.NewTicker(c.run.pace())
	defer pace.Stop()
	for n := 1; ctx.Err() == nil; n++ {
		c.consistent(t)
		if t.Check(0) != nil {
			break
		}
		c.publishing(t, n)
		if fence, ok := c.write(ctx, t, n); !ok {
			c.refused(t, fence)
			c.run.bite("refused")
			break
		}
		if ends := c.behavior.Ends; ends > 0 && time.Since(began) >= ends && !c.run.healed() {
			c.run.bite("ends")
			return
		}
		select {
		case <-ctx.Done():
		case <-pace.C:
		case call := <-c.inside:
			call()
		}
		c.life.gate.Wait()
	}
	if ctx.Err() != nil && c.holdsOn() {
		c.lastWords(t)
	}
	if ctx.Err() != nil || c.behavior.Works == Panics {
		c.take("works", c.behavior.Works) // work that hangs in its term is the caller's, and the leader may lead
	}
}

// documented reports whether an error is one of those.
func documented(err error, documented ...error) bool {
	for _, one := range documented {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

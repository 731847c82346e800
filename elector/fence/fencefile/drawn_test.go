package fencefile

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	cases "github.com/recount-io/recount/internal/drawn"
)

// drawn is a case: leaders of growing tokens who write to one file, some of them at
// once, and what happens to them and to their disk.
type drawn struct {
	number uint64
	kind   kind // what the file is; anyKind: it guards something else
	slow   time.Duration
	in     int // of so many steps one fails, when the disk does
	leads  []lead
	acts   []act
}

// lead is somebody's time as the leader.
type lead struct {
	token    uint64
	from, to time.Duration
	pace     time.Duration
	patience time.Duration // until it gives up
	checks   bool          // it makes its token known first
	steps    int           // of the disk, after which its process dies; below 0: it does not
}

// act is something that happens.
type act struct {
	at     time.Duration
	lasts  time.Duration
	fault  error // of the disk; nil: the machine crashes
	dies   bool  // the machine crashes afterwards
	loses  bool  // the fence's file is gone after the crash
	older  bool  // or is that of some time before
	killed int   // a lead's process dies at first; below 0: none
}

func (a act) String() string {
	return fmt.Sprintf("%v %v for %v, dies %v, loses %v, older %v, kills %d", a.at, a.fault, a.lasts, a.dies, a.loses, a.older, a.killed)
}

func draw(number uint64) drawn {
	r := rand.New(rand.NewPCG(number, 0))
	upTo := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d)) + 1) }
	d := drawn{number: number, kind: []kind{logKind, logKind, wholeKind, anyKind}[r.IntN(4)], slow: []time.Duration{0, time.Millisecond, 50 * time.Millisecond}[r.IntN(3)]}
	d.in = []int{2, 8, 8}[r.IntN(3)]
	edges := []uint64{1, 9, 10, 99, 1 << 53, 1<<63 - 1, 1<<64 - 5}
	token, begin := edges[r.IntN(len(edges))], time.Duration(0)
	for range 2 + r.IntN(6) {
		l := lead{token: token, from: begin, pace: time.Millisecond + upTo(200*time.Millisecond), patience: upTo(time.Second), checks: r.IntN(2) == 0, steps: -1}
		begin += upTo(time.Second)
		l.to = begin + upTo(time.Second)
		switch r.IntN(6) {
		case 0:
			l.steps = r.IntN(150)
		case 1: // in its first call, and soon everybody does
			l.steps = r.IntN(24)
			if r.IntN(2) == 0 {
				d.acts = append(d.acts, act{at: l.from + upTo(300*time.Millisecond), killed: -1})
			}
		}
		d.leads = append(d.leads, l)
		if token += 1 + uint64(r.IntN(2)); token < l.token {
			break
		}
	}
	faults := []error{nil, nil, nil, syscall.ENOSPC, syscall.EIO, syscall.ENOENT, syscall.EACCES}
	for range r.IntN(6) {
		a := act{at: upTo(begin + time.Second), lasts: upTo(time.Millisecond << r.IntN(9)), fault: faults[r.IntN(len(faults))], killed: -1}
		switch {
		case r.IntN(4) == 0:
			a.killed, a.dies = r.IntN(len(d.leads)), r.IntN(2) == 0
		case a.fault != nil:
			a.dies = r.IntN(3) == 0
		case d.kind == logKind && a.fault == nil && r.IntN(3) == 0:
			a.loses = r.IntN(2) == 0
			a.older = !a.loses
		}
		d.acts = append(d.acts, a)
	}
	return d
}

// course is what happens in a case. Its lock is never held while anything waits.
type course struct {
	drawn
	ledger
	disk  *platter
	start time.Time

	programs []*program // of the leads, at present
	fences   [][]byte   // what the fence's file held, now and then
}

// carryOut carries out a case in a bubble of fake time, and returns what is wrong.
func carryOut(t *testing.T, d drawn) []string {
	t.Helper()
	c := &course{drawn: d, disk: newPlatter(d.number), ledger: newLedger(), programs: make([]*program, len(d.leads))}
	c.disk.slow, c.disk.in = d.slow, d.in
	synctest.Test(t, func(t *testing.T) {
		c.start = time.Now()
		var group sync.WaitGroup
		for i, l := range d.leads {
			group.Go(func() { c.lead(t.Context(), i, l) })
		}
		for _, a := range d.acts {
			group.Go(func() { c.act(a) })
		}
		over := make(chan struct{})
		go c.watch(over)
		group.Wait()
		close(over)
		c.end(t.Context())
		c.disk.crash()
		c.look()
	})
	return c.found
}

// lead lets a leader write. When its process dies, it is started again.
func (c *course) lead(ctx context.Context, i int, l lead) {
	r := rand.New(rand.NewPCG(c.number, uint64(1+i)))
	time.Sleep(l.from)
	g := c.begin(i, l.steps)
	for n := 0; time.Since(c.start) < l.to; n++ {
		what := []string{"write", "write", "write", "check", "highest"}[r.IntN(5)]
		if n == 0 && l.checks {
			what = "check"
		}
		a := &attempt{what: what, token: l.token, value: fmt.Sprintf("%d/%d", i, n), patience: l.patience, takes: time.Duration(r.Int64N(int64(l.pace)))}
		if r.IntN(30) == 0 {
			a.token = 0
		}
		if c.call(ctx, g, a); a.died {
			g = c.begin(i, -1)
		}
		time.Sleep(l.pace/2 + time.Duration(r.Int64N(int64(l.pace))))
	}
}

// begin begins a lead's process.
func (c *course) begin(i, steps int) *program {
	g := c.disk.process()
	g.steps = steps
	c.mu.Lock()
	defer c.mu.Unlock()
	c.programs[i] = g
	return g
}

// call makes a call in a process, which may die in the middle of it.
func (c *course) call(ctx context.Context, g *program, a *attempt) {
	ctx, cancel := context.WithTimeout(ctx, a.patience)
	defer cancel()
	c.started(a)
	began, met, ended := time.Now(), g.met(), make(chan struct{})
	go func() {
		defer close(ended) // also of who dies
		a.died = true
		a.err = c.ask(ctx, File{Path: path, disk: g}, g, a)
		a.died = false
	}()
	<-ended
	a.took, a.faults = time.Since(began), g.met()-met
	a.stood = g.stood()
	c.over(a, c.lines())
}

// path is that of the file.
const path = folder + "/file"

// ask asks the guard for what the attempt is.
func (c *course) ask(ctx context.Context, f File, g *program, a *attempt) error {
	switch {
	case a.what == "highest":
		highest, err := f.Highest(ctx)
		if err == nil {
			c.answered(a, highest)
		}
		return err
	case a.what == "check":
		return f.Check(ctx, a.token)
	case c.kind == logKind:
		return f.Append(ctx, a.token, []byte(a.value))
	case c.kind == wholeKind:
		return f.Replace(ctx, a.token, a.content())
	default:
		return f.Do(ctx, a.token, func() error {
			c.enter(g, a)
			time.Sleep(a.takes)
			c.leave(g, a)
			return nil
		})
	}
}

// act lets something happen.
func (c *course) act(a act) {
	time.Sleep(a.at)
	switch {
	case a.killed >= 0:
		c.mu.Lock()
		g := c.programs[a.killed]
		c.mu.Unlock()
		if g != nil {
			g.kill()
		}
		time.Sleep(a.lasts)
	case a.fault != nil:
		c.disk.fail(a.fault)
		time.Sleep(a.lasts)
		c.disk.fail(nil)
	}
	if a.dies || a.fault == nil && a.killed < 0 {
		c.keep()
		c.disk.crash()
		c.lose(a)
		c.look()
	}
	c.keep()
}

// keep notes what the fence's file holds.
func (c *course) keep() {
	if content, is := c.disk.read(path + ".fence"); is {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.fences = append(c.fences, content)
	}
}

// lose takes the fence's file away, or puts one of some time before in its place.
func (c *course) lose(a act) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.lines() == 0: // a log without a line is nobody's
		return
	case a.loses:
		c.disk.restore(path+".fence", nil)
	case a.older && len(c.fences) > 0:
		c.disk.restore(path+".fence", c.fences[0])
	default:
		return
	}
	c.forget()
}

// lines is how many whole lines the file has.
func (c *course) lines() int {
	content, _ := c.disk.read(path)
	return strings.Count(string(content), "\n")
}

// look looks at the file.
func (c *course) look() {
	c.mu.Lock() // nobody is told of a write in between
	defer c.mu.Unlock()
	content, is := c.disk.read(path)
	switch {
	case c.kind == logKind:
		c.log(string(content))
	case c.kind == wholeKind && is:
		c.whole(content)
	}
}

// watch looks at the file now and then.
func (c *course) watch(over <-chan struct{}) {
	r := rand.New(rand.NewPCG(c.number, 1<<32))
	for {
		select {
		case <-over:
			return
		case <-time.After(time.Duration(r.Int64N(int64(200*time.Millisecond))) + 1):
			c.look()
		}
	}
}

// end makes the last leader write again, on a sound disk, until that is accepted.
func (c *course) end(ctx context.Context) {
	c.disk.slow = 0
	a := &attempt{}
	for n := range 3 {
		a = &attempt{what: "write", token: c.leads[len(c.leads)-1].token, value: fmt.Sprintf("last/%d", n), patience: time.Minute}
		if c.call(ctx, c.disk.process(), a); a.err == nil {
			break
		}
	}
	if a.err != nil {
		c.find("recovers", "%v is not accepted on a sound disk", a)
	}
	c.look()
}

// Whatever leaders, processes, machines and disks do, a file on a disk that may lose
// whatever was not synchronised keeps every line and content that was acknowledged, and
// admits no token smaller than one before. A failure names the number of its case.
func TestDrawnDisks(t *testing.T) {
	first, n, err := cases.Cases(300, 15)
	if err != nil {
		t.Fatal(err)
	}
	for number := first; number < first+n; number++ {
		d := draw(number)
		for _, what := range carryOut(t, d) {
			t.Errorf("case %d: %s\n   %+v", number, what, d)
		}
	}
}

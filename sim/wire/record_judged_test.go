package wire_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/sim/virtual/redismodel"
	"github.com/recount-io/recount/sim/wire"
)

// keeper is a way to keep the lease in a record.
type keeper struct {
	name   string
	script string // that does it all; "": the program reads the record and swaps it
	clocks bool   // the candidates' wall clocks are hours apart
	wall   bool   // it compares the record's time with its wall clock, and does not wait until it saw the record for a lease
	hasty  bool   // it takes the lease from any holder
}

var keepers = []keeper{
	{name: "waits"},
	{name: "waits, by clocks that are wrong", clocks: true},
	{name: "compares with its clock", wall: true},
	{name: "a script, by the candidate's clock", script: takeAfter, wall: true},
	{name: "a script, by the server's clock", script: takeByServer},
	{name: "a script for a hash", script: takeHash},
	{name: "a script for a hash, field by field", script: takeFields},
}

// reader is what a program knows of the record.
type reader struct {
	seen  string
	since time.Duration
	knows bool
}

// trial makes a trial of programs that keep the lease so.
func (k keeper) trial(seed uint64) *trial {
	t := newTrial(seed, habit{name: k.name})
	t.lock = wire.NewLock(wire.Options{Key: "lock", Wall: func() time.Time { return time.Unix(0, int64(t.now)) }, Lease: t.lease, Drift: 0.01})
	begin := time.Duration(noon.UnixNano()) // the store's clock shows what time it is in the trial
	readers := map[*program]*reader{}
	t.todo, t.now = nil, begin
	tell := func(e history.Event) {
		e.At = t.now - begin
		t.events = append(t.events, e)
	}
	for i := range 3 {
		p := &program{node: "n" + strconv.Itoa(i+1)}
		p.conn = t.lock.Conn(p.node, tell, func() int64 { t.ops++; return t.ops })
		readers[p] = &reader{}
		t.after(t.upTo(t.lease), func() { t.next(p) })
	}
	t.turn = func(p *program) { k.turn(t, p, readers[p]) }
	return t
}

// clock is what the program's wall clock shows.
func (k keeper) clock(t *trial, p *program) time.Time {
	hours := map[string]time.Duration{"n1": 0, "n2": time.Hour, "n3": -24 * time.Hour}[p.node]
	if !k.clocks {
		hours = 0
	}
	return time.Unix(0, int64(t.now+hours)).UTC()
}

func (k keeper) turn(t *trial, p *program, r *reader) {
	now := k.clock(t, p)
	id, lease := "id-"+p.node, strconv.FormatInt(t.lease.Milliseconds(), 10)
	switch {
	case k.script != "" && k.wall:
		t.send(p, []string{"EVAL", k.script, "1", "lock", id, strconv.FormatInt(now.UnixMilli(), 10), lease}, func(redismodel.Reply, bool) {})
		return
	case k.script != "":
		t.send(p, []string{"EVAL", k.script, "1", "lock", id, lease}, func(redismodel.Reply, bool) {})
		return
	case !r.knows:
		t.send(p, []string{"GET", "lock"}, func(reply redismodel.Reply, came bool) {
			if r.knows = came; came && (reply.Text != r.seen || r.since == 0) {
				r.seen, r.since = reply.Text, t.now
			}
		})
		return
	}
	r.knows = false
	var held struct{ Holder, RenewTime string }
	if r.seen != "" {
		if err := json.Unmarshal([]byte(r.seen), &held); err != nil {
			panic(err)
		}
	}
	stamp, _ := time.Parse(time.RFC3339Nano, held.RenewTime)
	over := t.now >= r.since+t.lease
	if k.wall {
		over = !now.Before(stamp.Add(t.lease))
	}
	if held.Holder != "" && held.Holder != id && !over && !k.hasty {
		t.after(t.pause(), func() { t.next(p) })
		return
	}
	holder := id
	if held.Holder == id && t.rand.IntN(6) == 0 {
		holder = ""
	}
	record := fmt.Sprintf(`{"holder":%q,"renewTime":%q}`, holder, now.Format(time.RFC3339Nano))
	t.send(p, []string{"EVAL", swapText, "1", "lock", r.seen, record}, func(redismodel.Reply, bool) {})
}

// A node that keeps the lease in a record rightly is never accused, whatever is late or lost.
func TestNoKeeperOfRecordsIsAccused(t *testing.T) {
	for _, k := range keepers {
		seeds := 40
		if testing.Short() || race.Enabled {
			seeds = 20
		}
		if k.script != "" { // each request is explored
			seeds /= 8
		}
		passed, known := 0, 0
		for seed := range uint64(seeds) {
			run := k.trial(seed).run()
			lease, form, result := judge(run)
			if lease.Verdict == checker.Fail || form.Verdict != checker.Pass || strings.Contains(lease.Reason, "disagree") {
				t.Fatalf("%s, seed %d: %v %s; form %v %s\n%s", k.name, seed, lease.Verdict, lease.Reason, form.Verdict, form.Reason, listing(run))
			}
			if lease.Verdict == checker.Pass {
				passed++
			}
			known += result.Ops.Ok + result.Ops.Fail
		}
		t.Logf("%s: %d of %d histories were judged, with %d operations of known outcome", k.name, passed, seeds, known)
		if passed < seeds*9/10 || known < 10*seeds {
			t.Errorf("%s: of %d histories only %d were judged, with %d operations of known outcome", k.name, seeds, passed, known)
		}
	}
}

// A node that takes the lease before its time is caught: without a wait, or by a clock that
// is ahead.
func TestHastyKeepersOfRecordsAreCaught(t *testing.T) {
	for _, k := range []keeper{
		{name: "hasty", hasty: true},
		{name: "compares with a wrong clock", wall: true, clocks: true},
		{name: "a script, by a wrong clock", script: takeAfter, wall: true, clocks: true},
	} {
		caught, seeds := 0, 60
		if k.script != "" {
			seeds = 15
		}
		for seed := range uint64(seeds) {
			run := k.trial(seed).run()
			lease, _, _ := judge(run)
			if strings.Contains(lease.Reason, "disagree") {
				t.Errorf("%s, seed %d: %s\n%s", k.name, seed, lease.Reason, listing(run))
			}
			if lease.Verdict == checker.Fail {
				caught++
			}
		}
		t.Logf("%s: caught in %d of %d histories", k.name, caught, seeds)
		if caught < seeds/5 {
			t.Errorf("%s: caught in %d of %d histories", k.name, caught, seeds)
		}
	}
}

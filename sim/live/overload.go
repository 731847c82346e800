package live

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim/stage"
)

// overloads collects the times in which a server of the store refused connections
// or was busy all the time, which says nothing about the elector. A store that only
// answered late, and did not work meanwhile, was held up by the machine: see stalls.
type overloads struct {
	least    time.Duration // what lasts for less is not looked for
	recorder *history.Recorder

	mu  sync.Mutex
	all []overload
}

type overload struct {
	from, to time.Duration
	what     string
	busy     bool // what a fault on the store would explain: a server that starts works
}

// A server counts as busy that worked for most of what is looked for, and for most of
// the time between two looks: Redis executes commands one after the other, on one
// processor. One that waited for its processor instead did not work.
const (
	busyWork  = 0.8
	busyShare = 0.5
)

// load is what a server tells of its load. Not every server does.
type load struct {
	counts   bool          // rejected is known
	rejected int64         // connections, since the server was started
	works    bool          // worked is known
	worked   time.Duration // processor time, since the server was started
}

// refused begins the error of a server that has as many clients as it may have.
const refused = "max number of clients reached"

// note notes what went on from then until now.
func (o *overloads) note(from time.Duration, busy bool, what string) {
	now := o.recorder.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, overload{max(min(from, now), 0), now, what, busy})
}

// heard looks into the error of a request that our own candidate made: a refusal
// says so.
func (o *overloads) heard(e *history.Event) {
	if strings.Contains(e.Error, refused) {
		o.note(e.At, false, "it refused a connection of "+e.Node)
	}
}

// watch asks one server for its load until ctx is done.
func (o *overloads) watch(ctx context.Context, ask func(context.Context) (load, error)) {
	var last load
	at := o.recorder.Now()
	for first := true; first || stage.Sleep(ctx, o.least); first = false {
		began := o.recorder.Now()
		asking, cancel := context.WithTimeout(ctx, actTime)
		l, err := ask(asking)
		cancel()
		now := o.recorder.Now()
		switch {
		case err != nil && strings.Contains(err.Error(), refused):
			o.note(began, false, "it refused a connection of the harness")
			continue
		case err != nil:
			last, at = load{}, now
			continue
		}
		if l.rejected < last.rejected || l.worked < last.worked {
			last.works, last.rejected = false, 0 // it was started again
		}
		if more := l.rejected - last.rejected; last.counts && l.counts && more > 0 {
			o.note(at, false, fmt.Sprintf("it refused %d connections", more))
		}
		worked := float64(l.worked - last.worked)
		if last.works && l.works && worked >= busyWork*float64(o.least) && worked >= busyShare*float64(now-at) {
			o.note(at, true, fmt.Sprintf("it worked for %.0f of %d ms", worked/1e6, (now-at).Milliseconds()))
		}
		last, at = l, now
	}
}

// record puts the overloads into the history: what follows close on each other is
// one. A server that was busy while a fault was on the store is none.
func (o *overloads) record(injected []history.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	faulty := windows(injected)[history.StoreTarget]
	slices.SortStableFunc(o.all, func(a, b overload) int { return cmp.Compare(a.from, b.from) })
	var joined []overload
	for _, next := range o.all {
		if next.busy && slices.ContainsFunc(faulty, stall{from: next.from, to: next.to}.explained) {
			continue
		}
		if i := len(joined) - 1; i >= 0 && next.from <= joined[i].to+2*o.least {
			joined[i].to = max(joined[i].to, next.to)
			continue
		}
		joined = append(joined, next)
	}
	for i, one := range joined {
		for _, e := range stage.Uninjected(fmt.Sprintf("o%d", i+1), history.OverloadFault, []string{history.StoreTarget}, one.from, one.to,
			history.Effect{}, "the store was overloaded: "+one.what) {
			o.recorder.Record(e)
		}
	}
}

// loadOf asks a server for its load by INFO.
func loadOf(ctx context.Context, c *redis.Client) (load, error) {
	pipe := c.Pipeline()
	stats, cpu := pipe.Info(ctx, "stats"), pipe.Info(ctx, "cpu")
	_, _ = pipe.Exec(ctx) // the errors are those of the commands
	text, err := stats.Result()
	if err != nil {
		return load{}, err
	}
	worked, _ := cpu.Result() // one that does not tell is not looked at
	return parseLoad(text + "\n" + worked), nil
}

// parseLoad reads the sections "stats" and "cpu" of INFO.
func parseLoad(info string) (l load) {
	seconds := map[string]float64{}
	for lines := bufio.NewScanner(strings.NewReader(info)); lines.Scan(); {
		name, text, _ := strings.Cut(strings.TrimSpace(lines.Text()), ":")
		value, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil:
		case name == "rejected_connections":
			l.counts, l.rejected = true, int64(value)
		case strings.HasPrefix(name, "used_cpu_"):
			seconds[strings.TrimPrefix(name, "used_cpu_")] = value
		}
	}
	// The thread that executes commands, where it is counted apart: those that write
	// files and close connections keep nobody waiting.
	for _, suffix := range []string{"_main_thread", ""} {
		user, known := seconds["user"+suffix]
		sys, too := seconds["sys"+suffix]
		if known && too {
			l.works, l.worked = true, time.Duration((user+sys)*float64(time.Second))
			break
		}
	}
	return l
}

package calls

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/redisstore/scripts"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/bubble/fenced"
	"github.com/recount-io/recount/sim/bubble/network"
	"github.com/recount-io/recount/sim/bubble/redisserver"
	"github.com/recount-io/recount/sim/space"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// run is one run of a case.
type run struct {
	Case
	began     time.Time
	recorder  *history.Recorder
	processes []*process
	resource  resource
	service   *fenced.Service
	lives     sync.WaitGroup
	over      chan struct{} // closed at the end: whatever hangs ends
	control   redisserver.Control
	space.Findings

	mu     sync.Mutex
	server *redisserver.Server // the primary
	grants map[string][]grant  // by election
	lived  []*life             // all of them, in the order of their births

	onlooker   *onlooker // nil: nobody looks on
	jobLocks   jobLocks
	ledgers    ledgers
	board      board
	executions map[string]bool // of scripts that change something
	calm       bool            // all is healed
	bit        map[string]bool
	servers    int
}

// Run carries out the case.
func (c Case) Run(ctx context.Context) space.Outcome {
	logging.Disable() // connections break on purpose
	begin := time.Now()
	r := &run{Case: c, began: begin, over: make(chan struct{}), grants: map[string][]grant{}, executions: map[string]bool{}, bit: map[string]bool{}, service: fenced.New(), ledgers: ledgers{of: map[ledgerKey]map[string]counts{}, holder: map[ledgerKey]string{}}, jobLocks: jobLocks{held: map[string][]job{}, asked: map[int]time.Time{}}, board: newBoard()}
	r.resource.fences = map[string]uint64{}
	r.recorder = history.NewRecorder(func() time.Duration { return time.Since(begin) })
	r.recorder.Observe(r.see)
	r.server = redisserver.New(redisserver.Options{
		Clock: r.control.Clock, Databases: c.Databases, Refuse: r.refuse, Password: c.Greeting.password(), Users: users,
		Executed: func(_ *redisserver.Server, db *redismodel.Server, args []string, reply redismodel.Reply) {
			if args[0] == "EVAL" || args[0] == "EVALSHA" {
				r.executed(args, reply)
				r.looks(db, args, reply)
			}
		},
	})
	for i := range c.Processes {
		p := &process{run: r, index: i, name: c.process(i), died: -1}
		net := sim.Network{Latency: c.RoundTrip / 2, Jitter: c.RoundTrip / 20}
		p.link = network.NewLink(c.Number<<8+uint64(i), net, r.server)
		r.processes = append(r.processes, p)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.live(ctx, begin)
	}()
	r.awaitRest(ended)
	r.paced()
	r.mu.Lock()
	defer r.mu.Unlock()
	return space.Outcome{History: r.recorder.History(r.header()), Findings: r.All(), Effects: r.effects()}
}

// live is all that happens in the run.
func (r *run) live(ctx context.Context, begin time.Time) {
	r.vouch()
	r.lookOn()
	for i, p := range r.processes {
		if r.Number%2 == 1 {
			i = len(r.processes) - i // the strange ones come first
		}
		p.start(time.Duration(i) * (time.Millisecond + r.RoundTrip))
	}
	r.act(ctx, begin)
	r.heal()
	sleep(ctx, r.bound()+r.longest())
	r.listen()
	r.lookAround(ctx)
	r.shown(ctx)
	if r.onlooker != nil {
		r.onlooker.knows()
		r.onlooker.sawAll()
	}
	r.recorder.Stamp(history.Event{Kind: history.Note, Text: history.EndOfRunNote})
	r.end()
}

// see notes when terms begin and end, and when their leases were given back.
func (r *run) see(e history.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch of := r.grants[e.Election]; {
	case e.Kind == history.Elected:
		r.grants[e.Election] = append(of, grant{at: e.At, to: e.Node, token: e.Token})
	case e.Kind == history.Deposed, e.Kind == history.Ok && e.Call == history.Release:
		i := slices.IndexFunc(of, func(g grant) bool { return g.to == e.Node && g.token == e.Token })
		switch {
		case i < 0:
		case e.Kind == history.Deposed:
			of[i].over = e.At
		default:
			of[i].released = e.At
		}
	}
}

// grant is a term: when somebody was elected, and with what token.
type grant struct {
	at       time.Duration
	to       string
	token    uint64
	over     time.Duration // when it ended, as its leader has said; 0: it has not
	released time.Duration // when the store had confirmed that its lease was given back; 0: it has not
}

// electedBetween reports whether somebody was elected in that time, other than one.
func (r *run) electedBetween(election string, from, to time.Duration, other string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.grants[election] {
		if from <= g.at && g.at <= to && g.to != other {
			return true
		}
	}
	return false
}

// nextIn is who was elected first in that time, "" if nobody was.
func (r *run) nextIn(election string, from, to time.Duration) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.grants[election] {
		if from <= g.at && g.at <= to {
			return g.to
		}
	}
	return ""
}

// bite notes that a feature of the case had an effect.
func (r *run) bite(feature string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bit[feature] = true
}

func (r *run) primary() *redisserver.Server {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.server
}

// rate is that of a process's clock.
func (r *run) rate(process int) float64 {
	m := r.Processes[process]
	drift := m.Drift
	if drift == 0 {
		drift = elector.DefaultDrift
	}
	return 1 + m.Skew*drift
}

// vouch says that the servers are new.
func (r *run) vouch() {
	for i := range r.worlds() {
		p := r.processes[i]
		r.data(p, func(do func(...string) redismodel.Reply) {
			for e := range r.Elections {
				do("EVAL", scripts.Vouch(), "3", p.key(e, "lease"), p.key(e, "token"), p.prefix()+"witness", "")
			}
		})
	}
}

// data calls f with what executes commands on a process's data, unless the primary
// is down.
func (r *run) data(p *process, f func(do func(args ...string) redismodel.Reply)) {
	if !r.primary().Open() {
		return
	}
	r.primary().With(func(dbs []*redismodel.Server, now time.Duration) {
		f(func(args ...string) redismodel.Reply { return dbs[p.database()].Do(now, args...) })
	})
}

// key is a key of an election.
func (p *process) key(e int, what string) string { return p.keyOf(p.run.election(e), what) }

func (p *process) keyOf(name, what string) string {
	return fmt.Sprintf("%s{%s}:%s", p.prefix(), name, what)
}

// channel is an election's: the databases of a server share its channels.
func (p *process) channel(e int) string {
	if db := p.database(); db > 0 {
		return p.key(e, "wake") + ":" + strconv.Itoa(db)
	}
	return p.key(e, "wake")
}

// keysOf are all keys of an election.
func (p *process) keysOf(name string) (all []string) {
	for _, what := range []string{"lease", "token", "guard", "candidates", "terms"} {
		all = append(all, p.keyOf(name, what))
	}
	return all
}

func (c *candidate) key(what string) string { return c.life.process.key(c.index, what) }

// isOf reports whether a lease's value is the candidate's of that token. One that was evicted
// is nobody's any more: it lasts without a nonce.
func (c *candidate) isOf(value string, token uint64) bool {
	fields := strings.Fields(value)
	return len(fields) == 4 && fields[1] == strconv.FormatUint(token, 10) && fields[2] != "%" && fields[3] == c.elector.ID()
}

// act lets everything happen that is to happen.
func (r *run) act(ctx context.Context, begin time.Time) {
	sleep(ctx, r.Lease)
	var acts sync.WaitGroup
	for i, a := range r.Acts {
		sleep(ctx, time.Until(begin.Add(a.At)))
		acts.Go(func() {
			if r.do(ctx, i, a) {
				r.bite("act:" + a.Kind.String())
			}
		})
	}
	acts.Wait()
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(max(d, 0)):
	case <-ctx.Done():
	}
}

var quiet = slog.New(slog.DiscardHandler)

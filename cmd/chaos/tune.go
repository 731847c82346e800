package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/cmd/internal/usage"
	"github.com/recount-io/recount/reports"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/scenarios/failover"
	"github.com/recount-io/recount/scenarios/tune"
	"github.com/recount-io/recount/sim/live/redisserver"
	"github.com/recount-io/recount/sim/stage"
)

// tuneFlags are the flags of chaos tune.
type tuneFlags struct {
	rtt, p99 time.Duration
	loss     string
	drift    string
	update   []string
	measure  string
	network  string
	wants    []string
	pauses   string
	outages  string
	leases   []time.Duration
	nodes    int
	seed     uint64
	confirm  bool
	out      string
	asJSON   bool
}

// What happens in a year unless a flag says otherwise: a machine is suspended or migrated
// once a month, and the store fails over as often.
const (
	defaultPauses  = "12 of 1s"
	defaultOutages = "12 of 2s"
	defaultWant    = "needless < 1/year"
	defaultDrift   = "1%"

	// measuring is how long --measure takes, and pingEvery how often it asks meanwhile.
	measuringTakes = time.Minute
	pingEvery      = 50 * time.Millisecond
)

func (m Main) tuneCommand() *cobra.Command {
	var f tuneFlags
	cmd := &cobra.Command{
		Use:   "tune",
		Short: "Find the lease, the renewals and the retries that fit a network",
		Long: `Tune tries settings of the elector in virtual time, in a network like yours: how
soon somebody leads again after a crash, how many leaders a year are lost although
none crashed, and how many requests a minute that takes. It searches the lease, the
renewals, the retries and the request time-out.

The network is given, or measured: --measure asks a Redis once every 50 ms for a
minute, changes nothing in it, and keeps what it saw in network.json, which can be
given again with --network.

Of the settings that keep what is wanted, those are recommended whose failover is
the shortest; where the failover has a limit, those with the fewest requests. The
report also lists the front: all settings that cannot be improved in one respect
without loss in another.

Exit status: 0 there is an answer; 2 nothing meets what is wanted, and the nearest
is named; or --confirm measured something else than was predicted; 3 stopped early;
64 wrong use or bad input; 70 the tool itself failed.`,
		Example: `  chaos tune --rtt 500us --rtt-p99 2ms
  chaos tune --rtt 40ms --rtt-p99 400ms --loss 1% --want 'crash.p99 < 10s' --want 'needless < 1/year'
  chaos tune --measure redis://staging:6379
  chaos tune --network network.json --confirm`,
		Args: usage.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return m.tune(cmd.Context(), &f, cmd.Flags().Changed) },
	}
	flags := cmd.Flags()
	flags.DurationVar(&f.rtt, "rtt", 0, "how long a small request to the store and its answer take: the median")
	flags.DurationVar(&f.p99, "rtt-p99", 0, "how long 99 of 100 take at the most (default: twice the median)")
	flags.StringVar(&f.loss, "loss", "0%", "the share of packets that are lost, and sent again by TCP")
	flags.StringVar(&f.drift, "drift", defaultDrift, "by how much the rates of two machines' clocks may differ: what safety asks for, so it is given and not searched")
	flags.StringVar(&f.measure, "measure", "", "URL of a Redis whose network is measured, for a minute")
	flags.StringVar(&f.network, "network", "", "network.json of an earlier --measure")
	flags.StringArrayVar(&f.wants, "want", []string{defaultWant}, "what the settings have to keep: \"crash.p99 < 5s\", \"needless < 1/year\", \"commands < 200/min\"; may be repeated")
	flags.StringVar(&f.pauses, "pauses", defaultPauses, "how often in a year a leader's process stands still, and for how long")
	flags.StringVar(&f.outages, "outages", defaultOutages, "how often in a year the store does not answer, and for how long")
	flags.DurationSliceVar(&f.leases, "lease", nil, "only these leases, such as 1s,3s (default: from half a second to a minute)")
	flags.IntVar(&f.nodes, "nodes", failover.DefaultNodes, "number of candidates")
	flags.Uint64Var(&f.seed, "seed", 1, "of every random choice")
	flags.BoolVar(&f.confirm, "confirm", false, "also measure the recommended settings live, for up to ten minutes, with the round trips put on by toxiproxy")
	flags.StringVar(&f.out, "out", "", "folder for the report (default: recount-runs/TIME)")
	flags.StringArrayVar(&f.update, "update", nil, "Markdown file in which the rows of this network are written anew, between "+tuneMark+" and "+endMark+"; may be repeated")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object and nothing else on standard output")
	return cmd
}

// tune is chaos tune.
func (m Main) tune(ctx context.Context, f *tuneFlags, given func(string) bool) error {
	q, err := f.question(given)
	if err != nil {
		return usage.Of(err)
	}
	if f.confirm {
		if err := checkPlatform(); err != nil {
			return err
		}
	}
	if err := updatable(f.update, into(tuneParts(&reports.Tuning{}))); err != nil {
		return usage.Of(err)
	}
	s := newScreen(m, f.asJSON)
	defer s.close()
	out, err := openOutput(f.out)
	if err != nil {
		return err
	}
	if f.measure != "" {
		s.say("Asking %s every %v for %v", reports.Redact(f.measure), pingEvery, measuringTakes)
		if q.Network, err = measureNetwork(ctx, f.measure); err != nil {
			return err
		}
		if err := keepNetwork(filepath.Join(out.dir, networkFile), q.Network); err != nil {
			return err
		}
	}
	if err := q.Network.Validate(); err != nil {
		return usage.Of(err)
	}
	s.say("Network: %v", q.Network)
	s.say("Reports: %s", out.dir)
	answer, err := q.Run(ctx, progressOf(s))
	if answer == nil {
		return err
	}
	report := f.report(q, answer)
	if err != nil {
		report.Stopped = "it was stopped"
	} else if f.confirm && answer.Best != nil {
		if report.Confirmed, err = m.confirm(ctx, q, answer.Best, out, s); err != nil {
			return err
		}
	}
	report.Finish()
	if err == nil {
		for _, path := range f.update {
			err = errors.Join(err, update(path, tuneParts(report)))
		}
	}
	if writing := f.write(out, report, s); writing != nil || err != nil {
		return errors.Join(err, writing)
	}
	return judged(report.Verdict)
}

// progressOf says every so often how far a search is, and how long it still takes at the most.
func progressOf(s *screen) func(done, of int) {
	began, reported := time.Now(), time.Time{}
	return func(done, of int) {
		if time.Since(reported) > reportEvery {
			reported = time.Now()
			left := time.Since(began) * time.Duration(of-done) / time.Duration(done)
			s.say("%d of up to %d settings, up to %v left", done, of, left.Round(time.Second))
		}
	}
}

// tuneMark begins the table of settings in a Markdown file.
const tuneMark = "<!-- tune -->"

// tuneParts are what of the answer can stand in a Markdown file.
func tuneParts(r *reports.Tuning) map[string]part {
	return map[string]part{tuneMark: func(before []byte) []byte { return reports.TuningTable(r, before) }}
}

// question reads what the flags ask.
func (f *tuneFlags) question(given func(string) bool) (*tune.Question, error) {
	q := &tune.Question{Nodes: f.nodes, Seed: f.seed}
	ways := 0
	for _, flag := range []string{"rtt", "measure", "network"} {
		if given(flag) {
			ways++
		}
	}
	switch {
	case ways == 0:
		return nil, errors.New("the network is not known: give --rtt and --rtt-p99, or --measure URL, or --network FILE")
	case ways > 1:
		return nil, errors.New("--rtt, --measure and --network exclude each other: each says what the network is")
	case f.nodes < 2:
		return nil, fmt.Errorf("--nodes %d: a failover needs at least two candidates", f.nodes)
	case !given("rtt") && (given("rtt-p99") || given("loss")):
		return nil, errors.New("--rtt-p99 and --loss mean nothing without --rtt")
	}
	if given("rtt") {
		if !given("rtt-p99") {
			f.p99 = 2 * f.rtt
		}
		loss, err := share(f.loss)
		if err != nil {
			return nil, fmt.Errorf("--loss: %w", err)
		}
		q.Network = tune.Network{RTT: f.rtt, P99: f.p99, Loss: loss}
		if err := q.Network.Validate(); err != nil {
			return nil, err
		}
	}
	if given("network") {
		text, err := os.ReadFile(f.network)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &q.Network); err != nil {
			return nil, fmt.Errorf("--network %s: not the network.json of \"chaos tune --measure\": %w; measure again", f.network, err)
		}
		if err := q.Network.Validate(); err != nil {
			return nil, fmt.Errorf("--network %s: %w; give the network.json of \"chaos tune --measure\"", f.network, err)
		}
	}
	for _, lease := range f.leases {
		if err := (scenarios.Settings{Lease: lease}).Timings().Validate(); err != nil {
			return nil, fmt.Errorf("--lease: %w", err)
		}
	}
	q.Leases = f.leases
	drift, err := share(f.drift)
	if err != nil || drift <= 0 || drift >= 1 {
		return nil, fmt.Errorf("--drift %s: give a percentage above 0%% and below 100%%, such as %s", f.drift, defaultDrift)
	}
	q.Drift = drift
	if given("measure") && !redisserver.IsURL(f.measure) {
		return nil, fmt.Errorf("--measure %s: give the URL of a Redis, such as redis://host:6379", reports.Redact(f.measure))
	}
	return q, f.wanted(q)
}

// wanted reads what happens in a year and what the settings have to keep.
func (f *tuneFlags) wanted(q *tune.Question) (err error) {
	if q.Pauses, err = eventsOf(f.pauses); err != nil {
		return fmt.Errorf("--pauses: %w", err)
	}
	if q.Outages, err = eventsOf(f.outages); err != nil {
		return fmt.Errorf("--outages: %w", err)
	}
	for _, text := range f.wants {
		w, err := tune.ParseWant(text)
		if err != nil {
			return fmt.Errorf("--want: %w", err)
		}
		q.Wants = append(q.Wants, w)
	}
	return nil
}

// share reads a percentage.
func share(text string) (float64, error) {
	number, is := strings.CutSuffix(text, "%")
	x, err := strconv.ParseFloat(number, 64)
	if !is || err != nil || x < 0 || x > 100 {
		return 0, fmt.Errorf("%q is no percentage: give one such as 1%%", text)
	}
	return x / 100, nil
}

// eventsOf reads "12 of 1s": so many in a year that last so long. "0" is none.
func eventsOf(text string) (tune.Events, error) {
	if text == "0" {
		return tune.Events{}, nil
	}
	number, length, found := strings.Cut(text, " of ")
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	lasts, wrong := time.ParseDuration(strings.TrimSpace(length))
	if !found || err != nil || wrong != nil || n < 0 || lasts < 0 {
		return tune.Events{}, fmt.Errorf("%q: give how many in a year and how long each, such as %q, or 0", text, defaultPauses)
	}
	return tune.Events{PerYear: n, Lasts: lasts}, nil
}

// networkFile keeps a measured network.
const networkFile = "network.json"

func keepNetwork(path string, n tune.Network) error {
	text, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// measureNetwork asks a Redis again and again, and changes nothing in it.
func measureNetwork(ctx context.Context, url string) (tune.Network, error) {
	server, err := redisserver.Open(ctx, url, redisserver.Options{})
	if err != nil {
		return tune.Network{}, err
	}
	defer func() { _ = server.Close() }()
	client := redis.NewClient(server.Options())
	defer func() { _ = client.Close() }()
	var trips []time.Duration
	failed := 0
	for end := time.Now().Add(measuringTakes); time.Now().Before(end); {
		began := time.Now()
		if err := client.Ping(ctx).Err(); err != nil {
			failed++
		} else {
			trips = append(trips, time.Since(began))
		}
		if !stage.Sleep(ctx, pingEvery) {
			return tune.Network{}, ctx.Err()
		}
	}
	n, err := tune.Fit(trips, failed)
	return n, usage.Of(err)
}

// report is the answer as it is reported.
func (f *tuneFlags) report(q *tune.Question, a *tune.Answer) *reports.Tuning {
	r := &reports.Tuning{
		Network: q.Network.String(), Nodes: q.Nodes, Drift: q.Drift, Seed: q.Seed, Wants: f.wants,
		Pauses: f.pauses, Outages: f.outages, Repro: f.repro(q),
	}
	for _, p := range a.Points {
		t := reports.TunedPoint{
			LeaseMS: inMillis(p.Timings.Lease), RenewMS: inMillis(p.Timings.Renew), RetryMS: inMillis(p.Timings.Retry), RequestTimeoutMS: inMillis(p.Timings.RequestTimeout),
			Preset: p.Preset, Known: len(p.Crash) > 0, Front: p.Front, CommandsMinute: p.Commands,
			NeedlessYear: p.Needless.Value, NeedlessLow: p.Needless.Low, NeedlessHigh: p.Needless.High,
			ByNetwork: p.Network.Value, ByPauses: p.Pauses.Value, ByOutages: p.Outages.Value,
		}
		for of, to := range map[float64]*[3]float64{.5: &t.CrashP50MS, .9: &t.CrashP90MS, .99: &t.CrashP99MS} {
			*to = [3]float64{p.Crash[of].Value, p.Crash[of].Low, p.Crash[of].High}
		}
		switch p {
		case a.Best:
			r.Best = len(r.Points) + 1
		case a.Near:
			r.Near = len(r.Points) + 1
		}
		for _, w := range q.Wants {
			if t.Known && w.Figure(p) > w.Limit {
				t.Misses = append(t.Misses, w.Text)
			}
		}
		r.Points = append(r.Points, t)
	}
	for _, n := range a.Neighbours {
		r.Neighbours = append(r.Neighbours, reports.TunedNeighbour{Change: n.Change, Point: slices.Index(a.Points, n.Point) + 1})
	}
	for _, w := range q.Wants {
		switch w.Name() {
		case "needless":
			r.NeedlessLimit = w.Limit
		case "crash.p99":
			r.P99LimitMS = w.Limit
		}
	}
	return r
}

// repro is the command that repeats it; what was measured is given.
func (f *tuneFlags) repro(q *tune.Question) string {
	words := line{"chaos tune"}
	add := words.add
	add(true, "--rtt %v --rtt-p99 %v --loss %v%%", q.Network.RTT, q.Network.P99, 100*q.Network.Loss)
	for _, w := range f.wants {
		add(true, "--want %s", quoted(w))
	}
	for _, lease := range f.leases {
		add(true, "--lease %v", lease)
	}
	add(f.drift != defaultDrift, "--drift %s", f.drift)
	add(true, "--pauses %s --outages %s --nodes %d --seed %d", quoted(f.pauses), quoted(f.outages), f.nodes, f.seed)
	return words.String()
}

// write writes the report, and shows it.
func (f *tuneFlags) write(out *output, r *reports.Tuning, s *screen) error {
	doc, err := r.Document()
	if err != nil {
		return err
	}
	return publish(s, out.dir, r, doc, "index.html", "tune.md", map[string]format[*reports.Tuning]{"tune.json": reports.TuningJSON}, "tune.json")
}

// confirm measures the point live, and in virtual time under the same conditions: round trips
// that toxiproxy makes as long as the network's median, without its spikes and losses.
func (m Main) confirm(ctx context.Context, q *tune.Question, p *tune.Point, out *output, s *screen) (*reports.Confirmation, error) {
	const count, most = 60, 10 * time.Minute
	session := &runFlags{world: liveWorld, redis: m.Getenv("RECOUNT_REDIS"), prefix: "recount:", parallel: 4}
	if redisserver.IsURL(session.redis) {
		session.redis = ""
	}
	there, err := session.inLive(ctx, s, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = there.close() }()
	s.say("Confirming: up to %d failovers live, within %v", count, most)
	live, err := q.Confirm(ctx, p, there.World, count, most, func(folder string) (string, error) { return out.logs("confirm/" + folder) })
	if err != nil {
		return nil, err
	}
	simulated, err := q.Confirm(ctx, p, inVirtual(nil).World, 10*count, 0, func(string) (string, error) { return "", nil })
	if err != nil {
		return nil, err
	}
	c := &reports.Confirmation{LiveMS: reports.QuantilesOf(live), PredictedMS: reports.QuantilesOf(simulated), Verdict: checker.Unknown}
	return c, there.close()
}

package crosscheck

import (
	"compress/gzip"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/scenarios"
	"github.com/recount-io/recount/sim/virtual"
)

var (
	each = flag.Int("places", 3, "at how many places of a real history each change is made")
	runs = flag.Int("runs", 0, "how many virtual runs of each scenario are changed; 0: one, of a few scenarios")
)

// imagined are scenarios of which virtual runs are changed.
var imagined = []string{
	"steady", "rolling-restart", "replies-lost", "clock-slow", "store-restart", "crash-leader", "resign-leader", "pause-leader", "partition-leader",
	"partition-minority", "requests-lost", "flapping-network", "slow-renewals", "store-pause", "start-together",
}

// usual is how many of them are enough for most days.
const usual = 14

// real is a history of a passing run.
type real struct {
	name string
	h    *history.History
}

// reals are live histories from testdata, and virtual ones.
func reals(t *testing.T) (all []real) {
	files, err := filepath.Glob("testdata/live/*.jsonl.gz")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d live histories (%v)", len(files), err)
	}
	for _, name := range files {
		all = append(all, real{"live " + strings.TrimSuffix(filepath.Base(name), ".jsonl.gz"), load(t, name)})
	}
	names := imagined
	if *runs == 0 {
		names = imagined[:usual]
	}
	list, err := scenarios.Find(names...)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		for seed := range uint64(max(1, *runs)) {
			all = append(all, real{fmt.Sprintf("virtual %s, seed %d", s.Name, seed+1), virtually(t, s, seed+1)})
		}
	}
	return all
}

// virtually is the history of a scenario in virtual time.
func virtually(t testing.TB, s scenarios.Scenario, seed uint64) *history.History {
	plan, err := s.Plan(scenarios.Settings{Subject: "recount", Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	h, err := (&virtual.World{}).Run(t.Context(), plan, "")
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// BenchmarkCheckVirtual is what a virtual run's history costs, as the fuzzer checks them.
func BenchmarkCheckVirtual(b *testing.B) {
	list, err := scenarios.Find("steady", "flapping-network")
	if err != nil {
		b.Fatal(err)
	}
	for _, s := range list {
		b.Run(s.Name, func(b *testing.B) {
			h := virtually(b, s, 1)
			b.ReportAllocs()
			for b.Loop() {
				if r := checker.Check(h, checker.Options{}); r.Verdict == checker.Fail {
					b.Fatalf("%+v", r.Asked)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(h.Events)), "ns/event")
		})
	}
}

func load(t *testing.T, name string) *history.History {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // it was only read
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.Load(z)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// apply makes the change at some places of the history, and judges each. What
// the answers alone show is seen without the store's own record as well.
func (c *change) apply(x *index, r *rand.Rand, look func(h *history.History, result *checker.Result)) (n int) {
	places := c.places(x)
	byAnswers := slices.Contains(c.breaks, linear)
	for _, k := range r.Perm(len(places))[:min(len(places), *each)] {
		e := edited(x.h)
		places[k](e)
		if byAnswers && r.IntN(2) == 0 {
			e.drop(func(y *history.Event) bool { return y.Kind == history.Audit })
		}
		h := e.finish()
		look(h, checker.Check(h, checker.Options{PorcupineCap: searchCap}))
		n++
	}
	return n
}

// convicts reports whether the result has the verdict that is demanded: of one of
// several promises, or of a verdict that is not fail.
func convicts(r *checker.Result, demand string) bool {
	names, verdict, special := strings.Cut(demand, ":")
	for name := range strings.SplitSeq(names, "|") {
		got := found(r, checker.Promise(name))
		switch {
		case !special && got.Promise != "" && got.Verdict == checker.Fail:
			return true
		case special && verdict == "doubt" && got.Verdict != checker.Pass,
			special && verdict == "unknown" && got.Verdict == checker.Unknown:
			return true
		}
	}
	return false
}

// Real histories pass, are convicted when they are changed in ways that break a
// promise, and are not when they are changed in other ways.
func TestChanged(t *testing.T) {
	all := reals(t)
	if race.Enabled || testing.Short() {
		all = slices.Concat(all[:1], all[5:7])
	}
	misjudged := map[string][]string{}
	applied := map[string]int{}
	for n, x := range all {
		r := checker.Check(x.h, checker.Options{PorcupineCap: searchCap})
		if r.Verdict != checker.Pass {
			t.Errorf("%s does not pass, unchanged: %v", x.name, blamed(r))
			continue
		}
		begun := time.Now()
		i := indexed(x.h)
		random := rand.New(rand.NewPCG(uint64(n), 3))
		for k := range corruptions {
			c := &corruptions[k]
			applied[c.name] += c.apply(i, random, func(h *history.History, result *checker.Result) {
				for _, demand := range c.breaks {
					if !convicts(result, demand) {
						misjudged[c.name+": "+demand] = append(misjudged[c.name+": "+demand], x.name+": "+saying(result, demand))
						keep(t, c.name+" "+demand, h)
					}
				}
			})
		}
		for k := range harmless {
			c := &harmless[k]
			applied[c.name] += c.apply(i, random, func(h *history.History, result *checker.Result) {
				if wrong := blamed(result); len(wrong) > 0 {
					misjudged["harmless: "+c.name] = append(misjudged["harmless: "+c.name], x.name+": "+strings.Join(wrong, "; "))
					keep(t, c.name, h)
				}
			})
		}
		t.Logf("%s: %d events, %v", x.name, len(x.h.Events), time.Since(begun).Round(time.Millisecond))
	}
	for _, c := range slices.Concat(corruptions, harmless) {
		t.Logf("%5d times: %s", applied[c.name], c.name)
		if applied[c.name] == 0 && !race.Enabled && !testing.Short() {
			t.Errorf("%q applies nowhere in all histories", c.name)
		}
	}
	for _, name := range sortedKeys(misjudged) {
		t.Errorf("%s: misjudged %d times, as in %s", name, len(misjudged[name]), misjudged[name][0])
	}
}

// blamed are the promises that are broken, or undecided for no good reason.
func blamed(r *checker.Result) (all []string) {
	for _, list := range [][]checker.Finding{r.Asked, r.Measured} {
		for _, f := range list {
			if f.Verdict == checker.Fail && !strings.HasPrefix(f.Reason, "waived") || suspicious(f.Reason) || f.Verdict == checker.Unknown && (f.Promise == form || f.Promise == linear) {
				all = append(all, fmt.Sprintf("%s %v: %s", f.Promise, f.Verdict, f.Reason))
			}
		}
	}
	return all
}

func saying(r *checker.Result, demand string) string {
	names, _, _ := strings.Cut(demand, ":")
	var all []string
	for name := range strings.SplitSeq(names, "|") {
		f := found(r, checker.Promise(name))
		if f.Promise == "" {
			f.Reason = "there is no such promise"
		}
		all = append(all, fmt.Sprintf("%s %v: %s", name, f.Verdict, f.Reason))
	}
	if f := found(r, form); f.Verdict != checker.Pass && !strings.Contains(demand, form) {
		all = append(all, f.Reason)
	}
	return strings.Join(all, "; ")
}

// keep writes the first history of each misjudged change into the folder for
// findings.
func keep(t *testing.T, name string, h *history.History) {
	if *foundIn == "" {
		return
	}
	file := filepath.Join(*foundIn, strings.NewReplacer(" ", "-", "|", "-or-", ":", "-", ",", "").Replace(name)+".jsonl")
	if _, err := os.Stat(file); err == nil {
		return
	}
	if err := os.MkdirAll(*foundIn, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Write(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

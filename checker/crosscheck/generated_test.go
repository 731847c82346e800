package crosscheck

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/internal/race"
)

var (
	histories = flag.Int("histories", 2000, "how many histories to generate")
	firstSeed = flag.Uint64("first", 1, "the first one's seed")
	foundIn   = flag.String("found", "", "a folder for the smallest history of each kind of wrong judgement")
)

// tally is what a campaign came to.
type tally struct {
	sync.Mutex
	counts  map[string]int
	wrongs  map[string]*example
	longest time.Duration
	slowest string

	illegal, byIntervals int // histories that have no order, and those that the intervals alone convict
}

// example is a kind of wrong judgement.
type example struct {
	wrong wrong
	count int
	seed  uint64
	ops   int
}

func (t *tally) tooSlow() (n int) {
	t.Lock()
	defer t.Unlock()
	for _, x := range t.wrongs {
		if strings.HasPrefix(x.wrong.kind, "takes longer") {
			n += x.count
		}
	}
	return n
}

func (t *tally) add(name string) {
	t.Lock()
	defer t.Unlock()
	t.counts[name]++
}

func (t *tally) wrong(d *drawn, w *wrong, ops int) {
	t.Lock()
	defer t.Unlock()
	x := t.wrongs[w.signature()]
	if x == nil {
		x = &example{wrong: *w, seed: d.seed, ops: ops}
		t.wrongs[w.signature()] = x
	}
	x.count++
	if ops < x.ops {
		x.seed, x.ops, x.wrong = d.seed, ops, *w
	}
}

// judgement is one history with what is right about it and what is wrong with
// what was said.
type judgement struct {
	truth  truth
	result *checker.Result
	took   time.Duration
	wrongs []*wrong
}

// right is what is right to say, by the oracle or by how the history was made.
func right(d *drawn, h *history.History, made int) (t truth, bad *wrong) {
	if d.size == large && made == 0 {
		return mostlyGood, nil
	}
	if d.planted && d.size == large {
		return illegal, nil
	}
	t = truthOf(h, budget)
	switch {
	case d.planted && made > 0 && t == unsure:
		t = illegal
	case d.planted && made > 0 && t != illegal:
		return unsure, &wrong{"the oracle or the planting is wrong", t.String(), ""}
	case made == 0 && t == unsure:
		t = mostlyGood
	case made == 0 && t != legal:
		return unsure, &wrong{"the oracle or the simulation is wrong", t.String(), ""}
	}
	return t, nil
}

func judge(h *history.History, t truth, sound bool) judgement {
	begun := time.Now()
	r, ok := check(h)
	j := judgement{truth: t, result: r, took: time.Since(begun)}
	if !ok {
		j.wrongs = append(j.wrongs, &wrong{"takes longer than its cap", "", ""})
		return j
	}
	if w := judgeLease(r, t); w != nil {
		j.wrongs = append(j.wrongs, w)
	}
	if w := judgeRest(h, r, sound); w != nil {
		j.wrongs = append(j.wrongs, w)
	}
	return j
}

// check judges the history, and reports whether that took no longer than it may.
func check(h *history.History) (*checker.Result, bool) {
	done := make(chan *checker.Result, 1)
	go func() { done <- checker.Check(h, checker.Options{PorcupineCap: searchCap}) }()
	select {
	case r := <-done:
		return r, true
	case <-time.After(searchCap + patience):
		return nil, false // it goes on, and nobody waits for it
	}
}

// abandoned is how many checks may go on that nobody waits for, until long
// histories are left out.
const abandoned = 3

// The checkers say of generated histories what is right, and say it in time.
func TestGenerated(t *testing.T) {
	n := *histories
	if race.Enabled || testing.Short() {
		n /= 10
	}
	sum := &tally{counts: map[string]int{}, wrongs: map[string]*example{}}
	seeds := make(chan uint64)
	var working sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		working.Go(func() {
			for seed := range seeds {
				sum.one(seed)
			}
		})
	}
	begun := time.Now()
	for i := range uint64(n) {
		seeds <- *firstSeed + i
	}
	close(seeds)
	working.Wait()
	t.Logf("%d histories in %v; the slowest took %v (%s)", n, time.Since(begun).Round(time.Second), sum.longest, sum.slowest)
	for _, name := range sortedKeys(sum.counts) {
		t.Logf("%7d  %s", sum.counts[name], name)
	}
	for _, signature := range sortedKeys(sum.wrongs) {
		x := sum.wrongs[signature]
		t.Errorf("%d times, as in %v:\n    %s\n    %s\n    %s", x.count, draw(x.seed), x.wrong.kind, x.wrong.parts, x.wrong.reason)
	}
	if *foundIn != "" {
		sum.save(t, *foundIn)
	}
	t.Logf("the intervals convict %d of %d histories that have no order", sum.byIntervals, sum.illegal)
	if sum.illegal == 0 || sum.byIntervals < sum.illegal*8/10 {
		t.Errorf("the intervals convict only %d of %d histories that have no order", sum.byIntervals, sum.illegal)
	}
}

// misjudged are seeds of histories that were judged wrongly once: a refusal of what the
// store's record says was granted passed.
var misjudged = []uint64{103096, 109196}

// What was judged wrongly once is judged rightly.
func TestMisjudged(t *testing.T) {
	sum := &tally{counts: map[string]int{}, wrongs: map[string]*example{}}
	for _, seed := range misjudged {
		sum.one(seed)
	}
	for _, x := range sum.wrongs {
		t.Errorf("%v: %s: %s", draw(x.seed), x.wrong.kind, x.wrong.reason)
	}
}

// Histories of a hundred operations and more are judged rightly as well: a right store
// alarms none of the three checkers, and one certainly wrong answer is convicted.
func TestGeneratedLong(t *testing.T) {
	n := uint64(1200)
	if race.Enabled || testing.Short() {
		n /= 10
	}
	convicted := 0
	for seed := range n {
		d := draw(seed)
		d.size, d.ops, d.mistake = large, 60+int(seed%7)*20, none
		d.tokens, d.nonces, d.planted = true, true, seed%4 == 0
		if d.planted {
			d.disturbed, d.beliefs = "", false
		}
		h, made := d.generate()
		is := mostlyGood
		if made > 0 {
			is = illegal
			convicted++
		}
		for _, w := range judge(h, is, false).wrongs {
			t.Errorf("%v:\n    %s\n    %s\n    %s", d, w.kind, w.parts, w.reason)
		}
	}
	if convicted < int(n)/5 {
		t.Errorf("only %d of %d histories have a wrong answer", convicted, n)
	}
}

func (t *tally) one(seed uint64) {
	d := draw(seed)
	h, made := d.generate()
	if len(h.Events) == 0 {
		t.add("without events")
		return
	}
	is, bad := right(d, h, made)
	if bad != nil {
		t.wrong(d, bad, len(h.Events))
	}
	if t.tooSlow() >= abandoned && d.size == large {
		t.add("left out: the machine is busy with checks that took too long")
		return
	}
	j := judge(h, is, made == 0 && d.disturbed != "void")
	for _, w := range j.wrongs {
		t.wrong(d, w, len(h.Events))
	}
	if j.result == nil {
		t.add(fmt.Sprintf("%v, not judged in time", is))
		return
	}
	t.Lock()
	defer t.Unlock()
	t.counts[fmt.Sprintf("%v, judged %v", is, found(j.result, checker.LeaseLinearizable).Verdict)]++
	if is == illegal {
		t.illegal++
		if j.result.Lease.Intervals.Verdict == checker.Fail {
			t.byIntervals++
		}
	}
	if made > 0 {
		t.counts[fmt.Sprintf("wrong store: %s%s, %v", d.mistake, map[bool]string{true: "one wrong answer"}[d.planted], is)]++
	}
	if j.took > t.longest {
		t.longest, t.slowest = j.took, d.String()
	}
}

// save shrinks the smallest history of each kind of wrong judgement.
func (t *tally) save(test *testing.T, folder string) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		test.Fatal(err)
	}
	for i, signature := range sortedKeys(t.wrongs) {
		x := t.wrongs[signature]
		d := draw(x.seed)
		h, made := d.generate()
		small := x.wrong.shrink(h, made)
		name := fmt.Sprintf("%02d-%s.jsonl", i+1, strings.ReplaceAll(strings.ReplaceAll(x.wrong.kind, ",", ""), " ", "-"))
		small.Header.Seed = d.seed
		f, err := os.Create(filepath.Join(folder, name))
		if err != nil {
			test.Fatal(err)
		}
		if err := small.Write(f); err != nil {
			test.Fatal(err)
		}
		if err := f.Close(); err != nil {
			test.Fatal(err)
		}
		test.Logf("%s: %d of %d events, %v: %s", name, len(small.Events), len(h.Events), truthOf(small, 20*budget), x.wrong.signature())
	}
}

// shrink is the smallest history found that is judged wrongly in the same way.
func (w *wrong) shrink(h *history.History, made int) *history.History {
	slow := strings.HasPrefix(w.kind, "takes longer")
	sound := made == 0 && strings.HasPrefix(w.kind, "false alarm of ")
	seen := func(fewer *history.History) bool {
		fewer = numbered(fewer)
		is := unsure
		if !slow {
			is = truthOf(fewer, budget)
		}
		if is == unsure && strings.HasPrefix(w.kind, "cut off") {
			is = mostlyGood
		}
		j := judge(fewer, is, sound && is == legal)
		return slices.ContainsFunc(j.wrongs, func(v *wrong) bool { return v.kind == w.kind && v.parts == w.parts })
	}
	return numbered(shrink(h, seen, time.Minute))
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recount-io/recount/faults"
	"github.com/recount-io/recount/history"
)

var update = flag.Bool("update", false, "write the golden files anew")

// examples are one fault of every kind, with parameters.
func examples() []faults.Fault {
	var all []faults.Fault
	for _, how := range faults.Cuts {
		all = append(all, faults.Partition{How: how})
	}
	all = append(all,
		faults.Latency{Base: 30 * time.Millisecond, Jitter: 5 * time.Millisecond}, faults.Bandwidth{Kilobytes: 8},
		faults.Pause{}, faults.Suspend{}, faults.PauseBeforeWrite{}, faults.Crash{}, faults.Resign{},
		faults.ClockRate{Rate: 0.5}, faults.ClockJump{Offset: time.Hour},
		faults.StorePause{}, faults.StoreCrash{KeepData: true}, faults.StoreCrash{},
		faults.StoreRewind{By: 300 * time.Millisecond},
		faults.StoreFailover{Lag: 20 * time.Millisecond}, faults.StoreSplit{Lag: 30 * time.Millisecond},
		faults.StoreClockJump{By: 400 * time.Millisecond}, faults.TTLRemoved{},
		faults.KeyDeleted{}, faults.KeyOverwritten{}, faults.CounterDeleted{}, faults.StoreFlush{}, faults.Eviction{}, faults.ScriptsFlushed{}, faults.Transfer{},
		faults.RightsWithdrawn{}, faults.PasswordChanged{First: faults.PasswordServer}, faults.PasswordChanged{First: faults.PasswordFile}, faults.ConnectionsClosed{},
	)
	for _, answer := range faults.Answers {
		all = append(all, faults.StoreMoved{Answer: answer})
	}
	return all
}

// Every fault asks the world for what its name says, on each of its targets,
// and undoes it on each of them.
func TestFaultsAskTheWorld(t *testing.T) {
	var table strings.Builder
	for _, f := range examples() {
		params, err := json.Marshal(f.Params())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&table, "%s %s\n", f.Name(), params)
		describe(&table, "apply", f.Apply)
		describe(&table, "heal", f.Heal)
	}
	golden := filepath.Join("testdata", "acts.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(table.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if table.String() != string(want) {
		t.Errorf("the faults do\n%s\nwant (%s)\n%s", table.String(), golden, want)
	}
}

func describe(table *strings.Builder, verb string, act func(context.Context, faults.World, []string) (string, error)) {
	w := &recordingWorld{}
	evidence, err := act(context.Background(), w, []string{"n1", "n2"})
	fmt.Fprintf(table, "  %s: %s\n    evidence: %s\n", verb, strings.Join(w.calls, ", "), evidence)
	if err != nil {
		fmt.Fprintf(table, "    error: %v\n", err)
	}
}

// The catalogue has each kind of fault once, in the same order as here, and
// what it says of a fault does not depend on parameters.
func TestCatalogue(t *testing.T) {
	catalogue := faults.Catalogue()
	names := map[string]bool{}
	for i, f := range catalogue {
		if names[f.Name()] || f.Name() == "" {
			t.Errorf("the name %q is empty or not its own", f.Name())
		}
		names[f.Name()] = true
		if i < len(examples()) && f.Name() != examples()[i].Name() {
			t.Errorf("%q where %q is expected", f.Name(), examples()[i].Name())
		}
	}
	if len(catalogue) != len(examples()) {
		t.Errorf("%d faults, the tests know %d", len(catalogue), len(examples()))
	}
}

// What a fault says of its effect is true of what it does: one that is over at
// once has nothing to heal, one that is not has; one on the store touches no
// candidate, but that a split must know who is on which side, and some must know
// which of several servers; what shortens or removes leases is one on the store.
func TestEffects(t *testing.T) {
	for _, f := range examples() {
		effect := f.Effect()
		if effect.Summary == "" {
			t.Errorf("%s: no summary", f.Name())
		}
		healing, applying := &recordingWorld{}, &recordingWorld{}
		if _, err := f.Apply(t.Context(), applying, []string{"n1"}); err != nil || len(applying.calls) != 1 {
			t.Errorf("%s: applying does %v, %v", f.Name(), applying.calls, err)
		}
		evidence, err := f.Heal(t.Context(), healing, []string{"n1"})
		if err != nil || effect.Instant == (len(healing.calls) > 0) || effect.Instant && evidence != "" {
			t.Errorf("%s: instant %v, healing does %v, says %q, %v", f.Name(), effect.Instant, healing.calls, evidence, err)
		}
		if effect.Instant && effect.Immediate {
			t.Errorf("%s: is over at once, and heals at once", f.Name())
		}
		for _, call := range append(applying.calls, healing.calls...) {
			if effect.Store == strings.Contains(call, "n1") && !effect.Divides && !effect.Servers {
				t.Errorf("%s: on the store %v, asks for %s", f.Name(), effect.Store, call)
			}
		}
		if (effect.Void || effect.Shorten != 0 || effect.Divides) && !effect.Store {
			t.Errorf("%s takes leases from the store but does not hit it", f.Name())
		}
	}
	for _, by := range []time.Duration{time.Second, -time.Second} {
		if shorten := (faults.StoreClockJump{By: by}).Effect().Shorten; shorten != by {
			t.Errorf("a jump by %v shortens by %v", by, shorten)
		}
	}
	var void []string
	for _, f := range examples() {
		if f.Effect().Void {
			void = append(void, f.Name())
		}
	}
	if !slices.Equal(void, []string{"store-loss", "store-rewind", "store-failover", "store-split", "key-deleted", "key-overwritten", "store-flush", "eviction"}) {
		t.Errorf("leases may be removed by %v", void)
	}
}

// Bounds and waivers are made of what faults say that electors are owed in spite of them.
func TestOwed(t *testing.T) {
	facts := map[string]func(e faults.Effect) bool{
		"simple":    func(e faults.Effect) bool { return e.Simple },
		"harmless":  func(e faults.Effect) bool { return e.Harmless },
		"bearable":  func(e faults.Effect) bool { return e.Bearable },
		"fair":      func(e faults.Effect) bool { return e.Fair },
		"gone":      func(e faults.Effect) bool { return e.Gone },
		"withholds": func(e faults.Effect) bool { return e.Withholds },
		"alien":     func(e faults.Effect) bool { return e.Alien },
		"rate":      func(e faults.Effect) bool { return e.Rate != 0 },
		"onset":     func(e faults.Effect) bool { return e.Onset != 0 },
		"late":      func(e faults.Effect) bool { return e.Late(1000) != 0 },
	}
	want := map[string][]string{
		"simple":    {"partition", "requests-lost", "connection-refused", "connection-reset", "pause", "suspend", "crash", "resign", "clock-jump", "scripts-flushed"},
		"harmless":  {"clock-jump", "ttl-removed", "counter-deleted", "scripts-flushed"},
		"bearable":  {"partition", "requests-lost", "replies-lost", "connection-refused", "connection-reset", "pause", "suspend", "store-pause", "store-crash"},
		"fair":      {"partition", "requests-lost", "replies-lost", "connection-refused", "connection-reset", "latency", "bandwidth", "pause", "crash", "resign", "store-pause", "store-crash", "scripts-flushed"},
		"gone":      {"pause", "suspend", "crash", "resign"},
		"withholds": {"store-crash", "ttl-removed"},
		"alien":     {"key-overwritten"},
		"rate":      {"clock-rate"},
		"onset":     {"store-rewind", "store-failover", "store-split"},
		"late":      {"latency", "bandwidth"},
	}
	for fact, is := range facts {
		var have []string
		for _, f := range faults.Catalogue() {
			if is(f.Effect()) {
				have = append(have, f.Name())
			}
		}
		if !slices.Equal(have, want[fact]) {
			t.Errorf("%s: %q, want %q", fact, have, want[fact])
		}
	}
	if back := (faults.StoreClockJump{By: -time.Second}).Effect(); !back.Harmless {
		t.Error("a jump back of the store's clock makes leases longer, and costs a leader nothing")
	}
}

// Each time of a fault is scaled, and nothing else.
func TestScale(t *testing.T) {
	half := func(d time.Duration) time.Duration { return d / 2 }
	for _, test := range []struct{ fault, want faults.Fault }{
		{faults.Latency{Base: 40 * time.Millisecond, Jitter: 10 * time.Millisecond}, faults.Latency{Base: 20 * time.Millisecond, Jitter: 5 * time.Millisecond}},
		{faults.StoreClockJump{By: -time.Second}, faults.StoreClockJump{By: -500 * time.Millisecond}},
		{faults.StoreRewind{By: time.Second}, faults.StoreRewind{By: 500 * time.Millisecond}},
		{faults.StoreFailover{Lag: time.Second}, faults.StoreFailover{Lag: 500 * time.Millisecond}},
		{faults.StoreSplit{Lag: time.Second}, faults.StoreSplit{Lag: 500 * time.Millisecond}},
	} {
		timed, ok := test.fault.(faults.Timed)
		if !ok || timed.Scale(half) != test.want {
			t.Errorf("%v is no Timed, or half of it is not %v", test.fault, test.want)
		}
	}
}

// A slow way delays a message whatever its length, a narrow one by its length.
func TestLate(t *testing.T) {
	for _, test := range []struct {
		fault faults.Fault
		want  time.Duration
	}{
		{faults.Latency{Base: 40 * time.Millisecond, Jitter: 10 * time.Millisecond}, 50 * time.Millisecond},
		{faults.Bandwidth{Kilobytes: 8}, 25 * time.Millisecond},
		{faults.Pause{}, 0},
	} {
		if effect := test.fault.Effect(); effect.Late(200) != test.want {
			t.Errorf("%s: 200 bytes are %v late, want %v", test.fault.Name(), effect.Late(200), test.want)
		}
	}
}

// What a fault says that it does to its targets is what it asks the world for, and
// what the history says of it, also where an older history has its name alone.
func TestEffectOnTargets(t *testing.T) {
	does := map[string]history.Effect{ // of acts that do something of the kind
		"Cut": {Cuts: true}, "Stop": {Cuts: true, Holds: true}, "Suspend": {Cuts: true, Holds: true, Skews: true},
		"StopBeforeWrite": {Holds: true}, "StopStore": {Holds: true},
		"SetClockRate": {Skews: true}, "JumpClock": {Skews: true}, "ShortenLeases": {Skews: true},
	}
	for _, f := range examples() {
		w := &recordingWorld{}
		if _, err := f.Apply(t.Context(), w, []string{"n1"}); err != nil || len(w.calls) != 1 {
			t.Errorf("%s: applying does %v, %v", f.Name(), w.calls, err)
			continue
		}
		act, _, _ := strings.Cut(w.calls[0], " ")
		want := does[act]
		on, off := (faults.Step{Fault: f}).Event("f1", history.On, nil), (faults.Step{Fault: f}).Event("f1", history.Off, nil)
		if on.Effect == nil || *on.Effect != want {
			t.Errorf("%s asks for %s, and its event says %+v, want %+v", f.Name(), w.calls[0], on.Effect, want)
		}
		if off.Effect != nil {
			t.Errorf("%s: the event of its end says %+v: only that of its beginning is to", f.Name(), off.Effect)
		}
		if older := history.EffectOf(f.Name()); older != want {
			t.Errorf("%s of an older history is %+v, want %+v", f.Name(), older, want)
		}
	}
}

// A world that fails is heard, and so is one in which nothing came of a fault.
func TestFaultsHandOnErrors(t *testing.T) {
	for _, f := range examples() {
		for _, act := range []func(context.Context, faults.World, []string) (string, error){f.Apply, f.Heal} {
			trial := &recordingWorld{}
			if _, err := act(t.Context(), trial, []string{"n1"}); err != nil || len(trial.calls) == 0 {
				continue
			}
			w := &recordingWorld{broken: map[string]error{trial.calls[0]: faults.NoEffect("seen %d", 7)}}
			if _, err := act(t.Context(), w, []string{"n1"}); !errors.Is(err, faults.ErrNoEffect) || !strings.Contains(err.Error(), "seen 7") {
				t.Errorf("%s: %s took no effect, the error is %v", f.Name(), trial.calls[0], err)
			}
		}
	}
}

// One target on which an act fails does not keep it from the others: a cut
// that cannot be mended must not leave its neighbours cut. A failure outweighs
// an act without effect.
func TestEveryTargetIsTried(t *testing.T) {
	broken := errors.New("no such proxy")
	w := &recordingWorld{broken: map[string]error{"Mend n1": faults.NoEffect("n1 is gone"), "Mend n3": broken}}
	_, err := faults.Partition{}.Heal(t.Context(), w, []string{"n1", "n2", "n3", "n4"})
	if !slices.Equal(w.calls, []string{"Mend n1", "Mend n2", "Mend n3", "Mend n4"}) {
		t.Errorf("mended %v", w.calls)
	}
	if !errors.Is(err, broken) || errors.Is(err, faults.ErrNoEffect) {
		t.Errorf("the error is %v, want the failure", err)
	}
	w = &recordingWorld{broken: map[string]error{"Kill n1": faults.NoEffect("it lives")}}
	evidence, err := faults.Crash{}.Apply(t.Context(), w, []string{"n1", "n2"})
	if evidence != "saw Kill n2" || !errors.Is(err, faults.ErrNoEffect) {
		t.Errorf("evidence %q, error %v", evidence, err)
	}
}

// Every cut is found by its name; any other name gets the list of them.
func TestParseCut(t *testing.T) {
	for _, cut := range faults.Cuts {
		if got, err := faults.ParseCut(string(cut)); err != nil || got != cut {
			t.Errorf("%s: %q, %v", cut, got, err)
		}
	}
	for _, name := range []string{"", "BOTH", "both ", "half"} {
		got, err := faults.ParseCut(name)
		if err == nil || got != "" {
			t.Errorf("%q is the cut %q", name, got)
			continue
		}
		for _, part := range []string{fmt.Sprintf("%q", name), "both, requests, replies, refused, reset"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%v: does not say %s", err, part)
			}
		}
	}
}

// A schedule is sorted by beginnings, ends with its last fault, and keeps its
// own order and that of steps at one time.
func TestSchedule(t *testing.T) {
	sec := time.Second
	s := faults.Schedule{
		{At: 3 * sec, For: sec, Fault: faults.Pause{}, Target: faults.Leader},
		{At: sec, For: 9 * sec, Fault: faults.KeyDeleted{}, Target: faults.Store}, // over at once, whatever For says
		{At: 3 * sec, For: 5 * sec, Fault: faults.Crash{}, Target: faults.Follower},
		{At: 0, For: sec, Fault: faults.Resign{}, Target: faults.All},
	}
	var order []string
	for _, step := range s.Sorted() {
		order = append(order, step.Fault.Name())
	}
	if !slices.Equal(order, []string{"resign", "key-deleted", "pause", "crash"}) || s[0].Fault.Name() != "pause" {
		t.Errorf("sorted %v, the schedule itself begins with %v", order, s[0])
	}
	if s.End() != 8*sec || s[1].End() != sec || s[:2].End() != 4*sec || (faults.Schedule{}).End() != 0 {
		t.Errorf("ends: %v, %v, %v", s.End(), s[1].End(), s[:2].End())
	}
	if text := s[0].String(); text != "pause at 3s for 1s on the leader" {
		t.Errorf("a step prints as %q", text)
	}
}

// A store of one's own is needed exactly where a fault hits the store, and one
// that can be made to forget where a fault does so.
func TestNeedsPrivateStore(t *testing.T) {
	var harmless faults.Schedule
	for _, f := range examples() {
		step := faults.Step{Fault: f}
		schedule := slices.Concat(harmless, faults.Schedule{step})
		if got := schedule.NeedsPrivateStore(); got != f.Effect().Store {
			t.Errorf("%s: needs a store of its own: %v", f.Name(), got)
		}
		if got := schedule.NeedsForgetfulStore(); got != f.Effect().Older || got && !f.Effect().Void {
			t.Errorf("%s: needs a store that forgets: %v", f.Name(), got)
		}
		if got := schedule.NeedsAttendedStore(); got != f.Effect().Attended || got && !f.Effect().Store {
			t.Errorf("%s: needs a store that is attended to: %v", f.Name(), got)
		}
		if got := schedule.NeedsUser(); got != f.Effect().User || got && !f.Effect().Attended {
			t.Errorf("%s: needs a user of the candidates' own: %v", f.Name(), got)
		}
		if got := schedule.NeedsPasswordFile(); got != f.Effect().Password || got && !schedule.NeedsUser() {
			t.Errorf("%s: needs a file with the password: %v", f.Name(), got)
		}
		if got := schedule.NeedsServerProcess(); got != (f.Effect().Store && !f.Effect().Client) || f.Effect().Client && f.Effect().Older {
			t.Errorf("%s: needs the server's process: %v", f.Name(), got)
		}
		if !f.Effect().Store {
			harmless = append(harmless, step)
		}
	}
	if harmless.NeedsPrivateStore() || len(harmless) == 0 || (faults.Schedule{}).NeedsPrivateStore() {
		t.Error("faults that spare the store, or none at all, need a store of their own")
	}
}

// The history's event carries everything that the checkers must know.
func TestStepEvent(t *testing.T) {
	jump := faults.StoreClockJump{By: 400 * time.Millisecond}
	got := faults.Step{Fault: jump}.Event("f3", history.Off, []string{"store"})
	want := history.Event{
		Kind: history.Fault, ID: "f3", Fault: "store-clock-jump", Phase: history.Off, Targets: []string{"store"},
		Params: map[string]any{"by_ms": int64(400)}, Shorten: 400 * time.Millisecond,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if e := (faults.Step{Fault: faults.KeyDeleted{}}).Event("f1", history.On, nil); !e.Void || e.Shorten != 0 {
		t.Errorf("a deleted key: %+v", e)
	}
}

// A fault of clocks is healed on a candidate that does not run: it starts with right
// clocks. Put on such a candidate it has no effect.
func TestClocksOfStopped(t *testing.T) {
	if evidence, err := faults.ClocksOfStopped("n2", true); err != nil || !strings.Contains(evidence, "n2") {
		t.Errorf("right clocks: %q, %v", evidence, err)
	}
	if _, err := faults.ClocksOfStopped("n2", false); !errors.Is(err, faults.ErrNoEffect) {
		t.Errorf("wrong clocks: %v, want ErrNoEffect", err)
	}
}

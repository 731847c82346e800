package virtual

import (
	"bytes"
	"strings"
	"testing"

	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// A run is the same to the byte by the scripts' text, by their ports, and by
// both, on one store, on several, and with replicas that have to confirm.
func TestTextsAreTheirPorts(t *testing.T) {
	for name, arrange := range map[string]func(*sim.Plan){
		"one store":   func(*sim.Plan) {},
		"five stores": func(p *sim.Plan) { p.Topology, p.Schedule = sim.Quorum, p.Schedule[:10] },
		"replicas":    func(p *sim.Plan) { p.Replicas = 1 },
	} {
		for seed := range uint64(10) {
			plan := rough(seed)
			arrange(&plan)
			var first []byte
			for _, use := range []ScriptUse{ByPort, ByText, Compared} {
				h, err := (&World{Scripts: use}).Run(t.Context(), plan, "")
				if err != nil {
					t.Fatalf("%s, seed %d: %v", name, seed, err)
				}
				if b := text(t, h); first == nil {
					first = b
				} else if !bytes.Equal(b, first) {
					t.Errorf("%s, seed %d: another history by use %d", name, seed, use)
				}
			}
		}
	}
}

// A world that compares runs the texts, and says where they part from the ports.
func TestComparisonNoticesADifference(t *testing.T) {
	plan := rough(1)
	w, did := &World{}, &effects{}
	h, err := w.carryOut(t.Context(), plan, how{texts: true, effects: did}, &w.room)
	if err != nil {
		t.Fatal(err)
	}
	const at = 7
	h.Events[at].Node += "?"
	if err := w.compare(t.Context(), plan, h, did); err == nil || !strings.Contains(err.Error(), "event 8") {
		t.Errorf("event %d is another one: %v", at+1, err)
	}
	h.Events[at].Node = strings.TrimSuffix(h.Events[at].Node, "?")
	h.Events = h.Events[:len(h.Events)-1]
	if err := w.compare(t.Context(), plan, h, did); err == nil {
		t.Error("a missing event goes unnoticed")
	}
	did.all = did.all[:len(did.all)-1]
	if err := w.compare(t.Context(), plan, h, did); err == nil || !strings.Contains(err.Error(), "or nothing") && !strings.Contains(err.Error(), "nothing, or") {
		t.Errorf("a call is missing: %v", err)
	}
}

// A script that does something else than its port is found even if no caller sees it:
// by what it answers, stores or announces.
func TestEffectsAreCompared(t *testing.T) {
	plan := rough(1)
	plan.HandsOver = true
	for what, change := range map[string]func(c *redismodel.Call, do func(*redismodel.Call) redismodel.Reply) redismodel.Reply{
		"answers": func(c *redismodel.Call, do func(*redismodel.Call) redismodel.Reply) redismodel.Reply {
			do(c)
			return redismodel.Integer(2)
		},
		"stores": func(c *redismodel.Call, do func(*redismodel.Call) redismodel.Reply) redismodel.Reply {
			reply := do(c)
			c.HSet(c.Keys[1], "longest", "1")
			return reply
		},
		"announces": func(c *redismodel.Call, do func(*redismodel.Call) redismodel.Reply) redismodel.Reply {
			reply := do(c)
			c.Publish(c.Args[1], "nothing of note")
			return reply
		},
	} {
		port := *redismodel.Release
		w, did := &World{}, &effects{}
		h, err := w.carryOut(t.Context(), plan, how{texts: true, effects: did}, &w.room)
		if err != nil {
			t.Fatal(err)
		}
		port.Run = func(c *redismodel.Call) redismodel.Reply { return change(c, redismodel.Release.Run) }
		w.Subjects = map[string]Subject{plan.Subject: {Scripts: Scripts{Release: &port}}}
		if err := w.compare(t.Context(), plan, h, did); err == nil || !strings.Contains(err.Error(), "their ports part: ") {
			t.Errorf("%s something else: %v", what, err)
		}
	}
}

// Each of a subject's scripts that is not its own is run as the world says, and
// a sample is about as large as it is said to be.
func TestScriptsOfASubject(t *testing.T) {
	own := &redismodel.Script{Name: "own"}
	s := Subject{Scripts: Scripts{Renew: own}}
	if got, want := s.scripts(true), (Scripts{redismodel.AcquireText, own, redismodel.ReleaseText, redismodel.WithdrawText, redismodel.LeaderText, redismodel.CandidatesText}); got != want {
		t.Errorf("by text: %v", got)
	}
	if got, want := s.scripts(false), (Scripts{redismodel.Acquire, own, redismodel.Release, redismodel.Withdraw, redismodel.Leader, redismodel.Candidates}); got != want {
		t.Errorf("by port: %v", got)
	}
	w, compared := &World{Scripts: Sampled}, 0
	for seed := range uint64(100 * SampleOf) {
		if w.plays(&sim.Plan{Seed: seed}) == Compared {
			compared++
		}
	}
	if compared < 60 || compared > 140 {
		t.Errorf("%d of %d plans are compared, want about 100", compared, 100*SampleOf)
	}
}

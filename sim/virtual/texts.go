package virtual

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/recount-io/recount/history"
	"github.com/recount-io/recount/sim"
	"github.com/recount-io/recount/sim/virtual/redismodel"
)

// ScriptUse is how a world runs the production elector's scripts: by ports to
// Go, which is quick, or by the very Lua text that is sent to a real server.
type ScriptUse int

const (
	// ByPort runs the ports alone.
	ByPort ScriptUse = iota
	// ByText runs the texts alone.
	ByText
	// Compared makes each run twice, by text and by port. The history is that of
	// the text. It is an error if the two differ in anything: in what a script
	// answers, stores or announces, or in the history. In a chain the texts are run
	// alone.
	Compared
	// Sampled is Compared for one plan in SampleOf, by its seed, and else ByPort,
	// as are chains.
	Sampled
)

// SampleOf is how many plans there are for each one that Sampled compares.
const SampleOf = 32

// plays is how the scripts of a plan's run are played.
func (w *World) plays(plan *sim.Plan) ScriptUse {
	switch {
	case w.Scripts != Sampled:
		return w.Scripts
	case newRandom(plan.Seed, drawScripts).one(SampleOf):
		return Compared
	default:
		return ByPort
	}
}

// compare makes the run of h, whose effects are given, again, by port, and says
// where the two differ.
func (w *World) compare(ctx context.Context, plan sim.Plan, h *history.History, did *effects) error {
	ported := &effects{}
	again, err := w.carryOut(ctx, plan, how{effects: ported}, &w.other)
	if err != nil {
		return err
	}
	if text, port, differ := did.part(ported); differ {
		return fmt.Errorf("virtual: seed %d: the scripts' text and their ports part: %s, or %s", plan.Seed, text, port)
	}
	for i := range min(len(h.Events), len(again.Events)) {
		if text, port := &h.Events[i], &again.Events[i]; !reflect.DeepEqual(text, port) {
			return fmt.Errorf("virtual: seed %d: the scripts' text and their ports part at event %d: %s, or %s", plan.Seed, text.Seq, written(text), written(port))
		}
	}
	if n, m := len(h.Events), len(again.Events); n != m {
		return fmt.Errorf("virtual: seed %d: %d events by the scripts' text, %d by their ports", plan.Seed, n, m)
	}
	return nil
}

// written is an event as a history's file has it.
func written(e *history.Event) string {
	line, err := json.Marshal(e)
	if err != nil {
		return err.Error()
	}
	return string(line)
}

// interpreter is what runs the texts. One that is used again has been opened.
func (w *World) interpreter() *redismodel.Interpreter {
	switch {
	case !w.Reuse:
		return &redismodel.Interpreter{}
	case w.lua == nil:
		w.lua = &redismodel.Interpreter{}
	}
	return w.lua
}

// scripts are those of the subject.
func (s Subject) scripts(texts bool) Scripts {
	all := Scripts{redismodel.Acquire, redismodel.Renew, redismodel.Release, redismodel.Withdraw, redismodel.Leader, redismodel.Candidates}
	if texts {
		all = Scripts{redismodel.AcquireText, redismodel.RenewText, redismodel.ReleaseText, redismodel.WithdrawText, redismodel.LeaderText, redismodel.CandidatesText}
	}
	own := s.Scripts
	for _, script := range []struct{ of, own **redismodel.Script }{
		{&all.Acquire, &own.Acquire}, {&all.Renew, &own.Renew}, {&all.Release, &own.Release},
		{&all.Withdraw, &own.Withdraw}, {&all.Leader, &own.Leader},
		{&all.Candidates, &own.Candidates},
	} {
		if *script.own != nil {
			*script.of = *script.own
		}
	}
	return all
}

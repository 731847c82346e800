package scenarios

import (
	"maps"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
)

// Tokenless are the promises that an elector without tokens does not make, and
// why. It can neither keep nor break them.
func Tokenless() map[checker.Promise]string {
	return map[checker.Promise]string{
		checker.TokensIncrease: "this elector hands out no tokens",
		checker.FencedWrites:   "without tokens every write is accepted; those that come from no leader are counted",
	}
}

// ExcuseTokenless waives those promises in the header of the history of an elector that led
// and never named a token. One that nobody elected has shown nothing.
func ExcuseTokenless(h *history.History) {
	led, wrote := false, false
	for i := range h.Events {
		if h.Events[i].Token != 0 {
			return
		}
		led = led || h.Events[i].Kind == history.Elected
		wrote = wrote || h.Events[i].Call == history.Write
	}
	if !led {
		return
	}
	waived := map[string]string{}
	for promise, why := range Tokenless() {
		waived[string(promise)] = why
	}
	if !wrote {
		waived[string(checker.WriteWithinTerm)] = "this elector writes to no protected resource"
	}
	maps.Copy(waived, h.Header.Waived)
	h.Header.Waived = waived
}

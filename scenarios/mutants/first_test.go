package mutants

import (
	"slices"
	"testing"
)

// What is tried first is the scenario, in virtual time unless it says otherwise; with a
// subject that is not sound, only what the mutant is about is a find.
func TestFirst(t *testing.T) {
	const fuzzed = `{"failures":[{"promise":"AtMostOneLeader","schedules":3},{"promise":"TokensIncrease","schedules":7}]}`
	const ran = `{"runs":[{"scenario":"steady","promises":[{"name":"AtMostOneLeader","verdict":"fail"}]}]}`
	for _, test := range []struct {
		first, line string
		args        []string
		promise     string
	}{
		{"fuzz", fuzzed, []string{"fuzz", "--schedules", "2000", "--seed", "2001"}, "AtMostOneLeader"},
		{"fuzz --subject recount-unprotected", fuzzed, nil, "TokensIncrease"},
		{"run steady", ran, []string{"run", "steady", "--world", "virtual", "--seed", "2"}, "AtMostOneLeader"},
		{"run steady --world bubble", ran, []string{"bubble"}, "AtMostOneLeader"},
		{"run steady --subject recount-unprotected", ran, nil, ""},
		{"explore majority", `{"worlds":[{"world":"majority","broken":"two lead","states":9}]}`, []string{"explore", "majority", "--json"}, "two lead"},
	} {
		w := first(&Mutant{First: test.first, Breaks: []string{"TokensIncrease"}})
		args, _, more := w.call(1)
		for _, arg := range test.args {
			if !slices.Contains(args, arg) {
				t.Errorf("%s: %q is not in %q", test.first, arg, args)
			}
		}
		if found, is := w.read(test.line); is != (test.promise != "") || found.promise != test.promise {
			t.Errorf("%s: found %q, want %q", test.first, found.promise, test.promise)
		}
		if more == (w.name == "chaos explore majority") {
			t.Errorf("%s: a second call: %v", test.first, more)
		}
	}
}

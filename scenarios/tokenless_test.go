package scenarios

import (
	"testing"

	"github.com/recount-io/recount/checker"
	"github.com/recount-io/recount/history"
)

// Promises about tokens are waived for a foreign program that led without any, and for
// no other one.
func TestTokenless(t *testing.T) {
	tests := []struct {
		name   string
		events []history.Event
		waived bool
	}{
		{"led without a token", []history.Event{{Kind: history.Elected}, {Kind: history.Ok, Call: history.Write}}, true},
		{"led with a token", []history.Event{{Kind: history.Elected, Token: 3}}, false},
		{"only its writes have a token", []history.Event{{Kind: history.Elected}, {Kind: history.Invoke, Call: history.Write, Token: 1}}, false},
		{"never led", []history.Event{{Kind: history.Start}}, false},
	}
	for _, test := range tests {
		h := history.History{Header: history.Header{Waived: map[string]string{"Stable": "for a reason"}}, Events: test.events}
		ExcuseTokenless(&h)
		_, waived := h.Header.Waived[string(checker.TokensIncrease)]
		if waived != test.waived || h.Header.Waived["Stable"] == "" {
			t.Errorf("%s: waived are %v", test.name, h.Header.Waived)
		}
	}
}

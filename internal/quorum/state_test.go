package quorum

import (
	"reflect"
	"strings"
	"testing"
)

// fields are those of the machine's state, and whether AppendState and AppendNode
// write them. What they do not write is why: settings, the same for all machines of
// a world ("setting"); what only callers and reports are told ("told"); what can be
// made again from the rest ("made").
var fields = map[string]string{
	"Machine": "cfg:setting choose:setting now:made claims:written forgetAt:made calls:written flights:written last:made high:written reported:told " +
		"rivalry:told sorted:made spare:made requests:made endings:made",
	"claim":       "Claim:written name:written touched:made latest:written open:written concerned:made",
	"name":        "id:setting nonce:written",
	"Claim":       "Nodes:written TTL:written Token:written Sent:written",
	"Holding":     "Token:written Counted:written Dropped:written gone:written asked:written",
	"call":        "kind:written number:made claim:written token:written ttl:made began:written patience:setting over:written Attempt:written errs:told hurried:written grace:written acquisition:written",
	"Attempt":     "Verdicts:written Tokens:written Late:written",
	"acquisition": "floor:written failed:written waiters:told aligned:written refused:written",
	"Refused":     "Denials:written Freed:written",
	"flight":      "number:made ask:written next:written node:written call:written claim:written token:written uncounted:written floor:written silent:written",
}

// A field that is new in the state must be written with it, or be named as one that
// need not be. What is written is compared with what the machine goes on to do by
// the walks of sim/explore.
func TestEveryFieldIsKnown(t *testing.T) {
	for _, typ := range []reflect.Type{
		reflect.TypeFor[Machine](), reflect.TypeFor[claim](), reflect.TypeFor[name](), reflect.TypeFor[Claim](), reflect.TypeFor[Holding](),
		reflect.TypeFor[call](), reflect.TypeFor[Attempt](), reflect.TypeFor[acquisition](), reflect.TypeFor[Refused](), reflect.TypeFor[flight](),
	} {
		known := map[string]bool{}
		for word := range strings.FieldsSeq(fields[typ.Name()]) {
			name, _, _ := strings.Cut(word, ":")
			known[name] = true
		}
		for i := range typ.NumField() {
			if name := typ.Field(i).Name; !known[name] {
				t.Errorf("%s.%s: write it with the state, or say why it need not be", typ.Name(), name)
			}
			delete(known, typ.Field(i).Name)
		}
		if len(known) > 0 {
			t.Errorf("%s has no %v", typ.Name(), known)
		}
	}
}

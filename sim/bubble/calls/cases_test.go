package calls_test

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/recount-io/recount/internal/race"
	"github.com/recount-io/recount/scenarios/search"
	"github.com/recount-io/recount/sim/bubble/calls"
)

// few is n, or a quarter with the race detector, which shows little where one goroutine
// runs at a time.
func few(n int) int {
	if race.Enabled {
		return n / 4
	}
	return n
}

// No generated case breaks an obligation.
func TestCasesKeepTheirObligations(t *testing.T) { search.Test(t, "calls", few(12)) }

// Every kind of act, call and ending is drawn.
func TestEverythingIsDrawn(t *testing.T) {
	if race.Enabled {
		t.Skip("the same without the race detector")
	}
	seen := map[string]bool{}
	for number := range uint64(2000) {
		for _, f := range calls.Draw(number).Features() {
			seen[f] = true
		}
	}
	for k := range calls.Kinds {
		if !seen["act:"+k.String()] {
			t.Errorf("%v is never drawn", k)
		}
	}
	for _, f := range []string{
		"call:run", "call:once", "call:terms", "call:campaign", "call:try", "works:never", "works:panics", "works:late", "stops:never", "stops:panics",
		"tells:never", "tells:panics", "logs:never", "databases:2+", "prefixes:2+", "elections:31+", "crowded:true", "lease", "skew", "failback",
	} {
		if !seen[f] {
			t.Errorf("%s is never drawn", f)
		}
	}
}

// One number repeats a case on one processor, often to the byte.
func TestNumberRepeatsCase(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector schedules anew")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s, err := search.Find("calls")
	if err != nil {
		t.Fatal(err)
	}
	const cases = 12
	same := 0
	for number := range uint64(cases) {
		var runs [2]bytes.Buffer
		for i := range runs {
			if err := search.Try(t, s.Draw(1000+number)).History.Write(&runs[i]); err != nil {
				t.Fatal(err)
			}
		}
		if bytes.Equal(runs[0].Bytes(), runs[1].Bytes()) {
			same++
		}
	}
	t.Logf("%d of %d cases were the same twice", same, cases)
	if same < cases/3 { // how many are differs with the load of the machine
		t.Errorf("only %d of %d cases were the same twice", same, cases)
	}
}

// mended are cases in which a fault was found that is mended.
var mended = map[string]uint64{
	"hand-over while the history cannot be read: it said that the successor had not led":                  104930557278406,
	"hand-over to one whose lease is gone before anybody looks: it said that the successor had not led":   2886427599247236,
	"who had handed over and hears nothing asked too late for a lease that was handed back":               8387081098542256,
	"hundreds of requests wait and connections are refused: one after another was opened without end":     7300596212678750,
	"a grant announced with a token far above the last one known: who had handed over waited for a lease": 688608773933805,
	"a callback that hangs: its candidate was elected again, and did no work":                             8993341160569976,
	"hand-over to a name whose process was restarted: the dead one was given the lease":                   1486313470673663,
	"a candidate with a fast clock took its own lease of the life before for another one's":               2419551988186871,
	"who had lost its announcements did not notice while refused just after renewals":                     2491559503749130,
	"a primary that was replaced and promoted again without a restart granted at once":                    2505072708147327,
	"a key or a message with a time of hours: nobody tried before it was over":                            1593335440973226,
	"two databases, elections of one name: hints of one put off the other":                                1898567871990766,
	"a leader that was alone for four leases was not listed until it renewed":                             56977875265017,
	"a log that hung when OnStopped panicked: the candidate was elected again, and did no work":           6406237688386271,
	"many elections on few connections, far away: nobody ever led":                                        321,
	"a dead leader's lease with a time of minutes, and everything else evicted: nobody shortened it":      6196861399057153,
	"a lock whose keys were lost was retired, and granted at once while somebody held it":                 6590279446582882,
	"a dead leader's lease with a time of minutes, and no guard: nobody tried to shorten it":              6222082361012144,
	"a hand-over to one who died, before the server's clock went back: it lasted as long":                 3945037896528746,
	"released: to a server that was replaced by the one before, which has kept the lease":                 4314954496549961,
	"fails back: a leader that gives its lease back was not heard of":                                     7611747178988791,
	"announced with the token of its term: what was given back in its place was taken for the term":       6812627276718545,
	"a release that met a dead connection took another one that was about to die":                         4516485125590802,
	"keys of another type under one election: each half lease all others began to listen anew":            495361345654852,
	"handed back by a successor of whose term nobody was told: it asked up to a lease later":              1994582842529196,
	"Retry of less than a fiftieth of Renew: a renewal that failed was repeated without a pause":          1364073616578526,
	"a server far away: each connection was given up before it was open, and nobody ever led":             236,
}

// What was found by drawing, and is mended, stays so.
func TestMended(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	search.Mended(t, "calls", mended)
}

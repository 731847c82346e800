package recount_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

const module = "github.com/recount-io/recount"

// row says what the non-test files of some folders may import. Patterns are
// those of the go command: "net" is one package, "net/..." it and all below,
// "..." every one. What is not mentioned here: the standard library is allowed
// but for never, and testing is allowed nowhere.
type row struct {
	folders  []string // of ours; the first row that matches a folder is its row
	ours     []string // packages of ours that they may import, as folders
	others   []string // modules of others that they may import
	never    []string // packages of the standard library that they must not import
	but      []string // exceptions from never
	timeless bool     // they read no clock and wait for none: see clock
	why      string
}

// table is the law. To add a package is to add its folder here, and to say why
// it may know what it knows.
var table = []row{
	{
		folders: []string{"history"},
		never:   []string{"net/...", "os/exec", "math/rand/..."}, timeless: true,
		why: "the history is where everything meets: whatever it imported, everything would",
	},
	{
		folders: []string{"internal/machine"},
		never:   []string{"context", "sync/...", "net/...", "os/...", "math/rand/..."}, timeless: true,
		why: "the elector's decisions are a pure function of time and input, or no test could repeat them",
	},
	{
		folders: []string{"elector", "elector/redisstore", "elector/memstore", "elector/fence", "elector/fence/fencefile", "elector/storetest"},
		ours:    []string{"internal/machine", "elector/..."},
		others:  []string{"github.com/redis/go-redis/v9", "golang.org/x/sys"},
		why:     "who runs the elector in production must not get the harness, nor what the harness is made of",
	},
	{
		folders: []string{"elector/store", "elector/internal/unhurried"},
		ours:    []string{"elector/internal/unhurried"},
		never:   []string{"net/...", "os/...", "sync/..."}, timeless: true,
		why: "the author of a store gets what is asked of one, and no elector",
	},
	{
		folders: []string{"elector/event"},
		ours:    []string{"elector/store", "internal/machine"},
		never:   []string{"net/...", "os/...", "sync/..."}, timeless: true,
		why: "a receiver of an elector's events gets names and values, and no elector",
	},
	{
		folders: []string{"elector/redisstore/scripts"},
		never:   []string{"os/...", "net/...", "sync/..."}, timeless: true,
		why: "texts, and how to read what they announce: virtual time runs the very ones that production sends, and must get nothing beside them",
	},
	{
		folders: []string{"elector/redisstore/anyclient"},
		ours:    []string{"elector/redisstore"},
		others:  []string{"github.com/redis/go-redis/v9"},
		why:     "a user with a client of their own must not get another one: it knows the store, and no client but the one that the store is made of",
	},
	{
		folders: []string{"internal/topology"},
		ours:    []string{"internal/loopback"},
		others:  []string{"github.com/redis/go-redis/v9"},
		why:     "real servers for the tests of everybody: whatever they imported of what they test would be a circle",
	},
	{
		folders: []string{"internal/loopback"},
		never:   []string{"os/..."},
		why:     "it finds a free port, for tests of the elector and for the harness",
	},
	{
		folders: []string{"internal/situation"},
		never:   []string{"net/..."}, timeless: true,
		why: "files of commands are read for the tests of what goes with every elector, which must bring no library along",
	},
	{
		folders: []string{"checker/quantile"},
		others:  []string{"gonum.org/v1/gonum"},
		never:   []string{"net/...", "os/...", "math/rand/..."}, timeless: true,
		why: "what a sample says of a quantile is arithmetic, by a library of statistics",
	},
	{
		folders: []string{"checker/contrast"},
		ours:    []string{"checker/quantile"},
		never:   []string{"net/...", "os/..."}, timeless: true,
		why: "whether two samples differ is arithmetic, and drawing by a seed of its own: worlds, runs and electors are compared alike",
	},
	{
		folders: []string{"internal/race"},
		never:   []string{"..."},
		why:     "one constant, for the tests of everybody",
	},
	{
		folders: []string{"internal/drawn"},
		ours:    []string{"internal/race"},
		never:   []string{"net/..."}, timeless: true,
		why: "which cases are drawn is said in one way, for the tests of the elector and of the harness",
	},
	{
		folders: []string{"internal/processor"},
		never:   []string{"net/...", "os/..."}, timeless: true,
		why: "one figure, for the benchmarks of everybody, and for the bill of a campaign",
	},
	{
		folders: []string{"internal/endless"},
		ours:    []string{"internal/processor"},
		never:   []string{"net/...", "os/..."},
		why:     "whatever tries cases of other people's code has to notice one that does not end",
	},
	{
		folders: []string{"internal/spelling"},
		never:   []string{"os/...", "net/...", "sync/..."}, timeless: true,
		why: "what a name may have meant is a question of its letters, for every reader of names",
	},
	{
		folders: []string{"internal/garbage"},
		never:   []string{"os/...", "net/..."}, timeless: true,
		why: "one setting, for whatever runs many short simulations",
	},
	{
		folders: []string{"sim/bubble/bubbletest"},
		ours:    []string{"internal/drawn", "internal/endless", "internal/garbage", "internal/race"},
		// A bubble belongs to a test. A program that wants one runs a test in a process of its own.
		but: []string{"testing", "testing/synctest"},
		why: "how a bubble begins and ends, for the tests of everybody, and for the search",
	},
	{
		folders: []string{"cmd/internal/documents"},
		others:  []string{"github.com/spf13/cobra"},
		never:   []string{"net/...", "os/..."}, timeless: true,
		why: "the pages that show commands are read in one way, for the tests of both programs",
	},
	{
		folders: []string{"cmd/internal/usage"},
		others:  []string{"github.com/spf13/cobra", "github.com/spf13/pflag"},
		never:   []string{"os/...", "net/..."},
		why:     "both commands answer a wrong call alike, whatever it is that they do",
	},
	{
		folders: []string{"internal/quorum"},
		never:   []string{"context", "sync/...", "net/...", "os/...", "math/rand/..."}, timeless: true,
		why: "what a majority amounts to is decided alike in production and in virtual time, and from nothing but what it is told",
	},
	{
		folders: []string{"elector/joblock"},
		ours:    []string{"elector"},
		why:     "a lock for jobs is made of what every user of the elector has, and works on every store",
	},
	{
		folders: []string{"elector/electortest"},
		ours:    []string{"elector", "elector/memstore"},
		// It is called by tests, as nothing else can be: no program links it.
		but: []string{"testing"},
		why: "tests of services have what every user of the elector has, and no server",
	},
	{
		folders: []string{"elector/quorumstore"},
		ours:    []string{"elector", "internal/quorum"},
		why:     "a majority is made of any stores: it knows none of them, and none of their drivers",
	},
	{
		folders: []string{"elector/pgstore"},
		ours:    []string{"elector"},
		others:  []string{"github.com/jackc/pgx/v5"},
		why:     "who elects on PostgreSQL needs its driver, and who does not must not get it",
	},
	{
		folders: []string{"elector/health", "elector/health/instrument", "elector/prommetrics", "elector/oteltrace"},
		ours:    []string{"elector", "elector/health/instrument"},
		others:  []string{"github.com/prometheus/client_golang", "go.opentelemetry.io/otel"},
		why:     "who observes an elector sees what every user sees, works on every store, and brings no more than the library that it is named for",
	},
	{
		folders: []string{"elector/internal/workbench"},
		ours:    []string{"elector", "elector/memstore", "elector/health/instrument"},
		why:     "the tests of all who observe electors share it, so it knows none of them",
	},
	{
		folders: []string{"elector/internal/guardtest"},
		never:   []string{"net/...", "os/..."},
		why:     "the guards' own tests and those in other modules share it, so it knows no guard",
	},
	{
		folders: []string{"elector/settings"},
		ours:    []string{"elector", "elector/redisstore", "elector/pgstore", "elector/quorumstore", "internal/spelling"},
		others:  []string{"go.yaml.in/yaml/v3", "github.com/jackc/pgx/v5"},
		why:     "settings choose a store by its URL, so they know every store; only who reads settings gets all of them, and YAML",
	},
	{
		folders: []string{"faults"},
		ours:    []string{"history", "internal/spelling"}, timeless: true,
		why: "a fault is a value: a world is asked to apply it, so it knows no world",
	},
	{
		folders: []string{"checker"},
		ours:    []string{"history", "checker/quantile", "checker/internal/..."},
		never:   []string{"net/...", "os/...", "math/rand/..."}, timeless: true,
		why: "a verdict follows from a history alone, and is the same each time; who judges shares no code with the judged",
	},
	{
		folders: []string{"checker/internal/finding", "checker/internal/expiry"},
		never:   []string{"net/...", "os/...", "math/rand/..."}, timeless: true,
		why: "words and arithmetic that all judges share know nothing of what is judged",
	},
	{
		folders: []string{"checker/internal/index"},
		ours:    []string{"history", "checker/internal/finding", "checker/internal/expiry"},
		never:   []string{"net/...", "os/...", "math/rand/..."}, timeless: true,
		why: "the index is what a history says: it must not know what is looked for in it",
	},
	{
		folders: []string{"checker/internal/intervals", "checker/internal/storeorder", "checker/internal/search", "checker/internal/everyorder"},
		ours:    []string{"history", "checker/internal/finding", "checker/internal/expiry", "checker/internal/index"},
		others:  []string{"github.com/anishathalye/porcupine"},
		never:   []string{"net/...", "os/...", "math/rand/..."}, timeless: true,
		why: "judges of leases that agree have shown something only if none of them can see another",
	},
	{
		folders: []string{"sim/wire/cjson", "sim/wire/cmsgpack", "sim/wire/luastruct", "sim/wire/luabit"},
		others:  []string{"github.com/yuin/gopher-lua", "github.com/vmihailenco/msgpack/v5"},
		never:   []string{"net/...", "os/..."}, timeless: true,
		why: "what a script is given is given to it alike by the model of the server and by who reads along",
	},
	{
		folders: []string{"sim/wire"},
		ours:    []string{"history", "sim/wire/cjson", "sim/wire/cmsgpack", "sim/wire/luastruct", "sim/wire/luabit"},
		others:  []string{"github.com/yuin/gopher-lua"},
		why:     "what a program asks of Redis is read off the wire: who reads it knows neither the program nor the world around it",
	},
	{
		folders: []string{"sim/documented"},
		ours:    []string{"elector", "history", "sim"},
		never:   []string{"net/...", "os/...", "sync/...", "math/rand/..."}, timeless: true,
		why: "an elector that runs in either world gets everything from its host: what it reached for itself would be of one world only",
	},
	{
		folders: []string{"sim", "sim/protocol", "sim/resource", "sim/candidate", "sim/stage", "sim/live/..."},
		ours:    []string{"internal/machine", "internal/topology", "internal/loopback", "internal/spelling", "elector/...", "faults", "history", "sim/..."},
		others:  []string{"..."},
		why:     "a world records, and leaves the judging to the checkers: it must not know what they look for",
	},
	{
		folders: []string{"sim/space"},
		ours:    []string{"history"},
		never:   []string{"net/...", "os/...", "context"}, timeless: true,
		why: "what all spaces of cases, and the search in them, have in common",
	},
	{
		folders: []string{"sim/bubble/network", "sim/bubble/redisserver"},
		ours:    []string{"faults", "sim", "sim/virtual/redismodel", "sim/virtual/session"},
		never:   []string{"os/exec", "net/http"},
		why:     "a network and a server for any program in a bubble: they know neither the elector nor what is recorded of it",
	},
	{
		folders: []string{"sim/bubble/gate"},
		never:   []string{"os", "os/exec", "net", "net/http", "time"},
		why:     "what holds goroutines up knows neither who they are nor how long it takes",
	},
	{
		folders: []string{"sim/bubble", "sim/bubble/clock", "sim/bubble/calls", "sim/bubble/topologies"},
		ours:    []string{"elector", "elector/fence", "elector/health/...", "elector/quorumstore", "elector/redisstore", "elector/redisstore/scripts", "elector/store", "faults", "history", "sim", "sim/candidate", "sim/protocol", "sim/resource", "sim/stage", "sim/virtual/redismodel", "sim/space", "sim/virtual/tamper", "sim/wire", "sim/bubble/..."},
		others:  []string{"github.com/redis/go-redis/v9"},
		never:   []string{"os/exec", "net/http"},
		why:     "what runs in fake time reaches nothing outside: no process, no socket but its own, and no judge",
	},
	{
		folders: []string{"sim/bubble/jobs"},
		ours:    []string{"elector", "elector/health/...", "elector/joblock", "elector/redisstore", "faults", "sim", "sim/space", "sim/virtual/redismodel", "sim/bubble/clock", "sim/bubble/gate", "sim/bubble/network", "sim/bubble/redisserver"},
		others:  []string{"github.com/redis/go-redis/v9"},
		never:   []string{"os/exec", "net/http"},
		why:     "a lock for jobs runs in fake time as programs use it: what it does is seen on the server, and held to its documents",
	},
	{
		folders: []string{"sim/bubble/fenced"},
		ours:    []string{"elector/fence"},
		never:   []string{"os/..."}, but: []string{"net/http"},
		why: "a service for leaders in fake time, of HTTP's types and of none of its sockets",
	},
	{
		folders: []string{"sim/bubble/guards"},
		ours:    []string{"elector/fence", "faults", "history", "sim", "sim/space", "sim/virtual/redismodel", "sim/bubble/network", "sim/bubble/redisserver"},
		others:  []string{"github.com/redis/go-redis/v9"},
		never:   []string{"os/exec"},
		why:     "guards run in fake time without any elector: they must hold under any leader, and are judged elsewhere",
	},
	{
		folders: []string{"sim/virtual", "sim/virtual/session", "sim/virtual/tamper"},
		ours:    []string{"internal/machine", "internal/quorum", "elector", "elector/redisstore/scripts", "faults", "history", "sim", "sim/wire/...", "sim/virtual/..."},
		others:  []string{"github.com/yuin/gopher-lua"},
		never:   []string{"net/...", "os/...", "sync/..."}, timeless: true,
		why: "one seed, one history: in virtual time nothing may come from outside, and nothing may run beside",
	},
	{
		folders: []string{"sim/virtual/redismodel"},
		ours:    []string{"elector/redisstore/scripts", "sim/wire/cjson", "sim/wire/cmsgpack", "sim/wire/luastruct", "sim/wire/luabit"},
		others:  []string{"github.com/yuin/gopher-lua"},
		never:   []string{"net/...", "os/...", "sync/..."}, but: []string{"sync"}, timeless: true,
		why: "likewise; but each script is compiled once, by the first run that needs it",
	},
	{
		folders: []string{"sim/explore"},
		ours:    []string{"internal/machine", "internal/quorum", "elector/redisstore/scripts", "sim/virtual/redismodel"},
		never:   []string{"net/...", "os/...", "sync/...", "math/rand/..."}, timeless: true,
		why: "a search visits the same states in the same order everywhere, and knows of the elector nothing but what decides: the machines, and the scripts as the model of the server runs them",
	},
	{
		folders: []string{"scenarios"},
		ours:    []string{"internal/spelling", "sim/...", "faults", "checker", "history"},
		why:     "a scenario is data for any world; how it is shown, and who asked for it, is no business of it",
	},
	{
		folders: []string{"scenarios/written"},
		ours:    []string{"internal/spelling", "sim", "faults", "checker", "scenarios"},
		others:  []string{"go.yaml.in/yaml/v3"},
		never:   []string{"net/...", "os/..."},
		why:     "a file of a scenario is text to it: who opens it, and where it runs, is no business of it",
	},
	{
		folders: []string{"scenarios/campaign"},
		never:   []string{"net/...", "os/...", "math/rand/..."}, timeless: true,
		why: "what is divided and merged is text to it: files of any kind of campaign are put together alike, and the same way in every order",
	},
	{
		folders: []string{"scenarios/search"},
		ours:    []string{"sim", "sim/space", "sim/bubble/...", "elector/redisstore/scripts", "faults", "history", "checker", "scenarios/fuzz", "internal/garbage", "scenarios/campaign"},
		never:   []string{"net/..."},
		// Bubbles need a test: a worker is a process with one test, which this package makes.
		but: []string{"testing"},
		why: "one engine for all spaces of generated cases: it starts processes of its own program, and knows of a case only what every case can do",
	},
	{
		folders: []string{"scenarios/fuzz", "scenarios/fuzz/fuzzreport"},
		ours:    []string{"sim", "sim/virtual", "faults", "checker", "history", "scenarios", "scenarios/campaign", "scenarios/fuzz", "scenarios/search", "internal/endless", "reports/document"},
		others:  []string{"pgregory.net/rapid"},
		never:   []string{"net/...", "os/exec"},
		// rapid shrinks only in what it takes for a test, and asks testing's
		// flags: the fuzzer's one file that drives it must set them up.
		but: []string{"testing"},
		why: "the fuzzer runs what it draws in virtual time, and nothing of it reaches out",
	},
	{
		folders: []string{"scenarios/chaostest"},
		ours:    []string{"elector", "sim/...", "faults", "checker", "history", "reports", "scenarios", "scenarios/fuzz"},
		others:  []string{"github.com/redis/go-redis/v9", "golang.org/x/sys"},
		// It is called by tests, as nothing else can be: no program links it.
		but: []string{"testing"},
		why: "somebody's test is one call here: what it runs, judges and reports is wired together for it as a command does",
	},
	{
		folders: []string{"scenarios/soak"},
		ours:    []string{"elector", "elector/redisstore", "elector/fence", "sim/...", "faults", "checker", "history"},
		others:  []string{"github.com/redis/go-redis/v9", "golang.org/x/sys"},
		why:     "a soak is a world and its judge in one: what is recorded is judged and forgotten while it goes on",
	},
	{
		folders: []string{"scenarios/mutants"},
		never:   []string{"net/..."},
		why:     "a change of the source's text is hunted by binaries that the go command makes: whatever it imported of ours, it could not change",
	},
	{
		folders: []string{"scenarios/failover"},
		ours:    []string{"sim", "faults", "checker", "history", "calibration", "scenarios", "internal/spelling"},
		never:   []string{"net/...", "os/..."},
		why:     "failovers are measured in runs of scenarios: which electors and worlds there are, and how it is shown, is told to it",
	},
	{
		folders: []string{"scenarios/tune"},
		ours:    []string{"elector", "internal/machine", "sim", "sim/virtual", "faults", "checker/quantile", "history", "scenarios", "scenarios/failover"},
		never:   []string{"net/...", "os/..."}, timeless: true,
		why: "settings are tried in virtual time alone: how a network was measured, and how the answer is shown, is told to it; the elector's presets are tried, and the machine says which settings fit together",
	},
	{
		folders: []string{"scenarios/trial"},
		ours:    []string{"sim", "sim/virtual", "faults", "checker", "history", "calibration", "scenarios", "scenarios/campaign", "scenarios/fuzz"},
		never:   []string{"net/...", "os/exec"},
		why:     "a trial is runs of scenarios and what came of them: which electors there are, and how it is shown, is told to it",
	},
	{
		folders: []string{"calibration"},
		ours:    []string{"history", "checker", "checker/contrast"},
		never:   []string{"net/...", "os/..."}, timeless: true,
		why: "worlds are compared by what they recorded: who compares must not know how any is made",
	},
	{
		folders: []string{"reports"},
		ours:    []string{"history", "checker/quantile", "checker/contrast", "checker", "calibration", "reports/document"},
		others:  []string{"gonum.org/v1/plot"},
		never:   []string{"net/...", "os/...", "math/rand/..."}, but: []string{"net/url"}, timeless: true,
		why: "the same history gives the same bytes, and a report reaches out to nothing",
	},
	{
		folders: []string{"reports/document"},
		ours:    []string{"checker"},
		never:   []string{"net/...", "os/...", "math/rand/..."}, timeless: true,
		why: "a document is printed in one way, whatever it is about: what a report is about, its builder knows",
	},
	{
		folders: []string{"cmd/..."},
		ours:    []string{"..."},
		others:  []string{"..."},
		why:     "commands wire everything together",
	},
	{
		folders: []string{"."},
		never:   []string{"..."},
		why:     "the root holds one folder per package and the tests of the house rules, but no package",
	},
}

// clock is what of package time reads the machine's clock or waits for it.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// No package imports what the table forbids it. The files are read by this
// process and not by go list, which the go command would not notice: it would
// answer from its cache after a forbidden import was added.
func TestImports(t *testing.T) {
	files, err := goFiles(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("only %d Go files were found: the test runs in the wrong folder, or skips too much", len(files))
	}
	for _, f := range files {
		for _, complaint := range f.complaints() {
			t.Error(complaint)
		}
	}
}

// importCases are files with one import each, and what of it is forbidden.
var importCases = []struct {
	folder, imports, code string
	want                  string // part of the only complaint; empty: none
}{
	{"history", `"net/http"`, "", "net/http"},
	{"history", `"os/exec"`, "", "os/exec"},
	{"history", `"math/rand/v2"`, "", "math/rand/v2"},
	{"history", ours("faults"), "", "faults"},
	{"history", `"os"`, "", ""},
	{"internal/machine", `"context"`, "", "context"},
	{"internal/machine", `"sync/atomic"`, "", "sync/atomic"},
	{"internal/machine", `"net"`, "", "net"},
	{"internal/machine", `"os"`, "", "os"},
	{"internal/machine", `"math/rand"`, "", "math/rand"},
	{"internal/machine", `"time"`, "var t = time.Now()", "time.Now"},
	{"internal/machine", `"time"`, "var now = time.Now", "time.Now"},
	{"internal/machine", `"time"`, "var d = time.Second", ""},
	{"internal/machine", `"math/bits"`, "", ""},
	{"internal/machine", `"osmosis"`, "", ""}, // os/... is no prefix of letters
	{"internal/machine", ours("history"), "", "history"},
	{"elector", ours("sim"), "", "sim"},
	{"elector", ours("faults"), "", "faults"},
	{"elector", ours("history"), "", "history"},
	{"elector", ours("checker"), "", "checker"},
	{"elector", ours("internal/machine"), "", ""},
	{"elector", `"github.com/spf13/cobra"`, "", "github.com/spf13/cobra"},
	{"elector/store", ours("elector"), "", "elector"},
	{"elector/store", `"sync"`, "", "sync"},
	{"elector/store", `"time"`, "var t = time.Now()", "time.Now"},
	{"elector/event", ours("elector"), "", "elector"},
	{"elector/event", `"net"`, "", "net"},
	{"elector/event", `"time"`, "var t = time.Now()", "time.Now"},
	{"elector/pgstore", ours("elector/store"), "", ""},
	{"elector/redisstore", ours("checker"), "", "checker"},
	{"elector/redisstore", ours("elector"), "", ""},
	{"elector/redisstore", `"github.com/redis/go-redis/v9/maintnotifications"`, "", ""},
	{"elector/storetest", `"testing"`, "", "testing"},
	{"elector/joblock", ours("elector/redisstore"), "", "redisstore"},
	{"elector/joblock", ours("elector"), "", ""},
	{"elector/electortest", `"testing"`, "", ""},
	{"elector/electortest", ours("elector/redisstore"), "", "redisstore"},
	{"elector/quorumstore", ours("elector/redisstore"), "", "redisstore"},
	{"elector/quorumstore", `"github.com/redis/go-redis/v9"`, "", "go-redis"},
	{"elector/quorumstore", ours("elector"), "", ""},
	{"internal/topology", ours("elector"), "", "elector"},
	{"internal/topology", `"testing"`, "", "testing"},
	{"internal/topology", ours("internal/loopback"), "", ""},
	{"internal/topology", ours("sim/live/network"), "", "sim/live/network"},
	{"internal/loopback", `"os"`, "", "os"},
	{"internal/situation", `"time"`, "var t = time.Now()", "time.Now"},
	{"elector/internal/guardtest", ours("elector/fence"), "", "elector/fence"},
	{"elector/redisstore", ours("internal/topology"), "", "internal/topology"},
	{"sim/live", ours("internal/topology"), "", ""},
	{"internal/race", `"os"`, "", "os"},
	{"checker/quantile", ours("checker"), "", "checker"},
	{"internal/processor", `"net"`, "", "net"},
	{"internal/processor", `"syscall"`, "", ""},
	{"internal/garbage", `"os"`, "", "os"},
	{"internal/spelling", `"os"`, "", "os"},
	{"faults", ours("internal/spelling"), "", ""},
	{"scenarios", ours("internal/spelling"), "", ""},
	{"sim/live/inspection", ours("sim/live/redisserver"), "", ""},
	{"sim/live/inspection", ours("checker"), "", "checker"},
	{"sim/bubble/bubbletest", ours("sim/bubble/gate"), "", "sim/bubble/gate"},
	{"cmd/internal/documents", `"os"`, "", "os"},
	{"cmd/internal/usage", ours("elector"), "", "elector"},
	{"cmd/chaos", ours("cmd/internal/usage"), "", ""},
	{"cmd/chaos", ours("cmd/elect"), "", "cmd/elect"},
	{"elector/health", ours("internal/machine"), "", "internal/machine"},
	{"elector/health", `"net/http"`, "", ""},
	{"elector/internal/workbench", ours("elector/health"), "", "elector/health"},
	{"elector/internal/workbench", `"testing"`, "", "testing"},
	{"elector/health", ours("elector/internal/workbench"), "", "workbench"},
	{"elector/prommetrics", ours("elector/redisstore"), "", "elector/redisstore"},
	{"elector/oteltrace", `"go.opentelemetry.io/otel/trace"`, "", ""},
	{"internal/quorum", ours("elector"), "", "elector"},
	{"internal/quorum", `"context"`, "", "context"},
	{"elector/quorumstore", ours("internal/quorum"), "", ""},
	{"elector/pgstore", `"github.com/jackc/pgx/v5/pgxpool"`, "", ""},
	{"elector/pgstore", `"github.com/redis/go-redis/v9"`, "", "go-redis"},
	{"elector/settings", ours("sim/protocol"), "", "sim/protocol"},
	{"elector/settings", `"go.yaml.in/yaml/v3"`, "", ""},
	{"faults", ours("sim"), "", "sim"},
	{"faults", `"time"`, "func f() { time.Sleep(1) }", "time.Sleep"},
	{"faults", ours("history"), "", ""},
	{"checker", ours("elector"), "", "elector"},
	{"checker", ours("sim/protocol"), "", "sim/protocol"},
	{"checker", `"os"`, "", "os"},
	{"checker", `"net/url"`, "", "net/url"},
	{"checker", `r "math/rand/v2"`, "", "math/rand/v2"},
	{"checker", `late "time"`, "var t = late.Since(late.Time{})", "time.Since"},
	{"checker", `. "time"`, "var t = Now()", "time"},
	{"checker", ours("checker/internal/index"), "", ""},
	{"checker", `"github.com/anishathalye/porcupine"`, "", "porcupine"},
	{"checker/internal/finding", ours("history"), "", "history"},
	{"checker/internal/index", ours("checker/internal/search"), "", "search"},
	{"checker/internal/search", `"github.com/anishathalye/porcupine"`, "", ""},
	{"checker/internal/search", ours("checker/internal/intervals"), "", "intervals"},
	{"checker/internal/intervals", ours("checker/internal/storeorder"), "", "storeorder"},
	{"checker/internal/storeorder", ours("checker"), "", "checker"},
	{"sim", ours("checker"), "", "checker"},
	{"sim/candidate", ours("checker"), "", "checker"},
	{"sim/live/network", ours("scenarios"), "", "scenarios"},
	{"sim/live/network", `_ "testing"`, "", "testing"},
	{"sim/live", ours("elector/redisstore"), "", ""},
	{"sim/explore", ours("sim"), "", "explore must not"},
	{"sim/explore", ours("internal/machine"), "", ""},
	{"sim/explore", ours("internal/quorum"), "", ""},
	{"sim/explore", ours("sim/virtual/redismodel"), "", ""},
	{"sim/explore", ours("sim/virtual"), "", "sim/virtual"},
	{"elector/redisstore/anyclient", `"github.com/redis/rueidis"`, "", "rueidis"},
	{"elector/redisstore/anyclient", ours("elector/redisstore"), "", ""},
	{"elector/redisstore/scripts", `"os"`, "", "os"},
	{"elector/redisstore/scripts", `"embed"`, "", ""},
	{"sim/virtual", ours("sim/live"), "", "sim/live"},
	{"sim/virtual", ours("checker"), "", "checker"},
	{"sim/virtual", ours("internal/quorum"), "", ""},
	{"sim/virtual", `"sync"`, "", "sync"},
	{"sim/virtual", `"os"`, "", "os"},
	{"sim/virtual", `"time"`, "var t = time.Now()", "time.Now"},
	{"sim/virtual/redismodel", `"net"`, "", "net"},
	{"sim/bubble/network", ours("elector"), "", "elector"},
	{"sim/bubble/gate", ours("history"), "", "gate must not"},
	{"sim/bubble", ours("checker"), "", "checker"},
	{"sim/bubble", `"testing/synctest"`, "", "testing/synctest"},
	{"sim/bubble", ours("sim/candidate"), "", ""},
	{"sim/wire", ours("sim"), "", "sim"},
	{"sim/wire", `"github.com/yuin/gopher-lua/parse"`, "", ""},
	{"sim/wire/cjson", ours("sim/wire"), "", "sim/wire"},
	{"sim/virtual/session", `"net"`, "", "net"},
	{"sim/documented", ours("sim/virtual"), "", "sim/virtual"},
	{"sim/documented", `"time"`, "var t = time.Now()", "time.Now"},
	{"scenarios/mutants", ours("elector"), "", "elector"},
	{"scenarios/mutants", `"os/exec"`, "", ""},
	{"sim/bubble/jobs", ours("elector/joblock"), "", ""},
	{"sim/bubble/jobs", ours("checker"), "", "seen on the server"},
	{"sim/bubble/guards", ours("elector/fence"), "", ""},
	{"sim/bubble/guards", ours("elector"), "", "guards must"},
	{"sim/bubble/fenced", ours("elector/fence"), "", ""},
	{"sim/bubble/fenced", `"os"`, "", "os"},
	{"internal/drawn", `"net/http"`, "", "net/http"},
	{"sim/space", ours("checker"), "", "checker"},
	{"internal/endless", ours("history"), "", "history"},
	{"scenarios/search", ours("sim/bubble/jobs"), "", ""},
	{"scenarios/search", ours("sim/live"), "", "sim/live"},
	{"scenarios/trial", ours("sim/documented"), "", "sim/documented"},
	{"scenarios/failover", ours("reports"), "", "reports"},
	{"scenarios/tune", ours("sim/live"), "", "sim/live"},
	{"scenarios/trial", ours("reports"), "", "reports"},
	{"scenarios/chaostest", ours("elector/redisstore"), "", "elector/redisstore"},
	{"scenarios/chaostest", `"testing"`, "", ""},
	{"scenarios/chaostest", `"testing/synctest"`, "", "testing/synctest"},
	{"scenarios/soak", ours("elector/redisstore"), "", ""},
	{"scenarios/soak", ours("internal/machine"), "", "internal/machine"},
	{"scenarios", ours("elector"), "", "elector"},
	{"scenarios", ours("reports"), "", "reports"},
	{"scenarios", `"testing/synctest"`, "", "testing/synctest"},
	{"scenarios", ours("sim/live"), "", ""},
	{"scenarios", `"testing"`, "", "testing"},
	{"scenarios/campaign", `"os"`, "", "os"},
	{"scenarios/campaign", ours("scenarios"), "", "text to it"},
	{"scenarios/campaign", `"time"`, "var t = time.Now()", "time.Now"},
	{"scenarios/fuzz", ours("scenarios/campaign"), "", ""},
	{"scenarios/fuzz", ours("sim/live"), "", "sim/live"},
	{"scenarios/fuzz", `"testing"`, "", ""},
	{"scenarios/fuzz", `"testing/quick"`, "", "testing/quick"},
	{"scenarios/fuzz", `"pgregory.net/rapid"`, "", ""},
	{"scenarios/fuzz", ours("reports"), "", "reports"},
	{"checker/contrast", ours("checker"), "", "checker"},
	{"checker/contrast", `"math/rand/v2"`, "", ""},
	{"calibration", ours("sim/virtual"), "", "sim/virtual"},
	{"calibration", `"math/rand/v2"`, "", ""},
	{"reports", ours("scenarios"), "", "scenarios"},
	{"reports/document", ours("reports"), "", "reports"},
	{"reports", `"net/http"`, "", "net/http"},
	{"reports", `"net/url"`, "", ""},
	{"reports", `"time"`, "var t = time.Now()", "time.Now"},
	{"scenarios/written", `"os"`, "", "os"},
	{"cmd/chaos", ours("reports"), "", ""},
	{"cmd/chaos", `"testing"`, "", "testing"},
	{"reports", ours("cmd/chaos"), "", "cmd/chaos"},
	{"sim/live", ours("cmd/chaos"), "", "cmd/chaos"},
	{".", `"fmt"`, "", "fmt"},
	{".", ours("elector"), "", "elector"},
	{"workers", `"fmt"`, "", `folder "workers"`},
	{"internal", "", "", `folder "internal"`},
}

func ours(folder string) string { return strconv.Quote(module + "/" + folder) }

// Every kind of forbidden import is found, in every row of the table that has
// it, and what is allowed raises no complaint.
func TestImportsAreSeen(t *testing.T) {
	seen := make([]bool, len(table))
	for _, test := range importCases {
		source := "package p\nimport " + cmp.Or(test.imports, "()") + "\n" + test.code
		files, err := goFiles(fstest.MapFS{path.Join(test.folder, "file.go"): {Data: []byte(source)}})
		if err != nil || len(files) != 1 {
			t.Fatalf("%s importing %s: %d files, %v", test.folder, test.imports, len(files), err)
		}
		got := files[0].complaints()
		switch {
		case test.want == "" && len(got) > 0:
			t.Errorf("%s may import %s %s, and the test complains: %q", test.folder, test.imports, test.code, got)
		case test.want != "" && (len(got) != 1 || !strings.Contains(got[0], test.want)):
			t.Errorf("%s must not have %s %s; complaints: %q, want one about %s", test.folder, test.imports, test.code, got, test.want)
		case test.want != "" && rowOf(test.folder) != nil:
			seen[slices.IndexFunc(table, func(r row) bool { return matchAny(r.folders, test.folder) })] = true
		}
	}
	for i, r := range table {
		if !seen[i] {
			t.Errorf("no example here breaks the row of %v: add one", r.folders)
		}
	}
}

// Test files may import anything, and what is no part of the workspace is not
// read.
func TestImportsSkipsOtherFiles(t *testing.T) {
	source := &fstest.MapFile{Data: []byte("package p\nimport _ \"testing\"")}
	files, err := goFiles(fstest.MapFS{
		"checker/a_test.go": source, "checker/testdata/a.go": source, "checker/_old/a.go": source, ".git/a.go": source, "a.txt": source,
		"bench/a.go": source, "bench/below/a.go": source,
	})
	if err != nil || len(files) != 0 {
		t.Errorf("%d files, %v", len(files), err)
	}
}

// goFile is what the table is about: one file, its imports, and its uses of
// the clock if its row forbids them.
type goFile struct {
	name    string
	imports []string
	clock   []string
}

// goFiles reads all Go files below the root but tests. The files of every
// system are read, whatever their build constraints.
func goFiles(root fs.FS) ([]goFile, error) {
	var files []goFile
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (notBuilt(entry.Name()) || apart(name)):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		source, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		f, err := parse(name, source)
		files = append(files, f)
		return err
	})
	return files, err
}

// notBuilt reports whether the go command overlooks a folder of that name.
func notBuilt(folder string) bool {
	return folder == "testdata" || strings.HasPrefix(folder, ".") || strings.HasPrefix(folder, "_")
}

func parse(name string, source []byte) (goFile, error) {
	mode := parser.ImportsOnly
	if r := rowOf(path.Dir(name)); r != nil && r.timeless {
		mode = parser.SkipObjectResolution
	}
	tree, err := parser.ParseFile(token.NewFileSet(), name, source, mode)
	if err != nil {
		return goFile{}, err
	}
	f := goFile{name: name}
	for _, spec := range tree.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return goFile{}, fmt.Errorf("%s: import %s: %w", name, spec.Path.Value, err)
		}
		f.imports = append(f.imports, imported)
		if imported == "time" && mode != parser.ImportsOnly {
			f.clock = append(f.clock, clockUses(tree, spec)...)
		}
	}
	return f, nil
}

// clockUses lists what the file uses of package time that it imports by spec.
func clockUses(tree *ast.File, spec *ast.ImportSpec) []string {
	name := "time"
	if spec.Name != nil {
		name = spec.Name.Name
	}
	if name == "." {
		return []string{`time (imported as ".", which hides what is used of it)`}
	}
	var uses []string
	for node := range ast.Preorder(tree) {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok || !slices.Contains(clock, selector.Sel.Name) {
			continue
		}
		if of, ok := selector.X.(*ast.Ident); ok && of.Name == name {
			uses = append(uses, "time."+selector.Sel.Name)
		}
	}
	return uses
}

// complaints says how the file breaks the table.
func (f goFile) complaints() []string {
	folder := path.Dir(f.name)
	r := rowOf(folder)
	if r == nil {
		return []string{fmt.Sprintf("%s: the folder %q is not in the table of imports_test.go: add it there, with what it may import and why", f.name, folder)}
	}
	var list []string
	for _, imported := range f.imports {
		if !r.allows(imported) {
			list = append(list, fmt.Sprintf("%s imports %s, which %s must not: %s", f.name, imported, folder, r.reason(imported)))
		}
	}
	for _, use := range f.clock {
		list = append(list, fmt.Sprintf("%s uses %s, which %s must not: %s", f.name, use, folder, r.why))
	}
	return list
}

// rowOf is the row of a folder, nil if it has none.
func rowOf(folder string) *row {
	for i := range table {
		if matchAny(table[i].folders, folder) {
			return &table[i]
		}
	}
	return nil
}

func (r *row) allows(imported string) bool {
	if imported == module {
		return false
	}
	if folder, ok := strings.CutPrefix(imported, module+"/"); ok {
		if (folder == "elector/store" || folder == "elector/event") && slices.Contains(r.ours, "elector") {
			return true // the methods of an Elector speak of them
		}
		return matchAny(r.ours, folder) && (!match("cmd/...", folder) || match("cmd/internal/...", folder))
	}
	if first, _, _ := strings.Cut(imported, "/"); strings.Contains(first, ".") {
		return slices.ContainsFunc(r.others, func(m string) bool { return m == "..." || match(m+"/...", imported) })
	}
	if match("testing/...", imported) {
		return slices.Contains(r.but, imported)
	}
	return !matchAny(r.never, imported) || matchAny(r.but, imported)
}

func (r *row) reason(imported string) string {
	switch {
	case match("testing/...", imported):
		return "what a test needs belongs into a file _test.go; testing registers flags in every program that links it"
	case match(module+"/cmd/...", imported):
		return "commands wire packages together and are imported by none"
	default:
		return r.why
	}
}

func matchAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, name) })
}

func match(pattern, name string) bool {
	stem, below := strings.CutSuffix(pattern, "...")
	if !below {
		return pattern == name
	}
	return strings.HasPrefix(name+"/", stem)
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/recount-io/recount/checker"
)

// oldFiles are files that some command reads: one of each kind as this version writes it,
// one that it cannot read, which is of another version, and some that nobody reads.
var oldFiles = map[string]string{
	"history":                      `{"recount_history":1,"scenario":"s","subject":"x","world":"live","nodes":["n1"],"lease_ns":1000000000}` + "\n",
	"history of v9":                `{"recount_history":9,"scenario":"s","subject":"x","world":"live","nodes":["n1"],"lease_ns":1000000000}` + "\n",
	"plan":                         `{"recount_replay":1,"subject":"recount","world":"virtual","seed":1,"nodes":3,"lease":"1s","renew":"300ms","retry":"50ms","drift":0.01,"schedule":[]}` + "\n",
	"plan with an old promise":     `{"recount_replay":1,"broke":"LossHeeded","subject":"recount","world":"virtual","seed":1,"nodes":3,"lease":"1s","renew":"300ms","retry":"50ms","drift":0.01,"schedule":[],"waived":{"LossHeeded":"because"}}` + "\n",
	"scenario with an old promise": "name: mine\nsummary: nothing happens\nlease: 1s\nschedule: []\nwaived: {LossHeeded: because}\n",
	"plan of v9":                   `{"recount_replay":9,"subject":"recount","world":"virtual","seed":1}` + "\n",
	"plan, old fault":              `{"recount_replay":1,"subject":"recount","world":"virtual","seed":1,"nodes":3,"lease":"1s","renew":"300ms","retry":"50ms","drift":0.01,"schedule":[{"at":"3s","for":"3s","fault":"gone","target":"the leader"}]}` + "\n",
	"search":                       `{"space":"leanings","obligation":"x","details":"y","number":1,"case":{"Number":1,"Steps":["one"]}}` + "\n",
	"search, old case":             `{"space":"leanings","obligation":"x","details":"y","number":1,"case":{"Gone":1}}` + "\n",
	"search, old space":            `{"space":"gone","obligation":"x","details":"y","number":1,"case":{}}` + "\n",
	"search, old field":            `{"space":"leanings","gone":"x","number":1,"case":{}}` + "\n",
	"path of v0":                   `{"recount_explore":0,"world":"two","steps":[]}` + "\n",
	"path, old world":              `{"recount_explore":1,"world":"gone","steps":[]}` + "\n",
	"rapid's":                      "v0.1.0#7\n0x1\n0x2",
	"scenario":                     "name: mine\nsummary: nothing happens\nlease: 1s\nschedule: []\n",
	"scenario of once":             "name: mine\nlease: 1s\nfaults: []\n",
	"shard":                        `{"recount_campaign":1,"kind":"mutants","seed":7,"of":1,"settings":{},"command":"chaos mutants hunt","program":"v0.1.0","shards":[]}` + "\n",
	"shard of v0":                  `{"recount_campaign":0,"kind":"fuzz","seed":7}` + "\n",
	"shard, old kind":              `{"recount_campaign":1,"kind":"walk","seed":7,"of":1,"settings":{},"command":"chaos walk","program":"v0.1.0","shards":[]}` + "\n",
	"shard, old map":               `{"recount_campaign":1,"kind":"fuzz","seed":7,"of":1,"settings":{"subject":"recount","schedules":1},"command":"chaos fuzz","program":"v0.1.0","shards":[{"shard":1,"processor_seconds":1,"result":{"schedules":1,"faults":1,"without_effect":0,"coverage":{"gone":[1]},"failures":[]}}]}` + "\n",
	"shard, old search":            `{"recount_campaign":1,"kind":"search","seed":7,"of":1,"settings":{"in":"gone","cases":1},"command":"chaos fuzz --in gone","program":"v0.1.0","shards":[]}` + "\n",
	"failovers of v0":              `{"recount_failovers":0}` + "\n",
	"failovers":                    `{"recount_failovers":1}` + "\n",
	"report":                       `{"recount_report":1,"scenario":"x"}` + "\n",
	"nothing":                      "", "text": "hello\n", "binary": "\x7fELF\x02\x01\x00\n", "JSON": `{"a":1}` + "\n", "null": "null\n", "list": "[1,2]\n",
}

// readers are the commands that read files: the name that a file has for them, the kinds
// that they read, and what they say about those of another version.
var readers = map[string]struct {
	args  string // FILE is the file, DIR its folder, OUT an empty folder
	file  string
	reads string // kinds, with commas around them
	want  map[string]string
}{
	"check": {"check FILE", "x.jsonl", ",history,", map[string]string{
		"history of v9": "history version 9, this program reads version 1; use the release of recount that wrote it",
	}},
	"report": {"report DIR", "history.jsonl", ",history,", map[string]string{
		"history of v9": "use the release of recount that wrote it",
	}},
	"report of failovers": {"report DIR", failoversFile, ",failovers,", map[string]string{
		"failovers of v0": `"recount_failovers" is 0, and has to be 1; give the failovers.json of this version, or measure again`,
	}},
	"failover": {"failover --world virtual --count 1 --baseline FILE --out OUT", failoversFile, ",,", map[string]string{
		"failovers of v0": `"recount_failovers" is 0, and has to be 1; give the failovers.json of this version, or measure again`,
		"failovers":       "the comparison would show that",
	}},
	"replay": {"replay FILE", "x.json", ",plan,plan with an old promise,search,", map[string]string{
		"plan of v9":        "it is of version 9, and this program reads version 1: use the program that wrote it",
		"plan, old fault":   `no fault is called "gone": give one of`,
		"search, old case":  "the case was written by another version",
		"search, old space": `the file was written by another version (it is of the space "gone"): search again`,
		"search, old field": "the file was written by another version",
		"path of v0":        "the file is no path of version 1; explore again",
		"path, old world":   `no world is called "gone"; explore again`,
	}},
	"replay of rapid's": {"replay FILE", "x.fail", ",,", map[string]string{
		"rapid's": "it no longer applies",
	}},
	"merge": {"merge FILE --out OUT", "x.json", ",shard,", map[string]string{
		"shard of v0":       "it is of version 0, and this program reads version 1; use the program that wrote it",
		"shard, old kind":   `no kind "walk" of campaigns here; use the program that wrote it (v0.1.0)`,
		"shard, old map":    `its map has a row for "gone"`,
		"shard, old search": `there is no space "gone"`,
	}},
	"run": {"run FILE --world virtual --dry-run", "x.yaml", ",scenario,scenario with an old promise,", map[string]string{
		"scenario of once": `x.yaml:3: there is no field "faults"; give one of schedule, name`,
	}},
	"tune": {"tune --network FILE --out OUT", "x.json", ",,", nil},
}

// TestOldFiles shows that every command reads the files of its kind, and refuses all others
// in one line with the file's name, what is wrong, and what to do.
func TestOldFiles(t *testing.T) {
	withGoAlone(t)
	remedy := regexp.MustCompile(`\b(give|use|copy|mend|search|explore|fuzz|measure|record|is one JSON object a line|prints one to start from|write|leave|indent)\b`)
	for name, c := range readers {
		for kind, text := range oldFiles {
			t.Run(name+"/"+kind, func(t *testing.T) {
				dir := t.TempDir()
				path := filepath.Join(dir, c.file)
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				args := strings.Fields(strings.NewReplacer("FILE", path, "DIR", dir, "OUT", filepath.Join(t.TempDir(), "out")).Replace(c.args))
				r := chaos(t, t.Context(), nil, args...)
				if strings.Contains(c.reads, ","+kind+",") {
					if r.status == statusUsage || r.status == statusFailed {
						t.Errorf("status %d of what it reads\n%s", r.status, r.errors)
					}
					return
				}
				line := strings.TrimSuffix(r.errors, "\n")
				if r.status != statusUsage || line == "" || strings.Contains(line, "\n") || strings.Contains(line, "into Go") {
					t.Errorf("status %d, want %d and one line\n%s", r.status, statusUsage, r.errors)
				}
				ofCampaign := name == "merge" && strings.HasPrefix(kind, "shard, ") // the merged file has no name
				if !strings.Contains(line, path) && !ofCampaign || !strings.Contains(line, c.want[kind]) || c.want[kind] == "" && !remedy.MatchString(line) {
					t.Errorf("it says\n%s\nwant %s, %s", line, path, fmt.Sprintf("%q, and what to do", c.want[kind]))
				}
			})
		}
	}
}

// TestNotAskedOldPromise shows that --not-asked takes the name that a promise had in an
// earlier version.
func TestNotAskedOldPromise(t *testing.T) {
	f := runFlags{exec: "true", notAsked: []string{"LossHeeded"}}
	if err := f.checkNotAsked(); err != nil {
		t.Fatal(err)
	}
	if got := f.subject().waived; len(got) != 1 || got[checker.StepsDownOnLoss] == "" {
		t.Errorf("waived: %v, want %s", got, checker.StepsDownOnLoss)
	}
}

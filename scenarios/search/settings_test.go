package search

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/recount-io/recount/elector"
	"github.com/recount-io/recount/elector/fence"
	"github.com/recount-io/recount/elector/health"
	"github.com/recount-io/recount/elector/joblock"
	"github.com/recount-io/recount/elector/memstore"
	"github.com/recount-io/recount/elector/quorumstore"
	"github.com/recount-io/recount/elector/redisstore"
)

// held says what fails if a setting is ignored. That is an obligation of cases that draw
// the setting: "space: feature: obligation". The obligation is "" for a promise of the
// checkers. Where no space draws the setting, it is a test: "package.Test".
var held = map[reflect.Type]map[string]string{
	reflect.TypeFor[elector.Config](): {
		"Election":       "calls: names:odd: foreign hint",
		"ID":             "calls: names:slashed: wrong successor",
		"Lease":          "calls: lease: leases agreed",
		"Renew":          "calls: timing: asked in time",
		"Retry":          "calls: timing: asked in time",
		"RequestTimeout": "calls: timing: asked in time",
		"DrainTimeout":   "calls: timing: kept for its work",
		"LongestLease":   "calls: lease: lease unlearned",
		"Drift":          "calls: skew: ",
		"Priority":       "calls: priority: fails back",
		"Failback":       "calls: failback: fails back",
		"Value":          "calls: begins: value of the term",
		"Once":           "calls: call:once: run returns",
		"Clock":          "calls: skew: context in time",
		"Logger":         "calls: logs:never: logs rarely",
		"OnStarted":      "calls: works:late: work once",
		"OnStopped":      "calls: stops:late: stop once",
		"OnLeader":       "calls: tells:late: told who leads",
		"OnEvent":        "calls: tells:late: transitions",
	},
	reflect.TypeFor[elector.ObserveOptions](): {
		"Poll":           "calls: looks on: told who leads",
		"Retry":          "calls: looks on: told who leads",
		"RequestTimeout": "calls: looks on: told who leads",
		"Clock":          "calls: looks on: told who leads",
	},
	reflect.TypeFor[redisstore.Options](): {
		"Prefix":          "calls: prefixes:2+: foreign hint",
		"Unprotected":     "calls: unprotected: job at once",
		"Replicas":        "topologies: confirmed: ",
		"Fsynced":         "redisstore.TestFsynced",
		"FsyncedReplicas": "redisstore.TestFsyncedReplica",
		"Confirm":         "redisstore.TestConfirmOptions",
		"Audit":           "calls: releases: ",
		"Expire":          "jobs: expires: settings fit",
	},
	reflect.TypeFor[quorumstore.Options](): {
		"NodeTimeout": "quorumstore.TestHungNodesDelayNothing",
		"MaxPending":  "quorumstore.TestBadNodes",
		"Names":       "quorumstore.TestFatal",
		"OnError":     "quorumstore.TestBadNodes",
		"Now":         "topologies: topology:quorum: ",
	},
	reflect.TypeFor[memstore.Options](): {"Now": "memstore.TestConformance"},
	reflect.TypeFor[joblock.Options](): {
		"AtLeast": "jobs: call:run: least time",
		"AtMost":  "jobs: call:run: longest time",
		"Wait":    "jobs: call:run: job runs",
	},
	reflect.TypeFor[fence.HandlerOptions](): {
		"Resource": "fence.TestHandler",
		"Open":     "fence.TestHandler",
		"Failed":   "fence.TestHandler",
	},
	reflect.TypeFor[health.Options](): {"Codes": "health.TestHandlers", "Data": "health.TestFieldNames"},
}

// Every setting is varied somewhere, and something fails if it is ignored.
func TestSettingsAreHeld(t *testing.T) {
	for of, rows := range held {
		for _, field := range reflect.VisibleFields(of) {
			row, listed := rows[field.Name]
			if !listed && field.IsExported() {
				t.Errorf("%v.%s: say here what fails if it is ignored", of, field.Name)
			}
			if complaint := holds(row); listed && complaint != "" {
				t.Errorf("%v.%s: %s: %s", of, field.Name, row, complaint)
			}
		}
		for name := range rows {
			if _, is := of.FieldByName(name); !is {
				t.Errorf("%v has no field %s", of, name)
			}
		}
	}
}

// holds says what is wrong with a row; "": nothing.
func holds(row string) string {
	words := strings.Split(row, ": ")
	if len(words) == 1 {
		return tested(row)
	}
	s, err := Find(words[0])
	switch {
	case len(words) != 3:
		return "give a space, a feature and an obligation"
	case err != nil:
		return err.Error()
	case !slices.Contains(s.Features(), words[1]):
		return "no case has that feature"
	case words[2] != "" && s.Says(words[2]) == "":
		return "there is no such obligation"
	default:
		return ""
	}
}

// tested says what is wrong with a row that names a test of a package of the elector.
func tested(row string) string {
	folder, name, _ := strings.Cut(row, ".")
	if folder = filepath.Join("../../elector", folder); strings.HasPrefix(row, "elector.") {
		folder = "../../elector"
	}
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		return err.Error()
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return err.Error()
		}
		if regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(name) + `\(`).Match(text) {
			return ""
		}
	}
	return "there is no such test"
}

// Every row that shows nothing is noticed.
func TestSettingsAreSeen(t *testing.T) {
	for row, fine := range map[string]bool{
		"calls: timing: asked in time": true, "calls: skew: ": true, "health.TestHandlers": true,
		"calls: flies: asked in time": false, "calls: timing: flies": false, "air: timing: flies": false, "calls: timing": false, "health.TestNothing": false, "TestHandlers": false,
	} {
		if complaint := holds(row); (complaint == "") != fine {
			t.Errorf("%q: %q", row, complaint)
		}
	}
}

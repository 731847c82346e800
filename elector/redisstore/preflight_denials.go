package redisstore

import (
	"regexp"
	"slices"
	"strings"

	"github.com/recount-io/recount/elector/store"
)

// denial is a script that the server refused, or a command that it refused to scripts.
type denial struct {
	what    string
	command bool
	why     purpose // of a command
	asks    string  // the command at which a script stopped; empty: not known
	err     error
}

// costs say what fails without a script.
var costs = map[string]string{
	"acquire":    "nobody can be elected",
	"renew":      "nobody leads for longer than a lease",
	"release":    "a lease that is given back stays until its end",
	"leader":     "nobody learns who leads",
	"candidates": "Candidates fails",
	"terms":      "History fails",
}

// scriptOrder has the scripts, the most needed one first. Elections need all but the last
// two.
var scriptOrder = []string{"acquire", "renew", "release", "leader", "candidates", "terms"}

// cause is what refusals have in common that have one cause: the server's words, but for
// the script's name and line.
func cause(err error) string { return scriptPlace.ReplaceAllString(unwrapped(err), "") }

var scriptPlace = regexp.MustCompile(`(f_)?[0-9a-f]{40}|@user_script: ?[0-9]+[:.]?`)

// quoted is the server's own words.
func quoted(err error) string { return `"` + strings.TrimSpace(unwrapped(err)) + `"` }

// reportDenials says what is refused to scripts, and which scripts are refused: one
// finding for each cause.
func (t *rehearsal) reportDenials() {
	for rest := t.denials; len(rest) > 0; {
		var same, others []denial
		for _, r := range rest {
			if cause(r.err) == cause(rest[0].err) {
				same = append(same, r)
			} else {
				others = append(others, r)
			}
		}
		t.reportCause(same)
		rest = others
	}
	t.reportSlots()
}

func (t *rehearsal) reportCause(same []denial) {
	err := same[0].err
	failing := (store.Preflight{Findings: t.list}).Worst() == store.SeverityError
	switch hint := overload(err); {
	case remedyOf(err).access && (len(t.missing) > 0 || t.keysDenied != nil || t.channelsDenied != nil):
		return // it was said which rights are missing
	case hint != "":
		t.add(store.SeverityWarning, "overload", "the server refused a request: "+quoted(err)+". Such a refusal passes, and the elector asks again; but nobody is elected meanwhile", hint)
		return
	case passing(err) && failing:
		return // it was said why
	}
	needed := func(r denial) bool { return r.command && r.why == toElect }
	names := scriptsOf(same)
	if slices.ContainsFunc(same, needed) {
		names = nil // that is why they are refused
	}
	if len(names) > 0 {
		t.reportScripts(names, same)
		return
	}
	for i, p := range purposes {
		if names := commandsOf(same, purpose(i)); names != "" {
			t.add(p.severity, "scripts", p.text+" "+names+" in scripts, which the server refuses: "+quoted(err), "use a server whose scripts may use "+names)
		}
	}
}

// commandsOf are the commands that were refused to scripts which need them for that.
func commandsOf(list []denial, why purpose) string {
	var names []string
	for _, r := range list {
		if r.command && r.why == why {
			names = append(names, r.what)
		}
	}
	return strings.Join(names, ", ")
}

// scriptsOf are the scripts that were refused, the most needed one first.
func scriptsOf(list []denial) (names []string) {
	for _, name := range scriptOrder {
		if slices.ContainsFunc(list, func(r denial) bool { return !r.command && r.what == name }) {
			names = append(names, name)
		}
	}
	return names
}

func (t *rehearsal) reportScripts(names []string, same []denial) {
	first := same[slices.IndexFunc(same, func(r denial) bool { return !r.command && r.what == names[0] })]
	text, ask := "the server refuses the script "+names[0], ", which asks for "
	if last := len(names) - 1; last > 0 {
		text, ask = "the server refuses the scripts "+strings.Join(names[:last], ", ")+" and "+names[last], ", which ask for "
	}
	if first.asks != "" {
		text += ask + first.asks
	}
	fix := fixOf(first.err)
	if fix == "" {
		fix = "ask the server's operator to allow it, or use a server with Lua scripts as Redis has them"
	}
	severity := store.SeverityError
	if slices.Index(scriptOrder, names[0]) >= slices.Index(scriptOrder, "candidates") {
		severity = purposes[toLookBack].severity // elections are held all the same
	}
	t.add(severity, "scripts", text+", so "+costs[names[0]]+": "+quoted(first.err), fix)
}

// reportSlots says that the scripts are refused with keys of several slots.
func (t *rehearsal) reportSlots() {
	switch said := slices.ContainsFunc(t.nodes, func(n *node) bool { return n.info["cluster_enabled"] == "1" }); {
	case t.apart == nil, said:
	case crossSlot(t.apart):
		t.add(store.SeverityNote, "slots", "the server refuses a script with keys of several slots: "+quoted(t.apart)+". So elections share no witness: the first leader of each waits for a lease, and Vouch is for one election",
			"nothing; Create, a lease before the first candidates start, spares them the wait")
	default:
		t.add(store.SeverityError, "slots", "the server refuses a script with keys of several slots in words that the store does not know, so nobody can be elected: "+quoted(t.apart),
			"use a server that is not split into slots, or connect to its cluster with cluster=true; please report the words")
	}
}

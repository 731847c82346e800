package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// findings is the document about other electors. The trial writes its tables.
const findings = "../../docs/findings.md"

// Every broken cell of the findings' table is explained in the section of its
// subject, and every difference of the worlds below their list; nothing is
// explained that did not happen.
func TestFindings(t *testing.T) {
	text, err := os.ReadFile(findings)
	if err != nil {
		t.Fatal(err)
	}
	broken := brokenCells(between(t, string(text), "<!-- trial matrix -->"))
	if len(broken) == 0 {
		t.Error("no cell of the table is broken: it is empty, or its form has changed")
	}
	for subject, scenarios := range broken {
		_, section, _ := strings.Cut(string(text), "\n### "+subject+"\n")
		section, _, _ = strings.Cut(section, "\n##")
		explained := explainedScenarios(section)
		for _, name := range scenarios {
			if !slices.Contains(explained, name) {
				t.Errorf("%s: the section %q does not say why %s breaks a promise", findings, subject, name)
			}
		}
		for _, name := range explained {
			if !slices.Contains(scenarios, name) {
				t.Errorf("%s: the section %q explains what broke in %s, where nothing did", findings, subject, name)
			}
		}
	}
	list := between(t, string(text), "<!-- trial differences -->")
	_, explained, _ := strings.Cut(string(text), list)
	explained, _, _ = strings.Cut(explained, "\n## ")
	for line := range strings.Lines(list) {
		words := strings.Fields(line) // "- SUBJECT in SCENARIO: PROMISE …"
		if len(words) > 3 && words[0] == "-" && words[2] == "in" {
			cell := words[1] + " in `" + strings.TrimSuffix(words[3], ":") + "`"
			if !strings.Contains(explained, cell) {
				t.Errorf("%s: below the list, nothing says why the worlds differ about %s", findings, cell)
			}
		}
	}
	for line := range strings.Lines(explained) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 || !strings.Contains(cells[1], " in `") {
			continue
		}
		for cell := range strings.SplitSeq(strings.TrimSpace(cells[1]), ", ") {
			if !strings.Contains(list, "- "+strings.ReplaceAll(cell, "`", "")+":") {
				t.Errorf("%s: below the list stands why the worlds differ about %s, and they do not", findings, cell)
			}
		}
	}
}

// explainedScenarios are those that the first column of a table names.
func explainedScenarios(section string) []string {
	var names []string
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		for i, name := range strings.Split(cells[1], "`") {
			if i%2 == 1 {
				names = append(names, name)
			}
		}
	}
	return names
}

// between is what stands between a mark and the next end.
func between(t *testing.T, text, mark string) string {
	t.Helper()
	_, after, found := strings.Cut(text, mark+"\n")
	inside, _, ended := strings.Cut(after, "<!-- end -->")
	if !found || !ended {
		t.Fatalf("%s has no %s with an end", findings, mark)
	}
	return inside
}

// brokenCells are the scenarios in which a promise broke, by subject.
func brokenCells(matrix string) map[string][]string {
	broken := map[string][]string{}
	var subjects []string
	for line := range strings.Lines(matrix) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case cells[0] == "scenario":
			subjects = cells
		case len(cells) == len(subjects):
			for i, cell := range cells[1:] {
				if strings.HasPrefix(cell, "**") {
					broken[subjects[i+1]] = append(broken[subjects[i+1]], cells[0])
				}
			}
		}
	}
	return broken
}

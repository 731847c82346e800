package store

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName bounds names: they become parts of keys and of audit entries.
const maxName = 200

// CheckName returns an error if something of that name cannot be stored, or told to people,
// logs and metrics: if it is empty or longer than 200 bytes, is not valid UTF-8, or holds
// spaces, braces or control characters. Elections, IDs and the prefixes of stores are held
// to it.
func CheckName(name string) error {
	if rule := nameRule(name); rule != "" {
		return errors.New("the name " + rule)
	}
	return nil
}

// nameRule is what is wrong with a name, and how to mend it; empty if nothing is.
func nameRule(name string) string {
	switch {
	case name == "":
		return "is empty; give it a name"
	case len(name) > maxName:
		return fmt.Sprintf("has %d bytes; at most %d are allowed", len(name), maxName)
	case !utf8.ValidString(name):
		return fmt.Sprintf("is %q; it must be valid UTF-8, or logs and metrics could not show it", name)
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == '{' || r == '}' }):
		return fmt.Sprintf("is %q; it must not hold spaces, braces or control characters", name)
	}
	return ""
}

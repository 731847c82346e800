package main

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	unreleased = "## [Unreleased]\n"
	linkStem   = "[Unreleased]: https://" + name + "/"
)

// dated gives the entries of the changelog that are not released to the version, and returns
// them, too. It returns an error if there are none.
func dated(changelog []byte, version string, now time.Time) (changed []byte, notes string, err error) {
	before, rest, ok := strings.Cut(string(changelog), unreleased)
	body, link, linked := strings.Cut(rest, linkStem)
	if !ok || !linked {
		return nil, "", fmt.Errorf("it must have the heading %q and a line that begins with %q", strings.TrimSpace(unreleased), linkStem)
	}
	notes, older, more := strings.Cut(body, "\n## ")
	if entries(notes) == 0 {
		return nil, "", errors.New("it has no entry under [Unreleased]; say there what is new for users")
	}
	if more {
		older = "\n## " + older
	}
	_, link, _ = strings.Cut(link, "\n")
	number := strings.TrimPrefix(version, "v")
	return fmt.Appendf(nil, "%s%s\n## [%s] - %s\n%s%s%scompare/%s...main\n[%s]: https://%s/releases/tag/%s\n%s",
		before, unreleased, number, now.Format(time.DateOnly), notes, older, linkStem, version, number, name, version, link), strings.TrimSpace(notes) + "\n", nil
}

// entries counts the entries of a section.
func entries(notes string) int { return strings.Count("\n"+notes, "\n- ") }

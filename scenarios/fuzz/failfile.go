package fuzz

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"pgregory.net/rapid"
)

// FromFailFile reads the case that a property test of this package drew and
// that rapid has saved (*.fail). Such a file holds what was drawn from and not
// what was drawn: it means something only to the generators that it was
// written by. An error says in one line that it means nothing any more.
func FromFailFile(path string) (Case, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Case{}, err
	}
	driving.Lock()
	defer driving.Unlock()
	prepare()
	defer set("rapid.failfile", path)()
	defer set("rapid.nofailfile", "true")()
	defer set("rapid.checks", "5")()
	tb := &listener{}
	var found *Case
	inGoroutine(func() {
		rapid.Check(tb, func(t *rapid.T) {
			c := Cases(Pins{Subject: "recount"}, nil).Draw(t, "case")
			if found == nil {
				found = &c
			}
			t.Fatalf("that is the one")
		})
	})
	switch why := tb.refusal(); {
	case why != "":
		return Case{}, errors.New("it no longer applies: " + why + ": fuzz again, or keep the file that \"chaos fuzz\" writes")
	case found == nil || !tells(string(text), found):
		return Case{}, errors.New("it no longer applies: cases are drawn otherwise than when it was written: fuzz again, or keep the file that \"chaos fuzz\" writes")
	default:
		return *found, nil
	}
}

// tells compares the case with what rapid wrote of it in words.
func tells(text string, c *Case) bool {
	const mark = "draw case: "
	_, rest, there := strings.Cut(text, mark)
	line, _, _ := strings.Cut(rest, "\n")
	return !there || strings.TrimSpace(line) == fmt.Sprintf("%#v", *c)
}

// listener is a test that remembers what rapid said about a file.
type listener struct {
	silent
	said []string
}

// Logf implements rapid.TB.
func (l *listener) Logf(format string, args ...any) {
	l.said = append(l.said, fmt.Sprintf(format, args...))
}

// refusal is why rapid did not take the file, or "".
func (l *listener) refusal() string {
	for _, text := range l.said {
		text = strings.TrimPrefix(text, "[rapid] ")
		switch {
		case strings.HasPrefix(text, "ignoring fail file: "):
			return strings.TrimPrefix(text, "ignoring fail file: ")
		case strings.HasSuffix(text, "is no longer valid"):
			return "less was drawn when it was written than is drawn now"
		}
	}
	return ""
}

// GoString writes the case as rapid does where it shows what it drew.
func (c Case) GoString() string {
	text, err := c.Marshal()
	if err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(string(text)), " ")
}

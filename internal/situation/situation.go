// Package situation runs files of commands, each with what came of it:
//
//	# A comment.
//	at 2s answer 1 done token=7 err=(connection reset)
//	----
//	what the test prints, up to an empty line
//
// It is for the tests of packages that go with every elector: whatever library
// they used, everybody who elects would find among his modules.
package situation

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Arg is a word behind a command: key, or key=value, or key=(a value of more
// words).
type Arg struct {
	Key  string
	Vals []string // one, or none
}

// String is the word as it stands in the file.
func (a Arg) String() string {
	switch {
	case len(a.Vals) == 0:
		return a.Key
	case strings.Contains(a.Vals[0], " "):
		return a.Key + "=(" + a.Vals[0] + ")"
	default:
		return a.Key + "=" + a.Vals[0]
	}
}

// Command is one of a file's.
type Command struct {
	Pos     string // the file and the line
	Cmd     string // its first word
	CmdArgs []Arg  // the others
	want    string // what the file says came of it
}

// T is the part of a *testing.T that is needed. Fatalf must not return.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Fatalf fails the test with the place of the command.
func (c *Command) Fatalf(t T, format string, args ...any) {
	t.Helper()
	t.Fatalf(c.Pos+": "+format, args...)
}

// Run carries out a file: do says what came of each command, and t fails at the
// first of which the file says something else. With rewrite the file is written
// anew instead.
func Run(t T, path string, rewrite bool, do func(*Command) string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v", err)
	}
	played, err := play(path, string(content), func(c *Command) string {
		got := do(c)
		if got != "" && !strings.HasSuffix(got, "\n") {
			got += "\n"
		}
		if got != c.want && !rewrite {
			c.Fatalf(t, "%s %v\nwant:\n%s\ngot:\n%s", c.Cmd, c.CmdArgs, c.want, got)
		}
		return got
	})
	if err == nil && rewrite {
		err = os.WriteFile(path, []byte(played), 0o644)
	}
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// play is the file's text with what came of its commands.
func play(path, text string, do func(*Command) string) (string, error) {
	var played strings.Builder
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for n := 0; n < len(lines); n++ {
		line := strings.TrimSpace(lines[n])
		played.WriteString(lines[n] + "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		c := &Command{Pos: fmt.Sprintf("%s, line %d", path, n+1)}
		var err error
		if c.Cmd, c.CmdArgs, err = parse(line); err != nil {
			return "", fmt.Errorf("%s: %w", c.Pos, err)
		}
		if n++; n == len(lines) || lines[n] != "----" {
			return "", fmt.Errorf("%s: one command at a time, and ---- below it", c.Pos)
		}
		for n++; n < len(lines) && strings.TrimSpace(lines[n]) != ""; n++ {
			c.want += lines[n] + "\n"
		}
		played.WriteString("----\n" + do(c) + "\n")
	}
	return strings.TrimRight(played.String(), "\n") + "\n", nil
}

var errParenthesis = errors.New("a parenthesis is not closed")

// parse takes a line apart.
func parse(line string) (name string, args []Arg, err error) {
	name, rest, _ := strings.Cut(line, " ")
	for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
		end := strings.IndexAny(rest, " =")
		if end < 0 || rest[end] == ' ' {
			key, others, _ := strings.Cut(rest, " ")
			args, rest = append(args, Arg{Key: key}), others
			continue
		}
		key := rest[:end]
		value, others, _ := strings.Cut(rest[end+1:], " ")
		if strings.HasPrefix(value, "(") {
			var closed bool
			if value, others, closed = enclosed(rest[end+1:]); !closed {
				return "", nil, errParenthesis
			}
		}
		args, rest = append(args, Arg{key, []string{value}}), others
	}
	return name, args, nil
}

// enclosed is what stands between a parenthesis at the beginning and the one
// that closes it, and what is behind.
func enclosed(text string) (inside, behind string, closed bool) {
	depth := 0
	for i, r := range text {
		switch r {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return text[1:i], text[i+1:], true
			}
		}
	}
	return "", "", false
}

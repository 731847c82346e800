package situation

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const file = `# Echoes.
# More of them.

say hello to=n1
----
hello to=n1

say err=(it (really) broke) by= twice
----
err=(it (really) broke) by= twice
two lines

# Nothing comes of this one.
be silent
----
`

func echo(c *Command) string {
	if c.Cmd != "say" {
		return ""
	}
	var words []string
	for _, a := range c.CmdArgs {
		words = append(words, a.String())
	}
	text := strings.Join(words, " ")
	if strings.HasSuffix(text, "twice") {
		text += "\ntwo lines\n"
	}
	return text
}

// recorder stands in for the test.
type recorder struct{ said string }

func (*recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.said = fmt.Sprintf(format, args...)
	panic(r)
}

// run is what a test says that runs this file, and the file afterwards.
func run(t *testing.T, content string, rewrite bool) (said, after string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.txt")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	r := new(recorder)
	func() {
		defer func() {
			if p := recover(); p != nil && p != any(r) {
				panic(p)
			}
		}()
		Run(r, path, rewrite, echo)
	}()
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return r.said, string(written)
}

// A file that says what comes of its commands passes, and is written anew as it
// is.
func TestRun(t *testing.T) {
	for _, rewrite := range []bool{false, true} {
		if said, after := run(t, file, rewrite); said != "" || after != file {
			t.Errorf("rewrite %v: it says %q, and the file is\n%s", rewrite, said, after)
		}
	}
}

// What comes of a command and is not what the file says fails the test, with
// the place and both; written anew, the file says what came of it.
func TestRunFails(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"hello to=n1\n\n", "hello to=n2\n\n", "file.txt, line 4: say [hello to=n1]\nwant:\nhello to=n2\n\ngot:\nhello to=n1\n"},
		{"two lines\n", "", "file.txt, line 8: "},
		{"be silent\n----\n", "be silent\n----\na word\n", "want:\na word\n\ngot:\n"},
	} {
		changed := strings.Replace(file, c.from, c.to, 1)
		said, after := run(t, changed, false)
		if !strings.Contains(said, c.want) || after != changed {
			t.Errorf("it says %q, want %q, and the file is\n%s", said, c.want, after)
		}
		if said, after := run(t, changed, true); said != "" || after != file {
			t.Errorf("written anew it says %q, and the file is\n%s", said, after)
		}
	}
}

// What cannot be read is refused, with its place.
func TestRunRefuses(t *testing.T) {
	for changed, want := range map[string]string{
		"say a\nsay b\n----\nb\n": "line 1: one command at a time",
		"\nsay a":                 "line 2: one command at a time",
		"say a=(b (c)\n----\n":    "line 1: a parenthesis is not closed",
	} {
		if said, _ := run(t, changed, false); !strings.Contains(said, want) {
			t.Errorf("%q: it says %q, want %q", changed, said, want)
		}
	}
}

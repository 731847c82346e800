package fencefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// appendAll appends the lines, each with a token.
func appendAll(t *testing.T, f File, token uint64, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if err := f.Append(t.Context(), token, []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
}

// text is a line as Append writes it.
func text(token uint64, data string) string { return string(record(token, []byte(data))) }

// read is all lines of a log, as "TOKEN data", and how it ends.
func read(f File) (lines []string, err error) {
	for line, err := range f.Lines() {
		if err != nil {
			return lines, err
		}
		lines = append(lines, fmt.Sprintf("%d %s", line.Token, line.Data))
	}
	return lines, nil
}

// good is a log of two lines.
var good = text(5, "a") + text(6, "b")

// readings are logs, and what a reader is told of them. What can be seen to be
// wrong is an error at that line, and nothing behind it is read.
var readings = []struct {
	name, log string
	lines     string
	want      error
}{
	{"empty", "", "", nil},
	{"good", good, "5 a 6 b", nil},
	{"data of nothing, and of spaces", text(5, "") + text(5, " 7 "), "5  5  7 ", nil},
	{"the beginning of a line", good + text(6, "c")[:9], "5 a 6 b", ErrTorn},
	{"all of a line but its end", good + strings.TrimSuffix(text(6, "c"), "\n"), "5 a 6 b", ErrTorn},
	{"another's text", "hello\n" + good, "", ErrDamaged},
	{"an empty line between", text(5, "a") + "\n" + text(6, "b"), "5 a", ErrDamaged},
	{"a changed letter", strings.Replace(good, " b\n", " c\n", 1), "5 a", ErrDamaged},
	{"a changed token", strings.Replace(good, "6 ", "7 ", 1), "5 a", ErrDamaged},
	{"a changed checksum", text(5, "a") + strings.Replace(text(6, "b"), "6 ", "6 0", 1), "5 a", ErrDamaged},
	{"a checksum in capitals", text(5, "a") + strings.ToUpper(text(6, "b")), "5 a", ErrDamaged},
	{"a token with a zero before it", text(5, "a") + "0" + text(6, "b"), "5 a", ErrDamaged},
	{"no token", text(0, "a"), "", ErrDamaged},
	{"a carriage return", text(5, "a") + strings.Replace(text(6, "b"), "\n", "\r\n", 1), "5 a", ErrDamaged},
	{"a smaller token", text(6, "a") + text(5, "b"), "6 a", ErrDamaged},
	{"a line cut short, and lines after it", text(5, "a")[:8] + "\n" + text(6, "b"), "", ErrDamaged},
	{"a number and no more", "5\n", "", ErrDamaged},
}

// Readers get every line up to the first that is not what was written, and are
// told where and how the log ends.
func TestLines(t *testing.T) {
	for _, c := range readings {
		f := newFile(t)
		put(t, f.Path, c.log)
		lines, err := read(f)
		if !errors.Is(err, c.want) || strings.Join(lines, " ") != c.lines {
			t.Errorf("%s: %q, then %v; want %q, then %v", c.name, lines, err, c.lines, c.want)
		}
		if err != nil && !strings.Contains(err.Error(), f.Path) {
			t.Errorf("%s: the error does not name the file: %v", c.name, err)
		}
	}
	if lines, err := read(newFile(t)); err != nil || len(lines) > 0 {
		t.Errorf("a log that does not exist: %q, %v", lines, err)
	}
	if _, err := read(File{Path: t.TempDir()}); err == nil {
		t.Error("a folder is read as an empty log")
	}
}

// A log whose end is damaged stays as it is, whatever token a
// caller comes with. Its fence stays, too: a damaged log is not an empty one.
func TestAppendRefusesADamagedLog(t *testing.T) {
	for name, log := range map[string]string{
		"a changed letter":           strings.Replace(good, " b\n", " c\n", 1),
		"another's line":             good + "hello\n",
		"another's line alone":       "hello\n",
		"an empty line":              good + "\n",
		"an empty line alone":        "\n",
		"zeros, as a crash leaves":   good + "\x00\x00\x00\x00\n",
		"damaged, then torn":         good + "hello\n" + text(6, "c")[:9],
		"what is longer than a line": good + strings.Repeat("x", maxRecord+1),
	} {
		f := newFile(t)
		put(t, f.Path, log)
		put(t, f.Path+".fence", "6 log\n")
		for _, token := range []uint64{5, 6, 7} {
			if err := f.Append(t.Context(), token, []byte("x")); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), f.Path) {
				t.Errorf("%s, token %d: %v, want ErrDamaged with the file's name", name, token, err)
			}
		}
		if err := f.Check(t.Context(), 7); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: Check: %v", name, err)
		}
		if _, err := f.Highest(t.Context()); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: Highest: %v", name, err)
		}
		if content(t, f.Path) != log || content(t, f.Path+".fence") != "6 log\n" {
			t.Errorf("%s: the log is %.200q now, the fence %q", name, content(t, f.Path), content(t, f.Path+".fence"))
		}
	}
}

// A file that Append has not begun is not made a log, and nothing of it is
// lost, even if it ends as a torn line would; an empty one is.
func TestAppendRefusesForeignContent(t *testing.T) {
	for _, fence := range []string{"", "3 any\n"} {
		for _, foreign := range []string{"hello\n", "hello", "\n", "4 00000000 x\n", strings.Repeat("x", maxRecord+1)} {
			f := newFile(t)
			put(t, f.Path, foreign)
			if fence != "" {
				put(t, f.Path+".fence", fence)
			}
			if err := f.Append(t.Context(), 7, []byte("x")); err == nil || !strings.Contains(err.Error(), "did not write") {
				t.Errorf("%.20q: %v", foreign, err)
			}
			if got := content(t, f.Path); got != foreign {
				t.Errorf("%.20q became %.40q", foreign, got)
			}
			// It can still be replaced as a whole.
			if err := f.Replace(t.Context(), 8, []byte("new")); err != nil || content(t, f.Path) != "new" {
				t.Errorf("%.20q: Replace: %v", foreign, err)
			}
		}
	}
	f := newFile(t)
	put(t, f.Path, "")
	appendAll(t, f, 7, "x")
}

// The beginning of a line that a crash has left is removed by the next Append,
// and by nothing else.
func TestAppendRemovesATornLine(t *testing.T) {
	f := newFile(t)
	appendAll(t, f, 5, "a")
	torn := content(t, f.Path) + text(5, strings.Repeat("b", 100))[:50]
	put(t, f.Path, torn)
	wantStale(t, f.Append(t.Context(), 4, []byte("x")), 4, 5)
	if got := content(t, f.Path); got != torn {
		t.Errorf("a refused Append left %q", got)
	}
	appendAll(t, f, 6, "c") // shorter than what it replaces
	if lines, err := read(f); err != nil || strings.Join(lines, " ") != "5 a 6 c" {
		t.Errorf("%q, %v", lines, err)
	}
}

// Without its fence, a log has the token of its last line, however long the
// lines are and wherever a look at the end of the file happens to begin; and it
// is known to be a log.
func TestLogWithoutItsFence(t *testing.T) {
	header := len(text(34, ""))
	for _, length := range []int{0, 1, 4096 - header - 1, 4096 - header, 4096 - header + 1, 4096, 8*4096 - header, 70000, MaxLine} {
		f := newFile(t)
		appendAll(t, f, 33, "first", strings.Repeat("x", length))
		appendAll(t, f, 34, strings.Repeat("y", length))
		if err := os.Remove(f.Path + ".fence"); err != nil {
			t.Fatal(err)
		}
		wantStale(t, f.Append(t.Context(), 33, []byte("late")), 33, 34)
		if err := f.Replace(t.Context(), 34, []byte("x")); err == nil || !strings.Contains(err.Error(), "not both") {
			t.Errorf("lines of %d bytes: Replace: %v", length, err)
		}
		appendAll(t, f, 34, "last")
		if lines, err := read(f); err != nil || len(lines) != 4 || lines[3] != "34 last" {
			t.Errorf("lines of %d bytes: %d lines, %v", length, len(lines), err)
		}
	}
}

// The larger token counts where the fence and the last line differ: who has
// passed the fence may have ended before it wrote.
func TestLogOfALargerFence(t *testing.T) {
	f := newFile(t)
	appendAll(t, f, 5, "a")
	if err := f.Check(t.Context(), 9); err != nil {
		t.Fatal(err)
	}
	wantStale(t, f.Append(t.Context(), 8, []byte("x")), 8, 9)
	put(t, f.Path+".fence", "4 log\n") // restored alone, which nobody should do
	wantStale(t, f.Append(t.Context(), 4, []byte("x")), 4, 5)
}

// A line has a largest length, and no line's end in it.
func TestAppendRefusesWhatIsNoLine(t *testing.T) {
	f := newFile(t)
	for _, line := range []string{"a\nb", "\n", strings.Repeat("x", MaxLine+1)} {
		if err := f.Append(t.Context(), 1, []byte(line)); err == nil || !strings.Contains(err.Error(), "cannot be a line") {
			t.Errorf("%.10q: %v", line, err)
		}
	}
	if _, err := os.Stat(f.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was written: %v", err)
	}
}
